import type { CheckCondition, Condition, ConditionDetail } from './condition.ts'
import { checkIssuer } from './issuer-url.ts'
import { patternHint, textHint } from './match-hints.ts'
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
export type Choice<Exact extends string, Pattern extends string> =
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

/** Compiles a pattern; one that does not compile matches nothing. */
export type CompilePattern = (text: string) => CompiledPattern | { readonly error: string }

/**
 * Whether an identity trusts the issuer of a token, which is asked before anything is fetched from it (R1). A pattern matches only
 * among the issuers that the operator named.
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
  // What a pattern lets through decides where keys are fetched from.
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
   * Accepted when the identity names no audience: the token service as a host and as a URL. Compared exactly
   * (R10).
   */
  readonly defaultAudiences: readonly string[]
  readonly pattern: CompilePattern
}

/**
 * The conditions that an identity has for the claims of a verified token, in order. Exact values are equal, patterns match the
 * whole value. Of several audiences one must match; a token without one never does. A custom claim is compared as text: booleans
 * and numbers as JSON writes them (`true`, `42`); a list, an object or null has no such text and never matches, nor does an integer
 * that JSON readers round (beyond 2^53).
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
            'the identity names no audience, so the token must be for this token service: ask its issuer for that audience, or set one on the identity',
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

/** Whether a value is the exact one or matches the pattern that an identity has for it. */
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

/** A condition that an identity sets: whoever does not meet it learns no more than that. */
export function identityCondition(name: string, holds: boolean, detail: () => ConditionDetail): Condition {
  return { name, holds, fault: 'identity', reason: `the identity asks for another ${name}`, detail }
}

/** What is expected where one of several values must be among those of the token. */
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
    return { expected: '', actual: value, hint: 'the identity says nothing about it' }
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
    ? 'the claim is neither a text, a number nor true or false, so nothing can match it'
    : 'the token has no such claim'
}

function claimText(payload: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined
  return JSON.stringify(value)
}
