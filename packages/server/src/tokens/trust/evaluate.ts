import type { CheckCondition, Condition } from './condition.ts'

/** The two who ask for conditions: the one who stops at the first that does not hold, and the one who wants to see all. */

export type EvaluationResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failed: Condition }

class ConditionFailed extends Error {
  readonly at: Condition

  constructor(at: Condition) {
    super(at.reason)
    this.at = at
  }
}

/** What `check` comes to, or the first condition that does not hold; what cannot be told does not hold. */
export async function evaluateUntilFailure<T>(
  evaluate: (judge: CheckCondition) => T | Promise<T>,
): Promise<EvaluationResult<T>> {
  try {
    const value = await evaluate((condition) => {
      if (condition.holds !== true) throw new ConditionFailed(condition)
      return true
    })
    return { ok: true, value }
  } catch (error) {
    if (error instanceof ConditionFailed) return { ok: false, failed: error.at }
    throw error
  }
}

/** Every condition in its order, whatever becomes of the ones before. */
export async function evaluateAll(
  evaluate: (judge: CheckCondition) => unknown,
): Promise<readonly Condition[]> {
  const conditions: Condition[] = []
  await evaluate((condition) => {
    conditions.push(condition)
    return condition.holds === true
  })
  return conditions
}
