import type { Manifest } from '@berth/client'
import type { ReactNode } from 'react'
import { plural } from '../../components/quantity.tsx'

interface TagListProps extends Pick<Manifest, 'tags' | 'tagCount'> {
  /** How many are shown. */
  readonly max: number
  /** A link to all of them. */
  readonly all?: ReactNode
}

/** The tags of a manifest. */
export function TagList({ tags, tagCount, max, all }: TagListProps) {
  if (tagCount === 0) return <span className="muted">none</span>
  const shown = tags.slice(0, max)
  const hidden = tagCount - shown.length
  return (
    <span className="tag-list">
      {shown.map((tag) => (
        <span key={tag} className="badge" title={tag}>
          {tag}
        </span>
      ))}
      {hidden > 0 && <span className="hint">and {plural(hidden, 'more', 'more')}</span>}
      {all}
    </span>
  )
}
