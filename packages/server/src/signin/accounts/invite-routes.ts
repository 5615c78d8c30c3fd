import type { Context } from 'hono'
import { rateLimited } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { findInviteOffer, type InviteOffer } from '../../iam/invitations.ts'
import { INVITE_PATH, queueInviteMail } from '../../iam/invites/invite-mail.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { inTransaction } from '../../storage/db.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { authorizationRequestDefaults } from '../oauth/authorization-requests.ts'
import { startAuthorizationRequest } from '../oauth/browser-binding.ts'
import { readForm } from '../pages/form.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import { isForNewAccounts } from '../sessions/render-sign-in-page.ts'
import { INVALID_INVITE } from './invite-acceptance.ts'
import { inviteCodePage, mailSentPage, offerPage } from './invite-pages.ts'
import { registerPath } from './register-routes.ts'

/**
 * Accepts an invite in the browser. The code is after `#` in the link, so the server receives it in a form only. A signed-in user continues
 * with the consent, which shows the offer. Others see the offer, and sign in or create an account first.
 */
export function inviteRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)

  app.get(INVITE_PATH, anyBrowser('ShowInvite'), async (c, { browser }) => c.html(inviteCodePage(browser)))

  app.post(INVITE_PATH, anyBrowser('OpenInvite'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const invite = form.trimmed('code')
    const step = form.text('step')
    const offer = await readInviteOffer(c, context, invite)
    if (offer === undefined) return c.html(inviteCodePage(browser, INVALID), 404)
    if (step === 'mail' && context.sendsMail && !isForNewAccounts(offer)) {
      await sendLink(c, context, offer, invite)
      return c.html(mailSentPage(browser, offer))
    }
    if (browser.session === undefined && step !== 'accept' && step !== 'register')
      return c.html(offerPage({ browser, invite, offer, sendsMail: context.sendsMail }))
    const request = { ...authorizationRequestDefaults, invite, reply: { kind: 'none' } } as const
    return startAuthorizationRequest(c, context, request, step === 'register' ? registerPath : undefined)
  })

  return app
}

const INVALID = `${INVALID_INVITE.description.charAt(0).toUpperCase()}${INVALID_INVITE.description.slice(1)}. Ask the person who invited you for a new invite.`

/** Returns the offer of an invite; undefined for an invalid code. Failed attempts are limited. */
function readInviteOffer(
  c: Context<SignInEnv>,
  context: SignInContext,
  text: string,
): Promise<InviteOffer | undefined> {
  return limitGuesses(context.store, byAddress(context.requestMetadataOf(c).address), () =>
    findInviteOffer(context.store, text),
  )
}

/** Sends the link to the address of the invite. Throws code 8 beyond the limits. */
async function sendLink(
  c: Context<SignInEnv>,
  { store, requestMetadataOf }: SignInContext,
  { uid, email, expiresMs }: InviteOffer,
  text: string,
): Promise<void> {
  const sender = { kind: 'address', id: clientAddressKey(requestMetadataOf(c).address) } as const
  const invite = { uid, root: rootOf(uid), email, expires_ms: expiresMs }
  const { state } = await inTransaction(store.db, (tx) => queueInviteMail(store, tx, invite, text, sender))
  if (state === 'failed')
    throw rateLimited(
      'too many emails were sent for this invite. Ask the person who invited you to send you the link, or try again tomorrow',
      limits.inviteMailWindowMs,
    )
}
