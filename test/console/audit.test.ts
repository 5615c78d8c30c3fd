import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { eventually } from '../support/eventually.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The audit log in the console: events in words, filters in the address, details, following and export. */

consoleSuite('the audit log in the console', (cast) => {
  /** An organization whose owner is signed in, with some events. */
  const newHistory = async () => {
    const organization = await cast().organization()
    const { admin, berth } = cast()
    const owner = await cast().signIn('owner', organization.uid)
    const folder = (await admin.create(`iam/groups/${organization.uid}`, { name: 'team' })).uid
    const email = `${newName('grace')}@example.com`
    const person = await createPerson(berth, { email })
    await admin.create(`iam/roleBindings/${folder}`, { identityUid: person, roleUid: managedRole('editor') })
    const gone = (await admin.create(`registry/repos/${folder}`, { name: 'gone' })).uid
    await admin.delete(`registry/repos/${gone}`)
    return { organization, folder, email, gone, ...owner }
  }
  const denied = async (identity: string, group: string) => {
    const token = await cast().berth.tokenOf(identity)
    const response = await fetch(`${cast().berth.url}/registry/v2beta1/repos/${group}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"name":"x"}',
    })
    assert.equal(response.status, 403)
    // Denials are written a moment later, and a page that was loaded before does not show them.
    const { url, token: admin } = cast().berth
    await eventually(
      () => call('GET', `${url}/audit/v1/events?actor=${identity}&code=7`, { token: admin }),
      ({ body }) => body.events.length > 0,
    )
  }

  test('events are sentences with the names of what exists, and uids of what is deleted', async () => {
    const { organization, folder, email, gone, page, problems, open } = await newHistory()
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await open(`/folders/${folder}?tab=audit`, 'team')
    const events = page.getByRole('grid', { name: 'Events' })
    await events.getByText(`granted the role editor to ${email} in`).waitFor()
    await events.getByText('created the folder').waitFor()
    await events
      .getByRole('link', { name: `${organization.name}/team` })
      .first()
      .waitFor()
    await events.getByText('deleted the repository').waitFor()
    await events.getByTitle(gone).first().waitFor()
    const of = (path: string) => requests.filter((request) => request === path).length
    assert.deepEqual([of('/audit/v1/events'), of('/search/v1/resources:lookup')], [1, 1])
    await page
      .getByText(`berth audit list --parent ${organization.name}/team --recursive --since 24h`)
      .waitFor()
    assert.deepEqual(problems, [])
  })

  test('filters are in the address, and the command has them', async () => {
    const { organization, folder, page, problems, open, identity } = await newHistory()
    const viewer = await createPerson(cast().berth, { email: `${newName('eve')}@example.com` })
    await cast().admin.create(`iam/roleBindings/${organization.uid}`, {
      identityUid: viewer,
      roleUid: managedRole('viewer'),
    })
    await denied(viewer, folder)
    await open('/audit', 'Audit log')
    const events = page.getByRole('grid', { name: 'Events' })
    await events.getByText('created the folder').waitFor()
    await page.getByRole('button', { name: /Result/ }).click()
    await page.getByRole('option', { name: 'Denied' }).click()
    await events.getByText('tried to create a repository in').waitFor({ timeout: 20_000 })
    await events.getByText('denied', { exact: true }).first().waitFor()
    await events.getByText('created the folder').waitFor({ state: 'detached' })
    assert.equal(new URL(page.url()).searchParams.get('result'), 'denied')
    await page.getByText('berth audit list --result denied --since 24h').waitFor()

    await page.getByRole('combobox', { name: 'Who' }).fill('eve-')
    await page.getByRole('option', { name: /eve-/ }).first().click()
    await page.waitForURL((url) => url.searchParams.get('actor') === viewer)
    await events.getByText('tried to create a repository in').waitFor()
    await page.getByRole('button', { name: 'Remove all filters' }).click()
    await events.getByText('created the folder').waitFor()

    await page.getByRole('searchbox', { name: 'Resource' }).fill(`${organization.name}/team`)
    await page.waitForURL((url) => url.searchParams.get('resource') === `${organization.name}/team`)
    await events.getByText('granted the role editor').waitFor()
    await page.getByRole('searchbox', { name: 'Resource' }).fill(`${organization.name}/none`)
    await page.getByText('No resource that you can see has this path.').waitFor()

    await open(`/audit?method=CreateGroup&actor=${identity}`, 'Audit log')
    await page.getByText('No events match the filters.').waitFor()
    await page.getByRole('button', { name: /Time/ }).click()
    await page.getByRole('option', { name: 'Custom' }).click()
    await page.getByLabel('From').fill('2020-01-01T00:00')
    await page.waitForURL((url) => url.searchParams.get('since') === '2020-01-01T00:00')
    await page.getByText(/Times are in /).waitFor()
    assert.deepEqual(problems, [])
  })

  test('an event has details with every field, at an address of its own', async () => {
    const { folder, page, problems, open } = await newHistory()
    await open(`/folders/${folder}?tab=audit`, 'team')
    const events = page.getByRole('grid', { name: 'Events' })
    const row = events.getByRole('row').filter({ hasText: 'granted the role' })
    await row.getByRole('button', { name: /^Details of CreateRoleBinding/ }).click()
    const dialog = page.getByRole('dialog', { name: 'Event' })
    for (const fact of ['Request id', 'Address', 'Method', 'Uid of the resource'])
      await dialog.getByText(fact, { exact: true }).waitFor()
    await dialog.getByText('chainguard.platform.iam.v2beta1.RoleBindingsService/CreateRoleBinding').waitFor()
    await dialog.getByText(/^berth audit describe /).waitFor()
    const address = page.url()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.goto(address)
    await dialog.getByText('granted the role editor').waitFor()
    await page.goto(address.replace(/[0-9a-f]{4}$/, '0000'))
    await dialog.getByText('The event does not exist, or you cannot see it.').waitFor()
    assert.deepEqual(problems, [])
  })

  test('new events appear while it follows', async () => {
    const { folder, page, problems, open } = await newHistory()
    await open(`/folders/${folder}?tab=audit`, 'team')
    await page.getByText('Follow live').click()
    await page.getByText('Reads new events every 3 seconds.').waitFor()
    const name = newName('later')
    await cast().admin.create(`iam/groups/${folder}`, { name })
    await page
      .getByRole('grid', { name: 'Events' })
      .getByRole('link', { name: new RegExp(name) })
      .waitFor()
    assert.deepEqual(problems, [])
  })

  test('events are saved as CSV and as JSON lines with the session of the browser', async () => {
    const { folder, page, problems, open } = await newHistory()
    await open(`/folders/${folder}?tab=audit`, 'team')
    await page.getByRole('grid', { name: 'Events' }).waitFor()
    const save = async (format: RegExp) => {
      await page.getByRole('button', { name: 'Export' }).click()
      await page.getByRole('button', { name: /Format/ }).click()
      await page.getByRole('option', { name: format }).click()
      const download = page.waitForEvent('download')
      await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
      const file = readFileSync(await (await download).path(), 'utf8')
      await page.getByText(/The file has [4-9] events/).waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      return file
    }
    const [head, ...rows] = (await save(/CSV/)).trim().split('\r\n')
    assert.match(head ?? '', /^createTime,actor,method,resourceUid,code/)
    const lines = (await save(/JSON lines/)).trim().split('\n')
    assert.equal(rows.length, lines.length)
    assert.equal(JSON.parse(lines[0] ?? '').resourceUid, folder)
    assert.deepEqual(problems, [])
  })

  test('a running export ends with its button, not with a key or a click beside the dialog', async () => {
    const { folder, page, problems, open } = await newHistory()
    await open(`/folders/${folder}?tab=audit`, 'team')
    await page.getByRole('grid', { name: 'Events' }).waitFor()
    const slow = Promise.withResolvers<void>()
    await page.route('**/events:export*', async (route) => {
      await slow.promise
      await route.continue()
    })
    const dialog = page.getByRole('dialog')
    const start = async () => {
      await page.getByRole('button', { name: 'Export' }).click()
      await dialog.getByRole('button', { name: 'Export' }).click()
      await dialog.getByText('Exporting…').waitFor()
    }
    await start()
    const ended = page.waitForEvent('requestfailed')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await ended
    await dialog.waitFor({ state: 'detached' })
    await start()
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    const download = page.waitForEvent('download')
    slow.resolve()
    await download
    await dialog.getByText(/The file has [4-9] events/).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    assert.deepEqual(problems, [])
  })

  test('a user who may read no events sees what is missing, and the API refuses too', async () => {
    const organization = await cast().organization()
    const { page, problems, open, identity } = await cast().signIn('registry.pull', organization.uid)
    await open('/audit', 'Audit log')
    await page.getByText('Requires the capability subscriptions.create').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Export' }).isDisabled(), true)
    await open(`/folders/${organization.uid}?tab=audit`, organization.name)
    await page.getByText('Requires the capability subscriptions.create').waitFor()
    const token = await cast().berth.tokenOf(identity)
    const list = await fetch(`${cast().berth.url}/audit/v1/events`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.deepEqual(((await list.json()) as { events: unknown[] }).events, [])
    assert.deepEqual(problems, [])
  })

  test('the audit log passes axe', async () => {
    const { folder, page, problems, visit, organization } = await newHistory()
    await cast().admin.create(`iam/groups/${folder}`, {
      name: 'sehr-langer-name-einer-abteilung-fuer-containerbilder-im-rechenzentrum',
    })
    await visit(`/audit?range=custom&since=2026-01-01T00:00&resource=${organization.uid}`, 'Audit log')
    await page.getByRole('grid', { name: 'Events' }).waitFor()
    await assertAccessible(page, 'log')
    await page
      .getByRole('button', { name: /^Details/ })
      .first()
      .click()
    await page.getByText('Request id').waitFor()
    await assertAccessible(page, 'event')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('dialog', { name: 'Export events' }).waitFor()
    await assertAccessible(page, 'export')
    await visit('/audit?range=1h&method=None', 'Audit log')
    await page.getByText('No events match').waitFor()
    await assertAccessible(page, 'empty')
    assert.deepEqual(problems, [])
  })
})
