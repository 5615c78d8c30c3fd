import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { useAddressState, writeAddressState } from '../address-state.ts'

export interface PageTab {
  /** In the address: `?tab=<id>`. The first tab is not in the address. */
  readonly id: string
  readonly title: string
  readonly content: () => ReactNode
}

/** The tabs of a page. Each is a link, and what it shows is read when it is opened. */
export function PageTabs({ label, tabs }: { readonly label: string; readonly tabs: readonly PageTab[] }) {
  const [{ tab }] = useAddressState()
  const { pathname } = useLocation()
  const selected = tabs.find(({ id }) => id === tab) ?? tabs[0]
  const list = useRef<HTMLDivElement>(null)
  // On narrow screens the list scrolls: the tab that is open is always in view.
  useEffect(() => {
    const open = selected && list.current?.querySelector(`[data-key="${CSS.escape(selected.id)}"]`)
    open?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [selected])
  if (selected === undefined) return null
  return (
    <Tabs selectedKey={selected.id}>
      <TabList ref={list} className="tabs" aria-label={label}>
        {tabs.map(({ id, title }, at) => (
          <Tab
            key={id}
            id={id}
            className="tab"
            href={`/console${pathname}${at === 0 ? '' : writeAddressState({ tab: id })}`}
          >
            {title}
          </Tab>
        ))}
      </TabList>
      <TabPanel
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
