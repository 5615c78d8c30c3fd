import { createRequire } from 'node:module'
import { LRUCache } from 'lru-cache'
import { limits } from '../../config/limits.ts'
import { checkIssuerPattern } from './issuer-pattern.ts'
import { expandedSize, type PatternNode, parsePattern } from './pattern-syntax.ts'

/** A regular expression that is matched in time linear to the value. */
export interface CompiledPattern {
  /** Whether the pattern matches the whole value. One longer than 4096 characters never matches. */
  test(value: string): boolean
}

/**
 * The time to match is proportional to program size times value length; these limits keep the worst case below 100 ms.
 */
const PROGRAM_SIZE_MAX = 2048
const VALUE_CHARS_MAX = 4096
/** Size of the cache; a compiled pattern takes some kilobytes. */
const PATTERNS_REMEMBERED_MAX = 1000

const patterns = new LRUCache<string, CompiledPattern | { readonly error: string }>({
  max: PATTERNS_REMEMBERED_MAX,
})
const asciiChars = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))

type Engine = typeof import('re2js')['RE2JS']
let loadedEngine: Engine | undefined

/**
 * Loaded with the first pattern, so that the start of the server does not wait for it; synchronous, because matching is.
 */
function engine(): Engine {
  loadedEngine ??= (createRequire(import.meta.url)('re2js') as typeof import('re2js')).RE2JS
  return loadedEngine
}

/**
 * Compiles a user's regular expression in RE2 syntax, or returns an error. It must match whole values: anchors are implied, also around
 * alternatives (R4). It never runs on JavaScript's backtracking engine (R5). Compiled patterns are cached.
 */
export function compilePattern(text: string): CompiledPattern | { readonly error: string } {
  if (text.length > limits.patternCharsMax)
    return { error: `must have at most ${limits.patternCharsMax} characters` }
  let compiled = patterns.get(text)
  if (compiled === undefined) {
    compiled = compile(text)
    patterns.set(text, compiled)
  }
  return compiled
}

/**
 * Returns why `text` is not a valid issuer pattern; undefined if it is. It must compile, and fix the domain of the issuers that it matches;
 * see issuer-pattern.ts.
 */
export function lintIssuerPattern(text: string): string | undefined {
  const compiled = compilePattern(text)
  if ('error' in compiled) return compiled.error
  const node = parsePattern(text)
  return node === undefined
    ? 'uses syntax that is not allowed in issuer patterns'
    : checkIssuerPattern(node, asciiOf)
}

function compile(text: string): CompiledPattern | { readonly error: string } {
  const tooLarge = { error: 'is too large: use fewer or smaller repetitions' }
  // Checked before the engine expands the repetitions.
  const node = parsePattern(text)
  if (node !== undefined && expandedSize(node) > PROGRAM_SIZE_MAX) return tooLarge
  try {
    // Compiled alone first: `a)|(?:b` would end the group below.
    engine().compile(text)
    const whole = engine().compile(`^(?:${text})$`)
    if (node === undefined) return { error: 'is not a supported regular expression' }
    if (whole.programSize() > PROGRAM_SIZE_MAX) return tooLarge
    return { test: (value) => value.length <= VALUE_CHARS_MAX && whole.testExact(value) }
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : 'syntax error'
    return { error: `is not a regular expression in RE2 syntax: ${reason}` }
  }
}

function asciiOf({ source, flags }: PatternNode & { kind: 'char' }): string {
  const compiled = engine().compile(flags === '' ? source : `(?${flags})${source}`)
  return asciiChars.filter((char) => compiled.testExact(char)).join('')
}
