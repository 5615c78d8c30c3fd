/** Values that are asked for one by one, and loaded together. */

/** The rows of a table ask in the same turn. */
const WAIT_MS = 5

/** Returns a function that loads one value; values that are asked for at the same time are loaded together, at most `max` in one call. */
export function batched<T>(
  max: number,
  load: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>,
): (key: string) => Promise<T | undefined> {
  interface Batch {
    readonly keys: string[]
    readonly values: Promise<ReadonlyMap<string, T>>
  }
  let open: Batch | undefined
  const begin = (): Batch => {
    const keys: string[] = []
    const values = new Promise((resolve) => setTimeout(resolve, WAIT_MS)).then(() => {
      if (open === batch) open = undefined
      return load(keys)
    })
    const batch = { keys, values }
    return batch
  }
  return async (key) => {
    if (open === undefined || open.keys.length >= max) open = begin()
    const { keys, values } = open
    keys.push(key)
    return (await values).get(key)
  }
}
