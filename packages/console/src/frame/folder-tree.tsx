import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ChevronRight } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button, Tree, TreeItem, TreeItemContent } from 'react-aria-components'
import { foldersQuery } from '../api/queries/groups.ts'
import { ancestorsOf } from '../uid.ts'

/** The folders of an organization. Each level is read when it is opened. */
export function FolderTree({ organization, name }: { readonly organization: string; readonly name: string }) {
  const navigate = useNavigate()
  const { _splat: current } = useParams({ strict: false })
  const [expanded, setExpanded] = useState<ReadonlySet<string | number>>(
    () => new Set([organization, ...foldersAbove(current)]),
  )
  // The folder of the page is in view.
  useEffect(() => {
    setExpanded((before) => {
      const after = new Set([...before, ...foldersAbove(current)])
      return after.size === before.size ? before : after
    })
  }, [current])
  return (
    <Tree
      aria-label={`Folders of ${name}`}
      className="tree"
      selectionMode="none"
      expandedKeys={expanded}
      onExpandedChange={setExpanded}
      onAction={(uid) => void navigate({ to: '/folders/$', params: { _splat: String(uid) } })}
    >
      <Folder uid={organization} name={name} expanded={expanded} current={current} />
    </Tree>
  )
}

const foldersAbove = (uid: string | undefined) => (uid === undefined ? [] : ancestorsOf(uid))

interface FolderProps {
  readonly uid: string
  readonly name: string
  readonly expanded: ReadonlySet<string | number>
  readonly current: string | undefined
}

function Folder({ uid, name, expanded, current }: FolderProps) {
  const isExpanded = expanded.has(uid)
  const { data, hasNextPage } = useInfiniteQuery({ ...foldersQuery(uid), enabled: isExpanded })
  const children = data?.pages.flatMap((page) => page.items) ?? []
  return (
    <TreeItem id={uid} textValue={name} hasChildItems={!isExpanded || children.length > 0}>
      <TreeItemContent>
        <Button slot="chevron" className="chevron">
          <ChevronRight aria-hidden size={14} />
        </Button>
        <span className={uid === current ? 'current' : ''} title={name}>
          {name}
        </span>
      </TreeItemContent>
      {isExpanded &&
        children.map((child) => (
          <Folder key={child.uid} uid={child.uid} name={child.name} expanded={expanded} current={current} />
        ))}
      {isExpanded && hasNextPage && (
        <TreeItem id={`${uid} more`} textValue="More in the list">
          <TreeItemContent>
            <span className="muted">More in the list</span>
          </TreeItemContent>
        </TreeItem>
      )}
    </TreeItem>
  )
}
