import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { PATIENCE_MS } from '../eventually.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createSession } from '../signin/accounts.ts'

/** A real browser, where the machine has one: Chromium, by BERTH_TEST_CHROMIUM or by one of its names on the PATH. */

const program = findChromium()

/** Why tests that need a browser are skipped; false where they are not. */
export const withoutBrowser: string | false = program === undefined ? 'no Chromium on this machine' : false

/** Starts it with a new, empty profile. It sends no requests except for the pages that a test opens. */
export async function startBrowser(): Promise<Browser> {
  if (program === undefined) throw new Error('no Chromium')
  const browser = await chromium.launch({
    executablePath: program,
    args: [
      '--headless',
      '--no-sandbox', // it refuses to run as root otherwise
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  const newContext = browser.newContext.bind(browser)
  return Object.assign(browser, {
    async newContext(options?: BrowserContextOptions) {
      const context = await newContext(options)
      context.setDefaultTimeout(PATIENCE_MS)
      return context
    },
  })
}

/** Waits for the console after a sign-in. It is at `/`, and its script changes that to `/console`, at times before the page has loaded. */
export function waitForConsole(page: Page): Promise<void> {
  return page.waitForURL(({ pathname }) => pathname === '/' || pathname === '/console')
}

/** A page in a new context in which the owner is signed in, and what went wrong on it so far. */
export async function signedInPage(
  chromium: Browser,
  berth: Pick<TestBerth, 'url' | 'berth' | 'owner'>,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
  const context = await chromium.newContext(options)
  const { secret } = await createSession(
    berth,
    { identity: berth.owner, method: 'password' },
    { kind: 'browser' },
  )
  await context.addCookies([
    { name: 'berth', value: secret, url: berth.url, httpOnly: true, sameSite: 'Lax' },
  ])
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(error.message))
  return { page, problems }
}

function findChromium(): string | undefined {
  const { BERTH_TEST_CHROMIUM, PATH = '' } = process.env
  if (BERTH_TEST_CHROMIUM) return BERTH_TEST_CHROMIUM
  // Without windows, a page takes about a quarter of the processor time.
  const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
  return PATH.split(delimiter)
    .flatMap((directory) => names.map((name) => join(directory, name)))
    .find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const WAIT_STEP_MS = 50

/** Waits until an expression is true in the page. `page.waitForFunction` would evaluate it there, which the page's policy forbids. */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  for (
    const deadline = Date.now() + PATIENCE_MS;
    !(await page.evaluate(expression));
    await pause(WAIT_STEP_MS)
  )
    if (Date.now() > deadline) throw new Error(`not true within ${PATIENCE_MS} ms: ${expression}`)
}
