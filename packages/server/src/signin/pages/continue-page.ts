import { html } from 'hono/html'
import { type Html, page } from './layout.ts'

/**
 * Before a browser leaves for a provider: a link, which may lead anywhere. A form may not, nor be redirected there (`form-action` of
 * headers.ts), since which provider it will be is not known when its page is made.
 */
export function continuePage(heading: string, text: string, href: string): Html {
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<p>${text}</p>
<div class="actions"><a class="button" href="${href}">Continue</a></div>`,
  )
}
