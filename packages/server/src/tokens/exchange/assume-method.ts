import type { CheckCondition, Condition } from '../trust/condition.ts'
import type { KeySource } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'

/** How a signed JWT proves that its bearer may assume an identity. Each kind of relationship has one method. */
export interface AssumeMethod {
  /** Whether the identity trusts this issuer, checked before its keys are fetched (R1). */
  issuer(issuer: string): Condition
  /** Undefined: the published keys of the issuer. */
  readonly keys: KeySource | undefined
  /** Checks the conditions for the claims of the token. */
  claims(claims: SubjectClaims, check: CheckCondition): void
}

/** The audiences of the token service: its address and its host, because documented workloads use either. */
export function audienceForms(issuer: string): readonly string[] {
  return [issuer, new URL(issuer).host]
}
