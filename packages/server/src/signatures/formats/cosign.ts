import { type KeyObject, verify } from 'node:crypto'
import type { TransparencyLogEntry } from '@sigstore/bundle'
import { crypto as digests, RFC3161Timestamp, X509Certificate } from '@sigstore/core'
import type { SignedEntity } from '@sigstore/verify'
import { limits } from '../../config/limits.ts'
import { InvalidSignature, printable, type SigstoreCandidate } from './candidate.ts'
import { parseIssuedCertificate } from './certificates.ts'
import { type Members, members, parseSignatureObject, requireBase64, requireText } from './signature-json.ts'

/**
 * Signatures of cosign in the form of simple signing: a layer is the payload, and its annotations have the signature, and for a certificate
 * also the certificate, the entry of the transparency log and the timestamp
 * (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md). Pure.
 */

export const SIMPLE_SIGNING_TYPE = 'application/vnd.dev.cosign.simplesigning.v1+json'

/** As in payloads of `cosign sign`. */
const PAYLOAD_TYPE = 'cosign container image signature'

/** `annotations`: of the layer. */
export function readCosignSignature(
  payload: Uint8Array,
  annotations: Members,
  image: string,
): SigstoreCandidate {
  const { critical } = parseSignatureObject(payload, 'the payload')
  const { identity, image: signed, type } = members(critical)
  if (type !== PAYLOAD_TYPE) throw new InvalidSignature(`the payload is not of the type "${PAYLOAD_TYPE}"`)
  const digest = members(signed)['docker-manifest-digest']
  if (digest !== image)
    throw new InvalidSignature(`the payload is of another image: ${describeDigest(digest)}`)
  const reference = members(identity)['docker-reference']
  const signature = requireBase64(annotations['dev.cosignproject.cosign/signature'], 'the signature')
  const entry = readLogEntry(annotations['dev.sigstore.cosign/bundle'])
  const timestamp = readTimestamp(annotations['dev.sigstore.cosign/rfc3161timestamp'])
  return {
    kind: 'sigstore',
    dockerReference:
      typeof reference === 'string' ? printable(reference, limits.signatureReasonCharsMax) : '',
    entity: {
      signature: signedPayload(Buffer.from(payload), signature),
      key: readKey(annotations['dev.sigstore.cosign/certificate']),
      tlogEntries: entry === undefined ? [] : [entry],
      timestamps: [
        ...(entry === undefined ? [] : [{ $case: 'transparency-log', tlogEntry: entry } as const]),
        ...(timestamp === undefined ? [] : [{ $case: 'timestamp-authority', timestamp } as const]),
      ],
    },
  }
}

export function describeDigest(digest: unknown): string {
  return typeof digest === 'string' ? printable(digest, 140) : 'it names none'
}

/** The signature of a payload: cosign hashes with SHA-256 for every key but Ed25519, which signs the payload itself. */
function signedPayload(payload: Buffer, signature: Buffer): SignedEntity['signature'] {
  const compareDigest = (other: Buffer) => digests.bufferEqual(other, digests.digest('sha256', payload))
  return {
    signature,
    compareSignature: (other) => digests.bufferEqual(other, signature),
    compareDigest,
    compareSignedDigest: compareDigest,
    verifySignature: (key: KeyObject) =>
      verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', payload, key, signature),
  }
}

function readKey(certificate: unknown): SignedEntity['key'] {
  if (certificate === undefined) return { $case: 'public-key', hint: '' }
  const { raw } = parseIssuedCertificate(requireText(certificate, 'the certificate'))
  return { $case: 'certificate', certificate: X509Certificate.parse(Buffer.from(raw)) }
}

/** Returns the entry of the transparency log, in the form of a bundle. */
function readLogEntry(annotation: unknown): TransparencyLogEntry | undefined {
  if (annotation === undefined) return undefined
  const what = 'the log entry'
  const bundle = parseSignatureObject(Buffer.from(requireText(annotation, what)), what)
  const { body, integratedTime, logIndex, logID } = members(bundle['Payload'])
  const canonicalizedBody = requireBase64(body, 'the body of the log entry')
  const { kind, apiVersion } = parseSignatureObject(canonicalizedBody, 'the body of the log entry')
  if (!Number.isSafeInteger(integratedTime) || !Number.isSafeInteger(logIndex))
    throw new InvalidSignature('the log entry has no time or no index')
  const logId = requireText(logID, 'the id of the log')
  if (!/^[0-9a-f]{64}$/.test(logId)) throw new InvalidSignature('the id of the log is not 64 hex digits')
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logId, 'hex') },
    kindVersion: {
      kind: requireText(kind, 'the kind of the log entry'),
      version: requireText(apiVersion, 'the version of the log entry'),
    },
    integratedTime: String(integratedTime),
    inclusionPromise: {
      signedEntryTimestamp: requireBase64(bundle['SignedEntryTimestamp'], 'the signed entry timestamp'),
    },
    inclusionProof: undefined,
    canonicalizedBody,
  }
}

function readTimestamp(annotation: unknown): RFC3161Timestamp | undefined {
  if (annotation === undefined) return undefined
  const what = 'the timestamp'
  const { SignedRFC3161Timestamp } = parseSignatureObject(Buffer.from(requireText(annotation, what)), what)
  return RFC3161Timestamp.parse(requireBase64(SignedRFC3161Timestamp, what))
}
