import { limits } from '../../config/limits.ts'

/**
 * Where an answer may go (R38). Two readers must never disagree about an address, so one counts only when it is written exactly as
 * the URL standard writes it: tabs, backslashes, other spellings of a host or a port, dot segments and the like are refused and
 * not repaired. What is compared then is the parsed address, as a whole; the port of a loopback address is the only thing that a
 * registered one leaves open (RFC 8252 section 7.3).
 */

/** The three spellings of this machine that programs listen on (RFC 8252 sections 7.3 and 8.3). */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** An address that answers may go to: https, or http to this machine; without user information and fragment. */
export function parseRedirectUri(text: string): URL | undefined {
  if (text.length > limits.redirectCharsMax || text.includes('#') || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.href !== text || url.username !== '' || url.password !== '') return undefined
  return url.protocol === 'https:' || isLoopback(url) ? url : undefined
}

/** An address on the machine of whoever follows it: the answer does not leave it. */
export function parseLoopbackUri(text: string): URL | undefined {
  const url = parseRedirectUri(text)
  return url !== undefined && isLoopback(url) ? url : undefined
}

/** The address, when it is one of those that were registered. */
export function matchRegisteredUri(registered: readonly string[], requested: string): URL | undefined {
  const url = parseRedirectUri(requested)
  return url !== undefined && registered.some((one) => isSame(new URL(one), url)) ? url : undefined
}

/** The address with these parameters in its query; undefined takes one away that is there. */
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
