import type { Condition, Judge } from './condition.ts'

/** The two who ask for conditions: the one who stops at the first that does not hold, and the one who wants to see all. */

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failed: Condition }

class Stopped extends Error {
  readonly at: Condition

  constructor(at: Condition) {
    super(at.why)
    this.at = at
  }
}

/** What `check` comes to, or the first condition that does not hold; what cannot be told does not hold. */
export async function untilOneFails<T>(check: (judge: Judge) => T | Promise<T>): Promise<Outcome<T>> {
  try {
    const value = await check((condition) => {
      if (condition.holds !== true) throw new Stopped(condition)
      return true
    })
    return { ok: true, value }
  } catch (error) {
    if (error instanceof Stopped) return { ok: false, failed: error.at }
    throw error
  }
}

/** Every condition in its order, whatever becomes of the ones before. */
export async function everyCondition(check: (judge: Judge) => unknown): Promise<readonly Condition[]> {
  const conditions: Condition[] = []
  await check((condition) => {
    conditions.push(condition)
    return condition.holds === true
  })
  return conditions
}
