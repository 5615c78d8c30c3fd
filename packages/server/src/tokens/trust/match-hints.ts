import type { CompilePattern } from './match.ts'

/** What whoever wrote an expectation probably meant, when a value does not meet it. Pure. */

/** For two texts that must be equal. */
export function textHint(expected: string, actual: string): string {
  if (expected === actual) return ''
  if (expected.replace(/\/$/, '') === actual.replace(/\/$/, ''))
    return 'they differ in the slash at the end, which counts'
  if (expected.trim() === actual.trim()) return 'they differ in blanks at the beginning or the end'
  if (expected.toLowerCase() === actual.toLowerCase())
    return 'they differ in upper and lower case, which counts'
  if (/\*|\.\+|\[.*\]|^\^|\$$/.test(expected))
    return 'this is an exact value, not a pattern: characters such as * mean themselves'
  return ''
}

/** For a pattern and a text that it does not match. */
export function patternHint(pattern: string, actual: string, compile: CompilePattern): string {
  const compiled = compile(pattern)
  if ('error' in compiled) return `the pattern ${compiled.error}`
  if (compiled.test(actual)) return ''
  const glob = intendedPattern(pattern)
  if (glob !== pattern && matches(glob, actual, compile))
    return `* repeats what stands before it; for any text write .* instead: ${glob}`
  if (matches(`(?s:.*)(?:${pattern})(?s:.*)`, actual, compile))
    return 'the pattern matches a part only, and must match the whole value: add .* where anything may follow or come before'
  if (matches(`(?i:${pattern})`, actual, compile)) return 'upper and lower case differ, which counts'
  return ''
}

/** The pattern that somebody meant who wrote `*` as in file names. */
function intendedPattern(pattern: string): string {
  return pattern.replaceAll(/(^|[^.)\]}\\])\*/g, '$1.*')
}

function matches(pattern: string, value: string, compile: CompilePattern): boolean {
  const compiled = compile(pattern)
  return !('error' in compiled) && compiled.test(value)
}
