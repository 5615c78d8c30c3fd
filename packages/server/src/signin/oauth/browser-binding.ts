import { timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { ApiError, Code } from '../../api/errors.ts'
import { generateSecret, hashSecret } from '../../storage/pending-store.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { countAttempt } from '../rate-limits/attempts.ts'
import { AUTHORIZATION_REQUEST_MS, type AuthorizationRequest, authorizationRequests, pathAfterSignIn } from './authorization-requests.ts'

/**
 * A request belongs to the browser that began it (R40): whoever gets hold of its address cannot go on with it elsewhere, and nobody
 * can be sent into the middle of somebody else's. The session's cookie changes when somebody signs in, so the browser keeps another
 * one for this, of which the request remembers a hash.
 */

const SECRET = /^[A-Za-z0-9_-]{43}$/

/** Keeps the request for this browser, and sends it on its way: to sign in where nobody is, else to the consent. */
export async function startAuthorizationRequest(
  c: Context<SignInEnv>,
  context: SignInContext,
  request: Omit<AuthorizationRequest, 'browser'>,
): Promise<Response> {
  await countAttempt(context.store, 'sign-in', c.env.address)
  const shown = getCookie(c, cookieName(context)) ?? ''
  const own = SECRET.test(shown) ? shown : generateSecret()
  const secret = await authorizationRequests(context.store).add({ ...request, browser: browserHash(own) })
  setCookie(c, cookieName(context), own, {
    httpOnly: true,
    secure: isSecure(context),
    sameSite: 'Lax',
    path: '/',
    maxAge: AUTHORIZATION_REQUEST_MS / 1000,
  })
  return c.redirect(pathAfterSignIn(secret), 303)
}

/** The request with this secret, which this browser began. Throws code 5, the same whatever is wrong. */
export async function readAuthorizationRequest(
  c: Context,
  context: SignInContext,
  secret: string,
): Promise<AuthorizationRequest> {
  const request = await authorizationRequests(context.store).read(secret)
  const shown = Buffer.from(browserHash(getCookie(c, cookieName(context)) ?? ''))
  const expected = Buffer.from(request?.browser ?? '')
  if (request === undefined || shown.length !== expected.length || !timingSafeEqual(shown, expected))
    throw authorizationRequestExpired()
  return request
}

/** The same, for the last time: of many who try at once, one goes on. */
export async function takeAuthorizationRequest(
  c: Context,
  context: SignInContext,
  secret: string,
): Promise<AuthorizationRequest> {
  await readAuthorizationRequest(c, context, secret)
  const request = await authorizationRequests(context.store).consume(secret)
  if (request === undefined) throw authorizationRequestExpired()
  return request
}

/** For whoever comes too late, or from elsewhere. */
export function authorizationRequestExpired(): ApiError {
  return new ApiError(
    Code.NOT_FOUND,
    'Not found: this sign-in has expired, or was started in another browser; start again',
  )
}

function browserHash(secret: string): string {
  return Buffer.from(hashSecret(secret)).toString('base64url')
}

function cookieName(context: SignInContext): string {
  return isSecure(context) ? '__Host-berth-flow' : 'berth-flow'
}

function isSecure({ authUrl }: SignInContext): boolean {
  return authUrl.startsWith('https:')
}
