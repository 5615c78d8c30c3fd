import { limits } from '../../config/limits.ts'
import { runForRowsOf } from '../../pipeline/request/request-context.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import type { Db, Tx } from '../db.ts'
import { runLongText, sqlText } from '../sql-text.ts'
import { limitRoots, type NamedRoots } from './named-roots.ts'

/**
 * Reads rows of several organizations and users while a server of a distributed database is lost: those on other servers, and which ones are
 * unknown. A row that is not found is absent, one on a lost server is not (ADR 93, ADR 109).
 */

interface LostRoot {
  readonly error: unknown
  readonly untilMs: number
}

/** Roots on lost servers: until `untilMs`, reading them again would fail each statement that names them. */
const lost = createGrowingCache<LostRoot>(10_000)

export interface Reachable<Row> {
  readonly rows: readonly Row[]
  /** Roots that were not read, with the error. */
  readonly unread: ReadonlyMap<string, unknown>
}

export interface ReadContext {
  /** A transaction ends with its first failed statement, so in one a root is unread only if this is known from a read outside. */
  readonly tx?: Tx | undefined
  /** Whether the request has read the same roots before its transaction, which may have waited long: what was unread then still is. */
  readonly hasReadBefore?: boolean
}

/** Reads rows of roots. If a server is lost, reads those on the others, and returns the rest as unread. */
export async function readReachable<Row>(
  db: Db,
  roots: readonly string[],
  read: (roots: readonly string[]) => Promise<readonly Row[]>,
  { tx, hasReadBefore = false }: ReadContext = {},
): Promise<Reachable<Row>> {
  const unread = new Map<string, unknown>()
  for (const root of roots) {
    const known = lost.get(root)
    if (known === undefined) continue
    const isKept = tx !== undefined && hasReadBefore
    if (isKept || performance.now() < known.untilMs) unread.set(root, known.error)
  }
  const reachable = roots.filter((root) => !unread.has(root))
  const readServers = async () => {
    const servers = await db.rules.groupByServer(db, reachable)
    const found = await Promise.allSettled(servers.map(read))
    return found.flatMap((one, at) => {
      const ofServer = servers[at] ?? []
      if (one.status === 'fulfilled') {
        forget(ofServer)
        return one.value
      }
      if (!db.rules.isServerLost(one.reason)) throw one.reason
      const untilMs = performance.now() + limits.databaseLostServerMs
      for (const root of ofServer) {
        lost.set(root, { error: one.reason, untilMs })
        unread.set(root, one.reason)
      }
      return []
    })
  }
  const readAll = async () => {
    if (reachable.length === 0) return []
    // Most users have roles in one organization. The server of the others is not known.
    const found = await runForRowsOf(reachable[0] ?? '', () => read(reachable))
    forget(reachable)
    return found
  }
  const rows = await readAll().catch((error) => {
    if (tx !== undefined || !db.rules.isServerLost(error)) throw error
    return readServers()
  })
  return { rows, unread }
}

/** Roots whose server responds. */
function forget(roots: readonly string[]): void {
  for (const root of roots) lost.delete(root)
}

/** Users whose rows a statement reads. */
export interface ReadableUsers {
  /** Roots of those that it joins. */
  readonly roots: NamedRoots
  /** Roots of the others, on lost servers. */
  readonly unread: readonly string[]
}

/**
 * Runs a statement that joins rows of one organization with users, whose roots are `roots`. If the server of some is lost, runs it again
 * without these. `read` must run outside of transactions.
 */
export async function readWithUsers<T>(
  db: Db,
  roots: NamedRoots,
  read: (users: ReadableUsers) => Promise<T>,
): Promise<{ readonly result: T; readonly unread: readonly string[] }> {
  const nowMs = performance.now()
  const isLost = (root: string) => nowMs < (lost.get(root)?.untilMs ?? 0)
  const readWithout = async (unread: readonly string[]) => {
    const without = new Set(unread)
    const others = roots && limitRoots(roots.filter((root) => !without.has(root)))
    return { result: await read({ roots: others, unread }), unread }
  }
  try {
    return await readWithout(roots?.filter(isLost) ?? [])
  } catch (error) {
    if (roots === undefined || !db.rules.isServerLost(error)) throw error
    const { unread } = await readReachable(db, roots, (of) => probe(db, of))
    return readWithout([...unread.keys()])
  }
}

/** Fails if a server of the roots is lost. */
function probe(db: Db, roots: readonly string[]): Promise<readonly object[]> {
  const sql = sqlText(db.engine)
  return runLongText(db, `select root from identities where root in (${sql.bindAll(roots)}) limit 1`, sql)
}
