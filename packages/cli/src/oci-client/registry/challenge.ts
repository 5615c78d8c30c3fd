/** Parses WWW-Authenticate (RFC 9110, section 11.6.1): the first challenge that this client supports. Pure. */

export type Challenge =
  | { readonly scheme: 'basic' }
  | {
      readonly scheme: 'bearer'
      readonly realm: string
      readonly service: string
      readonly scope: string
    }

export function parseChallenge(header: string): Challenge | undefined {
  const challenges = [...header.matchAll(CHALLENGE)]
  for (const [, scheme = '', parameters = ''] of challenges) {
    if (scheme.toLowerCase() === 'basic') return { scheme: 'basic' }
    const { realm, service = '', scope = '' } = parseParameters(parameters)
    if (scheme.toLowerCase() === 'bearer' && realm !== undefined)
      return { scheme: 'bearer', realm, service, scope }
  }
  return undefined
}

const PARAMETER = String.raw`[\w-]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s,"]*)`
const CHALLENGE = new RegExp(String.raw`(\w+)(?:\s+(${PARAMETER}(?:\s*,\s*${PARAMETER})*))?\s*(?:,|$)`, 'g')

function parseParameters(text: string): Record<string, string> {
  const found = text.matchAll(/([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/g)
  return Object.fromEntries(
    [...found].map(([, name = '', quoted, bare = '']) => [
      name.toLowerCase(),
      quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, '$1'),
    ]),
  )
}
