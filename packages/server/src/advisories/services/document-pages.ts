import { formats, type UnmappedPath } from '@berth/advisory-formats/advisory-record.ts'
import {
  type AdvisorySource,
  AdvisorySourceSchema,
  type GetAdvisoryDocumentsRequest,
} from '@berth/contract/gen/berth/vulnerabilities/v1/documents_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { rootOf } from '../../api/uid.ts'
import type { Call } from '../../pipeline/call.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { AdvisoryDocumentRow, AdvisoryRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { decompressDocument } from '../documents/stored-documents.ts'

/** Lists the documents of a group or of one advisory, a page at a time. Content is returned for a single document only. */

type DocumentPageRequest = Pick<
  GetAdvisoryDocumentsRequest,
  'format' | 'id' | 'content' | 'pageSize' | 'pageToken'
>

/** `of`: the group, and for an advisory also its key. */
export async function readDocumentPage(
  { db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>,
  call: Call,
  request: DocumentPageRequest,
  of: Pick<AdvisoryRow, 'parent'> & Partial<Pick<AdvisoryRow, 'key'>>,
): Promise<{ readonly documents: AdvisorySource[]; readonly nextPageToken: string }> {
  const { format, id, content, pageToken } = request
  if (request.pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
  if (format !== '' && !(formats as readonly string[]).includes(format))
    throw invalidArgument('format', `must be one of ${formats.join(', ')}, or empty`)
  if (content && (format === '' || id === ''))
    throw invalidArgument('content', 'requires format and id: content is returned for one document at a time')
  const size = effectivePageSize(request.pageSize)
  const requestKey = JSON.stringify([...callerBinding(call), of.parent, of.key ?? null, format, id])
  const cursor = readCursor(pageTokens, pageToken, requestKey)

  const { parent, key } = of
  const groupKey = { root: rootOf(parent), parent }
  let query = db.kysely
    .selectFrom('advisory_documents as d')
    .select(['d.format', 'd.id', 'd.name', 'd.imported_ms', 'd.revision_ms', 'd.unmapped'])
    .$if(content, (it) => it.select('d.content'))
    .where('d.root', '=', groupKey.root)
    .where('d.parent', '=', groupKey.parent)
  if (key !== undefined)
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('advisory_sources as s')
          .select('s.id')
          .where('s.root', '=', groupKey.root)
          .where('s.parent', '=', groupKey.parent)
          .where('s.key', '=', key)
          .whereRef('s.format', '=', 'd.format')
          .whereRef('s.id', '=', 'd.id'),
      ),
    )
  if (format !== '') query = query.where('d.format', '=', format)
  else if (id !== '') query = query.where('d.format', 'in', formats)
  if (id !== '') query = query.where('d.id', '=', id)
  if (cursor !== undefined) {
    const [afterFormat, afterId] = cursor.after as [string, string]
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('d.format', 'd.id'), '>', tuple(afterFormat, afterId)),
    )
  }
  const rows = await query
    .orderBy('d.format')
    .orderBy('d.id')
    .limit(size + 1)
    .execute()
  const last = rows.length > size ? rows[size - 1] : undefined
  return {
    documents: await Promise.all(rows.slice(0, size).map(toSource)),
    nextPageToken:
      last === undefined
        ? ''
        : pageTokens.issue({ after: [last.format, last.id], skip: 0, skipped: 0 }, requestKey),
  }
}

type DocumentPageRow = Omit<AdvisoryDocumentRow, 'root' | 'parent' | 'content_hash' | 'keys' | 'content'> &
  Partial<Pick<AdvisoryDocumentRow, 'content'>>

async function toSource(row: DocumentPageRow): Promise<AdvisorySource> {
  return create(AdvisorySourceSchema, {
    format: row.format,
    id: row.id,
    name: row.name,
    importTime: timestampOf(row.imported_ms),
    ...(row.revision_ms !== 0 && { revisionTime: timestampOf(row.revision_ms) }),
    unmapped: JSON.parse(row.unmapped) as UnmappedPath[],
    ...(row.content !== undefined && { content: await decompressDocument(row.content) }),
  })
}
