import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleSuite } from '../support/console/console-suite.ts'
import { eventually } from '../support/eventually.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'

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

  test('an address with encoded characters starts the requests that the page needs, and no others', async () => {
    const { berth, admin } = cast()
    const organization = await cast().organization()
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    const { digest } = await pushImage(registry, `${organization.name}/app`, undefined, '1.0')
    const { repos } = (await admin.get('registry/repos', { 'uidp.children_of': organization.uid })).body
    const [{ uid }] = repos
    const { page, problems } = await cast().signIn('viewer', organization.uid)
    const requested: string[] = []
    page.on('request', (request) => requested.push(new URL(request.url()).pathname))
    await page.goto(`${berth.url}/console/manifests/${uid}/${encodeURIComponent(digest)}`)
    await page.getByRole('heading', { level: 1, name: digest.slice(0, 19) }).waitFor()
    const manifests = requested.filter((path) => path.includes(`${uid}/manifests/`)).map(decodeURIComponent)
    assert.deepEqual(manifests, [`/registry/v2beta1/repos/${uid}/manifests/${digest}`])
    assert.deepEqual(problems, [])
  })
})
