import { DocumentProblem, quote } from '../documents/document-problem.ts'
import { isObject, type JsonObject, listIn, looseObjectsIn, rawText } from '../documents/json-values.ts'
import { parseJson } from '../documents/parse-json.ts'
import { readCycloneDx } from './cyclonedx/read-cyclonedx.ts'
import type { SbomDocument } from './sbom-document.ts'
import { readSpdx } from './spdx/read-spdx.ts'
import { readSpdx3 } from './spdx3/read-spdx3.ts'

/**
 * Reads SPDX 2.2, 2.3 and 3.0, and CycloneDX 1.2 to 1.7, in JSON. Invalid packages are omitted and reported in `contents.problems`.
 *
 * Fails with a DocumentProblem, whose message continues "could not be read, because", for other formats and versions, malformed text,
 * and documents beyond the limits.
 */
export function readSbom(bytes: Uint8Array): SbomDocument {
  return readSbomObject(parseJson(bytes))
}

const SPDX_VERSIONS = new Set(['2.2', '2.3'])
const CYCLONEDX_VERSIONS = new Set(['1.2', '1.3', '1.4', '1.5', '1.6', '1.7'])

/** As readSbom, of a parsed document. */
export function readSbomObject(root: JsonObject): SbomDocument {
  if (isSpdx(root)) {
    const version = rawText(root, 'spdxVersion').replace(/^SPDX-/, '')
    if (!SPDX_VERSIONS.has(version)) throw unsupported('SPDX', version, [...SPDX_VERSIONS, '3.0'])
    return readSpdx(root, version)
  }
  if (isSpdx3(root)) return readSpdx3(root)
  if (isCycloneDx(root)) {
    const version = rawText(root, 'specVersion')
    if (!CYCLONEDX_VERSIONS.has(version)) throw unsupported('CycloneDX', version, [...CYCLONEDX_VERSIONS])
    return readCycloneDx(root, version)
  }
  throw new DocumentProblem('the document is neither SPDX nor CycloneDX')
}

function unsupported(format: string, version: string, supported: readonly string[]): DocumentProblem {
  const found = version === '' ? 'has no version as text' : `has the version ${quote(version)}`
  return new DocumentProblem(
    `the document is ${format} and ${found}: supported versions are ${supported.join(', ')}`,
  )
}

/** Whether a parsed document is SPDX of any version. */
export function isAnySpdx(root: JsonObject): boolean {
  return isSpdx(root) || isSpdx3(root)
}

function isSpdx(root: JsonObject): boolean {
  return Object.hasOwn(root, 'spdxVersion')
}

function isSpdx3(root: JsonObject): boolean {
  const context = root['@context']
  const contexts = Array.isArray(context) ? listIn(root, '@context', 100) : [context]
  return (
    contexts.some((each) => typeof each === 'string' && /^https:\/\/spdx\.(?:org|github\.io)\//.test(each)) ||
    looseObjectsIn(root, '@graph', 1000).some(
      (element) => isObject(element) && rawText(element, 'type') === 'SpdxDocument',
    )
  )
}

/** Whether a parsed document is CycloneDX. */
export function isCycloneDx(root: JsonObject): boolean {
  return rawText(root, 'bomFormat') === 'CycloneDX'
}
