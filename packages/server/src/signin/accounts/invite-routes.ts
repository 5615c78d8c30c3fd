import type { Context } from 'hono'
import { html } from 'hono/html'
import { limits } from '../../config/limits.ts'
import { findInviteOffer, type InviteOffer } from '../../iam/invitations.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { authorizationRequestDefaults } from '../oauth/authorization-requests.ts'
import { startAuthorizationRequest } from '../oauth/browser-binding.ts'
import { readForm } from '../pages/form.ts'
import { alert, field, formToken, type Html, page } from '../pages/layout.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import type { Browser } from '../sessions/browser.ts'
import { INVALID_INVITE } from './invite-acceptance.ts'

/**
 * Accepts an invite in the browser: the holder of its code sees the offer, signs in or creates an account, and then accepts it. An invite
 * for an email address is only for the account with that address.
 */
export function inviteRoutes(context: SignInContext): PageRoutes {
  const app = new PageRoutes(context)

  app.get('/invite', anyBrowser('ShowInvite'), async (c, { browser }) => {
    const code = c.req.query('code') ?? ''
    if (code === '') return c.html(inviteCodePage(browser))
    const offer = await readInviteOffer(c, context, code)
    return offer === undefined
      ? c.html(inviteCodePage(browser, INVALID_INVITE.description), 404)
      : c.html(offerPage(browser, code, offer))
  })

  app.post('/invite', anyBrowser('OpenInvite'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const code = form.trimmed('code')
    const offer = await readInviteOffer(c, context, code)
    if (offer === undefined) return c.html(inviteCodePage(browser, INVALID_INVITE.description), 404)
    if (form.text('step') !== 'accept') return c.html(offerPage(browser, code, offer))
    return startAuthorizationRequest(c, context, {
      ...authorizationRequestDefaults,
      invite: code,
      reply: { kind: 'none' },
    })
  })

  return app
}

/** Returns the offer of an invite; undefined for an invalid code. Failed attempts are limited. */
function readInviteOffer(
  c: Context<SignInEnv>,
  context: SignInContext,
  code: string,
): Promise<InviteOffer | undefined> {
  return limitGuesses(context.store, byAddress(context.requestMetadataOf(c).address), () =>
    findInviteOffer(context.store, code),
  )
}

function inviteCodePage(browser: Browser, problem?: string): Html {
  return page(
    { title: 'Accept an invite', browser },
    html`<h1>Accept an invite</h1>
${alert(problem === undefined ? undefined : `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`)}<form method="post" action="/invite">
${formToken(browser)}${field({
  name: 'code',
  label: 'Invite code',
  autocomplete: 'off',
  maxlength: limits.inviteCodeCharsMax,
  autofocus: true,
})}
<div class="actions"><button>Continue</button></div>
</form>`,
  )
}

function offerPage(browser: Browser, code: string, { group, role, email }: InviteOffer): Html {
  return page(
    { title: `Join ${group.name}`, browser },
    html`<h1>Join ${group.name}</h1>
<p>You were invited to ${group.name} with the role ${role.name}.${email === '' ? '' : ` The invite is for ${email}.`}</p>
<form method="post" action="/invite">
${formToken(browser)}<input type="hidden" name="code" value="${code}">
<div class="actions"><button name="step" value="accept">${browser.session === undefined ? 'Sign in and join' : 'Continue'}</button></div>
</form>`,
  )
}
