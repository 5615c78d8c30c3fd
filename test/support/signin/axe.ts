import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

/** Checks a page with axe at the sizes and color schemes that pages are made for. `BERTH_TEST_SCREENSHOTS` names a directory for pictures. */

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** The renderer of the API reference changes its colors gradually. */
const SETTLED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))
  .then(() => undefined)`
/** The announcements of React Aria are invisible, and name elements that may be gone. */
const EXCLUDED = ['[data-live-announcer]']
/** Not style sheets, which no rule that is on by default reads, and which take a fifth of the time. */
const PRELOADED = { assets: ['media'] }
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** One look at a page: `rules` of axe, by default all. */
interface Look {
  readonly width: number
  readonly colorScheme: 'light' | 'dark'
  readonly rules?: 'color-contrast' | 'none'
}

const WIDTHS = [1280, 768, 375]

/** What differs between looks: colors by the scheme, layout and what is hidden by the width. `npm run shots` and `BERTH_TEST_AXE=all` check all. */
const looks: readonly Look[] =
  process.env['BERTH_TEST_AXE'] === 'all' || process.env['BERTH_TEST_SCREENSHOTS'] !== undefined
    ? WIDTHS.flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })))
    : [
        { width: 1280, colorScheme: 'light' },
        { width: 1280, colorScheme: 'dark', rules: 'color-contrast' },
        { width: 768, colorScheme: 'dark', rules: 'none' },
        { width: 375, colorScheme: 'light' },
      ]

/**
 * Fails on violations of axe, and if the page scrolls horizontally, at 375, 768 and 1280 pixels, light and dark. `within`: a selector of the
 * part to check, for pages whose rest another test checks.
 */
export async function assertAccessible(page: Page, name: string, within = 'html'): Promise<void> {
  for (const { width, colorScheme, rules } of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    const look = `${name}, ${width} pixels, ${colorScheme}`
    await page.evaluate(SETTLED)
    if (rules !== 'none') assert.deepEqual(await violationsOf(page, within, rules), [], look)
    assert.equal(await page.evaluate(OVERFLOW), 0, `${look} scrolls horizontally`)
    await takePicture(page, name, { width, colorScheme })
  }
}

/** Takes the pictures of a state whose parts other tests check, for `npm run shots`. Does nothing in tests. */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (process.env['BERTH_TEST_SCREENSHOTS'] === undefined) return
  const viewport = page.viewportSize()
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    await page.evaluate(SETTLED)
    await takePicture(page, name, { width, colorScheme })
  }
  if (viewport !== null) await page.setViewportSize(viewport)
}

async function takePicture(page: Page, name: string, { width, colorScheme }: Look): Promise<void> {
  const directory = process.env['BERTH_TEST_SCREENSHOTS']
  const file = `${name.replaceAll(/\W+/g, '-')}-${width}-${colorScheme}.png`
  if (directory !== undefined) await page.screenshot({ path: `${directory}/${file}`, fullPage: true })
}

async function violationsOf(
  page: Page,
  within: string,
  rule: string | undefined,
): Promise<readonly string[]> {
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(axe)
  const options = {
    resultTypes: ['violations'],
    preload: PRELOADED,
    ...(rule !== undefined && { runOnly: [rule] }),
  }
  const context = { include: [within], exclude: EXCLUDED }
  const run = `axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})`
  const { violations } = await page.evaluate<AxeResult>(run)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
  )
}
