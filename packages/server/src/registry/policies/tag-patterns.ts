import type { FieldViolation } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'

/** Patterns of tag names in policies, with `*` for any characters and `?` for one. */

/** Characters of tag names and the two wildcards. */
const patternText = /^[a-zA-Z0-9_.*?-]+$/

export function checkPatterns(patterns: readonly string[], field: string): (FieldViolation | undefined)[] {
  const { tagPatternsMax, tagPatternCharsMax, tagPatternStarsMax } = limits
  if (patterns.length > tagPatternsMax)
    return [{ field, description: `must have at most ${tagPatternsMax} entries` }]
  const description = `must be a tag name, optionally with the wildcards * and ?, of at most ${tagPatternCharsMax} characters, with at most ${tagPatternStarsMax} *`
  return patterns.map((pattern, at) =>
    pattern.length <= tagPatternCharsMax &&
    patternText.test(pattern) &&
    pattern.split('*').length - 1 <= tagPatternStarsMax
      ? undefined
      : { field: `${field}[${at}]`, description },
  )
}

/** Returns the first pattern that matches a name. */
export function findMatching(patterns: readonly string[], name: string): string | undefined {
  return patterns.find((pattern) => matches(pattern, name))
}

export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name))
}

/**
 * Matches each literal between two stars at its first occurrence after the previous one, without backtracking: the first
 * occurrence leaves the most for the rest.
 */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return first.length === name.length && matchesAt(first, name, 0)
  const end = name.length - last.length
  if (end < first.length || !matchesAt(first, name, 0) || !matchesAt(last, name, end)) return false
  let at = first.length
  for (const piece of rest) {
    const found = findPiece(piece, name, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}

function findPiece(piece: string, name: string, from: number): number {
  if (!piece.includes('?')) return name.indexOf(piece, from)
  for (let at = from; at + piece.length <= name.length; at++) if (matchesAt(piece, name, at)) return at
  return -1
}

function matchesAt(piece: string, name: string, from: number): boolean {
  if (!piece.includes('?')) return name.startsWith(piece, from)
  for (let at = 0; at < piece.length; at++)
    if (piece[at] !== '?' && piece[at] !== name[from + at]) return false
  return from + piece.length <= name.length
}
