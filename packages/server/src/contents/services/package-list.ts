import type { ImagePackage } from '@berth/image-contents/contents.ts'

/** Filters and orders the packages of one image, which are read whole. */

export interface PackageFilter {
  readonly type: string
  readonly namePrefix: string
  readonly license: string
}

/** The values that order a package: its sort keys, then the rest, so that the order is total. */
export type PackageCursor = readonly string[]

export const packageSortFields = { name: 'name', type: 'type' }

export function filterPackages(
  packages: readonly ImagePackage[],
  { type, namePrefix, license }: PackageFilter,
): ImagePackage[] {
  const wanted = license.toLowerCase()
  return packages.filter(
    (one) =>
      (type === '' || one.type === type) &&
      one.name.startsWith(namePrefix) &&
      (license === '' || one.license.toLowerCase().includes(wanted)),
  )
}

interface OrderKey {
  readonly column: string
  readonly descending: boolean
}

export function cursorOf(found: ImagePackage, order: readonly OrderKey[]): PackageCursor {
  const keys = order.flatMap(({ column }) => (column === 'type' || column === 'name' ? [found[column]] : []))
  return [...keys, found.name, found.purl, found.path, found.layer]
}

/** Returns the packages after a cursor, in order. */
export function orderPackages(
  packages: readonly ImagePackage[],
  order: readonly OrderKey[],
  after: PackageCursor | undefined,
): ImagePackage[] {
  const directions = order.filter(({ column }) => column === 'type' || column === 'name')
  const compare = (a: PackageCursor, b: PackageCursor) => {
    for (const [at, value] of a.entries()) {
      const other = b[at] ?? ''
      if (value !== other) return (value < other ? -1 : 1) * (directions[at]?.descending === true ? -1 : 1)
    }
    return 0
  }
  const keyed = packages.map((found) => ({ found, key: cursorOf(found, order) }))
  const rest = after === undefined ? keyed : keyed.filter(({ key }) => compare(key, after) > 0)
  return rest.sort((a, b) => compare(a.key, b.key)).map(({ found }) => found)
}

export interface PackageComparison {
  readonly added: readonly ImagePackage[]
  readonly removed: readonly ImagePackage[]
  readonly changed: readonly ChangedPackage[]
}

export interface ChangedPackage extends Pick<ImagePackage, 'type' | 'namespace' | 'name'> {
  readonly versions: readonly string[]
  readonly otherVersions: readonly string[]
}

/** Compares what two images contain, by type, namespace and name of the packages. An image may have several versions of one. */
export function comparePackages(
  first: readonly ImagePackage[],
  second: readonly ImagePackage[],
): PackageComparison {
  const identity = ({ type, namespace, name }: ImagePackage) => JSON.stringify([type, namespace, name])
  const before = Map.groupBy(first, identity)
  const after = Map.groupBy(second, identity)
  const versionsOf = (packages: readonly ImagePackage[]) =>
    [...new Set(packages.map(({ version }) => version))].sort()
  const added: ImagePackage[] = []
  const removed: ImagePackage[] = []
  const changed: ChangedPackage[] = []
  for (const key of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, current] = [before.get(key), after.get(key)]
    if (old === undefined) added.push(...distinct(current ?? []))
    else if (current === undefined) removed.push(...distinct(old))
    else {
      const [versions, otherVersions] = [versionsOf(old), versionsOf(current)]
      const [{ type, namespace, name } = { type: '', namespace: '', name: '' }] = old
      if (JSON.stringify(versions) !== JSON.stringify(otherVersions))
        changed.push({ type, namespace, name, versions, otherVersions })
    }
  }
  return { added, removed, changed }
}

/** A package that several files of an image list counts once. */
function distinct(packages: readonly ImagePackage[]): ImagePackage[] {
  return [...new Map(packages.map((found) => [found.purl, found])).values()]
}
