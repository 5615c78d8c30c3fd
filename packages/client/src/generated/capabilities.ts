// Generated from packages/contract/proto/ by scripts/generate-client.ts: do not edit.

/** Capabilities that a role can have: the value in messages, the short name, and what it permits. */
export const capabilities = [
  {
    wire: 'CAP_IAM_GROUPS_CREATE',
    name: 'groups.create',
    description: 'Create groups.',
  },
  {
    wire: 'CAP_IAM_GROUPS_UPDATE',
    name: 'groups.update',
    description: 'Update groups.',
  },
  {
    wire: 'CAP_IAM_GROUPS_LIST',
    name: 'groups.list',
    description: 'Read groups.',
  },
  {
    wire: 'CAP_IAM_GROUPS_DELETE',
    name: 'groups.delete',
    description: 'Delete groups.',
  },
  {
    wire: 'CAP_IAM_GROUP_INVITES_CREATE',
    name: 'group_invites.create',
    description: 'Create group invites.',
  },
  {
    wire: 'CAP_IAM_GROUP_INVITES_LIST',
    name: 'group_invites.list',
    description: 'Read group invites.',
  },
  {
    wire: 'CAP_IAM_GROUP_INVITES_DELETE',
    name: 'group_invites.delete',
    description: 'Delete group invites.',
  },
  {
    wire: 'CAP_IAM_ROLES_CREATE',
    name: 'roles.create',
    description: 'Create roles.',
  },
  {
    wire: 'CAP_IAM_ROLES_UPDATE',
    name: 'roles.update',
    description: 'Update roles.',
  },
  {
    wire: 'CAP_IAM_ROLES_LIST',
    name: 'roles.list',
    description: 'Read roles.',
  },
  {
    wire: 'CAP_IAM_ROLES_DELETE',
    name: 'roles.delete',
    description: 'Delete roles.',
  },
  {
    wire: 'CAP_IAM_ROLE_BINDINGS_CREATE',
    name: 'role_bindings.create',
    description: 'Create role bindings.',
  },
  {
    wire: 'CAP_IAM_ROLE_BINDINGS_UPDATE',
    name: 'role_bindings.update',
    description: 'Update role bindings.',
  },
  {
    wire: 'CAP_IAM_ROLE_BINDINGS_LIST',
    name: 'role_bindings.list',
    description: 'Read role bindings.',
  },
  {
    wire: 'CAP_IAM_ROLE_BINDINGS_DELETE',
    name: 'role_bindings.delete',
    description: 'Delete role bindings.',
  },
  {
    wire: 'CAP_TENANT_RECORD_SIGNATURES_LIST',
    name: 'record_signatures.list',
    description: 'Read signatures of images.',
  },
  {
    wire: 'CAP_TENANT_SBOMS_LIST',
    name: 'sboms.list',
    description: 'Read software bills of materials.',
  },
  {
    wire: 'CAP_TENANT_VULN_REPORTS_LIST',
    name: 'vuln_reports.list',
    description: 'Read vulnerability reports of images.',
  },
  {
    wire: 'CAP_TENANT_ATTESTATIONS_LIST',
    name: 'attestations.list',
    description: 'Read attestations of images.',
  },
  {
    wire: 'CAP_IAM_ACCOUNT_ASSOCIATIONS_CREATE',
    name: 'account_associations.create',
    description: 'Create account associations.',
  },
  {
    wire: 'CAP_IAM_ACCOUNT_ASSOCIATIONS_UPDATE',
    name: 'account_associations.update',
    description: 'Update account associations.',
  },
  {
    wire: 'CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST',
    name: 'account_associations.list',
    description: 'Read account associations.',
  },
  {
    wire: 'CAP_IAM_ACCOUNT_ASSOCIATIONS_DELETE',
    name: 'account_associations.delete',
    description: 'Delete account associations.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_CREATE',
    name: 'identity.create',
    description: 'Create identities.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_UPDATE',
    name: 'identity.update',
    description: 'Update identities.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_LIST',
    name: 'identity.list',
    description: 'Read identities.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_DELETE',
    name: 'identity.delete',
    description: 'Delete identities.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_PROVIDERS_CREATE',
    name: 'identity_providers.create',
    description: 'Create identity providers.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_PROVIDERS_UPDATE',
    name: 'identity_providers.update',
    description: 'Update identity providers.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_PROVIDERS_LIST',
    name: 'identity_providers.list',
    description: 'Read identity providers.',
  },
  {
    wire: 'CAP_IAM_IDENTITY_PROVIDERS_DELETE',
    name: 'identity_providers.delete',
    description: 'Delete identity providers.',
  },
  {
    wire: 'CAP_IAM_SCIM_MANAGE',
    name: 'identity_providers.scim.manage',
    description: 'Manage account provisioning of identity providers.',
  },
  {
    wire: 'CAP_EVENTS_SUBSCRIPTION_CREATE',
    name: 'subscriptions.create',
    description: 'Create event subscriptions.',
  },
  {
    wire: 'CAP_EVENTS_SUBSCRIPTION_UPDATE',
    name: 'subscriptions.update',
    description: 'Update event subscriptions.',
  },
  {
    wire: 'CAP_EVENTS_SUBSCRIPTION_LIST',
    name: 'subscriptions.list',
    description: 'Read event subscriptions.',
  },
  {
    wire: 'CAP_EVENTS_SUBSCRIPTION_DELETE',
    name: 'subscriptions.delete',
    description: 'Delete event subscriptions.',
  },
  {
    wire: 'CAP_REPO_BLOBS_GET',
    name: 'repo.blobs.get',
    description: 'Pull image layers and configurations.',
  },
  {
    wire: 'CAP_REPO_CREATE',
    name: 'repo.create',
    description: 'Create repos.',
  },
  {
    wire: 'CAP_REPO_UPDATE',
    name: 'repo.update',
    description: 'Update repos.',
  },
  {
    wire: 'CAP_REPO_LIST',
    name: 'repo.list',
    description: 'Read repos.',
  },
  {
    wire: 'CAP_REPO_DELETE',
    name: 'repo.delete',
    description: 'Delete repos.',
  },
  {
    wire: 'CAP_MANIFEST_CREATE',
    name: 'manifest.create',
    description: 'Push image manifests.',
  },
  {
    wire: 'CAP_MANIFEST_UPDATE',
    name: 'manifest.update',
    description: 'Update image manifests.',
  },
  {
    wire: 'CAP_MANIFEST_LIST',
    name: 'manifest.list',
    description: 'Read image manifests.',
  },
  {
    wire: 'CAP_MANIFEST_DELETE',
    name: 'manifest.delete',
    description: 'Delete image manifests.',
  },
  {
    wire: 'CAP_TAG_CREATE',
    name: 'tag.create',
    description: 'Create tags.',
  },
  {
    wire: 'CAP_TAG_UPDATE',
    name: 'tag.update',
    description: 'Update tags.',
  },
  {
    wire: 'CAP_TAG_LIST',
    name: 'tag.list',
    description: 'Read tags.',
  },
  {
    wire: 'CAP_TAG_DELETE',
    name: 'tag.delete',
    description: 'Delete tags.',
  },
  {
    wire: 'CAP_MANIFEST_METADATA_LIST',
    name: 'manifest.metadata.list',
    description: 'Read metadata of image manifests.',
  },
  {
    wire: 'CAP_REFERRERS_LIST',
    name: 'referrers.list',
    description: 'Read artifacts that refer to an image.',
  },
  {
    wire: 'CAP_APK_CREATE',
    name: 'apk.create',
    description: 'Create packages.',
  },
  {
    wire: 'CAP_APK_UPDATE',
    name: 'apk.update',
    description: 'Update packages.',
  },
  {
    wire: 'CAP_APK_LIST',
    name: 'apk.list',
    description: 'Read packages.',
  },
  {
    wire: 'CAP_APK_DELETE',
    name: 'apk.delete',
    description: 'Delete packages.',
  },
  {
    wire: 'CAP_VERSION_LIST',
    name: 'version.list',
    description: 'Read versions.',
  },
  {
    wire: 'CAP_APK_BLOBS_GET',
    name: 'apk.blobs.get',
    description: 'Download the contents of packages.',
  },
  {
    wire: 'CAP_VULN_REPORT_CREATE',
    name: 'vuln_report.create',
    description: 'Create vulnerability reports.',
  },
  {
    wire: 'CAP_VULN_REPORT_LIST',
    name: 'vuln_report.list',
    description: 'Read vulnerability reports.',
  },
  {
    wire: 'CAP_VULN_CREATE',
    name: 'vuln.create',
    description: 'Create vulnerabilities.',
  },
  {
    wire: 'CAP_BUILD_REPORT_LIST',
    name: 'build_report.list',
    description: 'Read build reports.',
  },
  {
    wire: 'CAP_REGISTRY_ENTITLEMENTS_LIST',
    name: 'registry.entitlements.list',
    description: 'Read image entitlements.',
  },
  {
    wire: 'CAP_REGISTRY_ENTITLEMENTS_CREATE',
    name: 'registry.entitlements.create',
    description: 'Create image entitlements.',
  },
  {
    wire: 'CAP_REGISTRY_ENTITLEMENTS_DELETE',
    name: 'registry.entitlements.delete',
    description: 'Delete image entitlements.',
  },
  {
    wire: 'CAP_REGISTRY_SETTINGS_LIST',
    name: 'registry.settings.list',
    description: 'Read registry settings.',
  },
  {
    wire: 'CAP_REGISTRY_SETTINGS_UPDATE',
    name: 'registry.settings.update',
    description: 'Update registry settings.',
  },
  {
    wire: 'CAP_REGISTRY_ENTITLEMENTS_IMAGES_ADD',
    name: 'registry.entitlements.images.add',
    description: 'Add images to an image entitlement.',
  },
  {
    wire: 'CAP_REGISTRY_ENTITLEMENTS_IMAGES_REMOVE',
    name: 'registry.entitlements.images.remove',
    description: 'Remove images from an image entitlement.',
  },
  {
    wire: 'CAP_REGISTRY_ENTITLEMENTS_IMAGES_SWAP',
    name: 'registry.entitlements.images.swap',
    description: 'Exchange images in an image entitlement.',
  },
  {
    wire: 'CAP_REGISTRY_OVERLAYS_LIST',
    name: 'registry.overlays.list',
    description: 'Read image overlays.',
  },
  {
    wire: 'CAP_REGISTRY_OVERLAYS_EDIT',
    name: 'registry.overlays.edit',
    description: 'Create and delete image overlays.',
  },
  {
    wire: 'CAP_LIBRARIES_ENTITLEMENTS_CREATE',
    name: 'libraries.entitlements.create',
    description: 'Create library entitlements.',
  },
  {
    wire: 'CAP_LIBRARIES_ENTITLEMENTS_LIST',
    name: 'libraries.entitlements.list',
    description: 'Read library entitlements.',
  },
  {
    wire: 'CAP_LIBRARIES_ENTITLEMENTS_DELETE',
    name: 'libraries.entitlements.delete',
    description: 'Delete library entitlements.',
  },
  {
    wire: 'CAP_LIBRARIES_ARTIFACTS_LIST',
    name: 'libraries.artifacts.list',
    description: 'Read library artifacts.',
  },
  {
    wire: 'CAP_LIBRARIES_PYTHON_LIST',
    name: 'libraries.python.list',
    description: 'Read Python libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_PYTHON_CREATE',
    name: 'libraries.python.create',
    description: 'Create Python libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_JAVA_LIST',
    name: 'libraries.java.list',
    description: 'Read Java libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_JAVA_CREATE',
    name: 'libraries.java.create',
    description: 'Create Java libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_JAVASCRIPT_LIST',
    name: 'libraries.javascript.list',
    description: 'Read JavaScript libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_JAVASCRIPT_CREATE',
    name: 'libraries.javascript.create',
    description: 'Create JavaScript libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_DOTNET_LIST',
    name: 'libraries.dotnet.list',
    description: 'Read .NET libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_DOTNET_CREATE',
    name: 'libraries.dotnet.create',
    description: 'Create .NET libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_GO_LIST',
    name: 'libraries.go.list',
    description: 'Read Go libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_GO_CREATE',
    name: 'libraries.go.create',
    description: 'Create Go libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_CACHE_INVALIDATE',
    name: 'libraries.cache.invalidate',
    description: 'Invalidate cached libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_CACHE_LIST',
    name: 'libraries.cache.list',
    description: 'Read cached libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_CREATE',
    name: 'libraries.aws_marketplace.subscriptions.create',
    description: 'Create AWS Marketplace subscriptions to libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_UPDATE',
    name: 'libraries.aws_marketplace.subscriptions.update',
    description: 'Update AWS Marketplace subscriptions to libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_AWS_MARKETPLACE_SUBSCRIPTIONS_LIST',
    name: 'libraries.aws_marketplace.subscriptions.list',
    description: 'Read AWS Marketplace subscriptions to libraries.',
  },
  {
    wire: 'CAP_LIBRARIES_REQUEST_GROUPS_CREATE',
    name: 'libraries.request_groups.create',
    description: 'Create grouped library requests.',
  },
  {
    wire: 'CAP_LIBRARIES_REQUEST_GROUPS_LIST',
    name: 'libraries.request_groups.list',
    description: 'Read grouped library requests.',
  },
  {
    wire: 'CAP_LIBRARIES_REQUEST_GROUPS_UPDATE',
    name: 'libraries.request_groups.update',
    description: 'Update grouped library requests.',
  },
  {
    wire: 'CAP_LIBRARIES_REQUEST_GROUPS_DELETE',
    name: 'libraries.request_groups.delete',
    description: 'Delete grouped library requests.',
  },
  {
    wire: 'CAP_LIBRARIES_REQUEST_GROUPS_SUBMIT',
    name: 'libraries.request_groups.submit',
    description: 'Submit grouped library requests.',
  },
  {
    wire: 'CAP_LIBRARIES_REQUEST_GROUPS_ITEMS_UPDATE',
    name: 'libraries.request_groups.items.update',
    description: 'Update items of grouped library requests.',
  },
  {
    wire: 'CAP_LIBRARIES_REMOTE_REGISTRIES_CREATE',
    name: 'libraries.remote_registries.create',
    description: 'Create remote library registries.',
  },
  {
    wire: 'CAP_LIBRARIES_REMOTE_REGISTRIES_LIST',
    name: 'libraries.remote_registries.list',
    description: 'Read remote library registries.',
  },
  {
    wire: 'CAP_LIBRARIES_REMOTE_REGISTRIES_DELETE',
    name: 'libraries.remote_registries.delete',
    description: 'Delete remote library registries.',
  },
  {
    wire: 'CAP_ADVISORIES_CREATE',
    name: 'advisories.create',
    description: 'Create advisories and entries in their history.',
  },
  {
    wire: 'CAP_ADVISORIES_UPDATE',
    name: 'advisories.update',
    description: 'Update advisories.',
  },
  {
    wire: 'CAP_ADVISORIES_LIST',
    name: 'advisories.list',
    description: 'Read advisories.',
  },
  {
    wire: 'CAP_ADVISORIES_DELETE',
    name: 'advisories.delete',
    description: 'Delete advisories.',
  },
  {
    wire: 'CAP_ADVISORIES_APPROVE',
    name: 'advisories.approve',
    description: 'Approve entries of advisories.',
  },
  {
    wire: 'CAP_REGISTRY_DEPLOYMENTS_CREATE',
    name: 'registry.deployments.create',
    description: 'Create registry deployments.',
  },
  {
    wire: 'CAP_REGISTRY_DEPLOYMENTS_LIST',
    name: 'registry.deployments.list',
    description: 'Read registry deployments.',
  },
  {
    wire: 'CAP_POLICIES_POLICY_CREATE',
    name: 'policies.policy.create',
    description: 'Create policies.',
  },
  {
    wire: 'CAP_POLICIES_POLICY_UPDATE',
    name: 'policies.policy.update',
    description: 'Update policies.',
  },
  {
    wire: 'CAP_POLICIES_POLICY_LIST',
    name: 'policies.policy.list',
    description: 'Read policies.',
  },
  {
    wire: 'CAP_POLICIES_POLICY_DELETE',
    name: 'policies.policy.delete',
    description: 'Delete policies.',
  },
  {
    wire: 'CAP_POLICIES_BINDING_CREATE',
    name: 'policies.binding.create',
    description: 'Create policy bindings.',
  },
  {
    wire: 'CAP_POLICIES_BINDING_UPDATE',
    name: 'policies.binding.update',
    description: 'Update policy bindings.',
  },
  {
    wire: 'CAP_POLICIES_BINDING_LIST',
    name: 'policies.binding.list',
    description: 'Read policy bindings.',
  },
  {
    wire: 'CAP_POLICIES_BINDING_DELETE',
    name: 'policies.binding.delete',
    description: 'Delete policy bindings.',
  },
  {
    wire: 'CAP_POLICIES_DECISION_LIST',
    name: 'policies.decision.list',
    description: 'Read policy decisions.',
  },
  {
    wire: 'CAP_POLICIES_OVERRIDE_CREATE',
    name: 'policies.override.create',
    description: 'Create policy overrides.',
  },
  {
    wire: 'CAP_POLICIES_OVERRIDE_LIST',
    name: 'policies.override.list',
    description: 'Read policy overrides.',
  },
  {
    wire: 'CAP_POLICIES_OVERRIDE_DELETE',
    name: 'policies.override.delete',
    description: 'Delete policy overrides.',
  },
  {
    wire: 'CAP_REPO_CHECK_POLICIES',
    name: 'repo.check_policies',
    description: 'Check repos against policies.',
  },
  {
    wire: 'CAP_PACKAGES_ENTITLEMENTS_LIST',
    name: 'packages.entitlements.list',
    description: 'Read package entitlements.',
  },
  {
    wire: 'CAP_TERMS_ACCEPT',
    name: 'terms.accept',
    description: 'Accept terms of use.',
  },
  {
    wire: 'CAP_TERMS_LIST',
    name: 'terms.list',
    description: 'Read terms of use.',
  },
  {
    wire: 'CAP_GUARDENER_DFC_CONVERT',
    name: 'guardener.dfc.convert',
    description: 'Convert container build files with guardener.',
  },
  {
    wire: 'CAP_GUARDENER_ASSOCIATION_MANAGE',
    name: 'guardener.association.manage',
    description: 'Manage links between guardener and code hosts.',
  },
  {
    wire: 'CAP_GUARDENER_ASSOCIATION_LIST',
    name: 'guardener.association.list',
    description: 'Read links between guardener and code hosts.',
  },
  {
    wire: 'CAP_GUARDENER_ENTITLEMENT_LIST',
    name: 'guardener.entitlement.list',
    description: 'Read guardener entitlements.',
  },
  {
    wire: 'CAP_GUARDENER_ACTIONS_MIGRATE',
    name: 'guardener.actions.migrate',
    description: 'Migrate workflows to hardened actions with guardener.',
  },
  {
    wire: 'CAP_GUARDENER_SCAN_LIST',
    name: 'guardener.scan.list',
    description: 'Read guardener scans.',
  },
  {
    wire: 'CAP_GUARDENER_SCAN_GET',
    name: 'guardener.scan.get',
    description: 'Read one guardener scan in full.',
  },
  {
    wire: 'CAP_MCP_TOOL_CALL',
    name: 'mcp.tool.call',
    description: 'Call tools of the assistant interface (Model Context Protocol).',
  },
  {
    wire: 'CAP_SKILLS_PUBLISH',
    name: 'skills.publish',
    description: 'Publish skills.',
  },
  {
    wire: 'CAP_SKILLS_ENTITLEMENTS_CREATE',
    name: 'skills.entitlements.create',
    description: 'Create skill entitlements.',
  },
  {
    wire: 'CAP_SKILLS_ENTITLEMENTS_LIST',
    name: 'skills.entitlements.list',
    description: 'Read skill entitlements.',
  },
  {
    wire: 'CAP_SKILLS_ENTITLEMENTS_DELETE',
    name: 'skills.entitlements.delete',
    description: 'Delete skill entitlements.',
  },
  {
    wire: 'CAP_SKILLS_LIST',
    name: 'skills.list',
    description: 'Read skills.',
  },
  {
    wire: 'CAP_SKILLS_HARDEN_READ',
    name: 'skills.harden.read',
    description: 'Read the hardening state of skills.',
  },
  {
    wire: 'CAP_SKILLS_HARDEN_WRITE',
    name: 'skills.harden.write',
    description: 'Start hardening of skills.',
  },
  {
    wire: 'CAP_SKILLS_HARDEN_CANCEL',
    name: 'skills.harden.cancel',
    description: 'Cancel hardening of skills.',
  },
  {
    wire: 'CAP_ARGOS_DOCUMENTS_CREATE',
    name: 'argos.documents.create',
    description: 'Create documents of the vulnerability store.',
  },
  {
    wire: 'CAP_ARGOS_DOCUMENTS_LIST',
    name: 'argos.documents.list',
    description: 'Read documents of the vulnerability store.',
  },
  {
    wire: 'CAP_ARGOS_DOCUMENTS_DELETE',
    name: 'argos.documents.delete',
    description: 'Delete documents of the vulnerability store.',
  },
  {
    wire: 'CAP_ARGOS_OSV_READ',
    name: 'argos.osv.read',
    description: 'Read private OSV data.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_CREATE',
    name: 'libraries.policy.create',
    description: 'Create library policies.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_UPDATE',
    name: 'libraries.policy.update',
    description: 'Update library policies.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_LIST',
    name: 'libraries.policy.list',
    description: 'Read library policies.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_DELETE',
    name: 'libraries.policy.delete',
    description: 'Delete library policies.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_BINDING_CREATE',
    name: 'libraries.policy.binding.create',
    description: 'Create library policy bindings.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_BINDING_UPDATE',
    name: 'libraries.policy.binding.update',
    description: 'Update library policy bindings.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_BINDING_LIST',
    name: 'libraries.policy.binding.list',
    description: 'Read library policy bindings.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_BINDING_DELETE',
    name: 'libraries.policy.binding.delete',
    description: 'Delete library policy bindings.',
  },
  {
    wire: 'CAP_LIBRARIES_POLICY_BLOCK_EVENT_LIST',
    name: 'libraries.policy.block_event.list',
    description: 'Read records of blocked libraries.',
  },
  {
    wire: 'CAP_ARGOS_OSV_DUMP',
    name: 'argos.osv.dump',
    description: 'Export private OSV data.',
  },
  {
    wire: 'CAP_ACTIONS_LIST',
    name: 'actions.list',
    description: 'Read the catalog of actions.',
  },
  {
    wire: 'CAP_GULFSTREAM',
    name: 'gulfstream',
    description: 'Use the event bus of the platform services.',
  },
  {
    wire: 'CAP_REPO_POLICIES_UPDATE',
    name: 'repo_policies.update',
    description: 'Update the policies of repos: immutable tags and retention. Also required to delete or rename a repo that has a policy, and to rename a group that contains one.',
  },
  {
    wire: 'CAP_SIGNATURE_VERIFIERS_LIST',
    name: 'signature_verifiers.list',
    description: 'Read signature verifiers: the keys, certificate authorities and identities whose signatures a group trusts.',
  },
  {
    wire: 'CAP_SIGNATURE_VERIFIERS_CREATE',
    name: 'signature_verifiers.create',
    description: 'Create signature verifiers.',
  },
  {
    wire: 'CAP_SIGNATURE_VERIFIERS_UPDATE',
    name: 'signature_verifiers.update',
    description: 'Update signature verifiers.',
  },
  {
    wire: 'CAP_SIGNATURE_VERIFIERS_DELETE',
    name: 'signature_verifiers.delete',
    description: 'Delete signature verifiers.',
  },
] as const
