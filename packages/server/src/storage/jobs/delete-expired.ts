import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Tracer, traceJob } from '../../runtime/tracer.ts'
import { firstEventId } from '../changes/audit-events.ts'
import { type Db, inTransaction } from '../db.ts'
import { iterateRoots } from '../organizations.ts'

/**
 * Deletes what nobody asks for any more: audit events past their retention, answers that are kept for creates that are sent again,
 * sessions, steps of a sign-in and signing keys that have expired, and counts of wrong guesses. Nothing waits for that: what has
 * expired counts no more wherever it is read (R16). Every node does it by itself, a few rows at a time and with pauses, so that
 * others hardly notice; what another node has deleted meanwhile is simply not there.
 */
export interface ExpiryJob {
  /** Stops between two steps; what is left waits for the next start. */
  stop(): Promise<void>
}

export interface ExpiryOptions {
  readonly db: Db
  readonly clock: () => number
  /** Undefined keeps events for ever. */
  readonly auditRetentionMs: number | undefined
  /** Between two rounds; the first begins after one. */
  readonly intervalMs?: number | undefined
  readonly tracer?: Tracer | undefined
  readonly onError: (error: unknown) => void
  readonly onDone?: (() => void) | undefined
}

const INTERVAL_MS = 60 * 60 * 1000
/** Rows of one transaction: it holds up other changes for a few milliseconds. */
const ROWS_PER_BATCH = 200
const PAUSE_MS = 10
/** Longer than any window in which guesses are counted. */
const GUESSES_MAX_AGE_MS = 24 * 60 * 60 * 1000

export function startExpiryJob({
  db,
  clock,
  auditRetentionMs,
  intervalMs,
  tracer,
  onError,
  onDone,
}: ExpiryOptions): ExpiryJob {
  let stopping = false

  /** Deletes step by step until a step finds less than it may delete. */
  const repeatStep = async (step: () => Promise<number>) => {
    while (!stopping && (await step()) === ROWS_PER_BATCH)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  const runOnce = async () => {
    const now = clock()
    await repeatStep(() => deleteIdempotencyKeys(db, now - limits.idempotencyKeyMaxAgeMs))
    await repeatStep(() => deletePending(db, now))
    await repeatStep(() => deleteSessions(db, now))
    await repeatStep(() => deleteGuesses(db, now - GUESSES_MAX_AGE_MS))
    await inTransaction(db, (tx) => tx.deleteFrom('signing_keys').where('expires_ms', '<=', now).execute())
    if (auditRetentionMs === undefined) return
    const before = firstEventId(now - auditRetentionMs)
    for await (const root of iterateRoots(db, 'audit_events')) {
      if (stopping) return
      await repeatStep(() => deleteEvents(db, root, before))
    }
  }

  const schedule = startPeriodicTask(
    intervalMs ?? INTERVAL_MS,
    () => traceJob(tracer, 'job expiry', runOnce),
    onError,
    onDone,
  )

  return {
    async stop() {
      stopping = true
      await schedule.stop()
    },
  }
}

/** How many of an organization's oldest events were found that are older than `before`, an id. */
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
        // Something else may be kept with the same secret by now.
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
