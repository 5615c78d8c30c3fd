import { type Bundle, bundleFromJSON } from '@sigstore/bundle'
import { toSignedEntity } from '@sigstore/verify'
import { limits } from '../../config/limits.ts'
import { InvalidSignature, printable, type SigstoreCandidate } from './candidate.ts'
import { parseIssuedCertificate } from './certificates.ts'
import { describeDigest } from './cosign.ts'
import { members, parseSignatureObject } from './signature-json.ts'

/**
 * Sigstore bundles with an in-toto statement of the type that `cosign sign` writes. Bundles with other statements are attestations, which
 * are no signatures of the image. Pure.
 */

export const SIGN_PREDICATE = 'https://sigstore.dev/cosign/sign/v1'
const IN_TOTO_TYPE = 'application/vnd.in-toto+json'
const statementTypes: readonly unknown[] = [
  'https://in-toto.io/Statement/v1',
  'https://in-toto.io/Statement/v0.1',
]

/** Returns undefined for an attestation. */
export function readSigstoreBundle(content: Uint8Array, image: string): SigstoreCandidate | undefined {
  const json = parseSignatureObject(content, 'the bundle')
  const bundle = parseBundle(json)
  if (bundle.content.$case !== 'dsseEnvelope')
    throw new InvalidSignature('the bundle has a signature of a file, not a statement about an image')
  const { payload, payloadType, signatures } = bundle.content.dsseEnvelope
  if (payloadType !== IN_TOTO_TYPE) throw new InvalidSignature(`the bundle has no payload of ${IN_TOTO_TYPE}`)
  if (signatures.length !== 1)
    throw new InvalidSignature('the envelope of the bundle must have one signature')
  const { _type: type, subject, predicateType } = parseSignatureObject(payload, 'the statement')
  if (!statementTypes.includes(type))
    throw new InvalidSignature('the payload of the bundle is not a statement of in-toto')
  if (predicateType !== SIGN_PREDICATE) return undefined
  requireSubject(subject, image)
  const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial
  const times = tlogEntries.length + (timestampVerificationData?.rfc3161Timestamps.length ?? 0)
  if (times > limits.signatureTimesMax)
    throw new InvalidSignature(
      `the bundle has more than ${limits.signatureTimesMax} log entries and timestamps`,
    )
  for (const certificate of certificatesOf(bundle)) parseIssuedCertificate(certificate)
  return { kind: 'sigstore', entity: toSignedEntity(bundle), dockerReference: '' }
}

function parseBundle(json: unknown): Bundle {
  try {
    return bundleFromJSON(json)
  } catch (cause) {
    const reason = cause instanceof Error ? printable(cause.message, limits.signatureReasonCharsMax) : ''
    throw new InvalidSignature(`the bundle is invalid: ${reason}`, { cause })
  }
}

/** The certificate of the signer: the first, if there are several. */
function certificatesOf({ verificationMaterial: { content } }: Bundle): Buffer[] {
  switch (content.$case) {
    case 'certificate':
      return [Buffer.from(content.certificate.rawBytes)]
    case 'x509CertificateChain':
      return content.x509CertificateChain.certificates
        .slice(0, 1)
        .map(({ rawBytes }) => Buffer.from(rawBytes))
    default:
      return []
  }
}

function requireSubject(subject: unknown, image: string): void {
  const cut = image.indexOf(':')
  const [algorithm, hex] = [image.slice(0, cut), image.slice(cut + 1)]
  const digests = (Array.isArray(subject) ? subject : []).map(
    (one) => members(members(one)['digest'])[algorithm],
  )
  if (digests.includes(hex)) return
  throw new InvalidSignature(`the statement is of another image: ${describeDigest(digests[0])}`)
}
