import type { Context } from 'hono'
import { Hono } from 'hono'
import { invalidArgument } from '../core/errors.ts'
import { inviteOffer } from '../iam/invitations.ts'
import type { Session } from '../sts/sessions.ts'
import { answer, type Person, refuse } from './answer.ts'
import { type AuthorizationRequest, signInPath } from './authorization.ts'
import { browserOf, signOut } from './browser.ts'
import { consentPage } from './consent-page.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from './context.ts'
import { deviceCodes } from './device-codes.ts'
import { closeFlow, flowIsOver, openFlow } from './flow-browser.ts'
import { readForm } from './form.ts'
import { allowFormTo } from './headers.ts'
import { personOf } from './identification.ts'
import { acceptOffer, INVALID_INVITE } from './invite-acceptance.ts'
import { leavingPage } from './leaving-page.ts'
import { recordDecision } from './sign-in-events.ts'

/**
 * Where every flow ends: whoever is signed in sees what the client wants, and agrees or not. Nothing is given without it, however
 * the person came here and however often they agreed before (R36).
 */
export function consentRoutes(context: SignInContext): SignInRoutes {
  const app: SignInRoutes = new Hono<SignInEnv>()

  app.get('/oauth/continue', async (c) => {
    const secret = c.req.query('request') ?? ''
    const request = await openFlow(c, context, secret)
    const browser = await browserOf(c, context)
    const { session } = browser
    if (session === undefined || !isMeant(request, session)) return c.redirect(signInPath(secret), 303)
    return show(c, context, secret, request, { browser, session })
  })

  app.post('/oauth/continue', async (c) => {
    const browser = await browserOf(c, context)
    const form = await readForm(c, browser)
    const secret = form.text('request')
    const decision = form.text('decision')
    const { session } = browser
    if (decision === 'switch') {
      const request = await openFlow(c, context, secret)
      await signOut(c, context, browser)
      return toSignIn(c, request, secret)
    }
    if (decision !== 'allow' && decision !== 'refuse')
      throw invalidArgument('decision', 'must be allow, refuse or switch')
    const asked = await openFlow(c, context, secret)
    if (session === undefined || !isMeant(asked, session)) return toSignIn(c, asked, secret)

    const request = await closeFlow(c, context, secret)
    await recordDecision(c, context, session, request, decision === 'allow')
    if (decision === 'refuse')
      return refuse(c, context, request, {
        error: 'access_denied',
        description: 'whoever was asked refused',
        status: 403,
      })
    const joined = await acceptOffer(c, context, request, session)
    if (joined !== undefined && 'error' in joined) return refuse(c, context, request, joined)
    return answer(c, context, request, { browser, session }, joined)
  })

  return app
}

/** Whether a session is one that the request asked for: of the identity provider that it named (R40). */
function isMeant({ identityProvider }: AuthorizationRequest, { voucher }: Session): boolean {
  if (identityProvider === '') return true
  return voucher.kind === 'organization' && voucher.provider === identityProvider
}

/** Sends whoever sent a form to sign in. */
function toSignIn(
  c: Context<SignInEnv>,
  { connection }: AuthorizationRequest,
  secret: string,
): Response | Promise<Response> {
  const path = signInPath(secret)
  return connection === ''
    ? c.redirect(path, 303)
    : c.html(leavingPage('You are signed out', 'Go on to sign in with another account.', path))
}

async function show(
  c: Context<SignInEnv>,
  context: SignInContext,
  secret: string,
  request: AuthorizationRequest,
  { browser, session }: Person,
): Promise<Response> {
  const { store, clients } = context
  const { reply, invite, client } = request
  const offer = invite === '' ? undefined : await inviteOffer(store, invite)
  if (invite !== '' && offer === undefined)
    return refuse(c, context, await closeFlow(c, context, secret), INVALID_INVITE)
  const device = reply.kind === 'device' ? await deviceCodes(store).waiting(reply.userCode) : undefined
  if (reply.kind === 'device' && device === undefined) throw flowIsOver()
  const account = await personOf(store, session.identity)
  if (account === undefined) return c.redirect(signInPath(secret), 303)
  // Browsers hold the answer to the form's policy as well: it may lead to the client.
  if (reply.kind === 'code' || reply.kind === 'loopback') allowFormTo(c, new URL(reply.redirect))
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
