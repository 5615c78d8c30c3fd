/**
 * The syntax tree of an RE2 pattern, which bounds the size of the pattern and locates its parts in a text. The engine itself decides what a
 * part matches, so the two cannot disagree.
 */
export type PatternNode =
  /**
   * Matches one character. `source` is RE2 syntax: `a`, `\.`, `[^/]`, `\pL`; `flags` apply to it.
   */
  | { readonly kind: 'char'; readonly source: string; readonly flags: string }
  /** Matches without consuming: anchors, word boundaries. */
  | { readonly kind: 'assertion' }
  | { readonly kind: 'sequence'; readonly nodes: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly nodes: readonly PatternNode[] }
  /** `max` may be Infinity. */
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }

const quantifier = /([*+?]|\{(\d+)(,(\d*))?\})\??/y
const groupStart = /\((?:\?(?:P?<\w+>|([imsU]*(?:-[imsU]+)?)([:)])))?/uy
/** Anchors and boundaries; a quotation, possibly without its end; a class; one character or escape. */
const assertion = /\^|\$|\\[AbBz]/y
const quotation = /\\Q((?:(?!\\E)[\s\S])*)(?:\\E)?/y
const charClass = /\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]/uy
const escaped = /\\(?:x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[pP](?:\{\^?\w+\}|\w)|[0-7]{1,3}|[\s\S])/uy
const plainChar = /[^()|*+?[\\]/uy

/**
 * Parses a pattern that the engine accepts; undefined if it uses syntax that this parser does not support.
 */
export function parsePattern(text: string): PatternNode | undefined {
  let at = 0

  function take(part: RegExp): RegExpExecArray | undefined {
    part.lastIndex = at
    const found = part.exec(text)
    if (found === null) return undefined
    at += found[0].length
    return found
  }

  /** Parses up to `)` or the end. Flags that are set inside apply until then, across `|`. */
  function parseChoice(outerFlags: string): PatternNode | undefined {
    let flags = outerFlags
    const choices: PatternNode[][] = [[]]
    while (at < text.length && text[at] !== ')') {
      const nodes = choices.at(-1) ?? []
      if (text[at] === '|') {
        at++
        choices.push([])
        continue
      }
      const group = take(groupStart)
      if (group?.[2] === ')') {
        flags = changeFlags(flags, group[1] ?? '')
      } else if (group !== undefined) {
        const inner = parseChoice(changeFlags(flags, group[1] ?? ''))
        if (inner === undefined || text[at++] !== ')') return undefined
        nodes.push(inner)
      } else if (!parseAtoms(nodes, flags)) {
        return undefined
      }
      // Also after flags and an empty quotation: the engine then repeats the item before them.
      repeatLast(nodes)
    }
    const sequences = choices.map((nodes): PatternNode => ({ kind: 'sequence', nodes }))
    return sequences.length === 1 ? sequences[0] : { kind: 'choice', nodes: sequences }
  }

  function parseAtoms(nodes: PatternNode[], flags: string): boolean {
    const quoted = take(quotation)
    if (quoted !== undefined) {
      for (const char of quoted[1] ?? '') nodes.push({ kind: 'char', source: quoteChar(char), flags })
      return true
    }
    if (take(assertion) !== undefined) return nodes.push({ kind: 'assertion' }) > 0
    const char = take(charClass) ?? take(escaped) ?? take(plainChar)
    return char !== undefined && nodes.push({ kind: 'char', source: quoteBrace(char[0]), flags }) > 0
  }

  function repeatLast(nodes: PatternNode[]): void {
    const last = nodes.at(-1)
    const times = last === undefined ? undefined : take(quantifier)
    if (last === undefined || times === undefined) return
    const [min, max] = bounds(times)
    nodes[nodes.length - 1] = { kind: 'repeat', node: last, min, max }
  }

  const node = parseChoice('')
  return at === text.length ? node : undefined
}

/** Estimates the number of instructions of a compiled pattern: counted repetitions are expanded. */
export function expandedSize(node: PatternNode): number {
  switch (node.kind) {
    case 'char':
    case 'assertion':
      return 1
    case 'sequence':
    case 'choice':
      return node.nodes.reduce(
        (sum, it) => sum + expandedSize(it),
        node.kind === 'choice' ? node.nodes.length : 1,
      )
    case 'repeat':
      return 1 + expandedSize(node.node) * (Number.isFinite(node.max) ? node.max : Math.max(node.min, 1))
  }
}

function bounds([, operator, low, comma, high]: RegExpExecArray): [min: number, max: number] {
  if (operator === '*') return [0, Infinity]
  if (operator === '+') return [1, Infinity]
  if (operator === '?') return [0, 1]
  const min = Number(low)
  if (comma === undefined) return [min, min]
  return [min, high === '' ? Infinity : Number(high)]
}

function changeFlags(flags: string, change: string): string {
  const [on = '', off = ''] = change.split('-')
  return [...new Set(flags + on)].filter((flag) => !off.includes(flag)).join('')
}

function quoteChar(char: string): string {
  return /[\\.+*?()|[\]{}^$]/.test(char) ? `\\${char}` : char
}

/**
 * A brace that starts no repetition is literal, but not at the start of a pattern in every engine.
 */
function quoteBrace(source: string): string {
  return source === '{' || source === '}' || source === ']' ? `\\${source}` : source
}
