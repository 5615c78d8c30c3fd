import { createHash } from 'node:crypto'
import { SetupError } from '../../config/setup-errors.ts'
import type { Engine } from '../../storage/db.ts'
import type { Table } from '../../storage/schema/catalog.ts'
import type { SealedKey } from './sealed-key.ts'

/** The manifest of a backup: what it consists of, written after everything else. A backup without one is not complete. */

/** Raised when an older version could not restore what this one writes. */
export const BACKUP_FORMAT = 1

export interface StoredFile {
  /** In the repository. */
  readonly file: string
  readonly bytes: number
  /** Hexadecimal, of the file as it is stored. */
  readonly sha256: string
}

export interface StoredTable extends Table, StoredFile {
  readonly rows: number
}

export interface BackupManifest {
  readonly format: typeof BACKUP_FORMAT
  readonly id: string
  /** Of the program that wrote it. */
  readonly version: string
  /** Of the installation. A backup can be restored on either engine. */
  readonly engine: Engine
  /** RFC 3339: when the snapshot was taken, and when the backup was complete. */
  readonly snapshotTime: string
  readonly completeTime: string
  readonly migrations: readonly string[]
  /** The proof of the master key that the database contains. */
  readonly masterKeyCheck: string
  /** Absent where it was left out. */
  readonly masterKey?: SealedKey
  readonly tables: readonly StoredTable[]
  /** Bytes of images. `added`: those that no earlier backup had stored. */
  readonly blobs: { readonly count: number; readonly bytes: number; readonly added: AddedBlobs }
  /** Digests of blobs that were missing or damaged in the installation. */
  readonly damaged: readonly string[]
}

export interface AddedBlobs {
  readonly count: number
  readonly bytes: number
}

/** With its own checksum. */
export function serializeBackupManifest(manifest: BackupManifest): Uint8Array {
  return Buffer.from(`${JSON.stringify({ manifest, sha256: checksumOf(manifest) })}\n`)
}

/** Throws a SetupError that names the file. */
export function parseBackupManifest(bytes: Uint8Array, file: string): BackupManifest {
  let read: { readonly manifest?: BackupManifest; readonly sha256?: unknown }
  try {
    read = JSON.parse(Buffer.from(bytes).toString())
  } catch {
    throw new SetupError(`${file} is damaged: it is not JSON`)
  }
  const { manifest, sha256 } = read
  if (manifest !== undefined && Number(manifest.format) > BACKUP_FORMAT)
    throw new SetupError(
      `${file} has format ${manifest.format}, and this version of Berth reads format ${BACKUP_FORMAT}: use Berth ${manifest.version} or newer`,
    )
  if (manifest?.format !== BACKUP_FORMAT || sha256 !== checksumOf(manifest))
    throw new SetupError(`${file} is damaged: its checksum is not that of its content`)
  return manifest
}

function checksumOf(manifest: BackupManifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex')
}
