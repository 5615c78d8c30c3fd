import { html } from 'hono/html'
import { limits } from '../../config/limits.ts'
import type { PasskeyRow } from '../../storage/schema/tables.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import { alert, type FormProblem, field, formToken, type Html, notice, page } from '../pages/layout.ts'
import { passkeyButton, passkeyScripts } from '../passkeys/passkey-button.ts'
import type { Browser } from '../sessions/browser.ts'
import { newPasswordField, usernameField } from './account-fields.ts'
import type { Account } from './accounts.ts'

/** The account page of a signed-in user. */

/** Messages about the last change, by the value of `done` in the address. */
export const notices = {
  name: 'Name saved.',
  password: 'Password saved. You are signed out everywhere else.',
  'second-factor': 'Setting saved.',
  'passkey-added': 'Passkey added.',
  'passkey-renamed': 'Passkey renamed.',
  'passkey-removed': 'Passkey removed.',
  'session-ended': 'Session ended.',
  'sessions-ended': 'All other sessions ended.',
} as const
export type NoticeKey = keyof typeof notices

export interface AccountPage {
  readonly browser: Browser
  readonly session: Session
  readonly account: Account | undefined
  readonly person: { readonly uid: string; readonly name: string; readonly email: string }
  readonly problem: FormProblem | undefined
  readonly noticeText: string | undefined
  readonly passkeys: readonly PasskeyRow[]
  /** Why no passkey can be added at this address; undefined if one can. */
  readonly passkeysUnsupportedReason: string | undefined
  /** Whether the session has authority over the whole user (pipeline/vouching.ts). If not, `sessions` contains only this one. */
  readonly actsAsPerson: boolean
  readonly sessions: readonly Session[]
  readonly nowMs: number
}

export function accountPage(options: AccountPage): Html {
  const { browser, account, person, problem, noticeText } = options
  return page(
    { title: 'Your account', browser, wide: true, scripts: account === undefined ? [] : passkeyScripts },
    html`<h1>Your account</h1>
${notice(noticeText)}${alert(problem)}<section aria-labelledby="profile">
<h2 id="profile">Profile</h2>
<dl>
<dt>Name</dt><dd>${account?.name ?? person.name}</dd>
<dt>Email</dt><dd>${account?.email ?? (person.email === '' ? 'unknown' : person.email)}</dd>
<dt>Identity</dt><dd><code>${person.uid}</code></dd>
</dl>
${account === undefined ? html`<p class="muted">You sign in with an identity provider, which manages your name and password.</p>` : nameForm(options, account)}
</section>
${account === undefined ? '' : html`${passwordSection(options, account)}${passkeySection(options, account)}`}
${sessionSection(options)}
${
  account === undefined
    ? ''
    : html`<section aria-labelledby="delete">
<h2 id="delete">Delete account</h2>
<p><a href="/account/delete">Delete your account</a> and all its access.</p>
</section>`
}`,
  )
}

/** Opens the `details` around the field in error. */
function openIf(problem: FormProblem | undefined, ...fields: readonly string[]): Html {
  return fields.includes(problem?.field ?? '') ? html` open` : html``
}

function nameForm({ browser, problem }: AccountPage, { name }: Account): Html {
  return html`<details${openIf(problem, 'name')}>
<summary>Change your name</summary>
<form method="post" action="/account/name">
${formToken(browser)}${field({
  name: 'name',
  label: 'Your name',
  autocomplete: 'name',
  value: name,
  maxlength: limits.accountNameCharsMax,
  problem,
})}<button>Save name</button>
</form>
</details>`
}

function passwordSection({ browser, problem }: AccountPage, { email, password_hash }: Account): Html {
  if (password_hash === '') return html``
  return html`<section aria-labelledby="password-heading">
<h2 id="password-heading">Password</h2>
<details${openIf(problem, 'current', 'password')}>
<summary>Change your password</summary>
<form method="post" action="/account/password">
${formToken(browser)}${usernameField(email)}
${field({
  name: 'current',
  label: 'Current password',
  type: 'password',
  autocomplete: 'current-password',
  problem,
})}${newPasswordField({ label: 'New password', problem })}<button>Save password</button>
<p class="hint">This signs you out everywhere else.</p>
</form>
</details>
</section>
`
}

function passkeySection(
  { browser, problem, passkeys, passkeysUnsupportedReason }: AccountPage,
  account: Account,
): Html {
  return html`<section aria-labelledby="passkeys">
<h2 id="passkeys">Passkeys</h2>
${
  passkeys.length === 0
    ? html`<p class="muted">You have no passkeys. A passkey signs you in with your device instead of a password, and resists phishing.</p>`
    : html`<ul class="list">
${passkeys.map((passkey) => passkeyItem(browser, passkey, problem))}</ul>`
}
${
  passkeysUnsupportedReason === undefined
    ? passkeyButton({
        browser,
        request: '',
        action: '/account/passkeys',
        label: 'Add a passkey',
        create: true,
        more: field({
          name: 'name',
          id: 'passkey-name',
          label: 'Passkey name',
          autocomplete: 'off',
          value: 'My device',
          maxlength: limits.accountNameCharsMax,
          problem,
        }),
      })
    : html`<p class="muted">${passkeysUnsupportedReason}</p>`
}
${passkeys.length === 0 || account.password_hash === '' ? '' : secondFactorForm(browser, account)}
</section>
`
}

function passkeyItem(
  browser: Browser,
  { id, name, created_ms, last_used_ms }: PasskeyRow,
  problem: FormProblem | undefined,
): Html {
  return html`<li>
<div>
<p><strong>${name}</strong></p>
<p class="muted">Added ${formatDay(created_ms)}, last used ${formatDay(last_used_ms)}</p>
</div>
<details${openIf(problem, `name-${id}`)}>
<summary>Rename<span class="unseen"> ${name}</span></summary>
<form method="post" action="/account/passkeys/rename">
${formToken(browser)}<input type="hidden" name="id" value="${id}">
${field({ name: 'name', id: `name-${id}`, label: 'New name', autocomplete: 'off', value: name, maxlength: limits.accountNameCharsMax, problem })}<button class="quiet">Save</button>
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
${formToken(browser)}<p>${on ? 'Signing in with your password also requires a passkey.' : 'Signing in with your password does not require a passkey.'}</p>
<button class="quiet" name="required" value="${on ? 'no' : 'yes'}">${on ? 'Stop requiring a passkey' : 'Also require a passkey'}</button>
</form>`
}

function sessionSection({ browser, session, sessions, actsAsPerson, nowMs }: AccountPage): Html {
  return html`<section aria-labelledby="sessions">
<h2 id="sessions">Active sessions</h2>
<ul class="list">
${sessions.map((each) => sessionItem(browser, each, each.id === session.id, nowMs))}</ul>
${
  actsAsPerson
    ? ''
    : html`<p class="muted">Only this session is shown, because you signed in with an identity provider that did not register you. To see and end the others, sign in with the method that you registered with.</p>`
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
  const name = kind === 'browser' ? browserName(userAgent) : client === '' ? 'Unknown client' : client
  return html`<li>
<div>
<p><strong>${name}</strong>${isThis ? ' (this browser)' : ''}</p>
<p class="muted">${address}, last used ${formatAge(nowMs - lastUsedMs)}</p>
${kind === 'browser' || userAgent === '' ? '' : html`<p class="muted">${userAgent}</p>`}
</div>
<form method="post" action="/account/sessions/end">
${formToken(browser)}<input type="hidden" name="id" value="${id}"><button class="link">Sign out<span class="unseen"> ${name}</span></button>
</form>
</li>
`
}

export function deleteAccountPage(browser: Browser, { email }: Account, problem?: FormProblem): Html {
  return page(
    { title: 'Delete your account', browser },
    html`<h1>Delete your account</h1>
<p>This signs you out everywhere and removes your access to every organization. It cannot be undone.</p>
<form method="post" action="/account/delete">
${formToken(browser)}${field({
  name: 'email',
  label: `To confirm, type your email address: ${email}`,
  type: 'email',
  autocomplete: 'off',
  autofocus: true,
  problem,
})}<div class="actions"><button class="danger">Delete account</button><a class="button quiet" href="/account">Cancel</a></div>
</form>`,
  )
}

/** In order: most browsers also claim to be some of those further down. */
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

/** Describes a browser for its owner, as `Firefox on Linux`. The user agent is not verified. */
function browserName(userAgent: string): string {
  const find = (names: typeof browsers) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const system = find(systems)
  return `${find(browsers) ?? 'Unknown browser'}${system === undefined ? '' : ` on ${system}`}`
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
