import { html } from 'hono/html'
import { type Html, page } from './layout.ts'

/**
 * Renders the page before a browser leaves for a provider. It has a link and no form: `form-action` (security-headers.ts) also applies to
 * redirects of a form, and the provider is not known when the page is rendered.
 */
export function continuePage(heading: string, text: string, href: string): Html {
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<p>${text}</p>
<div class="actions"><a class="button" href="${href}">Continue</a></div>`,
  )
}
