import type { TreeLabels } from './output.ts'
import { sanitizeText } from './text-width.ts'

/** Formats items as a tree by their uids. An item whose parent is not in the list is a root. */
export function formatTree<T>(items: readonly T[], { label, root = label, uid }: TreeLabels<T>): string {
  const known = new Set(items.map(uid))
  const parentOf = (of: string) => {
    for (let at = of.lastIndexOf('/'); at > 0; at = of.lastIndexOf('/', at - 1))
      if (known.has(of.slice(0, at))) return of.slice(0, at)
    return ''
  }
  const below = Map.groupBy(items, (item) => parentOf(uid(item)))
  const lines: string[] = []
  const draw = (of: string, prefix: string) => {
    const text = of === '' ? root : label
    const here = (below.get(of) ?? []).toSorted((one, other) => (text(one) < text(other) ? -1 : 1))
    for (const [at, item] of here.entries()) {
      const last = at === here.length - 1
      lines.push(`${of === '' ? '' : `${prefix}${last ? '└ ' : '├ '}`}${sanitizeText(text(item))}`)
      draw(uid(item), of === '' ? '' : `${prefix}${last ? '  ' : '│ '}`)
    }
  }
  draw('', '')
  return lines.map((line) => `${line}\n`).join('')
}
