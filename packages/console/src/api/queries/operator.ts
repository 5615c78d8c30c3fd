import type { StorageRun } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import type { AddressState } from '../../address-query.ts'
import { api } from '../client.ts'
import { PAGE_SIZE, paged } from './pages.ts'

/** What operators see of the installation. */

export const accountsQuery = ({ q = '', kind = '', suspended = '' }: AddressState) =>
  paged(['operator', 'accounts', q, kind, suspended], async (pageToken, signal) => {
    const filter = {
      query: q,
      ...(kind === '' ? {} : { kind: kind as 'ACCOUNT_KIND_LOCAL' }),
      suspended: suspended === 'yes',
    }
    const { accounts: items, ...rest } = await api.operatorAccounts.list(
      { ...filter, pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  })

export const organizationsQuery = ({ q = '', suspended = '' }: AddressState) =>
  paged(['operator', 'organizations', q, suspended], async (pageToken, signal) => {
    const filter = { query: q, suspended: suspended === 'yes', pageSize: PAGE_SIZE, pageToken }
    const { organizations: items, ...rest } = await api.operatorOrganizations.list(filter, { signal })
    return { items, ...rest }
  })

export const sessionsQuery = (identityUid: string) =>
  paged(['operator', 'sessions', identityUid], async (pageToken, signal) => {
    const filter = { identityUid, pageSize: PAGE_SIZE, pageToken }
    const { sessions: items, ...rest } = await api.operatorSessions.list(filter, { signal })
    return { items, ...rest }
  })

export const signingKeysQuery = paged(['operator', 'keys'], async (_, signal) => {
  const { signingKeys: items } = await api.operatorSigningKeys.list({}, { signal })
  return { items, nextPageToken: '' }
})

export const storageQuery = queryOptions({
  queryKey: ['operator', 'storage'],
  queryFn: ({ signal }) => api.operatorStorage.getStorageStatus({}, { signal }),
})

const POLL_MS = 2000
const IDLE_POLL_MS = 15_000

export const isRunning = ({ state }: Pick<StorageRun, 'state'>): boolean =>
  state === 'STORAGE_RUN_STATE_RUNNING'

/** Polls while a run is in progress. Other nodes and the schedule start runs too. */
export const storageRunsQuery = {
  ...paged(['operator', 'storage-runs'], async (pageToken, signal) => {
    const { runs: items, ...rest } = await api.operatorStorage.list(
      { pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items, ...rest }
  }),
  refetchInterval: ({
    state: { data },
  }: {
    readonly state: {
      readonly data: { readonly pages: readonly { readonly items: readonly StorageRun[] }[] } | undefined
    }
  }) => (data?.pages.some(({ items }) => items.some(isRunning)) ? POLL_MS : IDLE_POLL_MS),
}

export const storageRunQuery = (id: string) =>
  queryOptions({
    queryKey: ['operator', 'storage-run', id],
    queryFn: ({ signal }) => api.operatorStorage.get({ id }, { signal }),
  })

export const jobsQuery = {
  ...paged(['operator', 'jobs'], async (_, signal) => {
    const { jobs: items } = await api.operatorJobs.list({}, { signal })
    return { items, nextPageToken: '' }
  }),
  refetchInterval: IDLE_POLL_MS,
}

export const mailsQuery = (state: string) =>
  paged(['operator', 'mails', state], async (_, signal) => {
    const { mails: items } = await api.operatorJobs.listMails({ state }, { signal })
    return { items, nextPageToken: '' }
  })

export const nodesQuery = queryOptions({
  queryKey: ['operator', 'nodes'],
  queryFn: ({ signal }) => api.operatorNodes.list({}, { signal }),
  refetchInterval: IDLE_POLL_MS,
})
