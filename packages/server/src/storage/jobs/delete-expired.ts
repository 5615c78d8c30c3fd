import { DAY_MS, limits } from '../../config/limits.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import { firstEventId } from '../changes/audit-events.ts'
import { type Db, inTransaction } from '../db.ts'
import { iterateRoots } from '../organizations.ts'
import type { JobKind, JobLease, JobOutcome } from './job-leases.ts'
import { deleteOldJobRuns, interruptLostRuns } from './job-runs.ts'
import { type JobScheduler, jitteredDueMs, startJobScheduler } from './job-scheduler.ts'

export interface ExpiryOptions {
  readonly db: Db
  readonly clock: () => number
  /** Undefined retains audit events for ever. */
  readonly auditRetentionMs: number | undefined
  /** Between two runs; the first one starts after such an interval. */
  readonly intervalMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Receives the error of a failed run. */
  readonly onFailed: (error: unknown) => void
  /** Receives failures of the scheduler itself, mostly of the database. */
  readonly onError: (error: unknown) => void
  readonly onDone?: (() => void) | undefined
}

const INTERVAL_MS = 60 * 60 * 1000
/** Rows of one transaction, which delays other changes for a few milliseconds. */
const ROWS_PER_BATCH = 200
const PAUSE_MS = 10
/** Longer than any window in which guesses are counted. */
const GUESSES_MAX_AGE_MS = 24 * 60 * 60 * 1000

/** Longer than the clocks of nodes may differ. */
const STALE_LEASE_MS = 60 * 60 * 1000

export const expiryJob: JobKind = { name: 'expiry' }

/**
 * Deletes expired rows: audit events past their retention, responses stored for idempotency keys, sessions, pending sign-ins, signing
 * keys, counts of wrong guesses, states of emails, requests for access that allow the next one, decisions of policies and runs of jobs. Nothing depends on when it runs, since readers ignore expired rows (R16).
 */
export function startExpiryJob({
  db,
  clock,
  auditRetentionMs,
  intervalMs = INTERVAL_MS,
  tracer,
  onFailed,
  onError,
  onDone,
}: ExpiryOptions): JobScheduler {
  const run = async ({ signal }: JobLease): Promise<JobOutcome> => {
    const now = clock()
    const repeatStep = (step: () => Promise<number>) => deleteInBatches(step, signal)
    await repeatStep(() => deleteIdempotencyKeys(db, now - limits.idempotencyKeyMaxAgeMs))
    await repeatStep(() => deletePending(db, now))
    await repeatStep(() => deleteSessions(db, now))
    await repeatStep(() => deleteGuesses(db, now - GUESSES_MAX_AGE_MS))
    await repeatStep(() => deleteMails(db, now - limits.mailRecordMs))
    for await (const root of iterateRoots(db, 'access_requests'))
      await deleteAccessRequests(db, root, now - limits.accessRequestIntervalMs)
    await deleteStaleLeases(db, now - STALE_LEASE_MS)
    await interruptLostRuns(db, now)
    for await (const root of iterateRoots(db, 'job_runs'))
      await deleteInBatches(() => deleteOldJobRuns(db, root, now, ROWS_PER_BATCH), signal, 1)
    await inTransaction(db, (tx) => tx.deleteFrom('signing_keys').where('expires_ms', '<=', now).execute())
    for await (const root of iterateRoots(db, 'policy_decisions'))
      await repeatStep(() => deleteDecisions(db, root, Math.floor(now / DAY_MS) - limits.policyDecisionDays))
    if (auditRetentionMs !== undefined) {
      const before = firstEventId(now - auditRetentionMs)
      for await (const root of iterateRoots(db, 'audit_events'))
        await repeatStep(() => deleteEvents(db, root, before))
    }
    return { succeededMs: clock(), ...(onDone && { afterRelease: onDone }) }
  }

  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: expiryJob,
      span: 'job expiry',
      pollMs: Math.min(intervalMs, limits.gcPollMs),
      intervalMs,
      run,
      onFailure(error, _, { isInterrupted }) {
        if (isInterrupted) return {}
        onFailed(error)
        return { dueMs: jitteredDueMs(clock(), intervalMs) }
      },
    },
  )
}

/** Repeats a step until it finds fewer rows than `full`. */
async function deleteInBatches(
  step: () => Promise<number>,
  signal: AbortSignal,
  full = ROWS_PER_BATCH,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    if ((await step()) < full) return
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/** Deletes the oldest events of an organization that precede the id `before`; returns how many it found. */
async function deleteEvents(db: Db, root: string, before: string): Promise<number> {
  const old = await db.kysely
    .selectFrom('audit_events')
    .select('id')
    .where('root', '=', root)
    .where('id', '<', before)
    .orderBy('id')
    .limit(ROWS_PER_BATCH)
    .execute()
  const last = old.at(-1)
  if (last !== undefined)
    await inTransaction(db, (tx) =>
      tx.deleteFrom('audit_events').where('root', '=', root).where('id', '<=', last.id).execute(),
    )
  return old.length
}

/** Deletes decisions of an organization of a day and before; returns how many it found. */
async function deleteDecisions(db: Db, root: string, untilDay: number): Promise<number> {
  const old = await db.kysely
    .selectFrom('policy_decisions')
    .select('uid')
    .where('root', '=', root)
    .where('day', '<=', untilDay)
    .orderBy('day')
    .limit(ROWS_PER_BATCH)
    .execute()
  const uids = old.map(({ uid }) => uid)
  if (uids.length > 0)
    await inTransaction(db, (tx) =>
      tx.deleteFrom('policy_decisions').where('root', '=', root).where('uid', 'in', uids).execute(),
    )
  return uids.length
}

async function deleteIdempotencyKeys(db: Db, untilMs: number): Promise<number> {
  const old = await db.kysely
    .selectFrom('idempotency_keys')
    .select('created_ms')
    .where('created_ms', '<=', untilMs)
    .orderBy('created_ms')
    .limit(ROWS_PER_BATCH)
    .execute()
  const last = old.at(-1)
  if (last !== undefined)
    await inTransaction(db, (tx) =>
      tx.deleteFrom('idempotency_keys').where('created_ms', '<=', last.created_ms).execute(),
    )
  return old.length
}

/** Rows of jobs of a resource that no process runs any more: it crashed, and the resource was deleted since. */
async function deleteStaleLeases(db: Db, untilMs: number): Promise<void> {
  await inTransaction(db, (tx) =>
    tx.deleteFrom('jobs').where('key', '!=', '').where('lease_ms', '<=', untilMs).execute(),
  )
}

async function deletePending(db: Db, untilMs: number): Promise<number> {
  const old = await db.kysely
    .selectFrom('pending')
    .select(['kind', 'secret_hash'])
    .where('expires_ms', '<=', untilMs)
    .orderBy('expires_ms')
    .limit(ROWS_PER_BATCH)
    .execute()
  await inTransaction(db, async (tx) => {
    for (const kind of new Set(old.map((row) => row.kind))) {
      const hashes = old.flatMap((row) => (row.kind === kind ? [row.secret_hash] : []))
      await tx
        .deleteFrom('pending')
        .where('kind', '=', kind)
        .where('secret_hash', 'in', hashes)
        // The secret may have new data by now.
        .where('expires_ms', '<=', untilMs)
        .execute()
    }
  })
  return old.length
}

async function deleteSessions(db: Db, untilMs: number): Promise<number> {
  const old = await db.kysely
    .selectFrom('sessions')
    .select('id')
    .where('expires_ms', '<=', untilMs)
    .orderBy('expires_ms')
    .limit(ROWS_PER_BATCH)
    .execute()
  const ids = old.map(({ id }) => id)
  if (ids.length > 0)
    await inTransaction(db, async (tx) => {
      await tx.deleteFrom('session_groups').where('session_id', 'in', ids).execute()
      await tx.deleteFrom('sessions').where('id', 'in', ids).execute()
    })
  return ids.length
}

async function deleteMails(db: Db, untilMs: number): Promise<number> {
  const old = await db.kysely
    .selectFrom('mails')
    .select(['root', 'uid'])
    .where('expires_ms', '<=', untilMs)
    .orderBy('expires_ms')
    .limit(ROWS_PER_BATCH)
    .execute()
  if (old.length > 0)
    await inTransaction(db, (tx) =>
      tx
        .deleteFrom('mails')
        .where('root', 'in', [...new Set(old.map(({ root }) => root))])
        .where(
          'uid',
          'in',
          old.map(({ uid }) => uid),
        )
        // A new email may have the uid by now.
        .where('expires_ms', '<=', untilMs)
        .execute(),
    )
  return old.length
}

/** Users request access to an organization once in the interval: there are few, and most organizations have nothing to write. */
async function deleteAccessRequests(db: Db, root: string, untilMs: number): Promise<void> {
  const due = await db.kysely
    .selectFrom('access_requests')
    .select('identity_uid')
    .where('root', '=', root)
    .where('requested_ms', '<=', untilMs)
    .limit(1)
    .executeTakeFirst()
  if (due === undefined) return
  await inTransaction(db, (tx) =>
    tx.deleteFrom('access_requests').where('root', '=', root).where('requested_ms', '<=', untilMs).execute(),
  )
}

async function deleteGuesses(db: Db, untilMs: number): Promise<number> {
  const old = await db.kysely
    .selectFrom('guesses')
    .select('key')
    .where('since_ms', '<=', untilMs)
    .limit(ROWS_PER_BATCH)
    .execute()
  const keys = old.map(({ key }) => key)
  if (keys.length > 0)
    await inTransaction(db, (tx) =>
      tx.deleteFrom('guesses').where('key', 'in', keys).where('since_ms', '<=', untilMs).execute(),
    )
  return keys.length
}
