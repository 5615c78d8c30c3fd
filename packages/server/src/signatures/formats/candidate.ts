import type { KeyObject, X509Certificate } from 'node:crypto'
import type { SignedEntity } from '@sigstore/verify'

/** A signature that names the image and can be verified, of each format. */

/** Of cosign, and of sigstore bundles. */
export interface SigstoreCandidate {
  readonly kind: 'sigstore'
  readonly entity: SignedEntity
  readonly dockerReference: string
}

/** Of Notation: an envelope with its certificates. */
export interface NotationCandidate {
  readonly kind: 'notation'
  /** The signing certificate first, each issued by the next. */
  readonly chain: readonly [X509Certificate, ...X509Certificate[]]
  /** Verifies the signature of the envelope. */
  readonly verify: (key: KeyObject) => Promise<boolean>
  /** As the signer claims. */
  readonly signedMs: number | undefined
  /** Time after which the signature does not count; undefined: it counts always. */
  readonly expiresMs: number | undefined
}

export type Candidate = SigstoreCandidate | NotationCandidate

/** What a signature is invalid for. Its message is shown to callers. */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature'
}

/** Returns text that can be shown, without control characters. */
export function printable(text: string, charsMax: number): string {
  const clean = text.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')
  return clean.length <= charsMax ? clean : `${clean.slice(0, charsMax - 1)}…`
}
