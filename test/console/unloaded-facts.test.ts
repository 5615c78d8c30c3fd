import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { claimMatch, managedRole, newName } from '../support/api/api-fixture.ts'
import { DRAWN_MS, openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { hold } from '../support/console/held-requests.ts'
import { alpineFiles, imageOfFiles } from '../support/images/readable-image.ts'
import { indexOf } from '../support/registry/layered-image.ts'
import { bearerOf, ociClient, pushImage, putManifest, testImage } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** What is loading, or could not be loaded, is not shown as "none", nor as what was there before. */

/** Requests fail until `restore` is called. */
async function breakOff(page: Page, address: RegExp) {
  await page.route(address, (route) => route.abort())
  return { restore: () => page.unroute(address) }
}

consoleSuite(
  'facts that are not loaded',
  (cast) => {
    /** A repository with an index for two platforms. */
    const prepared = async () => {
      const { berth, admin } = cast()
      const organization = await cast().organization()
      const repo = await admin.create(`registry/repos/${organization.uid}`, { name: 'web' })
      const registry = ociClient(berth, await bearerOf(berth, berth.owner))
      const path = `${organization.name}/web`
      const amd = await imageOfFiles([alpineFiles('openssl 3.1.4-r4', 'musl 1.2.5-r0', 'zlib 1.3.1-r1')])
      const arm = await imageOfFiles([alpineFiles('curl 8.9.0-r0')], { architecture: 'arm64' })
      for (const image of [amd, arm]) await pushImage(registry, path, image)
      const index = indexOf([
        { image: amd, platform: { os: 'linux', architecture: 'amd64' } },
        { image: arm, platform: { os: 'linux', architecture: 'arm64' } },
      ])
      assert.equal((await putManifest(registry, path, 'multi', index)).status, 201)
      return { organization, repo, registry, path, amd, arm, index }
    }
    const heading = (kind: string, { digest }: { readonly digest: string }) =>
      `${kind} ${digest.slice(0, 'sha256:'.length + 12)}`

    test('packages of another platform', async () => {
      const { organization, repo, index } = await prepared()
      const { page, problems, open } = await cast().signIn('owner', organization.uid)
      await open(`/manifests/${repo.uid}/${index.digest}?tab=packages`, heading('Index', index))
      const facts = page.getByText('3 apk')
      await facts.waitFor()
      const arm = await hold(page, /\/contents\?platform=linux(\/|%2F)arm64/)
      const choose = async (platform: string) => {
        await page.getByRole('button', { name: /Platform/ }).click()
        await page.getByRole('option', { name: platform }).click()
      }
      await choose('linux/arm64')
      await page.getByText('Loading the packages…').waitFor()
      assert.equal(await facts.count(), 0)
      arm.release()
      await page.getByText('1 apk').waitFor()

      // The answer is about the image that was to be read again.
      const again = await hold(page, /\/contents:readAgain/)
      await page.getByRole('button', { name: 'Read the image again' }).click()
      await choose('linux/amd64')
      await facts.waitFor()
      const answered = page.waitForResponse(/\/contents:readAgain/)
      again.release()
      await answered
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(await page.getByText('1 apk').count(), 0)
      assert.equal(await facts.count(), 1)
      assert.deepEqual(problems, [])
    })

    test('roles of identities beyond the first page of roles, and while the rights of the user are unknown', async () => {
      const { uid, name } = await cast().organization()
      for (const identity of ['one', 'two']) {
        const { uid: identityUid } = await cast().admin.create(`iam/identities/${uid}`, {
          name: identity,
          claimMatch: { ...claimMatch, subject: identity },
        })
        await cast().admin.create(`iam/roleBindings/${uid}`, { identityUid, roleUid: managedRole('viewer') })
      }
      await cast().admin.create(`iam/identities/${uid}`, { name: 'three', claimMatch })
      const { page, problems, open } = await cast().signIn('owner', uid)
      await page.route(/roleBindings.*pageSize=200/, (route) =>
        route.continue({ url: route.request().url().replace('pageSize=200', 'pageSize=1') }),
      )
      const rights = await hold(page, /\/auth\/v1\/ok/)
      await open(`/folders/${uid}?tab=identities`, name)
      const row = (identity: string) => page.getByRole('row', { name: identity })
      for (const identity of ['one', 'two']) await row(identity).getByText('viewer').waitFor()
      await row('three').getByText('unknown').waitFor()
      rights.release()
      await row('three').getByText('none').waitFor()
      assert.deepEqual(problems, [])
    })

    test('pull commands before the name of the repository is known', async () => {
      const { organization, repo, path, amd, registry } = await prepared()
      await pushImage(registry, path, testImage(), 'v1')
      const { tags } = (await cast().admin.get('registry/tags', { name: 'v1' })).body
      const tag = tags.find((one: { readonly uid: string }) => one.uid.startsWith(`${repo.uid}/`))
      const { page, problems, open } = await cast().signIn('owner', organization.uid)
      for (const [address, title] of [
        [`/manifests/${repo.uid}/${amd.digest}`, heading('Image', amd)],
        [`/tags/${tag.uid}`, 'v1'],
      ] as const) {
        const failure = await breakOff(page, new RegExp(`/registry/v2beta1/repos/${repo.uid}$`))
        await open(address, title)
        await page.getByText('Pull commands').click()
        await page.getByText('Repository not available').waitFor()
        assert.equal(await page.getByText(`${organization.name}/${repo.uid}`).count(), 0)
        await failure.restore()
        await page.getByRole('button', { name: 'Try again' }).click()
        await page.getByText(`docker pull`).first().waitFor()
        assert.match(await page.getByText(`docker pull`).first().innerText(), new RegExp(`${path}[@:]`))
      }
      assert.deepEqual(problems, [])
    })

    test('failures are shown: reports of scanners, storage, folders of the tree, and names of group mappings', async () => {
      const { organization, repo, amd } = await prepared()
      const { uid } = organization
      const folder = await cast().admin.create(`iam/groups/${uid}`, { name: 'team' })
      await cast().admin.create(`iam/groups/${folder.uid}`, { name: 'below' })
      const owner = await cast().signIn('owner', uid)
      const { page, open } = owner
      const shown = async (address: RegExp, show: () => Promise<void>, title: string) => {
        const failure = await breakOff(page, address)
        await show()
        await page.getByText(title).waitFor()
        await failure.restore()
      }
      await shown(
        /imageScannerReports/,
        () => open(`/manifests/${repo.uid}/${amd.digest}?tab=vulnerabilities`, heading('Image', amd)),
        'Reports of other scanners not available',
      )

      await open(`/folders/${uid}`, organization.name)
      const tree = page.getByRole('tree')
      const team = tree.getByRole('treeitem', { name: 'team' })
      await team.waitFor()
      // Before the focus, which may load the folder in advance.
      const failure = await breakOff(page, /\/iam\/v2beta1\/groups/)
      await team.press('ArrowRight')
      await tree.getByRole('treeitem', { name: 'Folders not available' }).waitFor()
      await failure.restore()
      await tree.getByRole('treeitem', { name: 'Folders not available' }).click()
      await page.getByRole('heading', { level: 1, name: 'team' }).waitFor()
      await tree.getByRole('treeitem', { name: 'below' }).waitFor()

      const provider = await cast().admin.create(`iam/identityProviders/${uid}`, {
        name: newName('okta'),
        defaultRole: managedRole('viewer'),
        oidc: { issuer: 'https://accounts.google.com', clientId: 'id', pkceEnabled: true },
      })
      await cast().admin.create(`iam/externalGroupRoleMappings/${provider.uid}`, {
        externalGroupId: 'ops',
        roleUid: managedRole('editor'),
        scope: uid,
      })
      const mappings = () => open(`/settings/${uid}?tab=mappings`, `Settings of ${organization.name}`)
      await shown(/\/iam\/v2beta1\/identityProviders/, mappings, 'Identity providers not available')
      await page.getByRole('button', { name: 'Try again' }).click()
      const row = page.getByRole('grid', { name: 'Group mappings' }).getByRole('row', { name: 'ops' })
      for (const text of ['editor', provider.name]) await row.getByText(text).waitFor()
      await shown(/\/iam\/v2beta1\/roles/, mappings, 'Roles not available')
      assert.deepEqual(owner.problems, [])

      const operator = await openConsole(cast().chromium, cast().berth, cast().berth.owner)
      await breakOff(operator.page, /\/operator\/v1\/storage$/)
      await operator.open('/operator?tab=storage', 'Operator')
      await operator.page.getByText('Storage not available').waitFor()
      assert.deepEqual(operator.problems, [])
    })
  },
  imageJobs,
)
