import type { Distribution } from '../../contents.ts'
import { documentLimits } from '../../documents/document-limits.ts'
import { DocumentProblem, quote } from '../../documents/document-problem.ts'
import { timeIn } from '../../documents/document-time.ts'
import {
  identifyingText,
  isObject,
  type JsonObject,
  looseObjectsIn,
  looseTextsIn,
  member,
  rawText,
  shown,
  shownText,
} from '../../documents/json-values.ts'
import { createPackageCollector, imagePath, type ListedPackage } from '../package-collector.ts'
import { packageRelations } from '../package-relations.ts'
import { distributionId, isKnownDistribution } from '../package-urls.ts'
import type { SbomDocument, SbomSubject } from '../sbom-document.ts'
import { createElementGraph, type ElementGraph, idOf, typeOf } from './element-graph.ts'
import { createLicenseReader } from './spdx3-licenses.ts'

const { sbomNameCharsMax, sbomPathCharsMax, sbomPurlCharsMax, sbomVersionCharsMax } = documentLimits

/** Reads SPDX 3.0 in JSON-LD with the published context, whose names are fixed. Fails with a DocumentProblem. */
export function readSpdx3(root: JsonObject): SbomDocument {
  const graph = createElementGraph(root)
  const { packages, files } = graph
  const document = graph.elements.find((element) => typeOf(element) === 'SpdxDocument')
  const creation = creationOf(document, graph)
  const version = versionOf(root, creation)
  if (!/^3\.0(?:\.\d+)?$/.test(version)) {
    throw new DocumentProblem(
      `the document is SPDX and has the version ${quote(version)}: supported versions are 2.2, 2.3, 3.0`,
    )
  }
  const collector = createPackageCollector()
  const licenseOf = createLicenseReader(graph)
  for (const [index, element] of packages.entries()) {
    if (isInImage(element, graph))
      collector.add(`package ${index + 1}`, () => listedPackage(element, graph, licenseOf))
  }
  const subject = subjectElement(document, graph)
  const contents = collector.finish(distributionIn(packages))
  return {
    format: 'SPDX',
    version,
    id: shown(document === undefined ? '' : idOf(document), sbomPurlCharsMax),
    name: shownText(document, 'name', sbomNameCharsMax),
    tools: namesOf(creation, 'createdUsing', graph),
    authors: namesOf(creation, 'createdBy', graph),
    created: timeIn(creation, 'created'),
    subject: subject && subjectOf(subject),
    elements: {
      packages: packages.length,
      packagesWithPurl: packages.filter((element) => purlsOf(element).length > 0).length,
      files: files.length,
      relationships: graph.relationshipCount,
      vulnerabilities: graph.elements.filter((element) => typeOf(element) === 'security_Vulnerability')
        .length,
    },
    contents,
    relations: packageRelations(graph.relations(), {
      purlOf: collector.purlOf,
      image: subject === undefined ? '' : idOf(subject),
    }),
  }
}

/** The information about the creation of an element: an object, or the id of one. */
function creationOf(
  document: JsonObject | undefined,
  { elements, byId }: ElementGraph,
): JsonObject | undefined {
  const value = member(document, 'creationInfo')
  if (isObject(value)) return value
  const named = typeof value === 'string' ? byId.get(value) : undefined
  return named ?? elements.find((element) => typeOf(element) === 'CreationInfo')
}

function versionOf(root: JsonObject, creation: JsonObject | undefined): string {
  const stated = rawText(creation, 'specVersion')
  return stated || (/\/rdf\/(3[\d.]*\d)\//.exec(rawText(root, '@context'))?.[1] ?? '')
}

function namesOf(creation: JsonObject | undefined, field: string, { byId }: ElementGraph): string[] {
  return looseTextsIn(creation, field, documentLimits.sbomCreatorsMax).flatMap((id) => {
    const name = shownText(byId.get(id), 'name', sbomNameCharsMax)
    return name === '' ? [] : [name]
  })
}

function purlsOf(element: JsonObject): string[] {
  const identifiers = looseObjectsIn(element, 'externalIdentifier', documentLimits.reportListMax)
    .filter((identifier) => rawText(identifier, 'externalIdentifierType') === 'packageUrl')
    .map((identifier) => rawText(identifier, 'identifier'))
  return [rawText(element, 'software_packageUrl'), ...identifiers].filter((purl) => purl !== '')
}

const purposeOf = (element: JsonObject) => rawText(element, 'software_primaryPurpose')

function isInImage(element: JsonObject, { isSource }: ElementGraph): boolean {
  return (
    typeOf(element) === 'software_Package' &&
    !['container', 'operatingSystem', 'file'].includes(purposeOf(element)) &&
    !isSource(idOf(element))
  )
}

function listedPackage(
  element: JsonObject,
  graph: ElementGraph,
  licenseOf: (element: JsonObject) => string,
): ListedPackage {
  const ownFiles = graph.filesOf(idOf(element))
  const file = ownFiles.length === 1 ? graph.byId.get(ownFiles[0] as string) : undefined
  return {
    id: idOf(element),
    purls: purlsOf(element),
    name: identifyingText(element, 'name', sbomNameCharsMax),
    version: identifyingText(element, 'software_packageVersion', sbomVersionCharsMax),
    ecosystem: '',
    group: '',
    architecture: '',
    origin: undefined,
    license: licenseOf(element),
    path: imagePath(shownText(file, 'name', sbomPathCharsMax)),
    layer: '',
    countsByName: true,
    built: timeIn(element, 'builtTime'),
    endOfLife: timeIn(element, 'validUntilTime'),
  }
}

function subjectElement(document: JsonObject | undefined, graph: ElementGraph): JsonObject | undefined {
  const max = documentLimits.sbomPackageRelationsMax
  const ids = looseTextsIn(document, 'rootElement', max).flatMap((id) => {
    const element = graph.byId.get(id)
    // The root of a document is often the list of its elements, which has the image as its root.
    return element !== undefined && typeOf(element) === 'software_Sbom'
      ? looseTextsIn(element, 'rootElement', max)
      : [id]
  })
  const roots = ids.map((id) => graph.byId.get(id)).filter((element) => element !== undefined)
  return roots.find((element) => purposeOf(element) === 'container') ?? roots[0]
}

function subjectOf(subject: JsonObject): SbomSubject {
  return {
    name: shownText(subject, 'name', sbomNameCharsMax),
    version: shownText(subject, 'software_packageVersion', sbomVersionCharsMax),
    purl: shown(purlsOf(subject)[0] ?? '', sbomPurlCharsMax),
    digests: looseObjectsIn(subject, 'verifiedUsing', documentLimits.reportListMax)
      .filter((hash) => rawText(hash, 'algorithm') === 'sha256')
      .map((hash) => `sha256:${rawText(hash, 'hashValue').toLowerCase()}`)
      .filter((digest) => /^sha256:[0-9a-f]{64}$/.test(digest)),
  }
}

function distributionIn(packages: readonly JsonObject[]): Distribution | undefined {
  const system = packages.find((element) => purposeOf(element) === 'operatingSystem')
  const id = distributionId(shownText(system, 'name', sbomNameCharsMax))
  if (system === undefined || !isKnownDistribution(id)) return undefined
  return {
    id,
    versionId: shownText(system, 'software_packageVersion', sbomVersionCharsMax),
    name: shownText(system, 'summary', sbomNameCharsMax),
  }
}
