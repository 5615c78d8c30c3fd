import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { runShared } from '../../pipeline/request/request-context.ts'
import { existingKeys, incrementRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { dayOf } from './days.ts'

/**
 * Counts pulls and pushes of repos by day (ADR 44). A pull reads one row; to write one for each would multiply its cost. So counts wait in
 * memory for a few seconds, and are added to the rows of all repos together. A crash loses them.
 */
export interface TransferCounter {
  countPull(repo: string): void
  countPush(repo: string): void
  /** Writes the pending counts. */
  stop(): Promise<void>
}

export interface TransferCounterOptions {
  readonly db: Db
  readonly clock: () => number
  readonly flushMs?: number | undefined
  readonly onError: (error: unknown) => void
}

interface Transfers {
  readonly day: number
  readonly repo: string
  pulls: number
  pushes: number
}

type Direction = 'pulls' | 'pushes'

export function createTransferCounter({
  db,
  clock,
  flushMs = limits.transferFlushMs,
  onError,
}: TransferCounterOptions): TransferCounter {
  let day = 0
  /** Of `day`, by repo. */
  let pending = new Map<string, Transfers>()
  /** Of earlier days, and of writes that failed. */
  let waiting: Transfers[] = []

  const count = (repo: string, direction: Direction) => {
    const today = dayOf(clock())
    if (today !== day) {
      waiting.push(...pending.values())
      pending = new Map()
      day = today
    }
    const known = pending.get(repo)
    if (known !== undefined) known[direction]++
    else pending.set(repo, { day, repo, pulls: 0, pushes: 0, [direction]: 1 })
  }

  const write = async () => {
    const written = [...waiting, ...pending.values()]
    waiting = []
    pending = new Map()
    try {
      const delayed = await inTransaction(db, async (tx) => {
        const key = ['root', 'day']
        const { existing, locked } = await readExisting(db, tx, written)
        const isLocked = ({ repo }: Transfers) => locked.has(repo) || locked.has(rootOf(repo))
        const free = written.filter((one) => !isLocked(one))
        const inRepos = repoRows(free).filter(({ repo }) => existing.has(repo))
        const inOrganizations = organizationRows(free).filter(({ root }) => existing.has(root))
        await incrementRows(db, tx, 'repo_usage_days', inRepos, {
          key: ['root', 'repo', 'day'],
          numbers: ['pulls', 'pushes'],
        })
        await incrementRows(db, tx, 'usage_days', inOrganizations, {
          key,
          numbers: ['pulls', 'pushes'],
        })
        return written.filter(isLocked)
      })
      waiting = [...delayed, ...waiting].slice(0, limits.pendingTransfersMax)
    } catch (error) {
      // Without a database for long, the newest counts are lost rather than memory.
      waiting = [...written, ...waiting].slice(0, limits.pendingTransfersMax)
      onError(error)
    }
  }
  let running: Promise<void> | undefined
  const flush = async () => {
    await running
    if (pending.size + waiting.length === 0) return
    running = runShared(write).finally(() => {
      running = undefined
    })
    await running
  }
  const timer = setInterval(() => void flush(), flushMs)
  timer.unref()

  return {
    countPull: (repo) => count(repo, 'pulls'),
    countPush: (repo) => count(repo, 'pushes'),
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}

interface Existing {
  /** Exist until the transaction ends: what is counted for others would stay for ever. */
  readonly existing: ReadonlySet<string>
  /** Are locked by other transactions. Their counts wait, so that one repo does not delay those of all others. */
  readonly locked: ReadonlySet<string>
}

/** Reads which repos and organizations of transfers exist. */
async function readExisting(db: Db, tx: Tx, transfers: readonly Transfers[]): Promise<Existing> {
  const repos = [...new Set(transfers.map(({ repo }) => repo))]
  const organizations = [...new Set(repos.map(rootOf))]
  const existing = new Set<string>()
  const locked = new Set<string>()
  for (const [table, uids] of [
    ['repos', repos],
    ['groups', organizations],
  ] as const) {
    const keys = uids.map((uid) => ({ root: rootOf(uid), uid }))
    for (const { uid } of await existingKeys(db, tx, table, keys, { lock: true })) existing.add(uid)
    const others = keys.filter(({ uid }) => !existing.has(uid))
    for (const { uid } of await existingKeys(db, tx, table, others)) locked.add(uid)
  }
  return { existing, locked }
}

/** Sums by key, in the order of keys: nodes that write the same rows do not wait for each other in a circle. */
function sumBy<T>(
  transfers: readonly Transfers[],
  keyOf: (one: Transfers) => string,
  rowOf: (one: Transfers) => T & { pulls: number; pushes: number },
): T[] {
  const sums = new Map<string, ReturnType<typeof rowOf>>()
  for (const one of transfers) {
    const key = `${keyOf(one)} ${one.day}`
    const sum = sums.get(key)
    if (sum === undefined) sums.set(key, rowOf(one))
    else {
      sum.pulls += one.pulls
      sum.pushes += one.pushes
    }
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function repoRows(transfers: readonly Transfers[]) {
  return sumBy(
    transfers,
    ({ repo }) => repo,
    ({ repo, day, pulls, pushes }) => ({ root: rootOf(repo), repo, day, pulls, pushes }),
  )
}

function organizationRows(transfers: readonly Transfers[]) {
  return sumBy(
    transfers,
    ({ repo }) => rootOf(repo),
    ({ repo, day, pulls, pushes }) => ({ root: rootOf(repo), day, ...unrecordedLevels, pulls, pushes }),
  )
}

/** Levels of a day that the job has not recorded yet. */
export const unrecordedLevels = { stored_bytes: -1, manifests: -1, tags: -1, repos: -1 } as const
