/**
 * Reads JSON once before anything builds objects from it (R28): counts what it holds, stops at limits, and finds members that an
 * object has twice, of which one reader takes the first and another the last (R32). Pure, and without recursion.
 */

export interface JsonLimits {
  /** Nested objects and lists; 0 admits a plain value only. */
  readonly depthMax: number
  /** Values in all objects and lists together. An empty object or list counts like one with one value. */
  readonly elementsMax: number
}

export interface JsonScan {
  /** Greatest nesting of objects and lists; 0 for a plain value. */
  readonly depth: number
  /** Members of all objects together. */
  readonly members: number
  /** See JsonLimits. */
  readonly elements: number
  /** The limit at which the scan stopped; the counts then end there. */
  readonly exceeded: keyof JsonLimits | undefined
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const LIST = 0x5b
const LIST_END = 0x5d
const OBJECT = 0x7b
const OBJECT_END = 0x7d

/**
 * Counts what JSON text, or its bytes in UTF-8, holds. Stops as soon as a limit is passed. The counts are those of the value if the
 * text is well-formed; JSON.parse decides that afterwards.
 */
export function scanJson(json: string | Uint8Array, { depthMax, elementsMax }: JsonLimits): JsonScan {
  // Everything that counts is ASCII, and one type keeps the loop fast.
  const bytes = typeof json === 'string' ? Buffer.from(json) : json
  const { length } = bytes
  let open = 0
  let depth = 0
  let members = 0
  let elements = 0
  let exceeded: JsonScan['exceeded']
  for (let at = 0; at < length && exceeded === undefined; at++) {
    switch (bytes[at]) {
      case QUOTE:
        for (at++; at < length; at++) {
          const byte = bytes[at]
          if (byte === QUOTE) break
          if (byte === BACKSLASH) at++
        }
        break
      case COLON:
        members++
        break
      case OBJECT:
      case LIST:
        open++
        if (open > depth) depth = open
        elements++
        if (elements > elementsMax) exceeded = 'elementsMax'
        if (depth > depthMax) exceeded = 'depthMax'
        break
      case COMMA:
        elements++
        if (elements > elementsMax) exceeded = 'elementsMax'
        break
      case OBJECT_END:
      case LIST_END:
        open--
        break
    }
  }
  return { depth, members, elements, exceeded }
}

/** Whether an object in well-formed JSON has a member twice. `value` is what JSON.parse returned for the text of the scan. */
export function hasDuplicateMember({ members }: JsonScan, value: unknown): boolean {
  return members !== countMembers(value)
}

function countMembers(value: unknown): number {
  let members = 0
  const queue = [value]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const values = Object.values(next)
    if (!Array.isArray(next)) members += values.length
    for (const one of values) if (typeof one === 'object' && one !== null) queue.push(one)
  }
  return members
}

/** An object or list that is not closed yet. */
interface OpenContainer {
  /** Names so far; undefined in a list. */
  readonly names: Set<string> | undefined
  name: string
  index: number
}

/**
 * Returns the path of the first member that an object in well-formed JSON has twice (`a.b[2].c`), undefined if there is none. Slower
 * than `hasDuplicateMember`, which decides; this is for the error message.
 */
export function findDuplicateMember(json: string): string | undefined {
  const open: OpenContainer[] = []
  let textFrom = 0
  let textTo = 0
  for (let at = 0; at < json.length; at++) {
    const top = open.at(-1)
    switch (json.charCodeAt(at)) {
      case QUOTE:
        textFrom = at
        for (at++; at < json.length && json.charCodeAt(at) !== QUOTE; at++)
          if (json.charCodeAt(at) === BACKSLASH) at++
        textTo = at + 1
        break
      case OBJECT:
      case LIST:
        open.push({ names: json.charCodeAt(at) === OBJECT ? new Set() : undefined, name: '', index: 0 })
        break
      case OBJECT_END:
      case LIST_END:
        open.pop()
        break
      case COMMA:
        if (top !== undefined) top.index++
        break
      case COLON:
        if (top?.names === undefined) break
        top.name = JSON.parse(json.slice(textFrom, textTo)) as string
        if (top.names.has(top.name)) return pathOf(open)
        top.names.add(top.name)
        break
    }
  }
  return undefined
}

function pathOf(open: readonly OpenContainer[]): string {
  return open
    .map(({ names, name, index }, depth) =>
      names === undefined ? `[${index}]` : depth === 0 ? name : `.${name}`,
    )
    .join('')
}
