import type { ParsedDocument } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { problemWith, type Value } from '../syntax/source-value.ts'

type IndexedFields = Pick<ParsedDocument, 'id' | 'advisories' | 'scores'>

/**
 * What becomes part of an index must be short, and all that a document has of it must not become too much: each name of a thing is
 * found by every part of it. Throws a DocumentProblem.
 */
export function checkIndexedNames(root: Value, { id, advisories, scores }: IndexedFields): void {
  const { advisoryDocumentIdBytesMax, advisoryIndexedNameBytesMax, advisoryAliasBytesMax } = formatLimits
  checkBytes(root, id, advisoryDocumentIdBytesMax)
  const productNames = new Set<string>()
  const aliases = new Set<string>()
  for (const { artifactName, componentName, origin, aliases: own } of advisories) {
    for (const name of [artifactName, componentName, origin]) productNames.add(name)
    for (const alias of own) aliases.add(alias)
  }
  for (const { alias, component } of scores) {
    productNames.add(component)
    aliases.add(alias)
  }
  let bytes = 0
  for (const [texts, max] of [
    [productNames, advisoryIndexedNameBytesMax],
    [aliases, advisoryAliasBytesMax],
  ] as const)
    for (const text of texts) {
      checkBytes(root, text, max)
      bytes += suffixBytes(text)
      if (bytes > formatLimits.advisoryDocumentSuffixBytesMax)
        throw problemWith(
          sourceOf(root, text) ?? root,
          `is too much: what finds the names of a document by their parts may have ${formatLimits.advisoryDocumentSuffixBytesMax} bytes`,
        )
    }
}

function checkBytes(root: Value, text: string, max: number): void {
  if (Buffer.byteLength(text) <= max) return
  throw problemWith(sourceOf(root, text) ?? root, `gives a name of more than ${max} bytes`)
}

/** What a row has beside its text. */
const ROW_BYTES = 64

/** Of all ends of a name, which are as many as its characters and cut off at advisorySuffixCharsMax. */
function suffixBytes(text: string): number {
  const { length } = text
  const max = formatLimits.advisorySuffixCharsMax
  const last = Math.min(length, max)
  const chars = (length - last) * max + (last * (last + 1)) / 2
  return chars * (Buffer.byteLength(text) / Math.max(length, 1)) + length * ROW_BYTES
}

/** Where a name comes from, which may be decoded or a part of what is there: else the first text that is long enough to hold it. */
function sourceOf(root: Value, name: string): Value | undefined {
  let found: Value | undefined
  for (const value of valuesIn(root)) {
    const text = value.kind === 'text' ? value.text : ''
    if (text.includes(name) || value.name.includes(name)) return value
    if (found === undefined && text.length >= name.length) found = value
  }
  return found
}

function* valuesIn(value: Value): Generator<Value> {
  yield value
  if (value.kind === 'list') for (const item of value.items) yield* valuesIn(item)
  else if (value.kind === 'fields') for (const item of value.byName.values()) yield* valuesIn(item)
}
