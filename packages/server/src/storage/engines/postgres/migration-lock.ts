import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { limits } from '../../../config/limits.ts'
import type { Db } from '../../db.ts'
import type { EngineRules } from '../engine.ts'
import { sqlState } from './errors.ts'

export const withMigrationLock: EngineRules['withMigrationLock'] = async ({ kysely }, run) => {
  const names = await withShortLocks(() =>
    kysely.transaction().execute(async (tx) => {
      await lockMigrations(tx)
      await requireCreate(tx)
      return run(tx)
    }),
  )
  // A new database has no nodes.
  if (names.length > 0 && !names.includes('0001-init')) await endOldSessions(kysely)
  return names
}

/** Waits until no other node migrates, for as long as the transaction takes. Afterwards its waits for tables are short. */
export async function lockMigrations(tx: Db['kysely']): Promise<void> {
  // Poolers share sessions, so the transaction holds the lock. Another node may hold it as long as its migrations take.
  await sql.raw(`set local lock_timeout = ${limits.databaseLongStatementMs}`).execute(tx)
  await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(tx)
  await sql.raw(`set local lock_timeout = ${TABLE_LOCK_MS}`).execute(tx)
}

/** The lock that Kysely takes for a session, so that versions before 0.7 wait for it, too. */
const MIGRATION_LOCK = 3853314791062309107n

/**
 * How long a migration waits for a table, while requests that come later wait behind it. Shorter than PostgreSQL's `deadlock_timeout`: in a
 * deadlock the migration fails, not the request. What it has locked stays locked until all migrations have ended, and a table with a new
 * column then lets no request read.
 */
const TABLE_LOCK_MS = 300
const TABLE_LOCK_ATTEMPTS = 100
const TABLE_LOCK_PAUSE_MS = 200

/** Repeats a transaction after `lockMigrations` as long as requests have its tables. */
export async function withShortLocks<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === TABLE_LOCK_ATTEMPTS || !isLockTimeout(error)) throw error
      await pause(TABLE_LOCK_PAUSE_MS)
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return sqlState(error) === '55P03' || isLockTimeout(error.cause)
}

const OLD_SESSIONS_MS = 10_000
const OLD_SESSIONS_POLL_MS = 50

/**
 * Ends idle sessions of nodes of 0.6. Their plans of `select *` fail until the session ends once a table has a new column. Those nodes set
 * no application name, and they reconnect. Newer nodes plan again by themselves.
 */
async function endOldSessions(kysely: Db['kysely']): Promise<void> {
  const { rows } = await sql<{ migrated: string }>`select clock_timestamp()::text as migrated`.execute(kysely)
  const deadlineMs = performance.now() + OLD_SESSIONS_MS
  for (;;) {
    const old = await sql<{
      ended: boolean
    }>`select case when state = 'idle' and clock_timestamp() - state_change > interval '500 ms'
        then pg_terminate_backend(pid) end as ended
      from pg_stat_activity where datname = current_database() and usename = current_user and application_name = '' and pid <> pg_backend_pid()
        and backend_start < ${rows[0]?.migrated}::timestamptz`.execute(kysely)
    if (old.rows.length === 0 || performance.now() > deadlineMs) return
    await pause(OLD_SESSIONS_POLL_MS)
  }
}

/**
 * Fails if the role cannot create tables. Kysely hides that failure: it reads its table again afterwards, in a transaction that the failure
 * aborted.
 */
async function requireCreate(tx: Db['kysely']): Promise<void> {
  const { rows } = await sql<{ readonly schema: string | null; readonly allowed: boolean }>`
    select current_schema() as schema,
      to_regclass('migrations') is not null or coalesce(has_schema_privilege(current_schema(), 'create'), false) as allowed`.execute(
    tx,
  )
  const [{ schema, allowed } = { schema: null, allowed: true }] = rows
  if (allowed) return
  const message =
    schema === null ? 'the search_path names no schema' : `permission denied for schema ${schema}`
  throw Object.assign(new Error(message), { code: INSUFFICIENT_PRIVILEGE })
}

/** SQLSTATE (PostgreSQL manual, appendix A). */
const INSUFFICIENT_PRIVILEGE = '42501'
