import type { DescFile } from '@bufbuild/protobuf'
import { file_berth_audit_v1_audit } from '../gen/berth/audit/v1/audit_pb.js'
import { file_berth_iam_v1_invitations } from '../gen/berth/iam/v1/invitations_pb.js'
import { file_berth_registry_v1_repo_policies } from '../gen/berth/registry/v1/repo_policies_pb.js'
import { file_berth_sts_v1_explain } from '../gen/berth/sts/v1/explain_pb.js'
import { file_berth_vulnerabilities_v1_documents } from '../gen/berth/vulnerabilities/v1/documents_pb.js'
import { file_berth_vulnerabilities_v1_feeds } from '../gen/berth/vulnerabilities/v1/feeds_pb.js'
import { file_berth_vulnerabilities_v1_publications } from '../gen/berth/vulnerabilities/v1/publications_pb.js'
import { file_chainguard_platform_auth_auth } from '../gen/chainguard/platform/auth/auth_pb.js'
import { file_chainguard_platform_events_subscriptions } from '../gen/chainguard/platform/events/subscriptions_pb.js'
import { file_chainguard_platform_iam_account_associations } from '../gen/chainguard/platform/iam/account_associations_pb.js'
import { file_chainguard_platform_iam_group_invites } from '../gen/chainguard/platform/iam/group_invites_pb.js'
import { file_chainguard_platform_iam_groups } from '../gen/chainguard/platform/iam/groups_pb.js'
import { file_chainguard_platform_iam_identities } from '../gen/chainguard/platform/iam/identities_pb.js'
import { file_chainguard_platform_iam_identity_providers } from '../gen/chainguard/platform/iam/identity_providers_pb.js'
import { file_chainguard_platform_iam_role_bindings } from '../gen/chainguard/platform/iam/role_bindings_pb.js'
import { file_chainguard_platform_iam_roles } from '../gen/chainguard/platform/iam/roles_pb.js'
import { file_chainguard_platform_iam_v2beta1_account_associations } from '../gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { file_chainguard_platform_iam_v2beta1_external_group_role_mappings } from '../gen/chainguard/platform/iam/v2beta1/external_group_role_mappings_pb.js'
import { file_chainguard_platform_iam_v2beta1_group_invites } from '../gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { file_chainguard_platform_iam_v2beta1_groups } from '../gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { file_chainguard_platform_iam_v2beta1_identities } from '../gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { file_chainguard_platform_iam_v2beta1_identity_providers } from '../gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { file_chainguard_platform_iam_v2beta1_role_bindings } from '../gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { file_chainguard_platform_iam_v2beta1_roles } from '../gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { file_chainguard_platform_oidc_sts } from '../gen/chainguard/platform/oidc/sts_pb.js'
import { file_chainguard_platform_ping_v2beta1_ping } from '../gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { file_chainguard_platform_registry_registry } from '../gen/chainguard/platform/registry/registry_pb.js'
import { file_chainguard_platform_registry_v2beta1_images } from '../gen/chainguard/platform/registry/v2beta1/images_pb.js'
import { file_chainguard_platform_registry_v2beta1_repos } from '../gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { file_chainguard_platform_registry_v2beta1_tags } from '../gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { file_chainguard_platform_vulnerabilities_v2beta1_advisories } from '../gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { file_grpc_health_v1_health } from '../gen/grpc/health/v1/health_pb.js'
import { file_grpc_reflection_v1_reflection } from '../gen/grpc/reflection/v1/reflection_pb.js'
import { file_grpc_reflection_v1alpha_reflection } from '../gen/grpc/reflection/v1alpha/reflection_pb.js'

/** Files with the services of the product, in the order of the documentation. */
export const currentFiles: readonly DescFile[] = [
  file_chainguard_platform_iam_v2beta1_groups,
  file_chainguard_platform_iam_v2beta1_identities,
  file_chainguard_platform_iam_v2beta1_roles,
  file_chainguard_platform_iam_v2beta1_role_bindings,
  file_chainguard_platform_iam_v2beta1_identity_providers,
  file_chainguard_platform_iam_v2beta1_external_group_role_mappings,
  file_chainguard_platform_iam_v2beta1_account_associations,
  file_chainguard_platform_iam_v2beta1_group_invites,
  file_berth_iam_v1_invitations,
  file_chainguard_platform_registry_v2beta1_repos,
  file_chainguard_platform_registry_v2beta1_tags,
  file_chainguard_platform_registry_v2beta1_images,
  file_berth_registry_v1_repo_policies,
  file_chainguard_platform_vulnerabilities_v2beta1_advisories,
  file_berth_vulnerabilities_v1_documents,
  file_berth_vulnerabilities_v1_feeds,
  file_berth_vulnerabilities_v1_publications,
  file_chainguard_platform_ping_v2beta1_ping,
  file_chainguard_platform_oidc_sts,
  file_chainguard_platform_auth_auth,
  file_berth_sts_v1_explain,
  file_berth_audit_v1_audit,
]

/** Files of version 1, whose services return the same resources in an older form. */
export const v1Files: readonly DescFile[] = [
  file_chainguard_platform_iam_groups,
  file_chainguard_platform_iam_identities,
  file_chainguard_platform_iam_roles,
  file_chainguard_platform_iam_role_bindings,
  file_chainguard_platform_iam_identity_providers,
  file_chainguard_platform_iam_account_associations,
  file_chainguard_platform_iam_group_invites,
  file_chainguard_platform_registry_registry,
  file_chainguard_platform_events_subscriptions,
]

/** Returns whether a service, a message or an enum belongs to version 1. */
export function isV1({ file }: { readonly file: DescFile }): boolean {
  return v1Files.includes(file)
}

/** All files of the contract. */
export const contractFiles: readonly DescFile[] = [...currentFiles, ...v1Files]

/** Files of the standard gRPC services, which have no REST binding and no access rule. */
export const grpcStandardFiles: readonly DescFile[] = [
  file_grpc_health_v1_health,
  file_grpc_reflection_v1_reflection,
  file_grpc_reflection_v1alpha_reflection,
]
