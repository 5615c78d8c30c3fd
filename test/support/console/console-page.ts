import assert from 'node:assert/strict'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { waitUntil } from '../browser/chromium.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createSession } from '../signin/accounts.ts'

/** The console in a real browser, for a user who is signed in. */

export interface ConsolePage {
  readonly page: Page
  /** What the browser refused or failed at: errors of scripts, violations of the content security policy. */
  readonly problems: readonly string[]
  /** Opens a path below /console and waits for its heading. */
  open(path: string, heading: string): Promise<void>
}

/** Within it a page shows what it has received, or what a user did. */
export const DRAWN_MS = 500

/** A failed call is shown by the page; the browser reports it on its console as well. */
const FAILED_CALL = /^Failed to load resource: /

type Server = Pick<TestBerth, 'url' | 'berth'>

/** Gives a browser a new session of an identity, as a sign-in in another tab does. */
export async function signInBrowser(context: BrowserContext, berth: Server, identity: string): Promise<void> {
  const { secret } = await createSession(berth, { identity, method: 'password' }, { kind: 'browser' })
  await context.addCookies([
    { name: 'berth', value: secret, url: berth.url, httpOnly: true, sameSite: 'Lax' },
  ])
}

export async function openConsole(
  chromium: Browser,
  berth: Server,
  identity: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  await signInBrowser(context, berth, identity)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    const isProblem = message.type() === 'error' || /Content.Security.Policy|Refused/i.test(message.text())
    if (isProblem && !FAILED_CALL.test(message.text())) problems.push(message.text())
  })
  return {
    page,
    problems,
    async open(path, heading) {
      const response = await page.goto(`${berth.url}/console${path}`)
      assert.equal(response?.status(), 200, 'the console is built by npm ci, or npm run build:console')
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    },
  }
}

const LOADED = `!/\\bLoading\\b/.test(document.body.innerText) &&
  document.querySelector('[aria-busy="true"], [placeholder^="Loading"]') === null`

/**
 * Waits until no part of the page or of a dialog is loading. The load state `networkidle` is reached once for each document: a second wait
 * for it ends immediately.
 */
export const waitUntilLoaded = (page: Page): Promise<void> => waitUntil(page, LOADED)

/** What assistive technology reads after the name of an element: the text that its `aria-describedby` names. */
export async function descriptionOf(element: Locator): Promise<string> {
  const id = await element.getAttribute('aria-describedby')
  return (await element.page().locator(`[id="${id}"]`).textContent()) ?? ''
}
