import type { IdentityProvider, UIDPFilter } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { DAY_MS } from '../../durations.ts'
import { api } from '../client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged, type Versioned } from './pages.ts'

/** Usage, identity providers, group mappings and cloud accounts of an organization. */

export const usageQuery = (uid: string) =>
  queryOptions({
    queryKey: ['usage', uid],
    queryFn: ({ signal }) => api.usage.getUsage({ uid }, { signal }),
  })

/** The period that trends show first. */
export const TREND_DAYS = 90

/** The first of the last `days` days, in UTC. */
const startOf = (days: number): string =>
  new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10)

/** At most `PAGE_SIZE_MAX` days: one request. */
export const usageHistoryQuery = (uid: string, days: number) =>
  queryOptions({
    queryKey: ['usage-history', uid, days],
    queryFn: async ({ signal }) => {
      const period = { uid, startDate: startOf(days), pageSize: PAGE_SIZE_MAX }
      return (await api.usage.getUsageHistory(period, { signal })).days
    },
  })

export const repoUsageHistoryQuery = (uid: string, days: number) =>
  queryOptions({
    queryKey: ['repo-usage-history', uid, days],
    queryFn: async ({ signal }) => {
      const period = { uid, startDate: startOf(days), pageSize: PAGE_SIZE_MAX }
      return (await api.usage.getRepoUsageHistory(period, { signal })).days
    },
  })

export const topReposQuery = (uid: string, days: number, orderBy: 'pulls' | 'pushes') =>
  queryOptions({
    queryKey: ['top-repos', uid, days, orderBy],
    queryFn: async ({ signal }) =>
      (await api.usage.getTopRepos({ uid, startDate: startOf(days), orderBy }, { signal })).repos,
  })

export const providersQuery = (organization: string) =>
  paged(['identity-providers', organization], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: organization }, pageSize: PAGE_SIZE, pageToken }
    const { identityProviders: items, ...rest } = await api.identityProviders.list(filter, { signal })
    return { items, ...rest }
  })

/** All of them, for a choice and for their names. */
export const allProvidersQuery = (organization: string) =>
  queryOptions({
    queryKey: ['identity-providers', organization, 'all'],
    queryFn: async ({ signal }): Promise<readonly IdentityProvider[]> => {
      const filter = { uidp: { childrenOf: organization }, pageSize: PAGE_SIZE_MAX }
      const providers: IdentityProvider[] = []
      for await (const provider of api.identityProviders.all(filter, { signal })) providers.push(provider)
      return providers
    },
  })

export const providerQuery = (uid: string) =>
  queryOptions({
    queryKey: ['identity-provider', uid],
    queryFn: async ({ signal }): Promise<Versioned<IdentityProvider>> => {
      const { value, etag } = await api.identityProviders.get(uid, { signal }).withResponse()
      return { value, etag }
    },
  })

export const mappingsQuery = (organization: string) =>
  paged(['group-mappings', organization], async (pageToken, signal) => {
    const filter = { uidp: { descendantsOf: organization }, pageSize: PAGE_SIZE, pageToken }
    const { externalGroupRoleMappings: items, ...rest } = await api.externalGroupRoleMappings.list(filter, {
      signal,
    })
    return { items, ...rest }
  })

/** Of the organization itself, then of its folders: an association has the uid of its group. */
export const associationsQuery = (organization: string) =>
  paged(['account-associations', organization], async (pageToken, signal) => {
    const read = (uidp: UIDPFilter, token: string) =>
      api.accountAssociations.list({ uidp, pageSize: PAGE_SIZE, pageToken: token }, { signal })
    const [own, folders] = await Promise.all([
      pageToken === '' ? read({ ids: [organization] }, '') : undefined,
      read({ descendantsOf: organization }, pageToken),
    ])
    const { accountAssociations, nextPageToken } = folders
    return { items: [...(own?.accountAssociations ?? []), ...accountAssociations], nextPageToken }
  })
