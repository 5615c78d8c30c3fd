/** Keys of rows that a user selected. */

export function without(keys: ReadonlySet<string>, removed: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...keys].filter((key) => !removed.has(key)))
}
