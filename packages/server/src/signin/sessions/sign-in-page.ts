import { html } from 'hono/html'
import { limits } from '../../config/limits.ts'
import { alert, field, formToken, type Html, notice, page } from '../pages/layout.ts'
import { passkeyButton, passkeyScripts } from '../passkeys/passkey-button.ts'
import type { Browser } from './browser.ts'

/** The page on which people say who they are. */

export interface SignInPage {
  readonly browser: Browser
  /** Secret of the request that waits, '' for none. */
  readonly request: string
  readonly email?: string
  readonly problem?: string | undefined
  readonly noticeText?: string | undefined
  readonly providers: readonly { readonly label: string; readonly href: string }[]
  /** Browsers take passkeys of named hosts only. */
  readonly passkeys: boolean
  /** Whether whoever has no account yet may make one: they were invited. */
  readonly register: boolean
}

export function signInPage(options: SignInPage): Html {
  const { browser, request, email = '', problem, noticeText: news, providers, passkeys, register } = options
  return page(
    { title: 'Sign in', scripts: passkeys ? passkeyScripts : [] },
    html`<h1>Sign in</h1>
${notice(news)}${alert(problem)}<form method="post" action="/sign-in/password">
${formToken(browser)}${requestField(request)}${field({
  name: 'email',
  label: 'E-mail',
  type: 'email',
  autocomplete: 'username',
  value: email,
  maxlength: limits.emailCharsMax,
  autofocus: email === '',
})}${field({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  autofocus: email !== '',
})}<button>Sign in</button>
</form>
<div class="or">or</div>
<div class="stack">
${passkeys ? passkeyButton({ browser, request, action: '/sign-in/passkey', label: 'Sign in with a passkey' }) : ''}
${providers.map(({ label, href }) => html`<a class="button quiet" href="${href}">Sign in with ${label}</a>\n`)}
<details>
<summary>Sign in with your organization</summary>
<form method="get" action="/sign-in/provider">
${requestField(request)}${field({
  name: 'organization',
  label: 'Name of the organization',
  autocomplete: 'organization',
})}<button class="quiet">Continue</button>
</form>
</details>
</div>
${register ? html`<p class="below">You were invited and have no account yet? <a href="/sign-in/register?request=${encodeURIComponent(request)}">Make one</a></p>` : ''}`,
  )
}

export function requestField(request: string): Html {
  return request === '' ? html`` : html`<input type="hidden" name="request" value="${request}">`
}

interface SecondFactorPage {
  readonly browser: Browser
  readonly request: string
  /** Why browsers take no passkeys here; undefined when they do. */
  readonly unsupportedReason: string | undefined
  readonly problem?: string
}

/** After the password of an account that asks for a passkey as well. */
export function secondFactorPage({
  browser,
  request,
  unsupportedReason: obstacle,
  problem,
}: SecondFactorPage): Html {
  const can = obstacle === undefined
  return page(
    { title: 'Use your passkey', scripts: can ? passkeyScripts : [] },
    html`<h1>Use your passkey</h1>
<p>Your account asks for a passkey after the password.</p>
${alert(obstacle ?? problem)}${
  can
    ? passkeyButton({
        browser,
        request,
        action: '/sign-in/second-factor',
        label: 'Continue with your passkey',
        primary: true,
      })
    : ''
}
<p class="below"><a href="/sign-in${request === '' ? '' : `?request=${encodeURIComponent(request)}`}">Sign in another way</a></p>`,
  )
}
