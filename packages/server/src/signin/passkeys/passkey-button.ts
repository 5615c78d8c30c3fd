import { html } from 'hono/html'
import { formToken, type Html } from '../pages/layout.ts'
import type { Browser } from '../sessions/browser.ts'

/** What the script of a page needs to ask the browser for a passkey (page/passkey.js). */

export const passkeyScripts = ['webauthn.js', 'passkey.js'] as const

export interface PasskeyButton {
  readonly browser: Browser
  readonly request: string
  /** Where the answer goes as a form; what is asked of the passkey comes from `${action}/options`. */
  readonly action: string
  readonly label: string
  /** Makes a new one instead of asking for one. */
  readonly create?: boolean
  /** The one thing to do on its page. */
  readonly primary?: boolean
  readonly more?: Html
}

/** Shown by the script, in browsers that know passkeys. */
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
