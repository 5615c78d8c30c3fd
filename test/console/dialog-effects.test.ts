import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managedRole } from '../support/api/api-fixture.ts'
import { fileOf, osvDocument, wolfiDocument } from '../support/console/advisory-files.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** Dialogs do what they say, although something else changes meanwhile, and can be sent again after half of it failed. */

const NEVER_SENT = {
  BERTH_SMTP_URL: 'smtp://127.0.0.1:1',
  BERTH_SMTP_FROM: 'berth@example.com',
}

consoleSuite(
  'what dialogs change',
  (cast) => {
    /** An owner who may change advisories too: owners may not. */
    const signInAsEditor = async (uid: string) => {
      const user = await cast().signIn('owner', uid)
      await cast().admin.create(`iam/roleBindings/${uid}`, {
        identityUid: user.identity,
        roleUid: managedRole('advisories.admin'),
      })
      return user
    }

    test('a publication is made private as the user chose, although someone else does it first', async () => {
      const { uid, name } = await cast().organization()
      const { admin } = cast()
      const publication = `vulnerabilities/advisoryPublications/${uid}`
      await admin.patch(publication, { public: true })
      const { page, problems, open } = await signInAsEditor(uid)
      await open(`/folders/${uid}?tab=advisories&section=publication`, name)
      await page.getByRole('button', { name: 'Make private' }).click()
      const dialog = page.getByRole('dialog')
      await admin.patch(publication, { public: false })
      await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`)
      // Behind the dialog.
      await page.getByText('Private', { exact: true }).waitFor()
      await dialog.getByRole('heading', { name: 'Make the publication private' }).waitFor()
      const update = page.waitForRequest((request) => request.method() === 'PATCH')
      await dialog.getByRole('button', { name: 'Make private' }).click()
      assert.deepEqual((await update).postDataJSON(), { public: false })
      await dialog.waitFor({ state: 'detached' })
      assert.deepEqual(problems, [])
    })

    /** A folder with three documents of two formats, and an owner who looks at them. */
    const withDocuments = async () => {
      const { uid, name } = await cast().organization()
      const files = [
        fileOf('one.json', osvDocument(1)),
        fileOf('two.json', osvDocument(2)),
        fileOf('nginx.yaml', wolfiDocument('nginx')),
      ]
      await cast().admin.post(`vulnerabilities/advisories/${uid}:importDocuments`, {
        documents: files.map((file) => ({ name: file.name, content: file.buffer.toString('base64') })),
      })
      const user = await signInAsEditor(uid)
      await user.open(`/folders/${uid}?tab=advisories&section=documents`, name)
      const rows = user.page.getByRole('grid', { name: 'Documents' }).getByRole('row')
      await rows.nth(3).waitFor()
      return { uid, name, rows, ...user }
    }

    test('a dialog names all selected documents; when a part failed, the others are selected still', async () => {
      const { page, problems, rows } = await withDocuments()
      for (const id of ['CVE-2024-1001', 'nginx', 'CVE-2024-1002'])
        await rows.filter({ hasText: id }).locator('.checkbox').click()
      await page.getByRole('searchbox', { name: 'Document id' }).fill('CVE-2024-1001')
      await rows.filter({ hasText: 'nginx' }).waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Delete 3 documents' }).click()
      const dialog = page.getByRole('dialog')
      const names = dialog.getByRole('listitem')
      assert.deepEqual(await names.allInnerTexts(), ['CVE-2024-1001 OSV', 'nginx Wolfi', 'CVE-2024-1002 OSV'])
      await assertAccessible(page, 'deleting selected documents')
      let isOffline = true
      await page.route(/:deleteDocuments/, (route) =>
        isOffline && route.request().postDataJSON().format === 'wolfi' ? route.abort() : route.continue(),
      )
      await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
      await dialog.getByText('The server does not respond').waitFor()
      await dialog.getByRole('heading', { name: 'Delete 1 document' }).waitFor()
      assert.deepEqual(await names.allInnerTexts(), ['nginx Wolfi'])
      // The list has no more what was deleted.
      await page.getByText('No document has this format and id.').waitFor()
      isOffline = false
      await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Delete selected' }).waitFor()
      await page.getByRole('searchbox', { name: 'Document id' }).fill('')
      await page.getByText('There are no documents in this folder').waitFor()
      assert.deepEqual(problems, [])
    })

    test('while all documents are deleted, the page asks before the user leaves it, which stops the deletion', async () => {
      const { uid, name, page, problems } = await withDocuments()
      const answer = Promise.withResolvers<void>()
      const sent: string[] = []
      await page.route(/:deleteDocuments/, async (route) => {
        sent.push(route.request().postDataJSON().format)
        await answer.promise
        // The browser may have cancelled it.
        await route.continue().catch(() => {})
      })
      await page.getByRole('button', { name: 'Delete all', exact: true }).click()
      await page.getByRole('textbox', { name: /^Type / }).fill(name)
      await page.getByRole('button', { name: 'Delete the documents' }).click()
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByText('Documents are being deleted').waitFor()
      const question = page.getByRole('dialog', { name: 'Stop the deletion?' })
      await page.getByRole('link', { name: 'Import', exact: true }).click()
      await question.getByRole('button', { name: 'Continue the deletion' }).click()
      await question.waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'Import', exact: true }).click()
      const cancelled = page.waitForEvent('requestfailed', (request) =>
        /:deleteDocuments/.test(request.url()),
      )
      await question.getByRole('button', { name: 'Stop the deletion' }).click()
      await page.getByText('Drop files, folders or archives here').waitFor()
      await cancelled
      answer.resolve()
      assert.equal(sent.length, 1)
      const { body } = await cast().admin.get('vulnerabilities/advisories', { 'uidp.children_of': uid })
      assert.notEqual(body.advisories.length, 0)
      assert.deepEqual(problems, [])
    })

    test('an invite is sent again once, although the old one could not be revoked immediately, or is gone', async () => {
      const { uid, name } = await cast().organization()
      const invite = await cast().admin.create(`iam/groupInvites/${uid}`, {
        roleUid: managedRole('viewer'),
        email: 'ada@example.com',
        ttl: '3600s',
      })
      const { page, problems, open } = await cast().signIn('owner', uid)
      const created: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'POST' && /groupInvites\//.test(request.url())) created.push(request.url())
      })
      let isOffline = true
      await page.route(/groupInvites\//, (route) =>
        isOffline && route.request().method() === 'DELETE' ? route.abort() : route.continue(),
      )
      await open(`/folders/${uid}?tab=invites`, name)
      const rows = page.getByRole('grid', { name: 'Invites' }).getByRole('row')
      await page.getByRole('button', { name: 'Send again the invite for ada@example.com' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Send again' }).click()
      await dialog.getByText('The server does not respond').waitFor()
      await dialog.getByText('can still be used until its invite is revoked').waitFor()
      // The list has both.
      await rows.nth(2).waitFor()
      isOffline = false
      await cast().admin.delete(`iam/groupInvites/${invite.uid}`)
      await dialog.getByRole('button', { name: 'Revoke the old invite' }).click()
      await dialog.waitFor({ state: 'detached' })
      await rows.nth(2).waitFor({ state: 'detached' })
      assert.equal(await rows.count(), 1 + 1)
      assert.equal(created.length, 1)
      assert.deepEqual(problems, [])
    })
  },
  { env: NEVER_SENT },
)
