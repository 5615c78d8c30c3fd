import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { type AddressState, readAddressState, writeAddressState } from './address-state.ts'
import { PartFailure } from './components/lazy-part.tsx'
import { Frame } from './frame/frame.tsx'
import { NotFound } from './pages/not-found.tsx'

/**
 * The pages by their addresses. Resources are addressed by uid, which renaming does not change; what a page shows of them (tab, filters,
 * order) is in the query of the address.
 */

const root = createRootRoute({
  component: Frame,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>) => search as AddressState,
})

const route = <Path extends string>(path: Path, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => root, path, component })

const routes = root.addChildren([
  route(
    '/',
    lazyRouteComponent(() => import('./pages/home.tsx'), 'HomePage'),
  ),
  route(
    '/folders/$',
    lazyRouteComponent(() => import('./pages/folder/folder.tsx'), 'FolderPage'),
  ),
  route(
    '/repos/$',
    lazyRouteComponent(() => import('./pages/repo/repo.tsx'), 'RepoPage'),
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
