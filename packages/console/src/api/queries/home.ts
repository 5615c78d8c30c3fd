import type { GroupInvite, Identity, Tag } from '@berth/client'
import { PULL_TOKEN_ISSUER } from '@berth/workloads/identity-kinds.ts'
import { queryOptions } from '@tanstack/react-query'
import { DAY_MS } from '../../durations.ts'
import { api } from '../client.ts'
import { queryClient } from '../query-client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX } from './pages.ts'
import { type ResourceNames, resourcesQuery } from './resources.ts'

/** What the start page shows of all organizations of the user. */
export interface Activity {
  /** Tags, the last pushed first. */
  readonly pushes: readonly Tag[]
  /** Invites that no one has accepted, the first to expire first. */
  readonly invites: readonly GroupInvite[]
  /** Pull tokens and static keys that expire soon, the first to expire first. */
  readonly expiring: readonly Identity[]
  readonly expiringCount: number
  /** A workload has an identity. */
  readonly hasWorkload: boolean
  readonly hasInvited: boolean
  /** Of all of these. */
  readonly names: ResourceNames
}

const PUSHES_MAX = 8
const EXPIRING_MAX = 8
export const EXPIRING_DAYS = 30

/** Six requests, whatever the number of organizations. */
export const activityQuery = queryOptions({
  queryKey: ['activity'],
  queryFn: async ({ signal }): Promise<Activity> => {
    const options = { signal }
    const now = Date.now()
    const [tags, invites, newest, expiring, bindings] = await Promise.all([
      api.tags.list(
        { orderBy: 'updated_at desc', pageSize: PUSHES_MAX, includeDates: true, includeEpochs: true },
        options,
      ),
      api.groupInvites.list({ orderBy: 'created_at desc', pageSize: PAGE_SIZE_MAX }, options),
      api.identities.list({ orderBy: 'created_at desc', pageSize: PAGE_SIZE }, options),
      api.identities.list(
        {
          expiresAfter: new Date(now).toISOString(),
          expiresBefore: new Date(now + EXPIRING_DAYS * DAY_MS).toISOString(),
          orderBy: 'expiration_time',
          pageSize: EXPIRING_MAX,
        },
        options,
      ),
      api.roleBindings.list({ pageSize: 1 }, options),
    ])
    const open = invites.groupInvites
      .filter(({ expirationTime }) => Date.parse(expirationTime ?? '') > now)
      .sort((a, b) => (a.expirationTime ?? '').localeCompare(b.expirationTime ?? ''))
    const uids = [...tags.tags, ...open, ...expiring.identities].map(({ uid }) => uid)
    return {
      pushes: tags.tags,
      invites: open,
      expiring: expiring.identities,
      expiringCount: Number(expiring.totalCount ?? 0),
      hasWorkload: newest.identities.some(
        ({ claimMatch, awsIdentity }) => claimMatch !== undefined || awsIdentity !== undefined,
      ),
      hasInvited: invites.groupInvites.length > 0 || Number(bindings.totalCount ?? 0) > 1,
      names: uids.length === 0 ? new Map() : await queryClient.fetchQuery(resourcesQuery(uids)),
    }
  },
})

/** Invites for the email address of the user. */
export const receivedInvitesQuery = queryOptions({
  queryKey: ['received-invites'],
  queryFn: ({ signal }) => api.invitations.findReceivedInvites({}, { signal }),
})

export const isPullToken = ({ staticKeys }: Identity): boolean => staticKeys?.issuer === PULL_TOKEN_ISSUER
