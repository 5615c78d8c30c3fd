import type { Distribution } from '../../contents.ts'
import { documentLimits } from '../../documents/document-limits.ts'
import { timeIn } from '../../documents/document-time.ts'
import {
  identifyingText,
  type JsonObject,
  looseObjectsIn,
  looseTextsIn,
  objectIn,
  objectsIn,
  rawText,
  shown,
  shownText,
} from '../../documents/json-values.ts'
import { createPackageCollector, imagePath, type ListedPackage, layerDigest } from '../package-collector.ts'
import { packageRelations } from '../package-relations.ts'
import { distributionId, isKnownDistribution } from '../package-urls.ts'
import type { SbomDocument, SbomSubject } from '../sbom-document.ts'
import { annotationsOf } from './spdx-annotations.ts'
import { licenseNames, licenseOf } from './spdx-licenses.ts'
import { elementRelations, readSpdxRelations, type SpdxRelations } from './spdx-relations.ts'

const { sbomNameCharsMax, sbomPathCharsMax, sbomPurlCharsMax, sbomVersionCharsMax } = documentLimits

/** Reads SPDX 2.2 and 2.3 in JSON. Fails with a DocumentProblem. */
export function readSpdx(root: JsonObject, version: string): SbomDocument {
  const creation = objectIn(root, 'creationInfo')
  const packages = objectsIn(root, 'packages', documentLimits.sbomPackagesMax)
  const files = objectsIn(root, 'files', documentLimits.sbomFilesMax)
  const relations = readSpdxRelations(root)
  const reading: SpdxReading = {
    relations,
    filesById: new Map(files.map((file) => [rawText(file, 'SPDXID'), file])),
    packagesById: new Map(packages.map((each) => [rawText(each, 'SPDXID'), each])),
    purlTypes: new Map(packages.map((each) => [each, purlTypeIn(each)])),
    licenseNames: licenseNames(root),
  }
  const collector = createPackageCollector()
  for (const [index, each] of packages.entries()) {
    if (isInImage(each, relations)) collector.add(`packages[${index}]`, () => listedPackage(each, reading))
  }
  const subject = subjectElement(packages, relations)
  const contents = collector.finish(distributionIn(packages))
  return {
    format: 'SPDX',
    version,
    id: shownText(root, 'documentNamespace', sbomPurlCharsMax),
    name: shownText(root, 'name', sbomNameCharsMax),
    ...creators(creation),
    created: timeIn(creation, 'created'),
    subject: subject && subjectOf(subject),
    elements: {
      packages: packages.length,
      packagesWithPurl: packages.filter((each) => purlsOf(each).length > 0).length,
      files: files.length,
      relationships: relations.count,
      vulnerabilities: 0,
    },
    contents,
    relations: packageRelations(elementRelations(root), {
      purlOf: collector.purlOf,
      image: rawText(subject, 'SPDXID'),
    }),
  }
}

interface SpdxReading {
  readonly relations: SpdxRelations
  readonly filesById: ReadonlyMap<string, JsonObject>
  readonly packagesById: ReadonlyMap<string, JsonObject>
  readonly purlTypes: ReadonlyMap<JsonObject, string>
  readonly licenseNames: ReadonlyMap<string, string>
}

/** `Tool: syft-1.13.0`, `Organization: Anchore, Inc`. */
function creators(creation: JsonObject | undefined): { tools: string[]; authors: string[] } {
  // Syft that is built without a version.
  const withoutPlaceholder = (tool: string) => tool.replace(/-\[not provided\]$/, '')
  const texts = looseTextsIn(creation, 'creators', documentLimits.sbomCreatorsMax)
  const named = (kinds: RegExp) =>
    texts.flatMap((text) => {
      const name = shown(kinds.exec(text)?.[1] ?? '', sbomNameCharsMax)
      return name === '' ? [] : [name]
    })
  return {
    tools: named(/^Tool: (.+)$/).map((tool) =>
      withoutPlaceholder(tool).replace(/^(.+)-(v?\d[^-]*(?:-[a-z]+[.\d]*)?)$/, '$1 $2'),
    ),
    authors: named(/^(?:Organization|Person): (.+)$/),
  }
}

/** Older generators write `PACKAGE_MANAGER` for the category; the type alone decides. */
function purlsOf(element: JsonObject): string[] {
  return looseObjectsIn(element, 'externalRefs', documentLimits.reportListMax)
    .filter((reference) => rawText(reference, 'referenceType') === 'purl')
    .map((reference) => rawText(reference, 'referenceLocator'))
}

/** `OPERATING-SYSTEM`; apko writes `OPERATING_SYSTEM`. */
function purposeOf(element: JsonObject): string {
  return rawText(element, 'primaryPackagePurpose').replaceAll('_', '-')
}

/** SPDX 2.2 has no purpose; syft and trivy state it in the id. */
function isOfKind(element: JsonObject, purpose: string, idPattern: RegExp): boolean {
  return purposeOf(element) === purpose || idPattern.test(rawText(element, 'SPDXID'))
}

const isOperatingSystem = (element: JsonObject) =>
  isOfKind(element, 'OPERATING-SYSTEM', /^SPDXRef-OperatingSystem-/)
const isImage = (element: JsonObject) =>
  isOfKind(element, 'CONTAINER', /^SPDXRef-(?:ContainerImage|DocumentRoot|Filesystem|Repository)-/)

/** Images, operating systems, and sources that packages were only built from, are not in the image. */
function isInImage(element: JsonObject, { isSource }: SpdxRelations): boolean {
  return (
    !isImage(element) &&
    !isOperatingSystem(element) &&
    purposeOf(element) !== 'FILE' &&
    !isSource(rawText(element, 'SPDXID'))
  )
}

function listedPackage(element: JsonObject, reading: SpdxReading): ListedPackage {
  const annotations = annotationsOf(element)
  const evidence = locationOf(element, reading)
  return {
    id: rawText(element, 'SPDXID'),
    purls: purlsOf(element),
    name: identifyingText(element, 'name', sbomNameCharsMax),
    version: identifyingText(element, 'versionInfo', sbomVersionCharsMax),
    ecosystem: annotations.ecosystem,
    group: '',
    architecture: annotations.architecture,
    origin: originIn(element, reading),
    license: licenseOf(element, reading.licenseNames),
    path: imagePath(annotations.path || evidence.path),
    layer: annotations.layer || evidence.layer,
    countsByName: true,
    built: timeIn(element, 'builtDate'),
    endOfLife: timeIn(element, 'validUntilDate'),
  }
}

/** The source package: trivy names it in `sourceInfo`, others by a relation to a package of the same type or with the purpose SOURCE. */
function originIn(element: JsonObject, { relations, packagesById, purlTypes }: SpdxReading) {
  const stated = /^built package from: (\S+) (\S+)$/.exec(shownText(element, 'sourceInfo', sbomNameCharsMax))
  if (stated !== null) return { name: stated[1] as string, version: stated[2] as string }
  const type = purlTypes.get(element) ?? ''
  for (const id of relations.sourcesOf(rawText(element, 'SPDXID'))) {
    const source = packagesById.get(id)
    if (source === undefined) continue
    const isOrigin =
      type !== '' && (purlTypes.get(source) || (purposeOf(source) === 'SOURCE' ? type : '')) === type
    if (isOrigin)
      return {
        name: identifyingText(source, 'name', sbomNameCharsMax),
        version: identifyingText(source, 'versionInfo', sbomVersionCharsMax),
      }
  }
  return undefined
}

function purlTypeIn(element: JsonObject): string {
  return /^pkg:([a-z0-9.+-]+)\//i.exec(purlsOf(element)[0] ?? '')?.[1]?.toLowerCase() ?? ''
}

/** The file that lists the package: a relation of syft, the only file that belongs to the package, or the words of syft. */
function locationOf(
  element: JsonObject,
  { relations, filesById }: SpdxReading,
): { path: string; layer: string } {
  const id = rawText(element, 'SPDXID')
  const own = [
    ...looseTextsIn(element, 'hasFiles', documentLimits.sbomPackageRelationsMax),
    ...relations.filesOf(id),
  ].filter((each) => filesById.has(each))
  const file =
    relations.evidenceOf(id).find((each) => filesById.has(each)) ??
    (new Set(own).size === 1 ? own[0] : undefined)
  const found = file === undefined ? undefined : filesById.get(file)
  if (found !== undefined) {
    const [, layer = ''] = /(?:^|\s)layerID: (\S+)/.exec(rawText(found, 'comment').slice(0, 1000)) ?? []
    return { path: shownText(found, 'fileName', sbomPathCharsMax), layer: layerDigest(layer) }
  }
  const info = shownText(element, 'sourceInfo', sbomPathCharsMax)
  return { path: /^acquired package info from [^:/]+: (\/[^,]+)/.exec(info)?.[1] ?? '', layer: '' }
}

function subjectElement(
  packages: readonly JsonObject[],
  { isDescribed }: SpdxRelations,
): JsonObject | undefined {
  const described = packages.filter((each) => isDescribed(rawText(each, 'SPDXID')))
  return described.find(isImage) ?? described[0] ?? packages.find(isImage)
}

function subjectOf(subject: JsonObject): SbomSubject {
  const version = shownText(subject, 'versionInfo', sbomVersionCharsMax)
  const digests = looseObjectsIn(subject, 'checksums', documentLimits.reportListMax)
    .filter((checksum) => rawText(checksum, 'algorithm') === 'SHA256')
    .map((checksum) => `sha256:${rawText(checksum, 'checksumValue').toLowerCase()}`)
  return {
    name: shownText(subject, 'name', sbomNameCharsMax),
    version,
    purl: shown(purlsOf(subject)[0] ?? '', sbomPurlCharsMax),
    digests: [...new Set([...digests, version].filter((text) => layerDigest(text) !== ''))],
  }
}

function distributionIn(packages: readonly JsonObject[]): Distribution | undefined {
  const system = packages.find(isOperatingSystem)
  const id = distributionId(shownText(system, 'name', sbomNameCharsMax))
  if (system === undefined || !isKnownDistribution(id)) return undefined
  return {
    id,
    versionId: shownText(system, 'versionInfo', sbomVersionCharsMax),
    name: shownText(system, 'summary', sbomNameCharsMax),
  }
}
