import { CommandFailed, errorMessage, postForm, Unreachable } from '../access-token.ts'
import {
  allAudiences,
  CLIENT_ID,
  INVALID_TARGET,
  parseTokens,
  type SignedInTokens,
  type SignInRequest,
} from './request.ts'

/** Sign-in without a browser: a code that the user confirms on another device (RFC 8628). */

interface DeviceAuthorization {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete?: string
  readonly expires_in: number
  readonly interval?: number
}

const SLOW_DOWN_MS = 5000

export async function signInWithDevice(request: SignInRequest): Promise<SignedInTokens> {
  const { issuer, audiences, print } = request
  const authorize = (audience: readonly string[]) =>
    postForm(`${issuer}/oauth/device_authorization`, { client_id: CLIENT_ID, audience })
  let reply = await authorize(allAudiences(request))
  const { error } = reply.body as { readonly error?: string }
  if (error === INVALID_TARGET && request.optionalAudience !== undefined) reply = await authorize(audiences)
  if (reply.status !== 200) throw new CommandFailed(`the sign-in failed: ${errorMessage(reply.body)}`)
  const authorization = reply.body as DeviceAuthorization
  print(
    `Open ${authorization.verification_uri} on any device and enter the code:\n\n  ${authorization.user_code}\n`,
  )
  if (authorization.verification_uri_complete !== undefined)
    print(`Or open ${authorization.verification_uri_complete}`)
  let intervalMs = (authorization.interval ?? 5) * 1000
  const untilMs = Date.now() + authorization.expires_in * 1000
  while (Date.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
    const answer = await postForm(`${issuer}/oauth/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: CLIENT_ID,
      device_code: authorization.device_code,
      audience: audiences[0],
    }).catch(ignoreUnreachable)
    const { error } = (answer?.body ?? {}) as { readonly error?: string }
    if (answer?.status === 200) return parseTokens(answer)
    if (answer === undefined || error === 'slow_down' || answer.status >= 500) intervalMs += SLOW_DOWN_MS
    else if (error !== 'authorization_pending') return parseTokens(answer)
  }
  throw new CommandFailed('the code expired before it was confirmed')
}

/** An unreachable server is polled again, less often (RFC 8628 section 3.5). */
function ignoreUnreachable(error: unknown): undefined {
  if (!(error instanceof Unreachable)) throw error
}
