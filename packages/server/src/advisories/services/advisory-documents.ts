import { type Format, formats } from '@berth/advisory-formats/advisory-record.ts'
import {
  AdvisoryDocumentsService,
  type ImportAdvisoryDocumentsRequest,
  ImportedDocumentSchema,
} from '@berth/contract/gen/berth/vulnerabilities/v1/documents_pb.js'
import { create } from '@bufbuild/protobuf'
import { type FieldViolation, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import type { DocumentReader } from '../documents/document-reader.ts'
import { deleteDocuments, type ImportedDocument } from '../import/import-documents.ts'
import { importInOrder } from '../import/import-in-order.ts'
import { ADVISORY_TYPE, readWithdrawn } from './advisories.ts'
import { readDocumentPage } from './document-pages.ts'

/** The API of advisory documents. */
export function advisoryDocumentsService(store: Store, reader: DocumentReader) {
  const { db } = store

  return implement(AdvisoryDocumentsService, {
    async importAdvisoryDocuments(request, call) {
      const parent = requireScope(call).scope as Uid
      requireValid(...violationsIn(request))
      const event = auditEventOf(call)
      const options = { store, reader, parent, dryRun: request.dryRun, event, sharesCommits: true }
      const contentOf = ({ content }: { readonly content: Uint8Array }) => content
      const documents = []
      const imports = importInOrder(
        request.documents,
        options,
        contentOf,
        async ({ name, format, content }, importOne) =>
          toMessage(name, format, await importOne({ name, format: format as Format | '', content })),
      )
      for await (const imported of imports) documents.push(imported)
      return {
        $typeName: 'berth.vulnerabilities.v1.ImportAdvisoryDocumentsResponse' as const,
        documents,
      }
    },

    async deleteAdvisoryDocuments(request, call) {
      const parent = requireScope(call).scope as Uid
      const { ids, format } = request
      requireValid(
        isFormat(format)
          ? undefined
          : { field: 'format', description: `must be one of ${formats.join(', ')}` },
        ids.length <= max ? undefined : { field: 'ids', description: `must have at most ${max} values` },
      )
      const found = ids.length > 0 ? ids : await readDocumentIds(db, parent, format)
      const some = found.slice(0, max)
      const removed = await deleteDocuments({
        store,
        reader,
        parent,
        format: format as Format,
        ids: some,
        event: auditEventOf(call),
      })
      return {
        $typeName: 'berth.vulnerabilities.v1.DeleteAdvisoryDocumentsResponse' as const,
        ...removed,
        more: found.length > some.length,
      }
    },

    async getAdvisoryDocuments(request, call) {
      const parent = requireScope(call).scope as Uid
      const { documents, nextPageToken } = await readDocumentPage(store, call, request, { parent })
      return {
        $typeName: 'berth.vulnerabilities.v1.GetAdvisoryDocumentsResponse' as const,
        documents,
        nextPageToken,
      }
    },

    async getAdvisorySources(request, call) {
      const { scope } = requireScope(call)
      const row = (await readResource(db, 'advisories', scope)) ?? (await readWithdrawn(db, scope))
      if (row === undefined) throw notFound(ADVISORY_TYPE, scope)
      const { documents, nextPageToken } = await readDocumentPage(store, call, request, row)
      return {
        $typeName: 'berth.vulnerabilities.v1.GetAdvisorySourcesResponse' as const,
        sources: documents,
        nextPageToken,
      }
    },
  })
}

const { advisoryDocumentsMax: max } = limits

function isFormat(text: string): text is Format {
  return (formats as readonly string[]).includes(text)
}

function auditEventOf(call: Call) {
  const { requestId, address, method } = call
  return { actor: authorizationOf(call).caller.identity, method: fullMethodName(method), requestId, address }
}

/** Returns one more than the number that is deleted at a time. */
async function readDocumentIds({ kysely }: Db, parent: Uid, format: string): Promise<string[]> {
  const rows = await kysely
    .selectFrom('advisory_documents')
    .select('id')
    .where('root', '=', rootOf(parent))
    .where('parent', '=', parent)
    .where('format', '=', format)
    .orderBy('id')
    .limit(max + 1)
    .execute()
  return rows.map(({ id }) => id)
}

function violationsIn({ documents }: ImportAdvisoryDocumentsRequest): (FieldViolation | undefined)[] {
  const { nameCharsMax } = limits
  if (documents.length === 0) return [{ field: 'documents', description: 'must have at least one entry' }]
  if (documents.length > max) return [{ field: 'documents', description: `must have at most ${max} entries` }]
  return documents.flatMap(({ name, format, content }, at) => [
    name.length <= nameCharsMax
      ? undefined
      : { field: `documents[${at}].name`, description: `must have at most ${nameCharsMax} characters` },
    format === '' || isFormat(format)
      ? undefined
      : { field: `documents[${at}].format`, description: `must be one of ${formats.join(', ')}, or empty` },
    content.length > 0 ? undefined : { field: `documents[${at}].content`, description: 'is required' },
  ])
}

function toMessage(name: string, format: string, imported: ImportedDocument) {
  if ('rejection' in imported) {
    const { line, reason } = imported.rejection
    return create(ImportedDocumentSchema, { name, format, accepted: false, line, reason })
  }
  const { unmapped, ...counts } = imported
  return create(ImportedDocumentSchema, {
    name,
    accepted: true,
    ...counts,
    unmapped: unmapped.map(({ path, count }) => ({ path, count })),
  })
}
