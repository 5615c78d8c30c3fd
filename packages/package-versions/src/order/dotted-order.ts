import { compareDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/** CRAN (numbers separated by points and hyphens) and Hackage (by points): fewer numbers are before more, so `1.0` is before `1.0.0`. */
export const dottedOrder: VersionOrder<readonly string[]> = {
  parse: (text) => (/^\d+(?:[.-]\d+)*$/.test(text) ? text.split(/[.-]/) : undefined),
  compare(a, b) {
    for (let at = 0; at < Math.min(a.length, b.length); at++) {
      const order = compareDigits(a[at] ?? '', b[at] ?? '')
      if (order !== 0) return order
    }
    return a.length - b.length
  },
}
