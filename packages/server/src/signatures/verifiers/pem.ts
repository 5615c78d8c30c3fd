import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { limits } from '../../config/limits.ts'

/** Parses keys and certificates in PEM, with the reasons why they are invalid. Pure. */

export interface Problem {
  readonly problem: string
}

export function isProblem(value: object): value is Problem {
  return 'problem' in value
}

const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1']

/** Returns why signatures of this key are not verified; undefined if they are. */
export function keyProblem(key: KeyObject): string | undefined {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return undefined
    case 'ec':
      return curves.includes(namedCurve) ? undefined : 'must be on the curve P-256, P-384 or P-521'
    case 'rsa': {
      const { signatureRsaBitsMin: min, signatureRsaBitsMax: max } = limits
      return modulusLength >= min && modulusLength <= max
        ? undefined
        : `must be an RSA key of ${min} to ${max} bits`
    }
    default:
      return 'must be a key of ECDSA, RSA or Ed25519'
  }
}

const publicKeyPattern = /^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/

/** Parses one public key (SubjectPublicKeyInfo). */
export function parsePublicKey(pem: string): KeyObject | Problem {
  if (pem.length > limits.verifierPemCharsMax) return tooLong
  if (/PRIVATE KEY/.test(pem)) return { problem: 'must be a public key, not a private key' }
  if (!publicKeyPattern.test(pem)) return { problem: 'must be one public key in PEM (BEGIN PUBLIC KEY)' }
  try {
    const key = createPublicKey(pem)
    const problem = keyProblem(key)
    return problem === undefined ? key : { problem }
  } catch {
    return { problem: 'is not a public key that can be read' }
  }
}

const tooLong: Problem = { problem: `must have at most ${limits.verifierPemCharsMax} characters` }

const certificatesPattern = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Parses the certificates of a PEM text, in their order. */
export function parseCertificates(pem: string): readonly X509Certificate[] | Problem {
  if (pem.length > limits.verifierPemCharsMax) return tooLong
  if (/PRIVATE KEY/.test(pem)) return { problem: 'must have no private key' }
  const blocks = pem.match(certificatesPattern) ?? []
  if (blocks.length === 0) return { problem: 'must be certificates in PEM (BEGIN CERTIFICATE)' }
  if (blocks.length > limits.verifierCertificatesMax)
    return { problem: `must have at most ${limits.verifierCertificatesMax} certificates` }
  const certificates: X509Certificate[] = []
  for (const [at, block] of blocks.entries()) {
    const certificate = parseCertificate(block)
    if (isProblem(certificate)) return { problem: `certificate ${at + 1} ${certificate.problem}` }
    certificates.push(certificate)
  }
  if (new Set(certificates.map(({ fingerprint256 }) => fingerprint256)).size < certificates.length)
    return { problem: 'must not repeat a certificate' }
  return certificates
}

/** Parses one certificate, in PEM or DER, with a key that is accepted. */
export function parseCertificate(content: string | Buffer): X509Certificate | Problem {
  try {
    const certificate = new X509Certificate(content)
    const problem = keyProblem(certificate.publicKey)
    return problem === undefined ? certificate : { problem: `has a key that is not accepted: it ${problem}` }
  } catch {
    return { problem: 'cannot be read' }
  }
}

/** Whether `issuer` issued and signed a certificate. */
export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  } catch {
    return false
  }
}
