import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { claimMatch, managedRole } from '../support/api/api-fixture.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { DRAWN_MS, openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { hold } from '../support/console/held-requests.ts'
import { assertSomethingFocused } from '../support/console/keyboard.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** Forms in dialogs: what is typed is not lost, and what the server rejects is at the field that was wrong. The names of fields come from the server: a dialog that asks for others shows nothing there. */

type Values = Readonly<Record<string, string>>

const LONG = 'x'.repeat(5000)

consoleSuite('forms in dialogs', (cast) => {
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
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  test('rejected values of identity providers, group mappings and cloud accounts', async () => {
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

  test('rejected values of operators: limits and storage runs', async () => {
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

  test('with changes, a dialog asks before it closes; without, it closes immediately', async () => {
    const { uid, name } = await cast().organization()
    const identity = await cast().admin.create(`iam/identities/${uid}`, { name: 'deploy', claimMatch })
    const { page, problems, open } = await cast().signIn('owner', uid)
    const dialog = page.getByRole('dialog')
    const question = page.getByRole('dialog', { name: 'Discard the changes?' })
    const press = (button: string) => page.getByRole('button', { name: button, exact: true }).click()
    const closed = () => dialog.first().waitFor({ state: 'detached' })
    for (const [path, heading, button, field] of [
      [`/folders/${uid}?tab=folders`, name, 'Create a folder', 'Name'],
      [`/folders/${uid}?tab=roles`, name, 'Create a role', 'Description (optional)'],
      [`/folders/${uid}?tab=pull-tokens`, name, 'Create a pull token', 'Name'],
      [`/folders/${uid}?tab=pull-policies&section=verifiers`, name, 'Create a verifier', 'Public key'],
      [`/identities/${identity.uid}`, 'deploy', 'Change the rule', 'Subject'],
      [`/settings/${uid}?tab=sign-in`, `Settings of ${name}`, 'Add an identity provider', 'Client ID'],
    ] as const) {
      await open(path, heading)
      await press(button)
      const text = dialog.getByRole('textbox', { name: field, exact: true })
      const before = await text.inputValue()
      await page.keyboard.press('Escape')
      await closed()
      await press(button)
      await text.fill('typed')
      for (const leave of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 5)]) {
        await leave()
        await question.waitFor()
        await press('Keep editing')
        await question.waitFor({ state: 'detached' })
        assert.equal(await text.inputValue(), 'typed', button)
      }
      await text.fill(before)
      await page.keyboard.press('Escape')
      await closed()
      await press(button)
      await text.fill('typed')
      await page.keyboard.press('Escape')
      await question.waitFor()
      await press('Discard changes')
      await closed()
      await press(button)
      assert.equal(await text.inputValue(), before, button)
      await page.keyboard.press('Escape')
      await closed()
    }
    await press('Add an identity provider')
    await dialog.getByRole('textbox', { name: 'Client ID' }).fill('typed')
    await page.keyboard.press('Escape')
    await question.waitFor()
    await assertAccessible(page, 'a question before changes are lost')
    assert.deepEqual(problems, [])
  })

  test('while it is sent, a dialog stays open for its answer, and what is entered stays after a failure', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    const answer = await hold(page, /invites/i, { method: 'POST' })
    await open(`/folders/${uid}?tab=invites`, name)
    await page.getByRole('button', { name: 'Create an invite' }).click()
    await chooseInCombobox(page, 'Role', 'viewer', 'viewer')
    const address = page.getByRole('textbox', { name: 'Email address (optional)' })
    await address.fill('not an address')
    await address.press('Enter')
    await page.getByRole('button', { name: 'Close' }).waitFor()
    const dialog = page.getByRole('dialog', { name: 'Create an invite' })
    for (const leave of [() => page.keyboard.press('Escape'), () => page.mouse.click(5, 5)]) {
      await leave()
      await page.waitForTimeout(DRAWN_MS)
      assert.equal(await dialog.count(), 1)
    }
    answer.release()
    await dialog.locator('.field .error').waitFor()
    assert.equal(await address.inputValue(), 'not an address')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Discard the changes?' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a form is sent once, although it is sent twice before the page knows', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST' && /groups/.test(request.url())) sent.push(request.url())
    })
    await open(`/folders/${uid}`, name)
    await page.getByRole('button', { name: 'Create a folder' }).first().click()
    await fill(page, { Name: 'web' })
    await page.evaluate(`for (const _ of [1, 2]) document.querySelector('.dialog form').requestSubmit()`)
    await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
    assert.equal(sent.length, 1)
    assert.deepEqual(problems, [])
  })

  test('while the current version is loading after a conflict, nothing can be typed or saved; a failure to load it is shown', async () => {
    const { uid } = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${uid}`, { name: 'team' })
    const { page, problems, open } = await cast().signIn('owner', uid)
    await open(`/folders/${folder.uid}?tab=settings`, 'team')
    const dialog = page.getByRole('dialog')
    const description = dialog.getByRole('textbox', { name: /Description/ })
    const save = dialog.getByRole('button', { name: 'Save' })
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await description.fill('mine')
    await cast().admin.patch(`iam/groups/${folder.uid}`, { description: 'by someone else' })
    await save.click()
    const load = dialog.getByRole('button', { name: 'Load the current version' })
    const answer = Promise.withResolvers<void>()
    let isOffline = true
    await page.route(/\/iam\/v2beta1\/groups/, async (route) => {
      if (isOffline) return route.abort()
      await answer.promise
      return route.continue()
    })
    await load.click()
    await dialog.getByText(/The server does not respond/).waitFor()
    assert.equal(await description.inputValue(), 'mine')
    isOffline = false
    await load.click()
    await dialog.getByRole('textbox', { name: /Description/, disabled: true }).waitFor()
    assert.equal(await save.isDisabled(), true)
    answer.resolve()
    await load.waitFor({ state: 'detached' })
    assert.equal(await description.inputValue(), 'by someone else')
    assert.deepEqual(problems, [])
  })

  test('the page asks before it is left while a form is sent', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', uid)
    const answer = await hold(page, /\/registry\/.*repos/, { method: 'POST' })
    await open(`/folders/${uid}`, name)
    await page.getByRole('tab', { name: 'Repositories' }).click()
    await page.getByRole('button', { name: 'Create a repository' }).first().click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('web')
    await page.getByRole('button', { name: 'Create the repository' }).click()
    await page.getByRole('button', { name: 'Close' }).waitFor()
    await page.evaluate('history.back()')
    const question = page.getByRole('dialog', { name: 'Discard the changes?' })
    await question.getByRole('button', { name: 'Keep editing' }).click()
    answer.release()
    await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('after a dialog is closed, the end of its request does not open another page', async () => {
    const { uid } = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${uid}`, { name: 'team' })
    const { page, problems, open } = await cast().signIn('owner', uid)
    const answer = await hold(page, /\/iam\/.*groups/, { method: 'DELETE' })
    await open(`/folders/${folder.uid}?tab=settings`, 'team')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('textbox', { name: 'Type team to confirm' }).fill('team')
    await page.getByRole('button', { name: 'Delete the folder' }).click()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'Advisories' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
    answer.release()
    await (await deleted).finished()
    await page.waitForTimeout(DRAWN_MS)
    await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
    assert.deepEqual(problems, [])
  })

  test('the end of a request closes only the dialog that sent it', async () => {
    const { uid } = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${uid}`, { name: 'team' })
    const { page, problems, open } = await cast().signIn('owner', uid)
    const answer = await hold(page, /\/iam\/.*groups/, { method: 'PATCH' })
    await open(`/folders/${folder.uid}?tab=settings`, 'team')
    const dialog = page.getByRole('dialog')
    const edit = page.getByRole('button', { name: 'Edit', exact: true })
    await edit.click()
    await dialog.getByRole('textbox', { name: /Description/ }).fill('mine')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
    await edit.click()
    await dialog.waitFor()
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH')
    answer.release()
    await (await saved).finished()
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(await dialog.count(), 1)
    assert.deepEqual(problems, [])
  })

  test('a failure after a dialog is closed is shown on the page until the user dismisses it', async () => {
    const { uid, name } = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${uid}`, { name: 'team' })
    const { page, problems, open } = await cast().signIn('owner', uid)
    const notice = page.getByRole('alert')
    const closeWhileSent = async (action: string, method: string) => {
      const answer = await hold(page, /\/iam\/.*groups/, { method, isFirstOnly: true })
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: action }).click()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'detached' })
      answer.release()
    }

    await open(`/folders/${uid}`, name)
    await page.getByRole('button', { name: 'Create a folder' }).first().click()
    await fill(page, { Name: LONG })
    await closeWhileSent('Create the folder', 'POST')
    await notice.getByText('“Create a folder” failed after its dialog or page was closed.').waitFor()
    await notice.getByText(/^Name: /).waitFor()
    await notice.getByRole('button', { name: 'Dismiss' }).press('Enter')
    await notice.waitFor({ state: 'detached' })
    await assertSomethingFocused(page)

    await open(`/folders/${folder.uid}?tab=settings`, 'team')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await fill(page, { 'Type team to confirm': 'team' })
    await cast().admin.create(`iam/groups/${folder.uid}`, { name: 'inner' })
    await closeWhileSent('Delete the folder', 'DELETE')
    await notice.getByText('“Delete the folder” failed after its dialog or page was closed.').waitFor()
    await page.getByRole('link', { name: 'Advisories' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
    await notice.getByText('“Delete the folder” failed').waitFor()
    await assertAccessible(page, 'a failure after a dialog is closed')
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
    assert.deepEqual(problems, [])
  })
})
