import type { UnmappedPath } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { excerpt, pathStep, type Scalar, type Value } from '../syntax/source-value.ts'

/** Counts unmapped fields: those that the schema has no field for. */
export interface UnmappedTally {
  readonly add: (path: string, count?: number) => void
  /** Adds every value of a tree that no reader has read. */
  readonly addUnread: (root: Value) => void
  readonly list: () => UnmappedPath[]
}

/** Replaces further paths beyond the limit: free-form parts of a document can have any number. */
const OTHERS = '(other paths)'

const VALUE_CHARS_MAX = 60

export function createUnmappedTally(): UnmappedTally {
  const counts = new Map<string, number>()
  const add = (path: string, count = 1) => {
    const known = counts.has(path) || counts.size < formatLimits.advisoryUnmappedPathsMax
    const key = known ? path : OTHERS
    counts.set(key, (counts.get(key) ?? 0) + count)
  }
  const walk = (value: Value, path: string) => {
    if (value.kind === 'list') {
      const step = path + pathStep(value, '', 'alike')
      for (const item of value.items) walk(item, step)
    } else if (value.kind === 'fields') {
      for (const [name, inner] of value.byName) walk(inner, path + pathStep(value, name, 'alike'))
    } else if (!value.isRead && hasContent(value)) {
      add(path.startsWith('.') ? path.slice(1) : path)
    }
  }
  return {
    add,
    addUnread: (root) => walk(root, ''),
    list: () => [...counts].map(([path, count]) => ({ path, count })),
  }
}

function hasContent({ kind, text }: Scalar): boolean {
  return kind !== 'null' && text !== ''
}

/** Returns the path of a value that this version does not know: `advisories[].events[].type=foo`. */
export function unknownValue(path: string, value: string): string {
  return `${path}=${excerpt(value, VALUE_CHARS_MAX)}`
}
