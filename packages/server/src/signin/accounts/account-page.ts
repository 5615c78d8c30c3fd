import { html } from 'hono/html'
import { limits } from '../../config/limits.ts'
import type { PasskeyRow } from '../../storage/schema/tables.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import { alert, field, formToken, type Html, notice, page } from '../pages/layout.ts'
import { passkeyButton, passkeyScripts } from '../passkeys/passkey-button.ts'
import type { Browser } from '../sessions/browser.ts'
import { newPasswordField, usernameField } from './account-fields.ts'
import type { Account } from './accounts.ts'

/** The page of somebody who is signed in. */

/** What was just done, by the word for it in the address. */
export const notices = {
  setup: 'Your account is made. You own the first organization and administer this Berth.',
  name: 'Your name is saved.',
  password: 'Your password is saved. You are signed out everywhere else.',
  'second-factor': 'Your choice is saved.',
  'passkey-added': 'The passkey is added.',
  'passkey-renamed': 'The passkey is renamed.',
  'passkey-removed': 'The passkey is removed.',
  'session-ended': 'That session has ended.',
  'sessions-ended': 'All other sessions have ended.',
} as const
export type NoticeKey = keyof typeof notices

export interface AccountPage {
  readonly browser: Browser
  readonly session: Session
  readonly account: Account | undefined
  readonly person: { readonly uid: string; readonly name: string; readonly email: string }
  readonly problem: string | undefined
  readonly noticeText: string | undefined
  readonly passkeys: readonly PasskeyRow[]
  /** Why none can be added here; undefined when they can. */
  readonly passkeysUnsupportedReason: string | undefined
  /** Whether the session may act on the person as a whole; one that may not is the only one in `sessions`. */
  readonly actsAsPerson: boolean
  readonly sessions: readonly Session[]
  readonly nowMs: number
}

export function accountPage(options: AccountPage): Html {
  const { browser, account, person, problem, noticeText: news } = options
  return page(
    { title: 'Your account', browser, wide: true, scripts: account === undefined ? [] : passkeyScripts },
    html`<h1>Your account</h1>
${notice(news)}${alert(problem)}<section aria-labelledby="you">
<h2 id="you">You</h2>
<dl>
<dt>Name</dt><dd>${account?.name ?? person.name}</dd>
<dt>E-mail</dt><dd>${account?.email ?? (person.email === '' ? 'not known' : person.email)}</dd>
<dt>Identity</dt><dd><code>${person.uid}</code></dd>
</dl>
${account === undefined ? html`<p class="muted">You sign in with an identity provider. Your name and password are kept there.</p>` : nameForm(browser, account)}
</section>
${account === undefined ? '' : html`${passwordSection(browser, account)}${passkeySection(options, account)}`}
${sessionSection(options)}
${
  account === undefined
    ? ''
    : html`<section aria-labelledby="delete">
<h2 id="delete">Delete the account</h2>
<p><a href="/account/delete">Delete your account</a> and everything it may do.</p>
</section>`
}`,
  )
}

function nameForm(browser: Browser, { name }: Account): Html {
  return html`<details>
<summary>Change your name</summary>
<form method="post" action="/account/name">
${formToken(browser)}${field({
  name: 'name',
  label: 'Your name',
  autocomplete: 'name',
  value: name,
  maxlength: limits.accountNameCharsMax,
})}<button>Save the name</button>
</form>
</details>`
}

function passwordSection(browser: Browser, { email, password_hash }: Account): Html {
  if (password_hash === '') return html``
  return html`<section aria-labelledby="password-heading">
<h2 id="password-heading">Password</h2>
<details>
<summary>Change your password</summary>
<form method="post" action="/account/password">
${formToken(browser)}${usernameField(email)}
${field({
  name: 'current',
  label: 'Current password',
  type: 'password',
  autocomplete: 'current-password',
})}${newPasswordField({ label: 'New password' })}<button>Save the password</button>
<p class="hint">You are then signed out everywhere else.</p>
</form>
</details>
</section>
`
}

function passkeySection(
  { browser, passkeys, passkeysUnsupportedReason: passkeyObstacle }: AccountPage,
  account: Account,
): Html {
  return html`<section aria-labelledby="passkeys">
<h2 id="passkeys">Passkeys</h2>
${
  passkeys.length === 0
    ? html`<p class="muted">You have none. A passkey signs you in with your device instead of a password, and cannot be stolen by a false page.</p>`
    : html`<ul class="list">
${passkeys.map((passkey) => passkeyItem(browser, passkey))}</ul>`
}
${
  passkeyObstacle === undefined
    ? passkeyButton({
        browser,
        request: '',
        action: '/account/passkeys',
        label: 'Add a passkey',
        create: true,
        more: field({
          name: 'name',
          id: 'passkey-name',
          label: 'Name of the new passkey',
          autocomplete: 'off',
          value: 'My device',
          maxlength: limits.accountNameCharsMax,
        }),
      })
    : html`<p class="muted">${passkeyObstacle}</p>`
}
${passkeys.length === 0 || account.password_hash === '' ? '' : secondFactorForm(browser, account)}
</section>
`
}

function passkeyItem(browser: Browser, { id, name, created_ms, last_used_ms }: PasskeyRow): Html {
  return html`<li>
<div>
<p><strong>${name}</strong></p>
<p class="muted">Added ${formatDay(created_ms)}, last used ${formatDay(last_used_ms)}</p>
</div>
<details>
<summary>Rename<span class="unseen"> ${name}</span></summary>
<form method="post" action="/account/passkeys/rename">
${formToken(browser)}<input type="hidden" name="id" value="${id}">
${field({ name: 'name', id: `name-${id}`, label: 'New name', autocomplete: 'off', value: name, maxlength: limits.accountNameCharsMax })}<button class="quiet">Save</button>
</form>
</details>
<form method="post" action="/account/passkeys/remove">
${formToken(browser)}<input type="hidden" name="id" value="${id}"><button class="link">Remove<span class="unseen"> ${name}</span></button>
</form>
</li>
`
}

function secondFactorForm(browser: Browser, { passkey_required }: Account): Html {
  const on = passkey_required !== 0
  return html`<form method="post" action="/account/second-factor" class="below">
${formToken(browser)}<p>${on ? 'After your password you are asked for a passkey as well.' : 'Your password alone signs you in.'}</p>
<button class="quiet" name="required" value="${on ? 'no' : 'yes'}">${on ? 'Ask for the password alone' : 'Ask for a passkey as well'}</button>
</form>`
}

function sessionSection({ browser, session, sessions, actsAsPerson, nowMs }: AccountPage): Html {
  return html`<section aria-labelledby="sessions">
<h2 id="sessions">Where you are signed in</h2>
<ul class="list">
${sessions.map((each) => sessionItem(browser, each, each.id === session.id, nowMs))}</ul>
${
  actsAsPerson
    ? ''
    : html`<p class="muted">You see this session only, because you signed in with an identity provider that did not register you. To see and end the others, sign in as you did the first time.</p>`
}${
  sessions.length < 2
    ? ''
    : html`<form method="post" action="/account/sessions/end-others">
${formToken(browser)}<button class="quiet">Sign out everywhere else</button>
</form>`
}
</section>
`
}

function sessionItem(browser: Browser, session: Session, isThis: boolean, nowMs: number): Html {
  const { id, kind, client, userAgent, address, lastUsedMs } = session
  const what = kind === 'browser' ? browserName(userAgent) : client === '' ? 'A client' : client
  return html`<li>
<div>
<p><strong>${what}</strong>${isThis ? ' (this browser)' : ''}</p>
<p class="muted">${address}, last used ${formatAge(nowMs - lastUsedMs)}</p>
${kind === 'browser' || userAgent === '' ? '' : html`<p class="muted">${userAgent}</p>`}
</div>
<form method="post" action="/account/sessions/end">
${formToken(browser)}<input type="hidden" name="id" value="${id}"><button class="link">Sign out<span class="unseen"> ${what}</span></button>
</form>
</li>
`
}

export function deleteAccountPage(browser: Browser, { email }: Account, problem?: string): Html {
  return page(
    { title: 'Delete your account', browser },
    html`<h1>Delete your account</h1>
<p>You are signed out everywhere, and whatever you may do in any organization is gone. This cannot be undone.</p>
${alert(problem)}<form method="post" action="/account/delete">
${formToken(browser)}${field({
  name: 'email',
  label: `Type your e-mail address, ${email}, to go on`,
  type: 'email',
  autocomplete: 'off',
  autofocus: true,
})}<div class="actions"><button class="danger">Delete it</button><a class="button quiet" href="/account">Keep it</a></div>
</form>`,
  )
}

/** The order matters: every browser claims to be some of the others. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|Chromium|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const systems: readonly (readonly [RegExp, string])[] = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** `Firefox on Linux`: for people to recognize, from what anybody may write. */
function browserName(userAgent: string): string {
  const find = (names: typeof browsers) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const system = find(systems)
  return `${find(browsers) ?? 'A browser'}${system === undefined ? '' : ` on ${system}`}`
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

function formatAge(ms: number): string {
  if (ms < 2 * MINUTE_MS) return 'just now'
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} minutes ago`
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} hours ago`
  return `${Math.floor(ms / DAY_MS)} days ago`
}

function formatDay(ms: number): Html {
  const text = new Date(ms).toISOString().slice(0, 10)
  return html`<time datetime="${text}">${text}</time>`
}
