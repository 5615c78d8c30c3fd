import { setTimeout as sleep } from 'node:timers/promises'
import { assertCounts } from '../database/crash.ts'
import { openDatabase } from '../database/open-database.ts'
import { type Cleanup, runBerth } from '../server/process.ts'
import type { Acknowledged } from './load.ts'
import type { Site } from './site/fault-site.ts'

/** Compares the database and the store with what was acknowledged, after the load has stopped. */
export interface Verified {
  /** Acknowledged writes in all. */
  readonly acknowledged: number
  readonly lost: readonly string[]
  /** What is there in part only, or is held by something that has ended. */
  readonly inconsistent: readonly string[]
}

/** The database ends transactions of clients that it cannot reach, which takes a while (`databaseIdleInTransactionMs`). */
const RELEASE_MS_MAX = 20_000
const RETRY_MS = 500
/** Nothing that a node does now lasts so long: the load has stopped. */
const HELD_MS = 2000

export async function verify(t: Cleanup, site: Site, known: Acknowledged): Promise<Verified> {
  const lost: string[] = []
  const halfDone: string[] = []
  const db = await openDatabase(databaseOf(site))
  try {
    const { kysely } = db
    const groups = new Map(
      (await kysely.selectFrom('groups').select(['uid', 'description']).execute()).map((row) => [
        row.uid,
        row.description,
      ]),
    )
    for (const [uid, description] of known.groups) {
      if (!groups.has(uid)) lost.push(`group ${uid}`)
      else if (description !== null && groups.get(uid) !== description)
        lost.push(`the update of group ${uid}`)
    }
    for (const uid of known.deletedGroups) if (groups.has(uid)) lost.push(`the deletion of group ${uid}`)
    const repos = new Set((await kysely.selectFrom('repos').select('uid').execute()).map(({ uid }) => uid))
    for (const uid of known.repos) if (!repos.has(uid)) lost.push(`repo ${uid}`)
    const manifests = new Set(
      (await kysely.selectFrom('manifests').select('digest').execute()).map((row) => row.digest),
    )
    for (const { image } of known.images)
      if (!manifests.has(image.digest)) lost.push(`manifest ${image.digest}`)

    for (const table of ['groups', 'identities', 'role_bindings', 'repos', 'tags'] as const) {
      try {
        await assertCounts(kysely, table)
      } catch (error) {
        halfDone.push(String((error as Error).message).split('\n')[0] ?? table)
      }
    }
    const audited = new Set(
      (
        await kysely
          .selectFrom('audit_events')
          .select('parent')
          .where('method', 'like', '%/Create%')
          .execute()
      ).map(({ parent }) => parent),
    )
    for (const uid of [...known.groups.keys(), ...known.repos])
      if (!audited.has(uid)) halfDone.push(`${uid} has no audit event`)
  } finally {
    await db.close()
  }
  let leftOver = await readInconsistencies(site)
  for (const deadline = Date.now() + RELEASE_MS_MAX; leftOver.length > 0 && Date.now() < deadline; ) {
    await sleep(RETRY_MS)
    leftOver = await readInconsistencies(site)
  }
  halfDone.push(...leftOver)
  const { code, stdout, stderr } = await runBerth(t, ['admin', 'scrub', '--json'], databaseOf(site))
  if (code !== 0)
    halfDone.push(`scrub ends with ${code}: ${stderr || JSON.stringify(JSON.parse(stdout).findings)}`)
  const acknowledged = known.groups.size + known.deletedGroups.size + known.repos.size + known.images.length
  return { acknowledged, lost, inconsistent: halfDone }
}

export function databaseOf(site: Site): Readonly<Record<string, string>> {
  return site.env['BERTH_DATABASE_URL'] === undefined
    ? site.env
    : { ...site.env, BERTH_DATABASE_URL: site.primary.url }
}

/** Transactions that nothing will end, locks that are waited for, connections that are still taken, bodies that are still counted. */
async function readInconsistencies(site: Site): Promise<string[]> {
  const found: string[] = []
  if (site.env['BERTH_DATABASE_URL'] !== undefined) {
    const { rows } = await site.primary.run(`
      select state, left(query, 80) as query from pg_stat_activity
      where pid <> pg_backend_pid() and backend_type = 'client backend' and datname is not null
        and (state like 'idle in transaction%' or wait_event_type = 'Lock')
        and state_change < now() - interval '${HELD_MS} ms'`)
    for (const row of rows) found.push(`a connection is ${row.state}: ${row.query}`)
  }
  for (const { url } of site.nodes) {
    const text = await (await fetch(`${url}/metrics`)).text()
    const value = (metric: string) => Number(new RegExp(`^${metric} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
    for (const metric of ['berth_database_connections{state="waiting"}', 'berth_buffered_request_bytes']) {
      const n = value(metric.replace(/[{}]/g, '\\$&'))
      if (n > 0) found.push(`${metric} of ${url} is ${n}`)
    }
  }
  return found
}
