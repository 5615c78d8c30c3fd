import { useLocation } from '@tanstack/react-router'
import type { ComponentType, ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { type AddressState, useAddressState, writeAddressState } from '../address-state.ts'
import type { LazyPart } from './lazy-part.tsx'

export interface PageTab {
  /** In the address: `?tab=<id>`. The first tab is not in the address. */
  readonly id: string
  readonly title: string
  readonly content: () => ReactNode
}

/** Tabs with the same props, of which all but the first are loaded when they are opened. */
export type TabParts<P> = readonly (readonly [
  id: string,
  title: string,
  tab: ComponentType<P> | LazyPart<P>,
])[]

/** Loads the code of the open tab. */
export function preloadTab<P>(tabs: TabParts<P>, { tab }: AddressState): readonly Promise<void>[] {
  const [, , open] = tabs.find(([id]) => id === tab) ?? tabs[0] ?? []
  return open !== undefined && 'preload' in open ? [open.preload()] : []
}

/** The tabs of a page. Each is a link, and what it shows is read when it is opened. */
export function PageTabs({ label, tabs }: { readonly label: string; readonly tabs: readonly PageTab[] }) {
  const [{ tab }] = useAddressState()
  const { pathname } = useLocation()
  const selected = tabs.find(({ id }) => id === tab) ?? tabs[0]
  if (selected === undefined) return null
  return (
    <Tabs selectedKey={selected.id}>
      <TabList className="tabs" aria-label={label}>
        {tabs.map(({ id, title }, at) => (
          <Tab
            key={id}
            id={id}
            ref={id === selected.id ? scrollIntoList : null}
            className="tab"
            href={`/console${pathname}${at === 0 ? '' : writeAddressState({ tab: id })}`}
          >
            {title}
          </Tab>
        ))}
      </TabList>
      <TabPanel
        // A panel keeps its first id, which its tab names: each tab has a panel of its own.
        key={selected.id}
        id={selected.id}
        className="tab-panel"
        // A panel without controls is a tab stop. It stays focusable, so that the focus is not lost when its content is loaded.
        render={(props) => <div {...props} tabIndex={props.tabIndex ?? -1} />}
      >
        {selected.content()}
      </TabPanel>
    </Tabs>
  )
}

/** On narrow screens the list scrolls, so that its open tab is in view. Only the list: the page stays where the user has scrolled it. */
function scrollIntoList(tab: HTMLElement | null): void {
  const list = tab?.parentElement
  if (tab === null || !list) return
  const [open, all] = [tab.getBoundingClientRect(), list.getBoundingClientRect()]
  if (open.left < all.left || open.right > all.right)
    list.scrollLeft += open.left - all.left - (all.width - open.width) / 2
}
