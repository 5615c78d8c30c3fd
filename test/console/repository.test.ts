import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { newName } from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { waitUntil } from '../support/browser/chromium.ts'
import { descriptionOf } from '../support/console/console-page.ts'
import { type ConsoleFixture, consoleSuite } from '../support/console/console-suite.ts'
import { HACKED, MARKUP, OVERRIDE, VERY_LONG } from '../support/console/hostile.ts'
import { assertSomethingFocused, tabBackTo, tabTo } from '../support/console/keyboard.ts'
import {
  bearerOf,
  descriptor,
  hostOf,
  imageFromManifest,
  ociClient,
  pushImage,
  type TestImage,
  testImage,
  types,
} from '../support/registry/registry.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The page of a repository and of a tag, with images that were pushed. */

const signatureType = 'application/vnd.cncf.notary.signature'

async function pushedRepo({ admin, berth }: ConsoleFixture, organization: { uid: string; name: string }) {
  const folder = await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
  const repo = await admin.create(`registry/repos/${folder.uid}`, { name: 'app' })
  const registry = ociClient(berth, await bearerOf(berth, berth.owner))
  const path = `${organization.name}/team/app`
  const push = (image: TestImage, tag?: string) => pushImage(registry, path, image, tag)
  const [amd64, arm] = [testImage({}, { layerBytes: 5000 }), testImage({}, { layerBytes: 4000 })]
  await push(amd64)
  await push(arm)
  const index: TestImage = {
    blobs: [],
    ...imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [
        { ...amd64.descriptor, platform: { os: 'linux', architecture: 'amd64' } },
        { ...arm.descriptor, platform: { os: 'linux', architecture: 'arm64' } },
      ],
    }),
  }
  const old = await push(testImage(), 'latest')
  await push(index, 'latest')
  await push(index, 'v1.0.0')
  const single = await push(testImage(), 'v0.9.0')
  await push(single, 'nightly-20250101')
  await push(testImage({ subject: descriptor(types.index, index.manifest), artifactType: signatureType }))
  return { folder: folder.uid as string, repo: repo.uid as string, path, push, index, old, single }
}

consoleSuite(
  'the page of a repository',
  (cast) => {
    const prepared = async (role = 'owner') => {
      const organization = await cast().organization()
      const pushed = await pushedRepo(cast(), organization)
      return { organization, ...pushed, ...(await cast().signIn(role, organization.uid)) }
    }

    test('tags are filtered, sorted and deleted, several at a time, with what goes with them', async () => {
      const { page, problems, open, repo, path, index, single } = await prepared()
      await cast().admin.patch(`registry/repos/${repo}/policy`, {
        immutableTags: { patterns: ['v1.*'], exceptions: [] },
      })
      await open(`/repos/${repo}`, 'app')
      const tags = page.getByRole('grid', { name: 'Tags' })
      await page.getByText('4 of 4').waitFor()
      const released = tags.getByRole('row').filter({ hasText: 'v1.0.0' })
      await released.getByText('immutable').waitFor()
      await released.getByText('signed').waitFor()
      await released.getByText('Index, 2 platforms').waitFor()
      await released.getByText('linux/amd64, linux/arm64').waitFor()
      const manifest = released.getByRole('link', { name: /^sha256:/ })
      assert.equal(
        await manifest.getAttribute('href'),
        `/console/manifests/${repo}/${encodeURIComponent(index.digest)}`,
      )

      await page.getByText('Pull and push commands').click()
      await page.getByText(`docker pull ${hostOf(cast().berth)}/${path}:latest`).waitFor()
      await page.getByRole('tab', { name: 'podman' }).click()
      await page.getByText(`podman push ${hostOf(cast().berth)}/${path}:latest`).waitFor()

      await page.getByRole('searchbox', { name: 'Name starts with' }).fill('v')
      await page.getByText('2 of 2').waitFor()
      assert.match(page.url(), /name=v/)
      await tags.getByRole('columnheader', { name: 'Tag' }).click()
      await page.waitForURL(/order=name/)
      await page.reload()
      await page.getByText('2 of 2').waitFor()
      assert.match((await tags.getByRole('row').nth(1).textContent()) ?? '', /v0\.9\.0/)
      await page.getByRole('searchbox', { name: 'Digest' }).fill(single.digest)
      await page.getByText('1 of 1').waitFor()
      await page.getByRole('button', { name: 'Remove all filters' }).click()
      await page.getByText('4 of 4').waitFor()
      await page.getByRole('button', { name: /Show$/ }).click()
      await page.getByRole('option', { name: 'Without dates and revisions' }).click()
      await page.getByText('3 of 3').waitFor()
      await page.getByRole('button', { name: /Show$/ }).click()
      await page.getByRole('option', { name: 'All but signatures' }).click()

      for (const name of ['nightly-20250101', 'v0.9.0', 'v1.0.0'])
        await tags.getByRole('row').filter({ hasText: name }).locator('label').click()
      await page.getByRole('button', { name: 'Delete 3 tags' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('because the policy makes them immutable: v1.0.0').waitFor()
      await dialog.getByText('1 image has no other tag').waitFor()
      await dialog.getByText('can still be pulled by digest until someone deletes').waitFor()
      await dialog.getByRole('button', { name: 'Delete 2 tags' }).click()
      await page.getByText('2 of 2').waitFor()
      assert.deepEqual(problems, [])
    })

    test('a tag is restored from its history, which says who moved it', async () => {
      const { page, problems, open, repo, old, index } = await prepared()
      await open(`/repos/${repo}`, 'app')
      await page.getByRole('grid', { name: 'Tags' }).getByRole('link', { name: 'latest' }).click()
      await page.getByRole('heading', { level: 1, name: 'latest' }).waitFor()
      const history = page.getByRole('grid', { name: 'History' })
      const { name } = (await cast().admin.get(`iam/identities/${cast().berth.owner}`)).body
      await history.getByText(name).first().waitFor()
      await history.getByText('current').waitFor()
      for (const row of [1, 2]) await history.getByRole('row').nth(row).locator('label').click()
      assert.equal(
        await page.getByRole('link', { name: 'Compare the two selected images' }).getAttribute('href'),
        `/console/compare/${repo}?from=${encodeURIComponent(old.digest)}&to=${encodeURIComponent(index.digest)}`,
      )
      await page.getByRole('button', { name: /^Restore the digest/ }).click()
      const dialog = page.getByRole('dialog', { name: 'Restore latest' })
      await dialog.getByText(`--digest ${old.digest}`).waitFor()
      // Someone else changes it in the meantime.
      const { body } = await cast().admin.get('registry/tags', { 'uidp.children_of': repo, name: 'latest' })
      const [tag] = body.tags
      await cast().admin.create(`registry/tags/${repo}`, {
        name: 'latest',
        digest: tag.digest,
        deprecated: true,
      })
      await dialog.getByRole('button', { name: 'Restore this digest' }).click()
      await dialog.getByText('Someone else changed this in the meantime').waitFor()
      await dialog.getByRole('button', { name: 'Load the current version' }).click()
      await dialog.getByText('Someone else changed this').waitFor({ state: 'detached' })
      await dialog.getByRole('button', { name: 'Restore this digest' }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal((await cast().admin.get(`registry/tags/${tag.uid}`)).body.digest, old.digest)
      await history.getByRole('row').nth(3).waitFor()

      await page.getByRole('button', { name: 'Remove the mark deprecated' }).click()
      await page.getByRole('button', { name: 'Remove the mark', exact: true }).click()
      await page.getByRole('button', { name: 'Mark as deprecated' }).waitFor()
      assert.equal((await cast().admin.get(`registry/tags/${tag.uid}`)).body.deprecated, false)
      await page.getByText('Pull commands').click()
      await page.getByText(`@${old.digest}`).first().waitFor()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('button', { name: 'Delete 1 tag' }).click()
      await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
      assert.deepEqual(problems, [])
    })

    test('a policy shows what it would delete while it is edited, and deletes it once it is enabled', async () => {
      const { page, problems, open, repo, organization } = await prepared()
      await open(`/repos/${repo}?tab=policy`, 'app')
      await page.getByText('There are no rules: all tags are kept.').waitFor()
      await page.getByRole('textbox', { name: 'Patterns' }).fill('v1.*')
      await page.getByRole('button', { name: 'Add a rule' }).click()
      await page.getByText('Set at least one condition').waitFor()
      await page.getByRole('textbox', { name: 'Tags' }).fill('latest')
      await page.getByRole('button', { name: 'Add a rule' }).click()
      await page
        .getByRole('group', { name: /Rule 2/ })
        .getByRole('textbox', { name: 'Younger than' })
        .fill('soon')
      await page.getByText('Such as 12h, 30d or 8w, or empty').waitFor()
      await page
        .getByRole('group', { name: /Rule 2/ })
        .getByRole('textbox', { name: 'Younger than' })
        .fill('')
      await page
        .getByRole('group', { name: /Rule 2/ })
        .getByRole('textbox', { name: 'Tags' })
        .fill('v0*')
      await page
        .getByRole('group', { name: /Rule 2/ })
        .getByText('keeps 1 tag')
        .waitFor()
      await page
        .getByText('If retention were enabled, it would delete 1 tag and 0 manifests, and keep 3 tags.')
        .waitFor()
      const preview = page.getByRole('grid', { name: 'Tags and manifests' })
      await preview
        .getByRole('row')
        .filter({ hasText: 'nightly-20250101' })
        .getByText('No rule keeps it')
        .waitFor()
      await page.getByText('Only what is deleted').click()
      await preview.getByRole('row').filter({ hasText: 'v0.9.0' }).getByText('Kept by rule 2').waitFor()
      await preview.getByRole('row').filter({ hasText: 'v1.0.0' }).getByText('Immutable').waitFor()
      assert.deepEqual((await cast().admin.get(`registry/repos/${repo}/policy`)).body.retention, undefined)

      await page.getByText('Delete the tags that no rule keeps').click()
      await page.getByRole('button', { name: 'Save the policy' }).click()
      const dialog = page.getByRole('dialog', { name: 'Enable retention' })
      await dialog.getByText('it would delete 1 tag and 0 manifests, and keep 3 tags').waitFor()
      await cast().admin.patch(`registry/repos/${repo}/policy`, {
        immutableTags: { patterns: ['theirs'], exceptions: [] },
      })
      await dialog.getByRole('button', { name: 'Enable retention' }).click()
      await dialog.getByText('Someone else changed this in the meantime').waitFor()
      const patterns = page.getByLabel('Patterns')
      // What the field shows in each frame.
      await page.evaluate(`{
        const field = document.querySelector('.policy input')
        globalThis.shown = new Set()
        const look = () => {
          shown.add(field.value)
          requestAnimationFrame(look)
        }
        look()
      }`)
      await dialog.getByRole('button', { name: 'Load the current version' }).click()
      await dialog.waitFor({ state: 'detached' })
      assert.equal(await patterns.inputValue(), 'theirs')
      await waitUntil(page, "shown.has('theirs')")
      await page.waitForTimeout(200)
      // The version before both is never shown again.
      assert.deepEqual(await page.evaluate('[...shown]'), ['v1.*', 'theirs'])
      await patterns.fill('v1.*')
      await page.getByRole('button', { name: 'Add a rule' }).click()
      await page.getByRole('textbox', { name: 'Newest' }).fill('2')
      await page.getByText('Delete the tags that no rule keeps').click()
      await page.getByText('The next run deletes 1 tag').waitFor()
      await page.getByRole('button', { name: 'Save the policy' }).click()
      await dialog.getByRole('button', { name: 'Enable retention' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByText('The next run deletes 0 tags').waitFor({ timeout: 30_000 })
      await page.getByRole('link', { name: 'Runs', exact: true }).click()
      await page.getByText('1 tag and 0 manifests deleted').first().waitFor({ timeout: 30_000 })
      const runs = page.getByRole('grid', { name: 'Runs' })
      await runs.getByRole('row').filter({ hasText: 'succeeded' }).getByText('1 tag and 0').waitFor()
      await assertAccessible(page, 'policy with runs')
      await page.getByRole('button', { name: 'Run retention now' }).click()
      await page.getByRole('dialog').getByText('It deletes 0 tags and 0 manifests').waitFor()
      await page.getByRole('button', { name: 'Run retention', exact: true }).click()
      await page.getByText('0 tags and 0 manifests deleted').first().waitFor({ timeout: 30_000 })
      await runs.getByRole('row').nth(2).waitFor()
      await cast().admin.post(`registry/repos/${repo}/policy:apply`, {})
      // The name of the administrator.
      await runs.getByRole('row').getByText('owner', { exact: true }).waitFor({ timeout: 30_000 })
      assert.deepEqual(problems, [])

      // Those who may only read see the runs and start none. Others see neither the repository nor its runs.
      const viewer = await cast().signIn('viewer', organization.uid)
      await viewer.open(`/repos/${repo}?tab=policy&section=runs`, 'app')
      await viewer.page.getByRole('grid', { name: 'Runs' }).getByText('1 tag and 0 manifests').waitFor()
      await viewer.page.getByText('Requires the capability repo.update').first().waitFor()
      assert.equal(await viewer.page.getByRole('button', { name: 'Run retention now' }).isDisabled(), true)
      await assertAccessible(viewer.page, 'policy with runs, read only')
      assert.deepEqual(viewer.problems, [])
      const role = await createRole(cast().berth, organization.uid, ['groups.list'], newName('lister'))
      const other = await cast().signIn(role, organization.uid)
      await other.open(`/repos/${repo}?tab=policy`, 'Not found')
      assert.equal(await other.page.getByRole('grid').count(), 0)
    })

    test('unsaved changes of a policy stay in reach and cover nothing, at every width', async () => {
      const { page, problems, open, repo } = await prepared()
      const rules = ['latest', 'v*', 'nightly-*'].map((pattern) => ({ patterns: [pattern], newest: 2 }))
      await cast().admin.patch(`registry/repos/${repo}/policy`, { retention: { enabled: false, rules } })
      await open(`/repos/${repo}?tab=policy`, 'app')
      await page.getByText('If retention were enabled').waitFor()
      const changes = page.getByRole('region', { name: 'Unsaved changes' })
      assert.equal(await changes.count(), 0)
      const patterns = page.getByRole('textbox', { name: 'Patterns' })
      await patterns.fill('v1.*')
      await changes.getByText('Nothing is deleted while retention is not enabled').waitFor()
      await assertAccessible(page, 'policy with unsaved changes')
      for (const width of [1280, 768, 375]) {
        await page.setViewportSize({ width, height: 700 })
        for (const position of [0, 0.5, 1]) {
          await page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${position})`)
          const box = await changes.getByRole('button', { name: 'Save the policy' }).boundingBox()
          assert.ok(box !== null && box.y >= 0 && box.y + box.height <= 700, `${width}, ${position}`)
        }
        // Each stop is in view, and nothing is in front of it.
        await patterns.focus()
        await tabTo(page, 'button', 'Save the policy')
        await tabBackTo(page, 'textbox', 'Patterns')
      }
      await page
        .getByRole('group', { name: /Rule 1/ })
        .getByRole('textbox', { name: 'Newest' })
        .fill('many')
      const save = changes.getByRole('button', { name: 'Save the policy' })
      await changes.getByText('Correct the marked fields').waitFor()
      assert.equal(await save.isDisabled(), true)
      assert.equal(await descriptionOf(save), 'Correct the marked fields')
      await changes.getByRole('button', { name: 'Discard changes' }).press('Enter')
      await changes.waitFor({ state: 'detached' })
      await assertSomethingFocused(page)
      assert.equal(await patterns.inputValue(), '')
      assert.deepEqual(problems, [])
    })

    test('unsaved changes of a policy are not lost without a question', async () => {
      const { page, problems, open, repo, path } = await prepared()
      await open(`/repos/${repo}`, 'app')
      await page.getByRole('tab', { name: 'Policy', exact: true }).click()
      const patterns = page.getByRole('textbox', { name: 'Patterns' })
      await patterns.fill('v1.*')
      await page.getByText('Only what is deleted').click()
      await page.waitForURL(/preview=all/)
      const question = page.getByRole('dialog', { name: 'Discard the changes?' })
      const leave: readonly (() => Promise<unknown>)[] = [
        () => page.getByRole('tab', { name: 'Tags' }).click(),
        () => page.getByRole('link', { name: 'Runs', exact: true }).click(),
        () => page.getByRole('link', { name: 'Berth', exact: true }).click(),
        () => page.evaluate('history.back()'),
      ]
      for (const [at, attempt] of leave.entries()) {
        await attempt()
        await question.getByText('The policy has changes that are not saved').waitFor()
        if (at === 0) await assertAccessible(page, 'unsaved changes', '[role=dialog]')
        await question.getByRole('button', { name: 'Keep editing' }).click()
        await question.waitFor({ state: 'detached' })
        await page.waitForURL(/tab=policy/)
        assert.equal(await patterns.inputValue(), 'v1.*')
      }
      const asked = page.waitForEvent('dialog')
      await page.close({ runBeforeUnload: true })
      const unload = await asked
      assert.equal(unload.type(), 'beforeunload')
      await unload.dismiss()

      await page.getByRole('tab', { name: 'Tags' }).click()
      await question.getByRole('button', { name: 'Discard changes' }).click()
      await page.getByText('4 of 4').waitFor()
      await page.getByRole('tab', { name: 'Policy', exact: true }).click()
      assert.equal(await patterns.inputValue(), '')
      // Saved changes are no question.
      await patterns.fill('v2.*')
      await page.getByRole('button', { name: 'Save the policy' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Untagged manifests' }).click()
      await page.getByText(`berth images repos delete-untagged ${path}`).waitFor()
      assert.equal(await question.count(), 0)
      assert.deepEqual(problems, [])
    })

    test('untagged manifests are shown and deleted', async () => {
      const { page, problems, open, repo, push } = await prepared()
      await push(testImage())
      const { kysely } = cast().berth.berth.installation.store.db
      await kysely
        .updateTable('manifests')
        .set((row) => ({ touched_ms: row('touched_ms', '-', 2 * limits.untaggedAgeMsDefault) }))
        .execute()
      await open(`/repos/${repo}?tab=policy&section=untagged`, 'app')
      const list = page.getByRole('grid', { name: 'Untagged manifests' })
      // The earlier image of latest, and the one without a tag.
      await list.getByRole('row').nth(2).waitFor()
      assert.equal(await list.getByRole('row').count(), 3)
      await page.getByRole('button', { name: 'Delete 2 manifests' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 manifests' }).click()
      await page.getByText('There is nothing to delete.').waitFor()
      assert.deepEqual(problems, [])
    })

    test('the README is written with a preview by those who have both capabilities', async () => {
      const { page, problems, open, repo, organization } = await prepared()
      await open(`/repos/${repo}?tab=readme`, 'app')
      await page.getByText('There is no README yet').waitFor()
      await page.getByText('Requires the capability repo.internal.admin').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Write a README' }).isDisabled(), true)
      assert.deepEqual(problems, [])

      const writer = await cast().signIn('catalog.admin', organization.uid)
      await writer.open(`/repos/${repo}?tab=readme`, 'app')
      await writer.page.getByRole('button', { name: 'Write a README' }).click()
      const text = writer.page.getByRole('textbox', { name: 'Markdown' })
      await text.fill('# The app\n\nRun it <b>now</b>.')
      await writer.page.getByText('of 64 KiB').waitFor()
      await writer.page.getByRole('tab', { name: 'Preview' }).click()
      await writer.page.getByRole('dialog').getByRole('heading', { name: 'The app' }).waitFor()
      await cast().admin.patch(`registry/repos/${repo}/readme`, { content: 'Theirs' })
      await writer.page.getByRole('button', { name: 'Save' }).click()
      await writer.page.getByText('Someone else changed this in the meantime').waitFor()
      await writer.page.getByRole('button', { name: 'Load the current version' }).click()
      await writer.page.getByText('Someone else changed this').waitFor({ state: 'detached' })
      await writer.page.getByRole('tab', { name: 'Write' }).click()
      assert.equal(await text.inputValue(), 'Theirs')
      await text.fill('x'.repeat(65 * 1024))
      await writer.page.getByText('Must have at most 64 KiB').waitFor()
      assert.equal(await writer.page.getByRole('button', { name: 'Save' }).isDisabled(), true)
      await text.fill('# Ours')
      const question = writer.page.getByRole('dialog', { name: 'Discard the changes?' })
      const leave: readonly (() => Promise<unknown>)[] = [
        () => writer.page.keyboard.press('Escape'),
        () => writer.page.getByRole('button', { name: 'Cancel' }).click(),
        () => writer.page.mouse.click(5, 5),
      ]
      for (const attempt of leave) {
        await attempt()
        await question.getByText('The README has changes that are not saved').waitFor()
        await question.getByRole('button', { name: 'Keep editing' }).click()
        await question.waitFor({ state: 'detached' })
        assert.equal(await text.inputValue(), '# Ours')
      }
      await writer.page.getByRole('button', { name: 'Save' }).click()
      await writer.page.getByRole('heading', { name: 'Ours' }).waitFor()
      assert.deepEqual(writer.problems, [])
    })

    test('repositories are sorted by size and by last push, in the address and the command', async () => {
      const { page, problems, open, folder, path, organization } = await prepared()
      const registry = ociClient(cast().berth, await bearerOf(cast().berth, cast().berth.owner))
      for (const [name, layerBytes] of [
        ['big', 90_000],
        ['tiny', 10],
      ] as const) {
        await cast().admin.create(`registry/repos/${folder}`, { name })
        await pushImage(registry, path.replace(/app$/, name), testImage({}, { layerBytes }), 'latest')
      }
      await open(`/folders/${folder}?tab=repositories`, 'team')
      const table = page.getByRole('grid', { name: 'Repositories' })
      const assertOrder = async (...names: string[]) => {
        const links = names.map((name, at) =>
          table
            .getByRole('row')
            .nth(at + 1)
            .getByRole('link', { name, exact: true })
            .waitFor(),
        )
        await Promise.all(links)
      }
      await assertOrder('app', 'big', 'tiny')
      const size = table.getByRole('columnheader', { name: 'Size' })
      await size.click()
      await assertOrder('tiny', 'app', 'big')
      assert.equal(await size.getAttribute('aria-sort'), 'ascending')
      await size.click()
      await assertOrder('big', 'app', 'tiny')
      assert.equal(new URL(page.url()).searchParams.get('order'), 'stored_bytes desc')
      const command = `berth images repos summary --parent ${organization.name}/team --no-recursive --sort`
      await page.getByText(`${command} 'size desc'`, { exact: true }).waitFor()
      await assertAccessible(page, 'repositories by size')
      await page.setViewportSize({ width: 1280, height: 800 })
      // By keyboard, and after a reload.
      const pushed = table.getByRole('columnheader', { name: 'Last push' })
      await pushed.getByRole('button').focus()
      await page.keyboard.press('Enter')
      await assertOrder('app', 'big', 'tiny')
      await page.keyboard.press('Enter')
      await assertOrder('tiny', 'big', 'app')
      await page.reload()
      await assertOrder('tiny', 'big', 'app')
      assert.equal(await pushed.getAttribute('aria-sort'), 'descending')
      await page.getByText(`${command} 'pushed desc'`, { exact: true }).waitFor()
      assert.deepEqual(problems, [])
    })

    test('a repository is renamed, published with its folder, made private and deleted', async () => {
      const { page, problems, open, repo, folder, path, organization } = await prepared()
      const pull = async () => (await fetch(`${cast().berth.url}/v2/${path}/tags/list`)).status
      await open(`/folders/${folder}?tab=repositories`, 'team')
      await page.getByRole('row', { name: /app/ }).getByText('private').waitFor()
      await page.getByRole('link', { name: 'app', exact: true }).click()
      // The page of the folder, which is shown until then, has a tab of the same name.
      await page.getByRole('heading', { level: 1, name: 'app' }).waitFor()
      await page.getByRole('tab', { name: 'Settings' }).click()
      await page.getByText('Private: only identities with a role').waitFor()
      const settings = page.url()
      await page.getByRole('button', { name: 'Publish the folder team' }).click()
      await page
        .getByRole('dialog')
        .getByText(`berth images repos publish ${organization.name}/team`)
        .waitFor()
      await page.getByRole('dialog').getByRole('listitem').getByText('app').waitFor()
      assert.equal(await pull(), 401)
      await page.getByRole('button', { name: 'Publish 1 repository' }).click()
      await page.getByText('Public: anyone can pull').waitFor()
      await page.locator('.title-row').getByText('public').waitFor()
      assert.equal(await pull(), 200)
      // What was read before says so too.
      await page.getByRole('navigation', { name: 'Breadcrumbs' }).getByRole('link', { name: 'team' }).click()
      await page.getByRole('tab', { name: 'Repositories' }).click()
      await page.getByRole('row', { name: /app/ }).getByText('public').waitFor()
      await page.goto(settings)
      await page.getByRole('button', { name: /^Remove it/ }).click()
      await page.getByRole('button', { name: 'Revoke the role' }).click()
      await page.getByText('Private: only identities with a role').waitFor()
      assert.equal(await pull(), 401)

      await page.getByRole('button', { name: 'Edit', exact: true }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('web')
      await page.getByText('pulls and pushes with the old name fail').waitFor()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
      await page.getByText('Requires the capability repo.internal.admin').waitFor()

      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText('It still has 4 tags').waitFor()
      await page.getByRole('textbox', { name: 'Type web to confirm' }).fill('web')
      await page.getByRole('button', { name: 'Delete the repository' }).click()
      await page
        .getByRole('alert')
        .getByText(/still contains tags/)
        .first()
        .waitFor()
      await page.keyboard.press('Escape')
      const { tags } = (await cast().admin.get(`registry/repos/${repo}/tags`, { include_dates: 'true' })).body
      const tagUids = tags.map(({ tag }: { tag: { uid: string } }) => tag.uid)
      await cast().admin.create(`registry/repos/${repo}/tags:delete`, { tagUids })
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByRole('textbox', { name: 'Type web to confirm' }).fill('web')
      await page.getByRole('button', { name: 'Delete the repository' }).click()
      await page.getByText('There are no repositories yet').waitFor()
      assert.ok(page.url().includes(folder))
      assert.deepEqual(problems, [])
    })

    test('the catalog entry is edited by those who manage the catalog', async () => {
      const { repo, organization } = await prepared()
      const { page, open, problems } = await cast().signIn('catalog.admin', organization.uid)
      await open(`/repos/${repo}?tab=settings`, 'app')
      await page.getByRole('button', { name: 'Edit the catalog entry' }).click()
      await page.getByRole('button', { name: /Tier/ }).click()
      await page.getByRole('option', { name: 'base' }).click()
      await page.getByRole('textbox', { name: 'Bundles' }).fill('base gold')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText(/^Entry 2 /).waitFor()
      await page.getByRole('textbox', { name: 'Bundles' }).fill('base')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const { catalogTier, bundles } = (await cast().admin.get(`registry/repos/${repo}`)).body
      assert.deepEqual([catalogTier, bundles], ['CATALOG_TIER_BASE', ['base']])
      assert.deepEqual(problems, [])
    })

    test('users with narrow roles see what they lack, and the API refuses it too', async () => {
      const { repo, organization } = await prepared()
      const tagUid = (await cast().admin.get(`registry/repos/${repo}/tags`)).body.tags[0].tag.uid
      const viewer = await cast().signIn('viewer', organization.uid)
      await viewer.open(`/repos/${repo}?tab=policy`, 'app')
      await viewer.page
        .getByText('You cannot change it. Requires the capability repo_policies.update')
        .waitFor()
      await viewer.open(`/repos/${repo}?tab=settings`, 'app')
      for (const capability of ['repo.update', 'repo.delete', 'role_bindings.create'])
        await viewer.page.getByText(`Requires the capability ${capability}`).first().waitFor()
      await viewer.open(`/tags/${tagUid}`, 'latest')
      await viewer.page.getByText('Requires the capability tag.update').first().waitFor()
      const token = await cast().berth.tokenOf(viewer.identity)
      for (const [path, body] of [
        [`repos/${repo}/tags:delete`, { tagUids: [tagUid] }],
        [`tags/${tagUid}:move`, { digest: `sha256:${'0'.repeat(64)}` }],
      ] as const) {
        const refused = await fetch(`${cast().berth.url}/registry/v2beta1/${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        assert.equal(refused.status, 403)
      }
      const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
        name: newName('reader'),
        capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST'],
      })
      const reader = await cast().signIn(role.uid, organization.uid)
      await reader.open(`/repos/${repo}`, 'app')
      await reader.page.getByText('Requires the capability tag.list').waitFor()
      await reader.open(`/repos/${repo}?tab=policy`, 'app')
      await reader.page.getByText('Requires the capability tag.list').first().waitFor()
      assert.deepEqual([...viewer.problems, ...reader.problems], [])
    })

    test('markup, direction overrides and long texts are shown as text', async () => {
      const organization = await cast().organization()
      const name = 'a'.repeat(60)
      const repo = await cast().admin.create(`registry/repos/${organization.uid}`, {
        name,
        description: `${MARKUP}${'lang'.repeat(100)}`,
      })
      const tag = `v${'9'.repeat(127)}`
      const { uid } = await cast().admin.create(`registry/tags/${repo.uid}`, {
        name: tag,
        digest: `sha256:${'0'.repeat(64)}`,
      })
      const content = `${MARKUP}${OVERRIDE}\n\n${VERY_LONG}\n`
      const { status } = await cast().admin.patch(`registry/repos/${repo.uid}/readme`, { content })
      const { page, problems, open } = await cast().signIn('owner', organization.uid)
      await page.setViewportSize({ width: 375, height: 800 })
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      for (const tab of ['tags', 'policy', 'readme', 'settings']) {
        await open(`/repos/${repo.uid}?tab=${tab}`, name)
        await page.getByText(MARKUP).first().waitFor()
        assert.equal(await page.evaluate(overflow), 0, tab)
      }
      assert.ok(status === 200 || status === 400)
      await open(`/repos/${repo.uid}`, name)
      await page.getByText('Not in the repository').waitFor()
      await open(`/tags/${uid}`, tag)
      await page.getByText('current').waitFor()
      assert.equal(await page.evaluate(overflow), 0)
      assert.equal(await page.evaluate(HACKED), undefined)
      assert.deepEqual(problems, [])
    })

    test('each page and dialog passes axe', async () => {
      const { page, problems, visit, repo } = await prepared()
      const { admin } = cast()
      await admin.patch(`registry/repos/${repo}/policy`, {
        immutableTags: { patterns: ['v1.*'], exceptions: [] },
        retention: {
          enabled: false,
          rules: [{ patterns: ['latest'] }, { newest: 2 }],
          untaggedAfter: '86400s',
        },
      })
      await admin.patch(`registry/repos/${repo}/readme`, { content: '# The app\n\nRuns anywhere.\n' })
      await visit(`/repos/${repo}`, 'app')
      await page.getByText('4 of 4').waitFor()
      await assertAccessible(page, 'tags')
      await page.setViewportSize({ width: 1280, height: 800 })
      const row = page.getByRole('row').filter({ hasText: 'v0.9.0' })
      await row.locator('label').click()
      await page.getByRole('button', { name: 'Delete 1 tag' }).click()
      await page.getByText('The images stay').waitFor()
      await assertAccessible(page, 'delete tags')
      await page.keyboard.press('Escape')
      await visit(`/repos/${repo}?tab=policy`, 'app')
      await page.getByText('If retention were enabled').waitFor()
      await assertAccessible(page, 'policy')
      await page.getByRole('link', { name: 'Untagged manifests' }).click()
      await page.getByText('There is nothing to delete').waitFor()
      await assertAccessible(page, 'untagged manifests')
      await page.getByRole('link', { name: 'Rules', exact: true }).click()
      await page.getByText('Delete the tags that no rule keeps').click()
      await page.getByRole('button', { name: 'Save the policy' }).click()
      await page.getByRole('dialog').getByText('The next run starts within a minute').waitFor()
      await assertAccessible(page, 'enable retention')
      await page.keyboard.press('Escape')
      await visit(`/repos/${repo}?tab=readme`, 'app')
      await page.getByRole('heading', { name: 'The app' }).waitFor()
      await assertAccessible(page, 'readme')
      await visit(`/repos/${repo}?tab=settings`, 'app')
      await page.getByText('Private: only identities').waitFor()
      await assertAccessible(page, 'settings')
      await page.getByRole('button', { name: 'Publish the folder team' }).click()
      await page.getByRole('dialog').getByRole('listitem').first().waitFor()
      await assertAccessible(page, 'publish')
      await page.keyboard.press('Escape')
      const { tags } = (await admin.get(`registry/repos/${repo}/tags`)).body
      await visit(`/tags/${tags[0].tag.uid}`, 'latest')
      await page.getByRole('button', { name: /^Restore the digest/ }).waitFor()
      await page.getByText('Pull commands').click()
      await assertAccessible(page, 'tag')
      await page.getByRole('button', { name: /^Restore the digest/ }).click()
      await page.getByRole('dialog').waitFor()
      await assertAccessible(page, 'tag restore')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Mark as deprecated' }).click()
      await assertAccessible(page, 'tag deprecate')
      assert.deepEqual(problems, [])
    })
  },
  { retention: { pollMs: 50 } },
)
