import { randomBytes } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { limits } from '../../config/limits.ts'
import { SetupError } from '../../config/setup-errors.ts'
import { requireCoordinator } from '../../installation/cluster-server.ts'
import type { Config } from '../../installation/config.ts'
import {
  configuredMasterKey,
  isKeyOfDatabase,
  masterKeyFile,
  writeKeyFile,
} from '../../installation/installation.ts'
import { adoptStore } from '../../installation/store-identity.ts'
import type { BlobStore, StoredBlob } from '../../registry/blobs/blob-store.ts'
import { type Finding, isFailure } from '../../registry/scrub/findings.ts'
import type { ScrubReport } from '../../registry/scrub/run.ts'
import { scrub } from '../../registry/scrub/scrub.ts'
import type { MasterKey } from '../../runtime/encryption.ts'
import { insertRows } from '../../storage/bulk-rows.ts'
import type { Db } from '../../storage/db.ts'
import {
  migratorTables,
  readTableNames,
  readTables,
  UNFINISHED_RESTORE,
} from '../../storage/schema/catalog.ts'
import { migrate, migrateTo, unknownMigrations } from '../../storage/schema/migrate.ts'
import type { Tables } from '../../storage/schema/tables.ts'
import {
  markRestore,
  readUnfinishedRestore,
  type UnfinishedRestore,
  unmarkRestore,
} from '../../storage/schema/unfinished-restore.ts'
import { findDamagedBlobs, forEachBlob, listBackedUpBlobs, readBackupRows, verifyTables } from './contents.ts'
import type { BackupManifest, StoredTable } from './manifest.ts'
import { type BackupRepository, DamagedFile } from './repository.ts'
import { unsealKey } from './sealed-key.ts'

/**
 * Restores a backup into an empty installation, or over one on request. All files of tables are checked before anything is changed. A
 * mark in the database keeps servers from starting until the restore is finished; a restore that was interrupted is continued.
 */

export interface RestoreOptions {
  readonly config: Config
  readonly db: Db
  readonly clock: () => number
  readonly blobs: BlobStore
  readonly repository: BackupRepository
  readonly manifest: BackupManifest
  /** Asked for where the master key has to be decrypted. */
  readonly passphrase: () => Promise<string>
  /** Replaces an installation that exists. */
  readonly replace: boolean
  /** Leaves out blobs that are damaged in the backup. */
  readonly allowDamaged: boolean
  /** Compares all restored blobs and manifests with their digests in the end. */
  readonly scrub: boolean
  readonly signal: AbortSignal
  readonly onProgress: (progress: RestoreProgress) => void
  readonly onFinding: (finding: Finding) => void
}

export interface RestoreProgress {
  readonly step: 'check' | 'tables' | 'blobs' | 'scrub'
  /** Rows of `tables`, bytes of the others. */
  readonly done: number
  readonly total: number
}

export interface RestoreReport {
  readonly backup: string
  readonly rows: number
  readonly blobs: { readonly count: number; readonly bytes: number }
  /** Blobs that are left out: digests, or files of the backup. */
  readonly damaged: readonly string[]
  /** Migrations that ran after the restore of an older version. */
  readonly migrations: readonly string[]
  /** Undefined where it was not asked for. */
  readonly scrub: (ScrubReport & { readonly wrong: number }) | undefined
}

export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  const { db, manifest, repository, signal, onProgress } = options
  const [unknown] = unknownMigrations(manifest.migrations)
  if (unknown !== undefined)
    throw new SetupError(
      `backup ${manifest.id} is from a newer version of Berth (${manifest.version}, ${unknown}): restore it with that version`,
    )
  await requireCoordinator(db, 'a restore')
  const earlier = await readUnfinishedRestore(db)
  const isEmpty = await requireReplaceableTarget(options, earlier)
  const key = await resolveMasterKey(options)
  const isResumed = earlier?.backup === manifest.id && earlier.stage === 'blobs'
  const reading = { signal, onProgress: progressOf(onProgress, 'check') }
  if (!isResumed) {
    await verifyTables(repository, manifest, reading)
    // What is replaced is gone afterwards: nothing of the backup may be damaged then.
    if (!isEmpty && earlier === undefined) await requireUndamagedBlobs(options)
    await loadTables(options, key)
  }
  const { copied, damaged } = await copyBlobs(options)
  const migrations = await migrate(db)
  const leftOut = [...manifest.damaged, ...damaged]
  const report =
    options.scrub || leftOut.length > 0 ? await scrubRestored(options, leftOut.length > 0) : undefined
  await adoptStore(db, options.blobs, { debug() {}, warn() {} })
  await unmarkRestore(db)
  return {
    backup: manifest.id,
    rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
    blobs: copied,
    damaged: leftOut,
    migrations,
    scrub: report,
  }
}

function progressOf(onProgress: RestoreOptions['onProgress'], step: RestoreProgress['step']) {
  return (done: number, all: number) => onProgress({ step, done, total: all })
}

/** Whether the installation is empty. Throws a SetupError where it may not be replaced. */
async function requireReplaceableTarget(
  { config, db, blobs, manifest, replace }: RestoreOptions,
  earlier: UnfinishedRestore | undefined,
): Promise<boolean> {
  const names = await readTableNames(db)
  const known = new Set([...manifest.tables.map(({ name }) => name), ...engineTables, UNFINISHED_RESTORE])
  const foreign = names.filter((name) => !known.has(name))
  if (foreign.length > 0)
    throw new SetupError(
      `the database contains ${foreign.slice(0, 3).join(', ')}, which the backup does not: restore into an empty database`,
    )
  if (earlier !== undefined) return false
  const stored = await firstBlob(blobs)
  if (names.length === 0 && stored === undefined) return true
  if (replace) {
    await requireNoOtherConnections(db)
    return false
  }
  const where = config.databaseUrl === undefined ? config.dataDir : 'the database'
  throw new SetupError(
    names.length > 0
      ? `${where} already contains an installation: restore into an empty one, or replace it with --replace`
      : `the store of images is not empty (${stored?.location}): use an empty one, or keep what is there with --replace`,
  )
}

/** How the connections of a restore are named in PostgreSQL. */
export const RESTORE_APPLICATION_NAME = 'berth admin restore'

/** Throws a SetupError while others are connected to a PostgreSQL database that is about to be replaced. */
async function requireNoOtherConnections(db: Db): Promise<void> {
  const others = await db.rules.listSessions(db, RESTORE_APPLICATION_NAME)
  if (others.length > 0)
    throw new SetupError(
      `${others.length} other connections use the database (${others.slice(0, 3).join(', ')}): stop all nodes before an installation is replaced`,
    )
}

/** Tables that no backup has. */
const engineTables = ['migrations', 'migrations_lock', 'rate_limits']

async function firstBlob(blobs: BlobStore): Promise<StoredBlob | undefined> {
  for await (const stored of blobs.listBlobs()) return stored
  return undefined
}

/** Returns the key of the backup. Throws a SetupError if it is not available. */
async function resolveMasterKey({
  config,
  manifest,
  passphrase,
  replace,
}: RestoreOptions): Promise<MasterKey> {
  const present = configuredMasterKey(config)
  if (present !== undefined && isKeyOfDatabase(present, manifest.masterKeyCheck)) return present
  if (config.masterKey !== undefined)
    throw new SetupError(`BERTH_MASTER_KEY is not the master key of backup ${manifest.id}`)
  if (present !== undefined && !replace)
    throw new SetupError(
      `${masterKeyFile(config)} is not the master key of backup ${manifest.id}: move it away, or replace the installation with --replace`,
    )
  if (manifest.masterKey === undefined)
    throw new SetupError(
      `backup ${manifest.id} does not include the master key: set BERTH_MASTER_KEY, or put the key into ${masterKeyFile(config)}`,
    )
  const key = await unsealKey(manifest.masterKey, await passphrase(), manifest.id)
  if (key === undefined) throw new SetupError(`the passphrase is not the one of backup ${manifest.id}`)
  if (!isKeyOfDatabase(key, manifest.masterKeyCheck))
    throw new SetupError(`the master key in backup ${manifest.id} is not the key of its database`)
  return key
}

async function requireUndamagedBlobs({
  repository,
  manifest,
  allowDamaged,
  signal,
  onProgress,
}: RestoreOptions) {
  if (allowDamaged) return
  const blobs = await listBackedUpBlobs(repository, manifest)
  const [damaged] = await findDamagedBlobs(repository, blobs, {
    signal,
    onProgress: progressOf(onProgress, 'check'),
  })
  if (damaged !== undefined) throw damaged
}

async function loadTables(options: RestoreOptions, key: MasterKey): Promise<void> {
  const { config, db, manifest, repository, signal, onProgress } = options
  await markRestore(db, { backup: manifest.id, stage: 'tables' })
  storeKey(config, key)
  // Published files are numbered by revisions, which a restored database counts from the start.
  rmSync(join(config.dataDir, 'feeds'), { recursive: true, force: true })
  const names = (await readTableNames(db)).filter((name) => name !== UNFINISHED_RESTORE)
  const drop = async (names: readonly string[]) => {
    for (const name of names) await sql`drop table ${sql.table(name)}`.execute(db.kysely)
  }
  // The mark is on the coordinator alone. Without the tables of the migrator, no node starts on a worker; one may have, since the first check.
  await drop(names.filter((name) => migratorTables.has(name)))
  if (names.length > 0) await requireNoOtherConnections(db)
  await drop(names.filter((name) => !migratorTables.has(name)))
  await migrateTo(db, manifest.migrations.at(-1) ?? '')
  await requireSameTables(db, manifest)
  const all = manifest.tables.reduce((sum, { rows }) => sum + rows, 0)
  let done = 0
  for (const table of manifest.tables)
    await loadTable(db, repository, table, (rows) => {
      signal.throwIfAborted()
      done += rows
      onProgress({ step: 'tables', done, total: all })
    })
  // The store of images may be another one: it gets an identity at the end.
  await db.kysely.deleteFrom('settings').where('name', '=', 'blob_store').execute()
  // No process of the restored installation runs: work that was in progress is free.
  await db.kysely.updateTable('registry_runs').set({ runner: '', lease_ms: 0 }).execute()
  // Backups of 0.6 have no such table; the migrations create it later.
  if ((await readTableNames(db)).includes('jobs'))
    await db.kysely.updateTable('jobs').set({ runner: '', lease_ms: 0 }).execute()
  // The installation that was backed up sends its own email; older backups have no such table.
  if ((await readTableNames(db)).includes('mails'))
    await db.kysely
      .updateTable('mails')
      .set({
        state: 'failed',
        problem: 'it waited when the backup was created',
        data: new Uint8Array(),
        runner: '',
        lease_ms: 0,
      })
      .where('state', '=', 'queued')
      .execute()
  await markRestore(db, { backup: manifest.id, stage: 'blobs' })
}

function storeKey(config: Config, key: MasterKey): void {
  if (config.masterKey !== undefined) return
  const present = configuredMasterKey(config)
  if (present !== undefined && Buffer.from(present).equals(key)) return
  const file = masterKeyFile(config)
  if (existsSync(file)) renameSync(file, `${file}.replaced-${Date.now()}`)
  writeKeyFile(file, key)
}

/** Also keeps names of a manifest that was tampered with out of statements. */
async function requireSameTables(db: Db, { id, tables }: BackupManifest): Promise<void> {
  const described = (all: readonly Pick<StoredTable, 'name' | 'columns'>[]) =>
    all
      .flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name} ${column.type}`))
      .sort()
  const existing = new Set(described(await readTables(db)))
  const wanted = described(tables)
  const [missing] = wanted.filter((column) => !existing.has(column))
  if (missing !== undefined || wanted.length !== existing.size)
    throw new SetupError(
      `the tables of backup ${id} are not those of its migrations (${missing ?? 'columns are missing'}): it is damaged`,
    )
}

const INSERT_BATCH_ROWS = 500

async function loadTable(
  db: Db,
  repository: BackupRepository,
  table: StoredTable,
  onRows: (rows: number) => void,
): Promise<void> {
  const name = table.name as keyof Tables
  await db.kysely.transaction().execute(async (tx) => {
    // Migrations may have written some.
    await sql`delete from ${sql.table(name)}`.execute(tx)
    let rows: object[] = []
    const insert = async () => {
      await insertRows(db, tx, name, rows as never[])
      onRows(rows.length)
      rows = []
    }
    for await (const row of readBackupRows(repository, table)) {
      rows.push(Object.fromEntries(table.columns.map((column, at) => [column.name, row[at]])))
      if (rows.length >= INSERT_BATCH_ROWS) await insert()
    }
    await insert()
  })
}

interface BlobToRestore {
  readonly digest: string
  readonly size: number
  readonly location: string
}

async function copyBlobs(options: RestoreOptions) {
  const { db, blobs, repository, manifest, allowDamaged, signal, onProgress } = options
  const excluded = new Set(manifest.damaged)
  const rows = await db.kysely.selectFrom('blobs').select(['digest', 'size', 'location']).execute()
  const wanted: BlobToRestore[] = rows
    .map((row) => ({ ...row, size: Number(row.size) }))
    .filter(({ digest }) => !excluded.has(digest))
  const stored = new Map<string, number>()
  for await (const { location, size } of blobs.listBlobs()) stored.set(location, size)
  const missing = wanted.filter(({ location, size }) => stored.get(location) !== size)
  const all = missing.reduce((sum, { size }) => sum + size, 0)
  let done = 0
  const damaged: string[] = []
  for await (const upload of blobs.listUploads()) await blobs.discard(upload)
  async function* bytesOf({ digest, size }: BlobToRestore) {
    for await (const piece of repository.readBlob(digest, size)) {
      signal.throwIfAborted()
      done += piece.length
      onProgress({ step: 'blobs', done, total: all })
      yield Buffer.from(piece)
    }
  }
  await forEachBlob(missing, async (blob) => {
    signal.throwIfAborted()
    try {
      const id = randomBytes(16).toString('hex')
      // Fails where the digest is another one, before the bytes get their place.
      const upload = await blobs.append({ id, size: 0, state: '' }, bytesOf(blob), { isLast: true })
      await blobs.commit(upload, blob.location)
    } catch (error) {
      if (!allowDamaged || !(error instanceof DamagedFile)) throw error
      damaged.push(error.file)
    }
  })
  const bytes = wanted.reduce((sum, { size }) => sum + size, 0)
  return { copied: { count: wanted.length - damaged.length, bytes }, damaged }
}

/** `repair`: a push of the same bytes stores blobs that are left out. */
async function scrubRestored(
  { db, clock, blobs, signal, onProgress, onFinding }: RestoreOptions,
  repair: boolean,
) {
  let wrong = 0
  const report = await scrub({
    store: { db, clock },
    blobs,
    repair,
    force: repair,
    position: '',
    savePosition: async () => {},
    onFinding(finding) {
      if (isFailure(finding)) wrong++
      onFinding(finding)
    },
    onProgress: ({ bytes, totalBytes: bytesInAll }) =>
      onProgress({ step: 'scrub', done: bytes, total: bytesInAll }),
    signal,
    orphanAgeMs: limits.untrackedBlobAgeMsMin,
  })
  return { ...report, wrong }
}
