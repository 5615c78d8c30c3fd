import { iam } from '@berth/contract/gen/annotations/auth_pb.js'
import { AdvisoryDocumentsService } from '@berth/contract/gen/berth/vulnerabilities/v1/documents_pb.js'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { getOption } from '@berth/contract/options.ts'
import type { DescMethod } from '@bufbuild/protobuf'
import { limits } from '../../config/limits.ts'

/** Methods that take documents; all others take a few fields. */
const documentMethods: ReadonlySet<DescMethod> = new Set([
  AdvisoryDocumentsService.method.importAdvisoryDocuments,
])

/** Methods that take custom overlays of images. */
const repoMethods: ReadonlySet<DescMethod> = new Set<DescMethod>([
  ReposService.method.createRepo,
  ReposService.method.updateRepo,
  Registry.method.createRepo,
  Registry.method.updateRepo,
])

/** Returns the largest request of a method in bytes; `defaultMax` for most. Methods that anyone may call have a lower one (R28). */
export function requestBytesMax(method: DescMethod, defaultMax: number): number {
  if (documentMethods.has(method)) return Math.max(defaultMax, limits.documentsRequestBytesMax)
  if (repoMethods.has(method)) return Math.max(defaultMax, limits.repoRequestBytesMax)
  const isOpen = getOption(method, iam).mode.case === 'disabled'
  return isOpen ? Math.min(defaultMax, limits.unauthenticatedBodyBytesMax) : defaultMax
}
