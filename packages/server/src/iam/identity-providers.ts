import {
  IdentityProvider_Callback as Callback,
  IdentityProvider_SCIM_CredentialState as CredentialState,
  type IdentityProvider,
  IdentityProvider_OIDCSchema,
  type IdentityProvider_SCIM,
  IdentityProvider_SCIMSchema,
  IdentityProviderSchema,
  IdentityProvidersService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FieldViolation, failedPrecondition, invalidArgument, notFound } from '../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../api/fields.ts'
import { timestampOf } from '../api/messages.ts'
import { depthOf, parseUid, rootOf, type Uid } from '../api/uid.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { seal, unseal } from '../runtime/encryption.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Tx } from '../storage/db.ts'
import {
  insertResource,
  lockForChange,
  nextUpdateMs,
  readResource,
  updateResource,
} from '../storage/resource-rows.ts'
import {
  definitionOf,
  type ResourceDeclaration,
  resourceMethods,
} from '../storage/resources/resource-methods.ts'
import type { IdentityProviderRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { endSessions } from '../tokens/sessions/sessions.ts'
import { checkIssuerUrl, type RelationshipRules } from '../tokens/trust/relationship.ts'
import { lockGrantableRole } from './grantable-role.ts'
import { lockGroup } from './groups/parent-group.ts'
import { type IssSupport, ownCallbackPath, sharedCallbackProblem } from './identity-providers/callback.ts'
import { requireCapabilitiesOfIssuerUsers } from './identity-providers/issuer-users.ts'
import {
  checkConfiguration,
  enablesPkce,
  oidcOf,
  providerChange,
  withoutSecret,
} from './identity-providers/oidc-configuration.ts'

/**
 * Identity providers: the account systems that the users of an organization sign in with. Deciding who can sign in grants what a sign-in
 * gives: the default role, the roles of mapped groups, and what users of the issuer hold in the organization. So the caller must hold
 * all of that (R19).
 */

/** Type of identity providers in errors. */
export const IDENTITY_PROVIDER_TYPE = 'iam.chainguard.dev/IdentityProvider'

/**
 * Returns whether an issuer supports proof keys (PKCE), requested on behalf of an organization. May take seconds; `unknown` if the issuer
 * cannot be reached or does not say.
 */
export type PkceSupport = (
  issuer: string,
  organization: string,
) => Promise<'supported' | 'unsupported' | 'unknown'>

export interface IdentityProviderRules extends RelationshipRules {
  readonly pkceSupport: PkceSupport
  /** May take seconds. */
  issSupport(issuer: string, organization: string): Promise<IssSupport>
  /** Address of the token service, without a trailing slash. */
  readonly authUrl: string
}

const noOidc = create(IdentityProvider_OIDCSchema)

export function identityProvidersService(store: Store, rules: IdentityProviderRules) {
  const { db, clock, uids, secretsKey } = store
  const toProvider = (row: IdentityProviderRow) => providerMessage(row, rules.authUrl)
  const providers: ResourceDeclaration<'identity_providers', typeof IdentityProviderSchema> = {
    table: 'identity_providers',
    schema: IdentityProviderSchema,
    isCached: true,
    toMessages: (rows) => rows.map(toProvider),
    async beforeDelete(tx, { uid }) {
      if ((await listMappedRoles(tx, uid)).length > 0) {
        throw failedPrecondition(
          'RESOURCE_NOT_EMPTY',
          `identity provider ${uid} still has mappings of external groups`,
        )
      }
      await endSessions(tx, 'provider_uid', uid)
    },
  }

  const encryptSecret = (uid: string, secret: string) =>
    secret === '' ? new Uint8Array() : seal(secretsKey, secret, secretContext(uid))

  /**
   * Returns the check for proof keys, for use in the transaction. The issuer is asked before the transaction, because it may take seconds;
   * if the provider gets another issuer meanwhile, that one is not checked.
   */
  const pkceCheck = async (organization: string, before = noOidc, after = noOidc) => {
    const { issuer } = after
    const shouldQuery =
      enablesPkce(before, after) && checkIssuerUrl('oidc.issuer', issuer, rules) === undefined
    const isPkceUnsupported = shouldQuery && (await rules.pkceSupport(issuer, organization)) === 'unsupported'
    return (now: typeof before, next: typeof after): FieldViolation | undefined =>
      isPkceUnsupported && next.issuer === issuer && enablesPkce(now, next)
        ? {
            field: 'oidc.pkceEnabled',
            description: 'the discovery document of the issuer does not list S256 proof keys',
          }
        : undefined
  }

  const methods = resourceMethods(store, IdentityProvidersService, providers)

  return implement(IdentityProvidersService, {
    ...methods,
    // Lists leave out the state of SCIM credentials.
    async listIdentityProviders(request, call) {
      const response = await methods.listIdentityProviders!(request, call)
      const identityProviders = response.identityProviders.map((provider) => ({
        ...provider,
        scim: scimOf(),
      }))
      return { ...response, identityProviders }
    },

    // Not cached: a part of the message comes from the issuer.
    async getIdentityProvider(_request, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'identity_providers', scope)
      if (row === undefined) throw notFound(IDENTITY_PROVIDER_TYPE, scope)
      const provider = toProvider(row)
      if (row.shared_callback === 0) return provider
      const support = await rules.issSupport(row.issuer, row.root)
      return { ...provider, signInProblem: sharedCallbackProblem(row, support, rules.authUrl) }
    },

    async createIdentityProvider({ identityProvider = create(IdentityProviderSchema) }, call) {
      const organization = requireScope(call).scope as Uid
      if (depthOf(organization) > 0) throw invalidArgument('parent', 'must be the uid of an organization')
      const { clientSecret } = oidcOf(identityProvider)
      const checkPkce = await pkceCheck(organization, noOidc, oidcOf(identityProvider))
      return mutate(store, call, async (tx) => {
        await lockGroup(db, tx, organization)
        requireValid(
          ...checkProvider(identityProvider),
          ...checkConfiguration(
            identityProvider,
            { secret: clientSecret, hasSecret: clientSecret !== '' },
            rules,
          ),
          checkPkce(noOidc, oidcOf(identityProvider)),
          checkCallback(identityProvider.callback, Callback.OWN),
        )
        await lockGrantableRole(store, tx, call, organization, identityProvider.defaultRole)
        await requireCapabilitiesOfIssuerUsers(store, tx, call, organization, {
          issuer: oidcOf(identityProvider).issuer,
          ownIssuer: rules.authUrl,
        })
        const now = clock()
        const uid = uids.child(organization)
        const row: IdentityProviderRow = {
          root: organization,
          uid,
          parent: organization,
          name: identityProvider.name,
          description: identityProvider.description,
          default_role: identityProvider.defaultRole,
          ...issuerColumns(identityProvider),
          configuration: configurationOf(identityProvider),
          client_secret: encryptSecret(uid, clientSecret),
          shared_callback: 0,
          created_ms: now,
          updated_ms: now,
        }
        await insertResource(db, tx, 'identity_providers', row)
        return { uid, response: toProvider(row) }
      })
    },

    async updateIdentityProvider(
      { identityProvider: patch = create(IdentityProviderSchema), updateMask },
      call,
    ) {
      const { scope } = requireScope(call)
      const changeOf = (current: IdentityProvider) => providerChange(current, patch, updateMask?.paths)
      const found = await readResource(db, 'identity_providers', scope)
      const seen = found && toProvider(found)
      const checkPkce = await pkceCheck(
        rootOf(scope),
        seen && oidcOf(seen),
        seen && oidcOf(changeOf(seen).next),
      )

      return mutate(store, call, async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, definitionOf(providers), scope)
        const { next, secret } = changeOf(current)
        const [before, after] = [oidcOf(current), oidcOf(next)]
        const hadSecret = row.client_secret.length > 0
        const hasSecret = secret === undefined ? hadSecret : secret !== ''
        const isSecretUnchanged = secret === undefined || !(hadSecret || hasSecret)
        if (isSecretUnchanged && equals(IdentityProviderSchema, current, next))
          return { uid: scope, response: current, unchanged: true }
        const reconfigured =
          next.configuration.case === undefined || !equals(IdentityProvider_OIDCSchema, before, after)
        requireValid(
          ...checkProvider(next),
          ...(reconfigured || !isSecretUnchanged
            ? checkConfiguration(next, { before, secret: secret ?? '', hasSecret }, rules)
            : []),
          checkPkce(before, after),
          checkCallback(next.callback, current.callback),
        )
        const grantedRoles = new Set<string>()
        if (reconfigured || next.defaultRole !== current.defaultRole) grantedRoles.add(next.defaultRole)
        if (reconfigured) for (const role of await listMappedRoles(tx, scope)) grantedRoles.add(role)
        for (const role of grantedRoles) await lockGrantableRole(store, tx, call, row.parent as Uid, role)
        if (grantedRoles.size > 0 || !isSecretUnchanged)
          await requireCapabilitiesOfIssuerUsers(store, tx, call, row.parent as Uid, {
            issuer: after.issuer,
            ownIssuer: rules.authUrl,
          })
        const changed = {
          name: next.name,
          description: next.description,
          default_role: next.defaultRole,
          ...issuerColumns(next),
          configuration: configurationOf(next),
          client_secret: isSecretUnchanged ? row.client_secret : encryptSecret(scope, secret),
          shared_callback: Number(next.callback === Callback.SHARED && before.issuer === after.issuer),
          updated_ms: nextUpdateMs(store, row),
        }
        await updateResource(tx, 'identity_providers', scope, changed)
        // Its sessions were vouched for by another issuer or client.
        if (changed.issuer !== row.issuer || changed.client_id !== row.client_id)
          await endSessions(tx, 'provider_uid', scope)
        return { uid: scope, response: toProvider({ ...row, ...changed }) }
      })
    },
  })
}

const secretContext = (uid: string) => `client secret of ${uid}`

/** The client secret of a provider, '' for none. */
export function decryptClientSecret(
  { secretsKey }: Pick<Store, 'secretsKey'>,
  { uid, client_secret: sealed }: Pick<IdentityProviderRow, 'uid' | 'client_secret'>,
): string {
  const secret = sealed.length === 0 ? '' : unseal(secretsKey, sealed, secretContext(uid))
  if (secret === undefined)
    throw new Error(`the client secret of ${uid} was encrypted with another master key`)
  return secret
}

/** Returns a provider as all methods but List show it. */
function providerMessage(row: IdentityProviderRow, authUrl: string): IdentityProvider {
  return {
    ...fromBinary(IdentityProviderSchema, row.configuration),
    uid: row.uid,
    name: row.name,
    description: row.description,
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
    defaultRole: row.default_role,
    scim: scimOf(CredentialState.NOT_ISSUED),
    callback: row.shared_callback === 0 ? Callback.OWN : Callback.SHARED,
    redirectUri: authUrl + ownCallbackPath(row.uid),
  }
}

/** Returns the state of SCIM. This server does not provision accounts, so no provider has a token for it. */
function scimOf(credentialState = CredentialState.UNSPECIFIED): IdentityProvider_SCIM {
  return create(IdentityProvider_SCIMSchema, { credentialState })
}

/** Returns what is stored as a message: all fields without a column. */
function configurationOf(provider: IdentityProvider): Uint8Array {
  const { configuration } = withoutSecret(provider)
  return toBinary(IdentityProviderSchema, create(IdentityProviderSchema, { configuration }))
}

/** Returns what identifies the tokens of the provider: their issuer and client. */
function issuerColumns(provider: IdentityProvider): Pick<IdentityProviderRow, 'issuer' | 'client_id'> {
  const { issuer, clientId } = oidcOf(provider)
  return { issuer, client_id: clientId }
}

/** Returns the roles that the mappings of a provider grant. The provider must be locked, so that no mapping is added meanwhile. */
async function listMappedRoles(tx: Tx, provider: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('external_group_role_mappings')
    .select('role_uid')
    .distinct()
    .where('root', '=', rootOf(provider))
    .where('parent', '=', provider)
    .execute()
  return rows.map((row) => row.role_uid)
}

/** Providers can move from the shared redirect URI to their own, and not back. */
function checkCallback(callback: Callback, before: Callback): FieldViolation | undefined {
  if (callback === Callback.UNSPECIFIED || callback === Callback.OWN || callback === before) return undefined
  return { field: 'callback', description: 'must be CALLBACK_OWN' }
}

function checkProvider({ name, description, defaultRole }: IdentityProvider): (FieldViolation | undefined)[] {
  const role =
    parseUid(defaultRole) === undefined
      ? { field: 'defaultRole', description: defaultRole === '' ? 'is required' : 'must be a uid' }
      : undefined
  return [checkName(name), checkDescription(description), role]
}
