import { checkIssuer } from './issuer-url.ts'
import type { CompiledPattern } from './patterns.ts'

/** What a verified token says. */
export interface SubjectClaims {
  readonly issuer: string
  readonly subject: string
  /** As a list, whichever form the token has; empty: the token has no `aud`. */
  readonly audience: readonly string[]
  readonly expiresAtMs: number
  /** `iat`, if the token has one: how long ago it was issued bounds how long a stolen one was around. */
  readonly issuedAtMs: number | undefined
  /** The whole payload, for custom claims. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** A oneof of an exact value and a pattern, as the generated code has it. */
type Choice<Exact extends string, Pattern extends string> =
  | { readonly case: Exact; readonly value: string }
  | { readonly case: Pattern; readonly value: string }
  | { readonly case: undefined; readonly value?: undefined }

/** The part of `Identity.ClaimMatch` that matching looks at; the generated message fits. */
export interface ClaimMatch {
  readonly iss: Choice<'issuer', 'issuerPattern'>
  readonly sub: Choice<'subject', 'subjectPattern'>
  /** Unset: the token must be meant for the token service itself. */
  readonly aud: Choice<'audience', 'audiencePattern'>
  readonly claims: Readonly<Record<string, string>>
  readonly claimPatterns: Readonly<Record<string, string>>
}

/**
 * Which condition does not hold; for claims with the name that the identity gives them, never the token's
 * value.
 */
export interface Mismatch {
  readonly field: 'issuer' | 'subject' | 'audience' | `claims.${string}`
}

export interface MatchOptions {
  /**
   * Accepted when the identity names no audience: the token service as a host and as a URL. Compared exactly
   * (R10).
   */
  readonly defaultAudiences: readonly string[]
  /** Compiles a pattern; one that does not compile matches nothing. */
  readonly pattern: (text: string) => CompiledPattern | { readonly error: string }
}

/**
 * The first condition of an identity that a verified token does not meet, or undefined when it meets all.
 * Exact values are equal, patterns match the whole value. Of several audiences one must match; a token
 * without one never does. A custom claim is compared as text: booleans and numbers as JSON writes them
 * (`true`, `42`); a list, an object or null has no such text and never matches, nor does an integer that JSON
 * readers round (beyond 2^53).
 */
export function matchClaims(
  match: ClaimMatch,
  claims: Pick<SubjectClaims, 'issuer' | 'subject' | 'audience' | 'payload'>,
  { defaultAudiences, pattern }: MatchOptions,
): Mismatch | undefined {
  function fits(choice: Choice<string, string>, exact: string, value: string): boolean {
    if (choice.case === undefined) return false
    return choice.case === exact ? choice.value === value : fitsPattern(choice.value, value)
  }

  function fitsPattern(text: string, value: string): boolean {
    const compiled = pattern(text)
    return !('error' in compiled) && compiled.test(value)
  }

  if (!fits(match.iss, 'issuer', claims.issuer)) return { field: 'issuer' }
  // What a pattern lets through decides where keys are fetched from.
  if (match.iss.case === 'issuerPattern' && checkIssuer(claims.issuer) !== undefined)
    return { field: 'issuer' }
  if (!fits(match.sub, 'subject', claims.subject)) return { field: 'subject' }
  const { aud } = match
  const isAudience = (value: string) =>
    aud.case === undefined ? defaultAudiences.includes(value) : fits(aud, 'audience', value)
  if (!claims.audience.some(isAudience)) return { field: 'audience' }
  for (const [name, expected] of Object.entries(match.claims)) {
    if (claimText(claims.payload, name) !== expected) return { field: `claims.${name}` }
  }
  for (const [name, text] of Object.entries(match.claimPatterns)) {
    const value = claimText(claims.payload, name)
    if (value === undefined || !fitsPattern(text, value)) return { field: `claims.${name}` }
  }
  return undefined
}

function claimText(payload: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return JSON.stringify(value)
}
