import type { CheckCondition, Condition } from './condition.ts'

/** The two ways to evaluate conditions: until the first failure, and all. */

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

/** Returns the result of `evaluate`, or the first condition that does not hold or is unknown. */
export async function evaluateUntilFailure<T>(
  evaluate: (check: CheckCondition) => T | Promise<T>,
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

/** Returns all conditions in order, also after a failure. */
export async function evaluateAll(
  evaluate: (check: CheckCondition) => unknown,
): Promise<readonly Condition[]> {
  const conditions: Condition[] = []
  await evaluate((condition) => {
    conditions.push(condition)
    return condition.holds === true
  })
  return conditions
}
