import { randomBytes } from 'node:crypto'
import { capabilityByName } from '@berth/contract/capabilities.ts'
import { PolicyMode } from '@berth/contract/gen/chainguard/platform/policies/v1/modes_pb.js'
import { ExpressionType } from '@berth/contract/gen/chainguard/platform/policies/v1/policies_pb.js'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { DescMethod } from '@bufbuild/protobuf'
import type { TestBerth } from '../server/test-berth.ts'
import { type DerivedResource, derivedRequest, derivedResources, resourceOf } from './derived-resources.ts'
import { shortName } from './methods.ts'
import { call } from './rest.ts'
import { bindRole, createGroup, createIdentity, createResource, createRole } from './tenant.ts'

/** An organization that has one of everything, and for each method a request that its owner may make there. */

export interface Tenant {
  readonly organization: string
  /** uid of one resource of each kind, by kind. */
  readonly uids: Readonly<Record<string, string>>
  /** What makes a request of the method, as its gRPC input; undefined for methods that need nothing but a scope. */
  requestOf(method: DescMethod): Promise<object> | object | undefined
}

const newName = () => randomBytes(4).toString('hex')
/** Where feeds would be read from, if anybody listened there. */
const UNREACHABLE = 'https://127.0.0.1:9'
/** A document of one advisory. */
const osvRecord = (name: string, mark: string) =>
  JSON.stringify({
    id: `EX-${name}`,
    modified: '2025-01-02T03:04:05Z',
    aliases: [`EX-${mark}`],
    affected: [{ package: { ecosystem: 'npm', name: `${mark} ${name}` } }],
  })
const absentImage = `sha256:${'0'.repeat(64)}`

/**
 * `mark` is in the name or description of everything it makes. `push` pushes an image into a repo and returns its digest; without it,
 * requests name an image that does not exist.
 */
export async function createTenant(
  berth: Pick<TestBerth, 'url' | 'token'>,
  organization: string,
  mark = 'shared',
  push: (repo: string) => Promise<string> | string = () => absentImage,
): Promise<Tenant> {
  const iam = (path: string, body: object) =>
    createResource(berth, `/iam/v2beta1/${path}`, { description: mark, ...body })
  const viewer = managedRoleByName.get('viewer')?.uid ?? ''
  const oidc = { issuer: 'https://login.example.com', clientId: 'berth', clientSecret: `${mark} secret` }
  const newProvider = async () =>
    (await iam(`identityProviders/${organization}`, { name: newName(), defaultRole: viewer, oidc })).uid
  const group = await createGroup(berth, organization, newName())
  const identity = await createIdentity(berth, organization)
  const role = await createRole(berth, organization, ['groups.list'], newName())
  const repo = (
    await createResource(berth, `/registry/v2beta1/repos/${organization}`, {
      name: newName(),
      description: mark,
    })
  ).uid
  const digest = await push(repo)
  const provider = await newProvider()
  const newRepo = async () =>
    (
      await createResource(berth, `/registry/v2beta1/repos/${organization}`, {
        name: newName(),
        description: mark,
      })
    ).uid as string
  const newTag = async (name = newName()) =>
    (await createResource(berth, `/registry/v2beta1/tags/${repo}`, { name, digest })).uid as string
  const tagName = newName()
  const newMapping = async () => {
    const mapping = { externalGroupId: newName(), roleUid: role, scope: organization }
    return (await createResource(berth, `/iam/v2beta1/externalGroupRoleMappings/${provider}`, mapping))
      .uid as string
  }
  const newAdvisory = async () => {
    const content = Buffer.from(osvRecord(newName(), mark)).toString('base64')
    const path = `/vulnerabilities/v2beta1/advisories/${organization}:importDocuments`
    await createResource(berth, path, { documents: [{ name: 'a.json', content }] })
    const query = `uidp.children_of=${organization}&page_size=1`
    const { body } = await call('GET', `${berth.url}/vulnerabilities/v2beta1/advisories?${query}`, {
      token: berth.token,
    })
    return body.advisories[0].uid as string
  }
  /** Nothing reads one that is paused. */
  const newFeed = async (paused = true) => {
    const advisoryFeed = { paused, url: `${UNREACHABLE}/${mark.replaceAll(' ', '-')}-${newName()}` }
    return (
      await createResource(berth, `/vulnerabilities/v2beta1/advisoryFeeds/${organization}`, advisoryFeed)
    ).uid as string
  }
  const newInvite = async (roleUid = role) =>
    createResource(berth, `/iam/v2beta1/groupInvites/${organization}`, { roleUid, ttl: '3600s' })
  const newAssociation = async (of: string) =>
    (await iam(`accountAssociations/${of}`, { name: newName(), amazon: { account: '123456789012' } }))
      .uid as string
  const policiesAt = (path: string, body: object) =>
    createResource(berth, `/policies/v1/${path}/${organization}`, body).then(({ id }) => id as string)
  const newPolicy = () => policiesAt('policies', { name: newName(), description: mark, expression: 'true' })
  // Dry runs: pulls of other tests must not fail.
  const newBinding = () => policiesAt('bindings', { policy: 'contents-known', mode: 'POLICY_MODE_DRY_RUN' })
  const newOverride = () =>
    policiesAt('overrides', {
      policyId: 'contents-known',
      digest: `sha256:${randomBytes(32).toString('hex')}`,
      reason: mark,
    })
  const uids = {
    organization,
    group,
    identity,
    role,
    binding: await bindRole(berth, organization, identity, role),
    provider,
    mapping: await newMapping(),
    association: await newAssociation(group),
    invite: (await newInvite()).uid as string,
    repo: repo as string,
    tag: await newTag(tagName),
    advisory: await newAdvisory(),
    feed: await newFeed(),
  }

  const named = (more: object = {}) => ({ name: newName(), ...more })
  const masked = (resource: string, uid: string) => ({
    [resource]: { uid, description: `${mark} ${newName()}` },
    updateMask: { paths: ['description'] },
  })
  const claimMatch = {
    case: 'claimMatch',
    value: { iss: { case: 'issuer', value: 'https://ci.example.com' }, sub: { case: 'subject', value: 'x' } },
  }
  const configuration = { case: 'oidc', value: oidc }
  const newIdentity = () => createIdentity(berth, organization)
  const requests: Readonly<Record<string, () => Promise<object> | object>> = {
    'Groups.GetGroup': () => ({ uid: group }),
    'Groups.CreateGroup': () => ({ parent: organization, group: named() }),
    'Groups.UpdateGroup': () => masked('group', group),
    'Groups.DeleteGroup': async () => ({ uid: await createGroup(berth, organization, newName()) }),
    'Groups.RequestGroupAccess': () => ({ groupUid: organization }),
    'Identities.GetIdentity': () => ({ uid: identity }),
    'Identities.CreateIdentity': () => ({
      parent: organization,
      identity: named({ relationship: claimMatch }),
    }),
    'Identities.UpdateIdentity': () => masked('identity', identity),
    'Identities.DeleteIdentity': async () => ({ uid: await newIdentity() }),
    'Identities.LookupIdentity': () => ({ issuer: 'https://ci.example.com', subject: 'x' }),
    'Identities.UpdateIdentityMetadata': () => ({ identityMetadata: { jobTitle: 'engineer' } }),
    'Policies.CreatePolicy': () => ({ parentId: organization, policy: named({ expression: 'true' }) }),
    'Policies.UpdatePolicy': async () => ({ id: await newPolicy(), ...named({ expression: 'false' }) }),
    'Policies.DeletePolicy': async () => ({ id: await newPolicy() }),
    'Policies.ValidatePolicy': () => ({ expression: 'true', type: ExpressionType.CEL }),
    'Bindings.CreateBinding': () => ({
      parentId: organization,
      binding: { policy: 'contents-known', mode: PolicyMode.DRY_RUN },
    }),
    'Bindings.UpdateBinding': async () => ({ id: await newBinding(), mode: PolicyMode.DRY_RUN }),
    'Bindings.DeleteBinding': async () => ({ id: await newBinding() }),
    'Overrides.CreateOverride': () => ({
      parentId: organization,
      override: {
        policyId: 'contents-known',
        digest: `sha256:${randomBytes(32).toString('hex')}`,
        reason: mark,
      },
    }),
    'Overrides.DeleteOverride': async () => ({ id: await newOverride() }),
    'Advisories.GetAdvisory': () => ({ uid: uids.advisory }),
    'AdvisoryDocuments.GetAdvisoryDocuments': () => ({ parent: organization }),
    'AdvisoryDocuments.GetAdvisorySources': () => ({ uid: uids.advisory }),
    'AdvisoryFeeds.GetAdvisoryFeed': () => ({ uid: uids.feed }),
    'AdvisoryFeeds.CreateAdvisoryFeed': () => ({
      parent: organization,
      advisoryFeed: { url: `${UNREACHABLE}/${newName()}` },
    }),
    'AdvisoryFeeds.UpdateAdvisoryFeed': () => ({
      advisoryFeed: { uid: uids.feed, paused: true },
      updateMask: { paths: ['paused'] },
    }),
    'AdvisoryFeeds.DeleteAdvisoryFeed': async () => ({ uid: await newFeed() }),
    'AdvisoryFeeds.SyncAdvisoryFeed': async () => ({ uid: await newFeed(false) }),
    'AdvisoryDocuments.ImportAdvisoryDocuments': () => ({
      parent: organization,
      documents: [{ name: 'a.json', format: 'osv', content: Buffer.from(osvRecord(newName(), mark)) }],
    }),
    'AdvisoryDocuments.DeleteAdvisoryDocuments': () => ({ parent: organization, format: 'osv', ids: ['x'] }),
    // Not a token, so no issuer is contacted.
    'Explain.ExplainExchange': () => ({ identity, token: 'x' }),
    'Access.FindMembers': () => ({ uid: organization }),
    'Access.WhoCan': () => ({ uid: repo, capability: 'repo.create' }),
    'Access.ExplainAccess': () => ({ uid: repo, identity, capability: 'repo.create' }),
    'Access.FindCandidates': () => ({ uid: organization }),
    'Access.CountRoleUses': () => ({ uid: organization }),
    'Roles.GetRole': () => ({ uid: role }),
    'Roles.CreateRole': () => ({
      parent: organization,
      role: named({ capabilities: [capabilityByName('groups.list')] }),
    }),
    'Roles.UpdateRole': () => masked('role', role),
    'Roles.DeleteRole': async () => ({
      uid: await createRole(berth, organization, ['groups.list'], newName()),
    }),
    'RoleBindings.GetRoleBinding': () => ({ uid: uids.binding }),
    'RoleBindings.CreateRoleBinding': async () => ({
      parent: organization,
      roleBinding: { identityUid: await newIdentity(), roleUid: role },
    }),
    'RoleBindings.BatchCreateRoleBindings': async () => ({
      parent: organization,
      requests: [{ roleBinding: { identityUid: await newIdentity(), roleUid: role } }],
    }),
    'RoleBindings.UpdateRoleBinding': () => ({
      roleBinding: { uid: uids.binding, identityUid: identity, roleUid: role },
      updateMask: { paths: ['role_uid'] },
    }),
    'RoleBindings.DeleteRoleBinding': async () => ({
      uid: await bindRole(berth, organization, await newIdentity(), role),
    }),
    'IdentityProviders.GetIdentityProvider': () => ({ uid: provider }),
    'IdentityProviders.CreateIdentityProvider': () => ({
      parent: organization,
      identityProvider: named({ defaultRole: role, configuration }),
    }),
    'IdentityProviders.UpdateIdentityProvider': () => masked('identityProvider', provider),
    'IdentityProviders.DeleteIdentityProvider': async () => ({ uid: await newProvider() }),
    'ExternalGroupRoleMappings.GetExternalGroupRoleMapping': () => ({ uid: uids.mapping }),
    'ExternalGroupRoleMappings.CreateExternalGroupRoleMapping': () => ({
      parent: provider,
      externalGroupRoleMapping: { externalGroupId: newName(), roleUid: role, scope: organization },
    }),
    'ExternalGroupRoleMappings.DeleteExternalGroupRoleMapping': async () => ({ uid: await newMapping() }),
    'ExternalGroupRoleMappings.BatchDeleteExternalGroupRoleMappings': async () => ({
      parent: provider,
      names: [await newMapping()],
    }),
    'AccountAssociations.GetAccountAssociation': () => ({ uid: uids.association }),
    'AccountAssociations.CreateAccountAssociation': async () => ({
      parent: await createGroup(berth, organization, newName()),
      accountAssociation: named({ amazon: { account: '123456789012' } }),
    }),
    'AccountAssociations.UpdateAccountAssociation': () => masked('accountAssociation', uids.association),
    'AccountAssociations.DeleteAccountAssociation': async () => ({
      uid: await newAssociation(await createGroup(berth, organization, newName())),
    }),
    // Not linked, so nothing outside is asked.
    'AccountAssociations.CheckAccountAssociation': () => ({ uid: uids.association, providerType: 3 }),
    'GroupInvites.GetGroupInvite': () => ({ uid: uids.invite }),
    'GroupInvites.CreateGroupInvite': () => ({
      parent: organization,
      groupInvite: { roleUid: role, ttl: { seconds: 3600n } },
    }),
    'GroupInvites.UpdateGroupInvite': () => ({
      groupInvite: { uid: uids.invite, singleUse: true },
      updateMask: { paths: ['single_use'] },
    }),
    'GroupInvites.DeleteGroupInvite': async () => ({ uid: (await newInvite()).uid }),
    // A role without bindings.
    'Invitations.AcceptGroupInvite': async () => ({
      code: (await newInvite(await createRole(berth, organization, ['groups.list'], newName()))).code,
    }),
    // For anyone with the code: of no caller.
    'Invitations.AcceptReceivedInvite': () => ({ uid: uids.invite }),
    'Repos.GetRepo': () => ({ uid: repo }),
    'Repos.CreateRepo': () => ({ parent: organization, repo: named() }),
    'Repos.UpdateRepo': () => masked('repo', repo),
    'Repos.DeleteRepo': async () => ({ uid: await newRepo() }),
    'Repos.GetRepoReadme': () => ({ uid: repo }),
    'Repos.UpdateRepoReadme': () => ({ repoReadme: { uid: repo, content: `# ${mark}` } }),
    'Tags.GetTag': () => ({ uid: uids.tag }),
    'Tags.CreateTag': () => ({ parent: repo, tag: named({ digest }) }),
    'Tags.DeleteTag': async () => ({ uid: await newTag() }),
    'Search.SearchResources': () => ({ text: mark }),
    'Search.LookupResources': () => ({ uids: [organization, repo] }),
    'Audit.GetAuditEvent': async () => {
      const query = `uidp.descendants_of=${organization}&page_size=1&code=0`
      const { body } = await call('GET', `${berth.url}/audit/v1/events?${query}`, { token: berth.token })
      return { uid: body.events[0].uid }
    },
    // Of no caller.
    'Auth.Delete': () => ({ id: randomBytes(20).toString('hex') }),
    'Images.GetArchitectures': () => ({ repoUid: repo, digest }),
    'Images.GetSize': () => ({ repoUid: repo, digest }),
    'RepoTags.ListRepoTags': () => ({ uid: repo }),
    'RepoTags.GetTagDetails': () => ({ uid: uids.tag }),
    'TagHistory.ListTagHistory': () => ({ uid: uids.tag }),
    // The digest that it has: others need an image.
    'TagHistory.MoveTag': () => ({ uid: uids.tag, digest }),
    'RepoTags.PreviewTagDeletion': () => ({ uid: repo, tagUids: [uids.tag] }),
    'RepoTags.DeleteRepoTags': async () => ({ uid: repo, tagUids: [await newTag()] }),
    'Visibility.GetVisibility': () => ({ uid: repo }),
    'RepoPolicies.GetRepoPolicy': () => ({ uid: repo }),
    'RepoPolicies.UpdateRepoPolicy': () => ({
      repoPolicy: { uid: repo, immutableTags: { patterns: [`never-${newName()}`] } },
    }),
    'RepoPolicies.PreviewRetention': () => ({ uid: repo }),
    'RepoSummaries.GetRepoSummary': () => ({ uid: repo }),
    'Manifests.ListManifests': () => ({ uid: repo }),
    'Manifests.GetManifest': () => ({ uid: repo, digest }),
    'Manifests.DeleteManifest': async () => ({ uid: repo, digest: await push(repo) }),
    'Referrers.ListReferrers': () => ({ uid: repo, digest }),
    'ImageCopies.CopyImage': () => ({ uid: repo, sourceUid: repo, reference: digest }),
    'Signatures.GetImageSignatures': () => ({ uid: repo, reference: digest }),
    'ImageContents.GetImageContents': () => ({ uid: repo, reference: digest }),
    'ImageContents.ListImagePackages': () => ({ uid: repo, reference: digest }),
    'ImageContents.GetImageSbom': () => ({ uid: repo, reference: digest }),
    'ImageContents.CompareImagePackages': () => ({ uid: repo, reference: digest, otherReference: digest }),
    'ImageContents.ReadImageAgain': () => ({ uid: repo, reference: digest }),
    'Findings.ListImageFindings': () => ({ uid: repo, digest }),
    'Findings.CompareImageFindings': () => ({ uid: repo, baseDigest: digest, digest }),
    'Findings.GetImageReport': () => ({ uid: repo, reference: digest, format: 1 }),
    'AffectedImages.ListAffectedImages': () => ({ uid: organization, vulnerability: 'CVE-2025-0001' }),
    'VulnerabilityRecords.ListVulnerabilityRecords': () => ({ uid: organization }),
    'FindingSummaries.ListTagFindingSummaries': () => ({ uid: repo }),
    'FindingSummaries.ListTagFindingHistory': () => ({ uid: repo, tag: tagName }),
    'ScannerReports.ListImageScannerReports': () => ({ uid: repo, reference: digest }),
    'ScannerReports.ListScannerReportFindings': () => ({ uid: repo, reference: digest, scanner: 'trivy' }),
    'ScannerReports.CompareScannerReport': () => ({ uid: repo, reference: digest, scanner: 'trivy' }),
    'PackageImages.ListPackageImages': () => ({ uid: repo, name: 'musl' }),
    'Manifests.PreviewUntaggedManifests': () => ({ uid: repo }),
    'Manifests.DeleteUntaggedManifests': () => ({ uid: repo }),
    'Usage.GetUsage': () => ({ uid: organization }),
    'Usage.GetUsageHistory': () => ({ uid: organization }),
    'Usage.GetRepoUsageHistory': () => ({ uid: repo }),
    'Usage.GetTopRepos': () => ({ uid: organization }),
    'RepoPolicies.ApplyRetention': async () => {
      const uid = await newRepo()
      await call('PATCH', `${berth.url}/registry/v2beta1/repos/${uid}/policy`, {
        token: berth.token,
        body: { retention: { enabled: true } },
      })
      return { uid }
    },
  }
  // For the operator alone: of nothing, so that nothing changes for the other callers.
  const unknown = { uid: 'f'.repeat(40) }
  const operator: typeof requests = {
    'OperatorAccounts.CreateAccount': () => ({ email: `${newName()}@example.com` }),
    'OperatorAccounts.ResetAccountPassword': () => unknown,
    'OperatorAccounts.SuspendAccount': () => unknown,
    'OperatorAccounts.ActivateAccount': () => unknown,
    'OperatorAccounts.DeleteAccount': () => unknown,
    'OperatorOrganizations.SuspendOrganization': () => unknown,
    'OperatorOrganizations.ActivateOrganization': () => unknown,
    'OperatorOrganizations.SetOrganizationLimits': () => ({
      ...unknown,
      limits: [{ kind: 'repos', max: 1n }],
    }),
    'OperatorSessions.EndSession': () => ({ id: 'none' }),
    'OperatorSessions.EndIdentitySessions': () => ({ identityUid: identity }),
    'OperatorStorage.GetStorageRun': () => ({ id: 'none' }),
    'OperatorStorage.StartStorageRun': () => ({ kind: 1, dryRun: true }),
    'OperatorStorage.CancelStorageRun': () => ({ id: 'none' }),
  }
  const replaced = (id: string, more: object = {}) =>
    named({ id, description: `${mark} ${newName()}`, ...more })
  const charts = [{ repo: 'oci://charts.example.com/web' }]
  const amazon = { account: '123456789012' }
  const older: typeof requests = {
    'v1.Vulnerabilities.ListVulnReports': () => ({ repoId: repo, digest }),
    'v1.Vulnerabilities.GetRawVulnReport': () => ({ digest }),
    'v1.Vulnerabilities.ListVulnCountReports': () => ({ repo }),
    'v1.Vulnerabilities.ListCumulativeVulnCountReports': () => ({ repo }),
    'v1.Groups.Create': () => ({ parent: organization, group: named() }),
    'v1.Groups.Update': () => replaced(group),
    'v1.Groups.Delete': async () => ({ id: await createGroup(berth, organization, newName()) }),
    'v1.Groups.RequestGroupAccess': () => ({ groupId: organization }),
    'v1.Identities.Create': () => ({ parentId: organization, identity: named({ relationship: claimMatch }) }),
    'v1.Identities.Update': () => replaced(identity, { relationship: claimMatch }),
    'v1.Identities.Lookup': () => ({ issuer: 'https://ci.example.com', subject: 'x' }),
    'v1.Identities.Delete': async () => ({ id: await newIdentity() }),
    'v1.Roles.Create': () => ({ parentId: organization, role: named({ capabilities: ['groups.list'] }) }),
    'v1.Roles.Update': () => replaced(role, { capabilities: ['groups.list'] }),
    'v1.Roles.Delete': async () => ({
      id: await createRole(berth, organization, ['groups.list'], newName()),
    }),
    'v1.RoleBindings.Create': async () => ({
      parent: organization,
      roleBinding: { identity: await newIdentity(), role },
    }),
    'v1.RoleBindings.CreateBatch': async () => ({
      parent: organization,
      roleBindings: [{ identity: await newIdentity(), role }],
    }),
    'v1.RoleBindings.Update': () => ({ id: uids.binding, identity, role }),
    'v1.RoleBindings.Delete': async () => ({
      id: await bindRole(berth, organization, await newIdentity(), role),
    }),
    'v1.IdentityProviders.Create': () => ({
      parentId: organization,
      identityProvider: named({ defaultRole: role, configuration }),
    }),
    'v1.IdentityProviders.Update': () => replaced(provider, { defaultRole: role, configuration }),
    'v1.IdentityProviders.Delete': async () => ({ id: await newProvider() }),
    'v1.ExternalGroupRoleMappings.Get': () => ({ uid: uids.mapping }),
    'v1.ExternalGroupRoleMappings.Create': () => ({
      parentId: provider,
      mapping: { externalGroupId: newName(), roleUidp: role, scope: organization },
    }),
    'v1.ExternalGroupRoleMappings.Delete': async () => ({ id: await newMapping() }),
    'v1.ExternalGroupRoleMappings.BatchDelete': async () => ({
      parentId: provider,
      ids: [await newMapping()],
    }),
    'v1.GroupAccountAssociations.Create': async () => ({
      group: await createGroup(berth, organization, newName()),
      ...named({ amazon }),
    }),
    'v1.GroupAccountAssociations.Update': () => ({ group: uids.association, ...named({ amazon }) }),
    'v1.GroupAccountAssociations.Delete': async () => ({
      group: await newAssociation(await createGroup(berth, organization, newName())),
    }),
    'v1.GroupAccountAssociations.Check': () => ({ group: uids.association, accountType: 3 }),
    'v1.GroupInvites.Create': () => ({ group: organization, role, ttl: { seconds: 3600n } }),
    'v1.GroupInvites.Delete': async () => ({ id: (await newInvite()).uid }),
    'v1.Registry.CreateRepo': () => ({ parentId: organization, repo: named() }),
    // The operator alone writes its page, which a caller who leaves it out would clear.
    'v1.Registry.UpdateRepo': async () => replaced(await newRepo()),
    'v1.Registry.DeleteRepo': async () => ({ id: await newRepo() }),
    'v1.Registry.CreateTag': () => ({ repoId: repo, tag: named() }),
    'v1.Registry.UpdateTag': async () => {
      const { uid, name } = await createResource(berth, `/registry/v2beta1/tags/${repo}`, named({ digest }))
      return { id: uid, name }
    },
    'v1.Registry.DeleteTag': async () => ({ id: await newTag() }),
    'v1.Registry.GetRepoCountBySource': () => ({ id: repo }),
    'v1.Registry.GetRepoTagsSummary': () => ({ repoId: repo }),
    'v1.Registry.ListTagHistory': () => ({ parentId: uids.tag }),
    'v1.Registry.GetPackageVersionMetadata': () => ({ package: 'go' }),
    'v1.Registry.CreateDeployment': async () => ({ parentId: await newRepo(), charts }),
    'v1.Registry.UpdateDeployment': async () => ({ repoId: await newRepo() }),
    'v1.Registry.GetDeployment': async () => {
      const repoId = await newRepo()
      await call('POST', `${berth.url}/registry/v1/repos/${repoId}/deployment`, {
        token: berth.token,
        body: { charts },
      })
      return { repoId }
    },
    'v1.Registry.UpdateRegistrySettings': () => ({ registryId: organization, uniqueTags: true }),
    ...Object.fromEntries(
      [
        'GetSbom',
        'GetHelm',
        'GetChart',
        'GetImageConfig',
        'GetArchs',
        'GetSize',
        'GetRawSbom',
        'GetVulnReport',
      ].map((name) => [`v1.Registry.${name}`, () => ({ repoId: repo, digest })]),
    ),
  }
  const newGroup = () => createGroup(berth, organization, newName())
  const createDerived = async ({ path, body }: DerivedResource) =>
    (await createResource(berth, path(await newGroup()), body())).uid as string
  const isDerived = ({ schema }: DerivedResource) =>
    !Object.keys(requests).some((name) => name.endsWith(`.Create${schema.name}`))
  const derivedUids: Record<string, string> = {}
  for (const resource of derivedResources.filter(isDerived))
    derivedUids[resource.schema.name] = await createDerived(resource)
  return {
    organization,
    uids: { ...uids, ...derivedUids },
    requestOf(method) {
      const request = requests[shortName(method)] ?? operator[shortName(method)] ?? older[shortName(method)]
      if (request !== undefined) return request()
      const resource = resourceOf(method)
      return resource && isDerived(resource)
        ? derivedRequest(method, resource, { newGroup, create: () => createDerived(resource) })
        : undefined
    },
  }
}
