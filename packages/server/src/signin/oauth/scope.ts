/**
 * The `scope` of OAuth and OpenID Connect. What a client may do is not said in it but by the roles of whoever signs in; `openid`
 * asks for an ID token, and the others that clients send by habit ask for what they get anyway.
 */
const KNOWN: ReadonlySet<string> = new Set(['openid', 'profile', 'email', 'offline_access'])

/** Undefined when there is something in it that we could not keep our word on (RFC 6749 section 3.3). */
export function parseScope(text: string): { readonly idToken: boolean } | undefined {
  const words = text.split(' ').filter((word) => word !== '')
  return words.every((word) => KNOWN.has(word)) ? { idToken: words.includes('openid') } : undefined
}
