import type { Identity, RoleBinding } from '@berth/client'
import { relationshipTypes } from '@berth/workloads/identity-kinds.ts'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged, type Versioned } from '../pages.ts'

/** Identities of workloads. */

export interface IdentityFilter {
  /** A key of `relationshipTypes`; '' for all. */
  readonly kind: string
  /** Start of the name. */
  readonly name: string
  readonly order: string
}

/** An identity of a list, with those of its roles that the user may see. */
export interface ListedIdentity {
  readonly identity: Identity
  readonly roles: readonly RoleBinding[]
}

/** The identities on one page with their roles: an identity can have more of them than a page of roles. */
export async function withRoles(
  identities: readonly Identity[],
  signal: AbortSignal,
): Promise<readonly ListedIdentity[]> {
  if (identities.length === 0) return []
  const filter = { identities: identities.map(({ uid }) => uid), pageSize: PAGE_SIZE_MAX }
  const roleBindings: RoleBinding[] = []
  for await (const binding of api.roleBindings.all(filter, { signal })) roleBindings.push(binding)
  return identities.map((identity) => ({
    identity,
    roles: roleBindings.filter(({ identityUid }) => identityUid === identity.uid),
  }))
}

export const identitiesQuery = (folder: string, { kind, name, order }: IdentityFilter) =>
  paged(['identities', folder, kind, name, order], async (pageToken, signal) => {
    const relationshipType = relationshipTypes[kind]
    const { identities, ...rest } = await api.identities.list(
      {
        uidp: { childrenOf: folder },
        ...(relationshipType !== undefined && { relationshipType }),
        namePrefix: name,
        orderBy: order,
        pageSize: PAGE_SIZE,
        pageToken,
      },
      { signal },
    )
    return { items: await withRoles(identities, signal), ...rest }
  })

export const identityQuery = (uid: string) =>
  queryOptions({
    queryKey: ['identity', uid],
    queryFn: async ({ signal }): Promise<Versioned<Identity>> => {
      const { value, etag } = await api.identities.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

/** The roles of an identity in all folders that the user may read. */
export const rolesOfIdentityQuery = (identity: string) =>
  paged(['bindings', 'of', identity], async (pageToken, signal) => {
    const { roleBindings: items, ...rest } = await api.roleBindings.list(
      { identity, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  })
