import { html } from 'hono/html'
import { limits } from '../../config/limits.ts'
import { FORGOT_PASSWORD_PATH } from '../accounts/one-time-links.ts'
import { alert, type FormProblem, field, formToken, type Html, notice, page } from '../pages/layout.ts'
import { passkeyButton, passkeyScripts } from '../passkeys/passkey-button.ts'
import type { Browser } from './browser.ts'

/** The pages on which users authenticate. */

export interface SignInPage {
  readonly browser: Browser
  /** Secret of the request that waits; '' for none. */
  readonly request: string
  readonly email?: string
  /** Organization that the user typed. */
  readonly organization?: string
  readonly problem?: string | FormProblem | undefined
  readonly noticeText?: string | undefined
  readonly providers: readonly { readonly label: string; readonly href: string }[]
  /** Whether browsers support passkeys at this address. */
  readonly passkeys: boolean
  /** Whether the user can create an account, because of an invite. */
  readonly register: boolean
  /** Whether users can reset a forgotten password by email. */
  readonly sendsMail: boolean
}

export function signInPage(options: SignInPage): Html {
  const {
    browser,
    request,
    email = '',
    organization = '',
    problem,
    noticeText,
    providers,
    passkeys,
    register,
    sendsMail,
  } = options
  const fieldProblem = typeof problem === 'string' ? undefined : problem
  return page(
    { title: 'Sign in', scripts: passkeys ? passkeyScripts : [] },
    html`<h1>Sign in</h1>
${notice(noticeText)}${alert(problem)}<form method="post" action="/sign-in/password">
${formToken(browser)}${requestField(request)}${field({
  name: 'email',
  label: 'Email',
  type: 'email',
  autocomplete: 'username',
  value: email,
  maxlength: limits.emailCharsMax,
  autofocus: email === '',
  problem: fieldProblem,
})}${field({
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'current-password',
  autofocus: email !== '',
  problem: fieldProblem,
})}<button>Sign in</button>
</form>
<p class="below">${
      sendsMail
        ? html`<a href="${FORGOT_PASSWORD_PATH}">Forgot your password?</a>`
        : 'Forgot your password? Ask the operator of this server for a new link.'
    }</p>
<div class="or">or</div>
<div class="stack">
${passkeys ? passkeyButton({ browser, request, action: '/sign-in/passkey', label: 'Sign in with a passkey' }) : ''}
${providers.map(({ label, href }) => html`<a class="button quiet" href="${href}">Sign in with ${label}</a>\n`)}
<details${fieldProblem?.field === 'organization' ? ' open' : ''}>
<summary>Sign in with your organization</summary>
<form method="get" action="/sign-in/provider">
${requestField(request)}${field({
  name: 'organization',
  label: 'Organization name',
  autocomplete: 'organization',
  value: organization,
  problem: fieldProblem,
})}<button class="quiet">Continue</button>
</form>
</details>
</div>
${register ? html`<p class="below">Invited and no account yet? <a href="/sign-in/register?request=${encodeURIComponent(request)}">Create an account</a></p>` : ''}`,
  )
}

export function requestField(request: string): Html {
  return request === '' ? html`` : html`<input type="hidden" name="request" value="${request}">`
}

interface SecondFactorPage {
  readonly browser: Browser
  readonly request: string
  /** Why browsers support no passkeys at this address; undefined if they do. */
  readonly unsupportedReason: string | undefined
  readonly problem?: string
}

/** Renders the page that asks for a passkey after the password of an account that requires both. */
export function secondFactorPage({ browser, request, unsupportedReason, problem }: SecondFactorPage): Html {
  const isSupported = unsupportedReason === undefined
  return page(
    { title: 'Use your passkey', scripts: isSupported ? passkeyScripts : [] },
    html`<h1>Use your passkey</h1>
<p>Your account requires a passkey in addition to the password.</p>
${alert(unsupportedReason ?? problem)}${
  isSupported
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
