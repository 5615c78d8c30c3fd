import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { DRAWN_MS } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { hold } from '../support/console/held-requests.ts'
import {
  bearerOf,
  ociClient,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
} from '../support/registry/registry.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** Dialogs that delete: what they announce is what they do, also while the server responds slowly, or not at all. */

const DAY_MS = 86_400_000

/** As if the user returned to the window: what is shown is read again. */
const returnToPage = (page: Page) => page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)

consoleSuite(
  'previews of deletions',
  (cast) => {
    const prepared = async () => {
      const { berth, admin } = cast()
      const organization = await cast().organization()
      const folder = await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
      const repo: string = (await admin.create(`registry/repos/${folder.uid}`, { name: 'app' })).uid
      const registry = ociClient(berth, await bearerOf(berth, berth.owner))
      const path = `${organization.name}/team/app`
      const push = (image: TestImage, tag?: string) => pushImage(registry, path, image, tag)
      const tag = (image: TestImage, name: string) => putManifest(registry, path, name, image)
      const user = await cast().signIn('owner', organization.uid)
      return { repo, push, tag, ...user }
    }

    /** Manifests without a tag, which are old enough for each age but the last. */
    const withUntagged = async () => {
      const all = await prepared()
      await all.push(testImage())
      await all.push(testImage())
      await cast()
        .berth.berth.installation.store.db.kysely.updateTable('manifests')
        .set((row) => ({ touched_ms: row('touched_ms', '-', 10 * DAY_MS) }))
        .execute()
      await all.open(`/repos/${all.repo}?tab=policy&section=untagged`, 'app')
      await all.page.getByRole('button', { name: 'Delete 2 manifests' }).waitFor()
      return all
    }

    test('while another age of untagged manifests is loading, nothing can be deleted', async () => {
      const { page, problems } = await withUntagged()
      const { release } = await hold(page, /manifests:previewUntagged/)
      await page.getByRole('button', { name: /Untagged for at least/ }).click()
      await page.getByRole('option', { name: '1 hour' }).click()
      await page.getByText('Loading untagged manifests…').waitFor()
      assert.equal(await page.getByRole('button', { name: /^Delete \d/ }).count(), 0)
      release()
      await page.getByRole('button', { name: 'Delete 2 manifests' }).waitFor()
      assert.deepEqual(problems, [])
    })

    test('a deletion of untagged manifests counts to what it started with; another attempt starts with what is left', async () => {
      const { page, problems } = await withUntagged()
      const answer = Promise.withResolvers<void>()
      let attempts = 0
      await page.route(/manifests:deleteUntagged/, async (route) => {
        attempts += 1
        if (attempts === 1)
          return route.fulfill({ json: { deletedManifests: 1, deletedTags: 0, remainingManifests: 1 } })
        if (attempts > 2) return route.continue()
        await answer.promise
        return route.fulfill({ status: 400, json: { code: 9, message: 'not now', details: [] } })
      })
      await page.route(/manifests:previewUntagged/, async (route) => {
        const response = await route.fetch()
        const json = { ...(await response.json()), deletedManifests: 1, unreferencedBytes: '5242880' }
        await route.fulfill({ response, json })
      })
      await page.getByRole('button', { name: 'Delete 2 manifests' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Delete 2 manifests' }).click()
      await dialog.getByText('1 of 2 manifests').waitFor()
      await returnToPage(page)
      await page.getByText('Only these manifests need 5').waitFor()
      assert.equal(await dialog.getByText('1 of 2 manifests').count(), 1)
      await dialog.getByText('This deletes 2 manifests').waitFor()
      answer.resolve()
      await dialog.getByRole('alert').waitFor()
      await dialog.getByText('This deletes 1 manifest ').waitFor()
      await dialog.getByRole('button', { name: 'Delete 1 manifest', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.deepEqual(problems, [])
    })

    test('what is deleted with a manifest or with tags is read again when the dialog opens again', async () => {
      const { page, problems, open, repo, push, tag } = await prepared()
      const image = await push(testImage())
      await open(
        `/manifests/${repo}/${image.digest}`,
        `Image ${image.digest.slice(0, 'sha256:'.length + 12)}`,
      )
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await dialog.getByText('Nothing else is deleted.').waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      assert.equal((await tag(image, 'latest')).status, 201)
      const { release: releaseManifest } = await hold(page, /manifests\/.*alidate/)
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await dialog.getByText('Checking what is deleted with it…').waitFor()
      assert.equal(await dialog.getByRole('button', { name: 'Delete the manifest' }).isDisabled(), true)
      releaseManifest()
      await dialog.getByText('1 tag deleted with it:').waitFor()

      await open(`/repos/${repo}`, 'app')
      const row = page.getByRole('grid', { name: 'Tags' }).getByRole('row').filter({ hasText: 'latest' })
      await row.locator('label').click()
      await page.getByRole('button', { name: 'Delete 1 tag' }).click()
      await dialog.getByText('1 image has no other tag').waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      const { release: releaseTags } = await hold(page, /tags:previewDeletion/)
      await page.getByRole('button', { name: 'Delete 1 tag' }).click()
      await dialog.getByText('Finding out what goes with them…').waitFor()
      assert.equal(await dialog.getByRole('button', { name: /^Delete/ }).isDisabled(), true)
      releaseTags()
      await dialog.getByText('1 image has no other tag').waitFor()
      assert.deepEqual(problems, [])
    })

    const keepsVersions = { enabled: true, rules: [{ patterns: ['v*'] }] }

    test('what a run of retention deletes is read again when its dialog opens again', async () => {
      const { page, problems, open, repo, push } = await prepared()
      await push(testImage(), 'v1')
      await cast().admin.patch(`registry/repos/${repo}/policy`, { retention: keepsVersions })
      await open(`/repos/${repo}?tab=policy&section=runs`, 'app')
      const dialog = page.getByRole('dialog')
      await page.getByRole('button', { name: 'Run retention now', disabled: false }).click()
      await dialog.getByText('It deletes 0 tags').waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await push(testImage(), 'nightly')
      const { release } = await hold(page, /policy:preview/)
      await page.getByRole('button', { name: 'Run retention now' }).click()
      await dialog.getByText('Loading the preview…').waitFor()
      assert.equal(await dialog.getByRole('button', { name: 'Run retention' }).isDisabled(), true)
      release()
      await dialog.getByText('It deletes 1 tag').waitFor()
      assert.equal(await dialog.getByRole('button', { name: 'Run retention' }).isDisabled(), false)
      assert.deepEqual(problems, [])
    })

    test('retention is saved without its preview once the user confirms that there is none', async () => {
      const { page, problems, open, repo } = await prepared()
      const dialog = page.getByRole('dialog')
      await page.route(/policy:preview/, (route) => route.abort())
      await open(`/repos/${repo}?tab=policy`, 'app')
      await page.getByText('Delete the tags that no rule keeps').click()
      await page.getByRole('button', { name: 'Save the policy' }).click()
      await dialog.getByRole('heading', { name: 'Preview not available' }).waitFor()
      await dialog.getByText('The server does not respond').waitFor()
      const save = dialog.getByRole('button', { name: 'Enable retention' })
      const confirmation = dialog.getByText('Save without the preview.')
      await confirmation.click()
      assert.equal(await save.isDisabled(), false)
      await confirmation.click()
      assert.equal(await save.isDisabled(), true)
      await confirmation.click()
      await save.click()
      await dialog.waitFor({ state: 'detached' })
      const { body } = await cast().admin.get(`registry/repos/${repo}/policy`)
      assert.equal(body.retention.enabled, true)
      assert.deepEqual(problems, [])
    })

    test('the current version of a policy that loads late neither closes the next dialog nor replaces changes', async () => {
      const { page, problems, open, repo } = await prepared()
      await open(`/repos/${repo}?tab=policy`, 'app')
      const dialog = page.getByRole('dialog')
      const patterns = page.getByRole('textbox', { name: 'Patterns' })
      await patterns.fill('mine')
      const openDialog = () => page.getByRole('button', { name: 'Save the policy' }).click()
      await openDialog()
      await cast().admin.patch(`registry/repos/${repo}/policy`, { immutableTags: { patterns: ['theirs'] } })
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      const load = dialog.getByRole('button', { name: 'Load the current version' })
      await load.waitFor()
      const { asked, release } = await hold(page, /\/policy$/, { method: 'GET' })
      await load.click()
      await asked
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      await openDialog()
      await dialog.waitFor()
      const loaded = page.waitForResponse((response) => response.url().endsWith('/policy'))
      release()
      await (await loaded).finished()
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(await dialog.count(), 1)
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      await load.click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await patterns.inputValue(), 'theirs')
      assert.deepEqual(problems, [])
    })

    test('retention is neither enabled nor run without its preview; a failure says so, and can be tried again', async () => {
      const { page, problems, open, repo, push } = await prepared()
      await push(testImage(), 'nightly')
      const dialog = page.getByRole('dialog')
      let isOffline = false
      await page.route(/policy:preview/, (route) => (isOffline ? route.abort() : route.continue()))
      const assertNeedsPreview = async (action: string, announced: string) => {
        await dialog.getByRole('heading', { name: 'Preview not available' }).waitFor()
        await dialog.getByText('The server does not respond').waitFor()
        const send = dialog.getByRole('button', { name: action })
        assert.equal(await send.isDisabled(), true)
        await assertAccessible(page, `${action} without a preview`)
        isOffline = false
        await dialog.getByRole('button', { name: 'Try again' }).click()
        await dialog.getByText(announced).waitFor()
        assert.equal(await send.isDisabled(), false)
      }
      isOffline = true
      await open(`/repos/${repo}?tab=policy`, 'app')
      await page.getByText('Delete the tags that no rule keeps').click()
      await page.getByRole('button', { name: 'Save the policy' }).click()
      await assertNeedsPreview('Enable retention', 'it would delete 0 tags')
      await dialog.getByRole('button', { name: 'Enable retention' }).click()
      await dialog.waitFor({ state: 'detached' })
      isOffline = true
      await page.getByRole('link', { name: 'Runs', exact: true }).click()
      await page.getByRole('button', { name: 'Run retention now', disabled: false }).click()
      await assertNeedsPreview('Run retention', 'It deletes 0 tags')
      assert.deepEqual(problems, [])
    })

    test('the preview of a policy has no numbers while that of other rules is loading', async () => {
      const { page, problems, open, repo, push } = await prepared()
      await push(testImage(), 'nightly')
      await open(`/repos/${repo}?tab=policy`, 'app')
      const numbers = page.getByText('If retention were enabled, it would delete 0 tags')
      await numbers.waitFor()
      const { release } = await hold(page, /policy:preview/)
      await page.getByRole('button', { name: 'Add a rule' }).click()
      await page.getByRole('textbox', { name: 'Tags' }).fill('v*')
      await page.getByText('Loading tags and manifests…').waitFor()
      assert.equal(await page.getByText(/it would delete/).count(), 0)
      release()
      await page.getByText('If retention were enabled, it would delete 1 tag').waitFor()
      assert.deepEqual(problems, [])
    })

    test('what is typed into a policy while it is saved stays, and is saved next', async () => {
      const { page, problems, open, repo } = await prepared()
      await open(`/repos/${repo}?tab=policy`, 'app')
      const patterns = page.getByRole('textbox', { name: 'Patterns' })
      await patterns.fill('v1.*')
      const { release } = await hold(page, /\/policy/, { method: 'PATCH' })
      await page.getByRole('button', { name: 'Save the policy' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'detached' })
      await patterns.fill('v2.*')
      const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
      release()
      await saved
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(await patterns.inputValue(), 'v2.*')
      await page.getByRole('button', { name: 'Save the policy' }).click()
      await dialog.getByRole('button', { name: 'Save', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await patterns.inputValue(), 'v2.*')
      const { body } = await cast().admin.get(`registry/repos/${repo}/policy`)
      assert.deepEqual(body.immutableTags.patterns, ['v2.*'])
      assert.deepEqual(problems, [])
    })
  },
  { retention: { pollMs: 50 } },
)
