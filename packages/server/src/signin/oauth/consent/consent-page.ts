import { html } from 'hono/html'
import type { InviteOffer } from '../../../iam/invitations.ts'
import { formToken, type Html, page } from '../../pages/layout.ts'
import type { Browser } from '../../sessions/browser.ts'
import type { AuthorizationRequest } from '../authorization-requests.ts'
import type { WaitingDevice } from '../device/device-codes.ts'
import { formatUserCode } from '../device/user-code.ts'
import { headlessCodePrefix } from '../sdk-flows/headless.ts'

/** The page on which somebody agrees, or not: who asks, for what, as whom, and where the answer goes. */

export interface ConsentPage {
  readonly browser: Browser
  /** The secret of the request. */
  readonly secret: string
  readonly request: AuthorizationRequest
  /** Whoever is signed in. */
  readonly account: { readonly name: string; readonly email: string; readonly uid: string }
  /** Name of the client where it is registered; undefined for any other program. */
  readonly clientName: string | undefined
  /** Undefined where no invite comes along. */
  readonly offer: InviteOffer | undefined
  /** Undefined where no device waits. */
  readonly device: WaitingDevice | undefined
}

export function consentPage(consent: ConsentPage): Html {
  const { browser, secret, request, account } = consent
  const { kind } = request.reply
  const heading = headingOf(consent)
  const who = account.email === '' ? account.name : `${account.name} (${account.email})`
  return page(
    { title: heading, browser },
    html`<h1>${heading}</h1>
${introductionOf(consent)}
<dl>
${descriptionEntry('You are signed in as', who)}
${inviteEntries(consent)}${kind === 'none' ? '' : clientEntries(consent)}</dl>
<form method="post" action="/oauth/continue">
${formToken(browser)}<input type="hidden" name="request" value="${secret}">
<div class="actions">
<button name="decision" value="allow">${kind === 'none' ? 'Accept' : 'Allow'}</button>
<button name="decision" value="refuse" class="quiet">${kind === 'none' ? 'Not now' : 'Refuse'}</button>
</div>
<p class="below"><button name="decision" value="switch" class="link">Use another account</button></p>
</form>`,
  )
}

function headingOf({ request, clientName, offer }: ConsentPage): string {
  if (request.reply.kind === 'none') return `Join ${offer?.group.name ?? ''}?`
  if (request.reply.kind === 'device') return 'Let this device in?'
  return `Allow ${clientName ?? 'a program'} to act for you?`
}

function introductionOf({ request: { reply }, clientName, device }: ConsentPage): Html {
  if (reply.kind === 'device') {
    return html`<p>A device shows this code and waits:</p>
<p class="code">${formatUserCode(device?.userCode ?? '')}</p>
<p>Allow it only if you began this yourself and see the same code on your device. Whoever asks you to enter a code
that they sent you wants to act in your name.</p>`
  }
  if (reply.kind === 'headless') {
    return html`<p>A program waits for you. The address that it showed in your terminal has, after <code>headless_code=</code>,
a code that begins with:</p>
<p class="code">${headlessCodePrefix(reply.code)}</p>
<p>Allow it only if you began this yourself and see the same code in your terminal.</p>`
  }
  if (reply.kind === 'none') return html`<p>You were invited.</p>`
  return clientName === undefined
    ? html`<p>A program on your computer wants to act in your name. Allow it only if you began this yourself.</p>`
    : html`<p>${clientName} wants to act in your name. Allow it only if you began this yourself.</p>`
}

function inviteEntries({ offer, request }: ConsentPage): Html {
  if (offer === undefined) return html``
  const { group, role } = offer
  const label = request.reply.kind === 'none' ? 'You get' : 'You also join'
  return html`${descriptionEntry(label, `the role ${role.name} in ${group.name}`)}
${descriptionEntry('Group', group.uid)}
`
}

function clientEntries({ request, clientName, device }: ConsentPage): Html {
  const { reply, client, identity, scopes, audiences } = request
  const isInHeading = clientName === undefined || reply.kind === 'code'
  return html`${isInHeading ? '' : descriptionEntry('Program', clientName)}
${clientName === undefined && client !== '' ? descriptionEntry('It calls itself', displayClientName(client)) : ''}
${descriptionEntry('It gets', describeAccess(request))}
${descriptionEntry('For', audiences.join(', '))}
${identity === '' ? '' : descriptionEntry('It acts as the identity', identity)}
${scopes.length === 0 ? '' : descriptionEntry('In these groups only', scopes.join(', '))}
${descriptionEntry('The answer goes to', describeRecipient(reply))}
${device === undefined ? '' : deviceEntries(device)}`
}

function describeAccess({ reply, refreshToken, scopes, identity }: AuthorizationRequest): string {
  const renewed =
    reply.kind === 'code' ||
    reply.kind === 'device' ||
    (refreshToken && scopes.length === 0 && identity === '')
  if (reply.kind === 'headless') return 'proof of who you are, with which it gets tokens for the API'
  return renewed
    ? 'access with your rights, for 30 days or until you end its session'
    : 'access with your rights, for one hour'
}

function describeRecipient(reply: AuthorizationRequest['reply']): string {
  if (reply.kind === 'headless') return 'the program with this code, and nobody else can read it'
  if (reply.kind === 'device') return 'the device that shows this code'
  if (reply.kind === 'none') return ''
  const { host, protocol } = new URL(reply.redirect)
  return protocol === 'http:' ? `this computer (${host})` : host
}

function deviceEntries({ startedMs, address, userAgent }: WaitingDevice): Html {
  return html`${descriptionEntry('It asked from the address', address)}
${descriptionEntry('At', `${new Date(startedMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`)}
${userAgent === '' ? '' : descriptionEntry('It describes itself as', userAgent)}`
}

const SHOWN_CHARS_MAX = 60

/** What anybody may have written, without what turns the letters around it. */
function displayClientName(text: string): string {
  const letters = [...text.replaceAll(/\p{Cf}/gu, '')]
  return letters.length > SHOWN_CHARS_MAX
    ? `${letters.slice(0, SHOWN_CHARS_MAX).join('')}…`
    : letters.join('')
}

function descriptionEntry(label: string, value: string): Html {
  return html`<dt>${label}</dt>
<dd>${value}</dd>`
}
