import type { CheckCondition, Condition, ConditionDetail } from './condition.ts'
import { checkIssuer } from './issuer-url.ts'
import { patternHint, textHint } from './match-hints.ts'
import type { CompiledPattern } from './patterns.ts'

/** The claims of a verified token. */
export interface SubjectClaims {
  readonly issuer: string
  readonly subject: string
  /** Always a list; empty: the token has no `aud`. */
  readonly audience: readonly string[]
  readonly expiresAtMs: number
  /** `iat`, if the token has one: its age limits how long a stolen token is useful. */
  readonly issuedAtMs: number | undefined
  /** The whole payload, for custom claims. */
  readonly payload: Readonly<Record<string, unknown>>
}

/** A oneof of an exact value and a pattern, as in the generated code. */
export type Choice<Exact extends string, Pattern extends string> =
  | { readonly case: Exact; readonly value: string }
  | { readonly case: Pattern; readonly value: string }
  | { readonly case: undefined; readonly value?: undefined }

/** The part of `Identity.ClaimMatch` that matching needs; compatible with the generated message. */
export interface ClaimMatch {
  readonly iss: Choice<'issuer', 'issuerPattern'>
  readonly sub: Choice<'subject', 'subjectPattern'>
  /** Unset: the token must be for the token service itself. */
  readonly aud: Choice<'audience', 'audiencePattern'>
  readonly claims: Readonly<Record<string, string>>
  readonly claimPatterns: Readonly<Record<string, string>>
}

/** Compiles a pattern; one that does not compile matches nothing. */
export type CompilePattern = (text: string) => CompiledPattern | { readonly error: string }

/**
 * Whether an identity trusts the issuer of a token, checked before any key is fetched (R1). A pattern matches only issuers that the operator
 * has listed.
 */
export function matchIssuer(
  { iss }: Pick<ClaimMatch, 'iss'>,
  issuer: string,
  {
    pattern,
    patternIssuers,
  }: { readonly pattern: CompilePattern; readonly patternIssuers: readonly string[] },
): Condition {
  const isNamed = iss.case !== 'issuerPattern' || patternIssuers.includes(issuer)
  // Keys are fetched from the issuer that a pattern matches.
  const isName = iss.case !== 'issuerPattern' || checkIssuer(issuer) === undefined
  const fits = matchesChoice(iss, 'issuer', issuer, pattern)
  return identityCondition('issuer', fits && isNamed && isName, () => ({
    ...choiceDetail(iss, 'issuer', issuer, pattern),
    ...(fits && !isNamed
      ? {
          hint: 'the pattern matches, but the operator has not listed this issuer among those that patterns may match (BERTH_PATTERN_ISSUERS)',
        }
      : {}),
  }))
}

export interface MatchOptions {
  /**
   * Accepted if the identity names no audience: the token service as a host and as a URL. Compared exactly (R10).
   */
  readonly defaultAudiences: readonly string[]
  readonly pattern: CompilePattern
}

/**
 * Checks the conditions of an identity for the claims of a verified token, in order. Exact values must be equal, patterns must match the whole
 * value. One of several audiences must match; a token without an audience never matches. A custom claim is compared as text: booleans and
 * numbers as in JSON (`true`, `42`); a list, an object or null never matches, nor does an integer beyond 2^53, which JSON parsers round.
 */
export function matchClaims(
  match: Omit<ClaimMatch, 'iss'>,
  claims: Pick<SubjectClaims, 'subject' | 'audience' | 'payload'>,
  { defaultAudiences, pattern }: MatchOptions,
  check: CheckCondition,
): void {
  const { sub, aud } = match
  check(matchChoice('subject', sub, 'subject', claims.subject, pattern))
  const isAudience = (value: string) =>
    aud.case === undefined ? defaultAudiences.includes(value) : matchesChoice(aud, 'audience', value, pattern)
  check(
    identityCondition('audience', claims.audience.some(isAudience), () =>
      aud.case === undefined
        ? oneOfDetail(
            defaultAudiences,
            claims.audience,
            'the identity names no audience, so the token must be for this token service: request that audience from its issuer, or set one on the identity',
          )
        : {
            ...choiceDetail(aud, 'audience', claims.audience[0] ?? '', pattern),
            actual: claims.audience.join(', '),
          },
    ),
  )
  for (const [name, expected] of Object.entries(match.claims)) {
    const value = claimText(claims.payload, name)
    check(
      identityCondition(`claims.${name}`, value === expected, () => ({
        expected,
        actual: value ?? '',
        hint: value === undefined ? claimHint(claims.payload, name) : textHint(expected, value),
      })),
    )
  }
  for (const [name, text] of Object.entries(match.claimPatterns)) {
    const value = claimText(claims.payload, name)
    check(
      identityCondition(
        `claims.${name}`,
        value !== undefined && matchesPattern(text, value, pattern),
        () => ({
          expected: patternText(text),
          actual: value ?? '',
          hint: value === undefined ? claimHint(claims.payload, name) : patternHint(text, value, pattern),
        }),
      ),
    )
  }
}

/** The condition that a value equals the exact value of an identity or matches its pattern. */
export function matchChoice(
  name: string,
  choice: Choice<string, string>,
  exact: string,
  value: string,
  pattern: CompilePattern,
): Condition {
  return identityCondition(name, matchesChoice(choice, exact, value, pattern), () =>
    choiceDetail(choice, exact, value, pattern),
  )
}

/** A condition of an identity. The error of the exchange does not name it. */
export function identityCondition(name: string, holds: boolean, detail: () => ConditionDetail): Condition {
  return { name, holds, fault: 'identity', reason: `the identity requires another ${name}`, detail }
}

/** Details of a condition that one of several values must be in the token. */
export function oneOfDetail(
  expected: readonly string[],
  actual: readonly string[],
  hint: string,
): ConditionDetail {
  return { expected: expected.join(' or '), actual: actual.join(', '), hint }
}

function matchesChoice(
  choice: Choice<string, string>,
  exact: string,
  value: string,
  pattern: CompilePattern,
): boolean {
  if (choice.case === undefined) return false
  return choice.case === exact ? choice.value === value : matchesPattern(choice.value, value, pattern)
}

function matchesPattern(text: string, value: string, pattern: CompilePattern): boolean {
  const compiled = pattern(text)
  return !('error' in compiled) && compiled.test(value)
}

function choiceDetail(
  choice: Choice<string, string>,
  exact: string,
  value: string,
  pattern: CompilePattern,
): ConditionDetail {
  if (choice.case === undefined)
    return { expected: '', actual: value, hint: 'the identity does not specify it' }
  return choice.case === exact
    ? { expected: choice.value, actual: value, hint: textHint(choice.value, value) }
    : {
        expected: patternText(choice.value),
        actual: value,
        hint: patternHint(choice.value, value, pattern),
      }
}

function patternText(pattern: string): string {
  return `pattern ${pattern}`
}

function claimHint(payload: Readonly<Record<string, unknown>>, name: string): string {
  return Object.hasOwn(payload, name)
    ? 'the claim is not a string, number or boolean, so nothing can match it'
    : 'the token has no such claim'
}

function claimText(payload: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return JSON.stringify(value)
}
