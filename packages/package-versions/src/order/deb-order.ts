import { compareDigits } from './compare-parts.ts'
import type { VersionOrder } from './version-order.ts'

/** The order of dpkg, deb-version(7): `epoch:upstream-revision`. */
export const debOrder: VersionOrder<DebVersion> = {
  parse(text) {
    if (text === '' || /\s/.test(text)) return undefined
    const colon = text.indexOf(':')
    const epoch = colon < 0 ? '' : text.slice(0, colon)
    if (colon >= 0 && !/^\d+$/.test(epoch)) return undefined
    const rest = text.slice(colon + 1)
    const hyphen = rest.lastIndexOf('-')
    return {
      epoch,
      upstream: hyphen < 0 ? rest : rest.slice(0, hyphen),
      revision: hyphen < 0 ? '' : rest.slice(hyphen + 1),
    }
  },
  compare: (a, b) =>
    compareDigits(a.epoch, b.epoch) ||
    comparePart(a.upstream, b.upstream) ||
    comparePart(a.revision, b.revision),
}

interface DebVersion {
  readonly epoch: string
  readonly upstream: string
  readonly revision: string
}

/** Compares alternating runs of other characters and of digits. A missing run is empty, which is 0 for digits. */
function comparePart(a: string, b: string): number {
  const left = a.split(/(\d+)/)
  const right = b.split(/(\d+)/)
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one = '', other = ''] = [left[at], right[at]]
    const order = at % 2 === 0 ? compareCharacters(one, other) : compareDigits(one, other)
    if (order !== 0) return order
  }
  return 0
}

function compareCharacters(a: string, b: string): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const order = weightOf(a, at) - weightOf(b, at)
    if (order !== 0) return order
  }
  return 0
}

/** `~` is before the end of the run, letters are after it, and all other characters are after letters. */
function weightOf(text: string, at: number): number {
  if (at >= text.length) return 0
  const code = text.charCodeAt(at)
  if (code === 126) return -1
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122) ? code : code + 65_536
}
