import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { ApiError, Code } from '../../api/errors.ts'
import { generateSecret } from '../../storage/pending-store.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { countAttempt } from '../rate-limits/attempts.ts'
import { hashBrowserSecret, isSameBrowser } from '../sessions/browser.ts'
import { isSecure, SECRET_PATTERN } from '../sessions/session-cookie.ts'
import {
  AUTHORIZATION_REQUEST_MS,
  type AuthorizationRequest,
  authorizationRequests,
  pathAfterSignIn,
} from './authorization-requests.ts'

/**
 * Binds a request to the browser that started it (R40): a stolen address cannot be continued in another browser, and no one can be sent into
 * another user's flow. A second cookie does this, because a sign-in replaces the cookie of the session. The request stores its hash.
 */

/**
 * Stores the request for this browser and redirects it: by default to the consent page, which asks for a sign-in first if needed. `pathOf`
 * returns the path for the secret of the request.
 */
export async function startAuthorizationRequest(
  c: Context<SignInEnv>,
  context: SignInContext,
  request: Omit<AuthorizationRequest, 'browser'>,
  pathOf: (secret: string) => string = pathAfterSignIn,
): Promise<Response> {
  await countAttempt(context.store, 'sign-in', c.env.address)
  const cookie = getCookie(c, cookieName(context)) ?? ''
  const browserSecret = SECRET_PATTERN.test(cookie) ? cookie : generateSecret()
  const secret = await authorizationRequests(context.store).add({
    ...request,
    browser: hashBrowserSecret(browserSecret),
  })
  setCookie(c, cookieName(context), browserSecret, {
    httpOnly: true,
    secure: isSecure(context),
    sameSite: 'Lax',
    path: '/',
    maxAge: AUTHORIZATION_REQUEST_MS / 1000,
  })
  return c.redirect(pathOf(secret), 303)
}

/** Reads a request that this browser started. Throws code 5, with the same message for every reason. */
export async function readAuthorizationRequest(
  c: Context,
  context: SignInContext,
  secret: string,
): Promise<AuthorizationRequest> {
  const request = await authorizationRequests(context.store).read(secret)
  const browserSecret = getCookie(c, cookieName(context)) ?? ''
  if (request === undefined || !isSameBrowser(browserSecret, request.browser))
    throw authorizationRequestExpired()
  return request
}

/** Reads and deletes a request: of several concurrent callers one succeeds. */
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

/** The error for a request that has expired or belongs to another browser. */
export function authorizationRequestExpired(): ApiError {
  return new ApiError(
    Code.NOT_FOUND,
    'Not found: this sign-in expired or was started in another browser. Start again',
  )
}

function cookieName(context: SignInContext): string {
  return isSecure(context) ? '__Host-berth-flow' : 'berth-flow'
}
