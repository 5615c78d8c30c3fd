import { create } from '@bufbuild/protobuf'
import {
  AdvisoryDocumentsService,
  type ImportAdvisoryDocumentsRequest,
  ImportedDocumentSchema,
} from '#gen/berth/vulnerabilities/v1/documents_pb.js'
import { accessOf, allowed } from '../core/allowed.ts'
import { implement } from '../core/call.ts'
import type { FieldViolation } from '../core/errors.ts'
import { refuseIfAny } from '../core/fields.ts'
import { limits } from '../core/limits.ts'
import { fullNameOf } from '../core/method-name.ts'
import type { Uid } from '../core/uid.ts'
import type { Store } from '../storage/store.ts'
import { type Format, formats } from './advisory-record.ts'
import type { DocumentReader } from './document-reader.ts'
import { type ImportedDocument, importDocument } from './import-documents.ts'

/** Documents of advisories over the API. */
export function advisoryDocumentsService(store: Store, reader: DocumentReader) {
  return implement(AdvisoryDocumentsService, {
    async importAdvisoryDocuments(request, call) {
      const parent = allowed(call).scope as Uid
      refuseIfAny(...violationsIn(request))
      const { requestId, address } = call
      const event = {
        actor: accessOf(call).caller.identity,
        method: fullNameOf(call.method),
        requestId,
        address,
      }
      const documents = []
      for (const { name, format, content } of request.documents) {
        const imported = await importDocument(
          { name, format: format as Format | '', content },
          { store, reader, parent, dryRun: request.dryRun, event },
        )
        documents.push(toMessage(name, format, imported))
      }
      return {
        $typeName: 'berth.vulnerabilities.v1.ImportAdvisoryDocumentsResponse' as const,
        documents,
      }
    },
  })
}

function violationsIn({ documents }: ImportAdvisoryDocumentsRequest): (FieldViolation | undefined)[] {
  const { advisoryDocumentsMax: max, nameCharsMax } = limits
  if (documents.length === 0) return [{ field: 'documents', description: 'must have at least one' }]
  if (documents.length > max) return [{ field: 'documents', description: `must have at most ${max} entries` }]
  return documents.flatMap(({ name, format, content }, at) => [
    name.length <= nameCharsMax
      ? undefined
      : { field: `documents[${at}].name`, description: `must have at most ${nameCharsMax} characters` },
    format === '' || (formats as readonly string[]).includes(format)
      ? undefined
      : { field: `documents[${at}].format`, description: `must be one of ${formats.join(', ')}, or empty` },
    content.length > 0 ? undefined : { field: `documents[${at}].content`, description: 'must be given' },
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
