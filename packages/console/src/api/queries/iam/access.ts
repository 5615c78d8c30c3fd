import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { queryClient } from '../../query-client.ts'
import { parentOf } from '../groups.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged } from '../pages.ts'
import { resourcesQuery } from '../resources.ts'

/** Invites and roles. */

export const invitesQuery = (folder: string) =>
  paged(['invites', folder], async (pageToken, signal) => {
    const filter = { uidp: { childrenOf: folder }, pageSize: PAGE_SIZE, pageToken }
    const { groupInvites: items, ...rest } = await api.groupInvites.list(filter, { signal })
    return { items, ...rest }
  })

/** An invite that someone accepted, as the audit log has it. */
export interface Acceptance {
  readonly uid: string
  readonly who: string
  /** The folder of the role; '' if it is not readable. */
  readonly path: string
  readonly time: string | undefined
}

/** The ways to accept an invite: with its code, for the own address, on its page. */
const ACCEPTING = ['AcceptGroupInvite', 'AcceptReceivedInvite', 'AcceptInvite']
const ACCEPTANCES_MAX = 10

/** The last invites to a folder and everything below it that were accepted, the newest first. */
export const acceptancesQuery = (folder: string) =>
  queryOptions({
    queryKey: ['acceptances', folder],
    queryFn: async ({ signal }): Promise<readonly Acceptance[]> => {
      const pages = await Promise.all(
        ACCEPTING.map((method) =>
          api.audit.list(
            // Accepting an invite that is for one person deletes it: two events of one request.
            { uidp: { descendantsOf: folder }, method, code: 0, pageSize: 2 * ACCEPTANCES_MAX },
            { signal },
          ),
        ),
      )
      const byRequest = new Map(
        pages.flatMap(({ events }) => events).map((event) => [event.requestId, event] as const),
      )
      const newest = [...byRequest.values()]
        .sort((a, b) => (b.createTime ?? '').localeCompare(a.createTime ?? ''))
        .slice(0, ACCEPTANCES_MAX)
      if (newest.length === 0) return []
      const uids = newest.flatMap(({ actor, resourceUid }) => [actor, parentOf(resourceUid)])
      const names = await queryClient.fetchQuery(resourcesQuery(uids))
      return newest.map(({ uid, actor, resourceUid, createTime }) => ({
        uid,
        who: names.get(actor)?.name || actor,
        path: names.get(parentOf(resourceUid))?.path ?? '',
        time: createTime,
      }))
    },
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
