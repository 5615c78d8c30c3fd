import { html } from 'hono/html'
import { formToken, type Html } from '../pages/layout.ts'
import type { Browser } from '../sessions/browser.ts'

/** The form with which a page's script asks the browser for a passkey (pages/static/passkey.js). */

export const passkeyScripts = ['webauthn.js', 'passkey.js'] as const

export interface PasskeyButton {
  readonly browser: Browser
  readonly request: string
  /** Path that the form is sent to; the options of the request come from `${action}/options`. */
  readonly action: string
  readonly label: string
  /** Creates a new passkey instead of using one. */
  readonly create?: boolean
  /** The main action of its page. */
  readonly primary?: boolean
  readonly more?: Html
}

/** Renders the form hidden; the script shows it in browsers that support passkeys. */
export function passkeyButton({
  browser,
  request,
  action,
  label,
  create = false,
  primary = false,
  more,
}: PasskeyButton): Html {
  return html`<form method="post" action="${action}" data-passkey="${create ? 'create' : 'get'}" hidden>
${formToken(browser)}<input type="hidden" name="request" value="${request}">
<input type="hidden" name="answer" value="">
${more ?? ''}<button${primary ? '' : html` class="quiet"`}>${label}</button>
<p class="alert" role="alert" hidden></p>
</form>`
}
