import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { grantsIn } from './auth/grants.ts'
import { openBlobs } from './blobs/open.ts'
import { UnusableStore } from './blobs/s3-failures.ts'
import type { BlobStore } from './blobs/store.ts'
import type { Addresses, Config } from './config.ts'
import { pageTokens } from './core/page.ts'
import { deriveKey, type MasterKey, newMasterKey, parseMasterKey, seal, unseal } from './core/sealed.ts'
import { randomUids, type UidSource } from './core/uid.ts'
import { storeAnonymous } from './iam/anonymous.ts'
import { storeManagedRoles } from './iam/roles.ts'
import type { Log } from './log.ts'
import {
  type Db,
  makePrivateDirectory,
  openPostgresDb,
  openSqliteDb,
  type StatementTimer,
} from './storage/db.ts'
import { migrate } from './storage/migrate.ts'
import { readSetting, writeSetting } from './storage/settings.ts'
import type { Store } from './storage/store.ts'
import { type AccessTokens, accessTokens } from './sts/access-token.ts'
import { type SigningKeys, signingKeys } from './sts/signing-keys.ts'

/** An installation: its database and its secrets, open. The server and the operator's own commands both begin here. */
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
export interface InstallationParts {
  readonly clock?: () => number
  readonly uids?: UidSource
  readonly openDb?: () => Promise<Db>
  readonly timer?: StatementTimer
}

/** A mistake that the operator can mend; its message says how. */
export class SetupError extends Error {
  override readonly name: string = 'SetupError'
}

/** A word on the command line that cannot be meant. */
export class UsageError extends SetupError {
  override readonly name = 'UsageError'
}

/** Opens the database, brings its schema up to date and checks that the master key is the one it was made with. */
export async function openInstallation(
  config: Config,
  log: Log,
  parts: InstallationParts = {},
): Promise<Installation> {
  const clock = parts.clock ?? Date.now
  const db = await (parts.openDb?.() ?? openDb(config, log, parts.timer))
  try {
    const migrations = await migrate(db)
    const masterKey = await openMasterKey(config, db)
    const secretsKey = deriveKey(masterKey, 'secrets at rest')
    const store: Store = {
      db,
      clock,
      uids: parts.uids ?? randomUids,
      pageTokens: pageTokens(deriveKey(masterKey, 'page tokens'), clock),
      secretsKey,
      grantsIn: grantsIn({ db, clock }),
    }
    await makeOnce(db, () => storeManagedRoles(store))
    await makeOnce(db, () => storeAnonymous(store))
    const keys = signingKeys(store, { signsForMs: config.signingKeyRotationMs })
    return {
      store,
      keys,
      migrations,
      tokensFor: ({ authUrl }) => accessTokens({ keys, issuer: authUrl, clock }),
      close: () => db.close(),
    }
  } catch (error) {
    await db.close()
    throw error
  }
}

/** Nodes that start at once make the same things: whoever comes second looks again and finds what the first one made. */
export async function makeOnce<T>(db: Db, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!db.rules.isUniqueViolation(error)) throw error
    return work()
  }
}

/** Where the bytes of images are. Throws a SetupError for a store that cannot be used. */
export async function openBlobStore(config: Config, log: Log): Promise<BlobStore> {
  try {
    return await openBlobs(config, log)
  } catch (error) {
    throw error instanceof UnusableStore ? new SetupError(error.message) : error
  }
}

/** The SQLite database's file in a data directory. */
export function databaseFile(dataDir: string): string {
  return join(dataDir, 'berth.db')
}

async function openDb(config: Config, log: Log, timer: StatementTimer | undefined): Promise<Db> {
  if (config.databaseUrl !== undefined) {
    return openPostgresDb(config.databaseUrl, {
      onError: (err) => log.warn({ err }, 'a database connection broke'),
      timer,
    })
  }
  try {
    return await openSqliteDb(databaseFile(config.dataDir), timer)
  } catch (error) {
    throw new SetupError(`the data directory ${config.dataDir} cannot be used: ${(error as Error).message}`)
  }
}

const CHECK = 'master_key_check'

/**
 * The master key from the environment, or from a file that only this user can read and that the first start makes. A value in
 * the database proves that it is the key which everything there was encrypted with.
 */
async function openMasterKey(config: Config, db: Db): Promise<MasterKey> {
  const file = join(config.dataDir, 'master.key')
  const check = await readSetting(db.kysely, CHECK)
  const key = config.masterKey ?? (existsSync(file) ? readKey(file) : undefined)
  if (key === undefined) {
    if (check !== undefined) {
      throw new SetupError(
        `the database was made with a master key, but ${file} is gone; put it back or set BERTH_MASTER_KEY`,
      )
    }
    return proveKey(db, writeNewKey(file), undefined)
  }
  return proveKey(db, key, check)
}

/** Makes the key file, whole and on disk before anything is encrypted with it. Of several starts at once one makes it. */
function writeNewKey(file: string): MasterKey {
  const key = newMasterKey()
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

async function proveKey(db: Db, key: MasterKey, check: string | undefined): Promise<MasterKey> {
  const secretsKey = deriveKey(key, 'secrets at rest')
  if (check === undefined) {
    const proof = Buffer.from(seal(secretsKey, 'berth', CHECK)).toString('base64')
    const first = await writeSetting(db.kysely, CHECK, proof, { onlyIfAbsent: true })
    return first ? key : proveKey(db, key, await readSetting(db.kysely, CHECK))
  }
  if (unseal(secretsKey, Buffer.from(check, 'base64'), CHECK) === undefined) {
    throw new SetupError('the database was made with another master key; set BERTH_MASTER_KEY to that one')
  }
  return key
}
