import assert from 'node:assert/strict'
import { test } from 'node:test'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import type { Page } from 'playwright-core'
import { newName } from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { assertFocused, assertSomethingFocused, press, tabTo } from '../support/console/keyboard.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** Copies of images to other repositories: one tag, a manifest, selected tags, all tags, and what can go wrong. */

const MIB = 1024 * 1024

/** Holds a request of a copy back, counted from one, until it is released. */
async function holdCopies(page: Page, held: number) {
  let started = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  await page.route('**/images:copy', async (route) => {
    started += 1
    if (started === held) await promise
    await route.continue()
  })
  return { started: () => started, release: () => resolve() }
}

consoleSuite('copies in the console', (cast) => {
  const prepared = async () => {
    const { berth, admin } = cast()
    const organization = await cast().organization()
    const newRepo = async (name: string) =>
      (await admin.create(`registry/repos/${organization.uid}`, { name })).uid as string
    const [from, to] = [await newRepo('app'), await newRepo('released')]
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    const push = (tag: string, image = testImage(), repo = 'app') =>
      pushImage(registry, `${organization.name}/${repo}`, image, tag)
    const digestAt = async (tag: string, repo = 'released') => {
      const reply = await registry.request('HEAD', `${organization.name}/${repo}/manifests/${tag}`)
      return reply.headers.get('docker-content-digest')
    }
    const tagUid = async (name: string, repo = from) => {
      const { body } = await admin.get('registry/tags', { 'uidp.children_of': repo, name })
      return body.tags[0].uid as string
    }
    return { organization, from, to, registry, push, digestAt, tagUid, newRepo }
  }
  const choose = (page: Page, text: string, path: string) => chooseInCombobox(page, 'Destination', text, path)
  const submit = (page: Page, name: string | RegExp = 'Copy') =>
    page.getByRole('dialog').getByRole('button', { name, exact: true }).click()

  test('a tag is copied with its signatures by keyboard, and the result leads to it', async () => {
    const { organization, from, push, digestAt, tagUid } = await prepared()
    const image = await push('1.0')
    const signature = testImage({ subject: image.descriptor, artifactType: 'application/x.signature' })
    await push(signature.digest, signature)
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/tags/${await tagUid('1.0')}`, '1.0')
    await tabTo(page, 'button', 'Copy to…')
    await press(page, 'Enter')
    await page.getByRole('heading', { level: 2, name: 'Copy the image' }).waitFor()
    await assertAccessible(page, 'copy')
    assert.equal(await page.getByRole('button', { name: 'Copy', exact: true }).isDisabled(), true)
    await tabTo(page, 'combobox', 'Destination')
    await page.keyboard.type('rele')
    await page.getByRole('option', { name: `${organization.name}/released` }).waitFor()
    await press(page, 'ArrowDown', 'Enter')
    await tabTo(page, 'textbox', 'Tag at the destination')
    await press(page, 'Control+a')
    await page.keyboard.type('2.0')
    const command = `berth images copy ${organization.name}/app:1.0 ${organization.name}/released:2.0 --referrers --keep-tags`
    await page.getByText(command, { exact: true }).waitFor()
    await tabTo(page, 'button', 'Copy')
    await press(page, 'Enter')
    await page.getByRole('heading', { level: 2, name: 'Copied', exact: true }).waitFor()
    await assertAccessible(page, 'copy')
    await page.getByText(/2 manifests and 4 blobs \(.*\) added, 1 signature or other referrer/).waitFor()
    assert.equal(await digestAt('2.0'), image.digest)
    assert.equal(await digestAt(signature.digest), signature.digest)
    await tabTo(page, 'link', `${organization.name}/released:2.0`)
    await press(page, 'Enter')
    await page.getByRole('heading', { level: 1, name: '2.0' }).waitFor()
    // The same again: there is nothing to do. A closed dialog gives the focus back.
    await open(`/tags/${await tagUid('1.0')}`, '1.0')
    await page.getByRole('button', { name: 'Copy to…' }).press('Enter')
    await choose(page, 'released', `${organization.name}/released`)
    await page.getByRole('textbox', { name: 'Tag at the destination' }).fill('2.0')
    await submit(page)
    await page.getByText('The destination had all of it.').waitFor()
    await page.getByRole('button', { name: 'Close' }).press('Enter')
    await assertFocused(page, 'button', 'Copy to…')
    assert.ok(from)
    assert.deepEqual(problems, [])
  })

  test('a conflict, an invalid tag and a quota are shown in the form, which can be sent again', async () => {
    const { organization, to, push, digestAt, tagUid } = await prepared()
    const image = await push('latest', testImage({}, { layerBytes: 2 * MIB }))
    const other = await push('latest', testImage(), 'released')
    const { page, open } = await cast().signIn('owner', organization.uid)
    await open(`/tags/${await tagUid('latest')}`, 'latest')
    await page.getByRole('button', { name: 'Copy to…' }).click()
    await choose(page, 'released', `${organization.name}/released`)
    await submit(page)
    const alert = page.getByRole('alert')
    await alert.getByText(/Tag latest of the destination points to sha256:.*overwrite it/).waitFor()
    await assertAccessible(page, 'copy')
    assert.equal(await digestAt('latest'), other.digest)
    const tag = page.getByRole('textbox', { name: 'Tag at the destination' })
    await tag.fill('not a tag')
    await submit(page)
    await page.getByText(/must match/).waitFor()
    await tag.fill('latest')
    await page.getByText('Move tags of the destination').click()
    await submit(page)
    await page.getByRole('heading', { level: 2, name: 'Copied', exact: true }).waitFor()
    assert.equal(await digestAt('latest'), image.digest)
    await page.getByRole('button', { name: 'Close' }).click()

    // Into an organization that may store less.
    const small = await prepared()
    await organizationSettings(cast().berth.berth.installation, small.organization.uid, {
      limits: new Map([['storage_mib', 1]]),
    })
    const both = await cast().signIn('owner', organization.uid)
    await cast().admin.create(`iam/roleBindings/${small.organization.uid}`, {
      identityUid: both.identity,
      roleUid: (await cast().admin.get('iam/roles', { name: 'owner' })).body.roles[0].uid,
    })
    await both.open(`/tags/${await tagUid('latest')}`, 'latest')
    await both.page.getByRole('button', { name: 'Copy to…' }).click()
    await choose(both.page, small.organization.name, `${small.organization.name}/released`)
    await submit(both.page)
    await both.page
      .getByRole('alert')
      .getByText(/may store 1 MiB of blobs/)
      .waitFor()
    assert.ok(to)
  })

  test('selected tags are copied one by one: what fails is listed, and is copied again', async () => {
    const { organization, from, push, digestAt } = await prepared()
    for (const tag of ['a', 'b', 'c', 'd']) await push(tag)
    await push('b', testImage(), 'released')
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/repos/${from}`, 'app')
    for (const tag of ['a', 'b', 'c'])
      await page.getByRole('row', { name: tag, exact: true }).locator('.checkbox').click()
    await page.getByRole('button', { name: 'Copy 3 tags to…' }).click()
    await choose(page, 'released', `${organization.name}/released`)
    await submit(page, 'Copy 3 tags')
    await page.getByRole('heading', { level: 2, name: 'Not everything was copied' }).waitFor()
    await assertAccessible(page, 'copy')
    await page.getByText(`2 of 3 tags copied to ${organization.name}/released.`).waitFor()
    await page
      .getByRole('alert')
      .getByText(/b: Tag b of the destination points to/)
      .waitFor()
    assert.equal(await digestAt('d'), null)
    await page.getByRole('button', { name: 'Copy the other 1 tag' }).click()
    await page.getByText('Move tags of the destination').click()
    await submit(page)
    await page.getByRole('heading', { level: 2, name: 'Copied', exact: true }).waitFor()
    assert.equal(await digestAt('b'), await digestAt('b', 'app'))
    assert.deepEqual(
      problems.filter((problem) => !problem.includes('409')),
      [],
    )
  })

  test('all tags show how far they are, can be stopped, and go on', async () => {
    const { organization, from, push, digestAt } = await prepared()
    const image = testImage()
    const tags = Array.from({ length: 80 }, (_, at) => `v${at}`)
    for (const tag of tags) await push(tag, image)
    const { page, open } = await cast().signIn('owner', organization.uid)
    await open(`/repos/${from}`, 'app')
    const hold = await holdCopies(page, 13)
    await page.getByRole('button', { name: 'Copy all tags to…' }).click()
    await page.getByText(`berth images copy ${organization.name}/app my-org/app --all-tags`).waitFor()
    await choose(page, 'released', `${organization.name}/released`)
    await submit(page, 'Copy 80 tags')
    await page.getByText('12 of 80 tags').waitFor()
    await page.getByRole('progressbar', { name: 'Copying' }).waitFor()
    await assertAccessible(page, 'copy')
    await page.getByRole('button', { name: 'Stop copying' }).click()
    assert.equal(await page.getByRole('button', { name: 'Stopping…' }).isDisabled(), true)
    hold.release()
    await page.getByText('Stopped before 67 tags.').waitFor()
    await page.getByText(`13 of 80 tags copied to ${organization.name}/released.`).waitFor()
    assert.equal(hold.started(), 13)
    await page.getByRole('button', { name: 'Copy the other 67 tags' }).click()
    await submit(page, 'Copy 67 tags')
    await page.getByText(`67 of 67 tags copied to ${organization.name}/released.`).waitFor()
    assert.equal(hold.started(), 80)
    for (const tag of tags) assert.equal(await digestAt(tag), image.digest)
  })

  test('a copy continues in the background, and the page shows how far it is and what became of it', async () => {
    const { organization, from, push, digestAt } = await prepared()
    const image = testImage()
    const tags = Array.from({ length: 5 }, (_, at) => `v${at}`)
    for (const tag of tags) await push(tag, image)
    await push('v4', testImage(), 'released')
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/repos/${from}`, 'app')
    const hold = await holdCopies(page, 3)
    await page.getByRole('button', { name: 'Copy all tags to…' }).press('Enter')
    await choose(page, 'released', `${organization.name}/released`)
    await submit(page, 'Copy 5 tags')
    await page.getByText('2 of 5 tags').waitFor()
    await page.getByText('the copy continues while the console is open').waitFor()
    await press(page, 'Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await assertFocused(page, 'button', 'Copy all tags to…')
    const notice = page.getByRole('region', { name: 'Copy in the background' })
    await notice.getByText(`Copying 5 tags to ${organization.name}/released.`).waitFor()
    await notice.getByText('2 of 5 done.').waitFor()
    await assertAccessible(page, 'copy in the background')
    await page.getByRole('link', { name: 'Berth', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await notice.getByRole('button', { name: 'Show the progress' }).press('Enter')
    await page.getByRole('dialog', { name: 'Copying 5 tags' }).waitFor()
    await page.getByRole('button', { name: 'Continue in the background' }).press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const asked = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    await (await asked).dismiss()
    hold.release()
    await notice.getByText(`4 of 5 tags copied to ${organization.name}/released.`).waitFor()
    await assertAccessible(page, 'copied in the background')
    await notice.getByRole('button', { name: 'Show the result' }).press('Enter')
    await page.getByRole('alert').getByText('v4: Tag v4 of the destination points to').waitFor()
    await page.getByRole('button', { name: 'Close' }).press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await notice.waitFor({ state: 'detached' })
    await assertSomethingFocused(page)
    for (const tag of tags.slice(0, 4)) assert.equal(await digestAt(tag), image.digest)
    assert.deepEqual(
      problems.filter((problem) => !problem.includes('409')),
      [],
    )
  })

  test('the copy of a single image is not undone when its dialog is closed: its result is shown', async () => {
    const { organization, push, digestAt, tagUid } = await prepared()
    const image = await push('1.0')
    await push('2.0', testImage(), 'released')
    const { page, open } = await cast().signIn('owner', organization.uid)
    const notice = page.getByRole('region', { name: 'Copy in the background' })
    for (const [tag, result] of [
      ['1.0', '1 of 1 image copied'],
      ['2.0', '0 of 1 image copied'],
    ] as const) {
      await open(`/tags/${await tagUid('1.0')}`, '1.0')
      const hold = await holdCopies(page, 1)
      await page.getByRole('button', { name: 'Copy to…' }).click()
      await choose(page, 'released', `${organization.name}/released`)
      await page.getByRole('textbox', { name: 'Tag at the destination' }).fill(tag)
      await submit(page)
      await page.getByRole('button', { name: 'Close' }).click()
      await notice.getByText('Copying 1 image to').waitFor()
      hold.release()
      await notice.getByText(result).waitFor()
      await page.unroute('**/images:copy')
    }
    assert.equal(await digestAt('1.0'), image.digest)
    await notice.getByRole('button', { name: 'Dismiss' }).press('Enter')
    await notice.waitFor({ state: 'detached' })
    await assertSomethingFocused(page)
  })

  test('a manifest is copied without a tag; who lacks a permission reads which', async () => {
    const { berth } = cast()
    const { organization, from, push, digestAt } = await prepared()
    const image = await push('1.0')
    await push('1.1', image)
    const owner = await cast().signIn('owner', organization.uid)
    await owner.open(`/manifests/${from}/${image.digest}`, `Image ${image.digest.slice(0, 19)}`)
    await owner.page.getByRole('button', { name: 'Copy to…' }).click()
    await choose(owner.page, 'released', `${organization.name}/released`)
    await submit(owner.page)
    await owner.page.getByRole('link', { name: `${organization.name}/released@${image.digest}` }).click()
    await owner.page.getByRole('heading', { level: 1, name: `Image ${image.digest.slice(0, 19)}` }).waitFor()
    assert.equal(await digestAt(image.digest), image.digest)

    const viewer = await cast().signIn('registry.pull', organization.uid)
    await viewer.open(`/manifests/${from}/${image.digest}`, `Image ${image.digest.slice(0, 19)}`)
    await viewer.page.getByRole('button', { name: 'Copy to…' }).click()
    await choose(viewer.page, 'released', `${organization.name}/released`)
    await viewer.page.getByText('Requires the capability manifest.create').waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: 'Copy', exact: true }).isDisabled(), true)
    const lister = await createRole(
      berth,
      organization.uid,
      ['groups.list', 'repo.list', 'manifest.list', 'tag.list'],
      newName('lister'),
    )
    const narrow = await cast().signIn(lister, organization.uid)
    await narrow.open(`/manifests/${from}/${image.digest}`, `Image ${image.digest.slice(0, 19)}`)
    await narrow.page.getByText('Requires the capability repo.blobs.get').waitFor()
  })

  test('an image that is gone, and a server that does not respond', async () => {
    const { organization, from, to, push, tagUid, registry } = await prepared()
    const image = await push('1.0')
    for (const tag of ['1.1', '1.2']) await push(tag)
    const { page, open } = await cast().signIn('owner', organization.uid)
    await open(`/tags/${await tagUid('1.0')}`, '1.0')
    await page.getByRole('button', { name: 'Copy to…' }).click()
    await choose(page, 'released', `${organization.name}/released`)
    await registry.request('DELETE', `${organization.name}/app/manifests/${image.digest}`)
    await submit(page)
    await page.getByRole('alert').getByText('The source has no image 1.0.').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Discard changes' }).click()

    await open(`/repos/${from}`, 'app')
    await page.getByRole('button', { name: 'Copy all tags to…' }).click()
    await choose(page, 'released', `${organization.name}/released`)
    await page.route('**/images:copy', (route) => route.abort())
    await submit(page, 'Copy 2 tags')
    await page.getByText(/The server does not respond/).waitFor()
    await page.getByText('Stopped before 1 tag.').waitFor()
    await page.unroute('**/images:copy')
    await page.getByRole('button', { name: 'Copy the other 2 tags' }).click()
    await submit(page, 'Copy 2 tags')
    await page.getByText(`2 of 2 tags copied to ${organization.name}/released.`).waitFor()
    const { body } = await cast().admin.get('registry/tags', { 'uidp.children_of': to })
    assert.equal(body.tags.length, 2)
  })
})
