import type { CheckCondition, Condition } from '../trust/condition.ts'
import type { KeySource } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'

/** How a signed JWT proves that whoever holds it may assume an identity. There is one way for each relationship. */
export interface AssumeMethod {
  /** Whether the identity trusts this issuer, asked before anything is fetched (R1). */
  issuer(issuer: string): Condition
  /** Undefined: those that the issuer publishes. */
  readonly keys: KeySource | undefined
  /** The conditions for what the token says. */
  claims(claims: SubjectClaims, judge: CheckCondition): void
}

/** The token service by its address and by its host: documented workloads use either. */
export function audienceForms(issuer: string): readonly string[] {
  return [issuer, new URL(issuer).host]
}
