import type { X509Certificate } from 'node:crypto'
import { limits } from '../../config/limits.ts'
import { InvalidSignature, printable } from './candidate.ts'
import { describeDigest } from './cosign.ts'
import { members, parseSignatureObject } from './signature-json.ts'

/** What Notation's envelopes of both encodings have in common. Pure. */

const PAYLOAD_TYPE = 'application/vnd.cncf.notary.payload.v1+json'
const SCHEME = 'notary.x509'

/** Critical headers that are understood. */
const knownCritical: readonly unknown[] = ['io.cncf.notary.signingScheme', 'io.cncf.notary.expiry']

interface Envelope {
  readonly contentType: unknown
  readonly scheme: unknown
  readonly critical: readonly unknown[]
  readonly certificates: readonly Buffer[]
  readonly parse: (content: Buffer) => X509Certificate
}

/** Returns the certificates of an envelope. Throws InvalidSignature. */
export function requireEnvelope({ contentType, scheme, critical, certificates, parse }: Envelope): {
  readonly chain: readonly [X509Certificate, ...X509Certificate[]]
} {
  if (contentType !== PAYLOAD_TYPE)
    throw new InvalidSignature(`the envelope has no payload of ${PAYLOAD_TYPE}`)
  if (scheme !== SCHEME)
    throw new InvalidSignature(`the signing scheme must be ${SCHEME}, and is ${describe(scheme)}`)
  const unknown = critical.find((name) => !knownCritical.includes(name))
  if (unknown !== undefined)
    throw new InvalidSignature(`the envelope requires ${describe(unknown)}, which is not supported`)
  if (!critical.includes('io.cncf.notary.signingScheme'))
    throw new InvalidSignature('the envelope does not protect its signing scheme (crit)')
  if (certificates.length > limits.signatureCertificatesMax)
    throw new InvalidSignature(`the envelope has more than ${limits.signatureCertificatesMax} certificates`)
  const [leaf, ...issuers] = certificates.map(parse)
  if (leaf === undefined) throw new InvalidSignature('the envelope has no certificate')
  return { chain: [leaf, ...issuers] }
}

function describe(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? printable(String(value), 100) : 'missing'
}

/** Throws InvalidSignature if the payload is of another image. */
export function requireTarget(payload: Uint8Array, image: string): void {
  const { targetArtifact } = parseSignatureObject(payload, 'the payload')
  const { digest } = members(targetArtifact)
  if (digest !== image)
    throw new InvalidSignature(`the payload is of another image: ${describeDigest(digest)}`)
}
