// Generated from packages/contract/proto/ by scripts/generate-client.ts: do not edit.

import type { CallOptions, CreateOptions, DeleteOptions, Operation, Reply, UpdateOptions } from '../operation.ts'
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
  repoPolicies: {
    getRepoPolicy: { kind: 'get', verb: 'GET', path: '/registry/v2beta1/repos/{uid}/policy', repeat: 'always' },
    updateRepoPolicy: { kind: 'update', verb: 'PATCH', path: '/registry/v2beta1/repos/{uid}/policy', repeat: 'with-match' },
    previewRetention: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/policy:preview', body: true, repeat: 'always' },
    applyRetention: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/policy:apply', body: true, repeat: 'always' },
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
} as const satisfies Readonly<Record<string, Readonly<Record<string, Operation>>>>

export interface Services {
  /**
   * Groups form the tree that everything else hangs on: a root group is an organization, and every
   * resource belongs to one group. Rights granted at a group hold for all that lies below it.
   */
  readonly groups: {
    /** Reads one group. Fails with NOT_FOUND when there is no such group. */
    get(uid: string, options?: CallOptions): Reply<types.Group>
    /**
     * Removes an empty group. Fails with FAILED_PRECONDITION (`RESOURCE_NOT_EMPTY`) while anything still
     * belongs to it, and with NOT_FOUND when it is already gone.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Lists the groups in which the caller may read groups. The sort keys are `uid`, `name`,
     * `created_at` and `updated_at`.
     */
    list(request?: types.ListGroupsRequest, options?: CallOptions): Reply<types.ListGroupsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListGroupsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Group, void>
    /**
     * Creates a group below a parent or, with an empty parent, a new organization whose creator becomes
     * its owner. Creating an organization may be limited to administrators of the platform.
     */
    create(parent: string, group: types.GroupInput, options?: CreateOptions): Reply<types.Group>
    /**
     * Changes a group and returns it as it is afterwards. A group cannot be moved to another parent. Renaming
     * a group that contains repos with policies, at any depth, requires CAP_REPO_POLICIES_UPDATE too.
     */
    update(uid: string, patch: Partial<types.GroupInput>, options?: UpdateOptions): Reply<types.Group>
    /**
     * Finds the verified organization that is named after the domain of the caller's e-mail address. An
     * address that an organization's identity provider verified finds this organization only.
     * Fails with the same NOT_FOUND whether none matches, the domain is blocked, or the caller's sign-in
     * is not trusted for this.
     */
    lookupGroup(request?: types.LookupGroupRequest, options?: CallOptions): Reply<types.LookupGroupResponse>
    /**
     * Asks the owners of the organization that matches the caller's e-mail domain to let the caller in.
     * Fails with NOT_FOUND as LookupGroup does, and with RESOURCE_EXHAUSTED when repeated too soon.
     */
    requestGroupAccess(request: types.RequestGroupAccessRequest, options?: CallOptions): Reply<types.RequestGroupAccessResponse>
    /**
     * Tells whether the caller's e-mail domain is one that LookupGroup and RequestGroupAccess would act
     * on.
     */
    checkEligibility(request?: types.CheckEligibilityRequest, options?: CallOptions): Reply<types.CheckEligibilityResponse>
  }
  /**
   * Identities are who acts: people who signed in, and workloads that prove themselves with a token of
   * another issuer instead of a stored secret.
   */
  readonly identities: {
    /**
     * Creates an identity in a group, together with the rule that says which outside party may take it
     * on.
     */
    create(parent: string, identity: types.IdentityInput, options?: CreateOptions): Reply<types.Identity>
    /** Reads one identity. Fails with NOT_FOUND when there is no such identity. */
    get(uid: string, options?: CallOptions): Reply<types.Identity>
    /**
     * Removes an identity. Fails with FAILED_PRECONDITION (`RESOURCE_IN_USE`) while role bindings name
     * it, and with NOT_FOUND when it is already gone.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Changes an identity and returns it as it is afterwards. Who may take the identity on changes with
     * the next token exchange.
     */
    update(uid: string, patch: Partial<types.IdentityInput>, options?: UpdateOptions): Reply<types.Identity>
    /**
     * Lists the identities of the groups in which the caller may read identities. The sort keys are
     * `uid`, `name`, `created_at` and `updated_at`.
     */
    list(request?: types.ListIdentitiesRequest, options?: CallOptions): Reply<types.ListIdentitiesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListIdentitiesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Identity, void>
    /**
     * Tells the UID that belongs to a person's issuer and subject, whether or not they have signed in
     * before. Roles can therefore be granted ahead of a first sign-in.
     */
    lookupIdentity(request: types.LookupIdentityRequest, options?: CallOptions): Reply<types.LookupIdentityResponse>
    /**
     * Hands over details about the caller's own identity. The values go out with the event; keeping them
     * is not promised.
     */
    updateIdentityMetadata(request: types.UpdateIdentityMetadataRequest, options?: CallOptions): Reply<types.IdentityMetadata>
  }
  /**
   * Roles are named sets of capabilities. Managed roles come with the platform and never change; custom
   * roles belong to a group.
   */
  readonly roles: {
    /**
     * Reads one role. Managed roles can be read by everyone who may read roles anywhere; fails with
     * NOT_FOUND when there is no such role.
     */
    get(uid: string, options?: CallOptions): Reply<types.Role>
    /**
     * Lists the managed roles and the custom roles of the groups in which the caller may read roles. The
     * sort keys are `uid`, `name`, `created_at` and `updated_at`.
     */
    list(request?: types.ListRolesRequest, options?: CallOptions): Reply<types.ListRolesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRolesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Role, void>
    /**
     * Creates a custom role in a group. Fails with PERMISSION_DENIED when the role holds a capability
     * that the caller does not hold there.
     */
    create(parent: string, role: types.RoleInput, options?: CreateOptions): Reply<types.Role>
    /**
     * Changes a custom role for everyone bound to it, and returns it as it is afterwards. Managed roles
     * are refused, and so are capabilities that the caller does not hold.
     */
    update(uid: string, patch: Partial<types.RoleInput>, options?: UpdateOptions): Reply<types.Role>
    /**
     * Removes a custom role. Fails with FAILED_PRECONDITION (`RESOURCE_IN_USE`) while role bindings name
     * it, and with NOT_FOUND when it is already gone; managed roles are refused.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
  }
  /**
   * Role bindings give an identity a role at a group, and so at everything below that group. They take
   * effect, and cease to, at once.
   */
  readonly roleBindings: {
    /** Reads one binding. Fails with NOT_FOUND when there is no such binding. */
    get(uid: string, options?: CallOptions): Reply<types.RoleBinding>
    /**
     * Gives an identity a role at a group. Fails with PERMISSION_DENIED when the role holds a capability
     * that the caller does not hold there, and with ALREADY_EXISTS when the same binding is already in
     * place.
     */
    create(parent: string, roleBinding: types.RoleBindingInput, options?: CreateOptions): Reply<types.RoleBinding>
    /** Takes the role away again. Fails with NOT_FOUND when the binding is already gone. */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Lists the bindings of the groups in which the caller may read bindings. The sort keys are `uid`
     * and `created_at`.
     */
    list(request?: types.ListRoleBindingsRequest, options?: CallOptions): Reply<types.ListRoleBindingsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListRoleBindingsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.RoleBinding, void>
    /**
     * Creates up to 25 bindings in one group, all of them or none. The rules of CreateRoleBinding hold
     * for each.
     */
    batchCreate(request: types.BatchCreateRoleBindingsRequest, options?: CreateOptions): Reply<types.BatchCreateRoleBindingsResponse>
    /**
     * Changes which identity or which role a binding names, and returns it as it is afterwards. Its
     * group stays; a role beyond what the caller holds is refused.
     */
    update(uid: string, patch: Partial<types.RoleBindingInput>, options?: UpdateOptions): Reply<types.RoleBinding>
  }
  /**
   * Identity providers let the people of an organization sign in with the organization's own account
   * system, and let that system create and remove their accounts (SCIM).
   */
  readonly identityProviders: {
    /**
     * Lists the providers of the organizations in which the caller may read providers. The sort keys are
     * `uid`, `name`, `created_at` and `updated_at`.
     */
    list(request?: types.ListIdentityProvidersRequest, options?: CallOptions): Reply<types.ListIdentityProvidersResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListIdentityProvidersRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.IdentityProvider, void>
    /**
     * Reads one provider, including the state of its provisioning token. Fails with NOT_FOUND when there
     * is no such provider.
     */
    get(uid: string, options?: CallOptions): Reply<types.IdentityProvider>
    /**
     * Creates a provider in an organization. Needs the right to bind roles too, because everyone who
     * signs in through it is given its default role. Fails with PERMISSION_DENIED when this role, or a person
     * of the issuer in the organization, holds a capability that the caller does not hold there.
     */
    create(parent: string, identityProvider: types.IdentityProviderInput, options?: CreateOptions): Reply<types.IdentityProvider>
    /**
     * Changes a provider and returns it as it is afterwards. Needs the right to bind roles too, and fails as
     * CreateIdentityProvider does. Another issuer or client ends the sessions that came through the provider.
     */
    update(uid: string, patch: Partial<types.IdentityProviderInput>, options?: UpdateOptions): Reply<types.IdentityProvider>
    /**
     * Removes a provider, after which nobody can sign in through it. Fails with NOT_FOUND when it is
     * already gone.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Issues the first provisioning token of a provider and shows it once. Provisioning stays off until
     * SetScimEnabled; fails with FAILED_PRECONDITION when a token has been issued before.
     */
    generateScimToken(request: types.GenerateScimTokenRequest, options?: CallOptions): Reply<types.GenerateScimTokenResponse>
    /**
     * Replaces the provisioning token by a new one, shown once, while the old one may work on for a
     * while. Fails with NOT_FOUND when no token was ever issued.
     */
    regenerateScimToken(request: types.RegenerateScimTokenRequest, options?: CallOptions): Reply<types.RegenerateScimTokenResponse>
    /**
     * Ends the current provisioning token, and an older one that still works, at once. Leaves the
     * provisioning switch as it is.
     */
    revokeScimToken(request: types.RevokeScimTokenRequest, options?: CallOptions): Reply<types.RevokeScimTokenResponse>
    /**
     * Turns provisioning on or off. Turning it on fails with FAILED_PRECONDITION while the organization
     * has fewer than two owners bound by hand.
     */
    setScimEnabled(request: types.SetScimEnabledRequest, options?: CallOptions): Reply<types.SetScimEnabledResponse>
  }
  /**
   * Mappings give a role to everyone whom an identity provider reports as a member of one of its own
   * groups. A mapping never changes: delete it and create another.
   */
  readonly externalGroupRoleMappings: {
    /** Reads one mapping. Fails with NOT_FOUND when there is no such mapping. */
    get(uid: string, options?: CallOptions): Reply<types.ExternalGroupRoleMapping>
    /**
     * Creates a mapping under an identity provider. Needs the right to bind roles too, and fails with
     * PERMISSION_DENIED when the role, or a person of the provider's issuer in the organization, holds a
     * capability that the caller does not hold there.
     */
    create(parent: string, externalGroupRoleMapping: types.ExternalGroupRoleMappingInput, options?: CreateOptions): Reply<types.ExternalGroupRoleMapping>
    /**
     * Deletes a mapping; members of the group lose the role with their next sign-in or refresh. Fails
     * with NOT_FOUND when it is already gone.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Deletes several mappings of one identity provider together. Ones that are already gone are passed
     * over; one of another provider is INVALID_ARGUMENT and nothing is deleted.
     */
    batchDelete(request: types.BatchDeleteExternalGroupRoleMappingsRequest, options?: CallOptions): Reply<types.BatchDeleteExternalGroupRoleMappingsResponse>
    /**
     * Lists the mappings of the organizations in which the caller may read identity providers. The sort
     * keys are `uid` and `created_at`.
     */
    list(request?: types.ListExternalGroupRoleMappingsRequest, options?: CallOptions): Reply<types.ListExternalGroupRoleMappingsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListExternalGroupRoleMappingsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.ExternalGroupRoleMapping, void>
  }
  /**
   * Account associations tie a group to its accounts at cloud providers and code hosts, so that the
   * platform can act there without stored secrets. A group has at most one.
   */
  readonly accountAssociations: {
    /** Reads the association of a group. Fails with NOT_FOUND when the group has none. */
    get(uid: string, options?: CallOptions): Reply<types.AccountAssociation>
    /** Creates the association of a group. Fails with ALREADY_EXISTS when the group has one. */
    create(parent: string, accountAssociation: types.AccountAssociationInput, options?: CreateOptions): Reply<types.AccountAssociation>
    /** Removes the association of a group. Fails with NOT_FOUND when the group has none. */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Lists the associations of the groups in which the caller may read associations. The sort keys are
     * `group`, `uid`, `name`, `created_at` and `updated_at`.
     */
    list(request?: types.ListAccountAssociationsRequest, options?: CallOptions): Reply<types.ListAccountAssociationsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAccountAssociationsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AccountAssociation, void>
    /**
     * Changes the association of a group and returns it as it is afterwards. Fails with NOT_FOUND when
     * the group has none.
     */
    update(uid: string, patch: Partial<types.AccountAssociationInput>, options?: UpdateOptions): Reply<types.AccountAssociation>
    /**
     * Tries out whether the platform can obtain credentials at one cloud provider. An association that
     * does not work is an answer, not an error.
     */
    checkAccountAssociation(request: types.CheckAccountAssociationRequest, options?: CallOptions): Reply<types.CheckAccountAssociationResponse>
  }
  /**
   * Group invites let people join a group with a code: whoever accepts one is given its role at the
   * group.
   */
  readonly groupInvites: {
    /**
     * Creates an invite and shows its code once. Needs the right to bind roles too, and fails with
     * PERMISSION_DENIED when the role holds a capability that the caller does not hold there.
     */
    create(parent: string, groupInvite: types.GroupInviteInput, options?: CreateOptions): Reply<types.GroupInvite>
    /** Reads one invite, without its code. Fails with NOT_FOUND when there is no such invite. */
    get(uid: string, options?: CallOptions): Reply<types.GroupInvite>
    /** Withdraws an invite; its code stops working at once. Fails with NOT_FOUND when it is already gone. */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Lists the invites of the groups in which the caller may read invites, also those that have closed.
     * The sort keys are `created_at` and `uid`.
     */
    list(request?: types.ListGroupInvitesRequest, options?: CallOptions): Reply<types.ListGroupInvitesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListGroupInvitesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.GroupInvite, void>
    /**
     * Changes an invite that is still open and returns it as it is afterwards, without its code, which
     * stays the same. Needs the same rights as creating one, because it may promise another role. Fails
     * with FAILED_PRECONDITION, type INVITE_EXPIRED, when the invite has closed.
     */
    update(uid: string, patch: Partial<types.GroupInviteInput>, options?: UpdateOptions): Reply<types.GroupInvite>
  }
  /** The other side of group invites: what whoever was invited does. */
  readonly invitations: {
    /**
     * Accepts an invite: the caller's own identity gets the role of the invite at its group. A caller who
     * signed in through an organization's identity provider has the role through this provider only, and the
     * binding shows it in `accepted_through`; a binding that did not count for this provider counts afterwards.
     * An invite for an e-mail address needs an address that is verified by a local account, by a provider of
     * the operator, or by an identity provider of the organization of the invite. A code that
     * is wrong, expired, used up or meant for another e-mail address is NOT_FOUND, without saying which,
     * and so is one of another organization than the caller's identity belongs to. A role that the caller
     * holds there already is ALREADY_EXISTS, and a role that is gone FAILED_PRECONDITION, type
     * ROLE_MISSING; the invite then stays as it was. A token that is narrowed to scopes or capabilities
     * is PERMISSION_DENIED.
     */
    acceptGroupInvite(request: types.AcceptGroupInviteRequest, options?: CallOptions): Reply<types.AcceptGroupInviteResponse>
  }
  /**
   * Repos hold the images of a group. This service manages what is known about a repo; images themselves
   * are pushed and pulled through the registry.
   */
  readonly repos: {
    /** Reads one repo. Fails with NOT_FOUND when there is no such repo. */
    get(uid: string, options?: CallOptions): Reply<types.Repo>
    /** Creates a repo in a group. Fails with ALREADY_EXISTS when the group has a repo of that name. */
    create(parent: string, repo: types.RepoInput, options?: CreateOptions): Reply<types.Repo>
    /**
     * Changes a repo and returns it as it is afterwards. Some fields are for the operator alone, and
     * changing one of them without that right is PERMISSION_DENIED. Renaming a repo that has a policy requires
     * CAP_REPO_POLICIES_UPDATE too.
     */
    update(uid: string, patch: Partial<types.RepoInput>, options?: UpdateOptions): Reply<types.Repo>
    /**
     * Removes a repo. Fails with FAILED_PRECONDITION (`RESOURCE_NOT_EMPTY`) while it has tags, and with
     * NOT_FOUND when it is already gone. Deleting a repo that has a policy requires CAP_REPO_POLICIES_UPDATE
     * too, and deletes the tags that the policy makes immutable if no other tags are left.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Lists the repos of the groups in which the caller may read repos. The sort keys are `uid`, `name`,
     * `created_at` and `updated_at`.
     */
    list(request?: types.ListReposRequest, options?: CallOptions): Reply<types.ListReposResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListReposRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Repo, void>
    /** Reads the page that introduces a repo. A repo without one has an empty page. */
    getRepoReadme(uid: string, options?: CallOptions): Reply<types.RepoReadme>
    /**
     * Replaces the page that introduces a repo. Only the operator may, and text that would render to
     * unsafe HTML is INVALID_ARGUMENT.
     */
    updateRepoReadme(uid: string, patch: Partial<types.RepoReadmeInput>, options?: UpdateOptions): Reply<types.RepoReadme>
  }
  /**
   * Tags name the manifests of a repo. A tag points at one digest at a time and may be pointed elsewhere
   * later.
   */
  readonly tags: {
    /** Reads one tag. Fails with NOT_FOUND when there is no such tag. */
    get(uid: string, options?: CallOptions): Reply<types.Tag>
    /**
     * Lists the tags of the repos in which the caller may read tags; by default without those that only
     * machines use. The sort keys are `uid`, `name` and `updated_at`.
     */
    list(request?: types.ListTagsRequest, options?: CallOptions): Reply<types.ListTagsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListTagsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Tag, void>
    /**
     * Creates a tag in a repo, or changes the tag of that name to what is given, keeping its UID; for a
     * change, CAP_TAG_UPDATE is needed too. What is given already changes nothing. Fails with NOT_FOUND
     * when there is no such repo.
     */
    create(parent: string, tag: types.TagInput, options?: CreateOptions): Reply<types.Tag>
    /** Removes a tag; the manifest it points at stays. Fails with NOT_FOUND when the tag is already gone. */
    delete(uid: string, options?: DeleteOptions): Reply<void>
  }
  /** Answers questions about images without pulling them. */
  readonly images: {
    /**
     * Tells which architectures an image index offers. Fails with NOT_FOUND when the repo holds no such
     * index.
     */
    getArchitectures(request: types.GetArchitecturesRequest, options?: CallOptions): Reply<types.Architectures>
    /**
     * Tells how large an image is on one architecture. Fails with NOT_FOUND when the repo holds no such
     * index, or the index not that architecture.
     */
    getSize(request: types.GetSizeRequest, options?: CallOptions): Reply<types.Size>
  }
  /** Policies say what may become of the tags of a repo: which never move, and which go by themselves. */
  readonly repoPolicies: {
    /**
     * Reads the policy of a repo. A repo that was never given one has one that says nothing. Fails with
     * NOT_FOUND when there is no such repo.
     */
    getRepoPolicy(uid: string, options?: CallOptions): Reply<types.RepoPolicy>
    /**
     * Changes the policy of a repo. Enabling retention, and changing its rules or the immutable tags while it
     * is enabled, deletes tags and manifests, and requires `tag.delete` and `manifest.delete` too.
     */
    updateRepoPolicy(uid: string, patch: Partial<types.RepoPolicyInput>, options?: UpdateOptions): Reply<types.RepoPolicy>
    /**
     * Tells what retention would delete now and why the rest stays, without deleting anything: whether the
     * policy is enabled or not, or by rules that are given to try them. Tags come first, by their names,
     * then manifests, by their digests.
     */
    previewRetention(request: types.PreviewRetentionRequest, options?: CallOptions): Reply<types.PreviewRetentionResponse>
    /**
     * Has retention delete now what its rules do not keep. Answers without waiting for the run. Fails with
     * FAILED_PRECONDITION while retention is not enabled.
     */
    applyRetention(request: types.ApplyRetentionRequest, options?: CallOptions): Reply<types.RepoPolicy>
  }
  /**
   * Advisories say what is known about a vulnerability in one particular artifact: found, fixed, not
   * affected, and so on. They are read here and written by importing feeds.
   */
  readonly advisories: {
    /**
     * Reads one advisory by its UID, deleted ones included. Fails with NOT_FOUND when there is no such
     * advisory.
     */
    get(uid: string, options?: CallOptions): Reply<types.Advisory>
    /**
     * Lists the advisories of the groups in which the caller may read advisories, without deleted ones.
     * The sort keys are `uid`, `advisory_id`, `artifact_name`, `component_name`, `created_at` and
     * `updated_at`.
     */
    list(request?: types.ListAdvisoriesRequest, options?: CallOptions): Reply<types.ListAdvisoriesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAdvisoriesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Advisory, void>
  }
  /** Brings advisories in, as documents in the formats that others publish. */
  readonly advisoryDocuments: {
    /**
     * Reads documents and makes the advisories of a group say what they say. Each document is taken whole
     * or not at all; one that cannot be read is told of in its place and stops no other. A document that
     * is there already changes nothing.
     */
    importAdvisoryDocuments(request: types.ImportAdvisoryDocumentsRequest, options?: CallOptions): Reply<types.ImportAdvisoryDocumentsResponse>
    /**
     * Takes documents away, and with each the advisories that no other document tells of: they are marked
     * as deleted. Each document goes by itself; one that is not there is passed over.
     */
    deleteAdvisoryDocuments(request: types.DeleteAdvisoryDocumentsRequest, options?: CallOptions): Reply<types.DeleteAdvisoryDocumentsResponse>
    /**
     * Tells which documents a group has, and what of them no field of an advisory has: by format and id, a
     * page at a time. They are what DeleteAdvisoryDocuments takes away.
     */
    getAdvisoryDocuments(request: types.GetAdvisoryDocumentsRequest, options?: CallOptions): Reply<types.GetAdvisoryDocumentsResponse>
    /**
     * Tells which documents an advisory comes from, and what of them no field of an advisory has: by format
     * and id, a page at a time. Fails with NOT_FOUND when there is no such advisory.
     */
    getAdvisorySources(request: types.GetAdvisorySourcesRequest, options?: CallOptions): Reply<types.GetAdvisorySourcesResponse>
  }
  /**
   * Feeds keep the advisories of a group up to date: files at an address that the server reads again and
   * again, each document as ImportAdvisoryDocuments takes it.
   */
  readonly advisoryFeeds: {
    /**
     * Adds a feed to a group. Its first run begins at once. Fails with ALREADY_EXISTS when the group has a
     * feed of the same address.
     */
    create(parent: string, advisoryFeed: types.AdvisoryFeedInput, options?: CreateOptions): Reply<types.AdvisoryFeed>
    /** Reads one feed, with what became of its last run. Fails with NOT_FOUND when there is no such feed. */
    get(uid: string, options?: CallOptions): Reply<types.AdvisoryFeed>
    /**
     * Lists the feeds of the groups in which the caller may read advisories. The sort keys are `uid`,
     * `url`, `create_time` and `update_time`.
     */
    list(request?: types.ListAdvisoryFeedsRequest, options?: CallOptions): Reply<types.ListAdvisoryFeedsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAdvisoryFeedsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AdvisoryFeed, void>
    /**
     * Changes how often a feed is read, in which format, or whether at all. Its address stays: another one
     * is another feed.
     */
    update(uid: string, patch: Partial<types.AdvisoryFeedInput>, options?: UpdateOptions): Reply<types.AdvisoryFeed>
    /**
     * Removes a feed. A run of it ends after the document that it is at; the advisories that it brought
     * stay. Fails with NOT_FOUND when it is already gone.
     */
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Has a feed read now, whatever its interval says and however often it failed. Answers without
     * waiting for the run. Fails with FAILED_PRECONDITION for one that is paused.
     */
    syncAdvisoryFeed(request: types.SyncAdvisoryFeedRequest, options?: CallOptions): Reply<types.AdvisoryFeed>
  }
  /**
   * How the advisories of a group are published for scanners, below `/vulnerabilities/feeds/`. Every group
   * has a publication, which goes by the uid of the group and covers everything below it.
   */
  readonly advisoryPublications: {
    /** Reads the publication of a group. */
    getAdvisoryPublication(uid: string, options?: CallOptions): Reply<types.AdvisoryPublication>
    /** Changes the publication of a group and returns it as it is afterwards. */
    updateAdvisoryPublication(uid: string, patch: Partial<types.AdvisoryPublicationInput>, options?: UpdateOptions): Reply<types.AdvisoryPublication>
  }
  /** Tells whether the platform can be reached. */
  readonly ping: {
    /** Answers whoever asks, signed in or not. */
    ping(request?: types.PingRequest, options?: CallOptions): Reply<types.PingResponse>
  }
  /**
   * Turns tokens of other issuers into tokens of this platform, so that nobody needs a stored secret.
   * The token to be exchanged is the bearer value of the call, never a parameter.
   */
  readonly securityToken: {
    /**
     * Exchanges the bearer token for a platform token that is valid for one hour. Fails with
     * UNAUTHENTICATED when the bearer token is not genuine, with PERMISSION_DENIED when it does not fit
     * the identity, and with INVALID_ARGUMENT when no audience is named. Over HTTP the parameters are
     * those of a query string or a form.
     */
    exchange(request?: types.ExchangeRequest, options?: CallOptions): Reply<types.RawToken>
    /**
     * Exchanges the bearer value, a refresh token, for a new platform token and a new refresh token. The
     * old refresh token is used up; fails with UNAUTHENTICATED when it is no longer valid.
     */
    exchangeRefreshToken(request?: types.ExchangeRefreshTokenRequest, options?: CallOptions): Reply<types.TokenPair>
  }
  /** People and their tokens: who somebody is, how they come to be known here, and how they leave. */
  readonly auth: {
    /**
     * Says whose token the bearer value is, and what can be done with it. Fails with UNAUTHENTICATED when
     * it is no token of this platform, or no longer.
     */
    validate(request?: Readonly<Record<string, never>>, options?: CallOptions): Reply<types.WhoAmI>
    /**
     * Makes the identity of somebody who signs in elsewhere. The bearer value is their ID token, of a
     * provider that people sign in with here; UNAUTHENTICATED for any other, and where several identity
     * providers of organizations have its issuer and client. Somebody who is known already
     * stays as they are. With the code of an invite they also join its group; a code that is wrong,
     * expired, used up or meant for another e-mail address is NOT_FOUND, and then nothing is made at all.
     */
    register(request?: types.RegistrationRequest, options?: CallOptions): Reply<types.Session>
    /**
     * Answers what somebody who signed in with a browser left for a client that has none, encrypted to the
     * client's key. NOT_FOUND until they have, and once it has been fetched.
     */
    getHeadlessSession(request: types.GetHeadlessSessionRequest, options?: CallOptions): Reply<types.HeadlessSession>
    /**
     * Deletes the caller's own identity with all its role bindings, its sessions, and the account and
     * passkeys by which they sign in here. PERMISSION_DENIED for anybody else's identity, for one that
     * belongs to a group, for a token that is narrowed, and for a sign-in through an organization's identity
     * provider that did not register the caller; FAILED_PRECONDITION, type RESOURCE_IN_USE, for
     * an identity that administers this platform.
     */
    delete(request: types.DeletionRequest, options?: CallOptions): Reply<void>
  }
  /** Tells whoever looks after an identity why a token can assume it, or cannot. */
  readonly explain: {
    /**
     * Tries a token on an identity without giving one out, and tells of each condition of an exchange
     * whether it holds, in the order in which an exchange looks at them. As an exchange does, it may ask
     * the issuer that the identity trusts for its keys, or AWS who signed a request. Fails with
     * NOT_FOUND when there is no such identity.
     */
    explainExchange(request: types.ExplainExchangeRequest, options?: CallOptions): Reply<types.ExplainExchangeResponse>
  }
  /**
   * The audit log: who did what, who was refused what, and who got a token. Events are written by the
   * server and never change.
   */
  readonly audit: {
    /**
     * Lists the events about what lies in the groups whose events the caller may receive. The sort key
     * is `created_at`.
     */
    list(request?: types.ListAuditEventsRequest, options?: CallOptions): Reply<types.ListAuditEventsResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListAuditEventsRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.AuditEvent, void>
    /** Reads one event. Fails with NOT_FOUND when there is no such event (any more). */
    get(uid: string, options?: CallOptions): Reply<types.AuditEvent>
  }
}
