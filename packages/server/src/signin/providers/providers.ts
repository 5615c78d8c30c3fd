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

/** The OpenID providers through which people sign in: the operator's, for everybody, and those of organizations. */

export type Provider = ProviderOfOperator | ProviderOfOrganization

interface ProviderOfOperator extends CommonProvider {
  readonly kind: 'operator'
  /** Its name. */
  readonly id: string
  readonly organization: ''
}

/** What it vouches for is bounded (core/vouching.ts), so it cannot be turned into the other kind. */
interface ProviderOfOrganization extends CommonProvider {
  readonly kind: 'organization'
  readonly id: Uid
  /** The organization whose people sign in with it. */
  readonly organization: Uid
}

interface CommonProvider extends OperatorProvider {
  /** uid of the role that people get in the organization when they come for the first time; '' for none. */
  readonly defaultRole: string
  /** Claim that holds the groups somebody is in; '' for none. */
  readonly groupsClaim: string
  /** Its sign-ins return to the shared redirect URI instead of its own. */
  readonly sharedCallback: boolean
}

export interface Providers {
  /** Those that the sign-in page offers to everybody. */
  readonly offered: readonly Provider[]
  /** By name or uid, as it is at this moment; undefined when there is none (any more). */
  byId(id: string): Promise<Provider | undefined>
  /** Those for which a token of this issuer and client can have been made: the operator's first, and some of organizations. */
  byIssuerAndClient(issuer: string, clientId: string): Promise<readonly Provider[]>
  /** uid of the first provider of the verified organization with this name; undefined for none, with the same work. */
  uidByOrganizationName(name: string): Promise<string | undefined>
}

/** Organizations that share a client are few. */
const SHARING_MAX = 20

/**
 * `operator`: the operator's at this moment, which a reload replaces. `authUrl`: the address of the token service, whose own tokens are no proof of a provider: they show who their
 * bearer is here already.
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
      const known = offered().find((provider) => provider.id === id)
      if (known !== undefined) return known
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

/** An organization's provider from its row, with its secret. */
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

/** An organization's provider as an exchange needs to know it; undefined when there is none (any more). */
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

/** How far a sign-in through a provider counts. */
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

/** uid of the provider that is meant by its own uid, or by the name of its organization. */
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
