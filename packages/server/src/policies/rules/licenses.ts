import { matches } from '../../registry/policies/tag-patterns.ts'

/** Rules for SPDX license expressions: `MIT`, `Apache-2.0 OR GPL-2.0-only WITH Classpath-exception-2.0`. */

/**
 * Returns whether one may use a package under an expression if `accepts` says it for each license. With parentheses every license counts,
 * which is at least as strict.
 */
export function acceptsLicense(expression: string, accepts: (license: string) => boolean): boolean {
  const everyOf = (text: string, separator: RegExp) => splitLicenses(text, separator).every(accepts)
  if (/[()]/.test(expression)) return everyOf(expression.replace(/[()]/g, ' '), /\s+(?:AND|OR)\s+/i)
  return splitLicenses(expression, /\s+OR\s+/i).some((choice) => everyOf(choice, /\s+AND\s+/i))
}

function splitLicenses(text: string, separator: RegExp): string[] {
  return text.split(separator).flatMap((part) => {
    // An exception does not take anything from the license.
    const license = part.trim().replace(/\s+WITH\s+\S+$/i, '')
    return license === '' ? [] : [license]
  })
}

export function matchesLicense(patterns: readonly string[], license: string): boolean {
  return patterns.some((pattern) => matches(pattern.toLowerCase(), license.toLowerCase()))
}
