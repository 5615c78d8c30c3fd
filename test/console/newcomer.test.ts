import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { wolfiDocument } from '../support/console/advisory-files.ts'
import { openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { TaskMeter } from '../support/console/task-meter.ts'
import { bearerOf, hostOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { PASSWORD, setupPath } from '../support/signin/local-accounts.ts'

/**
 * What a newcomer does first, from the link that the server prints: how many clicks, and how many seconds. The seconds are those of the
 * pages, without the time that people need to read. Commands of a terminal are counted; of Docker's, only the requests for images are sent.
 */

consoleSuite('a newcomer to the console', (cast) => {
  test('reaches the first goals in few steps', async (t) => {
    const { berth, chromium, admin } = cast()
    const meter = new TaskMeter()
    const { page, problems } = await openConsole(chromium, berth, berth.owner)
    await page.context().clearCookies()
    const guest = await openConsole(chromium, berth, berth.owner)
    await guest.page.context().clearCookies()
    const organization = 'acme'
    const path = `${organization}/team/web`
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    const tab = (name: string) => page.getByRole('tab', { name, exact: true })

    await page.goto(berth.url + (await setupPath(berth)))
    await meter.measure('create the owner account', async () => {
      await meter.type(page.getByLabel('Your name'), 'Ada Lovelace')
      await meter.type(page.getByLabel('Email'), 'ada@example.com')
      await meter.type(page.getByLabel('Password'), PASSWORD)
      await meter.type(page.getByLabel('Organization name'), organization)
      await meter.click(page.getByRole('button', { name: 'Create account' }))
      await page.getByText('Account created').waitFor()
    })

    const first = testImage()
    await meter.measure('push the first image', async () => {
      await meter.click(
        page.getByRole('grid', { name: 'Organizations' }).getByRole('link', { name: organization }),
      )
      await meter.click(button('Create a folder'))
      await meter.type(page.getByRole('textbox', { name: 'Name' }), 'team')
      await meter.click(button('Create the folder'))
      await heading('team')
      await meter.click(tab('Repositories'))
      await meter.click(button('Create a repository'))
      await meter.type(page.getByRole('textbox', { name: 'Name' }), 'web')
      await meter.click(button('Create the repository'))
      await heading('web')
      await page.getByText(`docker push ${hostOf(berth)}/${path}:latest`).waitFor()
      // docker login, docker tag and docker push, as the page shows them.
      for (const command of [noCommand, noCommand, () => pushImage(registry, path, first, 'latest')])
        await meter.run<unknown>(command)
    })

    const link = await meter.measure('invite a colleague by a link', async () => {
      await meter.click(page.getByRole('link', { name: organization, exact: true }).first())
      await meter.click(tab('Invites'))
      await meter.click(button('Create an invite'))
      await meter.choose(page, 'Role', 'viewer', /^viewer/)
      await meter.click(button('Create the invite'))
      return (await page.getByText(/\/invite#/).textContent()) ?? ''
    })

    await meter.measure('the colleague joins and pulls the image', async () => {
      await guest.page.goto(link)
      await meter.click(guest.page.getByRole('button', { name: 'Create an account' }))
      await meter.type(guest.page.getByLabel('Your name'), 'Grace Hopper')
      await meter.type(guest.page.getByLabel('Email'), 'grace@example.com')
      await meter.type(guest.page.getByLabel('Password'), PASSWORD)
      await meter.click(guest.page.getByRole('button', { name: 'Create account' }))
      await meter.click(guest.page.getByRole('button', { name: 'Accept' }))
      await meter.click(guest.page.getByRole('link', { name: 'Continue with the next steps' }))
      await meter.click(guest.page.getByRole('button', { name: 'Search' }))
      await meter.type(guest.page.getByRole('searchbox'), 'web:latest')
      await meter.click(guest.page.getByRole('option', { name: `${path}:latest` }).first())
      await meter.click(guest.page.getByText('Pull commands'))
      await guest.page.getByText(`docker pull ${hostOf(berth)}/${path}:latest`).waitFor()
      const pull = async () => {
        const colleague = await colleagueUid()
        const client = ociClient(berth, await bearerOf(berth, colleague))
        const reply = await client.request('GET', `${path}/manifests/latest`)
        assert.equal(reply.status, 200)
      }
      for (const command of [noCommand, pull]) await meter.run(command)
    })

    await meter.measure('connect CI', async () => {
      await meter.click(tab('Identities'))
      await meter.click(button('Create an identity'))
      await page.getByRole('radio', { name: /GitHub Actions/ }).waitFor()
      await meter.click(page.getByText('GitHub Actions', { exact: true }))
      await meter.click(button('Continue'))
      await meter.type(page.getByRole('textbox', { name: 'Repository' }), 'acme/app')
      await meter.click(button('Continue'))
      await meter.click(button('Create the identity'))
      await page.getByText('The identity is created').waitFor()
      await meter.click(button('Copy the workflow'))
    })

    await meter.measure('grant a role', async () => {
      await meter.click(page.getByRole('link', { name: organization, exact: true }).first())
      await meter.click(tab('People'))
      await meter.click(button('Grant a role'))
      await meter.choose(page, 'Person or workload', 'grace', /grace/i)
      await meter.choose(page, 'Role', 'registry.push', /^registry\.push/)
      await meter.click(page.getByRole('dialog').getByRole('button', { name: 'Grant the role', exact: true }))
      await page.getByRole('button', { name: /^Change the role registry\.push of grace/ }).waitFor()
    })
    await meter.measure('explain access', async () => {
      await meter.click(page.getByRole('link', { name: 'Explain access' }))
      await meter.choose(page, 'Person or workload', 'grace', /grace/i)
      await meter.choose(page, 'Capability', 'manifest.create', /^manifest\.create/)
      await page.getByText(/can push image manifests in acme\.$/).waitFor()
    })

    await meter.measure('create a pull token', async () => {
      await meter.click(page.getByRole('link', { name: organization, exact: true }).first())
      await meter.click(tab('Pull tokens'))
      await meter.click(button('Create a pull token'))
      await meter.click(button('Create the pull token'))
      await meter.click(button('Copy the password'))
    })
    await meter.measure('revoke a pull token', async () => {
      await meter.click(page.getByRole('button', { name: /^Revoke the pull token / }))
      await meter.click(button('Revoke the pull token'))
      await page.getByText('There are no pull tokens yet').waitFor()
    })

    await pushImage(registry, path, testImage(), 'latest')
    await meter.measure('restore a tag from its history', async () => {
      await meter.click(button('Search'))
      await meter.type(page.getByRole('searchbox'), 'web:latest')
      await meter.click(page.getByRole('option', { name: `${path}:latest` }).first())
      await meter.click(page.getByRole('button', { name: /^Restore the digest/ }))
      await meter.click(button('Restore this digest'))
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    })

    const content = Buffer.from(wolfiDocument('nginx')).toString('base64')
    await admin.post(`vulnerabilities/advisories/${berth.organization}:importDocuments`, {
      documents: [{ name: 'nginx.yaml', content }],
    })
    await meter.measure('find a CVE', async () => {
      await meter.click(button('Search'))
      await meter.type(page.getByRole('searchbox'), 'CVE-2024-7347')
      await meter.click(page.getByRole('group', { name: 'Advisories' }).getByRole('option').first())
      await heading('CGA-2222-3333-4444')
    })
    report(t, meter)
    assert.deepEqual([...problems, ...guest.problems], [])

    async function colleagueUid(): Promise<string> {
      const { kysely } = berth.berth.installation.store.db
      const { identity_uid } = await kysely
        .selectFrom('accounts')
        .select('identity_uid')
        .where('email', '=', 'grace@example.com')
        .executeTakeFirstOrThrow()
      return identity_uid
    }
  })
})

/** A command that this machine does not need. */
const noCommand = () => Promise.resolve()

function report(t: TestContext, { costs }: TaskMeter): void {
  for (const { task, clicks, fields, commands, seconds } of costs)
    t.diagnostic(`${task}: ${clicks} clicks, ${fields} fields, ${commands} commands, ${seconds.toFixed(1)} s`)
}
