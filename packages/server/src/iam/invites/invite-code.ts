import { createHash, createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { normalizeEmail } from '../../api/fields.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'

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

/** Reads a code as the user received it. Undefined for text that is not a code. */
export function readInviteCode(text: string): InviteCode | undefined {
  const { code } = readReceivedInvite(text)
  if (code.length > limits.inviteCodeCharsMax) return undefined
  const [, grp = '', keyId = ''] = jsonPattern.exec(Buffer.from(code, 'base64').toString('latin1')) ?? []
  const group = parseUid(grp)
  return group === undefined ? undefined : { group, keyId }
}

/** Separates the code of a link that Berth sent by email from its proof. It is in no code. */
const PROOF_SEPARATOR = '.'
const PROOF_CHARS = 43

/** What the user received: the code of an invite, and the proof if Berth sent it to the address of the invite. */
export interface ReceivedInvite {
  readonly code: string
  /** '' if there is none. */
  readonly proof: string
}

/** Reads a code with or without a proof, or the link that contains it. */
export function readReceivedInvite(text: string): ReceivedInvite {
  const received = text.slice(text.lastIndexOf('#') + 1)
  const cut = received.lastIndexOf(PROOF_SEPARATOR)
  return cut < 0
    ? { code: received, proof: '' }
    : { code: received.slice(0, cut), proof: received.slice(cut + 1) }
}

/** Longest text that `readReceivedInvite` is called with. */
export const RECEIVED_INVITE_CHARS_MAX = 2 * limits.inviteCodeCharsMax + PROOF_CHARS + 1

/**
 * Returns a code with the proof that its reader has received email at the address of the invite. Only Berth can compute the proof, and shows it
 * nowhere else. It is of one invite and one address: another address of the invite invalidates it (ADR 37).
 */
export function withProof(secretsKey: KeyObject, code: string, invite: ProvenInvite): string {
  return `${code}${PROOF_SEPARATOR}${proofOf(secretsKey, invite)}`
}

export function isProof(secretsKey: KeyObject, proof: string, invite: ProvenInvite): boolean {
  const [given, expected] = [Buffer.from(proof), Buffer.from(proofOf(secretsKey, invite))]
  return given.length === expected.length && timingSafeEqual(given, expected)
}

interface ProvenInvite {
  readonly uid: string
  readonly email: string
}

function proofOf(secretsKey: KeyObject, { uid, email }: ProvenInvite): string {
  const text = `invite sent by email ${JSON.stringify([uid, normalizeEmail(email)])}`
  return createHmac('sha256', secretsKey).update(text).digest('base64url')
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
