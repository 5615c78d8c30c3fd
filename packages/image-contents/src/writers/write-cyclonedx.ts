import type { Distribution, ImageContents, ImagePackage } from '../contents.ts'
import { ownProperties, syftProperties } from '../sbom/cyclonedx/cyclonedx-properties.ts'
import { createPurl } from '../sbom/package-urls.ts'
import { isLicenseExpression } from './license-text.ts'
import {
  createIds,
  creationTime,
  ecosystemName,
  imagePurlParts,
  nameOf,
  stableUuid,
  timeText,
  type WrittenImage,
} from './written-image.ts'

/** Writes CycloneDX 1.6 in JSON. Reading it again returns the same packages and distribution. */
export function writeCycloneDx(image: WrittenImage, contents: ImageContents): string {
  return JSON.stringify(createCycloneDx(image, contents).document)
}

/** Creates the document, and returns the references of its packages by package URL. */
export function createCycloneDx(image: Omit<WrittenImage, 'namespace'>, contents: ImageContents) {
  const created = creationTime(image)
  const idOf = createIds()
  const references = new Map<string, string[]>()
  const components = contents.packages.map((each) => {
    const reference = `package-${idOf(each.purl, each.path, each.layer)}`
    const known = references.get(each.purl)
    if (known === undefined) references.set(each.purl, [reference])
    else known.push(reference)
    return packageComponent(reference, each)
  })
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${stableUuid(image.digest, created, image.tool.version)}`,
    version: 1,
    metadata: {
      timestamp: created,
      tools: { components: [{ type: 'application', ...image.tool }] },
      component: imageComponent(image),
    },
    components: [
      ...(contents.distribution === undefined ? [] : [systemComponent(contents.distribution)]),
      ...components,
    ],
    ...(contents.problems.length === 0
      ? {}
      : { compositions: [{ aggregate: 'incomplete', assemblies: ['image'] }] }),
  }
  return { document, references }
}

function imageComponent(image: Omit<WrittenImage, 'namespace'>) {
  const purl = createPurl(imagePurlParts(image))?.toString()
  return {
    type: 'container',
    'bom-ref': 'image',
    name: nameOf(image.repository),
    version: image.digest,
    hashes: [{ alg: 'SHA-256', content: image.digest.replace('sha256:', '') }],
    ...(purl === undefined ? {} : { purl }),
  }
}

function systemComponent({ id, versionId, name }: Distribution) {
  return {
    type: 'operating-system',
    'bom-ref': 'operating-system',
    name: id,
    ...(versionId === '' ? {} : { version: versionId }),
    ...properties([
      [syftProperties.distributionId, id],
      [syftProperties.distributionVersion, versionId],
      [syftProperties.distributionName, name],
    ]),
  }
}

function packageComponent(reference: string, each: ImagePackage) {
  const { purl, version, architecture, origin, license, path, layer, builtMs, endOfLifeMs } = each
  return {
    type: 'library',
    'bom-ref': reference,
    name: ecosystemName(each),
    ...(version === '' ? {} : { version }),
    ...(license === '' ? {} : { licenses: [licenseChoice(license)] }),
    purl,
    ...properties([
      [syftProperties.path, path],
      [syftProperties.layer, layer],
      [ownProperties.architecture, architecture],
      [ownProperties.originName, origin?.name ?? ''],
      [ownProperties.originVersion, origin?.version ?? ''],
      [ownProperties.built, timeText(builtMs)],
      [ownProperties.endOfLife, timeText(endOfLifeMs)],
    ]),
  }
}

function licenseChoice(license: string): object {
  return isLicenseExpression(license) ? { expression: license } : { license: { name: license } }
}

export function properties(entries: readonly (readonly [name: string, value: string])[]): object {
  const present = entries.filter(([, value]) => value !== '').map(([name, value]) => ({ name, value }))
  return present.length === 0 ? {} : { properties: present }
}
