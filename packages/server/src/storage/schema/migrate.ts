import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { ApiError } from '../../api/errors.ts'
import type { Db } from '../db.ts'
import * as init from '../migrations/0001-init.ts'
import * as managementApi from '../migrations/0002-management-api.ts'
import * as signIn from '../migrations/0003-sign-in.ts'
import * as repoSources from '../migrations/0004-repo-sources.ts'
import * as advisories from '../migrations/0005-advisories.ts'
import * as version1 from '../migrations/0006-v1.ts'
import * as registry from '../migrations/0007-registry.ts'
import * as vouchedBindings from '../migrations/0008-vouched-bindings.ts'
import * as providerCallbacks from '../migrations/0009-provider-callbacks.ts'
import * as jobs from '../migrations/0010-jobs.ts'
import * as mail from '../migrations/0011-mail.ts'
import * as deepGroups from '../migrations/0012-deep-groups.ts'
import * as usageHistory from '../migrations/0013-usage-history.ts'
import * as manifestsByPush from '../migrations/0014-manifests-by-push.ts'
import * as search from '../migrations/0015-search.ts'
import * as operator from '../migrations/0016-operator.ts'
import * as tagActors from '../migrations/0017-tag-actors.ts'
import * as keyExpiry from '../migrations/0019-key-expiry.ts'
import * as imageContents from '../migrations/0020-image-contents.ts'
import * as findings from '../migrations/0021-findings.ts'
import * as policies from '../migrations/0022-policies.ts'
import * as signatures from '../migrations/0023-signatures.ts'
import * as signatureChanges from '../migrations/0027-signature-changes.ts'
import * as imageStatements from '../migrations/0030-image-statements.ts'
import * as receivedInvites from '../migrations/0031-received-invites.ts'
import * as imageReports from '../migrations/0032-image-reports.ts'
import * as findingHistory from '../migrations/0033-finding-history.ts'
import * as jobRuns from '../migrations/0034-job-runs.ts'
import * as cveFacts from '../migrations/0035-cve-facts.ts'
import * as findingSummaryHistory from '../migrations/0036-finding-summary-history.ts'
import * as identityOrganizations from '../migrations/0037-identity-organizations.ts'
import * as supportEnd from '../migrations/0038-support-end.ts'
import * as recordIndex from '../migrations/0039-record-index.ts'
import * as exploited from '../migrations/0040-exploited.ts'
import * as invitedOrganizations from '../migrations/0041-invited-organizations.ts'
import * as copyingOrganizations from '../migrations/0042-copying-organizations.ts'
import * as countsByKey from '../migrations/0043-counts-by-key.ts'
import { createSchema } from './create-schema.ts'

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
  '0010-jobs': jobs,
  '0011-mail': mail,
  '0012-deep-groups': deepGroups,
  '0013-usage-history': usageHistory,
  '0014-manifests-by-push': manifestsByPush,
  '0015-search': search,
  '0016-operator': operator,
  '0017-tag-actors': tagActors,
  '0019-key-expiry': keyExpiry,
  '0020-image-contents': imageContents,
  '0021-findings': findings,
  '0022-policies': policies,
  '0023-signatures': signatures,
  '0027-signature-changes': signatureChanges,
  '0030-image-statements': imageStatements,
  '0031-received-invites': receivedInvites,
  '0032-image-reports': imageReports,
  '0033-finding-history': findingHistory,
  '0034-job-runs': jobRuns,
  '0035-cve-facts': cveFacts,
  '0036-finding-summary-history': findingSummaryHistory,
  '0037-identity-organizations': identityOrganizations,
  '0038-support-end': supportEnd,
  '0039-record-index': recordIndex,
  '0040-exploited': exploited,
  '0041-invited-organizations': invitedOrganizations,
  '0042-copying-organizations': copyingOrganizations,
  '0043-counts-by-key': countsByKey,
}

/**
 * Migrates the schema to this version under a lock, so that several nodes can start at the same time, and places the tables of a distributed
 * database. Returns the names of the migrations
 * that ran. Rejects with NewerDatabase, without a change, if a newer version migrated the database.
 */
export async function migrate(db: Db): Promise<string[]> {
  await requireKnownMigrations(db)
  const { background } = db
  const { rules } = background
  const names = await rules.withMigrationLock(background, (kysely) => runMigrations(background, kysely))
  // Also without a migration: an earlier call may have been interrupted, and the database may have become distributed.
  await rules.placeTables(background)
  return [...names]
}

async function runMigrations(db: Db, kysely: Db['kysely']): Promise<string[]> {
  try {
    const created = await createSchema(db, kysely)
    // A node of a newer version may have had the lock before.
    const { missing, unknown } = await migrationState(db, kysely)
    if (unknown.length > 0) throw new NewerDatabase(unknown)
    if (missing.length === 0) return [...created]
    const { error, results = [] } = await migratorOf(db, kysely).migrateToLatest()
    if (error !== undefined) throw error
    return [...created, ...results.map((result) => result.migrationName)]
  } catch (error) {
    if (error instanceof ApiError || error instanceof NewerDatabase) throw error
    // A node of a newer version may have migrated in between.
    await requireKnownMigrations(db)
    throw new Error('the database schema could not be brought up to date', { cause: error })
  }
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

/** Lists the migrations that have run, in order; none for an empty database. */
export async function readAppliedMigrations(db: Db): Promise<string[]> {
  const { missing, unknown } = await migrationState(db)
  const ran = Object.keys(migrations).filter((name) => !missing.includes(name))
  return [...ran, ...unknown]
}

/** Returns the names that are no migrations of this version. */
export function unknownMigrations(names: readonly string[]): string[] {
  return names.filter((name) => !Object.hasOwn(migrations, name))
}

/** Migrates an empty database to the schema of an earlier version, given by the name of its last migration. */
export async function migrateTo(db: Db, last: string): Promise<void> {
  const { error } = await migratorOf(db.background).migrateTo(last)
  if (error !== undefined) throw new Error('the database schema could not be created', { cause: error })
}

/** Migrations of a database and of this version. */
interface MigrationState {
  readonly missing: readonly string[]
  /** Those that ran but are unknown to this version. */
  readonly unknown: readonly string[]
}

/**
 * Lists the migrations that have not run, and those that are unknown. Changes nothing. The migrator would read all columns of all tables for
 * it, several times in a start.
 */
export async function migrationState(db: Db, kysely = db.kysely): Promise<MigrationState> {
  const found = await sql.raw(db.rules.hasMigrationsQuery).execute(kysely)
  if (found.rows.length === 0) return { missing: Object.keys(migrations), unknown: [] }
  const { rows } = await sql<{ name: string }>`select name from migrations order by name`.execute(kysely)
  const applied = rows.map(({ name }) => name)
  return {
    missing: Object.keys(migrations).filter((name) => !applied.includes(name)),
    unknown: unknownMigrations(applied),
  }
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
    // The default loads locale data (ICU), which the server would keep in memory. No two names are equal.
    nameComparator: (one, other) => (one < other ? -1 : 1),
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  })
}
