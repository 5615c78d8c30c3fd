import { documentLimits } from '../../documents/document-limits.ts'
import { DocumentProblem } from '../../documents/document-problem.ts'
import { type JsonObject, looseTextsIn, member, objectsIn, rawText } from '../../documents/json-values.ts'
import { type ElementRelation, spdxRelation } from '../package-relations.ts'

/** The elements of a document of SPDX 3, and the relations that concern packages. */
export interface ElementGraph {
  readonly elements: readonly JsonObject[]
  readonly byId: ReadonlyMap<string, JsonObject>
  readonly packages: readonly JsonObject[]
  readonly files: readonly JsonObject[]
  readonly relationshipCount: number
  /** Those about what the image consists of. */
  readonly relations: () => Iterable<ElementRelation>
  /** Whether the element is only what another was built from, and is nowhere in the image. */
  readonly isSource: (id: string) => boolean
  readonly filesOf: (id: string) => readonly string[]
  readonly declaredLicensesOf: (id: string) => readonly string[]
  readonly concludedLicensesOf: (id: string) => readonly string[]
}

export function typeOf(element: JsonObject): string {
  return rawText(element, 'type') || rawText(element, '@type')
}

export function idOf(element: JsonObject): string {
  return rawText(element, 'spdxId') || rawText(element, '@id')
}

const packageTypes = new Set(['software_Package', 'ai_AIPackage', 'dataset_DatasetPackage'])

export function createElementGraph(root: JsonObject): ElementGraph {
  const { documentValuesMax, sbomPackagesMax, sbomFilesMax, sbomRelationshipsMax } = documentLimits
  // A document with one element has no graph.
  const elements =
    member(root, '@graph') === undefined ? [root] : objectsIn(root, '@graph', documentValuesMax)
  const packages = elements.filter((element) => packageTypes.has(typeOf(element)))
  const files = elements.filter((element) => typeOf(element) === 'software_File')
  const relationships = elements.filter((element) => typeOf(element).endsWith('Relationship'))
  checkCount(packages, sbomPackagesMax, 'packages')
  checkCount(files, sbomFilesMax, 'files')
  checkCount(relationships, sbomRelationshipsMax, 'relationships')

  const fileIds = new Set(files.map(idOf))
  const relations = {
    contains: new Map<string, string[]>(),
    hasDeclaredLicense: new Map<string, string[]>(),
    hasConcludedLicense: new Map<string, string[]>(),
  }
  const built = new Set<string>()
  const inImage = new Set<string>(
    elements
      .filter((element) => ['SpdxDocument', 'software_Sbom'].includes(typeOf(element)))
      .flatMap((element) => looseTextsIn(element, 'rootElement', sbomPackagesMax)),
  )
  for (const relationship of relationships) {
    const from = rawText(relationship, 'from')
    const to = looseTextsIn(relationship, 'to', sbomRelationshipsMax)
    const type = rawText(relationship, 'relationshipType')
    // From the source to what was built.
    if (type === 'generates') built.add(from)
    if (type === 'contains' || type === 'dependsOn') for (const each of to) inImage.add(each)
    if (type === 'contains' || type === 'hasDeclaredLicense' || type === 'hasConcludedLicense') {
      const known = relations[type].get(from)
      const added = type === 'contains' ? to.filter((id) => fileIds.has(id)) : to
      if (known === undefined) relations[type].set(from, added)
      else for (const each of added) known.push(each)
    }
  }
  return {
    elements,
    byId: new Map(elements.map((element) => [idOf(element), element])),
    packages,
    files,
    relationshipCount: relationships.length,
    relations: () => relationsOf(relationships),
    isSource: (id) => built.has(id) && !inImage.has(id),
    filesOf: (id) => relations.contains.get(id) ?? [],
    declaredLicensesOf: (id) => relations.hasDeclaredLicense.get(id) ?? [],
    concludedLicensesOf: (id) => relations.hasConcludedLicense.get(id) ?? [],
  }
}

function* relationsOf(relationships: readonly JsonObject[]): Generator<ElementRelation> {
  for (const relationship of relationships)
    for (const to of looseTextsIn(relationship, 'to', documentLimits.sbomRelationshipsMax)) {
      const type = rawText(relationship, 'relationshipType')
      const relation = spdxRelation(type, rawText(relationship, 'from'), to)
      if (relation !== undefined) yield relation
    }
}

function checkCount(elements: readonly JsonObject[], max: number, what: string): void {
  if (elements.length > max) throw new DocumentProblem(`the document has more than ${max} ${what}`)
}
