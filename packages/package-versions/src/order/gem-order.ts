import { compareDigits, compareLists, compareText, isDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/** RubyGems, as `Gem::Version` documents it: a segment with letters makes a pre-release, and trailing zeros do not count. */
export const gemOrder: VersionOrder<readonly string[]> = {
  parse(text) {
    if (!/^\d+(?:\.[0-9A-Za-z]+)*(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/.test(text)) return undefined
    const segments = text.replaceAll('-', '.pre.').match(/\d+|[A-Za-z]+/g) ?? []
    const letters = segments.findIndex((segment) => !isDigits(segment))
    if (letters < 0) return withoutTrailingZeros(segments)
    return [
      ...withoutTrailingZeros(segments.slice(0, letters)),
      ...withoutTrailingZeros(segments.slice(letters)),
    ]
  },
  compare: (a, b) => compareLists(a, b, '0', compareSegments),
}

function withoutTrailingZeros(segments: readonly string[]): string[] {
  return segments.slice(0, segments.findLastIndex((segment) => !/^0+$/.test(segment)) + 1)
}

function compareSegments(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [isDigits(a), isDigits(b)]
  if (isNumber !== isOtherNumber) return isNumber ? 1 : -1
  return isNumber ? compareDigits(a, b) : compareText(a, b)
}
