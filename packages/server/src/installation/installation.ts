import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ApiError } from '../api/errors.ts'
import { createPageTokens } from '../api/page-tokens.ts'
import { randomUids, type UidGenerator } from '../api/uid.ts'
import type { Addresses } from '../config/addresses.ts'
import { limits } from '../config/limits.ts'
import {
  NewerDatabaseError,
  RestartRequiredError,
  SetupError,
  UnreachableError,
} from '../config/setup-errors.ts'
import { grantsIn } from '../iam/grants-reader.ts'
import { ensureAnonymousIdentity } from '../iam/identities/anonymous.ts'
import { syncManagedRoles } from '../iam/roles.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { openBlobs } from '../registry/blobs/open.ts'
import { isTemporaryStoreFailure, UnreachableStore, UnusableStore } from '../registry/blobs/s3/failures.ts'
import {
  deriveKey,
  type MasterKey,
  newMasterKey,
  parseMasterKey,
  seal,
  unseal,
} from '../runtime/encryption.ts'
import type { Log } from '../runtime/log.ts'
import type { Tracer } from '../runtime/tracer.ts'
import {
  type DatabaseMeter,
  type Db,
  makePrivateDirectory,
  openPostgresDb,
  openSqliteDb,
  type ReplicaAddress,
} from '../storage/db.ts'
import { type Ballast, ballast, noBallast } from '../storage/engines/sqlite/ballast.ts'
import type { WriteLock } from '../storage/engines/sqlite/driver.ts'
import type { FileLock } from '../storage/engines/sqlite/file-lock.ts'
import { migrate, migrationState, NewerDatabase } from '../storage/schema/migrate.ts'
import { readUnfinishedRestore } from '../storage/schema/unfinished-restore.ts'
import { readSetting, writeSetting } from '../storage/settings.ts'
import type { Store } from '../storage/store.ts'
import { type AccessTokens, accessTokens } from '../tokens/access-token.ts'
import { type SigningKeys, signingKeys } from '../tokens/keys/signing-keys.ts'
import { usesWorker } from './cluster-server.ts'
import type { Config } from './config.ts'
import { describeDatabaseError } from './database-errors.ts'
import { adoptStore, ForeignStore, requireMatchingStore } from './store-identity.ts'

/** An open installation: its database and its secrets. The server and the admin commands both start with it. */
export interface Installation {
  readonly store: Store
  readonly keys: SigningKeys
  /** Migrations that ran when it was opened; all of them on the first start. */
  readonly migrations: readonly string[]
  /** Tokens of the installation as it is known under `addresses`. */
  tokensFor(addresses: Pick<Addresses, 'authUrl'>): AccessTokens
  close(): Promise<void>
}

/** What tests replace. */
export interface InstallationOverrides {
  readonly clock?: () => number
  readonly uids?: UidGenerator
  readonly openDb?: () => Promise<Db>
  readonly meter?: DatabaseMeter
  /** The lock on the SQLite database, which the installation releases when it closes; a server has it. */
  readonly lock?: FileLock | undefined
  readonly tracer?: Tracer | undefined
  /** Of a worker: its supervisor has locked the SQLite database, and other workers write to it. */
  readonly writeLock?: WriteLock | undefined
  /** Of a worker after the first one of its server: fails instead of migrating, because other workers use the schema. */
  readonly keepsSchema?: boolean
  /** How the read replica of the configuration is used; not at all without it. `check`: without writes. */
  readonly replica?: 'serve' | 'check'
}

/**
 * The lock of the server on the SQLite database; undefined on PostgreSQL, which several servers share. Throws a SetupError while another
 * server has it.
 */
export async function lockDatabase({ dataDir, databaseUrl }: Config): Promise<FileLock | undefined> {
  if (databaseUrl !== undefined) return undefined
  const { lockFile, LockTaken } = await import('../storage/engines/sqlite/file-lock.ts')
  try {
    return await lockFile(join(dataDir, 'berth.lock'), limits.serverLockWaitMs)
  } catch (error) {
    if (!(error instanceof LockTaken)) throw dataDirectoryError(dataDir, error)
    throw new SetupError(
      `another server uses the data directory ${dataDir}: a SQLite database is for one server at a time. Stop that server, or set BERTH_DATA_DIR to another directory; several servers share a PostgreSQL database (BERTH_DATABASE_URL)`,
    )
  }
}

/** Opens the database, migrates its schema and checks that the master key is the one that encrypted it. */
export async function openInstallation(
  config: Config,
  log: Log,
  overrides: InstallationOverrides = {},
): Promise<Installation> {
  const clock = overrides.clock ?? Date.now
  const close = async (opened?: Db) => {
    await opened?.close()
    overrides.lock?.release()
  }
  let db: Db
  try {
    db = await (overrides.openDb?.() ?? openDatabase(config, log, overrides))
  } catch (error) {
    await close()
    throw error
  }
  try {
    const isWorker = await usesWorker(db)
    await requireNoUnfinishedRestore(db)
    const migrations = isWorker ? [] : await migrateWithLock(config, db, overrides)
    const masterKey = await loadOrCreateMasterKey(config, db)
    const secretsKey = deriveKey(masterKey, 'secrets at rest')
    const store: Store = {
      db,
      clock,
      uids: overrides.uids ?? randomUids,
      pageTokens: createPageTokens(deriveKey(masterKey, 'page tokens'), clock),
      secretsKey,
      grantsIn: grantsIn({ db, clock }, config),
    }
    await createOnce(db, () => syncManagedRoles(store))
    await createOnce(db, () => ensureAnonymousIdentity(store))
    const keys = signingKeys(store, {
      signsForMs: config.signingKeyRotationMs,
      algorithm: config.signingAlgorithm,
      onError: (err) => log.error({ err }, 'creating the next signing key failed; it is tried again'),
    })
    return {
      store,
      keys,
      migrations,
      tokensFor: ({ authUrl }) => accessTokens({ keys, issuer: authUrl, clock }),
      close: () => close(db),
    }
  } catch (error) {
    await close(db)
    throw toSetupError(config, error)
  }
}

/** Returns what an operator can correct as a SetupError. */
export function toSetupError({ databaseUrl }: Config, error: unknown): unknown {
  if (error instanceof SetupError) return error
  if (error instanceof NewerDatabase) return new NewerDatabaseError(error.message)
  const problem = databaseUrl === undefined ? undefined : describeDatabaseError(error, databaseUrl)
  if (problem === undefined)
    return isTemporaryStoreFailure(error) ? new UnreachableError(describeCause(error)) : error
  return problem.unreachable ? new UnreachableError(problem.message) : new SetupError(problem.message)
}

function describeCause({ message, cause }: ApiError): string {
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

/** On SQLite a command migrates only while no server runs, which would be of an older version. */
async function migrateWithLock(
  config: Config,
  db: Db,
  { lock, openDb, writeLock, keepsSchema = false }: InstallationOverrides,
): Promise<readonly string[]> {
  if (keepsSchema) {
    await requireCurrentSchema(db)
    return []
  }
  const isLocked = lock !== undefined || writeLock !== undefined
  const needsLock = !isLocked && openDb === undefined && config.databaseUrl === undefined
  if (!needsLock || (await migrationState(db)).missing.length === 0) return migrate(db)
  const own = await lockDatabase(config)
  try {
    return await migrate(db)
  } finally {
    own?.release()
  }
}

async function requireCurrentSchema(db: Db): Promise<void> {
  const { missing, unknown } = await migrationState(db)
  if (unknown.length > 0) throw new NewerDatabase(unknown)
  if (missing.length > 0)
    throw new RestartRequiredError(
      `a worker cannot start: the installed program requires the migrations ${missing.join(', ')}, which only the start of a server runs. Restart the server`,
    )
}

async function requireNoUnfinishedRestore(db: Db): Promise<void> {
  const restore = await readUnfinishedRestore(db)
  if (restore !== undefined)
    throw new SetupError(
      `the restore of backup ${restore.backup} into this installation is not finished; run berth admin restore again: it continues this one, or starts over with another backup`,
    )
}

/** Nodes that start at the same time create the same objects: a node that loses the race reads again what the other one created. */
export async function createOnce<T>(db: Db, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!db.rules.isUniqueViolation(error)) throw error
    return work()
  }
}

/**
 * Where the bytes of images are. Throws a SetupError for a store that cannot be used, or that belongs to another database. `adopt`: it
 * becomes the one of this database.
 */
export async function openBlobStore(
  config: Config,
  db: Db,
  log: Log,
  { adopt = false, tracer }: { readonly adopt?: boolean; readonly tracer?: Tracer | undefined } = {},
): Promise<BlobStore> {
  let blobs: BlobStore | undefined
  try {
    blobs = await openBlobs(config, log, tracer)
    await (adopt ? adoptStore(db, blobs, log) : requireMatchingStore(db, blobs, log))
    return blobs
  } catch (error) {
    blobs?.close()
    if (error instanceof UnusableStore) throw toStoreError(error)
    if (!(error instanceof ForeignStore)) throw error
    throw new SetupError(
      `${describeBlobStore(config)} is not the blob store of this database: ${error.message}. Set BERTH_DATA_DIR, or BERTH_BLOBS_S3_BUCKET and BERTH_BLOBS_S3_PREFIX, to the store of the database; berth admin adopt-store makes this one its store`,
    )
  }
}

/** Returns a bucket that cannot be used as an error that the operator can correct. */
export function toStoreError(error: UnusableStore, message = error.message): SetupError {
  return error instanceof UnreachableStore ? new UnreachableError(message) : new SetupError(message)
}

/** The blob store in words, with the settings that name it. */
export function describeBlobStore({ dataDir, blobs }: Config): string {
  return blobs === undefined
    ? `the directory ${join(dataDir, 'blobs')} (BERTH_DATA_DIR)`
    : `the bucket ${blobs.bucket}${blobs.prefix === '' ? '' : `/${blobs.prefix}`} (BERTH_BLOBS_S3_BUCKET)`
}

/** Space for garbage collection on the disk of a SQLite database. */
export function ballastOf({ databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>): Ballast {
  return databaseUrl === undefined ? ballast(dataDir) : noBallast
}

/** The SQLite database's file in a data directory. */
export function databaseFile(dataDir: string): string {
  return join(dataDir, 'berth.db')
}

/** The database of a configuration, whatever its schema. Throws a SetupError for a data directory that cannot be used. */
export async function openDatabase(
  config: Config,
  log: Log,
  {
    meter,
    tracer,
    writeLock,
    replica,
  }: Pick<InstallationOverrides, 'meter' | 'tracer' | 'writeLock' | 'replica'> = {},
): Promise<Db> {
  if (config.databaseUrl !== undefined) {
    return openPostgresDb(config.databaseUrl, {
      onError: (err) => log.warn({ err }, 'a database connection broke'),
      meter,
      poolMax: Math.max(
        limits.databasePoolMin,
        Math.floor((config.databasePoolMax ?? limits.databasePoolDefault) / config.workers),
      ),
      tracer,
      replica: replica && replicaOf(config, log, { storesToken: replica === 'serve' }),
    })
  }
  try {
    return await openSqliteDb(databaseFile(config.dataDir), { meter, tracer, writeLock })
  } catch (error) {
    throw dataDirectoryError(config.dataDir, error)
  }
}

function replicaOf(
  { databaseReadUrl: url }: Config,
  log: Log,
  { storesToken }: Pick<ReplicaAddress, 'storesToken'>,
): ReplicaAddress | undefined {
  if (url === undefined) return undefined
  const onChange = (problem: string | undefined) => {
    if (problem === undefined) log.info({}, 'reads use the read replica (BERTH_DATABASE_READ_URL)')
    else log.warn({ problem }, 'reads use the primary, not the read replica (BERTH_DATABASE_READ_URL)')
  }
  return { url, storesToken, onChange }
}

function dataDirectoryError(dataDir: string, error: unknown): SetupError {
  return new SetupError(
    `the data directory ${dataDir} cannot be used: ${(error as Error).message} (BERTH_DATA_DIR)`,
  )
}

/** Name of the setting that proves the master key. */
export const MASTER_KEY_CHECK = 'master_key_check'

/**
 * The master key from the environment, or from a file that only this user can read and that the first start creates. A value in
 * the database proves that everything in it was encrypted with this key.
 */
async function loadOrCreateMasterKey(config: Config, db: Db): Promise<MasterKey> {
  const key = (await findMasterKey(config, db)) ?? writeKeyFile(masterKeyFile(config))
  return verifyOrRecordMasterKey(db, key, await readSetting(db.kysely, MASTER_KEY_CHECK))
}

/** The master key if there is one yet. Throws a SetupError if it is not the one of the database. */
export async function findMasterKey(config: Config, db: Db): Promise<MasterKey | undefined> {
  const check = await readSetting(db.kysely, MASTER_KEY_CHECK)
  const key = configuredMasterKey(config)
  if (check === undefined) return key
  if (key === undefined)
    throw new SetupError(
      `the database was created with a master key, but ${masterKeyFile(config)} does not exist; restore it or set BERTH_MASTER_KEY`,
    )
  requireSameKey(key, check)
  return key
}

/** The master key of the environment or of the data directory, whichever database it belongs to. */
export function configuredMasterKey(config: Config): MasterKey | undefined {
  const file = masterKeyFile(config)
  return config.masterKey ?? (existsSync(file) ? readKey(file) : undefined)
}

export function masterKeyFile({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'master.key')
}

/** Creates the key file, complete and on disk before anything is encrypted with it. Of several concurrent starts one creates it. */
export function writeKeyFile(file: string, key: MasterKey = newMasterKey()): MasterKey {
  const draft = `${file}.${process.pid}`
  makePrivateDirectory(dirname(file))
  writeFileSync(draft, `${Buffer.from(key).toString('base64')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, file)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return readKey(file)
  } finally {
    rmSync(draft)
  }
}

function readKey(file: string): MasterKey {
  const key = parseMasterKey(readFileSync(file, 'utf8'))
  if (key === undefined) throw new SetupError(`${file} does not hold a master key`)
  return key
}

async function verifyOrRecordMasterKey(
  db: Db,
  key: MasterKey,
  check: string | undefined,
): Promise<MasterKey> {
  const secretsKey = deriveKey(key, 'secrets at rest')
  if (check === undefined) {
    const proof = Buffer.from(seal(secretsKey, 'berth', MASTER_KEY_CHECK)).toString('base64')
    const first = await writeSetting(db.kysely, MASTER_KEY_CHECK, proof, { onlyIfAbsent: true })
    return first ? key : verifyOrRecordMasterKey(db, key, await readSetting(db.kysely, MASTER_KEY_CHECK))
  }
  requireSameKey(key, check)
  return key
}

/** `check`: the proof in the database of its master key. */
function requireSameKey(key: MasterKey, check: string): void {
  if (!isKeyOfDatabase(key, check))
    throw new SetupError('the database was made with another master key; set BERTH_MASTER_KEY to that one')
}

/** Returns whether a proof from a database matches this key. */
export function isKeyOfDatabase(key: MasterKey, check: string): boolean {
  const secretsKey = deriveKey(key, 'secrets at rest')
  return unseal(secretsKey, Buffer.from(check, 'base64'), MASTER_KEY_CHECK) !== undefined
}
