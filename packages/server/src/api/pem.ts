import { createPublicKey, X509Certificate } from 'node:crypto'

/** Keys and certificates as text (RFC 7468). No other text is allowed around the blocks, because it is stored in a file unchanged. */

const publicKeyPattern = /^-----BEGIN ((?:RSA )?PUBLIC KEY)-----\s[A-Za-z0-9+/=\s]+-----END \1-----\s*$/
const certificateBundlePattern =
  /^(?:-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/

/** Returns whether the text is one RSA public key. A private key is rejected, although a public one can be derived from it. */
export function isRsaPublicKey(pem: string): boolean {
  if (!publicKeyPattern.test(pem)) return false
  try {
    return createPublicKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}

/** Returns whether the text is one X.509 certificate or a chain of them. */
export function isCertificateBundle(pem: string): boolean {
  if (!certificateBundlePattern.test(pem)) return false
  const blocks = pem.match(/-----BEGIN[^-]*-----[^-]+-----END[^-]*-----/g) ?? []
  try {
    return blocks.every((block) => new X509Certificate(block).raw.length > 0)
  } catch {
    return false
  }
}
