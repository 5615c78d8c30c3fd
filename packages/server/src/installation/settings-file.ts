import { parseEnv } from 'node:util'

/**
 * Parses a file of settings: lines NAME=VALUE as in .env files, with comments and quotes; a value is on one line. Returns them by name,
 * or a sentence for each invalid line.
 */
export function parseSettingsFile(
  text: string,
):
  | { readonly settings: Readonly<Record<string, string | undefined>> }
  | { readonly problems: readonly string[] } {
  const problems = text.split(/\r?\n/).flatMap((line, at) => {
    const isSetting = /^\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*\s*=.*)?$/.test(line)
    return isSetting ? [] : [`line ${at + 1} must be NAME=VALUE`]
  })
  return problems.length > 0 ? { problems } : { settings: parseEnv(text) }
}
