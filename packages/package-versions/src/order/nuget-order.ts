import { compareDigits, compareLists } from './compare-parts.ts'
import { compareIdentifiers } from './semver-order.ts'
import type { VersionOrder } from './version-order.ts'

/** NuGet: SemVer with one to four numbers, without regard to case. The build does not count. */
export const nugetOrder: VersionOrder<NugetVersion> = {
  parse(text) {
    const found = /^v?(\d+(?:\.\d+){0,3})(?:-([^+\s]+))?(?:\+\S*)?$/i.exec(text)
    if (found === null) return undefined
    const [, numbers = '', preRelease] = found
    return { numbers: numbers.split('.'), preRelease: preRelease?.toLowerCase().split('.') }
  },
  compare(a, b) {
    const order = compareLists(a.numbers, b.numbers, '', compareDigits)
    if (order !== 0) return order
    if (a.preRelease === undefined || b.preRelease === undefined)
      return Number(a.preRelease === undefined) - Number(b.preRelease === undefined)
    return compareIdentifiers(a.preRelease, b.preRelease)
  },
}

interface NugetVersion {
  readonly numbers: readonly string[]
  /** In lower case; undefined for a release. */
  readonly preRelease: readonly string[] | undefined
}
