import type { SignInContext } from '../context.ts'
import { type Browser, linkToken } from '../sessions/browser.ts'

/** Paths of the sign-in with a provider. */

/** Token of a link in one of our pages: the user has seen the page in this browser, for this provider and this request. */
export function confirmationToken(
  context: SignInContext,
  browser: Browser,
  id: string,
  request: string,
): string {
  return linkToken(context, browser, ['provider', id, request])
}

/** Path to a provider for a link in a page where the user chooses the provider: no further page asks for confirmation. */
export function confirmedProviderPath(
  context: SignInContext,
  browser: Browser,
  id: string,
  request: string,
): string {
  const confirmed = confirmationToken(context, browser, id, request)
  return `${providerPath(id, request)}&${new URLSearchParams({ confirmed })}`
}

/** Path to a provider; `request` is the secret of the request that waits, '' for none. */
export function providerPath(id: string, request: string): string {
  const query = new URLSearchParams({ with: id, ...(request === '' ? {} : { request }) })
  return `/sign-in/provider?${query}`
}
