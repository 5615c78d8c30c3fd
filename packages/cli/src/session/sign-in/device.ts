import { CommandFailed, errorMessage, postForm, Unreachable } from '../access-token.ts'
import {
  allAudiences,
  CLIENT_ID,
  INVALID_TARGET,
  parseTokens,
  type SignedInTokens,
  type SignInRequest,
} from './request.ts'

/** Signing in where there is no browser: a code that somebody confirms on another device (RFC 8628). */

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
  const { issuer, audiences, print: tell } = request
  const begin = (audience: readonly string[]) =>
    postForm(`${issuer}/oauth/device_authorization`, { client_id: CLIENT_ID, audience })
  let reply = await begin(allAudiences(request))
  const { error } = reply.body as { readonly error?: string }
  if (error === INVALID_TARGET && request.optionalAudience !== undefined) reply = await begin(audiences)
  if (reply.status !== 200) throw new CommandFailed(`the sign-in failed: ${errorMessage(reply.body)}`)
  const begun = reply.body as DeviceAuthorization
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
    }).catch(ignoreUnreachable)
    const { error } = (answer?.body ?? {}) as { readonly error?: string }
    if (answer?.status === 200) return parseTokens(answer)
    if (answer === undefined || error === 'slow_down' || answer.status >= 500) intervalMs += SLOW_DOWN_MS
    else if (error !== 'authorization_pending') return parseTokens(answer)
  }
  throw new CommandFailed('nobody confirmed the code in time')
}

/** A server that cannot be reached for a moment is asked again, less often (RFC 8628 section 3.5). */
function ignoreUnreachable(error: unknown): undefined {
  if (!(error instanceof Unreachable)) throw error
}
