import { createHash, timingSafeEqual } from 'node:crypto'

/** PKCE (RFC 7636), by SHA-256 only: with `plain`, anyone who sees the request could redeem its code. */

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/** Whether this is a challenge of method S256 (section 4.2). */
export function isCodeChallenge(text: string): boolean {
  return CHALLENGE.test(text)
}

/** Whether the challenge was derived from the verifier (section 4.6). */
export function verifyCodeChallenge(verifier: string, challenge: string): boolean {
  if (!VERIFIER.test(verifier) || !isCodeChallenge(challenge)) return false
  const computed = createHash('sha256').update(verifier, 'ascii').digest('base64url')
  return timingSafeEqual(Buffer.from(computed), Buffer.from(challenge))
}
