import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import type { AdvisoryRecord, Format } from '@berth/advisory-formats/advisory-record.ts'
import { LRUCache } from 'lru-cache'
import { aborted, quotaExceeded } from '../../api/errors.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { AdvisoryDocumentRow } from '../../storage/schema/tables.ts'
import type { DocumentReader } from './document-reader.ts'

/**
 * What is written for one document can depend on earlier documents, which are stored and parsed again when needed. This never happens
 * inside a transaction: one that needs a document ends, and is retried after the document was parsed.
 */

export type StoredDocument = Pick<
  AdvisoryDocumentRow,
  'format' | 'id' | 'content_hash' | 'revision_ms' | 'imported_ms'
>

/** Returns the records of a document that was parsed again; undefined if it was not. */
export type RecordsOf = (document: StoredDocument) => readonly AdvisoryRecord[] | undefined

/** Ends a transaction that needs more documents. */
class DocumentsNotRead extends Error {
  readonly documents: readonly StoredDocument[]

  constructor(documents: readonly StoredDocument[]) {
    super('documents must be parsed again')
    this.documents = documents
  }
}

/** Returns the records of documents, or throws DocumentsNotRead. */
export function requireRecords(
  documents: readonly StoredDocument[],
  recordsOf: RecordsOf,
): { readonly document: StoredDocument; readonly records: readonly AdvisoryRecord[] }[] {
  const found = documents.map((document) => ({ document, records: recordsOf(document) }))
  const unread = found.filter(({ records }) => records === undefined).map(({ document }) => document)
  if (unread.length > 0) throw new DocumentsNotRead(unread)
  return found.map(({ document, records = [] }) => ({ document, records }))
}

const ATTEMPTS_MAX = 8

/** Runs a transaction that may need documents of a group. */
export async function withStoredDocuments<T>(
  { db, reader, parent }: { readonly db: Db; readonly reader: DocumentReader; readonly parent: Uid },
  work: (tx: Tx, recordsOf: RecordsOf) => Promise<T>,
): Promise<T> {
  const read = new Map<string, readonly AdvisoryRecord[]>()
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTransaction(db, (tx) => work(tx, (document) => read.get(cacheKey(document))))
    } catch (error) {
      if (!(error instanceof DocumentsNotRead)) throw error
      if (attempt === ATTEMPTS_MAX) throw aborted('other documents of the group keep changing; retry later')
      const { documentsReparsedMax: max } = limits
      if (read.size + error.documents.length > max)
        throw quotaExceeded(parent, `has advisories in common with more than ${max} other documents`)
      for (const document of error.documents) {
        const records = await rereadDocument(db, reader, parent, document)
        if (records !== undefined) read.set(cacheKey(document), records)
      }
    }
  }
}

function cacheKey({ format, id, content_hash }: StoredDocument): string {
  return `${format} ${Buffer.from(content_hash).toString('hex')} ${id}`
}

const recordCaches = new WeakMap<DocumentReader, LRUCache<string, readonly AdvisoryRecord[]>>()

/** Returns undefined if the document has changed since. */
async function rereadDocument(
  { kysely }: Db,
  reader: DocumentReader,
  parent: Uid,
  document: StoredDocument,
): Promise<readonly AdvisoryRecord[] | undefined> {
  // Equal documents of several groups share one entry.
  const cache =
    recordCaches.get(reader) ??
    new LRUCache({ maxSize: limits.recordsCachedMax, sizeCalculation: ({ length }) => length + 1 })
  recordCaches.set(reader, cache)
  const known = cache.get(cacheKey(document))
  if (known !== undefined) return known
  const row = await kysely
    .selectFrom('advisory_documents')
    .select(['name', 'content', 'content_hash'])
    .where('root', '=', rootOf(parent))
    .where('parent', '=', parent)
    .where('format', '=', document.format)
    .where('id', '=', document.id)
    .executeTakeFirst()
  if (row === undefined || cacheKey({ ...document, ...row }) !== cacheKey(document)) return undefined
  const read = await reader.read(row.name, document.format as Format, await decompressDocument(row.content))
  if ('rejection' in read)
    throw quotaExceeded(parent, `has advisories in common with ${row.name}, which ${read.rejection.reason}`)
  cache.set(cacheKey(document), read.document.advisories)
  return read.document.advisories
}

const inflateAsync = promisify(inflate)

/** Returns the bytes of a document from its row. */
export function decompressDocument(compressed: Uint8Array): Promise<Uint8Array> {
  return inflateAsync(compressed, { maxOutputLength: limits.advisoryDocumentBytesMax })
}
