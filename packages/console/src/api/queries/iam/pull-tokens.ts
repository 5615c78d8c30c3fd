import type { Identity } from '@berth/client'
import { PULL_TOKEN_ISSUER } from '@berth/workloads/identity-kinds.ts'
import { queryOptions } from '@tanstack/react-query'
import { DAY_MS } from '../../../durations.ts'
import { api } from '../../client.ts'
import { PAGE_SIZE, paged } from '../pages.ts'
import { withRoles } from './identities.ts'

/** Pull tokens: identities with static keys of the issuer of pull tokens. */
const SHOWN_MAX = 10
/** Pull tokens that expire within this time are shown on the home page. */
export const EXPIRES_SOON_MS = 14 * DAY_MS

export interface ExpiringPullTokens {
  /** At most ten, those that expire next first. Expired ones are not in the list. */
  readonly pullTokens: readonly Identity[]
  /** How many expire soon, as text. */
  readonly totalCount: string
}

/** The pull tokens that expire soon: in all folders that the user may read, or in `folder` and below. */
export const expiringPullTokensQuery = (folder = '') =>
  queryOptions({
    queryKey: ['pull-tokens', 'expiring', folder],
    queryFn: async ({ signal }): Promise<ExpiringPullTokens> => {
      const now = Date.now()
      const { identities, totalCount = '0' } = await api.identities.list(
        {
          issuer: PULL_TOKEN_ISSUER,
          expiresAfter: new Date(now).toISOString(),
          expiresBefore: new Date(now + EXPIRES_SOON_MS).toISOString(),
          ...(folder !== '' && { uidp: { descendantsOf: folder } }),
          orderBy: 'expiration_time',
          pageSize: SHOWN_MAX,
        },
        { signal },
      )
      return { pullTokens: identities, totalCount }
    },
  })

export const pullTokensQuery = (folder: string, orderBy: string) =>
  paged(['pull-tokens', folder, orderBy], async (pageToken, signal) => {
    const { identities, ...rest } = await api.identities.list(
      {
        uidp: { childrenOf: folder },
        issuer: PULL_TOKEN_ISSUER,
        orderBy,
        pageSize: PAGE_SIZE,
        pageToken,
      },
      { signal },
    )
    return { items: await withRoles(identities, signal), ...rest }
  })
