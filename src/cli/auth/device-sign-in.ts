import { messageOf, postForm, Refused } from '../client/session.ts'
import { CLIENT_ID, type SignedInTokens, type SignInRequest, tokensOf } from './sign-in-request.ts'

/** Signing in where there is no browser: a code that somebody confirms on another device (RFC 8628). */

interface Begun {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete?: string
  readonly expires_in: number
  readonly interval?: number
}

const SLOWER_MS = 5000

export async function signInWithDevice(request: SignInRequest): Promise<SignedInTokens> {
  const { issuer, audiences, tell } = request
  const reply = await postForm(`${issuer}/oauth/device_authorization`, {
    client_id: CLIENT_ID,
    audience: audiences,
  })
  if (reply.status !== 200) throw new Refused(`the sign-in failed: ${messageOf(reply.body)}`)
  const begun = reply.body as Begun
  tell(`Open ${begun.verification_uri} on any device and enter the code\n\n  ${begun.user_code}\n`)
  if (begun.verification_uri_complete !== undefined) tell(`or open ${begun.verification_uri_complete}`)
  let intervalMs = (begun.interval ?? 5) * 1000
  const untilMs = Date.now() + begun.expires_in * 1000
  while (Date.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
    const answer = await postForm(`${issuer}/oauth/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: CLIENT_ID,
      device_code: begun.device_code,
      audience: audiences[0],
    })
    const { error } = answer.body as { readonly error?: string }
    if (answer.status === 200) return tokensOf(answer)
    if (error === 'slow_down') intervalMs += SLOWER_MS
    else if (error !== 'authorization_pending') return tokensOf(answer)
  }
  throw new Refused('nobody confirmed the code in time')
}
