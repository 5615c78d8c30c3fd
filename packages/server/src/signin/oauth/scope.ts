/**
 * The `scope` of OAuth and OpenID Connect. The roles of the user, not the scope, decide what a client may do. `openid` requests an ID token;
 * the other values, which clients send by default, have no effect.
 */
const KNOWN: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access'])

/** Parses a scope; undefined if it contains an unknown value (RFC 6749 section 3.3). */
export function parseScope(text: string): { readonly idToken: boolean } | undefined {
  const words = text.split(' ').filter((word) => word !== '')
  return words.every((word) => KNOWN.has(word)) ? { idToken: words.includes('openid') } : undefined
}
