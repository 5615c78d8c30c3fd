import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { policiesOf } from '../support/api/policies.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { hold } from '../support/console/held-requests.ts'
import { eventually } from '../support/eventually.ts'
import { imageOfFiles } from '../support/images/readable-image.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The pages about policies at pull of folders and repositories. */

const osRelease = 'ID=debian\nVERSION_ID="10"\nPRETTY_NAME="Debian GNU/Linux 10 (buster)"\n'

consoleSuite(
  'policies at pull in the console',
  (cast) => {
    const prepared = async () => {
      const { berth, admin } = cast()
      const organization = await cast().organization()
      const folder = await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
      const repo = await admin.create(`registry/repos/${folder.uid}`, { name: 'web' })
      const registry = ociClient(berth, await bearerOf(berth, berth.owner))
      const name = `${organization.name}/team/web`
      const image = await pushImage(
        registry,
        name,
        await imageOfFiles([{ 'etc/os-release': osRelease }]),
        'v1',
      )
      const user = await cast().signIn('owner', organization.uid)
      return {
        ...user,
        organization,
        folder,
        repo,
        name,
        image,
        policies: policiesOf(berth, berth.token),
        pull: () => registry.request('GET', `${name}/manifests/v1`),
      }
    }
    const choose = async (page: Page, field: string, option: RegExp) => {
      await page.getByRole('button', { name: new RegExp(`${field}$`) }).click()
      await page.getByRole('option', { name: option }).click()
    }

    test('a policy is applied, its decisions are listed by day, and an override lets an image pass', async () => {
      const { page, problems, open, folder, repo, image, pull } = await prepared()
      await open(`/folders/${folder.uid}?tab=pull-policies`, 'team')
      await page.getByRole('button', { name: 'Apply a policy' }).click()
      await choose(page, 'Policy', /^end-of-life/)
      await choose(page, 'Mode', /^Enforced/i)
      await page.getByRole('button', { name: 'Apply the policy' }).click()
      const applied = page.getByRole('grid', { name: 'Applied policies' })
      await applied.getByText('end-of-life').waitFor()
      await assertAccessible(page, 'applied policies')
      await eventually(async () => {
        const { status, json } = await pull()
        return status === 403 && json.errors[0].message.includes('the end of life of debian:10 is 2024-06-30')
      })

      await open(`/folders/${folder.uid}?tab=pull-policies&section=decisions`, 'team')
      const decisions = page.getByRole('grid', { name: 'Decisions' })
      await decisions.getByText('the end of life of debian:10 is 2024-06-30').waitFor()
      await assertAccessible(page, 'decisions')
      await page.getByLabel('Last day').fill('2024-02-29')
      await page.getByText('No decision matches these filters.').waitFor()
      await page.getByText('--until 2024-02-29').waitFor()
      await assertAccessible(page, 'no decisions')
      // A day that does not exist is no filter.
      await open(`/folders/${folder.uid}?tab=pull-policies&section=decisions&until=2024-02-31`, 'team')
      await decisions.getByText('the end of life of debian:10 is 2024-06-30').waitFor()

      // Only what applies here can be chosen, so nothing can be chosen before that is known.
      const answer = await hold(page, /[bB]indings/)
      await open(`/repos/${repo.uid}?tab=pull-policies&section=overrides`, 'web')
      await page.getByText('Loading the policies…').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Create an override' }).count(), 0)
      answer.release()
      await page.getByRole('button', { name: 'Create an override' }).click()
      await page.getByRole('button', { name: /Policy$/ }).click()
      await page.getByRole('option').first().waitFor()
      assert.deepEqual(await page.getByRole('option').allInnerTexts(), ['end-of-life'])
      await page.getByRole('option', { name: 'end-of-life' }).click()
      await page.getByLabel('Digest').fill(image.digest)
      await page.getByLabel('Reason').fill('until the move to trixie')
      await assertAccessible(page, 'creating an override')
      await page.getByRole('dialog').getByRole('button', { name: 'Create the override' }).click()
      await page.getByRole('grid', { name: 'Overrides' }).getByText('until the move to trixie').waitFor()
      assert.equal((await pull()).status, 200)
      await assertAccessible(page, 'overrides')
      assert.deepEqual(problems, [])
    })

    test('a verifier is created, edited and deleted, and its mistakes are at their fields', async () => {
      const { page, problems, open, folder, organization } = await prepared()
      const key = () =>
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' })
      await cast().admin.create(`registry/signatureVerifiers/${organization.uid}`, {
        name: 'release',
        publicKey: { key: key() },
      })
      await open(`/folders/${folder.uid}?tab=pull-policies&section=verifiers`, 'team')
      const verifiers = page.getByRole('grid', { name: 'Verifiers' })
      await verifiers.getByRole('row', { name: /release/ }).waitFor()
      await page.getByRole('button', { name: 'Create a verifier' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('ci')
      await dialog.getByRole('textbox', { name: 'Public key' }).fill('no key')
      await dialog.getByRole('button', { name: 'Create the verifier' }).click()
      await dialog.getByText('must be one public key in PEM').waitFor()
      await assertAccessible(page, 'a verifier with a mistake')
      await dialog.getByRole('textbox', { name: 'Public key' }).fill(String(key()))
      await dialog.getByLabel('Keys of transparency logs').fill(`${key()}${key()}`)
      await dialog.getByRole('button', { name: 'Create the verifier' }).click()
      const row = verifiers.getByRole('row', { name: /^ci/ })
      await row.getByText('Public key (cosign)').waitFor()

      await row.getByRole('button', { name: 'Edit the verifier ci' }).click()
      await dialog.getByLabel('Description').fill('signs releases')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await row.getByText('signs releases').waitFor()
      const { body } = await cast().admin.get('registry/signatureVerifiers', {
        'uidp.descendants_of': folder.uid,
      })
      assert.equal(body.signatureVerifiers[0].publicKey.logKeys.length, 2)
      await assertAccessible(page, 'verifiers')

      await row.getByRole('button', { name: 'Delete the verifier ci' }).click()
      await dialog.getByLabel('Type ci to confirm').fill('ci')
      await dialog.getByRole('button', { name: 'Delete the verifier' }).click()
      await row.waitFor({ state: 'detached' })
      assert.equal(await verifiers.getByRole('row').count(), 1 + 1)
      assert.deepEqual(problems, [])
    })

    test('a boolean parameter whose default is true can be switched off', async () => {
      const { page, problems, open, folder, policies } = await prepared()
      const expression =
        '// param strict: boolean = true -- whether the tag counts\n!params.strict || image.tag != ""'
      await policies.createPolicy(folder.uid, { name: 'strict', expression })
      await open(`/folders/${folder.uid}?tab=pull-policies`, 'team')
      await page.getByRole('button', { name: 'Apply a policy' }).click()
      await choose(page, 'Policy', /^strict/)
      const strict = page.getByRole('checkbox', { name: /^Strict/ })
      assert.equal(await strict.isChecked(), true)
      await page.getByText('whether the tag counts').click()
      assert.equal(await strict.isChecked(), false)
      await page.getByText('--parameter strict=false').waitFor()
      await page.getByRole('button', { name: 'Apply the policy' }).click()
      const applied = page.getByRole('grid', { name: 'Applied policies' })
      await applied.getByText('strict').first().waitFor()
      const { items } = await policies.list('bindings', { 'uidp.descendants_of': folder.uid })
      assert.deepEqual(items[0].parameters, { strict: false })
      await page.getByRole('button', { name: /^Edit/ }).click()
      assert.equal(await strict.isChecked(), false)
      assert.deepEqual(problems, [])
    })

    test('the parameters of a policy that the user cannot read stay when its mode changes', async () => {
      const { organization, folder, policies } = await prepared()
      const policy = await policies.createPolicy(organization.uid, {
        name: 'age',
        expression: '// param days: integer = 30 -- the age that is allowed\nparams.days > 0',
      })
      await policies.bind(folder.uid, policy.id, { days: 7 })
      const { page, problems, open } = await cast().signIn('owner', folder.uid)
      await open(`/folders/${folder.uid}?tab=pull-policies`, 'team')
      await page.getByRole('button', { name: /^Edit/ }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('You cannot read this policy').waitFor()
      await choose(page, 'Mode', /^Dry run/i)
      await assertAccessible(page, 'the parameters of a policy that cannot be read')
      const update = page.waitForRequest((request) => request.method() === 'PUT')
      await dialog.getByRole('button', { name: 'Save' }).click()
      assert.deepEqual((await update).postDataJSON().parameters, { days: 7 })
      await dialog.waitFor({ state: 'detached' })
      const { items } = await policies.list('bindings', { 'uidp.descendants_of': folder.uid })
      assert.deepEqual(items[0].parameters, { days: 7 })
      assert.deepEqual(problems, [])
    })
  },
  imageJobs,
)
