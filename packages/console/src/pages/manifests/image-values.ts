/** Returns the name and the value of an environment variable. */
export function splitVariable(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
