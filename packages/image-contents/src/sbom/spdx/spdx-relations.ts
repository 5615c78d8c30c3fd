import { documentLimits } from '../../documents/document-limits.ts'
import { type JsonObject, listIn, looseTextsIn, objectsIn, rawText } from '../../documents/json-values.ts'

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
    switch (rawText(relationship, 'relationshipType')) {
      case 'DESCRIBES':
        if (from === document) described.add(to)
        break
      case 'DESCRIBED_BY':
        if (to === document) described.add(from)
        // Melange relates a package to the file that configures its build.
        else built.add(to)
        break
      case 'CONTAINS':
        inImage.add(to)
        append(files, from, to)
        break
      case 'CONTAINED_BY':
        inImage.add(from)
        append(files, to, from)
        break
      case 'GENERATED_FROM':
        built.add(to)
        append(sources, from, to)
        break
      case 'GENERATES':
        built.add(from)
        append(sources, to, from)
        break
      case 'DEPENDS_ON':
        inImage.add(to)
        break
      case 'DEPENDENCY_OF':
        inImage.add(from)
        break
      case 'OTHER':
        if (rawText(relationship, 'comment').startsWith('evident-by')) append(evidence, from, to)
        break
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
