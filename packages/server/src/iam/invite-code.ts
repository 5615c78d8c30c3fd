import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { parseUid, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'

/**
 * Codes of invites: anyone who has one may accept. A code is standard base64 (RFC 4648, section 4) of a JSON object that starts with `grp`.
 * That JSON is ASCII without `>`, `?`, `~` and DEL, so the code contains neither `+` nor `/`, and in a URL only the padding needs escaping.
 *
 * The 256 random bits of `key` cannot be guessed, so failed attempts need no limit. The server stores a hash of the whole code: no part can
 * be replaced by another, and the stored hash cannot be used to accept. Random bits need no salt and no slow hash.
 */

/** What a code contains before it is verified. */
export interface InviteCode {
  /** The group of the invite. */
  readonly group: Uid
  /** Identifies the invite within its organization; not secret. */
  readonly keyId: string
}

const KEY_ID_BYTES = 8
const KEY_BYTES = 32

export function newInviteCode(group: Uid): InviteCode & { readonly code: string } {
  const keyId = randomBytes(KEY_ID_BYTES).toString('hex')
  const json = JSON.stringify({ grp: group, kid: keyId, key: randomBytes(KEY_BYTES).toString('base64url') })
  return { group, keyId, code: Buffer.from(json).toString('base64') }
}

const jsonPattern = /^\{"grp":"([0-9a-f/]+)","kid":"([0-9a-f]{16})","key":"[A-Za-z0-9_-]{43}"\}$/

/** Undefined for text that is not a code. */
export function readInviteCode(code: string): InviteCode | undefined {
  if (code.length > limits.inviteCodeCharsMax) return undefined
  const [, grp = '', keyId = ''] = jsonPattern.exec(Buffer.from(code, 'base64').toString('latin1')) ?? []
  const group = parseUid(grp)
  return group === undefined ? undefined : { group, keyId }
}

/** Returns the SHA-256 hash of a code, which is what is stored. */
export function inviteCodeHash(code: string): Uint8Array {
  return createHash('sha256').update(code).digest()
}

/** Used when there is no invite, so that an unknown invite takes as long as one with a wrong key. */
const NO_HASH = new Uint8Array(32)

/** Whether the hash is that of this code; compares in constant time (R42). */
export function isInviteCode(code: string, hash: Uint8Array = NO_HASH): boolean {
  return timingSafeEqual(inviteCodeHash(code), hash)
}
