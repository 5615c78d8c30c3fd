import { sendForm } from './local-accounts.ts'
import type { WebBrowser, WebPage } from './web-browser.ts'

/** Users who open the link of an invite. */

/** Opens the page of invites and sends the code, which the script takes from the link. */
export async function openInvite(browser: WebBrowser, code: string): Promise<WebPage> {
  return sendForm(browser, await browser.open('/invite'), '/invite', { code })
}

/** Continues up to the consent, or to the page of the sign-in. */
export async function startInvite(browser: WebBrowser, code: string): Promise<WebPage> {
  const page = await openInvite(browser, code)
  return page.path === '/invite' ? sendForm(browser, page, '/invite', { step: 'accept' }) : page
}
