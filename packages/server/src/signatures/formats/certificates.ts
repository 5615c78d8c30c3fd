import { X509Certificate } from 'node:crypto'
import { keyProblem } from '../verifiers/pem.ts'
import { InvalidSignature } from './candidate.ts'

/** Certificates inside signatures. */

const CERTIFICATE_BYTES_MAX = 16 * 1024

/**
 * Parses a certificate of a signature, in PEM or DER. Throws InvalidSignature, also for keys that take long to verify: a signer chooses the
 * certificate.
 */
export function parseSignerCertificate(content: Buffer | string): X509Certificate {
  if (content.length > CERTIFICATE_BYTES_MAX)
    throw new InvalidSignature(`a certificate has more than ${CERTIFICATE_BYTES_MAX} bytes`)
  let certificate: X509Certificate
  let problem: string | undefined
  try {
    certificate = new X509Certificate(content)
    problem = keyProblem(certificate.publicKey)
  } catch (cause) {
    throw new InvalidSignature('a certificate cannot be read', { cause })
  }
  if (problem !== undefined)
    throw new InvalidSignature(`the key of a certificate is not accepted: it ${problem}`)
  return certificate
}

/** Also throws for a certificate that signed itself. */
export function parseIssuedCertificate(content: Buffer | string): X509Certificate {
  const certificate = parseSignerCertificate(content)
  if (certificate.issuer === certificate.subject && certificate.subject !== undefined)
    throw new InvalidSignature('the certificate of the signer is self-signed')
  return certificate
}
