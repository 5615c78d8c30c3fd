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

/** Ends a flow: sends the response to the client by the channel of its request, and shows the result to the user. */

/** An error response to a client. */
export interface AuthorizationErrorResponse {
  /** Error code of RFC 6749 section 4.1.2.1. */
  readonly error: 'access_denied' | 'invalid_request' | 'invalid_scope'
  /** Text for the client and the user. */
  readonly description: string
  /** HTTP status for clients of the SDK; 404 means an unknown account. */
  readonly status: number
}

/** A browser with a signed-in user. */
export interface SignedInBrowser {
  readonly browser: Browser
  readonly session: Session
}

/** Sends the client of a closed request what the user granted. */
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
    const issued = await issueBrowserFlowTokens(c, context, request, session)
    if ('error' in issued) return sendAuthorizationError(c, context, request, issued)
    return c.redirect(loopbackTokenUrl(reply.redirect, issued), 303)
  }
  if (reply.kind === 'device') {
    const grant = await createAuthorizationGrant(store, session, request)
    if (!(await deviceCodes(store).decide(reply.userCode, grant))) throw authorizationRequestExpired()
    return resultPage(
      c,
      'Device connected',
      'You can close this window and continue on your device.',
      browser,
    )
  }
  if (reply.kind === 'headless') {
    const idToken = await issueHeadlessIdToken(c, context, request, session)
    const result = idToken === undefined ? undefined : encryptToCode(reply.code, idToken)
    if (result === undefined) throw authorizationRequestExpired()
    try {
      await headlessResults(store).add(result, reply.code)
    } catch (error) {
      // Another sign-in with this code was faster; the first result remains.
      if (store.db.rules.isUniqueViolation(error)) throw authorizationRequestExpired()
      throw error
    }
    return resultPage(
      c,
      'You are signed in',
      'You can close this window and return to your terminal.',
      browser,
    )
  }
  if (joined === undefined) throw authorizationRequestExpired()
  const { group, role } = joined
  const heading = `Welcome to ${group.name}`
  return c.html(
    page(
      { title: heading, browser },
      html`<h1>${heading}</h1>
<p>You have the role ${role.name} in ${group.name}.</p>
<p><a href="/">Continue with the next steps</a></p>`,
    ),
  )
}

/** Sends an error to the client of a closed request. */
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
  return resultPage(c, 'Request denied', `${description.charAt(0).toUpperCase()}${description.slice(1)}.`)
}

/** Closes a request by its secret and sends an error. Throws code 5 if the request has expired or belongs to another browser. */
export async function closeWithError(
  c: Context<SignInEnv>,
  context: SignInContext,
  secret: string,
  refusal: AuthorizationErrorResponse,
): Promise<Response> {
  return sendAuthorizationError(c, context, await takeAuthorizationRequest(c, context, secret), refusal)
}

/** Renders a page with the result of a flow. */
function resultPage(
  c: Context<SignInEnv>,
  heading: string,
  text: string,
  browser?: Browser,
): Response | Promise<Response> {
  return c.html(page({ title: heading, browser }, html`<h1>${heading}</h1>\n<p>${text}</p>`))
}
