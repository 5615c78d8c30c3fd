import { limits } from '../../config/limits.ts'

/**
 * Bounds the steps of an evaluation. Expressions have no loops but `all`, `exists` and `exists_one` over lists and maps, so counting the elements
 * that they visit bounds the work: the lists of facts and parameters count themselves when they are iterated. Lists that an expression
 * spells out are bounded by its size. Evaluations are synchronous, so one counter serves all.
 */

let left = 0

export function withBudget<T>(evaluate: () => T): T {
  left = limits.policyEvaluationStepsMax
  return evaluate()
}

function spend(steps: number): void {
  left -= steps
  if (left < 0)
    throw new Error(`the expression takes more than ${limits.policyEvaluationStepsMax} steps for this image`)
}

/** Returns the list as CEL iterates over it. */
export function countedList<T>(list: readonly T[]): T[] {
  const counted = [...list]
  return Object.defineProperty(counted, 'values', {
    value: () => {
      spend(counted.length)
      return Array.prototype.values.call(counted)
    },
  })
}

/** Returns the map as CEL iterates over it. */
export function countedMap<V>(entries: Iterable<readonly [string, V]>): Map<string, V> {
  const counted = new Map(entries)
  return Object.defineProperty(counted, 'keys', {
    value: () => {
      spend(counted.size)
      return Map.prototype.keys.call(counted)
    },
  })
}
