import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { newName } from '../support/api/api-fixture.ts'
import { newAccount } from '../support/api/operator.ts'
import { type ConsolePage, openConsole } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { HACKED, LONG, MARKUP, OVERRIDE, VERY_LONG } from '../support/console/hostile.ts'
import { createPerson, createSession } from '../support/signin/accounts.ts'

/** What strangers and other systems state about themselves, in the audit log and in the lists of operators: all of it is text. */

const HOSTILE = `${MARKUP} ${OVERRIDE}`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

consoleSuite('hostile content in lists of the console', (cast) => {
  const db = () => cast().berth.berth.installation.store.db.kysely

  const assertHarmless = async ({ page, problems }: ConsolePage, what: string) => {
    for (const width of [1280, 375]) {
      await page.setViewportSize({ width, height: 800 })
      assert.equal(await page.evaluate(OVERFLOW), 0, `${what} at ${width} pixels`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    assert.equal(await page.locator('img[src=x]').count(), 0, what)
    assert.equal(await page.evaluate(HACKED), undefined, what)
    assert.deepEqual(problems, [], what)
  }
  const shows = (page: Page, label: string, text: string) =>
    page.getByRole('grid', { name: label, exact: true }).getByText(text).first().waitFor()

  test('every field of an audit event', async () => {
    const organization = await cast().organization()
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: newName('team') })
    await db()
      .updateTable('audit_events')
      .set({
        code: 7,
        reason: `${HOSTILE} ${VERY_LONG}`,
        request_id: HOSTILE,
        address: HOSTILE,
        issuer: `https://${LONG}.example/${HOSTILE}`,
        subject: `${HOSTILE} ${VERY_LONG}`,
        method: `${MARKUP}/${HOSTILE}`,
      })
      .where('parent', '=', folder.uid)
      .execute()
    const owner = await cast().signIn('owner', organization.uid)
    const { page, open } = owner
    await open(`/folders/${folder.uid}?tab=audit`, folder.name)
    await shows(page, 'Events', MARKUP)
    await assertHarmless(owner, 'the list')
    await page
      .getByRole('button', { name: /^Details/ })
      .first()
      .click()
    const dialog = page.getByRole('dialog', { name: 'Event' })
    for (const fact of ['Reason', 'Method', 'Address', 'Token issuer', 'Token subject'])
      await dialog.getByText(fact, { exact: true }).locator('xpath=..').getByText(MARKUP).first().waitFor()
    await assertHarmless(owner, 'the dialog')
  })

  test('every list of operators', async () => {
    const { berth } = cast()
    const { clock } = berth.berth.installation.store
    const organization = await cast().organization()
    const person = await createPerson(berth, { email: `${newName('eve')}@example.com` })
    await cast().signIn('owner', organization.uid)
    await newAccount(berth)
    const session = await createSession(
      berth,
      { identity: person, method: 'password', voucher: { kind: 'account' } },
      { kind: 'client' },
    )
    await db().updateTable('identities').set({ name: HOSTILE }).where('uid', '!=', berth.owner).execute()
    await db()
      .updateTable('sessions')
      .set({ user_agent: `${HOSTILE} ${VERY_LONG}`, client: HOSTILE, address: HOSTILE })
      .where('id', '=', session.id)
      .execute()
    const run = { started_ms: clock(), ended_ms: clock() }
    await db()
      .insertInto('job_results')
      .values({
        ...run,
        kind: 'retention',
        key: organization.uid,
        node: LONG,
        succeeded: 0,
        error: `${HOSTILE} ${VERY_LONG}`,
        failed_ms: clock(),
      })
      .execute()
    await db()
      .insertInto('storage_runs')
      .values({
        ...run,
        id: newName('run'),
        kind: 'scrub',
        state: 'failed',
        dry_run: 0,
        actor: person,
        node: LONG,
        updated_ms: clock(),
        step: HOSTILE,
        done: 0,
        total: 0,
        totals: '{}',
        findings: '[]',
        error: `${HOSTILE} ${VERY_LONG}`,
        cancel: 0,
      })
      .execute()
    await db()
      .insertInto('nodes')
      .values({
        id: newName('node'),
        name: HOSTILE,
        version: `${HOSTILE} ${LONG}`,
        base_url: `javascript:${HACKED}=1//${LONG}`,
        listen_address: HOSTILE,
        started_ms: clock(),
        seen_ms: clock(),
      })
      .execute()
    const operator = await openConsole(cast().chromium, berth, berth.owner)
    for (const [tab, label] of [
      ['accounts', 'Accounts'],
      ['organizations', 'Organizations'],
      ['sessions', 'Sessions'],
      ['storage', 'Runs'],
      ['jobs', 'Jobs'],
      ['nodes', 'Nodes'],
    ] as const) {
      await operator.open(`/operator?tab=${tab}`, 'Operator')
      await shows(operator.page, label, MARKUP)
      assert.equal(await operator.page.locator('a[href^="javascript:"]').count(), 0, tab)
      await assertHarmless(operator, tab)
    }
  })
})
