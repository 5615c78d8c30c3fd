import type { Distribution } from '../../contents.ts'
import { documentLimits } from '../../documents/document-limits.ts'
import { DocumentProblem } from '../../documents/document-problem.ts'
import { timeIn } from '../../documents/document-time.ts'
import {
  identifyingText,
  type JsonObject,
  listIn,
  looseObjectsIn,
  looseTextsIn,
  member,
  objectIn,
  objectsIn,
  rawText,
  shown,
  shownText,
} from '../../documents/json-values.ts'
import { createPackageCollector, imagePath, type ListedPackage, layerDigest } from '../package-collector.ts'
import { type ElementRelation, packageRelations } from '../package-relations.ts'
import { distributionId, isKnownDistribution } from '../package-urls.ts'
import type { SbomDocument, SbomSubject } from '../sbom-document.ts'
import { licenseOf } from './cyclonedx-licenses.ts'
import { propertiesOf } from './cyclonedx-properties.ts'

const { sbomNameCharsMax, sbomPackagesMax, sbomPathCharsMax, sbomPurlCharsMax, sbomVersionCharsMax } =
  documentLimits

/** Reads CycloneDX 1.2 to 1.7 in JSON. Fails with a DocumentProblem. */
export function readCycloneDx(root: JsonObject, version: string): SbomDocument {
  const metadata = objectIn(root, 'metadata')
  const subject = objectIn(metadata, 'component')
  const components = allComponents(root)
  const collector = createPackageCollector()
  const parts = subject === undefined ? [] : allComponents(subject)
  for (const [index, component] of [...components, ...parts].entries()) {
    if (isInImage(component)) collector.add(`component ${index + 1}`, () => listedPackage(component))
  }
  const contents = collector.finish(distributionIn(components))
  return {
    format: 'CycloneDX',
    version,
    id: shownText(root, 'serialNumber', sbomPurlCharsMax),
    name: shownText(subject, 'name', sbomNameCharsMax),
    tools: toolsOf(metadata),
    authors: authorsOf(metadata),
    created: timeIn(metadata, 'timestamp'),
    subject: subject === undefined ? undefined : subjectOf(subject),
    elements: {
      packages: components.length,
      packagesWithPurl: components.filter((component) => rawText(component, 'purl') !== '').length,
      files: components.filter((component) => rawText(component, 'type') === 'file').length,
      relationships: listIn(root, 'dependencies', documentLimits.sbomRelationshipsMax).length,
      vulnerabilities: listIn(root, 'vulnerabilities', documentLimits.reportFindingsMax).length,
    },
    contents,
    relations: packageRelations(elementRelations(root, [...components, ...parts]), {
      purlOf: collector.purlOf,
      image: rawText(subject, 'bom-ref'),
    }),
  }
}

/** A component contains those that are listed in it. */
function* elementRelations(root: JsonObject, components: readonly JsonObject[]): Generator<ElementRelation> {
  for (const component of components)
    for (const inner of objectsIn(component, 'components', sbomPackagesMax))
      yield { kind: 'contains', from: rawText(component, 'bom-ref'), to: rawText(inner, 'bom-ref') }
  const { sbomRelationshipsMax: max } = documentLimits
  for (const dependency of looseObjectsIn(root, 'dependencies', max))
    for (const to of looseTextsIn(dependency, 'dependsOn', max))
      yield { kind: 'dependsOn', from: rawText(dependency, 'ref'), to }
}

/** Returns the components at every depth, each before those that it contains. */
export function allComponents(root: JsonObject): JsonObject[] {
  const found: JsonObject[] = []
  const open = [...objectsIn(root, 'components', sbomPackagesMax)].reverse()
  for (let component = open.pop(); component !== undefined; component = open.pop()) {
    if (found.length === sbomPackagesMax) {
      throw new DocumentProblem(`the document has more than ${sbomPackagesMax} components`)
    }
    found.push(component)
    for (const inner of objectsIn(component, 'components', sbomPackagesMax).toReversed()) open.push(inner)
  }
  return found
}

/** `scope` excluded: used to build or test. `isExternal`: expected where the software runs. */
function isInImage(component: JsonObject): boolean {
  const type = rawText(component, 'type')
  return (
    type !== 'operating-system' &&
    type !== 'container' &&
    rawText(component, 'scope') !== 'excluded' &&
    member(component, 'isExternal') !== true
  )
}

/** Types that are packages also without a package URL. Files, devices, data, models and cryptographic assets are not. */
const packageTypes = new Set(['application', 'framework', 'library'])

function listedPackage(component: JsonObject): ListedPackage {
  const properties = propertiesOf(component)
  const purl = rawText(component, 'purl')
  return {
    id: rawText(component, 'bom-ref'),
    purls: purl === '' ? [] : [purl],
    name: identifyingText(component, 'name', sbomNameCharsMax),
    version: identifyingText(component, 'version', sbomVersionCharsMax),
    ecosystem: properties.ecosystem,
    group: identifyingText(component, 'group', sbomNameCharsMax),
    architecture: properties.architecture,
    origin: properties.origin,
    license: licenseOf(component),
    path: imagePath(properties.path || occurrence(component)),
    layer: properties.layer,
    countsByName: packageTypes.has(rawText(component, 'type')),
    built: properties.built,
    endOfLife: properties.endOfLife,
  }
}

function occurrence(component: JsonObject): string {
  const [first] = looseObjectsIn(objectIn(component, 'evidence'), 'occurrences', 1)
  return shownText(first, 'location', sbomPathCharsMax)
}

/** A list of tools until 1.4; since 1.5 an object with components and services. */
function toolsOf(metadata: JsonObject | undefined): string[] {
  const max = documentLimits.sbomCreatorsMax
  const tools = objectIn(metadata, 'tools')
  const all = [...looseObjectsIn(metadata, 'tools', max), ...looseObjectsIn(tools, 'components', max)]
  return all.flatMap((tool) => {
    const name = shownText(tool, 'name', sbomNameCharsMax)
    return name === ''
      ? []
      : [`${name} ${shownText(tool, 'version', sbomVersionCharsMax).replace('[not provided]', '')}`.trim()]
  })
}

function authorsOf(metadata: JsonObject | undefined): string[] {
  return [
    ...looseObjectsIn(metadata, 'authors', documentLimits.sbomCreatorsMax),
    ...['manufacturer', 'manufacture', 'supplier'].map((name) => objectIn(metadata, name)),
  ]
    .map(
      (author) => shownText(author, 'name', sbomNameCharsMax) || shownText(author, 'email', sbomNameCharsMax),
    )
    .filter((name) => name !== '')
}

function subjectOf(subject: JsonObject): SbomSubject {
  const version = shownText(subject, 'version', sbomVersionCharsMax)
  const digests = looseObjectsIn(subject, 'hashes', documentLimits.reportListMax)
    .filter((hash) => rawText(hash, 'alg') === 'SHA-256')
    .map((hash) => `sha256:${rawText(hash, 'content').toLowerCase()}`)
  const purl = shown(rawText(subject, 'purl'), sbomPurlCharsMax)
  const [, inPurl = ''] = /@(sha256(?::|%3A)[0-9a-f]{64})/i.exec(purl) ?? []
  return {
    name: shownText(subject, 'name', sbomNameCharsMax),
    version,
    purl,
    digests: [
      ...new Set(
        [...digests, version, inPurl.replace(/%3A/i, ':')].filter((text) => layerDigest(text) !== ''),
      ),
    ],
  }
}

function distributionIn(components: readonly JsonObject[]): Distribution | undefined {
  const system = components.find((component) => rawText(component, 'type') === 'operating-system')
  if (system === undefined) return undefined
  const { distribution } = propertiesOf(system)
  const id = distributionId(distribution.id || shownText(system, 'name', sbomNameCharsMax))
  if (!isKnownDistribution(id)) return undefined
  return {
    id,
    versionId: distribution.versionId || shownText(system, 'version', sbomVersionCharsMax),
    name: distribution.name,
  }
}
