/**
 * Whether a text is an SPDX license expression by its form: identifiers, AND, OR, WITH and parentheses. Whether the identifiers are
 * in the list of SPDX is not checked, as the list grows.
 */
export function isLicenseExpression(text: string): boolean {
  const tokens = text.match(/[()]|[^\s()]+/g) ?? []
  let depth = 0
  let expectsIdentifier = true
  for (const token of tokens) {
    if (token === '(') {
      if (!expectsIdentifier) return false
      depth++
    } else if (token === ')') {
      if (expectsIdentifier || --depth < 0) return false
    } else if (/^(?:AND|OR|WITH)$/.test(token)) {
      if (expectsIdentifier) return false
      expectsIdentifier = true
    } else {
      if (!expectsIdentifier || !/^[A-Za-z0-9][A-Za-z0-9.-]*\+?$/.test(token)) return false
      expectsIdentifier = false
    }
  }
  return depth === 0 && !expectsIdentifier
}
