import { limits } from '../../config/limits.ts'
import { SetupError } from '../../config/setup-errors.ts'
import { TaskGroup } from '../../runtime/task-group.ts'
import type { BackupManifest, StoredTable } from './manifest.ts'
import { type BackupRepository, DamagedFile, isBackupId, type StoredBackup } from './repository.ts'
import { type Row, unpackRows } from './rows.ts'

/** What a backup contains, as it is read for a check, a restore, or the removal of others. */

export interface ReadOptions {
  readonly signal: AbortSignal
  /** Called with what was read so far, of so many bytes. */
  readonly onProgress: (bytes: number, bytesInAll: number) => void
}

export interface BackedUpBlob {
  readonly digest: string
  readonly size: number
}

/** A complete backup by its id, or the latest one. */
export async function chooseBackup(
  repository: BackupRepository,
  id: string | undefined,
): Promise<BackupManifest> {
  if (id !== undefined && !isBackupId(id))
    throw new SetupError(`${JSON.stringify(id)} is not the id of a backup`)
  const backups = await repository.list()
  const complete = backups.flatMap(({ manifest }) => manifest ?? [])
  const chosen = id === undefined ? complete.at(-1) : complete.find((manifest) => manifest.id === id)
  if (chosen !== undefined) return chosen
  const isIncomplete = backups.some((backup) => backup.id === id)
  throw new SetupError(
    id === undefined
      ? `${repository.name} contains no complete backup`
      : `backup ${id} in ${repository.name} ${isIncomplete ? 'is not complete' : 'does not exist'}`,
  )
}

/** Rows of a table. Fails with DamagedFile where there are more or fewer than there were. */
export async function* readBackupRows(repository: BackupRepository, table: StoredTable): AsyncGenerator<Row> {
  let rows = 0
  try {
    for await (const row of unpackRows(repository.read(table), table.columns)) {
      rows++
      yield row
    }
  } catch (error) {
    // Of gzip and JSON; the checksum fails before both only where a file is read to its end.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code?.startsWith('Z_'))
      throw new DamagedFile(table.file, (error as Error).message)
    throw error
  }
  if (rows !== table.rows) throw new DamagedFile(table.file, `it has ${rows} rows, not ${table.rows}`)
}

/** All blobs that a backup refers to, those that were damaged left out. */
export async function listBackedUpBlobs(
  repository: BackupRepository,
  { tables, damaged }: BackupManifest,
): Promise<BackedUpBlob[]> {
  const table = tables.find(({ name }) => name === 'blobs')
  if (table === undefined) return []
  const [digestAt, sizeAt] = ['digest', 'size'].map((name) =>
    table.columns.findIndex((one) => one.name === name),
  )
  const excluded = new Set(damaged)
  const blobs: BackedUpBlob[] = []
  for await (const row of readBackupRows(repository, table)) {
    const digest = String(row[digestAt ?? -1])
    if (!excluded.has(digest)) blobs.push({ digest, size: Number(row[sizeAt ?? -1]) })
  }
  return blobs
}

/** Reads the files of all tables, and compares them with their checksums. Throws DamagedFile for the first that is damaged. */
export async function verifyTables(
  repository: BackupRepository,
  { tables }: BackupManifest,
  { signal, onProgress }: ReadOptions,
): Promise<void> {
  const bytesInAll = tables.reduce((sum, table) => sum + table.bytes, 0)
  let bytes = 0
  for (const table of tables) {
    for await (const piece of repository.read(table)) {
      signal.throwIfAborted()
      bytes += piece.length
      onProgress(bytes, bytesInAll)
    }
  }
}

/** Reads all blobs of a backup, and returns what is wrong with those that are missing or damaged. */
export async function findDamagedBlobs(
  repository: BackupRepository,
  blobs: readonly BackedUpBlob[],
  { signal, onProgress }: ReadOptions,
): Promise<DamagedFile[]> {
  const damaged: DamagedFile[] = []
  const bytesInAll = blobs.reduce((sum, { size }) => sum + size, 0)
  let bytes = 0
  const readBlob = async ({ digest, size }: BackedUpBlob) => {
    for await (const piece of repository.readBlob(digest, size)) {
      signal.throwIfAborted()
      bytes += piece.length
      onProgress(bytes, bytesInAll)
    }
  }
  await forEachBlob(blobs, async (blob) => {
    try {
      await readBlob(blob)
    } catch (error) {
      if (!(error instanceof DamagedFile)) throw error
      damaged.push(error)
    }
  })
  return damaged
}

/** Does work on some blobs at a time; the first failure ends it. */
export async function forEachBlob<T>(blobs: readonly T[], work: (blob: T) => Promise<void>): Promise<void> {
  const working = new TaskGroup(limits.backupBlobConcurrency)
  try {
    for (const blob of blobs) await working.start(() => work(blob))
    await working.wait()
  } catch (error) {
    await working.cancel()
    throw error
  }
}

/** Removes all complete backups but the newest `keep`, what is not complete, and the blobs that no backup refers to any more. */
export async function prune(
  repository: BackupRepository,
  { keep, dryRun, signal }: { readonly keep: number; readonly dryRun: boolean; readonly signal: AbortSignal },
): Promise<PruneReport> {
  const all = await repository.list()
  const complete = all.filter(({ manifest }) => manifest !== undefined)
  const kept = new Set(complete.slice(-keep))
  const removed: StoredBackup[] = all.filter((backup) => !kept.has(backup))
  // Before anything is removed: a list that cannot be read removes nothing.
  const needed = new Set<string>()
  for (const { manifest } of kept)
    if (manifest !== undefined)
      for (const { digest } of await listBackedUpBlobs(repository, manifest)) needed.add(digest)
  const blobs = [...(await repository.blobs())].filter(([digest]) => !needed.has(digest))
  const bytes = blobs.reduce((sum, [, size]) => sum + size, 0)
  if (!dryRun) {
    await repository.removeUnfinished()
    for (const backup of removed) {
      signal.throwIfAborted()
      await repository.remove(backup)
    }
    await forEachBlob(blobs, async ([digest]) => {
      signal.throwIfAborted()
      await repository.removeBlob(digest)
    })
  }
  return { kept: kept.size, removed: removed.map(({ id }) => id), blobs: { count: blobs.length, bytes } }
}

export interface PruneReport {
  readonly kept: number
  /** Ids. */
  readonly removed: readonly string[]
  readonly blobs: { readonly count: number; readonly bytes: number }
}
