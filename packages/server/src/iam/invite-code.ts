import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { parseUid, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'

/**
 * Codes of invites: whoever has one may accept. A code is standard base64 (RFC 4648, section 4) of a JSON object that begins with
 * `grp`. That JSON is ASCII without `>`, `?`, `~` and DEL, so neither `+` nor `/` ever comes up, and in a URL only the padding
 * needs escaping.
 *
 * The 256 random bits of `key` cannot be guessed, so nothing has to count wrong tries. We keep a hash of the whole code: none of
 * its parts can be exchanged for another, and what is stored lets nobody accept. Random bits need no salt and no slow hash.
 */

/** What a code tells before it is proven genuine. */
export interface InviteCode {
  /** The group that it invites to. */
  readonly group: Uid
  /** Names the invite within its organization; no secret. */
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

/** Undefined for what is no code. */
export function readInviteCode(code: string): InviteCode | undefined {
  if (code.length > limits.inviteCodeCharsMax) return undefined
  const [, grp = '', keyId = ''] = jsonPattern.exec(Buffer.from(code, 'base64').toString('latin1')) ?? []
  const group = parseUid(grp)
  return group === undefined ? undefined : { group, keyId }
}

/** SHA-256, which is what is stored of a code. */
export function inviteCodeHash(code: string): Uint8Array {
  return createHash('sha256').update(code).digest()
}

/** Stands where there is no invite, so that one that is unknown takes as long as one whose key is wrong. */
const NO_HASH = new Uint8Array(32)

/** Whether this is the code that the hash was made of; compares in constant time (R42). */
export function isInviteCode(code: string, hash: Uint8Array = NO_HASH): boolean {
  return timingSafeEqual(inviteCodeHash(code), hash)
}
