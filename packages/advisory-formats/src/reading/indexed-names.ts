import type { ParsedDocument } from '../advisory-record.ts'
import { formatLimits } from '../limits.ts'
import { problemWith, type Value } from '../syntax/source-value.ts'

type IndexedFields = Pick<ParsedDocument, 'id' | 'advisories' | 'scores'>

/**
 * Checks that indexed values are short, and that the index entries of one document are not too many: names have an entry for each
 * suffix. Throws a DocumentProblem.
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
          `exceeds the limit of ${formatLimits.advisoryDocumentSuffixBytesMax} bytes in the search index for the names of one document`,
        )
    }
}

function checkBytes(root: Value, text: string, max: number): void {
  if (Buffer.byteLength(text) <= max) return
  throw problemWith(sourceOf(root, text) ?? root, `has a name of more than ${max} bytes`)
}

/** Size of an index row without its text. */
const ROW_BYTES = 64

/** Returns the size of all suffixes of a name: one for each character, each cut at advisorySuffixCharsMax. */
function suffixBytes(text: string): number {
  const { length } = text
  const max = formatLimits.advisorySuffixCharsMax
  const last = Math.min(length, max)
  const chars = (length - last) * max + (last * (last + 1)) / 2
  return chars * (Buffer.byteLength(text) / Math.max(length, 1)) + length * ROW_BYTES
}

/** Finds the value that contains a name. A decoded name may not occur literally: then the first text that is long enough. */
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
