import { endOfString } from './parse-json.ts'

const OBJECT = 0x7b
const LIST = 0x5b
const CLOSED = 2
const COLON = 0x3a
const COMMA = 0x2c
const QUOTE = 0x22

/**
 * Returns the bytes of the value of a field of a JSON object as they are written, so that a document within a document keeps its exact
 * text. Undefined if the object has no such field. The bytes must have passed parseJson; of duplicate names the last counts, as there.
 */
export function memberBytes(object: Uint8Array, name: string): Uint8Array | undefined {
  let found: Uint8Array | undefined
  let depth = 0
  let key = ''
  let start = -1
  for (let at = 0; at < object.length; at++) {
    const byte = object[at]
    if (byte === QUOTE) {
      const end = endOfString(object, at)
      if (depth === 1 && start === -1) key = textOf(object.subarray(at, end + 1))
      at = end
    } else if (byte === OBJECT || byte === LIST) {
      depth++
    } else if (byte === COLON && depth === 1 && start === -1) {
      start = at + 1
    } else if (
      (byte === COMMA && depth === 1) ||
      ((byte === OBJECT + CLOSED || byte === LIST + CLOSED) && --depth === 0)
    ) {
      if (start !== -1 && key === name) found = object.subarray(start, at)
      start = -1
    }
  }
  return found
}

function textOf(string: Uint8Array): string {
  return JSON.parse(Buffer.from(string.buffer, string.byteOffset, string.byteLength).toString())
}
