import { DocumentProblem } from '../documents/document-problem.ts'
import { type JsonObject, member, rawText } from '../documents/json-values.ts'
import { parseJson } from '../documents/parse-json.ts'
import { isScannerReport, readReportObject } from '../reports/read-scanner-report.ts'
import type { ScannerReport } from '../reports/scanner-report.ts'
import { isAnySpdx, isCycloneDx, readSbomObject } from '../sbom/read-sbom.ts'
import type { SbomDocument } from '../sbom/sbom-document.ts'
import type { AttachmentKind } from './classify-artifact.ts'
import { type Attestation, readAttestation } from './read-attestation.ts'

/** What an attached document says about the contents of an image. All are undefined for documents about something else. */
export interface AttachedDocument {
  /** The attestation around the document. Its signatures are not verified. */
  readonly attestation: Attestation | undefined
  /** The document as given: the blob, or what the attestation wraps. */
  readonly content: Uint8Array
  readonly sbom: SbomDocument | undefined
  /** CycloneDX can be an SBOM and a report. */
  readonly report: ScannerReport | undefined
  /** Whether the content is OpenVEX, for the reader of advisories. */
  readonly isOpenvex: boolean
}

/**
 * Reads an attached document. Media types and predicate types only state whether the document is in an attestation: its format is
 * detected, since tools attach documents under general types.
 *
 * Fails with a DocumentProblem if it is malformed, or of another format than the type states.
 */
export function readAttachment(bytes: Uint8Array, holds: AttachmentKind): AttachedDocument {
  const attestation = holds === 'attestation' ? readAttestation(bytes) : undefined
  const content = attestation?.content ?? bytes
  const kind = attestation?.kind ?? holds
  const none = { attestation, content, sbom: undefined, report: undefined, isOpenvex: false }
  switch (kind) {
    case 'provenance':
    case 'other':
    case 'signature':
    case 'unsupported-sbom':
    case 'attestation':
      return none
    case 'custom': {
      // Any content, also text.
      const root = parseOrUndefined(content)
      return root === undefined ? none : { ...none, ...readObject(root) }
    }
    case 'spdx':
    case 'cyclonedx':
      return { ...none, ...requireSbom(readObject(parseJson(content))) }
    case 'vulnerabilities':
    case 'scanner-report':
      return { ...none, report: readReportObject(parseJson(content)) }
    case 'openvex':
      return { ...none, isOpenvex: requireOpenvex(parseJson(content)) }
  }
}

type Read = Pick<AttachedDocument, 'sbom' | 'report' | 'isOpenvex'>

function readObject(root: JsonObject): Read {
  const isBom = isCycloneDx(root)
  const report = isScannerReport(root) ? readReportObject(root) : undefined
  // Vulnerabilities without components are about another document.
  const isSbom =
    isAnySpdx(root) || (isBom && (report === undefined || member(root, 'components') !== undefined))
  return { sbom: isSbom ? readSbomObject(root) : undefined, report, isOpenvex: isOpenvex(root) }
}

function requireSbom(read: Read): Read {
  if (read.sbom !== undefined || read.report !== undefined) return read
  throw new DocumentProblem('the document is neither SPDX nor CycloneDX')
}

function isOpenvex(root: JsonObject): boolean {
  return rawText(root, '@context').startsWith('https://openvex.dev/ns')
}

function requireOpenvex(root: JsonObject): true {
  if (isOpenvex(root)) return true
  throw new DocumentProblem('the document is not OpenVEX')
}

function parseOrUndefined(content: Uint8Array): JsonObject | undefined {
  try {
    return parseJson(content)
  } catch (error) {
    if (error instanceof DocumentProblem) return undefined
    throw error
  }
}
