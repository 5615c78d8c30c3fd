import type { Distribution, ImageContents, ImagePackage } from '../contents.ts'
import { createPurl } from '../sbom/package-urls.ts'
import { annotationNames } from '../sbom/spdx/spdx-annotations.ts'
import { isLicenseExpression } from './license-text.ts'
import {
  createIds,
  creationTime,
  ecosystemName,
  imagePurlParts,
  nameOf,
  stableId,
  timeText,
  type WrittenImage,
} from './written-image.ts'

const DOCUMENT = 'SPDXRef-DOCUMENT'
const IMAGE = 'SPDXRef-Image'
const SYSTEM = 'SPDXRef-OperatingSystem'
const NO_ASSERTION = 'NOASSERTION'

/** Writes SPDX 2.3 in JSON. Reading it again returns the same packages and distribution. */
export function writeSpdx(image: WrittenImage, contents: ImageContents): string {
  const created = creationTime(image)
  const licenses = createLicenses()
  const sources = createSources()
  const idOf = createIds()
  const relationships: Relationship[] = [relate(DOCUMENT, 'DESCRIBES', IMAGE)]
  if (contents.distribution !== undefined) relationships.push(relate(IMAGE, 'CONTAINS', SYSTEM))
  const packages = contents.packages.map((each) => {
    const id = `SPDXRef-Package-${idOf(each.purl, each.path, each.layer)}`
    relationships.push(relate(IMAGE, 'CONTAINS', id))
    const source = sources.idOf(each)
    if (source !== undefined) relationships.push(relate(id, 'GENERATED_FROM', source))
    return packageElement(id, each, licenses.textOf(each.license), (comment) => ({
      annotationDate: created,
      annotationType: 'OTHER',
      annotator: toolOf(image),
      comment,
    }))
  })
  return JSON.stringify({
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: DOCUMENT,
    name: image.repository,
    documentNamespace: `${image.namespace}/${image.digest.replace(':', '-')}/${stableId(created, image.tool.version)}`,
    ...(contents.problems.length === 0
      ? {}
      : { comment: `Incomplete: ${contents.problems.length} files could not be read.` }),
    creationInfo: { created, creators: [toolOf(image)] },
    packages: [
      imageElement(image),
      ...(contents.distribution === undefined ? [] : [systemElement(contents.distribution)]),
      ...packages,
      ...sources.elements,
    ],
    ...(licenses.extracted.length === 0 ? {} : { hasExtractedLicensingInfos: licenses.extracted }),
    relationships,
  })
}

function toolOf({ tool }: WrittenImage): string {
  return `Tool: ${tool.name}-${tool.version}`
}

interface Relationship {
  readonly spdxElementId: string
  readonly relationshipType: string
  readonly relatedSpdxElement: string
}

function relate(from: string, type: string, to: string): Relationship {
  return { spdxElementId: from, relationshipType: type, relatedSpdxElement: to }
}

const unasserted = { downloadLocation: NO_ASSERTION, filesAnalyzed: false }

function imageElement(image: WrittenImage) {
  const purl = createPurl(imagePurlParts(image))?.toString()
  return {
    name: nameOf(image.repository),
    SPDXID: IMAGE,
    versionInfo: image.digest,
    ...unasserted,
    checksums: [{ algorithm: 'SHA256', checksumValue: image.digest.replace('sha256:', '') }],
    ...(purl === undefined ? {} : { externalRefs: [purlReference(purl)] }),
    primaryPackagePurpose: 'CONTAINER',
  }
}

function systemElement({ id, versionId, name }: Distribution) {
  return {
    name: id,
    SPDXID: SYSTEM,
    ...(versionId === '' ? {} : { versionInfo: versionId }),
    ...unasserted,
    ...(name === '' ? {} : { summary: name }),
    // The specification has a hyphen; its schema, and so what validators accept, an underscore.
    primaryPackagePurpose: 'OPERATING_SYSTEM',
  }
}

function packageElement(
  id: string,
  each: ImagePackage,
  license: string,
  annotation: (comment: string) => object,
) {
  const { purl, version, architecture, path, layer, builtMs, endOfLifeMs } = each
  const annotations = [
    [annotationNames.path, path],
    [annotationNames.layer, layer],
    [annotationNames.architecture, architecture],
  ].flatMap(([key, value]) => (value === '' ? [] : [annotation(`${key}: ${value}`)]))
  return {
    name: ecosystemName(each),
    SPDXID: id,
    ...(version === '' ? {} : { versionInfo: version }),
    ...unasserted,
    licenseConcluded: NO_ASSERTION,
    licenseDeclared: license,
    copyrightText: NO_ASSERTION,
    ...(builtMs === undefined ? {} : { builtDate: timeText(builtMs) }),
    ...(endOfLifeMs === undefined ? {} : { validUntilDate: timeText(endOfLifeMs) }),
    externalRefs: [purlReference(purl)],
    ...(annotations.length === 0 ? {} : { annotations }),
  }
}

function purlReference(purl: string) {
  return { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }
}

/** Licences that are no SPDX expressions are defined in the document. */
function createLicenses() {
  const ids = new Map<string, string>()
  const extracted: { licenseId: string; name: string; extractedText: string }[] = []
  return {
    extracted,
    textOf: (license: string): string => {
      if (license === '') return NO_ASSERTION
      if (isLicenseExpression(license)) return license
      const known = ids.get(license)
      if (known !== undefined) return known
      const licenseId = `LicenseRef-${stableId(license)}`
      ids.set(license, licenseId)
      extracted.push({ licenseId, name: license, extractedText: license })
      return licenseId
    },
  }
}

/** Source packages, one for all packages that were built from it. */
function createSources() {
  const known = new Map<string, string>()
  const elements: object[] = []
  return {
    elements,
    idOf: ({ origin, type }: ImagePackage): string | undefined => {
      if (origin === undefined) return undefined
      const key = stableId(type, origin.name, origin.version)
      const id = `SPDXRef-Source-${key}`
      if (!known.has(key)) {
        known.set(key, id)
        elements.push({
          name: origin.name,
          SPDXID: id,
          ...(origin.version === '' ? {} : { versionInfo: origin.version }),
          ...unasserted,
          primaryPackagePurpose: 'SOURCE',
        })
      }
      return id
    },
  }
}
