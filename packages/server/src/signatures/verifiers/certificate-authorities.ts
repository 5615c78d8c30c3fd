import type { X509Certificate } from 'node:crypto'
import { isIssuedBy, isProblem, type Problem, parseCertificates } from './pem.ts'

/** Checks the certificates of authorities. Pure. */

/**
 * Parses the certificates of authorities of which every one leads to a root among them. Each has one issuer at most, so that there is one
 * path from each to its root: a search for paths among certificates that sign each other may not end.
 */
export function parseAuthorities(pem: string): readonly X509Certificate[] | Problem {
  const certificates = parseCertificates(pem)
  if (isProblem(certificates)) return certificates
  const signers = certificates.map((certificate) =>
    certificates.flatMap((issuer, at) => (isSignedBy(certificate, issuer) ? [at] : [])),
  )
  for (const [at, certificate] of certificates.entries()) {
    const name = `certificate ${at + 1}`
    if (!certificate.ca) return { problem: `${name} is not of a certificate authority` }
    const issuers = signers[at] ?? []
    if (issuers.length === 0)
      return { problem: `${name} has no issuer here: add the certificates up to the root` }
    if (issuers.length > 1) return { problem: `${name} has several issuers here: keep one of them` }
  }
  // Follows the single issuers; a path that is longer than the list is a cycle.
  for (const [start] of certificates.entries()) {
    let at = start
    for (let steps = 0; signers[at]?.[0] !== at; steps++) {
      if (steps > certificates.length) return { problem: 'must not have certificates that issue each other' }
      at = signers[at]?.[0] ?? at
    }
  }
  return certificates
}

/** Whether the key of `issuer` signed a certificate, by whatever names. */
function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.verify(issuer.publicKey)
  } catch {
    return false
  }
}

/** Parses the chain of a timestamp authority: the signing certificate first, each issued by the next, the root last. */
export function parseTimestampAuthority(pem: string): readonly X509Certificate[] | Problem {
  const chain = parseCertificates(pem)
  if (isProblem(chain)) return chain
  if (chain.length < 2) return { problem: 'must have the signing certificate and its issuers up to the root' }
  const roots = parseAuthorities(
    chain
      .slice(1)
      .map((certificate) => certificate.toString())
      .join('\n'),
  )
  if (isProblem(roots)) return { problem: `has issuers that are invalid: ${roots.problem}` }
  for (const [at, certificate] of chain.entries()) {
    const issuer = chain[at + 1] ?? certificate
    if (!isIssuedBy(certificate, issuer))
      return { problem: `must be a chain: certificate ${at + 1} is not issued by the next one` }
  }
  return chain
}
