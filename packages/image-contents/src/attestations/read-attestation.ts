import { documentLimits } from '../documents/document-limits.ts'
import { DocumentProblem, quote } from '../documents/document-problem.ts'
import {
  identifyingText,
  isObject,
  type JsonObject,
  member,
  objectIn,
  objectsIn,
  rawText,
  shownText,
} from '../documents/json-values.ts'
import { memberBytes } from '../documents/member-bytes.ts'
import { parseJson } from '../documents/parse-json.ts'
import { type PredicateKind, predicateKind } from './predicate-types.ts'

/** An in-toto statement, signed or not. Reading it verifies no signature. */
export interface Attestation {
  readonly form: 'dsse' | 'sigstore-bundle' | 'statement'
  /** Number of signatures; 0 for a bare statement. */
  readonly signatures: number
  /** `_type` of the statement. */
  readonly statementType: string
  readonly predicateType: string
  readonly kind: PredicateKind
  readonly subjects: readonly AttestationSubject[]
  /**
   * The document that is attested: the bytes of the predicate, or of the document that cosign wraps in it. For kind `custom` it may be
   * anything.
   */
  readonly content: Uint8Array
}

export interface AttestationSubject {
  readonly name: string
  /** `sha256:` or `sha512:` with hexadecimal digits. A subject may have none, only a URI. */
  readonly digests: readonly string[]
}

const STATEMENT_TYPE = /^https:\/\/in-toto\.io\/Statement\/v(?:0\.1|1)$/
const PAYLOAD_TYPES = new Set(['application/vnd.in-toto+json', 'application/vnd.in-toto.statement+json'])
const { attestationSignaturesMax, attestationSubjectsMax, sbomNameCharsMax, sbomPurlCharsMax } =
  documentLimits

/**
 * Reads a DSSE envelope, a bundle of sigstore with one, or a bare statement (as buildkit attaches it) of in-toto 0.1 or 1.
 *
 * Fails with a DocumentProblem for others, for malformed text, and for documents beyond the limits.
 */
export function readAttestation(bytes: Uint8Array): Attestation {
  const root = parseJson(bytes)
  if (rawText(root, 'mediaType').startsWith('application/vnd.dev.sigstore.bundle')) {
    const envelope = objectIn(root, 'dsseEnvelope')
    if (envelope === undefined) throw new DocumentProblem('the bundle of sigstore has no DSSE envelope')
    return readEnvelope(envelope, 'sigstore-bundle')
  }
  if (member(root, 'payload') !== undefined) return readEnvelope(root, 'dsse')
  return readStatement(root, bytes, 'statement', 0)
}

function readEnvelope(envelope: JsonObject, form: 'dsse' | 'sigstore-bundle'): Attestation {
  const type = rawText(envelope, 'payloadType')
  if (!PAYLOAD_TYPES.has(type)) {
    throw new DocumentProblem(`the envelope has a payload of the type ${quote(type)}, not of in-toto`)
  }
  const signatures = objectsIn(envelope, 'signatures', attestationSignaturesMax)
  const bytes = decodePayload(rawText(envelope, 'payload'))
  return readStatement(parseJson(bytes), bytes, form, signatures.length)
}

/** DSSE allows both alphabets of base64. */
function decodePayload(text: string): Buffer {
  if (!/^[\w+/-]*={0,2}$/.test(text)) throw new DocumentProblem('the payload of the envelope is not base64')
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 0) throw new DocumentProblem('the envelope has no payload')
  return bytes
}

function readStatement(
  statement: JsonObject,
  bytes: Uint8Array,
  form: Attestation['form'],
  signatures: number,
): Attestation {
  const statementType = rawText(statement, '_type')
  if (!STATEMENT_TYPE.test(statementType)) {
    throw new DocumentProblem('the document is not an in-toto statement of version 0.1 or 1')
  }
  const predicateType = identifyingText(statement, 'predicateType', sbomPurlCharsMax)
  if (predicateType === '') throw new DocumentProblem('the statement has no predicateType')
  const kind = predicateKind(predicateType)
  return {
    form,
    signatures,
    statementType,
    predicateType,
    kind,
    subjects: objectsIn(statement, 'subject', attestationSubjectsMax).map(readSubject),
    content: contentOf(statement, bytes, kind),
  }
}

function readSubject(subject: JsonObject): AttestationSubject {
  const digest = objectIn(subject, 'digest')
  const digests = (['sha256', 'sha512'] as const).flatMap((algorithm) => {
    const hex = rawText(digest, algorithm)
    const length = algorithm === 'sha256' ? 64 : 128
    return hex.length === length && /^[0-9a-f]+$/i.test(hex) ? [`${algorithm}:${hex.toLowerCase()}`] : []
  })
  return {
    name: shownText(subject, 'name', sbomNameCharsMax) || shownText(subject, 'uri', sbomPurlCharsMax),
    digests,
  }
}

/**
 * The predicate is the document; or a string with its text (`cosign attest --type spdx`); or an object whose `Data` is one of the two
 * (custom content, and CycloneDX of older versions).
 */
function contentOf(statement: JsonObject, bytes: Uint8Array, kind: PredicateKind): Uint8Array {
  const predicate = member(statement, 'predicate')
  if (typeof predicate === 'string') return Buffer.from(predicate)
  const whole = memberBytes(bytes, 'predicate')
  if (!isObject(predicate) || whole === undefined) throw new DocumentProblem('the statement has no predicate')
  const data = member(predicate, 'Data')
  if (!isWrapped(predicate, kind)) return whole
  return typeof data === 'string' ? Buffer.from(data) : (memberBytes(whole, 'Data') ?? whole)
}

function isWrapped(predicate: JsonObject, kind: PredicateKind): boolean {
  const data = member(predicate, 'Data')
  return (
    (kind === 'custom' || kind === 'cyclonedx' || kind === 'spdx') &&
    (typeof data === 'string' || isObject(data))
  )
}
