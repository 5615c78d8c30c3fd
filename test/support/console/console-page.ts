import assert from 'node:assert/strict'
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page, Request } from 'playwright-core'
import { waitUntil } from '../browser/chromium.ts'
import { eventually } from '../eventually.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createSession } from '../signin/accounts.ts'

/** The console in a real browser, for a user who is signed in. */

export interface ConsolePage {
  readonly page: Page
  /** What the browser refused or failed at: errors of scripts, violations of the content security policy. */
  readonly problems: readonly string[]
  /** Opens a path below /console and waits for its heading. */
  open(path: string, heading: string): Promise<void>
  /**
   * Opens a path as a link does, in the document that is loaded, and waits until the page is complete. For tests that look at many pages: a
   * new document loads and compiles the console, and axe, again. What the page has read within the last seconds, it does not read again.
   */
  visit(path: string, heading: string): Promise<void>
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
  observeRequests(page)
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    const isProblem = message.type() === 'error' || /Content.Security.Policy|Refused/i.test(message.text())
    if (isProblem && !FAILED_CALL.test(message.text())) problems.push(message.text())
  })
  const open = async (path: string, heading: string) => {
    const response = await page.goto(`${berth.url}/console${path}`)
    assert.equal(response?.status(), 200, 'the console is built by npm ci, or npm run build:console')
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  }
  return {
    page,
    problems,
    open,
    async visit(path, heading) {
      if (page.url().startsWith(`${berth.url}/console`)) {
        // Another page in between: the components of this one start again, as in a new document.
        await page.evaluate(routeTo('/console/none'))
        await page.getByRole('heading', { level: 1, name: 'Not found', exact: true }).waitFor()
        await page.evaluate(routeTo(`/console${path}`))
        await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      } else await open(path, heading)
      await waitUntilComplete(page)
    },
  }
}

/** An expression that opens an address of the console without the questions that a user would be asked. */
const routeTo = (address: string) =>
  `globalThis.__TSR_ROUTER__.history.push(${JSON.stringify(address)}, {}, { ignoreBlocker: true })`

const LOADED = `!/\\bLoading\\b/.test(document.body.innerText) &&
  document.querySelector('[aria-busy="true"], [placeholder^="Loading"]') === null`

/**
 * Waits until no part of the page or of a dialog is loading. The load state `networkidle` is reached once for each document: a second wait
 * for it ends immediately.
 */
export const waitUntilLoaded = (page: Page): Promise<void> => waitUntil(page, LOADED)

interface Traffic {
  readonly running: Set<Request>
  started: number
}

const traffic = new WeakMap<Page, Traffic>()

function observeRequests(page: Page): void {
  const observed: Traffic = { running: new Set(), started: 0 }
  traffic.set(page, observed)
  page.on('request', (request) => {
    observed.running.add(request)
    observed.started += 1
  })
  page.on('requestfinished', (request) => observed.running.delete(request))
  page.on('requestfailed', (request) => observed.running.delete(request))
}

/** Responses are shown together, up to a frame after they arrive. */
const FRAMES = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))
  .then(() => undefined)`

/** Waits until a page of `openConsole` runs no request, and shows what it has received. */
async function waitUntilComplete(page: Page): Promise<void> {
  const observed = traffic.get(page)
  assert.ok(observed, 'not a page of openConsole')
  for (let started = -1; started !== observed.started; ) {
    started = observed.started
    await eventually(() => observed.running.size === 0)
    await page.evaluate(FRAMES)
    await waitUntilLoaded(page)
  }
}

/** What assistive technology reads after the name of an element: the text that its `aria-describedby` names. */
export async function descriptionOf(element: Locator): Promise<string> {
  const id = await element.getAttribute('aria-describedby')
  return (await element.page().locator(`[id="${id}"]`).textContent()) ?? ''
}
