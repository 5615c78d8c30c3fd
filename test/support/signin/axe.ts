import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

/** Checks a page with axe at the sizes and color schemes that pages are made for. `BERTH_TEST_SCREENSHOTS` names a directory for pictures. */

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** The renderer of the API reference changes its colors gradually. */
const SETTLED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))
  .then(() => undefined)`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
}

/** Fails on violations of axe, and if the page scrolls horizontally, at 375 and 1280 pixels, light and dark. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  for (const width of [1280, 375])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme })
      const look = `${name}, ${width} pixels, ${colorScheme}`
      await page.evaluate(SETTLED)
      await page.evaluate(axe)
      const { violations } = await page.evaluate<AxeResult>('axe.run({ resultTypes: ["violations"] })')
      assert.deepEqual(
        violations.flatMap(({ id, nodes }) =>
          nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`),
        ),
        [],
        look,
      )
      assert.equal(await page.evaluate(OVERFLOW), 0, `${look} scrolls horizontally`)
      const directory = process.env['BERTH_TEST_SCREENSHOTS']
      const file = `${name.replaceAll(/\W+/g, '-')}-${width}-${colorScheme}.png`
      if (directory !== undefined) await page.screenshot({ path: `${directory}/${file}`, fullPage: true })
    }
}
