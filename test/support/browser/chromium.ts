import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { TestBerth } from '../server/test-berth.ts'
import { createSession } from '../signin/accounts.ts'

/** A real browser, where the machine has one: Chromium, by BERTH_TEST_CHROMIUM or by one of its names on the PATH. */

const program = findChromium()

/** Why tests that need a browser are skipped; false where they are not. */
export const withoutBrowser: string | false = program === undefined ? 'no Chromium on this machine' : false

/** Starts it with a new, empty profile. It sends no requests except for the pages that a test opens. */
export function startBrowser(): Promise<Browser> {
  if (program === undefined) throw new Error('no Chromium')
  return chromium.launch({
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
  const names = ['chromium', 'chromium-browser', 'google-chrome']
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

const WAIT_MS = 30_000
const WAIT_STEP_MS = 50

/** Waits until an expression is true in the page. `page.waitForFunction` would evaluate it there, which the page's policy forbids. */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  for (const deadline = Date.now() + WAIT_MS; !(await page.evaluate(expression)); await pause(WAIT_STEP_MS))
    if (Date.now() > deadline) throw new Error(`not true within ${WAIT_MS} ms: ${expression}`)
}
