import { versionLimits } from './limits.ts'
import { apkOrder } from './order/apk-order.ts'
import { composerOrder } from './order/composer-order.ts'
import { debOrder } from './order/deb-order.ts'
import { dottedOrder } from './order/dotted-order.ts'
import { gemOrder } from './order/gem-order.ts'
import { mavenOrder } from './order/maven-order.ts'
import { nugetOrder } from './order/nuget-order.ts'
import { pypiOrder } from './order/pypi-order.ts'
import { rpmOrder } from './order/rpm-order.ts'
import { pubOrder, semverOrder } from './order/semver-order.ts'
import type { VersionOrder } from './order/version-order.ts'

/** The version order of each scheme. docs/adr/0057-version-order.md says what each one follows. */
const orders = {
  apk: comparerOf(apkOrder),
  cargo: comparerOf(semverOrder),
  composer: comparerOf(composerOrder),
  cran: comparerOf(dottedOrder),
  deb: comparerOf(debOrder),
  gem: comparerOf(gemOrder),
  golang: comparerOf(semverOrder),
  hackage: comparerOf(dottedOrder),
  hex: comparerOf(semverOrder),
  maven: comparerOf(mavenOrder),
  npm: comparerOf(semverOrder),
  nuget: comparerOf(nugetOrder),
  pub: comparerOf(pubOrder),
  pypi: comparerOf(pypiOrder),
  rpm: comparerOf(rpmOrder),
  semver: comparerOf(semverOrder),
} as const

/** Named as the types of package URLs; `semver` is for ecosystems without a type of their own. */
export type VersionScheme = keyof typeof orders

export const versionSchemes = Object.keys(orders) as readonly VersionScheme[]

/**
 * Compares two versions. Returns a negative number if `a` is older, 0 if they are equal, a positive number if `a` is newer, and undefined if
 * one of them is no version of the scheme or is longer than `versionCharsMax`.
 */
export function compareVersions(scheme: VersionScheme, a: string, b: string): number | undefined {
  const { versionCharsMax: max } = versionLimits
  return a.length > max || b.length > max ? undefined : orders[scheme](a, b)
}

function comparerOf<T>({ parse, compare }: VersionOrder<T>) {
  return (a: string, b: string): number | undefined => {
    const left = parse(a)
    const right = parse(b)
    return left === undefined || right === undefined ? undefined : compare(left, right)
  }
}
