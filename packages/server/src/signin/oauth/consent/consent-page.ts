import { html } from 'hono/html'
import type { InviteOffer } from '../../../iam/invitations.ts'
import { formToken, type Html, page } from '../../pages/layout.ts'
import type { Browser } from '../../sessions/browser.ts'
import type { AuthorizationRequest } from '../authorization-requests.ts'
import type { WaitingDevice } from '../device/device-codes.ts'
import { formatUserCode } from '../device/user-code.ts'
import { headlessCodePrefix } from '../sdk-flows/headless.ts'

/** The consent page: which client requests what access, for which user, and where the response is sent. */

export interface ConsentPage {
  readonly browser: Browser
  /** The secret of the request. */
  readonly secret: string
  readonly request: AuthorizationRequest
  /** The signed-in user. */
  readonly account: { readonly name: string; readonly email: string; readonly uid: string }
  /** Name of a registered client; undefined for any other. */
  readonly clientName: string | undefined
  /** Undefined without an invite. */
  readonly offer: InviteOffer | undefined
  /** Undefined if no device waits. */
  readonly device: WaitingDevice | undefined
}

export function consentPage(consent: ConsentPage): Html {
  const { browser, secret, request, account } = consent
  const { kind } = request.reply
  const heading = headingOf(consent)
  const user = account.email === '' ? account.name : `${account.name} (${account.email})`
  return page(
    { title: heading, browser },
    html`<h1>${heading}</h1>
${introductionOf(consent)}
<dl>
${descriptionEntry('Signed in as', user)}
${inviteEntries(consent)}${kind === 'none' ? '' : clientEntries(consent)}</dl>
<form method="post" action="/oauth/continue">
${formToken(browser)}<input type="hidden" name="request" value="${secret}">
<div class="actions">
<button name="decision" value="allow">${kind === 'none' ? 'Accept' : 'Allow'}</button>
<button name="decision" value="refuse" class="quiet">${kind === 'none' ? 'Not now' : 'Deny'}</button>
</div>
<p class="below"><button name="decision" value="switch" class="link">Use another account</button></p>
</form>`,
  )
}

function headingOf({ request, clientName, offer }: ConsentPage): string {
  if (request.reply.kind === 'none') return `Join ${offer?.group.name ?? ''}?`
  if (request.reply.kind === 'device') return 'Connect this device?'
  return `Allow ${clientName ?? 'an application'} to act on your behalf?`
}

function introductionOf({ request: { reply }, clientName, device }: ConsentPage): Html {
  if (reply.kind === 'device') {
    return html`<p>A device with this code is waiting:</p>
<p class="code">${formatUserCode(device?.userCode ?? '')}</p>
<p>Allow it only if you started this yourself and your device shows the same code. Never enter a code that someone
sent you: they could act on your behalf.</p>`
  }
  if (reply.kind === 'headless') {
    return html`<p>An application in your terminal is waiting. The address that it showed contains, after <code>headless_code=</code>,
a code that starts with:</p>
<p class="code">${headlessCodePrefix(reply.code)}</p>
<p>Allow it only if you started this yourself and your terminal shows the same code.</p>`
  }
  if (reply.kind === 'none') return html`<p>You were invited.</p>`
  return clientName === undefined
    ? html`<p>An application on your computer wants to act on your behalf. Allow it only if you started this yourself.</p>`
    : html`<p>${clientName} wants to act on your behalf. Allow it only if you started this yourself.</p>`
}

function inviteEntries({ offer, request }: ConsentPage): Html {
  if (offer === undefined) return html``
  const { group, role, inviter, expiresMs } = offer
  const label = request.reply.kind === 'none' ? 'You receive' : 'You also receive'
  return html`${descriptionEntry(label, `the role ${role.name} in ${group.name}`)}
${descriptionEntry('Group', group.uid)}
${inviter === '' ? '' : descriptionEntry('Invited by', inviter)}
${descriptionEntry('Expires', formatUtc(expiresMs))}
`
}

function clientEntries({ request, clientName, device }: ConsentPage): Html {
  const { reply, client, identity, scopes, audiences } = request
  const isInHeading = clientName === undefined || reply.kind === 'code'
  return html`${isInHeading ? '' : descriptionEntry('Application', clientName)}
${clientName === undefined && client !== '' ? descriptionEntry('Name given by the application', displayClientName(client)) : ''}
${descriptionEntry('Access', describeAccess(request))}
${descriptionEntry('Audience', audiences.join(', '))}
${identity === '' ? '' : descriptionEntry('Acts as identity', identity)}
${scopes.length === 0 ? '' : descriptionEntry('Only in groups', scopes.join(', '))}
${descriptionEntry('redirect' in reply ? 'Redirects to' : 'Response for', describeRecipient(reply))}
${device === undefined ? '' : deviceEntries(device)}`
}

function describeAccess({ reply, refreshToken, scopes, identity }: AuthorizationRequest): string {
  const renewed =
    reply.kind === 'code' ||
    reply.kind === 'device' ||
    (refreshToken && scopes.length === 0 && identity === '')
  if (reply.kind === 'headless') return 'an ID token, which it can exchange for API tokens'
  return renewed
    ? 'everything you can do, for 30 days or until you end its session'
    : 'everything you can do, for one hour'
}

function describeRecipient(reply: AuthorizationRequest['reply']): string {
  if (reply.kind === 'headless') return 'only the application with this code, which alone can decrypt it'
  if (reply.kind === 'device') return 'the device that shows this code'
  if (reply.kind === 'none') return ''
  const { host, protocol } = new URL(reply.redirect)
  return protocol === 'http:' ? `this computer (${host})` : host
}

function deviceEntries({ startedMs, address, userAgent }: WaitingDevice): Html {
  return html`${descriptionEntry('IP address', address)}
${descriptionEntry('Requested at', formatUtc(startedMs))}
${userAgent === '' ? '' : descriptionEntry('User agent', userAgent)}`
}

export function formatUtc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

const SHOWN_CHARS_MAX = 60

/** Shortens an unverified client name and removes invisible characters, which can reorder the text around them. */
function displayClientName(text: string): string {
  const letters = [...text.replaceAll(/\p{Cf}/gu, '')]
  return letters.length > SHOWN_CHARS_MAX
    ? `${letters.slice(0, SHOWN_CHARS_MAX).join('')}…`
    : letters.join('')
}

export function descriptionEntry(label: string, value: string): Html {
  return html`<dt>${label}</dt>
<dd>${value}</dd>`
}
