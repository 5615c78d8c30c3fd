import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** Secrets at rest, and the keys that derive from the installation's master key. */

/** 32 random bytes that everything secret in an installation hangs on. */
export type MasterKey = Uint8Array & { readonly length: 32 }

export const MASTER_KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

export function newMasterKey(): MasterKey {
  return randomBytes(MASTER_KEY_BYTES) as Uint8Array as MasterKey
}

/** Reads 32 bytes of base64 or base64url, padded or not; undefined for anything else. */
export function parseMasterKey(text: string): MasterKey | undefined {
  const trimmed = text.trim()
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(trimmed)) return undefined
  const bytes = Buffer.from(trimmed, 'base64')
  return bytes.length === MASTER_KEY_BYTES ? (bytes as Uint8Array as MasterKey) : undefined
}

/**
 * A key of its own for each purpose (HKDF-SHA-256, RFC 5869), so that none of them reveals another. An object, because each use of the
 * bytes of a key is ten times as slow: Node 24 throws and catches two exceptions before it creates the object.
 */
export function deriveKey(master: MasterKey, purpose: 'page tokens' | 'secrets at rest'): KeyObject {
  const bytes = hkdfSync('sha256', master, new Uint8Array(0), `berth ${purpose}`, MASTER_KEY_BYTES)
  return createSecretKey(new Uint8Array(bytes))
}

/** Encrypts with AES-256-GCM. `context` names what the secret is, and must be the same to open it. */
export function seal(key: KeyObject, plain: string, context: string): Uint8Array {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from(context))
  return Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Undefined when the key or the context is another one, or the bytes were changed. */
export function unseal(key: KeyObject, sealed: Uint8Array, context: string): string | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES))
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
    const body = sealed.subarray(IV_BYTES, sealed.length - TAG_BYTES)
    return decipher.update(body, undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}
