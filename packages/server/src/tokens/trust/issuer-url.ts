import { isIPv6 } from 'node:net'
import { limits } from '../../config/limits.ts'

const hostLabel = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/

/**
 * Why `text` cannot be the name of a token issuer, or undefined when it can: an absolute URL
 * `https://host[:port][/path]` with nothing that two parsers might read differently: no user, query,
 * fragment, backslash, blank, escape or character outside ASCII, the host in the one spelling that all
 * parsers agree on (R1; OpenID Connect Discovery section 2). Plain http is a valid name; whether it may be
 * fetched is decided when it is fetched. Reasons do not repeat the text.
 */
export function checkIssuer(text: string): string | undefined {
  if (text.length > limits.issuerCharsMax) return `must have at most ${limits.issuerCharsMax} characters`
  const scheme = /^https?:\/\//.exec(text)?.[0]
  if (scheme === undefined) return 'must begin with https://'
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
    return 'must have a host of lower-case ASCII letters, digits, hyphens and single dots'
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
 * The standard's parser must see the same host and path, which rules out 127.1, 0x7f000001 and their like.
 */
function checkParsed(text: string, authority: string, path: string): string | undefined {
  const url = URL.parse(text)
  const host = authority.replace(/:[0-9]+$/, '')
  if (url === null || url.hostname !== host || url.pathname !== (path || '/'))
    return 'must be written in its usual form'
  return undefined
}

/** Whether an issuer is the token service at `authUrl`, in whatever spelling: with its default port, with a slash at its end. */
export function isOwnIssuer(issuer: string, authUrl: string): boolean {
  const spelled = (text: string) => URL.parse(text)?.href.replace(/\/+$/, '')
  const own = spelled(authUrl)
  return own !== undefined && spelled(issuer) === own
}
