import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ChevronRight } from 'lucide-react'
import {
  createContext,
  type MouseEvent,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { foldersQuery } from '../api/queries/groups.ts'
import { ancestorsOf } from '../uid.ts'
import { moveInTree } from './tree-keys.ts'

/**
 * The folders of an organization, as links: by the pattern of WAI-ARIA for trees of navigation, one tab stop. Each level is read when it is
 * opened.
 */
export function FolderTree({ organization, name }: { readonly organization: string; readonly name: string }) {
  const { _splat: current } = useParams({ strict: false })
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(
    () => new Set([organization, ...foldersAbove(current)]),
  )
  // The folder of the page is in view.
  useEffect(() => {
    setExpanded((before) => {
      const after = new Set([...before, ...foldersAbove(current)])
      return after.size === before.size ? before : after
    })
  }, [current])
  const [stop, setStop] = useState(organization)
  const tree = useRef<HTMLUListElement>(null)
  // The folder that had the focus can be closed in, or deleted.
  useEffect(() => {
    if (stop !== organization && tree.current?.querySelector('[tabindex="0"]') === null) setStop(organization)
  })
  const context = useMemo(
    (): TreeContext => ({
      expanded,
      stop,
      setStop,
      toggle: (uid) =>
        setExpanded((before) => {
          const after = new Set(before)
          if (!after.delete(uid)) after.add(uid)
          return after
        }),
    }),
    [expanded, stop],
  )
  return (
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a tree has the markup of a list
    <ul ref={tree} role="tree" aria-label={`Folders of ${name}`} className="tree" onKeyDown={moveInTree}>
      <Tree.Provider value={context}>
        <Folder uid={organization} name={name} />
      </Tree.Provider>
    </ul>
  )
}

interface TreeContext {
  readonly expanded: ReadonlySet<string>
  /** uid of the tab stop. */
  readonly stop: string
  readonly setStop: (uid: string) => void
  readonly toggle: (uid: string) => void
}

const Tree = createContext<TreeContext>({
  expanded: new Set(),
  stop: '',
  setStop: () => undefined,
  toggle: () => undefined,
})

const foldersAbove = (uid: string | undefined) => (uid === undefined ? [] : ancestorsOf(uid))

function Folder({ uid, name }: { readonly uid: string; readonly name: string }) {
  const { expanded, stop, setStop, toggle } = useContext(Tree)
  const below = useId()
  const isExpanded = expanded.has(uid)
  const { data, error, hasNextPage } = useInfiniteQuery({ ...foldersQuery(uid), enabled: isExpanded })
  const children = data?.pages.flatMap((page) => page.items) ?? []
  /** The text of the link to the list, which has what the tree does not show. */
  const rest =
    data === undefined && error !== null ? 'Folders not available' : hasNextPage ? 'More in the list' : ''
  const hasGroup = isExpanded && (children.length > 0 || rest !== '')
  // A folder that was never opened may have some.
  const mayHaveFolders = data === undefined || children.length > 0
  const more = `${uid} more`
  const press = (event: MouseEvent) => {
    const isChevron = event.target instanceof Element && event.target.closest('.chevron') !== null
    if (!isChevron || !mayHaveFolders) return
    event.preventDefault()
    toggle(uid)
  }
  return (
    <li role="none">
      <Link
        to="/folders/$"
        params={{ _splat: uid }}
        role="treeitem"
        activeOptions={{ exact: true, includeSearch: false }}
        title={name}
        tabIndex={uid === stop ? 0 : -1}
        {...(mayHaveFolders && { 'aria-expanded': isExpanded })}
        {...(hasGroup && { 'aria-owns': below })}
        onFocus={() => setStop(uid)}
        onClick={press}
        onKeyDown={({ key, currentTarget }) => {
          const isOpen = currentTarget.ariaExpanded
          if ((key === 'ArrowRight' && isOpen === 'false') || (key === 'ArrowLeft' && isOpen === 'true'))
            toggle(uid)
        }}
      >
        <span className="chevron" aria-hidden>
          {mayHaveFolders && <ChevronRight size={14} />}
        </span>
        <span className="name">{name}</span>
      </Link>
      {hasGroup && (
        // biome-ignore lint/a11y/useSemanticElements: of a tree, not of a form
        <ul id={below} role="group">
          {children.map((child) => (
            <Folder key={child.uid} uid={child.uid} name={child.name} />
          ))}
          {rest !== '' && (
            <li role="none">
              <Link
                to="/folders/$"
                params={{ _splat: uid }}
                search={{ tab: 'folders' }}
                activeOptions={{ includeSearch: true, exact: true }}
                role="treeitem"
                className="muted"
                tabIndex={more === stop ? 0 : -1}
                onFocus={() => setStop(more)}
              >
                <span className="chevron" aria-hidden />
                <span className="name">{rest}</span>
              </Link>
            </li>
          )}
        </ul>
      )}
    </li>
  )
}
