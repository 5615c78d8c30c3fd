import { useLocation } from '@tanstack/react-router'
import type { ComponentType, ReactNode } from 'react'
import { type AddressState, writeAddressState } from '../address-query.ts'
import { useAddressState } from '../address-state.ts'
import type { LazyPart } from './lazy-part.tsx'
import { Tabs } from './tabs.tsx'

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
    <Tabs
      label={label}
      tabs={tabs.map(({ id, title }, at) => ({
        id,
        title,
        href: `/console${pathname}${at === 0 ? '' : writeAddressState({ tab: id })}`,
      }))}
      selected={selected.id}
      panelClass="tab-panel"
    >
      {selected.content()}
    </Tabs>
  )
}
