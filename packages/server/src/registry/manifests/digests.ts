import { createHash, type Hash } from 'node:crypto'
import { ociError } from '../oci/errors.ts'
import { checkDigest } from '../resources/tag-names.ts'

/** Digests as the image specification writes them: `sha256:` or `sha512:`, and hex digits. */

export type DigestAlgorithm = 'sha256' | 'sha512'

/** What is taken where nobody names one. */
export const DEFAULT_ALGORITHM: DigestAlgorithm = 'sha256'

export interface Digest {
  readonly text: string
  readonly algorithm: DigestAlgorithm
  readonly hex: string
}

/** Throws DIGEST_INVALID. */
export function parseDigest(text: string | null): Digest {
  const violation = checkDigest(text ?? '')
  if (text === null || violation !== undefined)
    throw ociError('DIGEST_INVALID', `the digest ${violation?.description ?? 'must be given'}`)
  const [algorithm = '', hex = ''] = text.split(':')
  return { text, algorithm: algorithm as DigestAlgorithm, hex }
}

export function newHash(algorithm: DigestAlgorithm): Hash {
  return createHash(algorithm)
}

export function digestOf(algorithm: DigestAlgorithm, bytes: Uint8Array): string {
  return `${algorithm}:${newHash(algorithm).update(bytes).digest('hex')}`
}

/** Throws DIGEST_INVALID where bytes are not those that were announced (R33). */
export function requireDigest({ text }: Digest, actual: string): void {
  if (text !== actual) throw ociError('DIGEST_INVALID', `the bytes have the digest ${actual}, not ${text}`)
}
