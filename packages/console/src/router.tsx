import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { type AddressState, readAddressState, writeAddressState } from './address-state.ts'
import { ancestorsQuery, folderQuery, foldersQuery, organizationOf, whoAmI } from './api/queries/groups.ts'
import { ancestorNamesQuery } from './api/queries/paths.ts'
import { visibilityQuery } from './api/queries/registry/policies.ts'
import { repoQuery } from './api/queries/registry/repos.ts'
import { queryClient } from './api/query-client.ts'
import { PartFailure } from './components/lazy-part.tsx'
import { Frame } from './frame/frame.tsx'
import { NotFound } from './pages/not-found.tsx'
import { ancestorsOf, uidIn } from './uid.ts'

/**
 * The pages by their addresses. Resources are addressed by uid, which renaming does not change; what a page shows of them (tab, filters,
 * order) is in the query of the address. A loader starts the first requests of a page while its code is loaded, and the page is rendered
 * when they are there: each rendering of a frame, a tree and a table costs a slow processor more than a request.
 */

/** For how long a page waits for its first data: one that is rendered with them is ready earlier than one that is rendered twice. */
const WAIT_MS = 200

const briefly = async (requests: readonly Promise<unknown>[]) => {
  await Promise.race([Promise.allSettled(requests), new Promise((resolve) => setTimeout(resolve, WAIT_MS))])
}

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>) => search as AddressState,
  loader: () =>
    briefly([queryClient.prefetchQuery(whoAmI), queryClient.prefetchInfiniteQuery(foldersQuery('/'))]),
})

type Preload = (uid: string, state: AddressState) => readonly Promise<unknown>[]

interface PageModule {
  /** Loads what else the page shows first. */
  readonly preload?: Preload
  readonly [component: string]: unknown
}

/** `prefetch`: requests that need not wait for the code of the page. */
const route = <Path extends string, Module extends PageModule>(
  path: Path,
  load: () => Promise<Module>,
  component: keyof Module & string,
  prefetch?: Preload,
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load, component),
    loader: ({ params, location }: { params: { _splat?: string }; location: { search: AddressState } }) => {
      const uid = uidIn(params._splat ?? '')
      const preload = async () => {
        const page = await load()
        await Promise.allSettled(page.preload?.(uid, location.search) ?? [])
      }
      return briefly([
        ...(uid === '' ? [] : [...frameQueries(uid), ...(prefetch?.(uid, location.search) ?? [])]),
        preload(),
      ])
    },
  })

/** What the frame and the breadcrumbs show around a page. */
const frameQueries: (uid: string) => readonly Promise<void>[] = (uid) => [
  queryClient.prefetchQuery(ancestorsQuery(uid)),
  queryClient.prefetchQuery(ancestorNamesQuery(uid)),
  // The tree is open down to the page.
  ...[...new Set([organizationOf(uid), ...ancestorsOf(uid)])].map((folder) =>
    queryClient.prefetchInfiniteQuery(foldersQuery(folder)),
  ),
]

const routes = root.addChildren([
  route('/', () => import('./pages/home.tsx'), 'HomePage'),
  route(
    '/folders/$',
    () => import('./pages/folder/folder.tsx'),
    'FolderPage',
    (uid, { tab }) => [
      queryClient.prefetchQuery(folderQuery(uid)),
      ...(tab === undefined ? [queryClient.prefetchInfiniteQuery(foldersQuery(uid))] : []),
    ],
  ),
  route(
    '/repos/$',
    () => import('./pages/repo/repo.tsx'),
    'RepoPage',
    (uid) => [queryClient.prefetchQuery(repoQuery(uid)), queryClient.prefetchQuery(visibilityQuery(uid))],
  ),
  route('/tags/$', () => import('./pages/tags/tag.tsx'), 'TagPage'),
  route('/manifests/$', () => import('./pages/manifests/manifest.tsx'), 'ManifestPage'),
  route('/compare/$', () => import('./pages/compare/compare.tsx'), 'ComparePage'),
  route('/identities/$', () => import('./pages/identities/identity.tsx'), 'IdentityPage'),
  route(
    '/create-identity/$',
    () => import('./pages/create-identity/create-identity.tsx'),
    'CreateIdentityPage',
  ),
  route('/roles/$', () => import('./pages/roles/role.tsx'), 'RolePage'),
  route('/access/$', () => import('./pages/access/access.tsx'), 'AccessPage'),
  route(
    // The slash: without it, the router takes it for an advisory without a uid.
    '/advisories/',
    () => import('./pages/advisories/advisories.tsx'),
    'AdvisoriesPage',
  ),
  route('/advisories/$', () => import('./pages/advisories/advisory.tsx'), 'AdvisoryPage'),
  route('/advisory-feeds/$', () => import('./pages/advisory-feeds/advisory-feed.tsx'), 'AdvisoryFeedPage'),
  route(
    '/settings/$',
    () => import('./pages/settings/settings.tsx'),
    'SettingsPage',
    (uid) => [queryClient.prefetchQuery(folderQuery(uid))],
  ),
  route('/audit', () => import('./pages/audit/audit.tsx'), 'AuditPage'),
  route('/operator', () => import('./pages/operator/operator.tsx'), 'OperatorPage'),
])

export const router = createRouter({
  routeTree: routes,
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error }) => <PartFailure failure={error} />,
  parseSearch: readAddressState,
  stringifySearch: writeAddressState,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
