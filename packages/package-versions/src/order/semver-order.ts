import { compareDigits, compareLists, compareText, isDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/**
 * SemVer 2.0 (section 11), for numbers of any size. As published versions have it: `v` before it, fewer than three numbers (the others are
 * 0), more than three (the others belong to the build), and a pre-release without its hyphen.
 */
export const semverOrder: VersionOrder<SemVer> = { parse: parseSemVer, compare: compareWithoutBuild }

/** Pub: as SemVer, and versions that differ only in the build are ordered by it. */
export const pubOrder: VersionOrder<SemVer> = {
  parse: parseSemVer,
  compare: (a, b) => compareWithoutBuild(a, b) || compareIdentifiers(a.build, b.build),
}

interface SemVer {
  /** Major, minor and patch. */
  readonly numbers: readonly string[]
  /** Undefined for a release. */
  readonly preRelease: readonly string[] | undefined
  readonly build: readonly string[]
}

const SEMVER =
  /^[v=]?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-?([0-9A-Za-z][^+\s]*|(?<=-)[^+\s]+))?(?:[+.]([^\s]*))?$/i

function parseSemVer(text: string): SemVer | undefined {
  const found = SEMVER.exec(text)
  if (found === null) return undefined
  const [, major = '', minor = '', patch = '', preRelease, build] = found
  return {
    numbers: [major, minor, patch],
    preRelease: preRelease?.split('.'),
    build: build === undefined || build === '' ? [] : build.split('.'),
  }
}

function compareWithoutBuild(a: SemVer, b: SemVer): number {
  const order = compareLists(a.numbers, b.numbers, '', compareDigits)
  if (order !== 0) return order
  if (a.preRelease === undefined || b.preRelease === undefined)
    return Number(a.preRelease === undefined) - Number(b.preRelease === undefined)
  return compareIdentifiers(a.preRelease, b.preRelease)
}

/** Fewer identifiers are before more. */
export function compareIdentifiers(a: readonly string[], b: readonly string[]): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const order = compareIdentifier(a[at] ?? '', b[at] ?? '')
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** Numbers are before other identifiers. */
function compareIdentifier(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [isDigits(a), isDigits(b)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return isNumber ? compareDigits(a, b) : compareText(a, b)
}
