import type { FieldViolation } from '../core/errors.ts'
import { limits } from '../core/limits.ts'

/** Names of tags with `*` for any characters and `?` for one, as policies write them. */

/** What names of tags are made of, and the two that stand for others. */
const patternText = /^[a-zA-Z0-9_.*?-]+$/

export function checkPatterns(patterns: readonly string[], field: string): (FieldViolation | undefined)[] {
  const { tagPatternsMax, tagPatternCharsMax } = limits
  if (patterns.length > tagPatternsMax)
    return [{ field, description: `must have at most ${tagPatternsMax} entries` }]
  const description = `must be the name of a tag, with * and ? for other characters, of at most ${tagPatternCharsMax} characters`
  return patterns.map((pattern, at) =>
    pattern.length <= tagPatternCharsMax && patternText.test(pattern)
      ? undefined
      : { field: `${field}[${at}]`, description },
  )
}

export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name))
}

/**
 * What a star stands for grows by one character where the rest does not fit, and only the last star is ever tried again: at most as many
 * steps as the pattern times the name is long.
 */
export function matches(pattern: string, name: string): boolean {
  let [at, inName] = [0, 0]
  let [star, starEnd] = [-1, 0]
  while (inName < name.length) {
    if (pattern[at] === '*') [star, starEnd, at] = [at, inName, at + 1]
    else if (pattern[at] === '?' || pattern[at] === name[inName]) [at, inName] = [at + 1, inName + 1]
    else if (star >= 0) [starEnd, inName, at] = [starEnd + 1, starEnd + 1, star + 1]
    else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}
