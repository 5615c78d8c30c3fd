import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deflate, gunzip } from 'node:zlib'
import type {
  Format,
  ParsedDocument,
  Rejection,
  UnmappedPath,
} from '@berth/advisory-formats/advisory-record.ts'
import { ApiError, Code } from '../../api/errors.ts'
import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { lockGroup } from '../../iam/groups/parent-group.ts'
import { type AuditEvent, recordEvent } from '../../storage/changes/audit-events.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import type { DocumentReader } from '../documents/document-reader.ts'
import { type RecordsOf, withStoredDocuments } from '../documents/stored-documents.ts'
import { lockAdvisories, markAdvisoriesChanged } from '../storage/advisory-groups.ts'
import { DocumentRejected, deleteDocument, type WrittenDocument, writeDocument } from './write-document.ts'

/** Imports and deletes documents of a group, each in its own transaction with its audit event. */

export interface IncomingDocument {
  readonly name: string
  readonly format: Format | ''
  /** Plain or compressed (gzip). */
  readonly content: Uint8Array
}

export type ImportedDocument =
  | (WrittenDocument & {
      readonly format: Format
      readonly events: Readonly<Record<string, number>>
      readonly unmapped: readonly UnmappedPath[]
    })
  | { readonly rejection: Rejection }

export interface ImportOptions {
  readonly store: Pick<Store, 'db' | 'clock' | 'uids'>
  readonly reader: DocumentReader
  readonly parent: Uid
  readonly dryRun: boolean
  readonly event: Omit<AuditEvent, 'timeMs' | 'uid'>
  /** Throws if the document must no longer be written. The group is locked against other imports meanwhile. */
  readonly check?: (tx: Tx) => Promise<void>
  readonly signal?: AbortSignal
}

/** Starts a write after those of earlier documents. */
export type InOrder = <T>(write: () => Promise<T>) => Promise<T>

export async function importDocument(
  { name, format, content }: IncomingDocument,
  { store, reader, parent, dryRun, event, check, signal }: ImportOptions,
  inOrder: InOrder = (write) => write(),
): Promise<ImportedDocument> {
  signal?.throwIfAborted()
  const bytes = await decompress(content)
  if ('rejection' in bytes) return bytes
  const read = await reader.read(name, format, bytes.content)
  if ('rejection' in read) return read
  const { document } = read
  signal?.throwIfAborted()
  const { db, clock } = store
  const contentHash = documentHash(bytes.content)
  const compressed = await deflateAsync(bytes.content)
  const work = async (tx: Tx, recordsOf: RecordsOf) => {
    await lockGroup(db, tx, parent)
    await lockAdvisories(tx, parent)
    await check?.(tx)
    const incoming = { document, name, contentHash, compressed }
    const written = await writeDocument(store, tx, parent, incoming, recordsOf)
    if (hasChanges(document, written)) {
      await markAdvisoriesChanged(tx, parent, clock())
      await recordEvent(tx, { ...event, timeMs: clock(), uid: parent })
    }
    if (dryRun) throw new DryRunRollback(written)
    return written
  }
  let written: WrittenDocument
  try {
    written = await inOrder(() => withStoredDocuments({ db, reader, parent }, work))
  } catch (error) {
    if (!(error instanceof DryRunRollback)) {
      const reason = rejectionReason(db, error)
      if (reason === undefined) throw error
      return { rejection: { line: 0, reason } }
    }
    written = error.written
  }
  const events: Record<string, number> = {}
  for (const { type } of document.advisories.flatMap((advisory) => advisory.events))
    events[String(type.case)] = (events[String(type.case)] ?? 0) + 1
  return { ...written, format: document.format, events, unmapped: document.unmapped }
}

/** Superseded entries of a security database were never visible; entries that become superseded were. */
function hasChanges(
  { format }: ParsedDocument,
  { created, updated, withdrawn, scored, covered }: WrittenDocument,
): boolean {
  return created + updated + withdrawn + scored > 0 || (format !== 'secdb' && covered > 0)
}

export interface DeleteOptions extends Omit<ImportOptions, 'dryRun' | 'check'> {
  readonly format: Format
  readonly ids: readonly string[]
}

/** Deletes documents one after the other; returns how many existed, and how many advisories were deleted with them. */
export async function deleteDocuments({ store, reader, parent, format, ids, event }: DeleteOptions) {
  const { db, clock } = store
  const deleted = { documents: 0, withdrawn: 0 }
  for (const id of ids) {
    const written = await withStoredDocuments({ db, reader, parent }, async (tx, recordsOf) => {
      await lockGroup(db, tx, parent)
      await lockAdvisories(tx, parent)
      const result = await deleteDocument(store, tx, parent, { format, id }, recordsOf)
      if (result === undefined) return undefined
      await markAdvisoriesChanged(tx, parent, clock())
      await recordEvent(tx, { ...event, timeMs: clock(), uid: parent })
      return result
    })
    if (written === undefined) continue
    deleted.documents++
    deleted.withdrawn += written.withdrawn
  }
  return deleted
}

/** Returns why the database rejects a document; undefined if the document is not the cause and the next one would fail too. */
function rejectionReason({ rules }: Db, error: unknown): string | undefined {
  if (error instanceof DocumentRejected) return error.message
  if (error instanceof ApiError) return error.code === Code.RESOURCE_EXHAUSTED ? error.message : undefined
  return rules.isUnstorable(error) ? 'has a value that the database cannot store' : undefined
}

/** Rolls back the transaction of a dry run. */
class DryRunRollback extends Error {
  readonly written: WrittenDocument

  constructor(written: WrittenDocument) {
    super('dry run')
    this.written = written
  }
}

const GZIP = Buffer.from([0x1f, 0x8b])
export const isGzip = (content: Uint8Array) => GZIP.equals(content.subarray(0, GZIP.length))
const gunzipAsync = promisify(gunzip)
const deflateAsync = promisify(deflate)

/** Increased when the same document results in different advisories: documents are then imported again although their bytes are the same. */
const READER_VERSION = 3

/** Returns the hash that detects unchanged documents. */
export function documentHash(content: Uint8Array | string): Uint8Array {
  return createHash('sha256').update(`${READER_VERSION} `).update(content).digest()
}

async function decompress(
  content: Uint8Array,
): Promise<{ readonly content: Uint8Array } | { readonly rejection: Rejection }> {
  const { advisoryDocumentBytesMax: max } = limits
  const tooLarge = { rejection: { line: 0, reason: `must have at most ${max / 1024 / 1024} MiB` } }
  if (!isGzip(content)) return content.length > max ? tooLarge : { content }
  try {
    return { content: await gunzipAsync(content, { maxOutputLength: max }) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return tooLarge
    return { rejection: { line: 0, reason: 'is not a complete gzip file' } }
  }
}
