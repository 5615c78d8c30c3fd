import type { DescFile } from '@bufbuild/protobuf'
import { serviceFiles } from '../gen/service-files.js'

/** The files of the schema that have services, by what they are for. `npm run generate` finds them. */

/** The order in the reference. Files that are not named here follow, by name. */
const order: readonly string[] = [
  'chainguard/platform/iam/v2beta1/groups',
  'chainguard/platform/iam/v2beta1/identities',
  'chainguard/platform/iam/v2beta1/roles',
  'chainguard/platform/iam/v2beta1/role_bindings',
  'chainguard/platform/iam/v2beta1/identity_providers',
  'chainguard/platform/iam/v2beta1/external_group_role_mappings',
  'chainguard/platform/iam/v2beta1/account_associations',
  'chainguard/platform/iam/v2beta1/group_invites',
  'berth/iam/v1/invitations',
  'berth/iam/v1/group_paths',
  'berth/iam/v1/access',
  'chainguard/platform/registry/v2beta1/repos',
  'chainguard/platform/registry/v2beta1/tags',
  'chainguard/platform/registry/v2beta1/images',
  'berth/registry/v1/repo_summaries',
  'berth/registry/v1/manifests',
  'berth/registry/v1/referrers',
  'berth/registry/v1/repo_policies',
  'chainguard/platform/vulnerabilities/v2beta1/advisories',
  'berth/vulnerabilities/v1/documents',
  'berth/vulnerabilities/v1/feeds',
  'berth/vulnerabilities/v1/publications',
  'chainguard/platform/ping/v2beta1/ping',
  'chainguard/platform/oidc/sts',
  'chainguard/platform/auth/auth',
  'berth/sts/v1/explain',
  'berth/audit/v1/audit',
  'berth/search/v1/search',
  'chainguard/platform/iam/groups',
  'chainguard/platform/iam/identities',
  'chainguard/platform/iam/roles',
  'chainguard/platform/iam/role_bindings',
  'chainguard/platform/iam/identity_providers',
  'chainguard/platform/iam/external_group_role_mappings',
  'chainguard/platform/iam/account_associations',
  'chainguard/platform/iam/group_invites',
  'chainguard/platform/registry/registry',
  'chainguard/platform/events/subscriptions',
  'chainguard/platform/ping/ping',
]

const position = ({ name }: DescFile) => {
  const at = order.indexOf(name)
  return at < 0 ? order.length : at
}
const sorted = serviceFiles.toSorted((a, b) => position(a) - position(b))

/** Version 1 has no version in its packages. */
const v1Pattern = /^chainguard\/platform\/(?:iam|registry|events|ping)\/[^/]+$/
const isGrpcStandard = ({ name }: DescFile) => name.startsWith('grpc/')

/** The files of version 1, whose services show the same resources under older names. */
export const v1Files: readonly DescFile[] = sorted.filter(({ name }) => v1Pattern.test(name))

/** The files of the current API, in the order in which they are documented. */
export const currentFiles: readonly DescFile[] = sorted.filter(
  (file) => !v1Pattern.test(file.name) && !isGrpcStandard(file),
)

/** Returns whether a service, a message or an enum belongs to version 1. */
export function isV1({ file }: { readonly file: DescFile }): boolean {
  return v1Files.includes(file)
}

/** All files of the contract. */
export const contractFiles: readonly DescFile[] = [...currentFiles, ...v1Files]

/** The standard services of gRPC, which have no REST binding and no access rule. */
export const grpcStandardFiles: readonly DescFile[] = sorted.filter(isGrpcStandard)
