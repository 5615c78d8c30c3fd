import type { Context } from 'hono'
import { html } from 'hono/html'
import type { InviteOffer } from '../../../iam/invitations.ts'
import type { Session } from '../../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../../context.ts'
import { page } from '../../pages/layout.ts'
import type { Browser } from '../../sessions/browser.ts'
import { authorizationCodes } from '../authorization-codes.ts'
import { createAuthorizationGrant } from '../authorization-grants.ts'
import type { AuthorizationRequest } from '../authorization-requests.ts'
import { authorizationRequestExpired, takeAuthorizationRequest } from '../browser-binding.ts'
import { deviceCodes } from '../device/device-codes.ts'
import { withQueryParameters } from '../redirect-uri.ts'
import { issueBrowserFlowTokens, issueHeadlessIdToken } from '../sdk-flows/browser-flow-tokens.ts'
import { encryptToCode, headlessResults } from '../sdk-flows/headless.ts'
import { loopbackErrorUrl, loopbackTokenUrl } from '../sdk-flows/loopback-response.ts'

/** How a flow ends: the answer reaches the client in the way that it asked for, and the person sees what became of it. */

/** Why a client gets nothing. */
export interface AuthorizationErrorResponse {
  /** Of RFC 6749 section 4.1.2.1. */
  readonly error: 'access_denied' | 'invalid_request' | 'invalid_scope'
  /** In words, for the client and the person. */
  readonly description: string
  /** As clients of the SDK are told: an HTTP status, of which 404 says that the account is not known. */
  readonly status: number
}

/** Whoever is signed in, and with what. */
export interface SignedInBrowser {
  readonly browser: Browser
  readonly session: Session
}

/** Gives the client of a request that is closed what somebody agreed to. */
export async function sendAuthorizationResponse(
  c: Context<SignInEnv>,
  context: SignInContext,
  request: AuthorizationRequest,
  { browser, session }: SignedInBrowser,
  joined: InviteOffer | undefined,
): Promise<Response> {
  const { store, authUrl } = context
  const { reply } = request
  if (reply.kind === 'code') {
    const grant = await createAuthorizationGrant(store, session, request)
    const code = await authorizationCodes(store).issue(grant, reply.redirect, reply.challenge)
    return c.redirect(withQueryParameters(reply.redirect, { code, state: reply.state, iss: authUrl }), 303)
  }
  if (reply.kind === 'loopback') {
    const made = await issueBrowserFlowTokens(c, context, request, session)
    if ('error' in made) return sendAuthorizationError(c, context, request, made)
    return c.redirect(loopbackTokenUrl(reply.redirect, made), 303)
  }
  if (reply.kind === 'device') {
    const grant = await createAuthorizationGrant(store, session, request)
    if (!(await deviceCodes(store).decide(reply.userCode, grant))) throw authorizationRequestExpired()
    return resultPage(c, 'The device is let in', 'You can close this window and go on there.', browser)
  }
  if (reply.kind === 'headless') {
    const proof = await issueHeadlessIdToken(c, context, request, session)
    const result = proof === undefined ? undefined : encryptToCode(reply.code, proof)
    if (result === undefined) throw authorizationRequestExpired()
    try {
      await headlessResults(store).add(result, reply.code)
    } catch (error) {
      // Somebody has answered this code before; the first answer stands.
      if (store.db.rules.isUniqueViolation(error)) throw authorizationRequestExpired()
      throw error
    }
    return resultPage(
      c,
      'You are signed in',
      'You can close this window and go on in your terminal.',
      browser,
    )
  }
  if (joined === undefined) throw authorizationRequestExpired()
  const { group, role } = joined
  return resultPage(
    c,
    `Welcome to ${group.name}`,
    `You have the role ${role.name} in ${group.name}.`,
    browser,
  )
}

/** Tells the client of a request that is closed that it gets nothing. */
export async function sendAuthorizationError(
  c: Context<SignInEnv>,
  { store, authUrl }: SignInContext,
  { reply }: AuthorizationRequest,
  { error, description, status }: AuthorizationErrorResponse,
): Promise<Response> {
  if (reply.kind === 'code') {
    const parameters = { error, error_description: description, state: reply.state, iss: authUrl }
    return c.redirect(withQueryParameters(reply.redirect, parameters), 303)
  }
  if (reply.kind === 'loopback')
    return c.redirect(loopbackErrorUrl(reply.redirect, { error: description, status }), 303)
  if (reply.kind === 'device') await deviceCodes(store).decide(reply.userCode, undefined)
  return resultPage(c, 'Nothing was given', `${description.charAt(0).toUpperCase()}${description.slice(1)}.`)
}

/** The same for a request by its secret, which is closed by it. Throws code 5 when it is over, or another browser's. */
export async function closeWithError(
  c: Context<SignInEnv>,
  context: SignInContext,
  secret: string,
  refusal: AuthorizationErrorResponse,
): Promise<Response> {
  return sendAuthorizationError(c, context, await takeAuthorizationRequest(c, context, secret), refusal)
}

/** A page that says what became of it. */
function resultPage(
  c: Context<SignInEnv>,
  heading: string,
  text: string,
  browser?: Browser,
): Response | Promise<Response> {
  return c.html(page({ title: heading, browser }, html`<h1>${heading}</h1>\n<p>${text}</p>`))
}
