import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleSuite } from '../support/console/console-suite.ts'
import { eventually } from '../support/database/database-outage.ts'

/** How a page starts: its requests do not wait for the components (ADR 83). */

consoleSuite('the start of the console', (cast) => {
  test('the data and the code of a page are requested once, before the components are loaded', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('viewer', uid)
    const requested: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      requested.push(decodeURIComponent(`${pathname}${search}`))
    })
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    await page.route('**/console-assets/shared-*.js', async (route) => {
      await released
      await route.continue()
    })
    const opened = open(`/folders/${uid}?tab=people`, name)
    const first = [
      /^\/auth\/v1\/ok$/,
      new RegExp(`^/iam/v2beta1/groups/${uid}$`),
      new RegExp(`^/iam/v2beta1/groups\\?uidp\\.childrenOf=${uid}&`),
      new RegExp(`^/iam/.*${uid}.*[Mm]embers`),
      /^\/console-assets\/folder-[\w-]{8}\.js$/,
    ]
    const isRequested = (one: RegExp) => requested.some((address) => one.test(address))
    try {
      await eventually(() => first.every(isRequested))
    } catch (error) {
      throw new Error(`requested: ${requested.join('\n')}`, { cause: error })
    } finally {
      release()
    }
    await opened
    await page.getByRole('grid', { name: 'Members' }).waitFor()
    for (const one of first)
      assert.equal(requested.filter((address) => one.test(address)).length, 1, `${one}`)
    assert.deepEqual(problems, [])
  })
})
