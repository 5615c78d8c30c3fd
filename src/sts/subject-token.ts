import { compactVerify } from 'jose'
import { limits } from '../core/limits.ts'
import { isSubjectTokenAlg, type KeySource, type SubjectTokenAlg } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'

/** What a subject token says of itself. Worth nothing before its signature is verified. */
export interface UnverifiedToken extends Omit<SubjectClaims, 'payload'> {
  readonly ok: true
  readonly header: { readonly alg: SubjectTokenAlg; readonly kid: string | undefined }
}

/** Short fixed text, in which nothing of the token appears. */
export interface Rejection {
  readonly ok: false
  readonly reason: string
}

export type Verification =
  | { readonly ok: true; readonly claims: SubjectClaims }
  /** `invalid`: this token will not do. `unavailable`: the issuer could not be asked; try again. */
  | (Rejection & { readonly kind: 'invalid' | 'unavailable' })

const SUBJECT_CHARS_MAX = 1024
const KID_CHARS_MAX = 1024
/** No issuer writes them, and PostgreSQL stores no NUL. */
const CONTROL = /\p{Cc}/u

/**
 * Reads a token without verifying anything but its form, so that the identity it is meant for can be found
 * before any key is fetched (R1). The form: a compact JWS (RFC 7515 section 7.1) with an asymmetric algorithm
 * (R6) and the claims of R8.
 */
export function readUnverified(token: string): UnverifiedToken | Rejection {
  const read = readToken(token)
  if (!read.ok) return read
  const { payload: _, ...claims } = read.claims
  return { ok: true, header: read.header, ...claims }
}

/**
 * Verifies a subject token with keys of its issuer: form, signature, times. That the issuer is the expected
 * one and that the claims match is for the caller to check. `exp` is taken at its word; `nbf` and `iat` may
 * be `clockSkewMs` ahead (R8). `clock` is in ms. Does not reject.
 */
export async function verifySubjectToken(
  token: string,
  { keys, clock }: { keys: KeySource; clock: () => number },
): Promise<Verification> {
  const read = readToken(token)
  if (!read.ok) return { ...read, kind: 'invalid' }
  const { header, claims } = read
  const untimely = checkTimes(claims, clock())
  if (untimely !== undefined) return rejected('invalid', untimely)

  const found = await keys.find(header.alg, header.kid)
  if (found.kind === 'unknown')
    return rejected('invalid', 'the token is signed with a key that its issuer does not publish')
  if (found.kind !== 'found') return rejected(found.kind, found.reason)
  try {
    await compactVerify(token, found.key, { algorithms: [header.alg] })
  } catch {
    return rejected('invalid', 'the signature of the token is not valid')
  }
  // Fetching keys takes time.
  const expired = checkTimes(claims, clock())
  return expired === undefined ? { ok: true, claims } : rejected('invalid', expired)
}

interface ReadToken {
  readonly ok: true
  readonly header: UnverifiedToken['header']
  readonly claims: SubjectClaims
}

function readToken(token: string): ReadToken | Rejection {
  if (token.length > limits.bearerTokenCharsMax) return no('the token is too long')
  const parts = token.split('.')
  const [head = '', body = '', signature = ''] = parts
  if (parts.length !== 3 || signature === '') return no('the token is not a signed JWT')
  const header = readHeader(decodeObject(head))
  if ('ok' in header) return header
  const payload = decodeObject(body)
  if (payload === undefined) return no('the payload of the token is not a JSON object')
  const claims = readClaims(payload)
  return 'ok' in claims ? claims : { ok: true, header, claims }
}

/** Members that bring or point to keys (jwk, jku, x5c, x5u) are not read at all (R7). */
function readHeader(
  header: Readonly<Record<string, unknown>> | undefined,
): UnverifiedToken['header'] | Rejection {
  if (header === undefined) return no('the header of the token is not a JSON object')
  // RFC 7515 section 4.1.11: no extension is understood here, so a token that needs one is not acceptable.
  if (Object.hasOwn(header, 'crit')) return no('the token needs extensions that are not supported (crit)')
  const { alg, kid } = header
  if (!isSubjectTokenAlg(alg)) return no('the token is not signed with a supported algorithm')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > KID_CHARS_MAX)) {
    return no('the key id of the token is not valid')
  }
  return { alg, kid }
}

function readClaims(payload: Readonly<Record<string, unknown>>): SubjectClaims | Rejection {
  const { iss, sub, aud, exp, nbf, iat } = payload
  if (typeof iss !== 'string' || iss === '') return no('the token has no issuer (iss) that is a string')
  if (iss.length > limits.issuerCharsMax) return no('the issuer of the token is too long')
  if (CONTROL.test(iss)) return no('the issuer of the token holds control characters')
  if (typeof sub !== 'string' || sub === '') return no('the token has no subject (sub) that is a string')
  if (sub.length > SUBJECT_CHARS_MAX) return no('the subject of the token is too long')
  if (CONTROL.test(sub)) return no('the subject of the token holds control characters')
  const audience = readAudience(aud)
  if (audience === undefined)
    return no('the audience of the token (aud) is not a string or a list of strings')
  if (!isNumber(exp)) return no('the token has no expiry (exp) that is a number')
  if (nbf !== undefined && !isNumber(nbf)) return no('the time in nbf is not a number')
  if (iat !== undefined && !isNumber(iat)) return no('the time in iat is not a number')
  const issuedAtMs = iat === undefined ? undefined : iat * 1000
  return { issuer: iss, subject: sub, audience, expiresAtMs: exp * 1000, issuedAtMs, payload }
}

function readAudience(aud: unknown): readonly string[] | undefined {
  if (aud === undefined) return []
  if (typeof aud === 'string') return [aud]
  return Array.isArray(aud) && aud.every((it) => typeof it === 'string') ? aud : undefined
}

function checkTimes({ expiresAtMs, issuedAtMs, payload }: SubjectClaims, now: number): string | undefined {
  if (expiresAtMs <= now) return 'the token has expired'
  const { nbf: notBefore } = payload
  const latest = now + limits.clockSkewMs
  if (typeof notBefore === 'number' && notBefore * 1000 > latest) return 'the token is not valid yet (nbf)'
  if (issuedAtMs !== undefined && issuedAtMs > latest) return 'the token was issued in the future (iat)'
  return undefined
}

function decodeObject(part: string): Readonly<Record<string, unknown>> | undefined {
  // Buffer passes over what is not base64url.
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return undefined
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')),
    )
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function no(reason: string): Rejection {
  return { ok: false, reason }
}

function rejected(kind: 'invalid' | 'unavailable', reason: string): Verification {
  return { ok: false, kind, reason }
}
