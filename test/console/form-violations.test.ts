import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { managedRole } from '../support/api/api-fixture.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'

/** What the server rejects is at the field that was wrong. The names of fields come from the server: a dialog that asks for others shows nothing there. */

type Values = Readonly<Record<string, string>>

const LONG = 'x'.repeat(5000)

consoleSuite('rejected values in dialogs', (cast) => {
  const fill = async (page: Page, values: Values) => {
    for (const [label, value] of Object.entries(values)) await page.getByLabel(label).fill(value)
  }

  /** Sends the form, and checks that exactly these fields have an error and that no alert repeats it. */
  const assertRejected = async (page: Page, action: string, errors: Readonly<Record<string, RegExp>>) => {
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: action, exact: true }).click()
    await dialog.locator('.field .error').first().waitFor()
    for (const [label, text] of Object.entries(errors)) {
      const field = dialog.locator('.field').filter({ has: page.getByText(label, { exact: true }) })
      assert.match(await field.locator('.error').innerText(), text, label)
    }
    assert.equal(await dialog.locator('.field .error').count(), Object.keys(errors).length)
    assert.equal(await dialog.getByRole('alert').count(), 0)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  }

  test('of identity providers, group mappings and cloud accounts', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const openTab = (tab: string) =>
      open(`/settings/${organization.uid}?tab=${tab}`, `Settings of ${organization.name}`)

    await openTab('sign-in')
    await page.getByRole('button', { name: 'Add an identity provider' }).click()
    await chooseInCombobox(page, 'Role of new users', 'viewer', 'viewer')
    await fill(page, {
      Name: 'okta',
      Issuer: 'not a url',
      'Client ID': LONG,
      'Client secret': LONG,
      'Additional scopes': 'email em"ail',
      'Groups claim (optional)': LONG,
    })
    await assertRejected(page, 'Add the identity provider', {
      Issuer: /https/,
      'Client ID': /at most/,
      'Client secret': /at most/,
      'Additional scopes': /^Entry 2 must be printable/,
      'Groups claim (optional)': /at most/,
    })

    await cast().admin.create(`iam/identityProviders/${organization.uid}`, {
      name: 'okta',
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://accounts.google.com', clientId: 'id', pkceEnabled: true },
    })
    await openTab('mappings')
    await page.getByRole('button', { name: 'Add a mapping' }).click()
    await chooseInCombobox(page, 'Role', 'viewer', 'viewer')
    await fill(page, { 'Group at the provider': LONG })
    await assertRejected(page, 'Add the mapping', { 'Group at the provider': /at most/ })

    await openTab('accounts')
    for (const [cloud, values, errors] of [
      ['Amazon Web Services', { 'Account number': '12' }, { 'Account number': /12 digits/ }],
      [
        'Google Cloud',
        { 'Project ID': LONG, 'Project number': LONG },
        { 'Project ID': /at most/, 'Project number': /at most/ },
      ],
      [
        'Microsoft Azure',
        { 'Tenant ID': LONG, 'Client IDs': 'scanner' },
        { 'Tenant ID': /at most/, 'Client IDs': /^scanner must not be empty/ },
      ],
    ] as readonly (readonly [string, Values, Readonly<Record<string, RegExp>>])[]) {
      await page.getByRole('button', { name: 'Link a cloud account' }).click()
      await page.getByRole('button', { name: /Cloud provider/ }).click()
      await page.getByRole('option', { name: cloud }).click()
      await fill(page, values)
      await assertRejected(page, 'Link the account', errors)
    }
    assert.deepEqual(problems, [])
  })

  test('of operators: limits and storage runs', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await openConsole(cast().chromium, cast().berth, cast().berth.owner)
    await open(`/operator?tab=organizations&q=${organization.name}`, 'Operator')
    await page.getByRole('row', { name: organization.name }).getByRole('button', { name: 'Limits' }).click()
    await fill(page, { Maximum: '99999999999' })
    await assertRejected(page, 'Save the limit', { Maximum: /must be from 0/ })
    await open('/operator?tab=storage', 'Operator')
    await page.getByRole('button', { name: 'Collect garbage' }).click()
    await fill(page, { 'Minimum age in hours': '0' })
    await assertRejected(page, 'Start the dry run', { 'Minimum age in hours': /at least one hour/ })
    assert.deepEqual(problems, [])
  })

  test('a violation that no field shows is in the alert, with the name of its field', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await page.route(/\/iam\/.*groups/, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 400,
            json: {
              code: 3,
              message: 'Invalid argument: name: is taken',
              details: [
                {
                  '@type': 'type.googleapis.com/google.rpc.BadRequest',
                  fieldViolations: [
                    { field: 'group.name', description: 'is taken' },
                    { field: 'group.resource_limits[0].max_count', description: 'must not be negative' },
                  ],
                },
              ],
            },
          })
        : route.continue(),
    )
    await open(`/folders/${organization.uid}`, organization.name)
    await page.getByRole('button', { name: 'Create a folder' }).first().click()
    await fill(page, { Name: 'web' })
    await page.getByRole('button', { name: 'Create the folder' }).click()
    const alert = page.getByRole('dialog').getByRole('alert')
    await alert.getByText('Max count: must not be negative.').waitFor()
    assert.doesNotMatch(await alert.innerText(), /is taken/)
    assert.equal(await page.getByRole('dialog').locator('.field .error').innerText(), 'is taken')
    assert.deepEqual(
      problems.filter((problem) => !/status of 400/.test(problem)),
      [],
    )
  })
})
