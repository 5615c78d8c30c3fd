import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { type ConsoleFixture, consoleSuite } from '../support/console/console-suite.ts'
import { LONG, MARKUP, OVERRIDE } from '../support/console/hostile.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { cleanups } from '../support/server/process.ts'
import { assertAccessible } from '../support/signin/axe.ts'
import {
  startUpstreamProvider,
  UPSTREAM_CLIENT,
  type UpstreamProvider,
} from '../support/signin/upstream-provider.ts'

/** The settings of organizations and folders, and what they use. */

const DAY_MS = 24 * 60 * 60 * 1000
const MIB = 1024 * 1024

consoleSuite('settings of organizations in the console', (cast) => {
  const clean = cleanups()
  after(() => clean.run())
  let upstream: UpstreamProvider | undefined
  const openUpstream = async () => {
    upstream ??= await startUpstreamProvider(clean, () => cast().berth.url)
    upstream.person = undefined
    return upstream
  }

  const limit = (
    { berth }: ConsoleFixture,
    uid: string,
    limits: readonly (readonly ['repos' | 'storage_mib', number])[],
  ) => organizationSettings(berth.berth.installation, uid, { limits: new Map(limits) })

  /** Days that were recorded until today, and a repository with some of the pulls. */
  const record = async ({ berth }: ConsoleFixture, root: string, repo: string, days: number) => {
    const { db, clock } = berth.berth.installation.store
    const today = Math.floor(clock() / DAY_MS)
    await inTransaction(db, async (tx) => {
      for (let ago = days; ago > 0; ago--) {
        const n = days - ago
        const transfers = { pulls: 100 + ((n * 37) % 90), pushes: n % 7 }
        const levels = { stored_bytes: n * MIB, manifests: 40 + n, tags: 20 + n, repos: 5 }
        await tx
          .insertInto('usage_days')
          .values({ root, day: today - ago, ...levels, ...transfers })
          .execute()
        await tx
          .insertInto('repo_usage_days')
          .values({ root, repo, day: today - ago, ...transfers })
          .execute()
      }
    })
  }

  test('usage shows bars against limits, warns near a limit, and trends with tables', async () => {
    const organization = await cast().organization()
    const { admin, berth } = cast()
    const repo = await admin.create(`registry/repos/${organization.uid}`, { name: 'web' })
    const registry = ociClient(berth, await bearerOf(berth, berth.owner))
    await pushImage(registry, `${organization.name}/web`, testImage(), 'v1')
    await limit(cast(), organization.uid, [
      ['repos', 1],
      ['storage_mib', 100],
    ])
    await record(cast(), organization.uid, repo.uid, 60)
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/settings/${organization.uid}`, `Settings of ${organization.name}`)
    await page.getByText('Near or at the limit: repositories.').waitFor()
    await page.getByRole('meter', { name: /Repositories/ }).waitFor()
    await page.getByText('1 of 1', { exact: true }).first().waitFor()
    await page.getByRole('img', { name: /^Stored bytes, .* at most 59 MiB\. A table follows\.$/ }).waitFor()
    await page.getByRole('img', { name: /^Pulls and pushes, / }).waitFor()
    const bytes = page.getByRole('figure', { name: 'Stored bytes' })
    // Screen readers have the table before it is shown.
    assert.ok((await bytes.getByRole('row').count()) > 60)
    await bytes.getByRole('button', { name: 'Show as table' }).click()
    await bytes.getByRole('row', { name: /59 MiB/ }).waitFor()
    await page.getByRole('link', { name: 'web', exact: true }).waitFor()
    await page.getByRole('button', { name: /Period/ }).click()
    await page.getByRole('option', { name: '30 days' }).click()
    await page.waitForURL(/days=30/)
    await page.getByText(`berth usage ${organization.name}`).waitFor()
    assert.deepEqual(problems, [])
  })

  test('an organization without records says that values are recorded daily', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    await open(`/settings/${organization.uid}`, `Settings of ${organization.name}`)
    await page.getByText('No data yet. Values are recorded daily.').first().waitFor()
    await page.getByText('This organization has no limits').waitFor()
    await page.getByText('No pulls in this period.').waitFor()
    assert.deepEqual(problems, [])
  })

  test('an owner adds an OpenID provider, tests it line by line, maps groups, and deletes both', async () => {
    const { issuer } = await openUpstream()
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/settings/${organization.uid}?tab=sign-in`, `Settings of ${organization.name}`)
    await page.getByRole('button', { name: 'Add an identity provider' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('okta')
    await page.getByRole('textbox', { name: 'Issuer' }).fill('not a url')
    await page.getByRole('textbox', { name: 'Client ID' }).fill(UPSTREAM_CLIENT.id)
    await page.getByLabel('Client secret').fill('wrong')
    await chooseInCombobox(page, 'Role of new users', 'viewer', /^viewer/)
    await page.getByRole('textbox', { name: 'Groups claim' }).fill('groups')
    await page.getByRole('textbox', { name: 'Additional scopes' }).fill('email groups')
    await page.getByRole('button', { name: 'Add the identity provider' }).click()
    await page.getByRole('dialog').locator('.error').first().waitFor()
    await page.getByRole('textbox', { name: 'Issuer' }).fill(issuer)
    await page.getByRole('button', { name: 'Add the identity provider' }).click()
    await page.getByRole('heading', { name: 'okta' }).waitFor()
    await page.getByText(`${cast().berth.url}/oauth/callback/${organization.uid}/`).waitFor()

    const report = async () => {
      const [tab] = await Promise.all([
        page.waitForEvent('popup'),
        page.getByRole('link', { name: 'Test the sign-in' }).click(),
      ])
      await tab.getByRole('heading', { level: 1, name: 'Test the sign-in with okta?' }).waitFor()
      await tab.getByRole('link', { name: 'Continue' }).click()
      await tab.getByRole('heading', { level: 1, name: /^Sign-in with/ }).waitFor()
      const text = await tab.getByRole('main').innerText()
      await tab.close()
      return text
    }
    assert.match(await report(), /Discovery: passed[\s\S]*Response: failed[\s\S]*access_denied/)
    const provider = upstream as UpstreamProvider
    provider.person = {
      sub: 'ada',
      email: 'ada@example.com',
      email_verified: false,
      groups: ['ops', '<b>x</b>'],
    }
    assert.match(await report(), /fails[\s\S]*Tokens: failed[\s\S]*Check the client ID, the client secret/)

    await page.getByRole('button', { name: 'Edit' }).click()
    assert.equal(await page.getByLabel('Client secret').inputValue(), '', 'the secret is not shown')
    await page.getByLabel('Client secret').fill(UPSTREAM_CLIENT.secret)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })

    await page.getByRole('tab', { name: 'Group mappings' }).click()
    await page.getByText('There are no group mappings yet').waitFor()
    for (const group of ['ops', 'dev']) {
      await page.getByRole('button', { name: 'Add a mapping' }).click()
      await page.getByRole('textbox', { name: 'Group at the provider' }).fill(group)
      await chooseInCombobox(page, 'Role', 'editor', /^editor/)
      await page.getByRole('button', { name: 'Add the mapping' }).click()
      await page.getByRole('grid', { name: 'Group mappings' }).getByText(group).waitFor()
    }

    await page.getByRole('tab', { name: 'Sign-in' }).click()
    await page.getByRole('link', { name: 'okta' }).click()
    const passed = await report()
    assert.match(passed, /works[\s\S]*Tokens: passed[\s\S]*The subject ada is new/)
    assert.match(passed, /ada@example.com, without email_verified/)
    assert.match(passed, /ops \(mapped\), <b>x<\/b>/)
    const { identities } = (await cast().admin.get('iam/identities', { name: 'ada@example.com' })).body
    assert.deepEqual(identities ?? [], [], 'the test registers no user')
    await page.reload()
    await page.getByRole('heading', { name: 'okta' }).waitFor()

    await page.getByRole('tab', { name: 'Group mappings' }).click()
    const mappings = page.getByRole('grid', { name: 'Group mappings' })
    await mappings.getByText('ops').waitFor()
    for (const group of ['ops', 'dev'])
      await mappings.getByRole('row').filter({ hasText: group }).locator('.checkbox').click()
    await page.getByRole('button', { name: 'Delete 2 mappings' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 mappings' }).click()
    await page.getByText('There are no group mappings yet').waitFor()

    await page.getByRole('tab', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Delete okta' }).click()
    await page.getByRole('textbox', { name: 'Type okta to confirm' }).fill('okta')
    await page.getByRole('button', { name: 'Delete the identity provider' }).click()
    await page.getByText('There are no identity providers yet').waitFor()
    assert.deepEqual(problems, [])
  })

  test('an owner links cloud accounts, checks one, and unlinks them', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/settings/${organization.uid}?tab=accounts`, `Settings of ${organization.name}`)
    await page.getByText('There are no linked accounts yet').waitFor()
    await page.getByRole('button', { name: 'Link a cloud account' }).click()
    await page.getByRole('textbox', { name: 'Account number' }).fill('12')
    await page.getByRole('button', { name: 'Link the account' }).click()
    await page.getByRole('dialog').locator('.error').first().waitFor()
    await page.getByRole('textbox', { name: 'Account number' }).fill('123456789012')
    await page.getByRole('button', { name: 'Link the account' }).click()
    await page.getByText('Amazon Web Services: account 123456789012').waitFor()
    await page.getByRole('button', { name: 'Link a cloud account' }).click()
    await page.getByRole('button', { name: /Cloud provider/ }).click()
    await page.getByRole('option', { name: 'Google Cloud' }).click()
    await page.getByRole('textbox', { name: 'Project ID' }).fill('acme-prod')
    await page.getByRole('textbox', { name: 'Project number' }).fill('345678901234')
    await page.getByRole('button', { name: 'Link the account' }).click()
    await page.getByText('Google Cloud: project acme-prod (345678901234)').waitFor()
    await page.getByRole('button', { name: 'Check Amazon Web Services' }).click()
    await page
      .getByRole('status')
      .getByText(/not configured|unreachable|refused|not|answer/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Unlink accounts' }).click()
    await page.getByRole('button', { name: 'Unlink all accounts' }).click()
    await page.getByText('There are no linked accounts yet').waitFor()
    assert.deepEqual(problems, [])
  })

  test('an organization is deleted after what is in it, with its name typed', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const repo = await cast().admin.create(`registry/repos/${organization.uid}`, { name: 'web' })
    await open(`/settings/${organization.uid}?tab=danger`, `Settings of ${organization.name}`)
    await page.getByText('Only the operator changes the status').waitFor()
    await page.getByRole('link', { name: 'Repositories' }).waitFor()
    await page.getByRole('button', { name: 'Delete the organization' }).click()
    await page.getByRole('textbox', { name: `Type ${organization.name} to confirm` }).fill(organization.name)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the organization' }).click()
    await page
      .getByRole('alert')
      .getByText(/still contains/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    assert.equal((await cast().admin.delete(`registry/repos/${repo.uid}`)).status, 200)
    assert.equal((await cast().admin.get(`iam/groups/${organization.uid}`)).status, 200)
    assert.deepEqual(problems, [])
  })

  test('the settings of a folder rename it, and list with links what blocks its deletion', async () => {
    const organization = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const repo = await cast().admin.create(`registry/repos/${folder.uid}`, { name: 'web' })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${folder.uid}?tab=settings`, 'team')
    await page.getByRole('link', { name: 'Repositories' }).waitFor()
    await page.getByText('A folder cannot be moved to another one').waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('crew')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'crew' }).waitFor()
    assert.equal((await cast().admin.delete(`registry/repos/${repo.uid}`)).status, 200)
    await page.reload()
    await page.getByText('The folder is empty.').waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('textbox', { name: 'Type crew to confirm' }).fill('crew')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the folder' }).click()
    await page.getByRole('heading', { level: 1, name: organization.name }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a role without capabilities names them, and the API refuses the actions too', async () => {
    const organization = await cast().organization()
    const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
      name: newName('reader'),
      capabilities: ['CAP_IAM_GROUPS_LIST'],
    })
    const { page, problems, open, identity } = await cast().signIn(role.uid, organization.uid)
    for (const [tab, capability] of [
      ['', 'repo.list'],
      ['sign-in', 'identity_providers.list'],
      ['mappings', 'identity_providers.create'],
      ['accounts', 'account_associations.list'],
      ['danger', 'groups.delete'],
    ]) {
      await open(`/settings/${organization.uid}?tab=${tab}`, `Settings of ${organization.name}`)
      await page.getByText(`Requires the capability ${capability}`).first().waitFor()
    }
    const token = await cast().berth.tokenOf(identity)
    for (const path of [
      `/registry/v2beta1/usage/${organization.uid}/history`,
      `/iam/v2beta1/accountAssociations/${organization.uid}`,
    ])
      assert.equal(
        (await fetch(`${cast().berth.url}${path}`, { headers: { authorization: `Bearer ${token}` } })).status,
        403,
        path,
      )
    await open(`/settings/${organization.uid}/0000000000000000`, 'Not found')
    await open(`/settings/${'0'.repeat(40)}`, 'Not found')
    assert.deepEqual(problems, [])
  })

  test('every page and dialog of the settings passes axe', async () => {
    const { admin } = cast()
    const { issuer } = await openUpstream()
    const organization = await admin.create('iam/groups', { name: `${newName('org')}-${LONG}`.slice(0, 60) })
    const root = organization.uid
    const folder = await admin.create(`iam/groups/${root}`, {
      name: LONG,
      description: `${MARKUP} ${OVERRIDE}`,
    })
    const repo = await admin.create(`registry/repos/${folder.uid}`, { name: 'app' })
    await limit(cast(), root, [
      ['repos', 1],
      ['storage_mib', 100],
    ])
    await record(cast(), root, repo.uid, 80)
    const provider = await admin.create(`iam/identityProviders/${root}`, {
      name: LONG,
      description: 'The accounts of the company',
      defaultRole: managedRole('viewer'),
      oidc: {
        issuer,
        clientId: 'berth',
        clientSecret: 'x',
        additionalScopes: ['email'],
        groupsClaim: 'groups',
      },
    })
    for (const externalGroupId of ['ops', `${LONG}<b>`])
      await admin.create(`iam/externalGroupRoleMappings/${provider.uid}`, {
        externalGroupId,
        roleUid: managedRole('viewer'),
        scope: root,
      })
    await admin.create(`iam/accountAssociations/${root}`, {
      name: 'accounts',
      amazon: { account: '123456789012' },
      google: { projectId: 'acme-prod', projectNumber: '345678901234' },
    })
    const heading = `Settings of ${organization.name}`
    const { page, problems, visit } = await cast().signIn('owner', root)
    const desktop = () => page.setViewportSize({ width: 1280, height: 800 })
    for (const tab of ['usage', 'sign-in', 'mappings', 'domains', 'accounts', 'danger']) {
      await desktop()
      await visit(`/settings/${root}?tab=${tab}`, heading)
      await assertAccessible(page, tab)
    }
    await desktop()
    await visit(`/settings/${root}`, heading)
    await page.getByRole('button', { name: 'Show as table' }).first().click()
    await assertAccessible(page, 'usage table')
    await desktop()
    await visit(`/settings/${root}?tab=sign-in&provider=${provider.uid}`, heading)
    await page.getByText('Test the sign-in').waitFor()
    await assertAccessible(page, 'provider')
    for (const [tab, button] of [
      ['sign-in', 'Add an identity provider'],
      ['mappings', 'Add a mapping'],
      ['accounts', 'Link a cloud account'],
      ['danger', 'Delete the organization'],
    ] as const) {
      await desktop()
      await visit(`/settings/${root}?tab=${tab}`, heading)
      await page.getByRole('button', { name: button }).click()
      await assertAccessible(page, `${tab} ${button}`)
    }
    await desktop()
    await visit(`/folders/${folder.uid}?tab=settings`, LONG)
    await assertAccessible(page, 'folder settings')
    assert.deepEqual(problems, [])
  })
})
