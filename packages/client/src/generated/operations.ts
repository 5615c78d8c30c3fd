// Generated from packages/contract/proto/ by scripts/generate-client.ts: do not edit.

import type { CallOptions, ChangeOptions, CreateOptions, Operation, Reply, UpdateOptions } from '../operation.ts'
import type * as types from './types.ts'

export const operations = {
  groups: {
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/groups/{uid}', repeat: 'always' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/groups/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/groups', items: 'groups', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/groups/{parent?}', repeat: 'with-key' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/groups/{uid}', repeat: 'with-match' },
    lookupGroup: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/groups:lookupGroup', repeat: 'always' },
    requestGroupAccess: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/groups/{groupUid}:requestGroupAccess', body: true, repeat: 'never' },
    checkEligibility: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/groups:checkEligibility', repeat: 'always' },
  },
  identities: {
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/identities/{parent}', repeat: 'with-key' },
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/identities/{uid}', repeat: 'always' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/identities/{uid}', repeat: 'always' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/identities/{uid}', repeat: 'with-match' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/identities', items: 'identities', repeat: 'always' },
    lookupIdentity: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/identities:lookupIdentity', repeat: 'always' },
    updateIdentityMetadata: { kind: 'request', verb: 'PATCH', path: '/iam/v2beta1/identities:updateIdentityMetadata', body: true, repeat: 'never' },
  },
  roles: {
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/roles/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/roles', items: 'roles', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/roles/{parent}', repeat: 'with-key' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/roles/{uid}', repeat: 'with-match' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/roles/{uid}', repeat: 'always' },
  },
  roleBindings: {
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/roleBindings/{uid}', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/roleBindings/{parent}', repeat: 'with-key' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/roleBindings/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/roleBindings', items: 'roleBindings', repeat: 'always' },
    batchCreate: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/roleBindings:batchCreate', body: true, repeat: 'with-key' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/roleBindings/{uid}', repeat: 'with-match' },
  },
  identityProviders: {
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/identityProviders', items: 'identityProviders', repeat: 'always' },
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/identityProviders/{uid}', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/identityProviders/{parent}', repeat: 'with-key' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/identityProviders/{uid}', repeat: 'with-match' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/identityProviders/{uid}', repeat: 'always' },
    generateScimToken: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/identityProviders/{identityProviderUid}:generateScimToken', body: true, repeat: 'never' },
    regenerateScimToken: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/identityProviders/{identityProviderUid}:regenerateScimToken', body: true, repeat: 'never' },
    revokeScimToken: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/identityProviders/{identityProviderUid}:revokeScimToken', body: true, repeat: 'never' },
    setScimEnabled: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/identityProviders/{identityProviderUid}:setScimEnabled', body: true, repeat: 'never' },
  },
  externalGroupRoleMappings: {
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/externalGroupRoleMappings/{uid}', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/externalGroupRoleMappings/{parent}', repeat: 'with-key' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/externalGroupRoleMappings/{uid}', repeat: 'always' },
    batchDelete: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/externalGroupRoleMappings:batchDelete', body: true, repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/externalGroupRoleMappings', items: 'externalGroupRoleMappings', repeat: 'always' },
  },
  accountAssociations: {
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/accountAssociations/{uid}', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/accountAssociations/{parent}', repeat: 'with-key' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/accountAssociations/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/accountAssociations', items: 'accountAssociations', repeat: 'always' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/accountAssociations/{uid}', repeat: 'with-match' },
    checkAccountAssociation: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/accountAssociations/{uid}:checkAccountAssociation', body: true, repeat: 'always' },
  },
  groupInvites: {
    create: { kind: 'create', verb: 'POST', path: '/iam/v2beta1/groupInvites/{parent}', repeat: 'with-key' },
    get: { kind: 'get', verb: 'GET', path: '/iam/v2beta1/groupInvites/{uid}', repeat: 'always' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/iam/v2beta1/groupInvites/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/iam/v2beta1/groupInvites', items: 'groupInvites', repeat: 'always' },
    update: { kind: 'update', verb: 'PATCH', path: '/iam/v2beta1/groupInvites/{uid}', repeat: 'with-match' },
  },
  invitations: {
    acceptGroupInvite: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/groupInvites:accept', body: true, repeat: 'never' },
    findReceivedInvites: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/groupInvites:findReceived', repeat: 'always' },
    acceptReceivedInvite: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/groupInvites:acceptReceived', body: true, repeat: 'never' },
  },
  groupPaths: {
    findGroupPaths: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/groups:findPaths', repeat: 'always' },
  },
  access: {
    findMembers: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/access/{uid}:findMembers', repeat: 'always' },
    whoCan: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/access/{uid}:whoCan', repeat: 'always' },
    explainAccess: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/access/{uid}:explain', repeat: 'always' },
    findCandidates: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/access/{uid}:findCandidates', repeat: 'always' },
    countRoleUses: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/access/{uid}:countRoleUses', repeat: 'always' },
  },
  repos: {
    get: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/repos/{uid}', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/registry/v2beta1/repos/{parent}', repeat: 'with-key' },
    update: { kind: 'update', verb: 'PATCH', path: '/registry/v2beta1/repos/{uid}', repeat: 'with-match' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/registry/v2beta1/repos/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/repos', items: 'repos', repeat: 'always' },
    getRepoReadme: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/readme', repeat: 'always' },
    updateRepoReadme: { kind: 'update', verb: 'PATCH', path: '/registry/v2beta1/repos/{uid}/readme', repeat: 'with-match' },
  },
  tags: {
    get: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/tags/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/tags', items: 'tags', repeat: 'always' },
    create: { kind: 'create', verb: 'POST', path: '/registry/v2beta1/tags/{parent}', repeat: 'with-key' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/registry/v2beta1/tags/{uid}', repeat: 'always' },
  },
  images: {
    getArchitectures: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{repoUid}/digests/{digest}/architectures', repeat: 'always' },
    getSize: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{repoUid}/digests/{digest}/size', repeat: 'always' },
  },
  repoSummaries: {
    get: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/repoSummaries/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/repoSummaries', items: 'repoSummaries', repeat: 'always' },
  },
  manifests: {
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests', items: 'manifests', repeat: 'always' },
    get: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{digest}', repeat: 'always' },
    delete: { kind: 'request', verb: 'DELETE', path: '/registry/v2beta1/repos/{uid}/manifests/{digest}', repeat: 'always' },
    previewUntaggedManifests: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/manifests:previewUntagged', body: true, repeat: 'always' },
    deleteUntaggedManifests: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/manifests:deleteUntagged', body: true, repeat: 'always' },
  },
  referrers: {
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{digest}/referrers', items: 'referrers', repeat: 'always' },
  },
  repoPolicies: {
    getRepoPolicy: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/policy', repeat: 'always' },
    updateRepoPolicy: { kind: 'update', verb: 'PATCH', path: '/registry/v2beta1/repos/{uid}/policy', repeat: 'with-match' },
    previewRetention: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/policy:preview', body: true, repeat: 'always' },
    applyRetention: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/policy:apply', body: true, repeat: 'always' },
    listRetentionRuns: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/retentionRuns', items: 'retentionRuns', repeat: 'always' },
  },
  advisories: {
    get: { kind: 'get', verb: 'GET', path: '/vulnerabilities/v2beta1/advisories/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/advisories', items: 'advisories', repeat: 'always' },
  },
  advisoryDocuments: {
    importAdvisoryDocuments: { kind: 'request', verb: 'POST', path: '/vulnerabilities/v2beta1/advisories/{parent}:importDocuments', body: true, repeat: 'always' },
    deleteAdvisoryDocuments: { kind: 'request', verb: 'POST', path: '/vulnerabilities/v2beta1/advisories/{parent}:deleteDocuments', body: true, repeat: 'always' },
    getAdvisoryDocuments: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/advisories/{parent}/documents', repeat: 'always' },
    getAdvisorySources: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/advisories/{uid}/sources', repeat: 'always' },
  },
  advisoryFeeds: {
    create: { kind: 'create', verb: 'POST', path: '/vulnerabilities/v2beta1/advisoryFeeds/{parent}', repeat: 'with-key' },
    get: { kind: 'get', verb: 'GET', path: '/vulnerabilities/v2beta1/advisoryFeeds/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/advisoryFeeds', items: 'advisoryFeeds', repeat: 'always' },
    update: { kind: 'update', verb: 'PATCH', path: '/vulnerabilities/v2beta1/advisoryFeeds/{uid}', repeat: 'with-match' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/vulnerabilities/v2beta1/advisoryFeeds/{uid}', repeat: 'always' },
    syncAdvisoryFeed: { kind: 'request', verb: 'POST', path: '/vulnerabilities/v2beta1/advisoryFeeds/{uid}:sync', body: true, repeat: 'always' },
    listAdvisoryFeedRuns: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/advisoryFeedRuns', items: 'advisoryFeedRuns', repeat: 'always' },
  },
  advisoryPublications: {
    getAdvisoryPublication: { kind: 'get', verb: 'GET', path: '/vulnerabilities/v2beta1/advisoryPublications/{uid}', repeat: 'always' },
    updateAdvisoryPublication: { kind: 'update', verb: 'PATCH', path: '/vulnerabilities/v2beta1/advisoryPublications/{uid}', repeat: 'with-match' },
  },
  ping: {
    ping: { kind: 'request', verb: 'GET', path: '/ping/v2beta1/ping', repeat: 'always' },
  },
  securityToken: {
    exchange: { kind: 'request', verb: 'POST', path: '/sts/exchange', repeat: 'always' },
    exchangeRefreshToken: { kind: 'request', verb: 'POST', path: '/sts/exchange_refresh_token', repeat: 'never' },
  },
  auth: {
    validate: { kind: 'request', verb: 'GET', path: '/auth/v1/ok', repeat: 'always' },
    register: { kind: 'request', verb: 'POST', path: '/auth/v1/register', body: true, repeat: 'never' },
    getHeadlessSession: { kind: 'request', verb: 'GET', path: '/sts/headless_sessions', repeat: 'always' },
    delete: { kind: 'request', verb: 'DELETE', path: '/auth/v1/delete/{id}', repeat: 'always' },
  },
  explain: {
    explainExchange: { kind: 'request', verb: 'POST', path: '/iam/v2beta1/identities/{identity}:explainExchange', body: true, repeat: 'always' },
  },
  audit: {
    list: { kind: 'list', verb: 'GET', path: '/audit/v1/events', items: 'events', repeat: 'always' },
    get: { kind: 'get', verb: 'GET', path: '/audit/v1/events/{uid}', repeat: 'always' },
  },
  search: {
    searchResources: { kind: 'request', verb: 'GET', path: '/search/v1/resources:search', repeat: 'always' },
    lookupResources: { kind: 'request', verb: 'POST', path: '/search/v1/resources:lookup', body: true, repeat: 'always' },
  },
  operatorAccounts: {
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/accounts', items: 'accounts', repeat: 'always' },
    createAccount: { kind: 'request', verb: 'POST', path: '/operator/v1/accounts', body: true, repeat: 'never' },
    resetAccountPassword: { kind: 'request', verb: 'POST', path: '/operator/v1/accounts/{uid}:resetPassword', body: true, repeat: 'always' },
    suspendAccount: { kind: 'request', verb: 'POST', path: '/operator/v1/accounts/{uid}:suspend', body: true, repeat: 'always' },
    activateAccount: { kind: 'request', verb: 'POST', path: '/operator/v1/accounts/{uid}:activate', body: true, repeat: 'always' },
    deleteAccount: { kind: 'delete', verb: 'DELETE', path: '/operator/v1/accounts/{uid}', repeat: 'always' },
  },
  operatorJobs: {
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/jobs', items: 'jobs', repeat: 'always' },
    listMails: { kind: 'list', verb: 'GET', path: '/operator/v1/mails', items: 'mails', repeat: 'always' },
    listJobRuns: { kind: 'list', verb: 'GET', path: '/operator/v1/jobRuns', items: 'jobRuns', repeat: 'always' },
  },
  operatorNodes: {
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/nodes', items: 'nodes', repeat: 'always' },
    checkInstallation: { kind: 'request', verb: 'POST', path: '/operator/v1/nodes:check', body: true, repeat: 'always' },
  },
  operatorOrganizations: {
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/organizations', items: 'organizations', repeat: 'always' },
    suspendOrganization: { kind: 'request', verb: 'POST', path: '/operator/v1/organizations/{uid}:suspend', body: true, repeat: 'always' },
    activateOrganization: { kind: 'request', verb: 'POST', path: '/operator/v1/organizations/{uid}:activate', body: true, repeat: 'always' },
    setOrganizationLimits: { kind: 'request', verb: 'POST', path: '/operator/v1/organizations/{uid}:setLimits', body: true, repeat: 'always' },
  },
  operatorSessions: {
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/sessions', items: 'sessions', repeat: 'always' },
    endSession: { kind: 'request', verb: 'DELETE', path: '/operator/v1/sessions/{id}', repeat: 'always' },
    endIdentitySessions: { kind: 'request', verb: 'POST', path: '/operator/v1/sessions:endAll', body: true, repeat: 'always' },
  },
  operatorSigningKeys: {
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/signingKeys', items: 'signingKeys', repeat: 'always' },
    rotateSigningKeys: { kind: 'request', verb: 'POST', path: '/operator/v1/signingKeys:rotate', body: true, repeat: 'always' },
  },
  operatorStorage: {
    getStorageStatus: { kind: 'request', verb: 'GET', path: '/operator/v1/storage', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/operator/v1/storage/runs', items: 'runs', repeat: 'always' },
    get: { kind: 'request', verb: 'GET', path: '/operator/v1/storage/runs/{id}', repeat: 'always' },
    startStorageRun: { kind: 'request', verb: 'POST', path: '/operator/v1/storage/runs', body: true, repeat: 'never' },
    cancelStorageRun: { kind: 'request', verb: 'POST', path: '/operator/v1/storage/runs/{id}:cancel', body: true, repeat: 'always' },
  },
  imageContents: {
    getImageContents: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{reference}/contents', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{reference}/packages', items: 'packages', repeat: 'always' },
    getImageSbom: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{reference}/sbom', repeat: 'always' },
    compareImagePackages: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{reference}/packages:compare', repeat: 'always' },
    readImageAgain: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/manifests/{reference}/contents:readAgain', body: true, repeat: 'always' },
  },
  packageImages: {
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/package_images/{uid}', items: 'images', repeat: 'always' },
  },
  imageCopies: {
    copyImage: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/images:copy', body: true, repeat: 'always' },
  },
  repoTags: {
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/tags', items: 'tags', repeat: 'always' },
    get: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/tags/{uid}/details', repeat: 'always' },
    previewTagDeletion: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/tags:previewDeletion', body: true, repeat: 'always' },
    delete: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/tags:delete', body: true, repeat: 'always' },
  },
  signatureVerifiers: {
    create: { kind: 'create', verb: 'POST', path: '/registry/v2beta1/signatureVerifiers/{parent}', repeat: 'with-key' },
    get: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/signatureVerifiers/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/signatureVerifiers', items: 'signatureVerifiers', repeat: 'always' },
    update: { kind: 'update', verb: 'PATCH', path: '/registry/v2beta1/signatureVerifiers/{uid}', repeat: 'with-match' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/registry/v2beta1/signatureVerifiers/{uid}', repeat: 'always' },
  },
  signatures: {
    getImageSignatures: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/manifests/{reference}/signatures', repeat: 'always' },
  },
  tagHistory: {
    list: { kind: 'list', verb: 'GET', path: '/registry/v2beta1/tags/{uid}/history', items: 'entries', repeat: 'always' },
    moveTag: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/tags/{uid}:move', body: true, repeat: 'always' },
  },
  usage: {
    getUsage: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/usage/{uid}', repeat: 'always' },
    getUsageHistory: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/usage/{uid}/history', repeat: 'always' },
    getRepoUsageHistory: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/usageHistory', repeat: 'always' },
    getTopRepos: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/usage/{uid}/topRepos', repeat: 'always' },
  },
  visibility: {
    getVisibility: { kind: 'request', verb: 'GET', path: '/registry/v2beta1/visibility/{uid}', repeat: 'always' },
  },
  findingSummaries: {
    get: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/findingSummaries/{uid}', repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/findingSummaries/{uid}:repos', items: 'findingSummaries', repeat: 'always' },
    listTagFindingSummaries: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/findingSummaries/{uid}:tags', items: 'tagFindingSummaries', repeat: 'always' },
    listTagFindingHistory: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/findingSummaries/{uid}:history', items: 'tagFindingHistoryEntries', repeat: 'always' },
    listFindingSummaryHistory: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/findingSummaries/{uid}:summaryHistory', items: 'findingSummaryHistoryEntries', repeat: 'always' },
  },
  findings: {
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/imageFindings/{uid}', items: 'findings', repeat: 'always' },
    compareImageFindings: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/imageFindings/{uid}:compare', repeat: 'always' },
    getImageReport: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/imageFindings/{uid}:report', repeat: 'always' },
  },
  affectedImages: {
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/affectedImages/{uid}', items: 'affectedImages', repeat: 'always' },
  },
  scannerReports: {
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/imageScannerReports/{uid}', items: 'scannerReports', repeat: 'always' },
    listScannerReportFindings: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/imageScannerReports/{uid}:findings', items: 'findings', repeat: 'always' },
    compareScannerReport: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/imageScannerReports/{uid}:compare', repeat: 'always' },
  },
  advisorySummaries: {
    getAdvisorySummary: { kind: 'request', verb: 'GET', path: '/vulnerabilities/v2beta1/advisorySummaries/{uid}', repeat: 'always' },
  },
  vulnerabilityRecords: {
    list: { kind: 'list', verb: 'GET', path: '/vulnerabilities/v2beta1/vulnerabilityRecords/{uid}', items: 'vulnerabilityRecords', repeat: 'always' },
  },
  bindings: {
    create: { kind: 'create', verb: 'POST', path: '/policies/v1/bindings/{parent}', repeat: 'with-key' },
    update: { kind: 'request', verb: 'PUT', path: '/policies/v1/bindings/{id?}', body: true, repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/policies/v1/bindings', items: 'items', repeat: 'always' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/policies/v1/bindings/{uid}', repeat: 'always' },
  },
  decisions: {
    list: { kind: 'list', verb: 'GET', path: '/policies/v1/decisions', items: 'items', repeat: 'always' },
  },
  overrides: {
    create: { kind: 'create', verb: 'POST', path: '/policies/v1/overrides/{parent}', repeat: 'with-key' },
    list: { kind: 'list', verb: 'GET', path: '/policies/v1/overrides', items: 'items', repeat: 'always' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/policies/v1/overrides/{uid}', repeat: 'always' },
  },
  policies: {
    create: { kind: 'create', verb: 'POST', path: '/policies/v1/policies/{parent}', repeat: 'with-key' },
    update: { kind: 'request', verb: 'PUT', path: '/policies/v1/policies/{id?}', body: true, repeat: 'always' },
    list: { kind: 'list', verb: 'GET', path: '/policies/v1/policies', items: 'items', repeat: 'always' },
    delete: { kind: 'delete', verb: 'DELETE', path: '/policies/v1/policies/{uid}', repeat: 'always' },
    validatePolicy: { kind: 'request', verb: 'POST', path: '/policies/v1/policies/validate', body: true, repeat: 'always' },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Operation>>>>

export interface Services {
  /**
   * Manages groups, the tree that all other resources belong to. A root group is an organization, and every
   * resource belongs to one group. A role in a group applies to the group and all its descendants.
   */
  readonly groups: {
    /** Returns a group. Fails with NOT_FOUND if the group does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.Group>
    /**
     * Deletes an empty group. Fails with FAILED_PRECONDITION (`RESOURCE_NOT_EMPTY`) if the group contains
     * resources, and with NOT_FOUND if it does not exist.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /** Lists the groups that the caller can read. Sort keys: `uid`, `name`, `created_at`, `updated_at`. */
    list(request?: types.ListGroupsRequest, options?: CallOptions): Reply<types.ListGroupsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListGroupsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Group, void>
    /**
     * Creates a group in a parent group. If the parent is empty, creates an organization that the caller owns.
     * The operator can restrict who creates organizations.
     */
    create(parent: string, group: types.GroupInput, options?: CreateOptions): Reply<types.Group>
    /**
     * Updates a group and returns the result. A group cannot be moved to another parent. Renaming a group that
     * contains repos with policies, at any depth, also requires CAP_REPO_POLICIES_UPDATE.
     */
    update(uid: string, patch: Partial<types.GroupInput>, options?: UpdateOptions): Reply<types.Group>
    /**
     * Finds the verified organization whose name is the domain of the caller's email address. An address that
     * was verified by the identity provider of an organization finds only this organization. Fails with the
     * same NOT_FOUND if no organization matches, if the domain is blocked, and if the caller's sign-in is not
     * trusted for this lookup.
     */
    lookupGroup(request?: types.LookupGroupRequest, options?: ChangeOptions): Reply<types.LookupGroupResponse>
    /**
     * Asks the owners of the organization that matches the caller's email domain to give the caller access.
     * Fails with NOT_FOUND as LookupGroup does, and with RESOURCE_EXHAUSTED if repeated too soon.
     */
    requestGroupAccess(request: types.RequestGroupAccessRequest, options?: ChangeOptions): Reply<types.RequestGroupAccessResponse>
    /** Reports whether LookupGroup and RequestGroupAccess accept the caller's email domain. */
    checkEligibility(request?: types.CheckEligibilityRequest, options?: ChangeOptions): Reply<types.CheckEligibilityResponse>
  }
  /**
   * Manages identities: users who signed in, and workloads that authenticate with a token of another issuer
   * instead of a stored secret.
   */
  readonly identities: {
    /** Creates an identity in a group, with the rule that decides which external tokens can assume it. */
    create(parent: string, identity: types.IdentityInput, options?: CreateOptions): Reply<types.Identity>
    /** Returns an identity. Fails with NOT_FOUND if the identity does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.Identity>
    /**
     * Deletes an identity. Fails with FAILED_PRECONDITION (`RESOURCE_IN_USE`) if role bindings refer to it, and
     * with NOT_FOUND if it does not exist.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /** Updates an identity and returns the result. A changed rule applies from the next token exchange. */
    update(uid: string, patch: Partial<types.IdentityInput>, options?: UpdateOptions): Reply<types.Identity>
    /**
     * Lists the identities of the groups in which the caller can read identities. Sort keys: `uid`, `name`,
     * `created_at`, `updated_at`, and `expiration_time` of static keys.
     */
    list(request?: types.ListIdentitiesRequest, options?: CallOptions): Reply<types.ListIdentitiesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListIdentitiesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Identity, void>
    /**
     * Returns the UID for a user's issuer and subject, even before the first sign-in. This makes it possible to
     * grant roles in advance.
     */
    lookupIdentity(request: types.LookupIdentityRequest, options?: ChangeOptions): Reply<types.LookupIdentityResponse>
    /** Publishes details about the caller's own identity with an event. The values are not necessarily stored. */
    updateIdentityMetadata(request: types.UpdateIdentityMetadataRequest, options?: ChangeOptions): Reply<types.IdentityMetadata>
  }
  /**
   * Manages roles, which are named sets of capabilities. Managed roles are built in and never change; custom
   * roles belong to a group.
   */
  readonly roles: {
    /**
     * Returns a role. A caller who can read roles in any group can read managed roles. Fails with NOT_FOUND if
     * the role does not exist.
     */
    get(uid: string, options?: CallOptions): Reply<types.Role>
    /**
     * Lists the managed roles and the custom roles of the groups in which the caller can read roles. Sort keys:
     * `uid`, `name`, `created_at`, `updated_at`.
     */
    list(request?: types.ListRolesRequest, options?: CallOptions): Reply<types.ListRolesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRolesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Role, void>
    /**
     * Creates a custom role in a group. Fails with PERMISSION_DENIED if the role has a capability that the
     * caller does not have there.
     */
    create(parent: string, role: types.RoleInput, options?: CreateOptions): Reply<types.Role>
    /**
     * Updates a custom role for all identities that have it, and returns the result. Managed roles are
     * rejected, and so are capabilities that the caller does not have.
     */
    update(uid: string, patch: Partial<types.RoleInput>, options?: UpdateOptions): Reply<types.Role>
    /**
     * Deletes a custom role. Fails with FAILED_PRECONDITION (`RESOURCE_IN_USE`) if role bindings refer to it,
     * and with NOT_FOUND if it does not exist. Managed roles are rejected.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
  }
  /**
   * Manages role bindings, which give an identity a role in a group and all its descendants. Changes take
   * effect immediately.
   */
  readonly roleBindings: {
    /** Returns a binding. Fails with NOT_FOUND if the binding does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.RoleBinding>
    /**
     * Binds an identity to a role in a group. Fails with PERMISSION_DENIED if the role has a capability that
     * the caller does not have there, and with ALREADY_EXISTS if the same binding exists.
     */
    create(parent: string, roleBinding: types.RoleBindingInput, options?: CreateOptions): Reply<types.RoleBinding>
    /** Deletes a binding, and with it the identity's role. Fails with NOT_FOUND if the binding does not exist. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /** Lists the bindings of the groups in which the caller can read bindings. Sort keys: `uid`, `created_at`. */
    list(request?: types.ListRoleBindingsRequest, options?: CallOptions): Reply<types.ListRoleBindingsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRoleBindingsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.RoleBinding, void>
    /** Creates up to 25 bindings in one group, all or none. The rules of CreateRoleBinding apply to each. */
    batchCreate(request: types.BatchCreateRoleBindingsRequest, options?: CreateOptions): Reply<types.BatchCreateRoleBindingsResponse>
    /**
     * Updates the identity or the role of a binding and returns the result. The group cannot change. Fails with
     * PERMISSION_DENIED if the role has a capability that the caller does not have there.
     */
    update(uid: string, patch: Partial<types.RoleBindingInput>, options?: UpdateOptions): Reply<types.RoleBinding>
  }
  /**
   * Manages identity providers, through which the users of an organization sign in with the organization's own
   * accounts, and which can create and delete these accounts (SCIM).
   */
  readonly identityProviders: {
    /**
     * Lists the providers of the organizations in which the caller can read providers. Sort keys: `uid`,
     * `name`, `created_at`, `updated_at`.
     */
    list(request?: types.ListIdentityProvidersRequest, options?: CallOptions): Reply<types.ListIdentityProvidersResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListIdentityProvidersRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.IdentityProvider, void>
    /**
     * Returns a provider, including the state of its SCIM token. Fails with NOT_FOUND if the provider does not
     * exist.
     */
    get(uid: string, options?: CallOptions): Reply<types.IdentityProvider>
    /**
     * Creates a provider in an organization. Also requires the right to create role bindings, because all users
     * who sign in through it receive its default role. Fails with PERMISSION_DENIED if this role, or a user of
     * the issuer in the organization, has a capability that the caller does not have there.
     */
    create(parent: string, identityProvider: types.IdentityProviderInput, options?: CreateOptions): Reply<types.IdentityProvider>
    /**
     * Updates a provider and returns the result. Also requires the right to create role bindings, and fails as
     * CreateIdentityProvider does. Changing the issuer or the client ends the sessions that were created
     * through the provider.
     */
    update(uid: string, patch: Partial<types.IdentityProviderInput>, options?: UpdateOptions): Reply<types.IdentityProvider>
    /** Deletes a provider, after which no one can sign in through it. Fails with NOT_FOUND if it does not exist. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /**
     * Creates the first SCIM token of a provider and returns it, once. SCIM stays disabled until
     * SetScimEnabled. Fails with FAILED_PRECONDITION if a token was created before.
     */
    generateScimToken(request: types.GenerateScimTokenRequest, options?: ChangeOptions): Reply<types.GenerateScimTokenResponse>
    /**
     * Replaces the SCIM token and returns the new one, once. The old token can stay valid for a while. Fails
     * with NOT_FOUND if no token was ever created.
     */
    regenerateScimToken(request: types.RegenerateScimTokenRequest, options?: ChangeOptions): Reply<types.RegenerateScimTokenResponse>
    /**
     * Revokes the current SCIM token, and an older one that is still valid, immediately. Does not change
     * whether SCIM is enabled.
     */
    revokeScimToken(request: types.RevokeScimTokenRequest, options?: ChangeOptions): Reply<types.RevokeScimTokenResponse>
    /**
     * Enables or disables SCIM. Enabling fails with FAILED_PRECONDITION if the organization has fewer than two
     * owners bound by hand.
     */
    setScimEnabled(request: types.SetScimEnabledRequest, options?: ChangeOptions): Reply<types.SetScimEnabledResponse>
  }
  /**
   * Manages mappings, which give a role to all users that an identity provider reports as members of one of its
   * groups. A mapping cannot be updated; delete it and create another one.
   */
  readonly externalGroupRoleMappings: {
    /** Returns a mapping. Fails with NOT_FOUND if the mapping does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.ExternalGroupRoleMapping>
    /**
     * Creates a mapping for an identity provider. Also requires the right to create role bindings. Fails with
     * PERMISSION_DENIED if the role, or a user of the provider's issuer in the organization, has a capability
     * that the caller does not have there.
     */
    create(parent: string, externalGroupRoleMapping: types.ExternalGroupRoleMappingInput, options?: CreateOptions): Reply<types.ExternalGroupRoleMapping>
    /**
     * Deletes a mapping. Members of the group lose the role at their next sign-in or refresh. Fails with
     * NOT_FOUND if the mapping does not exist.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /**
     * Deletes several mappings of one identity provider in one transaction. Mappings that do not exist are
     * ignored. A mapping of another provider fails with INVALID_ARGUMENT and nothing is deleted.
     */
    batchDelete(request: types.BatchDeleteExternalGroupRoleMappingsRequest, options?: ChangeOptions): Reply<types.BatchDeleteExternalGroupRoleMappingsResponse>
    /**
     * Lists the mappings of the organizations in which the caller can read identity providers. Sort keys:
     * `uid`, `created_at`.
     */
    list(request?: types.ListExternalGroupRoleMappingsRequest, options?: CallOptions): Reply<types.ListExternalGroupRoleMappingsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListExternalGroupRoleMappingsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.ExternalGroupRoleMapping, void>
  }
  /**
   * Manages account associations, which link a group to its accounts at cloud providers and code hosts, so that
   * the platform can act there without stored secrets. A group has at most one association.
   */
  readonly accountAssociations: {
    /** Returns the association of a group. Fails with NOT_FOUND if the group has none. */
    get(uid: string, options?: CallOptions): Reply<types.AccountAssociation>
    /** Creates the association of a group. Fails with ALREADY_EXISTS if the group has one. */
    create(parent: string, accountAssociation: types.AccountAssociationInput, options?: CreateOptions): Reply<types.AccountAssociation>
    /** Deletes the association of a group. Fails with NOT_FOUND if the group has none. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /**
     * Lists the associations of the groups in which the caller can read associations. Sort keys: `group`,
     * `uid`, `name`, `created_at`, `updated_at`.
     */
    list(request?: types.ListAccountAssociationsRequest, options?: CallOptions): Reply<types.ListAccountAssociationsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAccountAssociationsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AccountAssociation, void>
    /** Updates the association of a group and returns the result. Fails with NOT_FOUND if the group has none. */
    update(uid: string, patch: Partial<types.AccountAssociationInput>, options?: UpdateOptions): Reply<types.AccountAssociation>
    /**
     * Checks whether the platform can obtain credentials at one cloud provider. An association that does not
     * work is reported in the response, not as an error.
     */
    checkAccountAssociation(request: types.CheckAccountAssociationRequest, options?: ChangeOptions): Reply<types.CheckAccountAssociationResponse>
  }
  /** Manages group invites. A user who accepts an invite with its code receives its role in the group. */
  readonly groupInvites: {
    /**
     * Creates an invite and returns its code and its link, once. If it is for an email address and the operator has
     * configured SMTP, Berth sends a link there. Also requires the right to create role bindings. Fails with
     * PERMISSION_DENIED if the role has a capability that the caller does not have in the group.
     */
    create(parent: string, groupInvite: types.GroupInviteInput, options?: CreateOptions): Reply<types.GroupInvite>
    /** Returns an invite, without its code. Fails with NOT_FOUND if the invite does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.GroupInvite>
    /** Deletes an invite. Its code stops working immediately. Fails with NOT_FOUND if the invite does not exist. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /**
     * Lists the invites of the groups in which the caller can read invites, including closed ones. Sort keys:
     * `created_at`, `uid`.
     */
    list(request?: types.ListGroupInvitesRequest, options?: CallOptions): Reply<types.ListGroupInvitesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListGroupInvitesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.GroupInvite, void>
    /**
     * Updates an open invite and returns the result, without the code, which does not change. Requires the same
     * rights as CreateGroupInvite, because the role can change. Fails with FAILED_PRECONDITION, type
     * INVITE_EXPIRED, if the invite is closed.
     */
    update(uid: string, patch: Partial<types.GroupInviteInput>, options?: UpdateOptions): Reply<types.GroupInvite>
  }
  /** Finds and accepts the group invites that a user has received. */
  readonly invitations: {
    /**
     * Accepts an invite: the caller's identity receives the role of the invite in its group. A caller who
     * signed in through an organization's identity provider has the role through this provider only, and the
     * binding reports it in `accepted_through`; an existing binding that did not apply to this provider applies
     * afterwards. An invite for an email address requires an address that is verified by a local account, by a
     * provider of the operator, or by an identity provider of the invite's organization. Fails with NOT_FOUND,
     * without the exact reason, if the code is wrong, expired, already used, meant for another email address,
     * or from another organization than the one that the caller's identity belongs to. Fails with
     * ALREADY_EXISTS if the caller already has the role there, and with FAILED_PRECONDITION, type ROLE_MISSING,
     * if the role was deleted; the invite then stays unchanged. A token that is restricted to scopes or
     * capabilities fails with PERMISSION_DENIED.
     */
    acceptGroupInvite(request: types.AcceptGroupInviteRequest, options?: ChangeOptions): Reply<types.AcceptGroupInviteResponse>
    /**
     * Finds the open invites for the verified email address of the caller, in all organizations: those that
     * AcceptReceivedInvite accepts. Expired invites, those of suspended organizations, and those whose role was
     * deleted are omitted, and so are invites for roles that the caller already has there. Returns none for a
     * caller without a verified address, such as a workload, and for a token that is restricted to scopes or
     * capabilities.
     */
    findReceivedInvites(request?: types.FindReceivedInvitesRequest, options?: CallOptions): Reply<types.FindReceivedInvitesResponse>
    /**
     * Accepts an invite for the verified email address of the caller, without its code. The result and the
     * errors are those of AcceptGroupInvite. An invite for anyone with the code fails with NOT_FOUND.
     */
    acceptReceivedInvite(request: types.AcceptReceivedInviteRequest, options?: ChangeOptions): Reply<types.AcceptReceivedInviteResponse>
  }
  /** Translates between UIDs of groups and paths of names. */
  readonly groupPaths: {
    /**
     * Finds groups that the caller can read, by UID or by path, and returns both. The path of a readable group
     * includes the names of its ancestors, which the caller may not be able to read otherwise. Groups that do
     * not exist or that the caller cannot read are omitted.
     */
    findGroupPaths(request?: types.FindGroupPathsRequest, options?: CallOptions): Reply<types.FindGroupPathsResponse>
  }
  /**
   * Reports who can do what in a group or a repo, and why. Roles in a group apply to all its descendants, so
   * each method considers the ancestors too: completely where the caller can read role bindings, and only as
   * counts elsewhere. Roles on the platform, which operators of the server have, are not included.
   *
   * Each method fails with NOT_FOUND if the group or repo does not exist.
   */
  readonly access: {
    /**
     * Finds the members of a group: one entry for each identity and role, with all sources of the role, and one
     * for each group of an identity provider that is mapped to a role. Ordered by name, then by UID.
     */
    findMembers(request: types.FindMembersRequest, options?: CallOptions): Reply<types.FindMembersResponse>
    /**
     * Lists the members that have a capability in a group or a repo, with the roles that give it, in the
     * order of FindMembers. Returns no members if the organization is suspended.
     */
    whoCan(request: types.WhoCanRequest, options?: CallOptions): Reply<types.WhoCanResponse>
    /**
     * Explains whether an identity has the capabilities for an action in a group or a repo, by the rules
     * that decide its requests. An identity that does not exist has no role.
     */
    explainAccess(request: types.ExplainAccessRequest, options?: CallOptions): Reply<types.ExplainAccessResponse>
    /**
     * Finds identities that can receive a role in a group, by a part of their name or email address: workloads
     * that the caller can read, and users who have a role in a group of the organization where the caller can
     * read role bindings. Returns at most 20, ordered by name.
     */
    findCandidates(request: types.FindCandidatesRequest, options?: CallOptions): Reply<types.FindCandidatesResponse>
    /**
     * Counts what uses each role in a group and its descendants. All that can use a custom role is in the group
     * of the role or in its descendants.
     */
    countRoleUses(request: types.CountRoleUsesRequest, options?: CallOptions): Reply<types.CountRoleUsesResponse>
  }
  /** Manages repos, which hold the images of a group. Images are pushed and pulled through the registry. */
  readonly repos: {
    /** Returns a repo. Fails with NOT_FOUND if the repo does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.Repo>
    /** Creates a repo in a group. Fails with ALREADY_EXISTS if the group has a repo with this name. */
    create(parent: string, repo: types.RepoInput, options?: CreateOptions): Reply<types.Repo>
    /**
     * Updates a repo and returns the result. Some fields can be changed by the operator only; for other
     * callers, changing them fails with PERMISSION_DENIED. Renaming a repo that has a policy also requires
     * CAP_REPO_POLICIES_UPDATE.
     */
    update(uid: string, patch: Partial<types.RepoInput>, options?: UpdateOptions): Reply<types.Repo>
    /**
     * Deletes a repo. Fails with FAILED_PRECONDITION (`RESOURCE_NOT_EMPTY`) if it has tags, and with NOT_FOUND
     * if it does not exist. Deleting a repo that has a policy also requires CAP_REPO_POLICIES_UPDATE, and
     * deletes the tags that the policy makes immutable if no other tags are left.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /**
     * Lists the repos of the groups in which the caller can read repos. Sort keys: `uid`, `name`, `created_at`,
     * `updated_at`.
     */
    list(request?: types.ListReposRequest, options?: CallOptions): Reply<types.ListReposResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListReposRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Repo, void>
    /** Returns the readme of a repo. A repo without a readme returns an empty one. */
    getRepoReadme(uid: string, options?: CallOptions): Reply<types.RepoReadme>
    /**
     * Replaces the readme of a repo. Requires the operator's rights. Fails with INVALID_ARGUMENT if the text
     * renders to unsafe HTML.
     */
    updateRepoReadme(uid: string, patch: Partial<types.RepoReadmeInput>, options?: UpdateOptions): Reply<types.RepoReadme>
  }
  /** Manages tags, which name the manifests of a repo. A tag points to one digest at a time and can be moved. */
  readonly tags: {
    /** Returns a tag. Fails with NOT_FOUND if the tag does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.Tag>
    /**
     * Lists the tags of the repos in which the caller can read tags. By default, tags that only machines use
     * are excluded. Sort keys: `uid`, `name`, `updated_at`.
     */
    list(request?: types.ListTagsRequest, options?: CallOptions): Reply<types.ListTagsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListTagsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Tag, void>
    /**
     * Creates a tag in a repo, or updates the tag with this name and keeps its UID. An update also requires
     * CAP_TAG_UPDATE. Values that do not change have no effect. Fails with NOT_FOUND if the repo does not
     * exist.
     */
    create(parent: string, tag: types.TagInput, options?: CreateOptions): Reply<types.Tag>
    /** Deletes a tag, but not the manifest that it points to. Fails with NOT_FOUND if the tag does not exist. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
  }
  /** Returns facts about images without pulling them. */
  readonly images: {
    /** Lists the architectures of an image index. Fails with NOT_FOUND if the repo does not contain the index. */
    getArchitectures(request: types.GetArchitecturesRequest, options?: CallOptions): Reply<types.Architectures>
    /**
     * Returns the size of an image for one architecture. Fails with NOT_FOUND if the repo does not contain the
     * index, or the index does not contain the architecture.
     */
    getSize(request: types.GetSizeRequest, options?: CallOptions): Reply<types.Size>
  }
  /** Summarizes repos: what they contain, who can pull from them, and whether they have a policy. */
  readonly repoSummaries: {
    /** Returns the summary of a repo. Fails with NOT_FOUND if the repo does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.RepoSummary>
    /**
     * Lists the summaries of the repos that the caller can see. Sort keys: `uid`, `name`, `stored_bytes`,
     * `last_push_time`, `created_at`, `updated_at`.
     */
    list(request?: types.ListRepoSummariesRequest, options?: CallOptions): Reply<types.ListRepoSummariesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRepoSummariesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.RepoSummary, void>
  }
  /** Reads and deletes manifests: images, indexes and artifacts of a repo. */
  readonly manifests: {
    /**
     * Lists the manifests of a repo. Sort keys: `push_time` and `digest`; the default order is `push_time desc`.
     * The filters `kind` and `platform` examine at most 1000 manifests in one call: a page can have few results,
     * or none, and a token for the next page. Fails with NOT_FOUND if the repo does not exist.
     */
    list(request?: types.ListManifestsRequest, options?: CallOptions): Reply<types.ListManifestsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListManifestsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Manifest, void>
    /**
     * Returns a manifest with its content: the entries of an index, the layers and the configuration of an
     * image. Fails with NOT_FOUND if the repo does not contain it.
     */
    get(request: types.GetManifestRequest, options?: CallOptions): Reply<types.Manifest>
    /**
     * Deletes a manifest with the tags that point to it (which also requires `tag.delete`), and the manifests
     * that nothing else needs: its referrers, the images of an index, and what is attached to them by tags
     * (`sha256-...`). At most 200 manifests are deleted with it; the rest stays untagged. Fails with
     * FAILED_PRECONDITION, type MANIFEST_IN_USE, if an index contains the manifest, type TAG_IMMUTABLE if a tag
     * is immutable, and type TOO_MANY_TAGS for more than 1000 tags. Does not delete blobs; garbage collection
     * does.
     */
    delete(request: types.DeleteManifestRequest, options?: ChangeOptions): Reply<types.DeleteManifestResponse>
    /**
     * Returns what DeleteUntaggedManifests would delete now and why it would keep the rest, without deleting
     * anything. Attached tags that would be deleted come first, ordered by name, then manifests, ordered by
     * digest. Fails with NOT_FOUND if the repo does not exist.
     */
    previewUntaggedManifests(request: types.PreviewUntaggedManifestsRequest, options?: CallOptions): Reply<types.PreviewUntaggedManifestsResponse>
    /**
     * Deletes manifests that were not pushed and did not lose a tag for some time, if no tag points to them, no
     * index references them and their subject does not exist, together with the mutable tags that are attached
     * to them (`sha256-...`). One call deletes at most 200 manifests; call it again until none remain. Does not
     * delete blobs; garbage collection does. Fails with NOT_FOUND if the repo does not exist.
     */
    deleteUntaggedManifests(request: types.DeleteUntaggedManifestsRequest, options?: ChangeOptions): Reply<types.DeleteUntaggedManifestsResponse>
  }
  /** Lists what refers to a manifest: signatures, SBOMs, attestations and other artifacts. */
  readonly referrers: {
    /**
     * Lists the manifests that refer to a digest by their subject, ordered by digest; before them those that are
     * attached by a tag (`sha256-...`), as older tools do. One level: referrers of referrers are listed by their
     * own digest. The subject does not have to exist. Fails with NOT_FOUND if the repo does not exist.
     */
    list(request?: types.ListReferrersRequest, options?: CallOptions): Reply<types.ListReferrersResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListReferrersRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Referrer, void>
  }
  /** Manages repo policies: which tags are immutable, and which are deleted automatically. */
  readonly repoPolicies: {
    /**
     * Returns the policy of a repo. A repo without a policy returns an empty one. Fails with NOT_FOUND if the
     * repo does not exist.
     */
    getRepoPolicy(uid: string, options?: CallOptions): Reply<types.RepoPolicy>
    /**
     * Updates the policy of a repo. Enabling retention, and changing its rules or the immutable tags while it
     * is enabled, deletes tags and manifests and also requires `tag.delete` and `manifest.delete`.
     */
    updateRepoPolicy(uid: string, patch: Partial<types.RepoPolicyInput>, options?: UpdateOptions): Reply<types.RepoPolicy>
    /**
     * Returns what retention would delete now and why it would keep the rest, without deleting anything. Works
     * with the stored policy, enabled or not, or with the rules in the request. Tags come first, ordered by
     * name, then manifests, ordered by digest.
     */
    previewRetention(request: types.PreviewRetentionRequest, options?: CallOptions): Reply<types.PreviewRetentionResponse>
    /**
     * Starts a retention run now and returns without waiting for it. Fails with FAILED_PRECONDITION if
     * retention is not enabled.
     */
    applyRetention(request: types.ApplyRetentionRequest, options?: ChangeOptions): Reply<types.RepoPolicy>
    /**
     * Lists the retention runs of repos in the groups in which the caller can read repos, latest first. A
     * scheduled run that deletes nothing is not recorded. Runs are stored for 90 days, the latest 200 of each
     * repo. Sort keys: `start_time`, `uid`.
     */
    listRetentionRuns(request?: types.ListRetentionRunsRequest, options?: CallOptions): Reply<types.ListRetentionRunsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allRetentionRuns(request?: Omit<types.ListRetentionRunsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.RepoRetentionRun, void>
  }
  /**
   * Reads advisories, which describe a vulnerability in one artifact: detected, fixed, not affected, and so on.
   * Advisories are written by importing documents and feeds.
   */
  readonly advisories: {
    /**
     * Returns an advisory by its UID, including deleted ones. Fails with NOT_FOUND if the advisory does not
     * exist.
     */
    get(uid: string, options?: CallOptions): Reply<types.Advisory>
    /**
     * Lists the advisories of the groups in which the caller can read advisories, without deleted ones. Sort
     * keys: `uid`, `advisory_id`, `artifact_name`, `component_name`, `created_at`, `updated_at`.
     */
    list(request?: types.ListAdvisoriesRequest, options?: CallOptions): Reply<types.ListAdvisoriesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAdvisoriesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Advisory, void>
  }
  /** Imports advisories from documents in published formats. */
  readonly advisoryDocuments: {
    /**
     * Imports documents and updates the advisories of a group to match them. Each document is imported
     * completely or not at all. A document that cannot be read is reported in its place and does not stop the
     * others. A document that was already imported has no effect.
     */
    importAdvisoryDocuments(request: types.ImportAdvisoryDocumentsRequest, options?: ChangeOptions): Reply<types.ImportAdvisoryDocumentsResponse>
    /**
     * Deletes documents, and marks as deleted the advisories that no other document contains. Each document is
     * deleted on its own; documents that do not exist are ignored.
     */
    deleteAdvisoryDocuments(request: types.DeleteAdvisoryDocumentsRequest, options?: ChangeOptions): Reply<types.DeleteAdvisoryDocumentsResponse>
    /**
     * Lists the documents of a group and the parts of them that advisories have no field for, ordered by format
     * and ID.
     */
    getAdvisoryDocuments(request: types.GetAdvisoryDocumentsRequest, options?: CallOptions): Reply<types.GetAdvisoryDocumentsResponse>
    /**
     * Lists the documents from which an advisory was created and the parts of them that advisories have no
     * field for, ordered by format and ID. Fails with NOT_FOUND if the advisory does not exist.
     */
    getAdvisorySources(request: types.GetAdvisorySourcesRequest, options?: CallOptions): Reply<types.GetAdvisorySourcesResponse>
  }
  /**
   * Manages feeds, which keep the advisories of a group up to date: the server polls a URL and imports each
   * document as ImportAdvisoryDocuments does.
   */
  readonly advisoryFeeds: {
    /**
     * Creates a feed in a group and starts its first run immediately. Fails with ALREADY_EXISTS if the group
     * has a feed with the same URL.
     */
    create(parent: string, advisoryFeed: types.AdvisoryFeedInput, options?: CreateOptions): Reply<types.AdvisoryFeed>
    /** Returns a feed, with the result of its last run. Fails with NOT_FOUND if the feed does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.AdvisoryFeed>
    /**
     * Lists the feeds of the groups in which the caller can read advisories. Sort keys: `uid`, `url`,
     * `create_time`, `update_time`.
     */
    list(request?: types.ListAdvisoryFeedsRequest, options?: CallOptions): Reply<types.ListAdvisoryFeedsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAdvisoryFeedsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AdvisoryFeed, void>
    /**
     * Updates the interval, the format or the paused state of a feed. The URL cannot change; create another
     * feed instead.
     */
    update(uid: string, patch: Partial<types.AdvisoryFeedInput>, options?: UpdateOptions): Reply<types.AdvisoryFeed>
    /**
     * Deletes a feed. A run in progress stops after the current document. Imported advisories are kept. Fails
     * with NOT_FOUND if the feed does not exist.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /**
     * Starts a run of a feed now, regardless of its interval and earlier failures, and returns without waiting
     * for it. Fails with FAILED_PRECONDITION if the feed is paused.
     */
    syncAdvisoryFeed(request: types.SyncAdvisoryFeedRequest, options?: ChangeOptions): Reply<types.AdvisoryFeed>
    /**
     * Lists the runs of feeds in the groups in which the caller can read advisories, latest first. A scheduled
     * run that finds its file unchanged is not recorded. Runs are stored for 90 days, the latest 200 of each
     * feed. Sort keys: `start_time`, `uid`.
     */
    listAdvisoryFeedRuns(request?: types.ListAdvisoryFeedRunsRequest, options?: CallOptions): Reply<types.ListAdvisoryFeedRunsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allAdvisoryFeedRuns(request?: Omit<types.ListAdvisoryFeedRunsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AdvisoryFeedRun, void>
  }
  /**
   * Manages publications: the advisories of a group in formats for scanners, at `/vulnerabilities/feeds/`.
   * Every group has one publication, which has the UID of the group and covers all its descendants.
   */
  readonly advisoryPublications: {
    /** Returns the publication of a group. */
    getAdvisoryPublication(uid: string, options?: CallOptions): Reply<types.AdvisoryPublication>
    /** Updates the publication of a group and returns the result. */
    updateAdvisoryPublication(uid: string, patch: Partial<types.AdvisoryPublicationInput>, options?: UpdateOptions): Reply<types.AdvisoryPublication>
  }
  /** Checks whether the platform is reachable. */
  readonly ping: {
    /** Returns a greeting. Requires no authentication. */
    ping(request?: types.PingRequest, options?: ChangeOptions): Reply<types.PingResponse>
  }
  /**
   * Exchanges tokens of other issuers for tokens of this platform, so that workloads need no stored secrets.
   * The token to exchange is the bearer token of the call, never a parameter.
   */
  readonly securityToken: {
    /**
     * Exchanges the bearer token for a platform token that is valid for one hour. Fails with UNAUTHENTICATED if
     * the bearer token is not valid, with PERMISSION_DENIED if it does not match the identity, and with
     * INVALID_ARGUMENT if no audience is given. Over HTTP, parameters are sent as a query string or a form.
     */
    exchange(request?: types.ExchangeRequest, options?: ChangeOptions): Reply<types.RawToken>
    /**
     * Exchanges a refresh token, sent as the bearer token, for a new platform token and a new refresh token.
     * The old refresh token becomes invalid. Fails with UNAUTHENTICATED if the refresh token is not valid.
     */
    exchangeRefreshToken(request?: types.ExchangeRefreshTokenRequest, options?: ChangeOptions): Reply<types.TokenPair>
  }
  /** Manages the caller's own identity and tokens: validation, registration, headless sign-in and deletion. */
  readonly auth: {
    /**
     * Returns the identity of the bearer token and what the token permits. Fails with UNAUTHENTICATED if it is
     * not a valid token of this platform.
     */
    validate(request?: Readonly<Record<string, never>>, options?: CallOptions): Reply<types.WhoAmI>
    /**
     * Registers a user who signs in with another issuer. The bearer token is the user's ID token, from a
     * provider that users sign in with here; any other token fails with UNAUTHENTICATED, and so does a token
     * whose issuer and client belong to the identity providers of several organizations. A registered user
     * stays unchanged. With an invite code, the user also joins its group; a code that is wrong, expired,
     * already used or meant for another email address fails with NOT_FOUND, and nothing is created.
     */
    register(request?: types.RegistrationRequest, options?: ChangeOptions): Reply<types.Session>
    /**
     * Returns the token that a user with a browser left for a client without one, encrypted to the client's
     * key. Fails with NOT_FOUND before the user has signed in, and after the token has been fetched.
     */
    getHeadlessSession(request: types.GetHeadlessSessionRequest, options?: ChangeOptions): Reply<types.HeadlessSession>
    /**
     * Deletes the caller's own identity with its role bindings, its sessions, and its local account and
     * passkeys. Fails with PERMISSION_DENIED for another identity, for an identity that belongs to a group, for
     * a restricted token, and for a sign-in through an organization's identity provider that did not register
     * the caller. Fails with FAILED_PRECONDITION, type RESOURCE_IN_USE, for an administrator of this platform.
     */
    delete(request: types.DeletionRequest, options?: ChangeOptions): Reply<void>
  }
  /** Explains to administrators of an identity why a token can or cannot assume it. */
  readonly explain: {
    /**
     * Evaluates a token against an identity without issuing a token, and returns the result of each condition
     * in the order in which an exchange checks them. As an exchange does, it may fetch keys from the issuer
     * that the identity trusts, or ask AWS who signed a request. Fails with NOT_FOUND if the identity does not
     * exist.
     */
    explainExchange(request: types.ExplainExchangeRequest, options?: CallOptions): Reply<types.ExplainExchangeResponse>
  }
  /**
   * Reads the audit log: changes, denied calls and issued tokens. The server writes the events; they never
   * change.
   */
  readonly audit: {
    /** Lists the events for resources in the groups whose events the caller can read. Sort key: `created_at`. */
    list(request?: types.ListAuditEventsRequest, options?: CallOptions): Reply<types.ListAuditEventsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAuditEventsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AuditEvent, void>
    /** Returns an event. Fails with NOT_FOUND if the event does not exist or was deleted. */
    get(uid: string, options?: CallOptions): Reply<types.AuditEvent>
  }
  /** Finds resources of all kinds by name or identifier, and the names of known identifiers. */
  readonly search: {
    /**
     * Searches the resources that the caller can list. A kind whose list the caller may not read is omitted.
     * Names match by prefix, or by the prefix of a word inside the name (`web` matches `team-web`). A resource is
     * also found by its UID, a tag by `repository:tag`, a manifest by at least 7 digits of its digest, and an
     * advisory by a CVE, GHSA or CGA ID, or by the name of a package. Results are ordered by match (whole name,
     * prefix, prefix of a word) and then by update time, the latest first.
     */
    searchResources(request: types.SearchResourcesRequest, options?: CallOptions): Reply<types.SearchResourcesResponse>
    /**
     * Returns the names of resources by UID. Resources that do not exist or that the caller cannot list are
     * omitted. A user is also returned to callers who can list a role binding of the user.
     */
    lookupResources(request: types.LookupResourcesRequest, options?: CallOptions): Reply<types.LookupResourcesResponse>
  }
  /** Manages the users of the installation and their local accounts. For operators only. */
  readonly operatorAccounts: {
    /** Lists users, ordered by email address: those with a local account, and those of identity providers. */
    list(request?: types.ListAccountsRequest, options?: CallOptions): Reply<types.ListAccountsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAccountsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.OperatorAccount, void>
    /**
     * Creates a local account and returns a link with which its user chooses a password. Fails with
     * ALREADY_EXISTS if an account has the email address. Requires a sign-in in the last 15 minutes:
     * otherwise, fails with FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    createAccount(request: types.CreateAccountRequest, options?: ChangeOptions): Reply<types.AccountLink>
    /**
     * Removes the password of a local account, ends its sessions, and returns a link with which its user
     * chooses a new password. Requires a sign-in in the last 15 minutes: otherwise, fails with
     * FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    resetAccountPassword(request: types.ResetAccountPasswordRequest, options?: ChangeOptions): Reply<types.AccountLink>
    /**
     * Suspends a local account and ends its sessions. Its user cannot sign in until it is activated. Requires
     * a sign-in in the last 15 minutes: otherwise, fails with FAILED_PRECONDITION, type
     * `RECENT_SIGN_IN_REQUIRED`.
     */
    suspendAccount(request: types.SuspendAccountRequest, options?: ChangeOptions): Reply<types.OperatorAccount>
    /**
     * Activates a suspended local account. Requires a sign-in in the last 15 minutes: otherwise, fails with
     * FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    activateAccount(request: types.ActivateAccountRequest, options?: ChangeOptions): Reply<types.OperatorAccount>
    /**
     * Deletes a local account, its identity and all its access. The identity of the first owner is kept,
     * without an account. Fails with NOT_FOUND if the account does not exist. Requires a sign-in in the last
     * 15 minutes: otherwise, fails with FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    deleteAccount(uid: string, options?: ChangeOptions): Reply<void>
  }
  /** Shows background work and the queue of emails. For operators only. */
  readonly operatorJobs: {
    /** Lists the kinds of background jobs with their running jobs and last results, ordered by name. */
    list(request?: types.ListJobsRequest, options?: CallOptions): Reply<types.ListJobsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListJobsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.BackgroundJob, void>
    /**
     * Lists emails that wait, were sent or failed, the newest 1000. Recipients are encrypted and not
     * returned.
     */
    listMails(request?: types.ListMailsRequest, options?: CallOptions): Reply<types.ListMailsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allMails(request?: Omit<types.ListMailsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Mail, void>
    /**
     * Lists the runs of feeds, retention, garbage collection and scrub in all organizations, latest first.
     * Scheduled runs of feeds and of retention that change nothing are not recorded.
     */
    listJobRuns(request?: types.ListJobRunsRequest, options?: CallOptions): Reply<types.ListJobRunsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allJobRuns(request?: Omit<types.ListJobRunsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.RecordedJobRun, void>
  }
  /** Shows the servers of the installation and checks its setup. For operators only. */
  readonly operatorNodes: {
    /**
     * Lists the nodes: the server processes that use this database. A node that ended without unregistering
     * is listed for 10 minutes.
     */
    list(request?: types.ListNodesRequest, options?: CallOptions): Reply<types.ListNodesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListNodesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.ServerNode, void>
    /**
     * Checks the configuration, database, blob store, keys, clock, disk and addresses of the node that
     * receives the call, as `berth admin check` does. Stores an object in the bucket, if there is one, and
     * deletes it. Fails with ABORTED while another check runs on the node.
     */
    checkInstallation(request?: types.CheckInstallationRequest, options?: ChangeOptions): Reply<types.CheckInstallationResponse>
  }
  /** Manages the organizations of the installation as a whole. For operators only. */
  readonly operatorOrganizations: {
    /** Lists organizations with their owners, usage and limits, ordered by name. */
    list(request?: types.ListOrganizationsRequest, options?: CallOptions): Reply<types.ListOrganizationsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListOrganizationsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.OperatorOrganization, void>
    /**
     * Suspends an organization: its members lose access until it is activated. Its data is kept. Requires a
     * sign-in in the last 15 minutes: otherwise, fails with FAILED_PRECONDITION, type
     * `RECENT_SIGN_IN_REQUIRED`.
     */
    suspendOrganization(request: types.SuspendOrganizationRequest, options?: ChangeOptions): Reply<types.OperatorOrganization>
    /**
     * Activates a suspended organization. Requires a sign-in in the last 15 minutes: otherwise, fails with
     * FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    activateOrganization(request: types.ActivateOrganizationRequest, options?: ChangeOptions): Reply<types.OperatorOrganization>
    /**
     * Sets and removes limits of an organization. Limits that are not named stay as they are. Requires a
     * sign-in in the last 15 minutes: otherwise, fails with FAILED_PRECONDITION, type
     * `RECENT_SIGN_IN_REQUIRED`.
     */
    setOrganizationLimits(request: types.SetOrganizationLimitsRequest, options?: ChangeOptions): Reply<types.OperatorOrganization>
  }
  /** Lists and ends sessions of users. For operators only. */
  readonly operatorSessions: {
    /** Lists active sessions, most recently used first. */
    list(request?: types.ListSessionsRequest, options?: CallOptions): Reply<types.ListSessionsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListSessionsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.OperatorSession, void>
    /**
     * Ends a session and its tokens. Fails with NOT_FOUND if the session does not exist. Requires a sign-in
     * in the last 15 minutes: otherwise, fails with FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    endSession(request: types.EndSessionRequest, options?: ChangeOptions): Reply<void>
    /**
     * Ends all sessions of an identity and their tokens. Returns their number. Requires a sign-in in the last
     * 15 minutes: otherwise, fails with FAILED_PRECONDITION, type `RECENT_SIGN_IN_REQUIRED`.
     */
    endIdentitySessions(request: types.EndIdentitySessionsRequest, options?: ChangeOptions): Reply<types.EndIdentitySessionsResponse>
  }
  /** Lists and rotates the keys that sign tokens. For operators only. */
  readonly operatorSigningKeys: {
    /** Lists the published signing keys, the oldest first. */
    list(request?: types.ListSigningKeysRequest, options?: CallOptions): Reply<types.ListSigningKeysResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListSigningKeysRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.SigningKey, void>
    /**
     * Publishes a new signing key that signs after one hour, unless there is one. Existing tokens stay valid.
     * Requires a sign-in in the last 15 minutes: otherwise, fails with FAILED_PRECONDITION, type
     * `RECENT_SIGN_IN_REQUIRED`.
     */
    rotateSigningKeys(request?: types.RotateSigningKeysRequest, options?: ChangeOptions): Reply<types.ListSigningKeysResponse>
  }
  /** Shows stored data, and runs garbage collection and scrub. For operators only. */
  readonly operatorStorage: {
    /** Returns free disk space, usage, and when garbage collection runs. */
    getStorageStatus(request?: types.GetStorageStatusRequest, options?: CallOptions): Reply<types.StorageStatus>
    /** Lists runs of garbage collection and scrub, the newest first. The last 50 of each kind are kept. */
    list(request?: types.ListStorageRunsRequest, options?: CallOptions): Reply<types.ListStorageRunsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListStorageRunsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.StorageRun, void>
    /** Returns a run with its findings. Fails with NOT_FOUND if the run does not exist. */
    get(request: types.GetStorageRunRequest, options?: CallOptions): Reply<types.StorageRun>
    /**
     * Starts a run on the node that receives the call, and returns without waiting for it. Fails with
     * FAILED_PRECONDITION, type `RUN_IN_PROGRESS`, if a run of this kind is in progress in the installation.
     */
    startStorageRun(request: types.StartStorageRunRequest, options?: ChangeOptions): Reply<types.StorageRun>
    /**
     * Cancels a run. It ends after its current batch, within a few seconds; what it has done stays. Fails
     * with FAILED_PRECONDITION, type `RUN_ENDED`, if the run has ended.
     */
    cancelStorageRun(request: types.CancelStorageRunRequest, options?: ChangeOptions): Reply<types.StorageRun>
  }
  /**
   * Returns which packages images contain. The server reads every pushed image in the background: by the SBOMs that
   * are attached to it, else by its layers. References are digests, or tags.
   */
  readonly imageContents: {
    /**
     * Returns whether an image was read, and a summary of what it contains. Fails with NOT_FOUND if the repo or the
     * manifest does not exist, and if an index has no image for the platform.
     */
    getImageContents(request: types.GetImageContentsRequest, options?: CallOptions): Reply<types.ImageContents>
    /**
     * Lists the packages of an image. Sort keys: `name`, `type`. Fails with NOT_FOUND if the manifest does not exist, and
     * with FAILED_PRECONDITION, type IMAGE_NOT_READ, if the image was not read yet or could not be read.
     */
    list(request?: types.ListImagePackagesRequest, options?: CallOptions): Reply<types.ListImagePackagesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListImagePackagesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.ImagePackage, void>
    /**
     * Returns an SBOM of an image: as it was given, or written from the packages that were read. Fails with NOT_FOUND if
     * the manifest does not exist or no SBOM was given, and with FAILED_PRECONDITION, type IMAGE_NOT_READ, if the image was
     * not read yet or could not be read.
     */
    getImageSbom(request: types.GetImageSbomRequest, options?: CallOptions): Reply<types.ImageSbom>
    /**
     * Compares the packages of two images: what the second one adds, removes and changes. Fails with NOT_FOUND if one of
     * them does not exist, and with FAILED_PRECONDITION, type IMAGE_NOT_READ, if one was not read.
     */
    compareImagePackages(request: types.CompareImagePackagesRequest, options?: CallOptions): Reply<types.CompareImagePackagesResponse>
    /**
     * Reads an image again in the background. What is known stays until then. Fails with NOT_FOUND if the manifest does
     * not exist.
     */
    readImageAgain(request: types.ReadImageAgainRequest, options?: ChangeOptions): Reply<types.ImageContents>
  }
  /** Finds images by the packages that they contain. */
  readonly packageImages: {
    /** Lists the images below a group that contain a package, ordered by repo and digest. */
    list(request?: types.ListPackageImagesRequest, options?: CallOptions): Reply<types.ListPackageImagesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListPackageImagesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.PackageImage, void>
  }
  /**
   * Copies images between the repos of one installation. No blob is transferred: the destination links what the
   * source has.
   */
  readonly imageCopies: {
    /**
     * Copies an image to a repo: a tag or a digest, an index with all of its platforms, and optionally its
     * signatures, SBOMs and attestations. The destination has the result of a push: its policy, the quotas of its
     * organization and the limits of a push apply, and the source is read as by a pull, with its policies. An
     * image that exists already is not changed, so an interrupted copy can be repeated. A copy that exceeds a quota
     * fails with RESOURCE_EXHAUSTED before anything is written.
     *
     * Also requires the capabilities of a pull in the source (`manifest.list` and `repo.blobs.get`, and
     * `referrers.list` with `include_referrers`), and for a tag `tag.create`, and `tag.update` if it is moved.
     * Fails with NOT_FOUND if a repo or the image does not exist, with ALREADY_EXISTS if the tag points to
     * another digest and `overwrite` is not set, and with FAILED_PRECONDITION, type TAG_IMMUTABLE, if the policy
     * of the destination protects it, type BLOB_MISSING if the source lacks a layer, and type TOO_MANY_MANIFESTS
     * for an image with more than 200 manifests, including referrers.
     */
    copyImage(request: types.CopyImageRequest, options?: ChangeOptions): Reply<types.CopyImageResponse>
  }
  /** Describes the tags of one repo with what they point to, and deletes several of them. */
  readonly repoTags: {
    /**
     * Lists the tags of a repo with the properties of their manifests. By default, tags that only machines use
     * are excluded. Sort keys: `name`, `updated_at`. Fails with NOT_FOUND if the repo does not exist.
     */
    list(request?: types.ListRepoTagsRequest, options?: CallOptions): Reply<types.ListRepoTagsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRepoTagsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.TagDetails, void>
    /** Returns a tag with the properties of its manifest. Fails with NOT_FOUND if the tag does not exist. */
    get(request: types.GetTagDetailsRequest, options?: CallOptions): Reply<types.TagDetails>
    /**
     * Returns what DeleteRepoTags would delete, and which manifests would lose their last tag, without deleting
     * anything. Tags that do not exist are omitted. Fails with NOT_FOUND if the repo does not exist.
     */
    previewTagDeletion(request: types.PreviewTagDeletionRequest, options?: CallOptions): Reply<types.PreviewTagDeletionResponse>
    /**
     * Deletes tags of a repo in one transaction: all of them, or none. Manifests are kept. Tags that do not
     * exist are skipped. Fails with FAILED_PRECONDITION, type TAG_IMMUTABLE, if the policy of the repo protects
     * one of them.
     */
    delete(request: types.DeleteRepoTagsRequest, options?: ChangeOptions): Reply<types.DeleteRepoTagsResponse>
  }
  /**
   * Manages signature verifiers: the keys, certificate authorities and identities whose signatures of images a
   * group trusts.
   */
  readonly signatureVerifiers: {
    /**
     * Creates a verifier in a group. It applies to the repos of the group and of all groups below it. Fails with
     * ALREADY_EXISTS if the group has a verifier with the same name.
     */
    create(parent: string, signatureVerifier: types.SignatureVerifierInput, options?: CreateOptions): Reply<types.SignatureVerifier>
    /** Returns a verifier. Fails with NOT_FOUND if it does not exist. */
    get(uid: string, options?: CallOptions): Reply<types.SignatureVerifier>
    /**
     * Lists the verifiers of the groups in which the caller can read them. Sort keys: `uid`, `name`,
     * `create_time`, `update_time`.
     */
    list(request?: types.ListSignatureVerifiersRequest, options?: CallOptions): Reply<types.ListSignatureVerifiersResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListSignatureVerifiersRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.SignatureVerifier, void>
    /** Updates a verifier. Signatures are verified again when they are read next. */
    update(uid: string, patch: Partial<types.SignatureVerifierInput>, options?: UpdateOptions): Reply<types.SignatureVerifier>
    /**
     * Deletes a verifier. Signatures that only it verified become untrusted. Fails with NOT_FOUND if it does not
     * exist.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
  }
  /** Verifies the signatures of images with the signature verifiers of their groups. */
  readonly signatures: {
    /**
     * Verifies the signatures of an image: those of cosign and of sigstore bundles, and those of Notation. The
     * result is stored, and computed again after the signatures of the image or the verifiers change. Signatures
     * of an index do not count for its platform images, nor the reverse. Fails with NOT_FOUND if the repo, the tag
     * or the manifest does not exist.
     */
    getImageSignatures(request: types.GetImageSignaturesRequest, options?: CallOptions): Reply<types.ImageSignatures>
  }
  /** Shows what a tag has pointed to, and moves it back. */
  readonly tagHistory: {
    /**
     * Lists the digests that a tag has pointed to, latest first. The latest 1000 are stored. Fails with
     * NOT_FOUND if the tag does not exist.
     */
    list(request?: types.ListTagHistoryRequest, options?: CallOptions): Reply<types.ListTagHistoryResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListTagHistoryRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.TagHistoryEntry, void>
    /**
     * Points an existing tag to another manifest of its repo, for example to one of its history. The tag keeps
     * its other fields. Fails with FAILED_PRECONDITION, type MANIFEST_NOT_IN_REPO, if the repo does not have the
     * manifest, and type TAG_IMMUTABLE if the policy of the repo protects the tag.
     */
    moveTag(request: types.MoveTagRequest, options?: ChangeOptions): Reply<types.Tag>
  }
  /** Reports what organizations, folders and repos use, now and over time. */
  readonly usage: {
    /**
     * Returns the number of resources and the stored bytes of an organization or folder, with the limits of
     * the organization. Fails with NOT_FOUND if the group does not exist.
     */
    getUsage(request: types.GetUsageRequest, options?: CallOptions): Reply<types.Usage>
    /**
     * Returns what an organization used on each day, the oldest day first. A day without a record is omitted.
     * Levels are recorded every hour, the last ones of a day remain. Days are deleted after 400 days. Fails
     * with NOT_FOUND if the organization does not exist, and with INVALID_ARGUMENT if the UID is one of a
     * folder.
     */
    getUsageHistory(request: types.GetUsageHistoryRequest, options?: CallOptions): Reply<types.GetUsageHistoryResponse>
    /**
     * Returns the pulls and pushes of a repo on each day, the oldest day first. A day without any is omitted. Days
     * are deleted after 400 days. Fails with NOT_FOUND if the repo does not exist.
     */
    getRepoUsageHistory(request: types.GetRepoUsageHistoryRequest, options?: CallOptions): Reply<types.GetRepoUsageHistoryResponse>
    /**
     * Returns the repos of an organization or folder with the most pulls or pushes in a period. Repos without any
     * are omitted. Fails with NOT_FOUND if the group does not exist.
     */
    getTopRepos(request: types.GetTopReposRequest, options?: CallOptions): Reply<types.GetTopReposResponse>
  }
  /**
   * Reports which repos are public. A group, and everything in it, is public if a role binding of the anonymous
   * identity grants the capabilities to pull there: create the binding to publish the group, and delete it to
   * make the group private.
   */
  readonly visibility: {
    /**
     * Returns whether anyone can pull from a repo, or from all repos of a group, without a token, and why.
     * Fails with NOT_FOUND if it does not exist.
     */
    getVisibility(request: types.GetVisibilityRequest, options?: CallOptions): Reply<types.Visibility>
  }
  /**
   * Counts the vulnerabilities of groups, repos and tags: of the images that have a tag, by themselves or in an
   * index. Other images can be pulled by digest only, and do not count.
   */
  readonly findingSummaries: {
    /** Returns the number of vulnerabilities in a group, a folder or a repo. */
    get(request: types.GetFindingSummaryRequest, options?: CallOptions): Reply<types.FindingSummary>
    /** Lists the repos in a group or folder with the number of their vulnerabilities, ordered by UID. */
    list(request?: types.ListRepoFindingSummariesRequest, options?: CallOptions): Reply<types.ListRepoFindingSummariesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRepoFindingSummariesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.FindingSummary, void>
    /**
     * Lists the tags of a repo with the number of their vulnerabilities, ordered by name. With a vulnerability,
     * each tag has its findings of it: a tag that is read and matched and has none does not contain it, or
     * contains a version with the fix. Fails with NOT_FOUND if the repo does not exist.
     */
    listTagFindingSummaries(request?: types.ListTagFindingSummariesRequest, options?: CallOptions): Reply<types.ListTagFindingSummariesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allTagFindingSummaries(request?: Omit<types.ListTagFindingSummariesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.TagFindingSummary, void>
    /**
     * Lists how many findings the image of a tag had over time, latest first: each entry applies until the next
     * one. An entry is added about 10 seconds after the tag moved, or after advisories or VEX documents changed
     * its findings. Of a day more than 7 days ago, only the last entry is kept; entries of more than 400 days ago, and
     * all but the latest 1000, are deleted. Fails with NOT_FOUND if the repo or the tag does not exist.
     */
    listTagFindingHistory(request?: types.ListTagFindingHistoryRequest, options?: CallOptions): Reply<types.ListTagFindingHistoryResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allTagFindingHistory(request?: Omit<types.ListTagFindingHistoryRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.TagFindingHistoryEntry, void>
    /**
     * Lists how many vulnerabilities a group, a folder or a repo had over time, latest first: each entry applies until
     * the next one. An entry of a repo is added about 20 seconds after the findings of its tags changed, that of a group
     * about 10 minutes after. Of each hour, only the last entry is kept, and of a day more than 7 days ago, the last of
     * this day; entries of more than 400 days ago are deleted. Fails with NOT_FOUND if there is no such group or repo.
     */
    listFindingSummaryHistory(request?: types.ListFindingSummaryHistoryRequest, options?: CallOptions): Reply<types.ListFindingSummaryHistoryResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allFindingSummaryHistory(request?: Omit<types.ListFindingSummaryHistoryRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.FindingSummaryHistoryEntry, void>
  }
  /**
   * Reports the vulnerabilities of images: the packages that they contain, matched with the advisories of their
   * organization. Packages and advisories are matched in the background, mostly within a second.
   */
  readonly findings: {
    /**
     * Lists the vulnerabilities of an image, by default ordered by ID and package, with counts and with what is
     * not covered. An image without findings has no known vulnerability only if it is read, matched and covered. Of
     * an index, the findings of all its images. Fails with NOT_FOUND if the repo does not have the image, and with
     * FAILED_PRECONDITION, type CATALOG_MISSING, for a filter by exploitation without the catalog that it needs.
     */
    list(request?: types.ListImageFindingsRequest, options?: CallOptions): Reply<types.ListImageFindingsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListImageFindingsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Finding, void>
    /**
     * Compares the vulnerabilities of two images of a repo. Fails with NOT_FOUND if the repo does not have one
     * of them, and with FAILED_PRECONDITION, type IMAGE_NOT_READ or IMAGE_NOT_MATCHED, if the packages of one are
     * not known or not matched with advisories yet.
     */
    compareImageFindings(request: types.CompareImageFindingsRequest, options?: CallOptions): Reply<types.ImageFindingsDifference>
    /**
     * Returns the vulnerabilities of an image as a report for other tools, with why packages are not affected and
     * with what is not covered. Fails with NOT_FOUND if the manifest does not exist, and with FAILED_PRECONDITION,
     * type IMAGE_NOT_READ or IMAGE_NOT_MATCHED, if its packages are not known or not matched with advisories yet.
     */
    getImageReport(request: types.GetImageReportRequest, options?: CallOptions): Reply<types.ImageReport>
  }
  /** Finds images by their vulnerabilities. */
  readonly affectedImages: {
    /** Lists the images in a group, a folder or a repo with a vulnerability, one for each package that has it. */
    list(request?: types.ListAffectedImagesRequest, options?: CallOptions): Reply<types.ListAffectedImagesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAffectedImagesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AffectedImage, void>
  }
  /**
   * Reads the reports of other scanners that are attached to images: SARIF, the JSON of grype and trivy, CycloneDX with
   * vulnerabilities, and attestations that contain them. They are read with the image, mostly within a second.
   * Signatures are not verified.
   */
  readonly scannerReports: {
    /**
     * Lists the reports that are attached to an image, the latest first: at most 20 are stored. Fails with NOT_FOUND if
     * the repo does not have the image.
     */
    list(request?: types.ListImageScannerReportsRequest, options?: CallOptions): Reply<types.ListImageScannerReportsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListImageScannerReportsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.ScannerReport, void>
    /**
     * Lists the findings of the latest report of a scanner, the most severe first. Fails with NOT_FOUND if no report of
     * this scanner is attached to the image.
     */
    listScannerReportFindings(request?: types.ListScannerReportFindingsRequest, options?: CallOptions): Reply<types.ListScannerReportFindingsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    allScannerReportFindings(request?: Omit<types.ListScannerReportFindingsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.ScannerFinding, void>
    /**
     * Compares the latest report of a scanner with the vulnerabilities that this server finds in the image. Fails with
     * NOT_FOUND if no report of this scanner is attached to the image.
     */
    compareScannerReport(request: types.CompareScannerReportRequest, options?: CallOptions): Reply<types.ScannerReportComparison>
  }
  /** Counts advisories. */
  readonly advisorySummaries: {
    /**
     * Counts the advisories of a group and its descendants by state, severity and month. Counts by state are
     * exact. Severities are counted in the background after a change: the response has the last complete count
     * and its time.
     */
    getAdvisorySummary(request: types.GetAdvisorySummaryRequest, options?: CallOptions): Reply<types.AdvisorySummary>
  }
  /** Finds vulnerabilities by what imported documents say about them, in words. */
  readonly vulnerabilityRecords: {
    /**
     * Lists what the documents in a group and everything below it say about vulnerabilities: a record for each
     * document and vulnerability. Documents that were imported before version 0.7 have records when they are imported
     * again, which feeds do by themselves.
     */
    list(request?: types.ListVulnerabilityRecordsRequest, options?: CallOptions): Reply<types.ListVulnerabilityRecordsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListVulnerabilityRecordsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.VulnerabilityRecord, void>
  }
  /**
   * Manages bindings, which apply a policy to the images of a group and of all groups and repos in it, or to
   * the images of one repo.
   */
  readonly bindings: {
    /**
     * Applies a policy to a group or repo. The policy must be a system policy, or a custom policy of the group
     * or of a group above it.
     */
    create(parent: string, binding: types.BindingInput, options?: CreateOptions): Reply<types.Binding>
    /** Replaces the mode, resource types and parameters of a binding. The policy cannot change. */
    update(request?: types.BindingInput, options?: ChangeOptions): Reply<types.Binding>
    /** Lists the bindings of the groups and repos in which the caller can read bindings. */
    list(request?: types.BindingFilter, options?: CallOptions): Reply<types.BindingList>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.BindingFilter, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Binding, void>
    /** Deletes a binding: its policy no longer applies there. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
  }
  /** Lists decisions of policies about pulls. */
  readonly decisions: {
    /**
     * Lists the decisions about pulls from the repos in which the caller can read decisions. Equal decisions of
     * one day are recorded once, within a few seconds, and deleted after 90 days.
     */
    list(request?: types.DecisionFilter, options?: CallOptions): Reply<types.DecisionList>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.DecisionFilter, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Decision, void>
  }
  /** Manages overrides, which let one digest pass a policy. */
  readonly overrides: {
    /** Lets a digest pass a policy in a group and everything in it, or in one repo. */
    create(parent: string, override: types.OverrideInput, options?: CreateOptions): Reply<types.Override>
    /** Lists the overrides of the groups and repos in which the caller can read overrides. */
    list(request?: types.OverrideFilter, options?: CallOptions): Reply<types.OverrideList>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.OverrideFilter, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Override, void>
    /** Deletes an override: the policy applies to the digest again. */
    delete(uid: string, options?: ChangeOptions): Reply<void>
  }
  /**
   * Manages policies, which decide whether an image may be pulled. A policy has no effect until a binding
   * applies it. System policies come with the server and never change; custom policies are expressions of a
   * group.
   */
  readonly policies: {
    /**
     * Creates a custom policy in a group. Fails with INVALID_ARGUMENT if the expression is not valid;
     * ValidatePolicy returns every problem in it.
     */
    create(parent: string, policy: types.PolicyInput, options?: CreateOptions): Reply<types.Policy>
    /**
     * Replaces the name, description and expression of a custom policy; fields that are not in the request get
     * their zero value. Fails with FAILED_PRECONDITION (`RESOURCE_IN_USE`) if the parameters of a binding are
     * not valid for the new expression. System policies are rejected.
     */
    update(request?: types.PolicyInput, options?: ChangeOptions): Reply<types.Policy>
    /** Lists the system policies, and the custom policies of the groups in which the caller can read policies. */
    list(request?: types.PolicyFilter, options?: CallOptions): Reply<types.PolicyList>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.PolicyFilter, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Policy, void>
    /**
     * Deletes a custom policy. Fails with FAILED_PRECONDITION (`RESOURCE_IN_USE`) if bindings or overrides
     * refer to it. System policies are rejected.
     */
    delete(uid: string, options?: ChangeOptions): Reply<void>
    /** Checks an expression without storing it, and returns its problems with their positions. */
    validatePolicy(request: types.ValidatePolicyRequest, options?: CallOptions): Reply<types.ValidatePolicyResponse>
  }
}
