import assert from 'node:assert/strict'

const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const uid = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/

/**
 * An answer as golden text: uids are counted in the order in which they appear, times become `<time>` once they are seen to be
 * UTC with three digits. What is in `known` keeps a name of its own.
 */
export function stableText(value: unknown, known: Readonly<Record<string, string>> = {}): string {
  const segments = new Map(Object.entries(known))
  const nameOf = (segment: string) => {
    const name = segments.get(segment) ?? `<${segment.length === 40 ? 'root' : 'child'} ${segments.size + 1}>`
    segments.set(segment, name)
    return name
  }
  const replaced = (key: string, held: unknown): unknown => {
    if (typeof held !== 'string') return held
    if (/Time$/.test(key)) {
      assert.match(held, timestamp, key)
      return '<time>'
    }
    return uid.test(held) ? held.split('/').map(nameOf).join('/') : held
  }
  return `${JSON.stringify(value, replaced, 2)}\n`
}
