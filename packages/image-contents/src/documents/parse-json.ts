import { documentLimits } from './document-limits.ts'
import { DocumentProblem } from './document-problem.ts'
import type { JsonObject } from './json-values.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON object. Size, depth and number of values are checked in the bytes before anything is allocated for them. Of duplicate
 * names in an object the last counts, as in JSON.parse. Numbers become doubles; readers take only numbers whose digits do not matter.
 *
 * Fails with a DocumentProblem for everything else, including compressed documents.
 */
export function parseJson(bytes: Uint8Array): JsonObject {
  if (bytes.length > documentLimits.documentBytesMax) {
    throw new DocumentProblem(`the document has more than ${documentLimits.documentBytesMax} bytes`)
  }
  checkEncoding(bytes)
  checkStructure(bytes)
  const value = parse(decode(bytes))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DocumentProblem('the document is not a JSON object')
  }
  return value as JsonObject
}

function checkEncoding([first, second, third, fourth]: Uint8Array): void {
  if (first === undefined) throw new DocumentProblem('the document is empty')
  if (first === 0x1f && second === 0x8b) throw new DocumentProblem('the document is compressed with gzip')
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) {
    throw new DocumentProblem('the document is compressed with zstd')
  }
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (isUtf16 || first === 0 || second === 0) {
    throw new DocumentProblem('the document is in UTF-16 or UTF-32, or binary')
  }
  if (first === 0x3c) throw new DocumentProblem('the document is XML, not JSON')
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const LIST = 0x5b
const OBJECT = 0x7b
/** `]` and `}` are two above `[` and `{`. */
const CLOSED = 2

/**
 * Counts values and depth outside of strings. Text that is not JSON passes or fails here for the wrong reason, but within the limits;
 * JSON.parse rejects what passes.
 */
function checkStructure(bytes: Uint8Array): void {
  const { documentDepthMax, documentValuesMax, documentFieldBytesMax } = documentLimits
  let depth = 0
  let values = 1
  let stringBytes = 0
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE: {
        const start = at
        at = endOfString(bytes, at)
        stringBytes = at - start
        break
      }
      case COLON:
        if (stringBytes > documentFieldBytesMax) {
          throw new DocumentProblem(`the name of a field has more than ${documentFieldBytesMax} bytes`)
        }
        break
      case LIST:
      case OBJECT:
        values++
        if (++depth > documentDepthMax) {
          throw new DocumentProblem(`the document is nested deeper than ${documentDepthMax} levels`)
        }
        break
      case LIST + CLOSED:
      case OBJECT + CLOSED:
        depth--
        break
      case COMMA:
        values++
        break
      case 0:
        throw new DocumentProblem('the document has the character U+0000: it is binary')
    }
    if (values > documentValuesMax) {
      throw new DocumentProblem(`the document has more than ${documentValuesMax} values`)
    }
  }
}

/** Returns the offset of the closing quote, or of the end of the bytes. */
export function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

function decode(bytes: Uint8Array): string {
  try {
    // The decoder removes the byte order mark.
    return UTF8.decode(bytes)
  } catch {
    throw new DocumentProblem('the document is not in UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new DocumentProblem(`the document is not JSON${placeOf(error, text)}`)
  }
}

/** The messages of V8 quote the document, so only the position is used. */
function placeOf(error: unknown, text: string): string {
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
  if (position === undefined) return text.trim() === '' ? ': it is empty' : ''
  const before = text.slice(0, Number(position)).split('\n')
  return ` (line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`
}
