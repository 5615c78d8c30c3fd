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
  groupPaths: {
    findGroupPaths: { kind: 'request', verb: 'GET', path: '/iam/v2beta1/groups:findPaths', repeat: 'always' },
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
  manifests: {
    previewUntaggedManifests: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/manifests:previewUntagged', body: true, repeat: 'always' },
    deleteUntaggedManifests: { kind: 'request', verb: 'POST', path: '/registry/v2beta1/repos/{uid}/manifests:deleteUntagged', body: true, repeat: 'always' },
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
    lookupGroup(request?: types.LookupGroupRequest, options?: CallOptions): Reply<types.LookupGroupResponse>
    /**
     * Asks the owners of the organization that matches the caller's email domain to give the caller access.
     * Fails with NOT_FOUND as LookupGroup does, and with RESOURCE_EXHAUSTED if repeated too soon.
     */
    requestGroupAccess(request: types.RequestGroupAccessRequest, options?: CallOptions): Reply<types.RequestGroupAccessResponse>
    /** Reports whether LookupGroup and RequestGroupAccess accept the caller's email domain. */
    checkEligibility(request?: types.CheckEligibilityRequest, options?: CallOptions): Reply<types.CheckEligibilityResponse>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /** Updates an identity and returns the result. A changed rule applies from the next token exchange. */
    update(uid: string, patch: Partial<types.IdentityInput>, options?: UpdateOptions): Reply<types.Identity>
    /**
     * Lists the identities of the groups in which the caller can read identities. Sort keys: `uid`, `name`,
     * `created_at`, `updated_at`.
     */
    list(request?: types.ListIdentitiesRequest, options?: CallOptions): Reply<types.ListIdentitiesResponse>
    /** The same without the pages: they are fetched one after the other as the loop comes to them. */
    all(request?: Omit<types.ListIdentitiesRequest, 'pageToken'>, options?: CallOptions): AsyncGenerator<types.Identity, void>
    /**
     * Returns the UID for a user's issuer and subject, even before the first sign-in. This makes it possible to
     * grant roles in advance.
     */
    lookupIdentity(request: types.LookupIdentityRequest, options?: CallOptions): Reply<types.LookupIdentityResponse>
    /** Publishes details about the caller's own identity with an event. The values are not necessarily stored. */
    updateIdentityMetadata(request: types.UpdateIdentityMetadataRequest, options?: CallOptions): Reply<types.IdentityMetadata>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Creates the first SCIM token of a provider and returns it, once. SCIM stays disabled until
     * SetScimEnabled. Fails with FAILED_PRECONDITION if a token was created before.
     */
    generateScimToken(request: types.GenerateScimTokenRequest, options?: CallOptions): Reply<types.GenerateScimTokenResponse>
    /**
     * Replaces the SCIM token and returns the new one, once. The old token can stay valid for a while. Fails
     * with NOT_FOUND if no token was ever created.
     */
    regenerateScimToken(request: types.RegenerateScimTokenRequest, options?: CallOptions): Reply<types.RegenerateScimTokenResponse>
    /**
     * Revokes the current SCIM token, and an older one that is still valid, immediately. Does not change
     * whether SCIM is enabled.
     */
    revokeScimToken(request: types.RevokeScimTokenRequest, options?: CallOptions): Reply<types.RevokeScimTokenResponse>
    /**
     * Enables or disables SCIM. Enabling fails with FAILED_PRECONDITION if the organization has fewer than two
     * owners bound by hand.
     */
    setScimEnabled(request: types.SetScimEnabledRequest, options?: CallOptions): Reply<types.SetScimEnabledResponse>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Deletes several mappings of one identity provider in one transaction. Mappings that do not exist are
     * ignored. A mapping of another provider fails with INVALID_ARGUMENT and nothing is deleted.
     */
    batchDelete(request: types.BatchDeleteExternalGroupRoleMappingsRequest, options?: CallOptions): Reply<types.BatchDeleteExternalGroupRoleMappingsResponse>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
    checkAccountAssociation(request: types.CheckAccountAssociationRequest, options?: CallOptions): Reply<types.CheckAccountAssociationResponse>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
  /** Accepts group invites. */
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
    acceptGroupInvite(request: types.AcceptGroupInviteRequest, options?: CallOptions): Reply<types.AcceptGroupInviteResponse>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
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
    applyRetention(request: types.ApplyRetentionRequest, options?: CallOptions): Reply<types.RepoPolicy>
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
    importAdvisoryDocuments(request: types.ImportAdvisoryDocumentsRequest, options?: CallOptions): Reply<types.ImportAdvisoryDocumentsResponse>
    /**
     * Deletes documents, and marks as deleted the advisories that no other document contains. Each document is
     * deleted on its own; documents that do not exist are ignored.
     */
    deleteAdvisoryDocuments(request: types.DeleteAdvisoryDocumentsRequest, options?: CallOptions): Reply<types.DeleteAdvisoryDocumentsResponse>
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
    delete(uid: string, options?: DeleteOptions): Reply<void>
    /**
     * Starts a run of a feed now, regardless of its interval and earlier failures, and returns without waiting
     * for it. Fails with FAILED_PRECONDITION if the feed is paused.
     */
    syncAdvisoryFeed(request: types.SyncAdvisoryFeedRequest, options?: CallOptions): Reply<types.AdvisoryFeed>
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
    ping(request?: types.PingRequest, options?: CallOptions): Reply<types.PingResponse>
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
    exchange(request?: types.ExchangeRequest, options?: CallOptions): Reply<types.RawToken>
    /**
     * Exchanges a refresh token, sent as the bearer token, for a new platform token and a new refresh token.
     * The old refresh token becomes invalid. Fails with UNAUTHENTICATED if the refresh token is not valid.
     */
    exchangeRefreshToken(request?: types.ExchangeRefreshTokenRequest, options?: CallOptions): Reply<types.TokenPair>
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
    register(request?: types.RegistrationRequest, options?: CallOptions): Reply<types.Session>
    /**
     * Returns the token that a user with a browser left for a client without one, encrypted to the client's
     * key. Fails with NOT_FOUND before the user has signed in, and after the token has been fetched.
     */
    getHeadlessSession(request: types.GetHeadlessSessionRequest, options?: CallOptions): Reply<types.HeadlessSession>
    /**
     * Deletes the caller's own identity with its role bindings, its sessions, and its local account and
     * passkeys. Fails with PERMISSION_DENIED for another identity, for an identity that belongs to a group, for
     * a restricted token, and for a sign-in through an organization's identity provider that did not register
     * the caller. Fails with FAILED_PRECONDITION, type RESOURCE_IN_USE, for an administrator of this platform.
     */
    delete(request: types.DeletionRequest, options?: CallOptions): Reply<void>
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
  /** Deletes manifests of a repo that nothing needs, once and on request. Retention deletes them regularly. */
  readonly manifests: {
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
    deleteUntaggedManifests(request: types.DeleteUntaggedManifestsRequest, options?: CallOptions): Reply<types.DeleteUntaggedManifestsResponse>
  }
}
