/** Comparisons that the orders of several ecosystems share. Each returns a negative number, 0 or a positive number. */

/** Compares decimal digits as numbers of any size; leading zeros do not count, and no digits are 0. */
export function compareDigits(a: string, b: string): number {
  const left = withoutLeadingZeros(a)
  const right = withoutLeadingZeros(b)
  return left.length - right.length || compareText(left, right)
}

/** Compares by UTF-16 code units, as all characters of versions are in the basic plane. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Compares two lists entry by entry. Where one list ends, `end` takes the place of its entries. */
export function compareLists<T>(
  a: readonly T[],
  b: readonly T[],
  end: T,
  compare: (a: T, b: T) => number,
): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const order = compare(a[at] ?? end, b[at] ?? end)
    if (order !== 0) return order
  }
  return 0
}

export function isDigits(text: string): boolean {
  return /^\d+$/.test(text)
}

function withoutLeadingZeros(digits: string): string {
  let at = 0
  while (digits.charCodeAt(at) === 48) at++
  return at === 0 ? digits : digits.slice(at)
}
