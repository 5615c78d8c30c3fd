import { fromBinary } from '@bufbuild/protobuf'
import {
  type IdentityProvider_OIDC,
  IdentityProviderSchema,
} from '#gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { openClientSecret } from '../iam/identity-providers.ts'
import { oidcOf } from '../iam/oidc-configuration.ts'
import type { Reader } from '../storage/db.ts'
import { readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import type { IdentityProviderRow } from '../storage/tables.ts'
import type { OrganizationProvider } from '../sts/assume/person.ts'
import type { OperatorProvider } from './operator-providers.ts'
import { groupsIn } from './provider-groups.ts'

/** The OpenID providers through which people sign in: the operator's, for everybody, and those of organizations. */

export interface Provider extends OperatorProvider {
  /** The name of an operator's provider, the uid of an organization's. */
  readonly id: string
  /** uid of the organization whose people sign in with it; '' for an operator's. */
  readonly organization: string
  /** uid of the role that people get in the organization when they come for the first time; '' for none. */
  readonly defaultRole: string
  /** Claim that holds the groups somebody is in; '' for none. */
  readonly groupsClaim: string
}

export interface Providers {
  /** Those that the sign-in page offers to everybody. */
  readonly offered: readonly Provider[]
  /** By name or uid, as it is at this moment; undefined when there is none (any more). */
  byId(id: string): Promise<Provider | undefined>
  /** Those for which a token of this issuer, with these audiences, can have been made: the operator's first. */
  trusting(issuer: string, audiences: readonly string[]): Promise<readonly Provider[]>
  /** uid of the provider that an organization of this name signs in with: its first; undefined when it has none. */
  ofOrganization(name: string): Promise<string | undefined>
}

/** Of one token that are looked at. */
const AUDIENCES_MAX = 20
/** It is enough to know that there are several. */
const SHARING_MAX = 2

export function signInProviders(store: Store, operator: readonly OperatorProvider[]): Providers {
  const offered = operator.map((provider) => ({
    ...provider,
    id: provider.name,
    organization: '',
    defaultRole: '',
    groupsClaim: '',
  }))
  return {
    offered,
    async byId(id) {
      const known = offered.find((provider) => provider.id === id)
      if (known !== undefined) return known
      const row = await readResource(store.db, 'identity_providers', id)
      return row && providerOf(store, row)
    },
    async trusting(issuer, audiences) {
      const rows =
        audiences.length === 0
          ? []
          : await store.db.kysely
              .selectFrom('identity_providers')
              .selectAll()
              .where('issuer', '=', issuer)
              .where('client_id', 'in', audiences.slice(0, AUDIENCES_MAX))
              .orderBy('uid')
              .limit(SHARING_MAX)
              .execute()
      return [
        ...offered.filter((one) => one.issuer === issuer && audiences.includes(one.clientId)),
        ...rows.map((row) => providerOf(store, row)),
      ]
    },
    ofOrganization: (name) => firstProviderOf(store.db.kysely, name),
  }
}

/** An organization's provider from its row, with its secret. */
export function providerOf(store: Store, row: IdentityProviderRow): Provider {
  const oidc: IdentityProvider_OIDC = oidcOf(fromBinary(IdentityProviderSchema, row.configuration))
  return {
    id: row.uid,
    name: row.name,
    label: row.name,
    issuer: oidc.issuer,
    clientId: oidc.clientId,
    clientSecret: openClientSecret(store, row),
    scopes: oidc.additionalScopes,
    requirePkce: oidc.pkceEnabled,
    organization: row.parent,
    defaultRole: row.default_role,
    groupsClaim: oidc.groupsClaim,
  }
}

/** An organization's provider as an exchange needs to know it; undefined when there is none (any more). */
export async function organizationProvider(
  providers: Pick<Providers, 'byId'>,
  uid: string,
): Promise<OrganizationProvider | undefined> {
  const provider = await providers.byId(uid)
  if (provider === undefined || provider.organization === '') return undefined
  const { issuer, clientId, organization, groupsClaim } = provider
  return {
    uid,
    issuer,
    clientId,
    organization,
    groupsOf(payload) {
      const groups = groupsIn(payload, groupsClaim)
      return 'problem' in groups ? undefined : groups
    },
  }
}

async function firstProviderOf(reader: Reader, name: string): Promise<string | undefined> {
  const row = await reader
    .selectFrom('organization_names')
    .innerJoin('identity_providers', 'identity_providers.root', 'organization_names.uid')
    .select('identity_providers.uid')
    .where('organization_names.name', '=', name)
    .orderBy('identity_providers.created_ms')
    .orderBy('identity_providers.uid')
    .executeTakeFirst()
  return row?.uid
}
