import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator } from 'playwright-core'
import { newName } from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { LONG, MARKUP, OVERRIDE, VERY_LONG } from '../support/console/hostile.ts'
import { indexOf, layeredImage, layerOf } from '../support/registry/layered-image.ts'
import {
  bearerOf,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
} from '../support/registry/registry.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The pages of images: repositories of a folder, manifests of a repository, one manifest, and two compared. */

const HOSTILE = `${MARKUP} ${OVERRIDE}`
const short = ({ digest }: { digest: string }) => digest.slice(0, 'sha256:'.length + 12)

/** A row of a table with all of these texts. */
function rowWith(within: Pick<Locator, 'getByRole'>, ...texts: readonly string[]): Locator {
  return texts.reduce((row, hasText) => row.filter({ hasText }), within.getByRole('row'))
}

consoleSuite('images in the console', (cast) => {
  /** A repository with an index of two platforms, what refers to it, and an untagged image. */
  const prepared = async (folderName = newName('team')) => {
    const { berth, admin } = cast()
    const organization = await cast().organization()
    const folder = await admin.create(`iam/groups/${organization.uid}`, { name: folderName })
    const repo = await admin.create(`registry/repos/${folder.uid}`, { name: 'web', description: HOSTILE })
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${organization.name}/${folderName}/web`
    const base = layerOf('RUN apk add nginx', 4000)
    const config = {
      Env: ['PATH=/bin', `EVIL=${HOSTILE}`],
      Entrypoint: ['/app', '--flag with space'],
      ExposedPorts: { '8080/tcp': {} },
      Labels: { team: 'web', description: VERY_LONG },
    }
    const [old, amd, arm] = [
      layeredImage({ layers: [base, layerOf('COPY old /app', 500)], config: { Env: ['PATH=/usr/bin'] } }),
      layeredImage({ layers: [base, layerOf(HOSTILE, 1000)], config }),
      layeredImage({ architecture: 'arm64', layers: [layerOf('RUN arm', 2000)], config }),
    ]
    await pushImage(registry, name, old, 'old')
    await pushImage(registry, name, amd)
    await pushImage(registry, name, arm)
    const index = indexOf([
      { image: amd, platform: { os: 'linux', architecture: 'amd64' } },
      { image: arm, platform: { os: 'linux', architecture: 'arm64' } },
    ])
    const put = (made: Pick<TestImage, 'manifest' | 'mediaType'>, reference: string) =>
      putManifest(registry, name, reference, made)
    assert.equal((await put(index, 'multi')).status, 201)
    const about = (artifactType: string, subject: Pick<TestImage, 'descriptor'>, more: object = {}) =>
      pushImage(registry, name, testImage({ artifactType, subject: subject.descriptor, ...more }))
    const sbom = await about('application/spdx+json', index, { annotations: { note: HOSTILE } })
    const signature = await about('application/vnd.dev.cosign.artifact.sig.v1+json', sbom)
    const attached = `${index.digest.replace(':', '-')}.att`
    await pushImage(registry, name, testImage(), attached)
    return { organization, folder, repo, registry, name, old, amd, arm, index, sbom, signature, attached }
  }

  test('from the folder to an image of an index: sizes, platforms, layers, configuration and what made them', async () => {
    const { organization, folder, repo, amd, index } = await prepared()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${folder.uid}?tab=repositories`, folder.name)
    const row = page.getByRole('row', { name: /web/ })
    await row.waitFor()
    const cells = (await row.getByRole('gridcell').allTextContents()).join('|')
    assert.match(cells, /KiB\|3\|.*\|private\|none/)
    assert.ok((await row.textContent())?.includes(MARKUP))
    await page.getByRole('link', { name: 'web', exact: true }).click()
    await page.getByRole('tab', { name: 'Images' }).click()
    await page.getByRole('row', { name: new RegExp(short(index)) }).waitFor()
    assert.equal(await page.getByRole('grid', { name: 'Images' }).getByRole('row').count(), 1 + 7)
    await page.getByRole('link', { name: short(index) }).click()
    await page.getByRole('heading', { level: 1, name: `Index ${short(index)}` }).waitFor()
    assert.ok(decodeURIComponent(page.url()).endsWith(`/console/manifests/${repo.uid}/${index.digest}`))
    for (const text of ['linux/amd64', 'linux/arm64', 'multi']) await page.getByText(text).first().waitFor()
    await page.getByText('Pull commands').click()
    await page.getByText(`@${index.digest}`).first().waitFor()
    await page
      .getByRole('grid', { name: 'Platforms' })
      .getByRole('link', { name: short(amd) })
      .click()
    await page.getByRole('heading', { level: 1, name: `Image ${short(amd)}` }).waitFor()
    const layers = page.getByRole('grid', { name: 'Layers' })
    await rowWith(layers, 'RUN apk add nginx', '3.91 KiB').waitFor()
    await layers.getByText(HOSTILE).waitFor()
    await page.getByRole('tab', { name: 'Configuration' }).click()
    await page.getByText('["/app","--flag with space"]').waitFor()
    await page.getByRole('grid', { name: 'Environment' }).getByText(HOSTILE).waitFor()
    const labels = page.getByRole('grid', { name: 'Labels' })
    await labels.getByRole('button', { name: 'Show all 10,000 characters' }).click()
    await labels.getByText(VERY_LONG).waitFor()
    await page.getByRole('grid', { name: 'History' }).getByText('CMD ["app"]').waitFor()
    await page.getByRole('tab', { name: 'JSON' }).click()
    await page.getByText('"schemaVersion": 2').waitFor()
    assert.match(page.url(), /tab=json/)
    await page.reload()
    await page.getByText('"schemaVersion": 2').waitFor()
    assert.deepEqual(problems, [])
  })

  test('filters are in the address; referrers are read one level at a time', async () => {
    const { organization, repo, index, old, arm, sbom, signature, attached } = await prepared()
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    const images = page.getByRole('grid', { name: 'Images' })
    const rows = async (...expected: readonly { digest: string }[]) => {
      for (const one of expected) await images.getByRole('row', { name: short(one) }).waitFor()
      assert.equal(await images.getByRole('row').count(), 1 + expected.length)
    }
    await open(`/repos/${repo.uid}?tab=images&kind=image`, 'web')
    await images.waitFor()
    await page.getByRole('button', { name: 'Remove the filter Images' }).waitFor()
    await open(`/repos/${repo.uid}?tab=images&kind=index`, 'web')
    await rows(index)
    await open(`/repos/${repo.uid}?tab=images&platform=linux/arm64`, 'web')
    await rows(arm, index)
    await page.getByText('--platform linux/arm64').waitFor()
    await page.getByRole('button', { name: 'Remove all filters' }).click()
    await page.getByRole('row', { name: new RegExp(short(old)) }).waitFor()
    await open(`/repos/${repo.uid}?tab=images&platform=windows/amd64`, 'web')
    await page.getByText('No image matches the filters so far.').waitFor()
    await open(`/manifests/${repo.uid}/${index.digest}?tab=referrers`, `Index ${short(index)}`)
    const referrers = page.getByRole('grid', { name: 'Referrers' })
    await rowWith(referrers, 'Attestation', attached).waitFor()
    await referrers.getByText(`note: ${HOSTILE}`).waitFor()
    await referrers.getByRole('row', { name: /SBOM/ }).getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: `SBOM ${short(sbom)}` }).waitFor()
    await page.getByRole('tab', { name: 'Referrers (1)' }).click()
    await page
      .getByRole('row', { name: /Signature/ })
      .getByRole('link', { name: short(signature) })
      .waitFor()
    assert.deepEqual(problems, [])
  })

  test('deletes an index with what goes with it, after it was shown', async () => {
    const { organization, repo, index, old, amd, attached } = await prepared()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/manifests/${repo.uid}/${amd.digest}`, `Image ${short(amd)}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page
      .getByRole('alert')
      .getByText(/is part of index/)
      .waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete the manifest' }).isDisabled(), true)
    await page.keyboard.press('Escape')
    await open(`/manifests/${repo.uid}/${index.digest}`, `Index ${short(index)}`)
    const button = page.getByRole('button', { name: 'Delete' })
    await button.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 tags deleted with it:').waitFor()
    await dialog.getByText(attached).waitFor()
    await dialog.getByText(`${short(amd)}: only a deleted index contains it`).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await button.and(page.locator(':focus')).waitFor()
    await button.click()
    await dialog.getByText('2 tags deleted with it:').waitFor()
    await dialog.getByRole('button', { name: 'Delete the manifest' }).click()
    await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
    await page.getByRole('row', { name: new RegExp(short(old)) }).waitFor()
    const rows = page.getByRole('grid', { name: 'Images' }).getByRole('row')
    // The list may show what it had until it is read again.
    await rows.nth(2).waitFor({ state: 'detached' })
    assert.equal(await rows.count(), 2)
    assert.deepEqual(problems, [])
  })

  test('compares two images, chosen by tag or digest', async () => {
    const { organization, repo, old, amd } = await prepared()
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    await open(`/compare/${repo.uid}`, 'Compare images')
    await page.getByText('Choose two images by tag or digest.').waitFor()
    const first = page.getByRole('textbox', { name: 'First image' })
    await first.fill('none')
    await first.press('Enter')
    await page.getByText('The repository has no tag none.').waitFor()
    await first.fill('old')
    await first.press('Enter')
    await page.waitForURL(new RegExp(`from=${encodeURIComponent(old.digest)}`))
    const second = page.getByRole('textbox', { name: 'Second image' })
    await second.fill(amd.digest)
    await second.press('Enter')
    const layers = page.getByRole('grid', { name: 'Layers' })
    await rowWith(layers, 'COPY old /app', 'removed').waitFor()
    await rowWith(layers, 'added').waitFor()
    assert.equal(await layers.getByRole('row', { name: /RUN apk/ }).count(), 0)
    await page.getByText(/KiB shared, 1,?000 B added, 500 B removed/).waitFor()
    const environment = page.getByRole('grid', { name: 'Environment' })
    await rowWith(environment, 'PATH', 'changed', '/usr/bin').waitFor()
    await page.getByText('Show what is the same').click()
    await rowWith(layers, 'RUN apk add nginx', 'same').waitFor()
    await open(`/compare/${repo.uid}?from=${old.digest}&to=sha256:${'0'.repeat(64)}`, 'Compare images')
    await page.getByText(/The repository does not contain sha256:000000000000/).waitFor()
    assert.deepEqual(problems, [])
  })

  test('users see what they lack, and the API refuses it too', async () => {
    const { berth } = cast()
    const { organization, folder, repo, old } = await prepared()
    const viewer = await cast().signIn('viewer', organization.uid)
    await viewer.open(`/manifests/${repo.uid}/${old.digest}`, `Image ${short(old)}`)
    await viewer.page.getByText('Requires the capability manifest.delete').waitFor()
    assert.equal(await viewer.page.getByRole('button', { name: 'Delete' }).isDisabled(), true)
    const address = `/registry/v2beta1/repos/${repo.uid}/manifests/${old.digest}`
    const refused = await viewer.page.evaluate<number>(`(async () => {
      const { csrfToken } = JSON.parse(document.getElementById('session').textContent)
      const init = { method: 'DELETE', headers: { 'x-berth-csrf': csrfToken } }
      return (await fetch(${JSON.stringify(address)}, init)).status
    })()`)
    assert.equal(refused, 403)
    const lister = await createRole(berth, organization.uid, ['groups.list', 'repo.list'], newName('lister'))
    const narrow = await cast().signIn(lister, organization.uid)
    await narrow.open(`/folders/${folder.uid}?tab=repositories`, folder.name)
    await rowWith(narrow.page, 'web', 'no permission').waitFor()
    await narrow.open(`/repos/${repo.uid}?tab=images`, 'web')
    await narrow.page.getByText('Requires the capability manifest.list').waitFor()
    await narrow.open(`/manifests/${repo.uid}/${old.digest}`, 'Not found')
    await viewer.open(`/manifests/${repo.uid}/sha256:${'0'.repeat(64)}`, 'Not found')
    await viewer.open(`/manifests/${repo.uid}/latest`, 'Not found')
    await viewer.open('/manifests/none', 'Not found')
    assert.deepEqual([...viewer.problems, ...narrow.problems], [])
  })

  test('every page and dialog of images passes axe', async () => {
    const { organization, folder, repo, registry, name, old, amd, index, sbom } = await prepared(LONG)
    const blob = Buffer.from(newName('file'))
    await pushBlob(registry, name, blob)
    for (let n = 0; n < 30; n++) await putManifest(registry, name, `v1.${n}-${LONG}`, old)
    const { page, problems, visit } = await cast().signIn('owner', organization.uid)
    const pages: readonly (readonly [string, string, string])[] = [
      ['repositories', `/folders/${folder.uid}?tab=repositories`, LONG],
      ['images', `/repos/${repo.uid}?tab=images`, 'web'],
      ['images filtered', `/repos/${repo.uid}?tab=images&kind=index&tagged=yes`, 'web'],
      ['index', `/manifests/${repo.uid}/${index.digest}`, `Index ${short(index)}`],
      ['referrers', `/manifests/${repo.uid}/${index.digest}?tab=referrers`, `Index ${short(index)}`],
      ['layers', `/manifests/${repo.uid}/${amd.digest}`, `Image ${short(amd)}`],
      ['layers of many tags', `/manifests/${repo.uid}/${old.digest}`, `Image ${short(old)}`],
      ['configuration', `/manifests/${repo.uid}/${amd.digest}?tab=configuration`, `Image ${short(amd)}`],
      ['json', `/manifests/${repo.uid}/${amd.digest}?tab=json`, `Image ${short(amd)}`],
      ['artifact', `/manifests/${repo.uid}/${sbom.digest}`, `SBOM ${short(sbom)}`],
      ['compare empty', `/compare/${repo.uid}`, 'Compare images'],
      ['compare', `/compare/${repo.uid}?from=${old.digest}&to=${amd.digest}`, 'Compare images'],
    ]
    for (const [title, path, heading] of pages) {
      await visit(path, heading)
      await assertAccessible(page, title)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    await visit(`/manifests/${repo.uid}/${index.digest}`, `Index ${short(index)}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page
      .getByText(/deleted with it:/)
      .first()
      .waitFor()
    await assertAccessible(page, 'delete')
    assert.deepEqual(problems, [])
  })
})
