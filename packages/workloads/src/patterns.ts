/** Escapes a text as an RE2 pattern. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Returns the text that an escaped pattern stands for. */
export function unescapePattern(pattern: string): string {
  return pattern.replaceAll(/\\([\\^$.*+?()[\]{}|])/g, '$1')
}
