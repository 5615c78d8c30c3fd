import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import type { JobRunRow } from '@berth/server/storage/schema/tables.ts'
import { newName } from '../support/api/api-fixture.ts'
import { newAccount, operatorApi } from '../support/api/operator.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { openConsole, signInBrowser } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { eventually } from '../support/eventually.ts'
import { createPerson, createSession } from '../support/signin/accounts.ts'
import { assertAccessible } from '../support/signin/axe.ts'
import { newLocalAccount } from '../support/signin/local-accounts.ts'

/** The pages of operators, by the roles and labels that assistive technology reads. */

const tabs = ['accounts', 'organizations', 'sessions', 'keys', 'storage', 'jobs', 'runs', 'nodes', 'check']

consoleSuite('the operator pages', (cast) => {
  const asOperator = () => openConsole(cast().chromium, cast().berth, cast().berth.owner)

  test('a user without the capability sees no link, and no permission at the address', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open('', 'Home')
    assert.equal(await page.getByRole('link', { name: 'Operator' }).count(), 0)
    await open('/operator', 'Operator')
    await page.getByText(/Requires the capability operator\.get/).waitFor()
    assert.equal(await page.getByRole('tab').count(), 0)
    await open('/operator?tab=runs', 'Operator')
    await page.getByText('You have no permission to see the installation here.').waitFor()
    assert.equal(await page.getByRole('grid').count(), 0)
    await assertAccessible(page, 'operator-runs-no-permission')
    assert.deepEqual(problems, [])
  })

  test('runs are filtered by an organization, which is chosen by its name', async () => {
    const { db, clock, uids } = cast().berth.berth.installation.store
    const [one, other] = [await cast().organization(), await cast().organization()]
    for (const [at, { uid: root }] of [one, other].entries()) {
      const repo = await cast().admin.create(`registry/repos/${root}`, { name: `app-${at}` })
      const row: JobRunRow = {
        ...{
          root,
          uid: uids.child(repo.uid),
          parent: repo.uid,
          kind: 'retention',
          actor: 'system',
          runner: '',
        },
        ...{ state: 'succeeded', started_ms: clock() - 5, ended_ms: clock(), error: '' },
        counts: '{"tags":2,"manifests":0}',
      }
      await inTransaction(db, (tx) => tx.insertInto('job_runs').values(row).execute())
    }
    // An organization in which the operator has no role.
    await db.kysely.deleteFrom('role_bindings').where('root', '=', one.uid).execute()
    const { page, problems, open } = await asOperator()
    await open('/operator?tab=runs', 'Operator')
    const runs = page.getByRole('grid', { name: 'Runs' })
    for (const name of [one.name, other.name]) await runs.getByText(name).waitFor()
    await page.getByRole('combobox', { name: 'Organization' }).fill(one.name)
    await page.getByRole('option', { name: one.name }).click()
    await runs.getByText(other.name).waitFor({ state: 'detached' })
    await runs.getByText(one.name).waitFor()
    await page.getByText(`berth admin runs --organization ${one.uid}`).waitFor()
    assert.match(page.url(), new RegExp(`organization=${one.uid}`))
    await assertAccessible(page, 'operator-runs-of-organization')
    // The address has the uid, and the field the name.
    await open(`/operator?tab=runs&organization=${one.uid}`, 'Operator')
    await runs.getByText(one.name).waitFor()
    assert.equal(await runs.getByText(other.name).count(), 0)
    await eventually(
      async () => (await page.getByRole('combobox', { name: 'Organization' }).inputValue()) === one.name,
    )
    await open(`/operator?tab=runs&kind=scrub&organization=${one.uid}`, 'Operator')
    await page.getByText('No run matches the filters').waitFor()
    assert.deepEqual(problems, [])
  })

  test('accounts: create with a link, suspend, activate, delete', async () => {
    const { page, problems, open } = await asOperator()
    await open('/operator', 'Operator')
    const email = `${newName('grace')}@example.com`
    await page.getByRole('button', { name: 'Create an account' }).click()
    await page.getByRole('textbox', { name: 'Email' }).fill(email)
    await page.getByRole('textbox', { name: 'Name' }).fill('Grace <b>Hopper</b>')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByText(/\/sign-in\/choose-password\?code=/).waitFor()
    await page.getByRole('searchbox', { name: 'Search' }).fill(email)
    const row = page.getByRole('grid', { name: 'Accounts' }).getByRole('row', { name: email })
    await row.getByText('Grace <b>Hopper</b>').waitFor()
    await page.waitForURL(/q=/)
    for (const [verb, title] of [
      ['Suspend', 'Suspend the account'],
      ['Activate', 'Activate the account'],
    ] as const) {
      await row.getByRole('button', { name: verb }).click()
      const dialog = page.getByRole('dialog', { name: title })
      await dialog.getByText(new RegExp(`berth admin accounts (disable|enable) ${email}`)).waitFor()
      await dialog.getByRole('button', { name: title, exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await row.getByRole('button', { name: 'Delete' }).click()
    const confirm = page.getByRole('button', { name: 'Delete the account', exact: true })
    assert.ok(await confirm.isDisabled())
    await page.getByRole('textbox', { name: /to confirm/ }).fill(email)
    await confirm.click()
    await page.getByText('No users match').waitFor()
    assert.deepEqual(problems, [])
  })

  test('a change without a recent sign-in links to the sign-in', async () => {
    const { berth } = cast()
    const { page, problems, open } = await asOperator()
    await open('/operator?tab=keys', 'Operator')
    await page.getByRole('button', { name: 'Rotate' }).click()
    const dialog = page.getByRole('dialog')
    berth.advance(limits.recentSignInMs + 1000)
    await dialog.getByRole('button', { name: 'Rotate the signing key' }).click()
    const link = dialog.getByRole('link', { name: 'Sign in again' })
    await link.waitFor()
    const tab = page.waitForEvent('popup')
    await link.click()
    await (await tab).waitForURL(/\/sign-in\?again&request=%2Fconsole%2Foperator%3Ftab%3Dkeys/)
    await signInBrowser(page.context(), berth, berth.owner)
    await dialog.getByRole('button', { name: 'Rotate the signing key' }).click()
    await page.getByRole('grid', { name: 'Signing keys' }).getByText('next').waitFor()
    assert.deepEqual(problems, [])
  })

  test('organizations: limit and suspend; sessions: end', async () => {
    const { berth } = cast()
    const organization = await cast().organization()
    const { page, problems, open } = await asOperator()
    await open(`/operator?tab=organizations&q=${organization.name}`, 'Operator')
    const row = page.getByRole('row', { name: organization.name })
    await row.getByRole('button', { name: 'Limits' }).click()
    await page.getByRole('textbox', { name: 'Maximum' }).fill('5')
    await page.getByText(`berth admin organization ${organization.name} --limit repos=5`).waitFor()
    await page.getByRole('button', { name: 'Save the limit' }).click()
    await row.getByText('0 of 5').waitFor()
    await row.getByRole('button', { name: 'Suspend' }).click()
    await page.getByRole('button', { name: 'Suspend the organization', exact: true }).click()
    await row.getByText('suspended').waitFor()

    const identity = await createPerson(berth, { email: `${newName('ada')}@example.com` })
    for (const kind of ['browser', 'client'] as const) await createSession(berth, { identity }, { kind })
    await open(`/operator?tab=sessions&identity=${identity}`, 'Operator')
    const grid = page.getByRole('grid', { name: 'Sessions' })
    await grid.getByRole('button', { name: /^End/ }).first().click()
    await page.getByRole('button', { name: 'End the session', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'End all sessions' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click()
    await page.getByText('There are no active sessions of ').waitFor()
    assert.deepEqual(problems, [])
  })

  test('sessions are those of a user, who is chosen by name or email address', async () => {
    const { berth } = cast()
    const [ada, grace] = [`${newName('ada')}@example.com`, `${newName('grace')}@example.com`]
    for (const email of [ada, grace]) {
      const { identity_uid: identity } = await newLocalAccount(berth, email)
      await createSession(berth, { identity, method: 'passkey' }, { kind: 'browser' })
    }
    const { page, problems, open } = await asOperator()
    await open('/operator?tab=sessions', 'Operator')
    const grid = page.getByRole('grid', { name: 'Sessions' })
    await grid.waitFor()
    await chooseInCombobox(page, 'User', ada.toUpperCase(), new RegExp(ada))
    await page.waitForURL(/identity=[0-9a-f]{40}/)
    await page.getByText(`berth admin sessions list --user ${ada}`).waitFor()
    await eventually(async () => (await grid.getByRole('row').count()) === 1 + 1)
    await grid.getByText('with a passkey').waitFor()
    await assertAccessible(page, 'operator-sessions-of-user')
    await page.reload()
    await eventually(
      async () => (await page.getByRole('combobox', { name: 'User' }).inputValue()) === 'Ada Lovelace',
    )
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('button', { name: 'End all sessions of Ada Lovelace' }).click()
    await page.getByRole('dialog').getByText(`berth admin sessions revoke --user ${ada}`).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'End all sessions' }).click()
    await page.getByText('There are no active sessions of Ada Lovelace').waitFor()
    await chooseInCombobox(page, 'User', grace, new RegExp(grace))
    await eventually(async () => (await grid.getByRole('row').count()) === 1 + 1)
    assert.deepEqual(problems, [])
  })

  test('storage: a dry run shows its result; checks and nodes', async () => {
    const { page, problems, open } = await asOperator()
    await open('/operator?tab=storage', 'Operator')
    await page.getByRole('button', { name: 'Collect garbage' }).click()
    await page.getByText('berth admin collect --dry-run', { exact: true }).last().waitFor()
    await page.getByRole('button', { name: 'Start the dry run' }).click()
    const runs = page.getByRole('grid', { name: 'Runs' })
    await runs.getByText('Garbage collection (dry run)').waitFor()
    await runs.getByText('succeeded').waitFor()
    await runs.getByRole('button', { name: /Details/ }).click()
    await page.getByRole('dialog').getByText('Expired uploads').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await open('/operator?tab=runs&kind=collection', 'Operator')
    await runs.getByRole('row').filter({ hasText: 'Garbage collection (dry run)' }).first().waitFor()
    await page.getByText('berth admin runs --kind collection').waitFor()
    await open('/operator?tab=runs&kind=retention&runState=interrupted', 'Operator')
    await page.getByText('No run matches the filters').waitFor()
    await open('/operator?tab=check', 'Operator')
    await page.getByRole('button', { name: 'Run the checks' }).click()
    await page.getByText('disk space').waitFor()
    await open('/operator?tab=nodes', 'Operator')
    await page.getByText('this node').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the operator pages and their dialogs pass axe', async () => {
    const { berth } = cast()
    const { page, problems, visit } = await asOperator()
    await newAccount(berth)
    await operatorApi(berth, await berth.tokenOf(berth.owner, { isFromServer: true })).post('storage/runs', {
      kind: 'STORAGE_RUN_KIND_SCRUB',
    })
    const dialogs: Readonly<Record<string, string>> = {
      accounts: 'Create an account',
      organizations: 'Limits',
      keys: 'Withdraw all',
      storage: 'Collect garbage',
    }
    for (const tab of tabs) {
      await visit(`/operator?tab=${tab}`, 'Operator')
      await page.getByText('Same in the command line').first().waitFor()
      if (tab === 'check') {
        await page.getByRole('button', { name: 'Run the checks' }).click()
        await page.getByText('disk space').waitFor()
      }
      await assertAccessible(page, tab)
      const button = dialogs[tab]
      if (button === undefined) continue
      await page.getByRole('button', { name: button }).first().click()
      await page.getByRole('dialog').waitFor()
      await assertAccessible(page, `${tab} dialog`)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    assert.deepEqual(problems, [])
  })
})
