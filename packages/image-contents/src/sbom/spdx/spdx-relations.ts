import { documentLimits } from '../../documents/document-limits.ts'
import { type JsonObject, listIn, looseTextsIn, objectsIn, rawText } from '../../documents/json-values.ts'
import { type ElementRelation, spdxRelation } from '../package-relations.ts'

/** Relations between elements of SPDX 2. */
export function* elementRelations(root: JsonObject): Generator<ElementRelation> {
  for (const relationship of objectsIn(root, 'relationships', documentLimits.sbomRelationshipsMax)) {
    const relation = spdxRelation(
      rawText(relationship, 'relationshipType'),
      rawText(relationship, 'spdxElementId'),
      rawText(relationship, 'relatedSpdxElement'),
    )
    if (relation !== undefined) yield relation
  }
}

/** The relations of SPDX 2 that concern packages. Each is looked up by one id and never followed further, so cycles do no harm. */
export interface SpdxRelations {
  readonly count: number
  readonly isDescribed: (id: string) => boolean
  /** Whether the element is only what a package was built from, and is nowhere in the image. */
  readonly isSource: (id: string) => boolean
  readonly sourcesOf: (id: string) => readonly string[]
  /** Files that the element contains. */
  readonly filesOf: (id: string) => readonly string[]
  /** Files that syft found the package in. */
  readonly evidenceOf: (id: string) => readonly string[]
}

const DOCUMENT = 'SPDXRef-DOCUMENT'

export function readSpdxRelations(root: JsonObject): SpdxRelations {
  const relationships = objectsIn(root, 'relationships', documentLimits.sbomRelationshipsMax)
  const document = rawText(root, 'SPDXID') || DOCUMENT
  listIn(root, 'documentDescribes', documentLimits.sbomPackagesMax)
  const described = new Set(looseTextsIn(root, 'documentDescribes', documentLimits.sbomPackagesMax))
  const inImage = new Set<string>()
  const built = new Set<string>()
  const sources = new Map<string, string[]>()
  const files = new Map<string, string[]>()
  const evidence = new Map<string, string[]>()

  for (const relationship of relationships) {
    const from = rawText(relationship, 'spdxElementId')
    const to = rawText(relationship, 'relatedSpdxElement')
    const type = rawText(relationship, 'relationshipType')
    if (type === 'DESCRIBES' && from === document) described.add(to)
    if (type === 'DESCRIBED_BY') {
      if (to === document) described.add(from)
      // Melange relates a package to the file that configures its build.
      else built.add(to)
    }
    if (type === 'OTHER' && rawText(relationship, 'comment').startsWith('evident-by'))
      append(evidence, from, to)
    const relation = spdxRelation(type, from, to)
    if (relation === undefined) continue
    if (relation.kind === 'generatedFrom') {
      built.add(relation.to)
      append(sources, relation.from, relation.to)
    } else {
      inImage.add(relation.to)
      if (relation.kind === 'contains') append(files, relation.from, relation.to)
    }
  }
  return {
    count: relationships.length,
    isDescribed: (id) => described.has(id),
    isSource: (id) => built.has(id) && !inImage.has(id) && !described.has(id),
    sourcesOf: (id) => sources.get(id) ?? [],
    filesOf: (id) => files.get(id) ?? [],
    evidenceOf: (id) => evidence.get(id) ?? [],
  }
}

function append(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else if (list.length < documentLimits.sbomPackageRelationsMax) list.push(value)
}
