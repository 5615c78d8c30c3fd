import { type Kysely, sql } from 'kysely'
import type { CursorValue } from '../api/page-tokens.ts'
import { rootOf, subtreeRange } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { gcJob, retentionJob, scrubJob } from '../registry/jobs.ts'
import type { Db } from '../storage/db.ts'
import { jobRunStates } from '../storage/jobs/job-runs.ts'
import { readRowsByUid } from '../storage/rows-by-uid.ts'
import type { Tables } from '../storage/schema/tables.ts'

/** Runs of feeds, retention, garbage collection and scrub of the installation, for operators. */

export interface RunFilters {
  readonly kind: string
  readonly state: string
  /** uid of a resource or of an organization. */
  readonly resourceUid: string
  readonly sinceMs: number | undefined
  readonly untilMs: number | undefined
}

export interface OperatorRun {
  readonly uid: string
  readonly kind: string
  /** '' for a garbage collection and a scrub. */
  readonly resource: string
  readonly state: string
  readonly actor: string
  readonly startedMs: number
  /** 0 while it runs. */
  readonly endedMs: number
  readonly error: string
  readonly isDryRun: boolean
  readonly counts: readonly { readonly name: string; readonly count: number; readonly bytes: number }[]
}

const FEEDS = 'advisory-feed'
export const runKinds: readonly string[] = [FEEDS, retentionJob.name, gcJob.name, scrubJob.name]
export const runStates: readonly string[] = [...jobRunStates, 'cancelled']

interface RunPage {
  readonly max: number
  readonly after?: readonly CursorValue[] | undefined
}

type Totals = Readonly<Record<string, { readonly count: number; readonly bytes: number }>>

/** Lists runs, the newest first. */
export async function listOperatorRuns(
  { kysely }: Db,
  filters: RunFilters,
  page: RunPage,
  now: number,
): Promise<readonly OperatorRun[]> {
  const { max, after } = page
  const resources = await jobRuns(kysely, filters)
    .selectAll()
    .where(isAfter('uid', after))
    .orderBy('started_ms', 'desc')
    .orderBy('uid')
    .limit(max)
    .execute()
  const installation = await storageRuns(kysely, filters, now)
    .selectAll()
    .where(isAfter('id', after))
    .orderBy('started_ms', 'desc')
    .orderBy('id')
    .limit(max)
    .execute()
  const runs: OperatorRun[] = [
    ...resources.map((row) => ({
      ...{ uid: row.uid, kind: row.kind, resource: row.parent, state: row.state, actor: row.actor },
      startedMs: Number(row.started_ms),
      endedMs: Number(row.ended_ms),
      error: row.error,
      isDryRun: false,
      counts: Object.entries(JSON.parse(row.counts) as Record<string, number>).map(([name, count]) => ({
        ...{ name, count, bytes: 0 },
      })),
    })),
    ...installation.map((row) => ({
      ...{ uid: row.id, kind: row.kind, resource: '', actor: row.actor, error: row.error },
      ...(isLost(row, now)
        ? { state: 'interrupted', endedMs: Number(row.updated_ms) }
        : { state: row.state, endedMs: Number(row.ended_ms) }),
      startedMs: Number(row.started_ms),
      isDryRun: Number(row.dry_run) !== 0,
      counts: Object.entries(JSON.parse(row.totals) as Totals).map(([name, total]) => ({ name, ...total })),
    })),
  ]
  return runs.toSorted(compareRuns).slice(0, max)
}

export async function countOperatorRuns({ kysely }: Db, filters: RunFilters, now: number): Promise<number> {
  const counts = [
    await jobRuns(kysely, filters)
      .select(({ fn }) => fn.countAll<number>().as('n'))
      .executeTakeFirst(),
    await storageRuns(kysely, filters, now)
      .select(({ fn }) => fn.countAll<number>().as('n'))
      .executeTakeFirst(),
  ]
  return counts.reduce((sum, row) => sum + Number(row?.n ?? 0), 0)
}

function isAfter(id: 'uid' | 'id', after: RunPage['after']) {
  if (after === undefined) return sql<boolean>`1 = 1`
  const [startedMs = 0, uid = ''] = after
  return sql<boolean>`(started_ms < ${startedMs} or (started_ms = ${startedMs} and ${sql.ref(id)} > ${uid}))`
}

function isLost(row: { readonly state: string; readonly updated_ms: number }, now: number): boolean {
  return row.state === 'running' && Number(row.updated_ms) < now - limits.storageRunLostMs
}

function compareRuns(one: OperatorRun, other: OperatorRun): number {
  return other.startedMs - one.startedMs || (one.uid < other.uid ? -1 : 1)
}

function jobRuns(db: Kysely<Tables>, { kind, state, resourceUid, sinceMs, untilMs }: RunFilters) {
  let query = db.selectFrom('job_runs')
  if (kind !== '') query = query.where('kind', '=', kind)
  if (state !== '') query = query.where('state', '=', state)
  if (resourceUid !== '') {
    const { from, to } = subtreeRange(resourceUid)
    query = query.where('root', '=', rootOf(resourceUid)).where('uid', '>=', from).where('uid', '<', to)
  }
  if (sinceMs !== undefined) query = query.where('started_ms', '>=', sinceMs)
  if (untilMs !== undefined) query = query.where('started_ms', '<', untilMs)
  return query
}

function storageRuns(
  db: Kysely<Tables>,
  { kind, state, resourceUid, sinceMs, untilMs }: RunFilters,
  now: number,
) {
  let query = db.selectFrom('storage_runs')
  // They belong to no resource.
  if (resourceUid !== '') query = query.where('id', '=', '')
  if (kind !== '') query = query.where('kind', '=', kind)
  const lostBefore = now - limits.storageRunLostMs
  if (state === 'interrupted')
    query = query.where('state', '=', 'running').where('updated_ms', '<', lostBefore)
  else if (state !== '') query = query.where('state', '=', state)
  if (state === 'running') query = query.where('updated_ms', '>=', lostBefore)
  if (sinceMs !== undefined) query = query.where('started_ms', '>=', sinceMs)
  if (untilMs !== undefined) query = query.where('started_ms', '<', untilMs)
  return query
}

/** Reads the URLs of feeds and the names of repos and organizations of some runs, by uid. */
export async function readRunNames(
  { kysely }: Db,
  runs: readonly OperatorRun[],
): Promise<ReadonlyMap<string, string>> {
  const uids = (kind: string) => runs.flatMap((run) => (run.kind === kind ? [run.resource] : []))
  const roots = runs.flatMap(({ resource }) => (resource === '' ? [] : [rootOf(resource)]))
  const feeds = await readRowsByUid(kysely, 'advisory_feeds', ['url'], uids(FEEDS))
  const repos = await readRowsByUid(kysely, 'repos', ['name'], uids(retentionJob.name))
  const organizations = await readRowsByUid(kysely, 'groups', ['name'], roots)
  return new Map([
    ...[...feeds].map(([uid, { url }]) => [uid, url] as const),
    ...[...repos, ...organizations].map(([uid, { name }]) => [uid, name] as const),
  ])
}
