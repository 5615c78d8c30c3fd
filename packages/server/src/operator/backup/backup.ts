import { createHash } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { SetupError } from '../../config/setup-errors.ts'
import { MASTER_KEY_CHECK } from '../../installation/installation.ts'
import { type BlobStore, MissingBytes } from '../../registry/blobs/blob-store.ts'
import { backupJob } from '../../registry/jobs.ts'
import type { MasterKey } from '../../runtime/encryption.ts'
import { TaskGroup } from '../../runtime/task-group.ts'
import type { Db } from '../../storage/db.ts'
import { acquireJob, type JobLease } from '../../storage/jobs/job-leases.ts'
import { readTables } from '../../storage/schema/catalog.ts'
import { readAppliedMigrations, unknownMigrations } from '../../storage/schema/migrate.ts'
import { readUnfinishedRestore } from '../../storage/schema/unfinished-restore.ts'
import { readSetting } from '../../storage/settings.ts'
import { openSnapshot, type Snapshot } from '../../storage/snapshot.ts'
import type { Destination } from './destination.ts'
import { BACKUP_FORMAT, type BackupManifest, type StoredTable } from './manifest.ts'
import { type BackupRepository, newBackupId, openOrCreateBackupRepository } from './repository.ts'
import { packRows } from './rows.ts'
import { sealKey } from './sealed-key.ts'

/**
 * Backs up an installation while it serves: all tables in one snapshot, then the bytes of images that the snapshot refers to. While
 * it runs, collections remove no stored bytes (registry/gc).
 */

export interface BackupOptions {
  readonly db: Db
  readonly clock: () => number
  readonly blobs: BlobStore
  readonly destination: Destination
  /** Of this program. */
  readonly version: string
  /** Undefined leaves the master key out. */
  readonly key: { readonly masterKey: MasterKey; readonly passphrase: string } | undefined
  readonly signal: AbortSignal
  readonly onProgress: (progress: BackupProgress) => void
  readonly onError: (error: unknown) => void
}

export type BackupProgress =
  | { readonly step: 'tables'; readonly table: string }
  | { readonly step: 'blobs'; readonly bytes: number; readonly totalBytes: number }

export async function backUp(options: BackupOptions): Promise<BackupManifest> {
  const { db, destination } = options
  const check = await requireBackupPossible(db)
  const run = async (work: JobLease) => {
    const repository = await openOrCreateBackupRepository(destination, installationFingerprint(check))
    await repository.removeUnfinished()
    for (const backup of await repository.list())
      if (backup.manifest === undefined) await repository.remove(backup)
    const signal = AbortSignal.any([options.signal, work.signal])
    return await writeBackup({ ...options, signal }, repository, check)
  }
  return withBackupLease(options, run, { isBackup: true })
}

/** The proof of the master key. Throws a SetupError for a database that cannot be backed up. */
export async function requireBackupPossible(db: Db): Promise<string> {
  const unfinished = await readUnfinishedRestore(db)
  if (unfinished !== undefined)
    throw new SetupError(
      'a restore into this installation is not finished: finish it with berth admin restore first',
    )
  const migrations = await readAppliedMigrations(db)
  if (migrations.length === 0) throw new SetupError('the database is empty: there is nothing to back up')
  const [unknown] = unknownMigrations(migrations)
  if (unknown !== undefined)
    throw new SetupError(
      `the database is from a newer version of Berth (${unknown}): use that version to back it up`,
    )
  if (!migrations.includes(FIRST_REGISTRY_MIGRATION))
    throw new SetupError('the database is from a version without a registry: run berth migrate first')
  const check = await readSetting(db.kysely, MASTER_KEY_CHECK)
  if (check === undefined) throw new SetupError('the database has no master key yet: start berth serve once')
  return check
}

const FIRST_REGISTRY_MIGRATION = '0007-registry'

/** Runs `work` while no other backup of the installation runs, and no blob is removed. `isBackup`: its success is the time of the last backup. */
export async function withBackupLease<T>(
  { db, clock, onError }: Pick<BackupOptions, 'db' | 'clock' | 'onError'>,
  work: (taken: JobLease) => Promise<T>,
  { isBackup = false }: { readonly isBackup?: boolean } = {},
): Promise<T> {
  const taken = await acquireJob({ db, clock, onError }, backupJob)
  if (taken === undefined)
    throw new SetupError(
      `another backup of this installation is running, or ended without notice less than ${limits.registryRunLeaseMs / 1000} seconds ago: try again later`,
    )
  try {
    const result = await work(taken)
    await taken.release(isBackup ? { succeededMs: clock() } : {})
    return result
  } catch (error) {
    await taken.release()
    throw error
  }
}

/** Names an installation without a secret: what backups of the same one have in common. */
function installationFingerprint(masterKeyCheck: string): string {
  return createHash('sha256').update(masterKeyCheck).digest('hex').slice(0, 16)
}

async function writeBackup(
  options: BackupOptions,
  repository: BackupRepository,
  check: string,
): Promise<BackupManifest> {
  const { db, clock, key, version } = options
  if (db.source === undefined) throw new SetupError('this database cannot be backed up: it is in memory')
  const [id, snapshotMs] = [newBackupId(clock()), clock()]
  const snapshot = await openSnapshot(db.source)
  const { tables, migrations, wanted } = await writeTables(options, repository, id, snapshot).finally(() =>
    snapshot.close(),
  )
  const { blobs, damaged } = await writeBlobs(options, repository, wanted)
  const manifest: BackupManifest = {
    format: BACKUP_FORMAT,
    id,
    version,
    engine: db.engine,
    snapshotTime: new Date(snapshotMs).toISOString(),
    completeTime: new Date(clock()).toISOString(),
    migrations,
    masterKeyCheck: check,
    ...(key && { masterKey: await sealKey(key.masterKey, key.passphrase, id) }),
    tables,
    blobs,
    damaged,
  }
  options.signal.throwIfAborted()
  await repository.complete(manifest)
  return manifest
}

/** Uploads that are in progress have no bytes in a backup: their clients restart them. */
const tablesWithoutRows = new Set(['uploads'])

async function writeTables(
  { signal, onProgress }: BackupOptions,
  repository: BackupRepository,
  id: string,
  snapshot: Snapshot,
): Promise<Pick<BackupManifest, 'tables' | 'migrations'> & { readonly wanted: readonly WantedBlob[] }> {
  const tables: StoredTable[] = []
  for (const table of await readTables(snapshot)) {
    const { name, columns } = table
    onProgress({ step: 'tables', table: name })
    let rows = 0
    async function* counted() {
      if (tablesWithoutRows.has(name)) return
      const text = `select ${columns.map((column) => `"${column.name}"`).join(', ')} from "${name}"`
      for await (const batch of snapshot.batches(text)) {
        signal.throwIfAborted()
        rows += batch.length
        yield batch
      }
    }
    const file = await repository.write(id, `${name}.jsonl.gz`, packRows(counted(), columns))
    tables.push({ ...table, rows, ...file })
  }
  const migrations = await snapshot.read<{ name: string }>('select name from migrations order by name', [])
  return {
    tables,
    migrations: migrations.map(({ name }) => name),
    wanted: await snapshot.read<WantedBlob>('select digest, size, location from blobs order by digest', []),
  }
}

interface WantedBlob {
  readonly digest: string
  readonly size: number
  readonly location: string
}

async function writeBlobs(
  options: BackupOptions,
  repository: BackupRepository,
  wanted: readonly WantedBlob[],
): Promise<Pick<BackupManifest, 'blobs' | 'damaged'>> {
  const { signal, onProgress } = options
  const stored = await repository.blobs()
  const missing = wanted.filter(({ digest, size }) => stored.get(digest) !== Number(size))
  const totalBytes = totalSize(missing)
  const damaged = new Set<string>()
  let bytes = 0
  const copying = new TaskGroup(limits.backupBlobConcurrency)
  try {
    for (const blob of missing) {
      signal.throwIfAborted()
      await copying.start(async (calledOff) => {
        const read = (some: number) => {
          signal.throwIfAborted()
          calledOff.throwIfAborted()
          bytes += some
          onProgress({ step: 'blobs', bytes, totalBytes })
        }
        if (!(await copyBlob(options, repository, blob, read))) damaged.add(blob.digest)
      })
    }
    await copying.wait()
  } catch (error) {
    await copying.cancel()
    throw error
  }
  const added = missing.filter(({ digest }) => !damaged.has(digest))
  const intact = wanted.filter(({ digest }) => !damaged.has(digest))
  return {
    blobs: {
      count: intact.length,
      bytes: totalSize(intact),
      added: { count: added.length, bytes: totalSize(added) },
    },
    damaged: [...damaged].sort(),
  }
}

/** False for a blob that is missing or damaged in the installation. */
async function copyBlob(
  { db, blobs }: BackupOptions,
  repository: BackupRepository,
  { digest, size, location }: WantedBlob,
  onRead: (bytes: number) => void,
): Promise<boolean> {
  async function* bytesAt(place: string) {
    for await (const piece of blobs.read(place, { start: 0, end: Number(size) })) {
      onRead(piece.length)
      yield piece
    }
  }
  try {
    return await repository.writeBlob(digest, bytesAt(location))
  } catch (error) {
    if (!(error instanceof MissingBytes)) throw error
  }
  const now = await db.kysely
    .selectFrom('blobs')
    .select('location')
    .where('digest', '=', digest)
    .executeTakeFirst()
  if (now === undefined)
    throw new SetupError(
      `${digest} was removed while the backup was running, by a node of an older version, or because the backup was suspended: run the backup again`,
    )
  if (now.location === location) return false
  // It was pushed again, which a scrub with repair allows.
  return repository.writeBlob(digest, bytesAt(now.location)).catch((error: unknown) => {
    if (error instanceof MissingBytes) return false
    throw error
  })
}

function totalSize(blobs: readonly Pick<WantedBlob, 'size'>[]): number {
  return blobs.reduce((sum, { size }) => sum + Number(size), 0)
}
