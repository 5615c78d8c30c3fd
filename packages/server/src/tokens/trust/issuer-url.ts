import { isIPv6 } from 'node:net'
import { limits } from '../../config/limits.ts'

const hostLabel = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/

/**
 * Returns why `text` is not a valid token issuer; undefined if it is. An issuer is an absolute URL `https://host[:port][/path]` that all
 * parsers read the same: no user, query, fragment, backslash, space, escape or non-ASCII character, and the host in canonical form (R1;
 * OpenID Connect Discovery section 2). Plain http is valid; whether it may be fetched is decided by the fetch. Reasons do not repeat the text.
 */
export function checkIssuer(text: string): string | undefined {
  if (text.length > limits.issuerCharsMax) return `must have at most ${limits.issuerCharsMax} characters`
  const scheme = /^https?:\/\//.exec(text)?.[0]
  if (scheme === undefined) return 'must start with https://'
  const rest = text.slice(scheme.length)
  const slash = rest.indexOf('/')
  const authority = slash === -1 ? rest : rest.slice(0, slash)
  const path = slash === -1 ? '' : rest.slice(slash)
  return checkAuthority(authority) ?? checkPath(path) ?? checkParsed(text, authority, path)
}

function checkAuthority(authority: string): string | undefined {
  if (authority === '') return 'must name a host'
  if (authority.includes('@')) return 'must not contain a user name (@)'
  const parts = /^(\[[0-9a-f:.]*\]|[^:[\]]*)(?::([0-9]*))?$/.exec(authority)
  if (parts === null)
    return 'must have a host of letters, digits, hyphens and dots, and a numeric port if any'
  const [, host = '', port] = parts
  if (port !== undefined && !(/^[1-9][0-9]{0,4}$/.test(port) && Number(port) <= 65535)) {
    return 'must have a port between 1 and 65535'
  }
  if (host.startsWith('['))
    return isIPv6(host.slice(1, -1)) ? undefined : 'must have a valid IPv6 address in brackets'
  if (!host.split('.').every((label) => label.length <= 63 && hostLabel.test(label))) {
    return 'must have a host of lowercase ASCII letters, digits, hyphens and single dots'
  }
  return undefined
}

function checkPath(path: string): string | undefined {
  if (!/^[A-Za-z0-9._~/-]*$/.test(path)) {
    return 'must have a path of letters, digits and . _ ~ / - only, without query or fragment'
  }
  if (path.split('/').some((segment) => segment === '.' || segment.includes('..'))) {
    return 'must not contain . or .. as a path segment'
  }
  return undefined
}

/**
 * The URL parser must read the same host and path, which excludes 127.1, 0x7f000001 and similar.
 */
function checkParsed(text: string, authority: string, path: string): string | undefined {
  const url = URL.parse(text)
  const host = authority.replace(/:[0-9]+$/, '')
  if (url === null || url.hostname !== host || url.pathname !== (path || '/'))
    return 'must be in canonical form'
  return undefined
}

/** Whether an issuer is the token service at `authUrl`, also with the default port or a trailing slash. */
export function isOwnIssuer(issuer: string, authUrl: string): boolean {
  const normalize = (text: string) => URL.parse(text)?.href.replace(/\/+$/, '')
  const own = normalize(authUrl)
  return own !== undefined && normalize(issuer) === own
}
