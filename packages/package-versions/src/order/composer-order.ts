import { compareDigits, compareLists, isDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/** Packagist: the order of PHP's `version_compare`, without `v` at the start. Names of branches such as `dev-main` are no versions. */
export const composerOrder: VersionOrder<readonly string[]> = {
  parse(text) {
    const version = text.replace(/^v/i, '')
    return /^\d\S*$/.test(version) ? (version.match(/\d+|[^\d\W_]+/gu) ?? []) : undefined
  },
  // Where a version ends, the other one is newer if it goes on with a number or a patch.
  compare: (a, b) => compareLists(a, b, '', comparePart),
}

/** The starts of parts with letters, oldest first; case counts. A part that is not in the list is before all of them. */
const stages: readonly (readonly [start: string, rank: number])[] = [
  ['dev', 1],
  ['alpha', 2],
  ['a', 2],
  ['beta', 3],
  ['b', 3],
  ['RC', 4],
  ['rc', 4],
  ['pl', 7],
  ['p', 7],
]
const END_RANK = 5
const NUMBER_RANK = 6

function rankOf(part: string): number {
  if (part === '') return END_RANK
  if (isDigits(part)) return NUMBER_RANK
  return stages.find(([start]) => part.startsWith(start))?.[1] ?? 0
}

function comparePart(a: string, b: string): number {
  const rank = rankOf(a)
  return rank - rankOf(b) || (rank === NUMBER_RANK ? compareDigits(a, b) : 0)
}
