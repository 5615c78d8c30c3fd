import { type Finding, Finding_State } from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'

/** Compares the findings of two images. */

export interface FindingsDifference {
  readonly added: Finding[]
  readonly removed: Finding[]
  /** As they are in the second image. */
  readonly changed: Finding[]
}

/**
 * Returns what the second image has more, less and otherwise. A finding of the same vulnerability in another version of the same
 * package is changed. What affects neither image is no difference. An image can contain several versions of a package: equal ones belong together, the others in their order.
 */
export function compareFindings(before: readonly Finding[], after: readonly Finding[]): FindingsDifference {
  const left = Map.groupBy(before, keyOf)
  const right = Map.groupBy(after, keyOf)
  const difference: FindingsDifference = { added: [], removed: [], changed: [] }
  for (const key of new Set([...left.keys(), ...right.keys()]))
    comparePackage(left.get(key) ?? [], right.get(key) ?? [], difference)
  return difference
}

/** Compares the findings of one vulnerability in the versions of one package. */
function comparePackage(
  before: readonly Finding[],
  after: readonly Finding[],
  difference: FindingsDifference,
) {
  const versions = Map.groupBy(before, ({ version }) => version)
  const others: Finding[] = []
  for (const finding of after) {
    const same = versions.get(finding.version)?.shift()
    if (same === undefined) others.push(finding)
    else if (same.state !== finding.state || same.fixedVersion !== finding.fixedVersion)
      difference.changed.push(finding)
  }
  const gone = [...versions.values()].flat()
  const pairs = others.slice(0, gone.length).map((finding, at) => [finding, gone[at] as Finding] as const)
  for (const [finding, earlier] of pairs)
    if (affects(finding) || affects(earlier)) difference.changed.push(finding)
  difference.added.push(...others.slice(gone.length).filter(affects))
  difference.removed.push(...gone.slice(others.length).filter(affects))
}

const affects = ({ state }: Finding): boolean => state !== Finding_State.NOT_AFFECTED

/** The vulnerability and the package without its version. */
function keyOf({ vulnerability, purl }: Finding): string {
  return `${vulnerability} ${purl.split(/[?#]/)[0]?.replace(/@[^/@]*$/, '') ?? purl}`
}
