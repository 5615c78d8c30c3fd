import type { X509Certificate } from 'node:crypto'
import { X509Certificate as SigstoreCertificate } from '@sigstore/core'
import { limits } from '../../config/limits.ts'
import { type NotationCandidate, printable } from '../formats/candidate.ts'
import { isIssuedBy } from '../verifiers/pem.ts'
import { matchesSubject } from '../verifiers/subject-names.ts'
import type { NotationTrust } from '../verifiers/trusted-verifier.ts'
import type { Outcome } from './outcome.ts'

/**
 * Verifies Notation's signatures with a trust store, at the level strict of the specification, without revocation checks and timestamps:
 * the certificates must be valid now (https://github.com/notaryproject/specifications/blob/main/specs/trust-store-trust-policy.md).
 */

export async function verifyNotation(
  candidate: NotationCandidate,
  trust: NotationTrust,
  nowMs: number,
): Promise<Outcome> {
  const { chain, signedMs, expiresMs } = candidate
  const anchor = chain.findIndex((certificate) =>
    trust.authorities.some(({ fingerprint256 }) => fingerprint256 === certificate.fingerprint256),
  )
  if (anchor < 0) return { problem: 'does not trust a certificate of the chain' }
  const path = chain.slice(0, anchor + 1)
  const invalid = pathProblem(path)
  if (invalid !== undefined) return { problem: invalid }
  const subject = printable(chain[0].subject.replaceAll('\n', ', '), limits.verifierIdentityCharsMax)
  if (trust.subjects !== '*' && !trust.subjects.some((name) => matchesSubject(chain[0], name)))
    return { problem: `does not trust the identity ${subject}` }
  const validity = validityAt(path, expiresMs, nowMs)
  if ('problem' in validity) return validity
  if (!(await candidate.verify(chain[0].publicKey))) return { problem: 'signature verification failed' }
  return { identity: subject, issuer: '', signedMs, ...validity }
}

/** Validates from the trusted certificate down, so that only keys of trusted issuers verify anything. */
function pathProblem(path: readonly X509Certificate[]): string | undefined {
  for (let at = path.length - 1; at > 0; at--) {
    const [issued, issuer] = [path[at - 1], path[at]]
    if (issued === undefined || issuer === undefined || !issuer.ca)
      return 'an issuer of the certificate is not a certificate authority'
    // The issuers between this one and the signing certificate (RFC 5280, section 4.2.1.9).
    if ((pathLengthOf(issuer) ?? at) < at - 1) return 'path length constraint exceeded'
    if (!isIssuedBy(issued, issuer)) return 'a certificate of the chain is not issued by the next one'
  }
  const [leaf] = path
  return leaf && signingProblem(leaf)
}

const CODE_SIGNING = '1.3.6.1.5.5.7.3.3'

/** The requirements of the Notary Project for signing certificates. */
function signingProblem(leaf: X509Certificate): string | undefined {
  if (leaf.ca) return 'the signing certificate is of a certificate authority'
  const { publicKey } = leaf
  if (publicKey.asymmetricKeyType === 'ed25519') return 'the signing certificate has a key of Ed25519'
  if (extensionsOf(leaf).extKeyUsage?.digitalSignature !== true)
    return 'the signing certificate is not for digital signatures (key usage)'
  const { keyUsage: purposes } = leaf as { readonly keyUsage?: readonly string[] }
  if (purposes !== undefined && !purposes.includes(CODE_SIGNING))
    return 'the signing certificate is not for code signing (extended key usage)'
  return undefined
}

function pathLengthOf(certificate: X509Certificate): number | undefined {
  const length = extensionsOf(certificate).extBasicConstraints?.pathLenConstraint
  return length === undefined ? undefined : Number(length)
}

function extensionsOf({ raw }: X509Certificate): SigstoreCertificate {
  return SigstoreCertificate.parse(Buffer.from(raw))
}

type Validity = { readonly untilMs?: number } | { readonly problem: string; readonly untilMs?: number }

function validityAt(
  path: readonly X509Certificate[],
  expiresMs: number | undefined,
  nowMs: number,
): Validity {
  const starts = path.map(({ validFromDate }) => validFromDate.getTime())
  const ends = path.map(({ validToDate }) => validToDate.getTime())
  const start = Math.max(...starts)
  if (nowMs < start) return { problem: 'a certificate is not valid yet', untilMs: start }
  if (nowMs > Math.min(...ends)) return { problem: 'a certificate has expired' }
  if (expiresMs !== undefined && nowMs >= expiresMs) return { problem: 'the signature has expired' }
  return { untilMs: Math.min(...ends.map((ms) => ms + 1), ...(expiresMs === undefined ? [] : [expiresMs])) }
}
