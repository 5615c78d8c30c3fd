import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '@berth/server/storage/db.ts'
import { endSessions } from '@berth/server/tokens/sessions/sessions.ts'
import type { BrowserContext } from 'playwright-core'
import { signInBrowser } from '../support/console/console-page.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** A page whose session has ended continues with the next session of its user. */

consoleSuite('a later session', (cast) => {
  const signInAs = (context: BrowserContext, identity: string) =>
    signInBrowser(context, cast().berth, identity)

  test('what is typed on a page stays while the user signs in in another tab', async () => {
    const { uid } = await cast().organization()
    const repo = await cast().admin.create(`registry/repos/${uid}`, { name: 'app' })
    const { page, problems, open, identity } = await cast().signIn('owner', uid)
    await open(`/repos/${repo.uid}?tab=policy`, 'app')
    const patterns = page.getByRole('textbox', { name: 'Patterns' })
    await patterns.fill('v*')
    const { db } = cast().berth.berth.installation.store
    await inTransaction(db, (tx) => endSessions(tx, 'identity_uid', identity))
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    const notice = page.getByText('You are no longer signed in.')
    const tab = page.waitForEvent('popup')
    await notice.getByRole('link').click()
    await (await tab).waitForURL(/\/sign-in\?request=%2Fconsole%2Frepos%2F.*policy/)
    await signInAs(page.context(), identity)
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
    await notice.waitFor({ state: 'detached' })
    assert.equal(await patterns.inputValue(), 'v*')
    assert.deepEqual(problems, [])
  })

  test('what is typed in a dialog is saved after a sign-in in another tab, by the same user only', async () => {
    const { uid, name } = await cast().organization()
    const { page, problems, open, identity } = await cast().signIn('owner', uid)
    await open(`/folders/${uid}`, name)
    await page.getByRole('button', { name: 'Create a folder' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('web')
    const { db } = cast().berth.berth.installation.store
    await inTransaction(db, (tx) => endSessions(tx, 'identity_uid', identity))
    const save = () => dialog.getByRole('button', { name: 'Create the folder' }).click()
    await save()
    const link = dialog.getByRole('link', { name: 'Sign in in another tab' })
    const tab = page.waitForEvent('popup')
    await link.click()
    await (await tab).waitForURL(/\/sign-in\?request=%2Fconsole%2Ffolders/)

    await signInAs(page.context(), await createPerson(cast().berth))
    const refused = page.waitForResponse((response) => response.status() === 401)
    await save()
    await refused
    await link.waitFor()
    await signInAs(page.context(), identity)
    await save()
    await page.getByRole('heading', { level: 1, name: 'web' }).waitFor()
    await page.getByText('You are no longer signed in').waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'User menu' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.waitForURL(/\/sign-in\?done=signed-out/)
    assert.deepEqual(problems, [])
  })
})
