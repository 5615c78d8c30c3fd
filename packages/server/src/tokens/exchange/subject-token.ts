import { limits } from '../../config/limits.ts'
import { isSignedBy } from '../jwt/jws-signature.ts'
import { jwtPartProblem, readJwtPart } from '../jwt/strict-json.ts'
import type { CheckCondition, Condition, Fault } from '../trust/condition.ts'
import { isSubjectTokenAlg, type KeyLookup, type KeySource, type SubjectTokenAlg } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'

/** A well-formed token. Its claims must not be trusted before `checkSubjectToken` has verified it. */
export interface SubjectToken {
  readonly ok: true
  readonly header: {
    readonly alg: SubjectTokenAlg
    readonly kid: string | undefined
    readonly typ: unknown
  }
  readonly claims: SubjectClaims
}

/** A fixed reason that repeats nothing of the token. */
export interface Rejection {
  readonly ok: false
  readonly reason: string
}

const SUBJECT_CHARS_MAX = 1024
const KID_CHARS_MAX = 1024
/** Control characters: no issuer uses them, and PostgreSQL cannot store NUL. */
const CONTROL = /\p{Cc}/u

/**
 * Parses a token without verifying it, so that its identity can be found before any key is fetched (R1). It must be a compact JWS (RFC 7515
 * section 7.1) with an asymmetric algorithm (R6) and the claims of R8.
 */
export function readSubjectToken(token: string): SubjectToken | Rejection {
  if (token.length > limits.bearerTokenCharsMax) return reject('the token is too long')
  const parts = token.split('.')
  const [head = '', body = '', signature = ''] = parts
  if (parts.length !== 3 || signature === '') return reject('the token is not a signed JWT')
  const first = readJwtPart(head)
  if ('problem' in first) return reject(jwtPartProblem('header', first.problem))
  const header = readHeader(first.object)
  if ('ok' in header) return header
  const second = readJwtPart(body)
  if ('problem' in second) return reject(jwtPartProblem('payload', second.problem))
  const claims = readClaims(second.object)
  return 'ok' in claims ? claims : { ok: true, header, claims }
}

/**
 * Verifies a token: its times, a key of its issuer, its signature. The caller checks the issuer and the claims. `exp` is exact; `nbf` and
 * `iat` may be `clockSkewMs` ahead (R8). `clock` is in ms.
 */
export async function checkSubjectToken(
  token: string,
  { header, claims }: SubjectToken,
  { keys, clock }: { keys: KeySource; clock: () => number },
  check: CheckCondition,
): Promise<void> {
  const isTimeValid = check(timeCondition(claims, clock()))
  const found = await keys.find(header.alg, header.kid)
  check(keyCondition(header, found))
  check({
    name: 'signature',
    holds: found.kind === 'found' ? await isSignedBy(token, header.alg, found.key) : undefined,
    fault: 'token',
    reason: 'the signature of the token is not valid',
    detail: () => ({ expected: 'made with that key', actual: '' }),
  })
  // The token may have expired while its keys were fetched.
  const after = timeCondition(claims, clock())
  if (isTimeValid && after.holds !== true) check(after)
}

function timeCondition(claims: SubjectClaims, now: number): Condition {
  const problem = checkTimes(claims, now)
  return {
    name: 'time',
    holds: problem === undefined,
    fault: 'token',
    reason: problem ?? '',
    detail: () => ({
      expected: `valid at ${timeText(now)}`,
      actual: `issued ${timeText(claims.issuedAtMs)}, expires ${timeText(claims.expiresAtMs)}`,
      ...(problem === undefined
        ? {}
        : {
            hint: `${problem}; ${claims.expiresAtMs <= now ? 'get a new token' : 'compare the clocks of the issuer and of this server'}`,
          }),
    }),
  }
}

function timeText(ms: number | undefined): string {
  if (ms === undefined) return 'at an unknown time'
  // Date throws for numbers beyond its range.
  return Math.abs(ms) > 8.64e15 ? 'at an impossible time' : new Date(ms).toISOString()
}

function keyCondition({ alg, kid }: SubjectToken['header'], found: KeyLookup): Condition {
  const [fault, reason]: [Fault, string] =
    found.kind === 'unavailable'
      ? ['elsewhere', found.reason]
      : found.kind === 'invalid'
        ? ['token', found.reason]
        : ['token', 'the token is signed with a key that its issuer does not publish']
  return {
    name: 'key',
    holds: found.kind === 'found',
    fault,
    reason,
    detail: () => ({
      expected: 'one of the issuer for this token',
      actual: `${kid === undefined ? 'no key id' : `key id ${kid}`}, ${alg}`,
      ...(found.kind === 'found' ? {} : { hint: (found.kind === 'unknown' && found.hint) || reason }),
    }),
  }
}

/** Reads the header. Members with keys or URLs of keys (jwk, jku, x5c, x5u) are ignored (R7). */
function readHeader(header: Readonly<Record<string, unknown>>): SubjectToken['header'] | Rejection {
  // RFC 7515 section 4.1.11: no extensions are supported.
  if (Object.hasOwn(header, 'crit')) return reject('the token needs extensions that are not supported (crit)')
  const { alg, kid, typ } = header
  if (!isSubjectTokenAlg(alg)) return reject('the token is not signed with a supported algorithm')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > KID_CHARS_MAX)) {
    return reject('the key id of the token is not valid')
  }
  return { alg, kid, typ }
}

function readClaims(payload: Readonly<Record<string, unknown>>): SubjectClaims | Rejection {
  const { iss, sub, aud, exp, nbf, iat } = payload
  if (typeof iss !== 'string' || iss === '') return reject('the token has no issuer (iss) that is a string')
  if (iss.length > limits.issuerCharsMax) return reject('the issuer of the token is too long')
  if (CONTROL.test(iss)) return reject('the issuer of the token contains control characters')
  if (typeof sub !== 'string' || sub === '') return reject('the token has no subject (sub) that is a string')
  if (sub.length > SUBJECT_CHARS_MAX) return reject('the subject of the token is too long')
  if (CONTROL.test(sub)) return reject('the subject of the token contains control characters')
  const audience = readAudience(aud)
  if (audience === undefined)
    return reject('the audience of the token (aud) is not a string or a list of strings')
  if (!isNumber(exp)) return reject('the token has no expiry (exp) that is a number')
  if (nbf !== undefined && !isNumber(nbf)) return reject('the time in nbf is not a number')
  if (iat !== undefined && !isNumber(iat)) return reject('the time in iat is not a number')
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

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function reject(reason: string): Rejection {
  return { ok: false, reason }
}
