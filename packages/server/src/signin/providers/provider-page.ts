import { html } from 'hono/html'
import { rootOf } from '../../api/uid.ts'
import type { SignInContext } from '../context.ts'
import { type Html, page } from '../pages/layout.ts'
import type { Browser } from '../sessions/browser.ts'
import type { Provider } from './providers.ts'

/**
 * Renders the page before a browser leaves for the provider of an organization. Every such sign-in shows it, because a link or a client of
 * another site can start one, and the provider decides as which user the browser returns. Only the link on the page continues.
 */
export async function providerPage(
  { store }: SignInContext,
  { session }: Browser,
  { provider, href }: { readonly provider: Provider; readonly href: string },
): Promise<Html> {
  const organization = await store.db.kysely
    .selectFrom('groups')
    .select(['name', 'verified'])
    .where('root', '=', rootOf(provider.organization))
    .where('uid', '=', provider.organization)
    .executeTakeFirst()
  const name = organization?.name ?? ''
  const heading = `Sign in to ${name} with ${provider.label}?`
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<p>You continue at <strong>${new URL(provider.issuer).host}</strong>, the identity provider of the organization ${name}.</p>
${organization?.verified === 1 ? '' : html`<p class="alert">The operator of this server has not verified the organization ${name}.</p>\n`}<p>Continue only if you started this sign-in yourself and you trust ${name}.${session === undefined ? '' : ' This ends your current session in this browser.'}</p>
<div class="actions"><a class="button" href="${href}">Continue</a> <a class="button quiet" href="${session === undefined ? '/sign-in' : '/account'}">Cancel</a></div>`,
  )
}
