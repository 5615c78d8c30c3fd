import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleSuite } from '../support/console/console-suite.ts'
import { measurePageLoad, type PageLoad } from '../support/console/page-load.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'

/** What the pages of the console cost to load. Times are printed, not asserted: machines differ. */

const ROUNDS = 3
/** A page of the shell, its own parts and its data. */
const BYTES_MAX = 270_000
const REQUESTS_MAX = 40
const KB = 1000

consoleSuite('loading pages of the console', (cast) => {
  test('each page loads with an empty cache in a bounded number of requests and bytes', async (t) => {
    const { berth, admin, chromium } = cast()
    const organization = await cast().organization()
    const team = await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    const { digest } = await pushImage(registry, `${organization.name}/team/app`, undefined, '1.0')
    const repo = (await admin.get('registry/repos', { name: 'app' })).body.repos[0].uid as string
    const { page } = await cast().signIn('owner', organization.uid)
    const pages: readonly (readonly [path: string, heading: string | RegExp])[] = [
      // For comparison: a page of the server, without the console.
      ['/start', /Welcome/],
      ['/console', 'Home'],
      [`/console/folders/${organization.uid}`, organization.name],
      [`/console/folders/${organization.uid}?tab=repositories`, organization.name],
      [`/console/folders/${organization.uid}?tab=people`, organization.name],
      [`/console/folders/${team.uid}?tab=identities`, 'team'],
      [`/console/repos/${repo}`, 'app'],
      [`/console/manifests/${repo}/${digest}`, /./],
      [`/console/settings/${organization.uid}`, /./],
      ['/console/advisories', 'Advisories'],
      ['/console/audit', 'Audit log'],
    ]
    for (const [path, heading] of pages) {
      const loads: PageLoad[] = []
      for (let round = 0; round < ROUNDS; round += 1)
        loads.push(await measurePageLoad(chromium, page, berth.url + path, heading))
      const middle = loads.toSorted((a, b) => a.readyMs - b.readyMs)[Math.floor(ROUNDS / 2)]
      assert.ok(middle)
      // The least disturbed round.
      const busyMs = Math.min(...loads.map((load) => load.busyMs))
      t.diagnostic(
        `${path.replaceAll(/[0-9a-f]{16,}/g, '…')}: ${middle.requests} requests, ${(middle.bytes / KB).toFixed(0)} KB, painted ${middle.paintMs.toFixed(0)} ms, ready ${middle.readyMs.toFixed(0)} ms, busy ${busyMs.toFixed(0)} ms`,
      )
      assert.ok(middle.requests <= REQUESTS_MAX, `${path}: ${middle.requests} requests`)
      assert.ok(middle.bytes <= BYTES_MAX, `${path}: ${middle.bytes} bytes`)
      assert.deepEqual(middle.repeated, [], path)
    }
  })
})
