import { html } from 'hono/html'
import { limits } from '../../config/limits.ts'
import { FORGOT_PASSWORD_PATH, RESET_PASSWORD_PATH } from '../accounts/one-time-links.ts'
import { field, formToken, type Html, page, problemOf } from '../pages/layout.ts'
import type { Browser } from '../sessions/browser.ts'

/** Pages with which a user resets a forgotten password. */

const MINUTE_MS = 60_000

const backToSignIn = html`<p class="below"><a href="/sign-in">Back to the sign-in page</a></p>`

export function forgotPasswordPage(browser: Browser, email: string, problem?: string): Html {
  return page(
    { title: 'Reset your password' },
    html`<h1>Reset your password</h1>
<p>Enter the email address of your account. If you sign in through your organization or another provider, you have no password here.</p>
<form method="post" action="${FORGOT_PASSWORD_PATH}">
${formToken(browser)}${field({
  name: 'email',
  label: 'Email',
  type: 'email',
  autocomplete: 'username',
  value: email,
  maxlength: limits.emailCharsMax,
  autofocus: true,
  problem: problemOf('email', problem),
})}<button>Send email</button>
</form>
${backToSignIn}`,
  )
}

/** For a server that sends no email. */
export function askOperatorPage(): Html {
  return page(
    { title: 'Reset your password' },
    html`<h1>Reset your password</h1>
<p>This server sends no email. Ask its operator for a link to choose a new password. The operator creates it with this command:</p>
<pre tabindex="0"><code>berth admin accounts reset-password EMAIL</code></pre>
${backToSignIn}`,
  )
}

/** The same page whether or not there is an account. */
export function emailSentPage(email: string): Html {
  return page(
    { title: 'Check your email' },
    html`<h1>Check your email</h1>
<p>If there is an account for ${email}, an email with a link is on its way. The link works once, within ${limits.passwordResetMs / MINUTE_MS} minutes.</p>
<p>No email? Check the spam folder and the spelling of the address. At most ${limits.passwordResetsPerEmailMax} emails an hour are sent to one address.</p>
${backToSignIn}`,
  )
}

/** Receives the code of the link: from the address by script, or typed by the user. */
export function resetCodePage(browser: Browser, problem?: string): Html {
  return page(
    { title: 'Reset your password', scripts: ['fragment-code.js'] },
    html`<h1>Reset your password</h1>
<form method="post" action="${RESET_PASSWORD_PATH}">
${formToken(browser)}${field({
  name: 'code',
  label: 'Code or link from the email',
  autocomplete: 'off',
  hint: 'Paste the whole link, or the part after #.',
  maxlength: limits.formFieldCharsMax,
  fromFragment: true,
  autofocus: true,
  problem: problemOf('code', problem),
})}<button>Continue</button>
</form>
<p class="below"><a href="${FORGOT_PASSWORD_PATH}">Request another email</a></p>`,
  )
}
