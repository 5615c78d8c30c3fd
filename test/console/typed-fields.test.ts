import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { DRAWN_MS } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { hold } from '../support/console/held-requests.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** What is typed stays, and chooses what it names, before and after the server responds. */

consoleSuite('fields in which a user types', (cast) => {
  const signedIn = async () => {
    const organization = await cast().organization()
    return { organization, ...(await cast().signIn('owner', organization.uid)) }
  }
  const applied = (page: Page, name: string, value: string | null) =>
    page.waitForURL((url) => url.searchParams.get(name) === value)

  test('a filter keeps what is typed while a part of it is applied', async () => {
    const { page, problems, open } = await signedIn()
    await open('/audit', 'Audit log')
    const field = page.getByRole('searchbox', { name: 'Resource' })
    await field.pressSequentially('acme ')
    await applied(page, 'resource', 'acme')
    await field.pressSequentially('team')
    await applied(page, 'resource', 'acme team')
    assert.equal(await field.inputValue(), 'acme team')
    await page.getByRole('button', { name: 'Remove all filters' }).click()
    await applied(page, 'resource', null)
    assert.equal(await field.inputValue(), '')
    assert.deepEqual(problems, [])
  })

  test('a filter of days or times is typed on the keyboard', async () => {
    const { organization, page, problems, open } = await signedIn()
    await open(`/folders/${organization.uid}?tab=pull-policies&section=decisions`, organization.name)
    await page.getByLabel('Last day').focus()
    await page.keyboard.type('02292024', { delay: 100 })
    await applied(page, 'until', '2024-02-29')
    await open('/audit?range=custom', 'Audit log')
    await page.getByLabel('From').focus()
    await page.keyboard.type('02292024', { delay: 100 })
    await page.keyboard.press('ArrowRight')
    await page.keyboard.type('0130PM', { delay: 100 })
    await applied(page, 'since', '2024-02-29T13:30')
    assert.deepEqual(problems, [])
  })

  test('until the server responds, Enter chooses only what matches, and first what has this name', async () => {
    const { organization, page, problems, open } = await signedIn()
    // The part before the @ is the name.
    const name = newName('grace')
    const email = `${name}@example.com`
    const grace = await createPerson(cast().berth, { email })
    await cast().admin.create(`iam/roleBindings/${organization.uid}`, {
      identityUid: grace,
      roleUid: managedRole('viewer'),
    })
    await open(`/folders/${organization.uid}?tab=people`, organization.name)
    await page.getByRole('button', { name: 'Grant a role', exact: true }).click()
    const options = page.getByRole('option')
    for (const [field, text, chosen] of [
      ['Person or workload', email, name],
      ['Role', 'viewer', 'viewer'],
    ] as const) {
      const input = page.getByRole('combobox', { name: field })
      await input.click()
      // The first choices, for no text.
      await options.nth(1).waitFor()
      const answer = await hold(page, /findCandidates|search/i)
      await input.pressSequentially(text)
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await options.first().waitFor({ state: 'detached' })
      assert.equal(await input.inputValue(), chosen)
      answer.release()
      await page.unrouteAll({ behavior: 'wait' })
    }
    await page.getByRole('dialog').getByRole('button', { name: 'Grant the role', exact: true }).click()
    const row = page.getByRole('grid', { name: 'Members' }).getByRole('row')
    await row.filter({ hasText: email }).filter({ hasText: 'here' }).first().waitFor()
    assert.deepEqual(problems, [])
  })

  test('what is typed before a proposal is known stays the choice of the user', async () => {
    const { organization, page, problems, open } = await signedIn()
    const answer = await hold(page, /\/iam\/v2beta1\/roles/)
    await open(`/folders/${organization.uid}?tab=pull-tokens`, organization.name)
    await page.getByRole('button', { name: 'Create a pull token' }).click()
    const role = page.getByRole('combobox', { name: 'Role' })
    await role.pressSequentially('viewer')
    const read = page.waitForResponse(/\/iam\/v2beta1\/roles/)
    answer.release()
    await (await read).finished()
    await page.waitForTimeout(DRAWN_MS)
    assert.equal(await role.inputValue(), 'viewer')
    assert.deepEqual(problems, [])
  })

  test('what is typed in a filter is not a filter of the next page', async () => {
    const { organization, page, problems, open } = await signedIn()
    await cast().admin.create(`registry/repos/${organization.uid}`, { name: 'web' })
    await open('/audit', 'Audit log')
    const code = await hold(page, /\.js$/)
    const field = page.getByRole('searchbox', { name: 'Method' })
    await field.pressSequentially('CreateGroup')
    await page.getByRole('link', { name: 'Advisories' }).first().click()
    await page.waitForURL(/\/advisories/)
    await page.waitForTimeout(DRAWN_MS)
    code.release()
    await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
    assert.equal(new URL(page.url()).search, '')
    assert.deepEqual(problems, [])
  })
})
