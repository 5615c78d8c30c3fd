import { type ClaimMatch, matchClaims, matchIssuer } from '../trust/match.ts'
import { compilePattern } from '../trust/patterns.ts'
import type { AssumeMethod } from './assume-method.ts'

/** The method for a token of an issuer with published keys, by its claims. */
export function claimMatchMethod(
  match: ClaimMatch,
  options: {
    /** Accepted if the identity names no audience. */
    readonly defaultAudiences: readonly string[]
    readonly patternIssuers: readonly string[]
  },
): AssumeMethod {
  const matching = { ...options, pattern: compilePattern }
  return {
    issuer: (issuer) => matchIssuer(match, issuer, matching),
    keys: undefined,
    claims: (claims, check) => matchClaims(match, claims, matching, check),
  }
}
