import type { DescMethod } from '@bufbuild/protobuf'
import { AdvisoryDocumentsService } from '#gen/berth/vulnerabilities/v1/documents_pb.js'
import { limits } from './limits.ts'

/** Methods that take documents; all others take a few fields. */
const takesDocuments: ReadonlySet<DescMethod> = new Set([
  AdvisoryDocumentsService.method.importAdvisoryDocuments,
])

/** The bytes that a request of a method may have; `usual` for most. */
export function requestBytesMax(method: DescMethod, usual: number): number {
  return takesDocuments.has(method) ? Math.max(usual, limits.documentsRequestBytesMax) : usual
}
