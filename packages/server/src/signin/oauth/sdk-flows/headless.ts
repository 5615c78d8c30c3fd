import {
  createCipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { limits } from '../../../config/limits.ts'
import { pendingStore } from '../../../storage/pending-store.ts'
import type { Store } from '../../../storage/store.ts'

/**
 * The headless flow of the public SDK, for a client on another machine than the browser: its code is its public X25519 key, to which the
 * result is encrypted, so that others who know the code cannot read it (R36). The raw shared secret is the key of AES-256-GCM, without
 * associated data; our private key is discarded.
 */

/** The result that waits for the client, as it is stored. */
export interface HeadlessResult {
  /** X25519, in base64url without padding. */
  readonly ecdhPublicKey: string
  /** Nonce of 12 bytes, ciphertext and tag of 16, in base64. */
  readonly encryptedIdToken: string
}

const CODE = /^[A-Za-z0-9_-]{43}$/
const KEY_BYTES = 32
const NONCE_BYTES = 12
const PREFIX_CHARS = 8

export function headlessResults(store: Pick<Store, 'db' | 'clock' | 'secretsKey'>) {
  return pendingStore<HeadlessResult>(store, 'headless', limits.headlessResultMs)
}

/** Whether a code is a valid key to encrypt to. */
export function isHeadlessCode(code: string): boolean {
  return encryptToCode(code, '') !== undefined
}

/** The start of a code, for the user to compare with the address in their terminal. */
export function headlessCodePrefix(code: string): string {
  return code.slice(0, PREFIX_CHARS)
}

/** Encrypts a token to the key in a code; undefined if the code is not a valid key. */
export function encryptToCode(code: string, token: string): HeadlessResult | undefined {
  const raw = Buffer.from(code, 'base64url')
  // Only the canonical encoding is accepted.
  if (!CODE.test(code) || raw.length !== KEY_BYTES || raw.toString('base64url') !== code) return undefined
  const own = generateKeyPairSync('x25519')
  const secret = deriveSharedSecret(own.privateKey, code)
  if (secret === undefined) return undefined
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', secret, nonce)
  const sealed = Buffer.concat([nonce, cipher.update(token, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return {
    ecdhPublicKey: own.publicKey.export({ format: 'jwk' }).x ?? '',
    encryptedIdToken: sealed.toString('base64'),
  }
}

/** Undefined for a point of small order, whose shared secret is known to everyone (RFC 7748 section 6.1). */
function deriveSharedSecret(privateKey: KeyObject, code: string): Buffer | undefined {
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: code }, format: 'jwk' })
    return diffieHellman({ privateKey, publicKey })
  } catch {
    return undefined
  }
}
