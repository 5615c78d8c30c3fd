import { limits } from '../../config/limits.ts'

/**
 * Redirect URIs (R38). Two parsers must never disagree about a URI, so it must be written exactly as the URL standard serializes it: tabs,
 * backslashes, other spellings of a host or a port, dot segments and the like are rejected, not normalized. Then the whole parsed URI is
 * compared; only the port of a loopback address may differ from the registered one (RFC 8252 section 7.3).
 */

/** The loopback hosts that clients listen on (RFC 8252 sections 7.3 and 8.3). */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Parses a valid redirect URI: https, or http to a loopback host; without user information and fragment. Otherwise undefined. */
export function parseRedirectUri(text: string): URL | undefined {
  if (text.length > limits.redirectCharsMax || text.includes('#') || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.href !== text || url.username !== '' || url.password !== '') return undefined
  return url.protocol === 'https:' || isLoopback(url) ? url : undefined
}

/** Parses a valid redirect URI on a loopback host, so that the response does not leave the machine of the browser. */
export function parseLoopbackUri(text: string): URL | undefined {
  const url = parseRedirectUri(text)
  return url !== undefined && isLoopback(url) ? url : undefined
}

/** The requested URI, if it matches a registered one. */
export function matchRegisteredUri(registered: readonly string[], requested: string): URL | undefined {
  const url = parseRedirectUri(requested)
  return url !== undefined && registered.some((one) => isSame(new URL(one), url)) ? url : undefined
}

/** Sets query parameters of a URL; undefined removes a parameter. */
export function withQueryParameters(
  address: URL | string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  return url.href
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && LOOPBACK.has(hostname)
}

function isSame(registered: URL, requested: URL): boolean {
  const address = new URL(requested)
  if (isLoopback(registered) && isLoopback(requested)) address.port = registered.port
  return address.href === registered.href
}
