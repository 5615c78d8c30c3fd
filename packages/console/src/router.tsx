import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { type AddressState, readAddressState, writeAddressState } from './address-query.ts'
import { PartFailure } from './components/lazy-part.tsx'
import { Frame } from './frame/frame.tsx'
import { type PageModule, type PagePath, pageStarts, startFrame, startPage } from './page-starts.ts'
import { NotFound } from './pages/not-found.tsx'
import { uidIn } from './uid.ts'

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
  loader: () => briefly(startFrame()),
})

type Component<Path extends PagePath> = keyof Awaited<ReturnType<(typeof pageStarts)[Path]['load']>> & string

const route = <Path extends PagePath>(path: Path, component: Component<Path>) => {
  const load: () => Promise<PageModule> = pageStarts[path].load
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load, component),
    loader: ({ params, location }: { params: { _splat?: string }; location: { search: AddressState } }) => {
      const { _splat: rest = '' } = params
      const preload = async () => {
        const page = await load()
        await Promise.allSettled(page.preload?.(uidIn(rest), location.search) ?? [])
      }
      return briefly([...startPage(path, rest, location.search), preload()])
    },
  })
}

const routes = root.addChildren([
  route('/', 'HomePage'),
  route('/folders/$', 'FolderPage'),
  route('/repos/$', 'RepoPage'),
  route('/tags/$', 'TagPage'),
  route('/manifests/$', 'ManifestPage'),
  route('/compare/$', 'ComparePage'),
  route('/identities/$', 'IdentityPage'),
  route('/create-identity/$', 'CreateIdentityPage'),
  route('/roles/$', 'RolePage'),
  route('/access/$', 'AccessPage'),
  route('/advisories/', 'AdvisoriesPage'),
  route('/advisories/$', 'AdvisoryPage'),
  route('/advisory-feeds/$', 'AdvisoryFeedPage'),
  route('/settings/$', 'SettingsPage'),
  route('/audit', 'AuditPage'),
  route('/operator', 'OperatorPage'),
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
