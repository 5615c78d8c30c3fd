import { createHash, type Hash } from 'node:crypto'
import { ociError } from '../oci/errors.ts'
import { checkDigest } from '../resources/tag-names.ts'

/** Digests in the form of the image specification: `sha256:` or `sha512:`, and hex digits. */

export type DigestAlgorithm = 'sha256' | 'sha512'

/** The default algorithm. */
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
    throw ociError('DIGEST_INVALID', `the digest ${violation?.description ?? 'is required'}`)
  const [algorithm = '', hex = ''] = text.split(':')
  return { text, algorithm: algorithm as DigestAlgorithm, hex }
}

export function newHash(algorithm: DigestAlgorithm): Hash {
  return createHash(algorithm)
}

export function digestOf(algorithm: DigestAlgorithm, bytes: Uint8Array): string {
  return `${algorithm}:${newHash(algorithm).update(bytes).digest('hex')}`
}

/** Throws DIGEST_INVALID if the bytes do not match the announced digest (R33). */
export function requireDigest({ text }: Digest, actual: string): void {
  if (text !== actual) throw ociError('DIGEST_INVALID', `the content has digest ${actual}, not ${text}`)
}
