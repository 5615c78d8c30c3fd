/** What JSON.parse does not tell about a text that it can read. */
export interface JsonShape {
  /** Deepest nesting of objects and lists; 0 for a plain value. */
  readonly depth: number
  /** Members written, in all objects together: more than the parsed objects hold means that one was written twice. */
  readonly members: number
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** One pass over JSON text, without recursion. The numbers mean something only when the text is well-formed. */
export function scanJson(text: string): JsonShape {
  let depth = 0
  let deepest = 0
  let members = 0
  const { length } = text
  for (let index = 0; index < length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        for (index++; index < length; index++) {
          const unit = text.charCodeAt(index)
          if (unit === QUOTE) break
          if (unit === BACKSLASH) index++
        }
        break
      case 0x3a: // colon
        members++
        break
      case 0x7b: // {
      case 0x5b: // [
        depth++
        if (depth > deepest) deepest = depth
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
    }
  }
  return { depth: deepest, members }
}

/** Members of all objects in a parsed value together. */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value)
  let members = Array.isArray(value) ? 0 : inside.length
  for (const item of inside) members += countMembers(item)
  return members
}

/**
 * Path of the first member that is written twice in one object; undefined when there is none. For the error message only:
 * it parses the text once more.
 */
export function repeatedMember(text: string): string | undefined {
  // One set of names and the path for each open object or list; a list counts its elements.
  const open: {
    readonly path: string
    readonly names: Set<string> | undefined
    name: string
    index: number
  }[] = []
  const child = () => {
    const top = open.at(-1)
    if (top === undefined) return ''
    if (top.names === undefined) return `${top.path}[${top.index}]`
    return top.path === '' ? top.name : `${top.path}.${top.name}`
  }
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\],]/g)) {
    const top = open.at(-1)
    if (token === '{' || token === '[') {
      open.push({ path: child(), names: token === '{' ? new Set() : undefined, name: '', index: 0 })
    } else if (token === '}' || token === ']') {
      open.pop()
    } else if (token === ',') {
      if (top !== undefined) top.index++
    } else if (token.endsWith(':') && top?.names !== undefined) {
      top.name = JSON.parse(token.slice(0, -1)) as string
      if (top.names.has(top.name)) return child()
      top.names.add(top.name)
    }
  }
  return undefined
}
