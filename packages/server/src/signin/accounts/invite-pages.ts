import { html } from 'hono/html'
import type { InviteOffer } from '../../iam/invitations.ts'
import { RECEIVED_INVITE_CHARS_MAX } from '../../iam/invites/invite-code.ts'
import { INVITE_PATH } from '../../iam/invites/invite-mail.ts'
import { descriptionEntry, formatUtc } from '../oauth/consent/consent-page.ts'
import type { UserProfile } from '../oauth/id-tokens.ts'
import { field, formToken, type Html, page, problemOf } from '../pages/layout.ts'
import type { Browser } from '../sessions/browser.ts'
import { isForNewAccounts } from '../sessions/render-sign-in-page.ts'
import type { InviteMismatch } from './invite-acceptance.ts'

/** Pages of an invite, from its link to the consent. */

/** Receives the code of a link: from the address by script, or typed by the user. */
export function inviteCodePage(browser: Browser, problem?: string): Html {
  return page(
    { title: 'Accept an invite', browser, scripts: ['fragment-code.js'] },
    html`<h1>Accept an invite</h1>
<form method="post" action="${INVITE_PATH}">
${formToken(browser)}${field({
  name: 'code',
  label: 'Invite code or link',
  autocomplete: 'off',
  hint: 'Paste the whole link, or the part after #.',
  maxlength: RECEIVED_INVITE_CHARS_MAX,
  fromFragment: true,
  autofocus: true,
  problem: problemOf('code', problem),
})}
<div class="actions"><button>Continue</button></div>
</form>`,
  )
}

export interface InvitePage {
  readonly browser: Browser
  /** The code as the user received it. */
  readonly invite: string
  readonly offer: InviteOffer
  readonly sendsMail: boolean
}

/** For users who are not signed in. */
export function offerPage({ browser, invite, offer, sendsMail }: InvitePage): Html {
  const { group, email, provesEmail } = offer
  return page(
    { title: `Join ${group.name}`, browser },
    html`<h1>Join ${group.name}</h1>
<p>You were invited.</p>
<dl>
${offerEntries(offer, provesEmail)}
</dl>
<form method="post" action="${INVITE_PATH}">
${formToken(browser)}<input type="hidden" name="code" value="${invite}">
<div class="actions">
<button name="step" value="accept">Sign in and join</button>
${isForNewAccounts(offer) ? html`<button name="step" value="register" class="quiet">Create an account</button>` : ''}
</div>
</form>
${email === '' || provesEmail ? '' : html`<section>\n<h2>No account yet?</h2>\n${mailForm({ browser, invite, offer, sendsMail }, 'a link to create one')}</section>`}`,
  )
}

export interface InviteMismatchPage extends InvitePage {
  /** Secret of the request that waits for the consent. */
  readonly secret: string
  readonly match: InviteMismatch
  readonly account: UserProfile | undefined
}

/** For users who are signed in with an account that the invite is not for. */
export function inviteMismatchPage({ secret, match, account, ...shown }: InviteMismatchPage): Html {
  const { browser, offer } = shown
  const signedInAs = account === undefined || account.email === '' ? account?.name : account.email
  const isUnverified = match === 'unverified'
  const heading = isUnverified ? 'Confirm your email address' : 'This invite is for another account'
  return page(
    { title: heading, browser },
    html`<h1>${heading}</h1>
<p>${
      isUnverified
        ? 'This invite is for your email address, but nothing proves yet that the address is yours.'
        : 'You are signed in with an account that has another email address, or whose address is not verified.'
    }</p>
<dl>
${offerEntries(offer, isUnverified || offer.provesEmail)}
${descriptionEntry('Signed in as', signedInAs ?? '')}
</dl>
${isUnverified ? mailForm(shown, 'a link that confirms the address') : ''}<form method="post" action="/oauth/continue">
${formToken(browser)}<input type="hidden" name="request" value="${secret}">
<div class="actions">
<button name="decision" value="switch"${isUnverified ? html` class="quiet"` : ''}>Use another account</button>
<button name="decision" value="refuse" class="quiet">Not now</button>
</div>
</form>`,
  )
}

export function mailSentPage(browser: Browser, { email }: InviteOffer): Html {
  return page(
    { title: 'Check your email', browser },
    html`<h1>Check your email</h1>
<p>An email to ${maskEmail(email)} is on its way. Open its link to continue. You can close this page.</p>`,
  )
}

/** Sends the link to the address of the invite, or names what the operator has to do. */
function mailForm({ browser, invite, offer, sendsMail }: InvitePage, what: string): Html {
  if (!sendsMail)
    return html`<p>This server sends no email. Ask its operator to create an account for the address of the invite with this command:</p>
<pre tabindex="0"><code>berth admin accounts create EMAIL</code></pre>
`
  return html`<form method="post" action="${INVITE_PATH}">
${formToken(browser)}<input type="hidden" name="code" value="${invite}">
<p>Berth sends ${what} to ${maskEmail(offer.email)}.</p>
<button name="step" value="mail" class="quiet">Send email</button>
</form>
`
}

function offerEntries({ group, role, email, inviter, expiresMs }: InviteOffer, showsEmail: boolean): Html {
  return html`${descriptionEntry('You receive', `the role ${role.name} in ${group.name}`)}
${inviter === '' ? '' : descriptionEntry('Invited by', inviter)}
${email === '' ? '' : descriptionEntry('Only for', showsEmail ? email : maskEmail(email))}
${descriptionEntry('Expires', formatUtc(expiresMs))}`
}

/** Shortens an address so that its owner recognizes it, and another holder of the code does not learn it: `g…@example.com`. */
function maskEmail(email: string): string {
  return `${email.slice(0, 1)}…${email.slice(email.lastIndexOf('@'))}`
}
