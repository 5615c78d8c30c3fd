/**
 * One of the conditions under which a token opens an identity. The exchange refuses by the first that does not hold; explaining
 * shows all of them. Both go through the same code, which tells a judge each condition in its turn.
 */
export interface Condition {
  /** `issuer`, `claims.ref`: stable, for programs. */
  readonly name: string
  /** Undefined: it cannot be told, because something before it does not hold. */
  readonly holds: boolean | undefined
  /** Who is at fault when it does not hold, which decides what the exchange answers. */
  readonly fault: Fault
  /** Why it does not hold: a fixed text in which nothing of the token, the identity or anybody's answer appears (R3). */
  readonly reason: string
  /** What only explaining needs, made when it is asked for. */
  readonly detail: () => ConditionDetail
}

/**
 * `token`: it is not genuine, or not timely, which is told. `identity`: it is not for this identity; the answer is the same as for an
 * identity that does not exist. `elsewhere`: somebody who had to be asked does not answer; try again.
 */
export type Fault = 'token' | 'identity' | 'elsewhere'

export interface ConditionDetail {
  readonly expected: string
  /** What the token has; '' for nothing. */
  readonly actual: string
  /** What to do about it, when it does not hold; '' when there is nothing to say. */
  readonly hint?: string
}

/** Told each condition; returns whether it holds, or throws when whoever asks wants to hear no more. */
export type CheckCondition = (condition: Condition) => boolean
