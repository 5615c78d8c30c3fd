import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { Frame } from './frame/frame.tsx'
import { NotFound } from './pages/not-found.tsx'

/** The pages by their addresses. Resources are addressed by uid, which renaming does not change. */

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound })

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/home.tsx'), 'HomePage'),
})

const folderTabs = ['folders', 'repositories', 'people', 'identities'] as const
export type FolderTab = (typeof folderTabs)[number]

const folder = createRoute({
  getParentRoute: () => root,
  path: '/folders/$',
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: FolderTab } => {
    const known = folderTabs.find((name) => name === tab)
    return known === undefined ? {} : { tab: known }
  },
  component: lazyRouteComponent(() => import('./pages/folder/folder.tsx'), 'FolderPage'),
})

const repo = createRoute({
  getParentRoute: () => root,
  path: '/repos/$',
  component: lazyRouteComponent(() => import('./pages/repo/repo.tsx'), 'RepoPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([home, folder, repo]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
