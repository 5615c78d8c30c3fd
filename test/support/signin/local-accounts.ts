import assert from 'node:assert/strict'
import { createAccount } from '@berth/server/signin/accounts/accounts.ts'
import { createPasswordLink, createSetupLink } from '@berth/server/signin/accounts/one-time-links.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import type { AccountRow } from '@berth/server/storage/schema/tables.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { type WebBrowser, type WebPage, webBrowser } from './web-browser.ts'

/** People with an account of the installation itself. */

export const PASSWORD = 'purple wagon sings loudly'

type Server = Pick<TestBerth, 'url' | 'berth'>

/** The link that the first start prints, as a path. */
export async function setupPath({ berth }: Pick<Server, 'berth'>): Promise<string> {
  const link = await createSetupLink(berth.installation.store, berth.addresses.authUrl)
  assert.ok(link, 'there is an account already')
  return link.slice(berth.addresses.authUrl.length)
}

/** An account as the operator makes it: its owner has yet to choose a password. */
export async function newLocalAccount({ berth }: Pick<Server, 'berth'>, email: string): Promise<AccountRow> {
  const { store } = berth.installation
  return inTransaction(store.db, (tx) =>
    createAccount(store, tx, berth.addresses.authUrl, { email, name: 'Ada Lovelace', passwordHash: '' }),
  )
}

/** The link that the operator gives an owner to choose a password with, as a path. */
export async function passwordPath({ berth }: Pick<Server, 'berth'>, account: AccountRow): Promise<string> {
  const { authUrl } = berth.addresses
  return (await createPasswordLink(berth.installation.store, authUrl, account)).slice(authUrl.length)
}

/** An account whose owner has just chosen a password, in the browser that is returned. */
export async function localAccount(
  server: Server,
  email: string,
  browser: WebBrowser = webBrowser(server.url),
): Promise<{ readonly account: AccountRow; readonly browser: WebBrowser }> {
  const account = await newLocalAccount(server, email)
  const page = await browser.open(await passwordPath(server, account))
  const done = await browser.submit(page, { password: PASSWORD })
  assert.match(done.path, /^\/account/, done.text)
  return { account, browser }
}

/** Gives a password on the sign-in page. */
export async function setPassword(
  browser: WebBrowser,
  email: string,
  password: string = PASSWORD,
): Promise<WebPage> {
  return sendForm(browser, await browser.open('/sign-in?again'), '/sign-in/password', { email, password })
}

/** Fills in the form of a page that goes to `action`. */
export function sendForm(
  browser: WebBrowser,
  page: WebPage,
  action: string,
  fields: Readonly<Record<string, string | undefined>> = {},
): Promise<WebPage> {
  const which = page.forms.findIndex((form) => form.action === action)
  assert.ok(which >= 0, `there is no form for ${action}: ${page.status} ${page.text}`)
  return browser.submit(page, fields, which)
}

/** Whether this browser is signed in. */
export async function isSignedIn(browser: WebBrowser): Promise<boolean> {
  return (await browser.open('/account')).path === '/account'
}
