import { type AddressState, decoded, readAddressState } from './address-query.ts'
import {
  ancestorsQuery,
  folderQuery,
  foldersQuery,
  organizationOf,
  parentOf,
  whoAmI,
} from './api/queries/groups.ts'
import { activityQuery, receivedInvitesQuery } from './api/queries/home.ts'
import { identitiesQuery, identityQuery } from './api/queries/iam/identities.ts'
import { membersQuery } from './api/queries/iam/members.ts'
import { TREND_DAYS, topReposQuery, usageHistoryQuery, usageQuery } from './api/queries/organization.ts'
import { ancestorNamesQuery } from './api/queries/paths.ts'
import { manifestQuery, repoSummariesQuery } from './api/queries/registry/manifests.ts'
import { visibilityQuery } from './api/queries/registry/policies.ts'
import { repoQuery } from './api/queries/registry/repos.ts'
import { everyTag, tagDetailsQuery, tagQuery, tagsQuery } from './api/queries/registry/tags.ts'
import { queryClient } from './api/query-client.ts'
import { ancestorsOf, uidIn } from './uid.ts'

/**
 * What pages load first: their code, and what they show. It starts before React and the components have been compiled, and so this module
 * and those that it imports use neither.
 */

type Requests = readonly Promise<unknown>[]

export interface PageModule {
  /** Loads what else the page shows first. */
  readonly preload?: (uid: string, state: AddressState) => Requests
  readonly [component: string]: unknown
}

interface PageStart {
  readonly load: () => Promise<PageModule>
  /** `rest`: the address after the prefix of the page. `uid`: the one that it starts with. */
  readonly requests?: (uid: string, state: AddressState, rest: string) => Requests
}

/** The lists of tabs of folders, without filters. */
const folderLists: Readonly<Record<string, (uid: string) => Promise<void>>> = {
  '': (uid) => queryClient.prefetchInfiniteQuery(foldersQuery(uid)),
  repositories: (uid) =>
    queryClient.prefetchInfiniteQuery(
      repoSummariesQuery(uid, { namePrefix: '', isBelow: false, orderBy: 'name' }),
    ),
  people: (uid) => queryClient.prefetchInfiniteQuery(membersQuery(uid, { query: '', kind: '', from: '' })),
  identities: (uid) =>
    queryClient.prefetchInfiniteQuery(identitiesQuery(uid, { kind: '', name: '', order: 'name' })),
}

/** By the path below /console. `$` is the rest of the address, which starts with a uid. */
export const pageStarts = {
  '/': {
    load: () => import('./pages/home.tsx'),
    requests: () => {
      // The page does not wait for it: it is below the organizations, and takes six requests.
      void queryClient.prefetchQuery(activityQuery)
      return [queryClient.prefetchQuery(receivedInvitesQuery)]
    },
  },
  '/folders/$': {
    load: () => import('./pages/folder/folder.tsx'),
    requests: (uid, { tab = '', ...filters }) => {
      // The tab is from the address.
      const isPlain = Object.keys(filters).length === 0 && Object.hasOwn(folderLists, tab)
      const list = isPlain ? folderLists[tab]?.(uid) : undefined
      return [queryClient.prefetchQuery(folderQuery(uid)), ...(list === undefined ? [] : [list])]
    },
  },
  '/repos/$': {
    load: () => import('./pages/repo/repo.tsx'),
    requests: (uid) => [
      queryClient.prefetchQuery(repoQuery(uid)),
      queryClient.prefetchQuery(visibilityQuery(uid)),
      queryClient.prefetchInfiniteQuery(tagsQuery(uid, everyTag)),
    ],
  },
  '/tags/$': {
    load: () => import('./pages/tags/tag.tsx'),
    requests: (uid) => [
      queryClient.prefetchQuery(tagQuery(uid)),
      queryClient.prefetchQuery(repoQuery(parentOf(uid))),
      queryClient.prefetchQuery(tagDetailsQuery(uid)),
    ],
  },
  '/manifests/$': {
    load: () => import('./pages/manifests/manifest.tsx'),
    requests: (uid, _, rest) => [
      queryClient.prefetchQuery(manifestQuery(uid, rest.slice(uid.length + 1))),
      queryClient.prefetchQuery(repoQuery(uid)),
    ],
  },
  '/compare/$': { load: () => import('./pages/compare/compare.tsx') },
  '/identities/$': {
    load: () => import('./pages/identities/identity.tsx'),
    requests: (uid) => [queryClient.prefetchQuery(identityQuery(uid))],
  },
  '/create-identity/$': { load: () => import('./pages/create-identity/create-identity.tsx') },
  '/roles/$': { load: () => import('./pages/roles/role.tsx') },
  '/access/$': { load: () => import('./pages/access/access.tsx') },
  // The slash: without it, the router takes it for an advisory without a uid.
  '/advisories/': { load: () => import('./pages/advisories/advisories.tsx') },
  '/advisories/$': { load: () => import('./pages/advisories/advisory.tsx') },
  '/advisory-feeds/$': { load: () => import('./pages/advisory-feeds/advisory-feed.tsx') },
  '/settings/$': {
    load: () => import('./pages/settings/settings.tsx'),
    requests: (uid, state) => [
      queryClient.prefetchQuery(folderQuery(uid)),
      ...(Object.keys(state).length === 0
        ? [
            queryClient.prefetchQuery(usageQuery(uid)),
            queryClient.prefetchQuery(usageHistoryQuery(uid, TREND_DAYS)),
            queryClient.prefetchQuery(topReposQuery(uid, TREND_DAYS, 'pulls')),
          ]
        : []),
    ],
  },
  '/audit': { load: () => import('./pages/audit/audit.tsx') },
  '/operator': { load: () => import('./pages/operator/operator.tsx') },
} as const satisfies Readonly<Record<string, PageStart>>

export type PagePath = keyof typeof pageStarts

/** Loads what the frame shows of the user. */
export const startFrame = (): Requests => [
  queryClient.prefetchQuery(whoAmI),
  queryClient.prefetchInfiniteQuery(foldersQuery('/')),
]

/** Loads the data of a page, and what the frame and the breadcrumbs show around it. `rest`: what `$` stands for. */
export function startPage(path: PagePath, rest: string, state: AddressState): Requests {
  const uid = uidIn(rest)
  const { requests }: PageStart = pageStarts[path]
  if (uid === '') return path.endsWith('$') ? [] : (requests?.(uid, state, rest) ?? [])
  return [
    queryClient.prefetchQuery(ancestorsQuery(uid)),
    queryClient.prefetchQuery(ancestorNamesQuery(uid)),
    // The tree is open down to the page.
    ...[...new Set([organizationOf(uid), ...ancestorsOf(uid)])].map((folder) =>
      queryClient.prefetchInfiniteQuery(foldersQuery(folder)),
    ),
    ...(requests?.(uid, state, rest) ?? []),
  ]
}

/** Starts to load the page of an address. The router finds what has started. */
export function startAddress({ pathname, search }: Pick<Location, 'pathname' | 'search'>): void {
  startFrame()
  const [, first = '', rest = ''] = /^\/console(\/[^/]*)?\/?(.*)/.exec(decoded(pathname)) ?? []
  const paths = [rest === '' ? first || '/' : `${first}/$`, `${first}/`]
  const path = paths.find((one): one is PagePath => one in pageStarts)
  if (path === undefined) return
  startPage(path, rest, readAddressState(search))
  // The router loads it again, and reports that it fails.
  pageStarts[path].load().catch(() => undefined)
}
