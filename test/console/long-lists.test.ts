import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { newName } from '../support/api/api-fixture.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { insertMany } from '../support/database/hierarchy.ts'
import { eventually } from '../support/eventually.ts'

/** Lists of 10,000 rows: a page reads as much as it shows, and asks nothing for each row. */

const ROWS = 10_000
const PAGE_SIZE = 50
/**
 * For how long a page that has read everything requests nothing. The load state `networkidle` takes 500 ms for that, which can pass between a
 * response and the next request, and a page that has reached it stays in it.
 */
const QUIET_MS = 2000

consoleSuite('long lists in the console', (cast) => {
  /** A folder with as many rows of a collection as a list may have. */
  const folderWith = async (collection: 'repos' | 'groups' | 'identities') => {
    const organization = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: newName('team') })
    await insertMany(cast().berth.berth.installation.store.db, collection, [folder.uid], ROWS, 'row')
    return { organization, folder: folder as { readonly uid: string; readonly name: string } }
  }

  /** Records the paths of the API that a page requests, without those of the session. */
  const recordCalls = (page: Page) => {
    const calls: string[] = []
    const pending = new Set<Request>()
    let changedMs = 0
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (!/^\/(iam|registry|audit|search|operator)\//.test(pathname)) return
      calls.push(pathname)
      pending.add(request)
    })
    const onEnd = (request: Request) => {
      if (pending.delete(request)) changedMs = performance.now()
    }
    page.on('requestfinished', onEnd)
    page.on('requestfailed', onEnd)
    return {
      /** The calls that `load` leads to. */
      async during(load: () => Promise<unknown>): Promise<readonly string[]> {
        calls.length = 0
        await load()
        await eventually(() => pending.size === 0 && performance.now() - changedMs >= QUIET_MS)
        return [...calls]
      },
    }
  }

  for (const [collection, tab, label] of [
    ['repos', 'repositories', 'Repositories'],
    ['groups', 'folders', 'Folders'],
    ['identities', 'identities', 'Identities'],
  ] as const)
    test(`10,000 ${tab} are read in pages of 50, with as many requests as for one`, async () => {
      const { organization, folder } = await folderWith(collection)
      const { page, problems, open } = await cast().signIn('owner', organization.uid)
      const single = await cast().admin.create(`iam/groups/${organization.uid}`, { name: newName('small') })
      if (collection === 'repos') await cast().admin.create(`registry/repos/${single.uid}`, { name: 'one' })
      if (collection === 'groups') await cast().admin.create(`iam/groups/${single.uid}`, { name: 'one' })
      if (collection === 'identities')
        await cast().admin.create(`iam/identities/${single.uid}`, {
          name: 'one',
          claimMatch: { issuer: 'https://issuer.example', subject: 'robot' },
        })
      const record = recordCalls(page)
      const callsOf = async (group: { readonly uid: string; readonly name: string }) => {
        const calls = await record.during(async () => {
          await open(`/folders/${group.uid}?tab=${tab}`, group.name)
          await page.getByRole('grid', { name: label, exact: true }).waitFor()
        })
        return calls.map((path) => path.replaceAll(/[0-9a-f]{16,}/g, '*')).sort()
      }
      const ofOne = await callsOf(single)
      assert.notEqual(ofOne.length, 0)
      assert.deepEqual(await callsOf(folder), ofOne)

      const rows = page.getByRole('grid', { name: label, exact: true }).getByRole('row')
      const more = page.getByRole('button', { name: 'Load more' })
      const shown = (count: number) => page.getByText(new RegExp(`^${count} (of 10,000|shown)$`)).waitFor()
      await shown(PAGE_SIZE)
      for (const pages of [2, 3]) {
        const calls = await record.during(async () => {
          await more.click()
          await shown(pages * PAGE_SIZE)
        })
        assert.equal(await rows.count(), pages * PAGE_SIZE + 1)
        assert.ok(calls.length <= ofOne.length, `page ${pages} asked ${calls.join(', ')}`)
      }
      const names = await rows.getByRole('rowheader').allTextContents()
      assert.equal(new Set(names).size, names.length, 'no row is shown twice')
      assert.deepEqual(problems, [])
    })
})
