import { readFileSync } from 'node:fs'

/** Returns the version of this program. All packages have the same version. */
export function version(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
