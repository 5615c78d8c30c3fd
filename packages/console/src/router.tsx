import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { type AddressState, readAddressState, writeAddressState } from './address-state.ts'
import { ancestorsQuery, folderQuery, foldersQuery, whoAmI } from './api/queries/groups.ts'
import { visibilityQuery } from './api/queries/registry/policies.ts'
import { repoQuery } from './api/queries/registry/repos.ts'
import { queryClient } from './api/query-client.ts'
import { PartFailure } from './components/lazy-part.tsx'
import { Frame } from './frame/frame.tsx'
import { NotFound } from './pages/not-found.tsx'
import { uidIn } from './uid.ts'

/**
 * The pages by their addresses. Resources are addressed by uid, which renaming does not change; what a page shows of them (tab, filters,
 * order) is in the query of the address. A loader starts the first requests of a page while its code is loaded; the page shows what
 * became of them.
 */

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>) => search as AddressState,
  loader: () => {
    void queryClient.prefetchQuery(whoAmI)
    void queryClient.prefetchInfiniteQuery(foldersQuery('/'))
  },
})

const route = <Path extends string>(
  path: Path,
  component: ReturnType<typeof lazyRouteComponent>,
  prefetch?: (uid: string, state: AddressState) => void,
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component,
    loader: ({ params, location }: { params: { _splat?: string }; location: { search: AddressState } }) => {
      const uid = uidIn(params._splat ?? '')
      if (uid === '') return
      void queryClient.prefetchQuery(ancestorsQuery(uid))
      prefetch?.(uid, location.search)
    },
  })

const routes = root.addChildren([
  route(
    '/',
    lazyRouteComponent(() => import('./pages/home.tsx'), 'HomePage'),
  ),
  route(
    '/folders/$',
    lazyRouteComponent(() => import('./pages/folder/folder.tsx'), 'FolderPage'),
    (uid, { tab }) => {
      void queryClient.prefetchQuery(folderQuery(uid))
      if (tab === undefined) void queryClient.prefetchInfiniteQuery(foldersQuery(uid))
    },
  ),
  route(
    '/repos/$',
    lazyRouteComponent(() => import('./pages/repo/repo.tsx'), 'RepoPage'),
    (uid) => {
      void queryClient.prefetchQuery(repoQuery(uid))
      void queryClient.prefetchQuery(visibilityQuery(uid))
    },
  ),
  route(
    '/tags/$',
    lazyRouteComponent(() => import('./pages/tags/tag.tsx'), 'TagPage'),
  ),
  route(
    '/manifests/$',
    lazyRouteComponent(() => import('./pages/manifests/manifest.tsx'), 'ManifestPage'),
  ),
  route(
    '/compare/$',
    lazyRouteComponent(() => import('./pages/compare/compare.tsx'), 'ComparePage'),
  ),
  route(
    '/identities/$',
    lazyRouteComponent(() => import('./pages/identities/identity.tsx'), 'IdentityPage'),
  ),
  route(
    '/create-identity/$',
    lazyRouteComponent(() => import('./pages/create-identity/create-identity.tsx'), 'CreateIdentityPage'),
  ),
  route(
    '/roles/$',
    lazyRouteComponent(() => import('./pages/roles/role.tsx'), 'RolePage'),
  ),
  route(
    '/access/$',
    lazyRouteComponent(() => import('./pages/access/access.tsx'), 'AccessPage'),
  ),
  route(
    // The slash: without it, the router takes it for an advisory without a uid.
    '/advisories/',
    lazyRouteComponent(() => import('./pages/advisories/advisories.tsx'), 'AdvisoriesPage'),
  ),
  route(
    '/advisories/$',
    lazyRouteComponent(() => import('./pages/advisories/advisory.tsx'), 'AdvisoryPage'),
  ),
  route(
    '/advisory-feeds/$',
    lazyRouteComponent(() => import('./pages/advisory-feeds/advisory-feed.tsx'), 'AdvisoryFeedPage'),
  ),
  route(
    '/settings/$',
    lazyRouteComponent(() => import('./pages/settings/settings.tsx'), 'SettingsPage'),
  ),
  route(
    '/audit',
    lazyRouteComponent(() => import('./pages/audit/audit.tsx'), 'AuditPage'),
  ),
  route(
    '/operator',
    lazyRouteComponent(() => import('./pages/operator/operator.tsx'), 'OperatorPage'),
  ),
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
