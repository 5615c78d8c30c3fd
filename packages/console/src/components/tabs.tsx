import { useRouter } from '@tanstack/react-router'
import {
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'

/**
 * Tabs by the pattern of WAI-ARIA: one tab stop, arrow keys, Home and End select.
 *
 * Not the tabs of React Aria, which are rendered twice, and which compute the style of each element in the panel (ADR 41).
 */

export interface TabItem {
  readonly id: string
  readonly title: string
  /** Address in the console. The tab is a link, which opens in another window too. */
  readonly href?: string
}

interface TabsProps {
  readonly label: string
  readonly tabs: readonly TabItem[]
  /** Id of the open tab. */
  readonly selected: string
  /** Opens a tab without an address. */
  readonly onSelect?: (id: string) => void
  readonly panelClass?: string
  /** What the open tab shows. */
  readonly children: ReactNode
}

export function Tabs({ label, tabs, selected, onSelect, panelClass, children }: TabsProps) {
  const router = useRouter()
  const base = useId()
  const list = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is open
  useEffect(() => {
    if (list.current === null) return
    // Called when the list has its first layout, and its next ones: an effect would compute a layout of its own.
    const observer = new ResizeObserver(() => scrollIntoList(list.current))
    observer.observe(list.current)
    return () => observer.disconnect()
  }, [selected])
  const open = ({ id, href }: TabItem) => {
    if (id === selected) return
    if (href === undefined) onSelect?.(id)
    else router.history.push(href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // The focus is at the tab of the last key, which may not be open yet.
    const focused = tabs.findIndex(({ id }) => `${base}${id}` === document.activeElement?.id)
    const next = tabs[nextIndex(event.key, focused, tabs.length)]
    if (next === undefined) return
    event.preventDefault()
    open(next)
    document.getElementById(`${base}${next.id}`)?.focus()
  }
  return (
    <>
      <div ref={list} className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <TabElement
            key={tab.id}
            tab={tab}
            id={`${base}${tab.id}`}
            panel={tab.id === selected ? `${base}panel` : undefined}
            onOpen={() => open(tab)}
          />
        ))}
      </div>
      <TabPanel key={selected} id={`${base}panel`} labelledBy={`${base}${selected}`} className={panelClass}>
        {children}
      </TabPanel>
    </>
  )
}

interface TabElementProps {
  readonly tab: TabItem
  readonly id: string
  /** Of the open tab. */
  readonly panel: string | undefined
  readonly onOpen: () => void
}

function TabElement({ tab: { title, href }, id, panel, onOpen }: TabElementProps) {
  const isSelected = panel !== undefined
  const props = {
    id,
    role: 'tab',
    className: 'tab',
    'aria-selected': isSelected,
    ...(isSelected && { 'aria-controls': panel, 'data-selected': true }),
    tabIndex: isSelected ? 0 : -1,
  }
  const onClick = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    onOpen()
  }
  return href === undefined ? (
    <button type="button" {...props} onClick={onClick}>
      {title}
    </button>
  ) : (
    <a {...props} href={href} onClick={onClick}>
      {title}
    </a>
  )
}

interface TabPanelProps {
  readonly id: string
  readonly labelledBy: string
  readonly className: string | undefined
  readonly children: ReactNode
}

const CONTROLS = ':is(a[href], button, input, select, textarea, summary, [tabindex="0"]):not(:disabled)'

/** A panel without controls is a tab stop. It stays focusable, so that the focus is not lost when its content is loaded. */
function TabPanel({ id, labelledBy, className, children }: TabPanelProps) {
  const panel = useRef<HTMLDivElement>(null)
  const [hasControls, setHasControls] = useState(true)
  useEffect(() => {
    const element = panel.current
    if (element === null) return
    const update = () => setHasControls(element.querySelector(CONTROLS) !== null)
    const observer = new MutationObserver(update)
    observer.observe(element, { childList: true, subtree: true, attributeFilter: ['tabindex', 'disabled'] })
    update()
    return () => observer.disconnect()
  }, [])
  return (
    <div
      ref={panel}
      id={id}
      role="tabpanel"
      aria-labelledby={labelledBy}
      className={className}
      tabIndex={hasControls ? -1 : 0}
    >
      {children}
    </div>
  )
}

function nextIndex(key: string, current: number, count: number): number {
  switch (key) {
    case 'ArrowRight':
      return (current + 1) % count
    case 'ArrowLeft':
      return (current - 1 + count) % count
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return -1
  }
}

/** On narrow screens the list scrolls, so that its open tab is in view. Only the list: the page stays where the user has scrolled it. */
function scrollIntoList(list: HTMLElement | null): void {
  const tab = list?.querySelector('[aria-selected="true"]')
  // A list that shows all of its tabs needs no layout.
  if (!list || !tab || list.scrollWidth <= list.clientWidth) return
  const [open, all] = [tab.getBoundingClientRect(), list.getBoundingClientRect()]
  if (open.left < all.left || open.right > all.right)
    list.scrollLeft += open.left - all.left - (all.width - open.width) / 2
}
