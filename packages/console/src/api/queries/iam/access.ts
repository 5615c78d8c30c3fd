import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged } from '../pages.ts'

/** Invites and roles. */

export const invitesQuery = (folder: string) =>
  paged(['invites', folder], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: folder }, pageSize: PAGE_SIZE, pageToken }
    const { groupInvites: items, ...rest } = await api.groupInvites.list(filter, { signal })
    return { items, ...rest }
  })

/** Managed roles, and those of the organization. */
export const rolesQuery = (organization: string) =>
  queryOptions({
    queryKey: ['roles', organization],
    queryFn: async ({ signal }) => {
      const read = async (uidp: object) =>
        (await api.roles.list({ uidp, orderBy: 'name', pageSize: PAGE_SIZE_MAX }, { signal })).roles
      const [managed, own] = await Promise.all([
        read({ inRoot: true }),
        read({ descendantsOf: organization }),
      ])
      return [...own, ...managed]
    },
  })
