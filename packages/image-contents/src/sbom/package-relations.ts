import { documentLimits } from '../documents/document-limits.ts'
import type { PackageRelation, RelationKind } from './sbom-document.ts'

/** A relation between two elements, by the ids that they have in the document. */
export interface ElementRelation {
  readonly kind: RelationKind
  readonly from: string
  readonly to: string
}

/** Names in the specifications of SPDX 2 and 3, and whether the first element is the end of the relation. */
const spdxNames: ReadonlyMap<string, readonly [RelationKind, isReversed: boolean]> = new Map([
  ['CONTAINS', ['contains', false]],
  ['contains', ['contains', false]],
  ['CONTAINED_BY', ['contains', true]],
  ['DEPENDS_ON', ['dependsOn', false]],
  ['dependsOn', ['dependsOn', false]],
  ['DEPENDENCY_OF', ['dependsOn', true]],
  ['RUNTIME_DEPENDENCY_OF', ['dependsOn', true]],
  ['GENERATED_FROM', ['generatedFrom', false]],
  ['GENERATES', ['generatedFrom', true]],
  ['generates', ['generatedFrom', true]],
])

/** Returns undefined for a type of relation that is not about what an image consists of. */
export function spdxRelation(type: string, first: string, second: string): ElementRelation | undefined {
  const known = spdxNames.get(type)
  if (known === undefined) return undefined
  const [kind, isReversed] = known
  return isReversed ? { kind, from: second, to: first } : { kind, from: first, to: second }
}

export interface PackageEnds {
  readonly purlOf: (id: string) => string | undefined
  /** Id of the image; '' if the document does not have it. */
  readonly image: string
}

/** Returns the relations both ends of which are packages of the image, or the image. */
export function packageRelations(
  relations: Iterable<ElementRelation>,
  { purlOf, image }: PackageEnds,
): PackageRelation[] {
  const endOf = (id: string) => purlOf(id) ?? (id !== '' && id === image ? '' : undefined)
  const found = new Map<string, PackageRelation>()
  for (const { kind, ...ids } of relations) {
    const [from, to] = [endOf(ids.from), endOf(ids.to)]
    if (from === undefined || to === undefined || from === to) continue
    found.set(JSON.stringify([kind, from, to]), { kind, from, to })
    if (found.size === documentLimits.sbomRelationsMax) break
  }
  return [...found.values()]
}
