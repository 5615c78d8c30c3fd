import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { ApiError } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../db.ts'
import { sqlState } from '../engines/postgres/errors.ts'
import * as init from '../migrations/0001-init.ts'
import * as managementApi from '../migrations/0002-management-api.ts'
import * as signIn from '../migrations/0003-sign-in.ts'
import * as repoSources from '../migrations/0004-repo-sources.ts'
import * as advisories from '../migrations/0005-advisories.ts'
import * as version1 from '../migrations/0006-v1.ts'
import * as registry from '../migrations/0007-registry.ts'
import * as vouchedBindings from '../migrations/0008-vouched-bindings.ts'
import * as providerCallbacks from '../migrations/0009-provider-callbacks.ts'

/** Every migration, in order. Once released, a migration never changes. */
export const migrations = {
  '0001-init': init,
  '0002-management-api': managementApi,
  '0003-sign-in': signIn,
  '0004-repo-sources': repoSources,
  '0005-advisories': advisories,
  '0006-v1': version1,
  '0007-registry': registry,
  '0008-vouched-bindings': vouchedBindings,
  '0009-provider-callbacks': providerCallbacks,
}

/**
 * Brings the schema up to date, under a lock, so that several nodes may start at once. Returns the names of the migrations that
 * ran. Rejects with NewerDatabase, without a change, if a newer version migrated the database.
 */
export async function migrate(db: Db): Promise<string[]> {
  await requireKnownMigrations(db)
  const { background } = db
  if (background.engine === 'sqlite') return runMigrations(background, background.kysely)
  const names = await withShortLocks(() =>
    background.kysely.transaction().execute(async (tx) => {
      // Poolers share sessions, so the lock is the transaction's. Another node may hold it for as long as its migrations take.
      await sql.raw(`set local lock_timeout = ${limits.databaseLongStatementMs}`).execute(tx)
      await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(tx)
      await sql.raw(`set local lock_timeout = ${TABLE_LOCK_MS}`).execute(tx)
      await requireCreate(tx)
      return runMigrations(background, tx)
    }),
  )
  // A new database has no nodes.
  if (names.length > 0 && !names.includes('0001-init')) await endOldSessions(background)
  return names
}

/**
 * Less than PostgreSQL's `deadlock_timeout`, so that requests of running nodes wait for a migration no longer than this, and of two that wait
 * for each other the migration ends.
 */
const TABLE_LOCK_MS = 300
const TABLE_LOCK_ATTEMPTS = 100
const TABLE_LOCK_PAUSE_MS = 200

async function withShortLocks<T>(work: () => Promise<T>): Promise<T> {
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
 * Nodes of 0.6 keep plans of `select *`, which fail for as long as their session lasts once a table has a new column. Ends such sessions
 * when they are not in use; their nodes connect again. Those versions name no application. Newer ones plan again by themselves.
 */
async function endOldSessions({ kysely }: Db): Promise<void> {
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
 * Fails if tables cannot be created in an empty database. Kysely hides that failure: it looks for its table again after it, in a
 * transaction that the failure aborted.
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

/** The lock that Kysely takes for a session, so that it also excludes versions before 0.7. */
const MIGRATION_LOCK = 3853314791062309107n

async function runMigrations(db: Db, kysely: Db['kysely']): Promise<string[]> {
  const { error, results } = await migratorOf(db, kysely).migrateToLatest()
  if (error instanceof ApiError) throw error
  if (error !== undefined) {
    // A node of a newer version may have migrated in between.
    await requireKnownMigrations(db)
    throw new Error('the database schema could not be brought up to date', { cause: error })
  }
  return (results ?? []).map((result) => result.migrationName)
}

/** The database has migrations that this version does not know. */
export class NewerDatabase extends Error {
  override readonly name = 'NewerDatabase'

  constructor(unknown: readonly string[]) {
    super(
      `a newer version of Berth migrated the database: this version does not know ${unknown.join(', ')}. Start that version or a newer one; to return to this version, restore a backup from before the upgrade`,
    )
  }
}

async function requireKnownMigrations(db: Db): Promise<void> {
  const { unknown } = await migrationState(db)
  if (unknown.length > 0) throw new NewerDatabase(unknown)
}

/** Names of the migrations that have run, in order; none for an empty database. */
export async function readAppliedMigrations(db: Db): Promise<string[]> {
  const { missing, unknown } = await migrationState(db)
  const ran = Object.keys(migrations).filter((name) => !missing.includes(name))
  return [...ran, ...unknown]
}

/** Migrations of these names that this version does not have. */
export function unknownMigrations(names: readonly string[]): string[] {
  return names.filter((name) => !Object.hasOwn(migrations, name))
}

/** Brings an empty database to the schema of an earlier version, by the name of its last migration. */
export async function migrateTo(db: Db, last: string): Promise<void> {
  const { error } = await migratorOf(db.background).migrateTo(last)
  if (error !== undefined) throw new Error('the database schema could not be created', { cause: error })
}

/** Names of migrations that have not run, and of those that ran but are not of this version. Changes nothing. */
export async function migrationState(
  db: Db,
): Promise<{ readonly missing: readonly string[]; readonly unknown: readonly string[] }> {
  const known = await migratorOf(db).getMigrations()
  const missing = known.filter(({ executedAt }) => executedAt === undefined).map(({ name }) => name)
  if (missing.length === known.length) return { missing, unknown: [] }
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(db.kysely)
  return { missing, unknown: rows.map(({ name }) => name).filter((name) => !Object.hasOwn(migrations, name)) }
}

function migratorOf(db: Db, kysely = db.kysely): Migrator {
  return new Migrator({
    db: kysely,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(migrations).map(([name, { up }]) => [name, { up: (tx) => up(tx, db.engine) }]),
        ),
    },
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  })
}
