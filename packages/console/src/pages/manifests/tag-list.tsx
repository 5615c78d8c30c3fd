import type { Manifest } from '@berth/client'
import { plural } from '../../components/quantity.tsx'

/** The tags of a manifest. `max`: how many are shown. */
export function TagList({
  tags,
  tagCount,
  max,
}: Pick<Manifest, 'tags' | 'tagCount'> & { readonly max: number }) {
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
    </span>
  )
}
