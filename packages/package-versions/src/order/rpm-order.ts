import { compareDigits, compareLists, compareText, isDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/** The order of rpm, rpm-version(7): `epoch:version-release`. A version without a release is before the same version with one. */
export const rpmOrder: VersionOrder<RpmVersion> = {
  parse(text) {
    if (text === '' || /\s/.test(text)) return undefined
    const colon = text.indexOf(':')
    const hasEpoch = colon > 0 && isDigits(text.slice(0, colon))
    const rest = hasEpoch ? text.slice(colon + 1) : text
    const hyphen = rest.lastIndexOf('-')
    return {
      epoch: hasEpoch ? text.slice(0, colon) : '',
      version: segmentsOf(hyphen < 0 ? rest : rest.slice(0, hyphen)),
      release: hyphen < 0 ? undefined : segmentsOf(rest.slice(hyphen + 1)),
    }
  },
  compare(a, b) {
    const order = compareDigits(a.epoch, b.epoch) || compareLists(a.version, b.version, END, compareSegments)
    if (order !== 0) return order
    if (a.release === undefined || b.release === undefined)
      return Number(a.release !== undefined) - Number(b.release !== undefined)
    return compareLists(a.release, b.release, END, compareSegments)
  },
}

interface RpmVersion {
  readonly epoch: string
  readonly version: readonly string[]
  readonly release: readonly string[] | undefined
}

const END = ''

/** Runs of digits, runs of ASCII letters, and each `~` and `^`. Everything else only separates. */
function segmentsOf(text: string): string[] {
  return text.match(/\d+|[A-Za-z]+|[~^]/g) ?? []
}

/** `~` is before the end, `^` after the end and before everything else, and digits are after letters. */
function rankOf(segment: string): number {
  if (segment === '~') return 0
  if (segment === END) return 1
  if (segment === '^') return 2
  return isDigits(segment) ? 4 : 3
}

function compareSegments(a: string, b: string): number {
  const rank = rankOf(a)
  return rank - rankOf(b) || (rank === 4 ? compareDigits(a, b) : compareText(a, b))
}
