import type { Context } from 'hono'
import { invalidArgument } from '../../../api/errors.ts'
import { findInviteOffer } from '../../../iam/invitations.ts'
import type { Session } from '../../../tokens/sessions/sessions.ts'
import {
  acceptRequestedInvite,
  INVALID_INVITE,
  isMismatch,
  matchSession,
} from '../../accounts/invite-acceptance.ts'
import { inviteMismatchPage } from '../../accounts/invite-pages.ts'
import type { SignInContext, SignInEnv } from '../../context.ts'
import { continuePage } from '../../pages/continue-page.ts'
import { readForm } from '../../pages/form.ts'
import { anyBrowser } from '../../pages/page-operation.ts'
import { PageRoutes } from '../../pages/page-routes.ts'
import { allowFormRedirectTo } from '../../pages/security-headers.ts'
import { signOut } from '../../sessions/browser.ts'
import { recordDecision } from '../../sessions/sign-in-events.ts'
import { type AuthorizationRequest, signInPath } from '../authorization-requests.ts'
import {
  authorizationRequestExpired,
  readAuthorizationRequest,
  takeAuthorizationRequest,
} from '../browser-binding.ts'
import { deviceCodes } from '../device/device-codes.ts'
import { readUserProfile } from '../id-tokens.ts'
import {
  type SignedInBrowser,
  sendAuthorizationError,
  sendAuthorizationResponse,
} from './authorization-response.ts'
import { consentPage } from './consent-page.ts'

/**
 * The consent page, at which every flow ends: the signed-in user allows or denies what the client requests. No flow skips it, also not after
 * an earlier consent (R36).
 */
export function consentRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)

  app.get('/oauth/continue', anyBrowser('ShowConsent'), async (c, { browser }) => {
    const secret = c.req.query('request') ?? ''
    const request = await readAuthorizationRequest(c, context, secret)
    const { session } = browser
    if (session === undefined || !isFromRequestedProvider(request, session))
      return c.redirect(signInPath(secret), 303)
    return renderConsentPage(c, context, secret, request, { browser, session })
  })

  app.post('/oauth/continue', anyBrowser('Consent'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const secret = form.text('request')
    const decision = form.text('decision')
    const { session } = browser
    if (decision === 'switch') {
      const request = await readAuthorizationRequest(c, context, secret)
      await signOut(c, context, browser)
      return redirectToSignIn(c, request, secret)
    }
    if (decision !== 'allow' && decision !== 'refuse')
      throw invalidArgument('decision', 'must be allow, refuse or switch')
    const pending = await readAuthorizationRequest(c, context, secret)
    if (session === undefined || !isFromRequestedProvider(pending, session))
      return redirectToSignIn(c, pending, secret)

    const request = await takeAuthorizationRequest(c, context, secret)
    await recordDecision(c, context, session, request, decision === 'allow')
    if (decision === 'refuse')
      return sendAuthorizationError(c, context, request, {
        error: 'access_denied',
        description: 'the user denied the request',
        status: 403,
      })
    const joined = await acceptRequestedInvite(c, context, request, session)
    if (joined !== undefined && 'error' in joined) return sendAuthorizationError(c, context, request, joined)
    return sendAuthorizationResponse(c, context, request, { browser, session }, joined)
  })

  return app
}

/** Whether a session is of the identity provider that the request names, if any (R40). */
function isFromRequestedProvider({ identityProvider }: AuthorizationRequest, { voucher }: Session): boolean {
  if (identityProvider === '') return true
  return voucher.kind === 'organization' && voucher.provider === identityProvider
}

/** Redirects the sender of a form to the sign-in. */
function redirectToSignIn(
  c: Context<SignInEnv>,
  { connection }: AuthorizationRequest,
  secret: string,
): Response | Promise<Response> {
  const path = signInPath(secret)
  return connection === ''
    ? c.redirect(path, 303)
    : c.html(continuePage('You are signed out', 'Continue to sign in with another account.', path))
}

async function renderConsentPage(
  c: Context<SignInEnv>,
  context: SignInContext,
  secret: string,
  request: AuthorizationRequest,
  { browser, session }: SignedInBrowser,
): Promise<Response> {
  const { store, clients } = context
  const { reply, invite, client } = request
  const offer = invite === '' ? undefined : await findInviteOffer(store, invite)
  if (invite !== '' && offer === undefined)
    return sendAuthorizationError(
      c,
      context,
      await takeAuthorizationRequest(c, context, secret),
      INVALID_INVITE,
    )
  const match = offer && (await matchSession(context, offer, session))
  if (offer !== undefined && match !== undefined && isMismatch(match) && reply.kind === 'none')
    return c.html(
      inviteMismatchPage({
        browser,
        secret,
        invite,
        offer,
        match,
        account: await readUserProfile(store, session.identity),
        sendsMail: context.sendsMail,
      }),
    )
  const device = reply.kind === 'device' ? await deviceCodes(store).findWaiting(reply.userCode) : undefined
  if (reply.kind === 'device' && device === undefined) throw authorizationRequestExpired()
  const account = await readUserProfile(store, session.identity)
  if (account === undefined) return c.redirect(signInPath(secret), 303)
  // Browsers apply the policy for forms also to the redirect of the response, which leads to the client.
  if (reply.kind === 'code' || reply.kind === 'loopback') allowFormRedirectTo(c, new URL(reply.redirect))
  const registered = reply.kind === 'code' || reply.kind === 'device' ? clients.byId(client) : undefined
  return c.html(
    consentPage({
      browser,
      secret,
      request,
      account,
      clientName: registered?.name,
      offer,
      device,
    }),
  )
}
