import { layerLimits } from '../limits.ts'

/** Untrusted JSON, as far as its memory is bounded. */

export type JsonObject = Readonly<Record<string, unknown>>

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, OPEN_MAP, CLOSE_LIST, CLOSE_MAP] = [...'"\\,[{]}'].map((char) =>
  char.charCodeAt(0),
)

/** Throws an Error whose message continues "could not be read, because". */
export function parseBoundedJson(
  content: Uint8Array,
  { jsonValuesMax, jsonDepthMax }: Pick<typeof layerLimits, 'jsonValuesMax' | 'jsonDepthMax'> = layerLimits,
): unknown {
  let [values, depth, isText] = [0, 0, false]
  for (let at = 0; at < content.length; at++) {
    const byte = content[at]
    if (byte === QUOTE) isText = !isText
    else if (isText) {
      if (byte === BACKSLASH) at++
    } else if (byte === COMMA) values++
    else if (byte === OPEN_LIST || byte === OPEN_MAP) {
      values++
      if (++depth > jsonDepthMax) throw new Error(`its JSON is nested more than ${jsonDepthMax} deep`)
    } else if (byte === CLOSE_LIST || byte === CLOSE_MAP) depth--
    if (values > jsonValuesMax) throw new Error(`its JSON has more than ${jsonValuesMax} values`)
  }
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString()
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text)
  } catch {
    throw new Error('it is not JSON')
  }
}

/** `value`: of JSON, so that an object is a map or a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Returns '' for anything but a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
