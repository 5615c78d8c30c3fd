import type { CompilePattern } from './match.ts'

/** Hints why a value does not match an expected value or a pattern. Pure. */

/** For two texts that must be equal. */
export function textHint(expected: string, actual: string): string {
  if (expected === actual) return ''
  if (expected.replace(/\/$/, '') === actual.replace(/\/$/, ''))
    return 'they differ in the trailing slash, which is significant'
  if (expected.trim() === actual.trim()) return 'they differ in leading or trailing spaces'
  if (expected.toLowerCase() === actual.toLowerCase())
    return 'they differ in upper and lower case, which is significant'
  if (/\*|\.\+|\[.*\]|^\^|\$$/.test(expected))
    return 'this is an exact value, not a pattern: characters such as * are literal'
  return ''
}

/** For a pattern and a text that it does not match. */
export function patternHint(pattern: string, actual: string, compile: CompilePattern): string {
  const compiled = compile(pattern)
  if ('error' in compiled) return `the pattern ${compiled.error}`
  if (compiled.test(actual)) return ''
  const glob = intendedPattern(pattern)
  if (glob !== pattern && matches(glob, actual, compile))
    return `* repeats the item before it; for any text write .* instead: ${glob}`
  if (matches(`(?s:.*)(?:${pattern})(?s:.*)`, actual, compile))
    return 'the pattern matches only a part, but must match the whole value: add .* before or after it to match any text there'
  if (matches(`(?i:${pattern})`, actual, compile)) return 'upper and lower case differ, which is significant'
  return ''
}

/** The pattern for a `*` that is meant as in file names. */
function intendedPattern(pattern: string): string {
  return pattern.replaceAll(/(^|[^.)\]}\\])\*/g, '$1.*')
}

function matches(pattern: string, value: string, compile: CompilePattern): boolean {
  const compiled = compile(pattern)
  return !('error' in compiled) && compiled.test(value)
}
