import {
  type IdentityProvider_OIDC,
  IdentityProviderSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { checkName } from '../../api/fields.ts'
import { depthOf, parseUid, rootOf, type Uid } from '../../api/uid.ts'
import { oidcOf } from '../../iam/identity-providers/oidc-configuration.ts'
import { decryptClientSecret } from '../../iam/identity-providers.ts'
import type { SessionVoucher } from '../../pipeline/vouching.ts'
import type { Reader } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { IdentityProviderRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { type OrganizationProvider, verifiedEmail } from '../../tokens/exchange/person.ts'
import { isOwnIssuer } from '../../tokens/trust/issuer-url.ts'
import { readGroupsClaim } from './group-claim.ts'
import type { OperatorProvider } from './operator-providers.ts'

/** The OpenID providers with which users sign in: the operator's, for all users, and those of organizations. */

export type Provider = ProviderOfOperator | ProviderOfOrganization

interface ProviderOfOperator extends CommonProvider {
  readonly kind: 'operator'
  /** Its name. */
  readonly id: string
  readonly organization: ''
}

/** A type of its own, because the authority of its users is limited (pipeline/vouching.ts). */
interface ProviderOfOrganization extends CommonProvider {
  readonly kind: 'organization'
  readonly id: Uid
  /** The organization whose users sign in with it. */
  readonly organization: Uid
}

interface CommonProvider extends OperatorProvider {
  /** uid of the role that new users get in the organization; '' for none. */
  readonly defaultRole: string
  /** Name of the claim with a user's groups; '' for none. */
  readonly groupsClaim: string
  /** Its sign-ins return to the shared redirect URI instead of its own. */
  readonly sharedCallback: boolean
}

export interface Providers {
  /** Providers that the sign-in page offers to all users. */
  readonly offered: readonly Provider[]
  /** The current provider with a name or uid; undefined if there is none. */
  byId(id: string): Promise<Provider | undefined>
  /** Providers with this issuer and client: the operator's first, then at most SHARING_MAX of organizations. */
  byIssuerAndClient(issuer: string, clientId: string): Promise<readonly Provider[]>
  /** uid of the first provider of the verified organization with this name; undefined for none, in the same time. */
  uidByOrganizationName(name: string): Promise<string | undefined>
}

/** Few organizations share a client. */
const SHARING_MAX = 20

/**
 * `operator`: returns the operator's current providers, which a reload replaces. `authUrl`: the address of the token service. A provider with
 * this issuer is ignored: tokens of this server must not act as those of a provider.
 */
export function signInProviders(
  store: Store,
  operator: () => readonly OperatorProvider[],
  authUrl: string,
): Providers {
  const isOther = ({ issuer }: { readonly issuer: string }) => !isOwnIssuer(issuer, authUrl)
  const offered = () =>
    operator()
      .filter(isOther)
      .map((provider) => ({
        ...provider,
        kind: 'operator' as const,
        id: provider.name,
        organization: '' as const,
        defaultRole: '',
        groupsClaim: '',
        sharedCallback: false,
      }))
  return {
    get offered() {
      return offered()
    },
    async byId(id) {
      const provider = offered().find((one) => one.id === id)
      if (provider !== undefined) return provider
      const row = await readResource(store.db, 'identity_providers', id)
      return row && isOther(row) ? providerOf(store, row) : undefined
    },
    async byIssuerAndClient(issuer, clientId) {
      const rows = await store.db.kysely
        .selectFrom('identity_providers')
        .selectAll()
        .where('issuer', '=', issuer)
        .where('client_id', '=', clientId)
        .orderBy('uid')
        .limit(SHARING_MAX)
        .execute()
      return [
        ...offered().filter((one) => one.issuer === issuer && one.clientId === clientId),
        ...rows.filter(isOther).map((row) => providerOf(store, row)),
      ]
    },
    uidByOrganizationName: (name) => findProviderUidOfOrganization(store.db.kysely, name),
  }
}

/** Converts the row of an organization's provider, with its secret. */
export function providerOf(store: Store, row: IdentityProviderRow): ProviderOfOrganization {
  const oidc: IdentityProvider_OIDC = oidcOf(fromBinary(IdentityProviderSchema, row.configuration))
  return {
    kind: 'organization',
    id: row.uid as Uid,
    name: row.name,
    label: row.name,
    issuer: oidc.issuer,
    clientId: oidc.clientId,
    clientSecret: decryptClientSecret(store, row),
    scopes: oidc.additionalScopes,
    requirePkce: oidc.pkceEnabled,
    organization: row.parent as Uid,
    defaultRole: row.default_role,
    groupsClaim: oidc.groupsClaim,
    sharedCallback: row.shared_callback !== 0,
  }
}

/** Reads an organization's provider for an exchange; undefined if there is none. */
export async function readOrganizationProvider(
  providers: Pick<Providers, 'byId'>,
  uid: string,
): Promise<OrganizationProvider | undefined> {
  const provider = await providers.byId(uid)
  if (provider?.kind !== 'organization') return undefined
  const { id, issuer, clientId, groupsClaim } = provider
  return {
    uid: id,
    issuer,
    clientId,
    groupsOf(payload) {
      const groups = readGroupsClaim(payload, groupsClaim)
      return 'problem' in groups ? undefined : groups
    },
  }
}

/** The voucher of a sign-in with a provider, which limits its authority. */
export function voucherOf(
  provider: Provider,
  { email, emailVerified }: { readonly email: string; readonly emailVerified: boolean },
): SessionVoucher {
  if (provider.kind === 'operator') return { kind: 'operator' }
  return {
    kind: 'organization',
    provider: provider.id,
    email: verifiedEmail({ email, email_verified: emailVerified }),
  }
}

/** Resolves the uid of a provider from its own uid or from the name of its organization. */
export async function resolveProviderUid(db: Reader, text: string): Promise<string | undefined> {
  const uid = parseUid(text)
  if (uid === undefined || depthOf(uid) === 0) return findProviderUidOfOrganization(db, text)
  const row = await db
    .selectFrom('identity_providers')
    .select('uid')
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
  return row?.uid
}

/** uid of the first provider of a verified organization with this name. */
export async function findProviderUidOfOrganization(db: Reader, name: string): Promise<string | undefined> {
  if (checkName(name) !== undefined) return undefined
  const row = await db
    .selectFrom('organization_names')
    .innerJoin('groups', 'groups.uid', 'organization_names.uid')
    .innerJoin('identity_providers', 'identity_providers.root', 'organization_names.uid')
    .select('identity_providers.uid as uid')
    .where('organization_names.name', '=', name)
    .whereRef('groups.root', '=', 'organization_names.uid')
    .where('groups.verified', '=', 1)
    .whereRef('identity_providers.parent', '=', 'organization_names.uid')
    .orderBy('identity_providers.created_ms')
    .orderBy('identity_providers.uid')
    .executeTakeFirst()
  return row?.uid
}
