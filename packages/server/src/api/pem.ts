import { createPublicKey, X509Certificate } from 'node:crypto'

/** Keys and certificates as text (RFC 7468). Nothing may stand beside the blocks: what is stored ends up in a file as it is. */

const publicKeyPattern = /^-----BEGIN ((?:RSA )?PUBLIC KEY)-----\s[A-Za-z0-9+/=\s]+-----END \1-----\s*$/
const certificateBundlePattern =
  /^(?:-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/

/** Whether this is one RSA public key. A private key is none, though a public one could be made of it. */
export function isRsaPublicKey(pem: string): boolean {
  if (!publicKeyPattern.test(pem)) return false
  try {
    return createPublicKey(pem).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}

/** Whether this is one X.509 certificate, or several one after the other. */
export function isCertificateBundle(pem: string): boolean {
  if (!certificateBundlePattern.test(pem)) return false
  const blocks = pem.match(/-----BEGIN[^-]*-----[^-]+-----END[^-]*-----/g) ?? []
  try {
    return blocks.every((block) => new X509Certificate(block).raw.length > 0)
  } catch {
    return false
  }
}
