import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { buildTarGz, buildZip } from '../support/advisories/archives.ts'
import { startFeedServer } from '../support/advisories/feed-server.ts'
import { managedRole } from '../support/api/api-fixture.ts'
import {
  fileOf,
  osvDocument,
  scoreDocument,
  type UploadedFile,
  VECTOR,
  wolfiDocument,
} from '../support/console/advisory-files.ts'
import { waitUntilLoaded } from '../support/console/console-page.ts'
import { type ConsoleFixture, consoleSuite } from '../support/console/console-suite.ts'
import { HACKED, LONG, MARKUP, OVERRIDE, VERY_LONG } from '../support/console/hostile.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** Advisories in the console: the search, details, import, documents, feeds and publication. */

/** Imports documents through the API. */
async function importInto(
  { admin }: ConsoleFixture,
  group: string,
  documents: Readonly<Record<string, string>>,
) {
  const { body } = await admin.post(`vulnerabilities/advisories/${group}:importDocuments`, {
    documents: Object.entries(documents).map(([name, text]) => ({
      name,
      content: Buffer.from(text).toString('base64'),
    })),
  })
  for (const { accepted, reason } of body.documents) assert.equal(accepted, true, reason)
}

/** An owner who may import advisories too: owners may not. */
async function signInAsImporter({ signIn, admin }: ConsoleFixture, group: string) {
  const importer = await signIn('owner', group)
  const roleUid = managedRole('advisories.admin')
  await admin.create(`iam/roleBindings/${group}`, { identityUid: importer.identity, roleUid })
  return importer
}

const chooseFiles = (page: Page, files: readonly UploadedFile[]) =>
  page.locator('input[type=file]').setInputFiles([...files])

const FEEDS = { feeds: { pollMs: 25 } }

const section = (uid: string, name: string) => `/folders/${uid}?tab=advisories&section=${name}`

consoleSuite(
  'advisories in the console',
  (cast) => {
    test('files and archives are checked first, then imported; rejected documents have a line and a reason', async () => {
      const organization = await cast().organization()
      const { page, problems, open } = await signInAsImporter(cast(), organization.uid)
      await open(`/folders/${organization.uid}?tab=advisories`, organization.name)
      await page.getByText('There are no advisories in this folder').waitFor()
      await page.getByRole('link', { name: 'Import documents' }).click()
      await chooseFiles(page, [
        fileOf('nginx.advisories.yaml', wolfiDocument('nginx')),
        fileOf('bad.json', '{\n  "id": "CVE-2024-1000",\n  "modified": 5 }'),
        fileOf('README.md', '# nothing'),
        fileOf(
          'osv.zip',
          buildZip([
            { name: 'a/1.json', content: scoreDocument },
            { name: '../2.json', content: osvDocument(2) },
          ]),
        ),
        fileOf('more.tar.gz', await buildTarGz([{ name: '3.json', content: osvDocument(3) }])),
      ])
      await page.getByRole('heading', { name: 'What the import would change' }).waitFor()
      const fact = async (name: string) =>
        (await page.locator('.facts > div').filter({ hasText: name }).locator('dd').textContent()) ?? ''
      assert.equal(await fact('Documents'), '3')
      assert.equal(await fact('Rejected'), '2')
      assert.equal(await fact('Files without advisories'), '1')
      await page.getByRole('row', { name: /bad\.json Rejected, line 3: / }).waitFor()
      await page
        .getByRole('row', { name: /osv\.zip:\.\.\/2\.json Rejected: has a path outside the archive/ })
        .waitFor()
      await page.getByRole('row', { name: /nginx\.advisories\.yaml 2 created/ }).waitFor()
      const { body } = await cast().admin.get('vulnerabilities/advisories', {
        'uidp.descendants_of': organization.uid,
      })
      assert.equal(body.totalCount, '0', 'the check changes nothing')

      await page.getByRole('button', { name: 'Import', exact: true }).click()
      await page.getByRole('heading', { name: 'Imported' }).waitFor()
      assert.equal(await fact('Advisories created'), '4')
      await page.getByRole('button', { name: 'Import more' }).click()
      await chooseFiles(page, [fileOf('nginx.advisories.yaml', wolfiDocument('nginx'))])
      await page.getByRole('heading', { name: 'What the import would change' }).waitFor()
      assert.equal(await fact('Unchanged'), '2')

      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByRole('row', { name: 'critical 2' }).waitFor()
      await page.getByRole('row', { name: 'Fixed 1' }).getByRole('link').click()
      await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
      await page.getByRole('link', { name: 'CGA-2222-3333-4444' }).waitFor()
      assert.deepEqual(problems, [])
    })

    test('an import that fails continues where it was, and loses nothing', async () => {
      const organization = await cast().organization()
      const { page, problems, open } = await signInAsImporter(cast(), organization.uid)
      await open(section(organization.uid, 'import'), organization.name)
      const many = Array.from({ length: 450 }, (_, at) => ({ name: `${at}.json`, content: osvDocument(at) }))
      await chooseFiles(page, [fileOf('all.zip', buildZip(many))])
      await page.getByRole('heading', { name: 'What the import would change' }).waitFor()
      // The client repeats a request once.
      let requests = 0
      const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>()
      await page.route('**/*:importDocuments', async (route) => {
        await isAsked
        await ([2, 3].includes(++requests) ? route.abort('connectionfailed') : route.continue())
      })
      await page.getByRole('button', { name: 'Import', exact: true }).click()
      // Leaving the page would stop it.
      await page.getByRole('tab', { name: 'Settings' }).click()
      await page
        .getByRole('dialog', { name: 'Stop the import?' })
        .getByText('that were imported stay')
        .waitFor()
      await page.getByRole('button', { name: 'Continue the import' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      asked()
      await page.getByText('The server does not respond').waitFor()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('heading', { name: 'Imported' }).waitFor()
      const documents = page.locator('.facts > div').filter({ hasText: 'Documents' }).locator('dd')
      assert.equal(await documents.textContent(), '450')
      const { body } = await cast().admin.get('vulnerabilities/advisories', {
        'uidp.descendants_of': organization.uid,
      })
      assert.equal(body.totalCount, '450')
      assert.deepEqual(problems, [])
    })

    test('the search filters, sorts and keeps its state in the address', async () => {
      const organization = await cast().organization()
      await importInto(cast(), organization.uid, {
        'nginx.yaml': wolfiDocument('nginx'),
        'score.json': scoreDocument,
        'osv.json': osvDocument(7),
      })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open('/advisories', 'Advisories')
      const rows = page.getByRole('grid', { name: 'Advisories' }).getByRole('row')
      await page.getByText('4 of 4').waitFor()
      await page.getByRole('searchbox', { name: 'Vulnerability' }).fill('CVE-2024-7347')
      await page.getByText('2 of 2').waitFor()
      await page.waitForURL(/cve=CVE-2024-7347/)
      await page.getByRole('button', { name: /State/ }).click()
      await page.getByRole('option', { name: /^Fixed/ }).click()
      await page.getByText('1 of 1').waitFor()
      const row = rows.nth(1)
      for (const text of [
        'CGA-2222-3333-4444',
        'nginx',
        '9.8 critical',
        'Fixed',
        '1.27.1-r0',
        organization.name,
      ])
        await row.getByText(text, { exact: false }).first().waitFor()
      await page
        .getByText("berth advisories list --cve CVE-2024-7347 --state fixed --sort 'updated desc'")
        .waitFor()
      await page.reload()
      await page.getByText('1 of 1').waitFor()
      await page.getByRole('button', { name: 'Remove the filter State: Fixed' }).click()
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('button', { name: 'Remove all filters' }).click()
      await page.getByText('4 of 4').waitFor()
      await page.getByRole('columnheader', { name: 'Package' }).click()
      await page.waitForURL(/order=artifact_name/)
      await page.getByRole('button', { name: 'More filters' }).click()
      await page.getByRole('searchbox', { name: 'Type of package' }).fill('apk')
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('searchbox', { name: 'Text' }).fill('nothing has this')
      await page.getByText('No advisory matches all filters').waitFor()
      assert.deepEqual(problems, [])
    })

    test('an advisory shows its history, its severity in words, and its documents', async () => {
      const organization = await cast().organization()
      await importInto(cast(), organization.uid, {
        'nginx.yaml': wolfiDocument('nginx'),
        'score.json': scoreDocument,
      })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/advisories?package=nginx&order=advisory_id`, 'Advisories')
      await page.getByRole('row').filter({ hasText: 'CGA-2222-3333-4444' }).focus()
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'CGA-2222-3333-4444' }).waitFor()
      const events = page.getByRole('list', { name: 'History' }).getByRole('listitem')
      assert.match((await events.nth(0).textContent()) ?? '', /^Detected.*Found by hand/)
      assert.match((await events.nth(1).textContent()) ?? '', /^Fixed.*Fixed in version 1\.27\.1-r0/)
      await page.getByText(VECTOR).waitFor()
      await page.getByText('over a network').waitFor()
      const link = page.getByRole('link', { name: 'CVE-2024-7347 on cve.org' })
      assert.equal(await link.getAttribute('rel'), 'noreferrer')
      await page.getByRole('button', { name: 'Show the document nginx' }).click()
      await page.getByRole('dialog').getByText('schema-version: 2.0.2').waitFor()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save the document' }).click(),
      ])
      assert.equal(download.suggestedFilename(), 'nginx.yaml')
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      const command = (await page.getByText(/^berth advisories describe /).textContent()) ?? ''
      assert.match(command, new RegExp(`${organization.uid}/[0-9a-f]{16}$`))
      assert.deepEqual(problems, [])
    })

    test('documents are shown and deleted, one by one and all; a withdrawn advisory says so', async () => {
      const organization = await cast().organization()
      await importInto(cast(), organization.uid, {
        'nginx.yaml': wolfiDocument('nginx'),
        'score.json': scoreDocument,
        'osv.json': osvDocument(7),
      })
      const { page, problems, open } = await signInAsImporter(cast(), organization.uid)
      await open(section(organization.uid, 'documents'), organization.name)
      const row = page.getByRole('row').filter({ hasText: 'CVE-2024-1007' })
      await row.locator('.checkbox').click()
      await page.getByRole('button', { name: 'Delete 1 document' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
      await row.waitFor({ state: 'detached' })
      const { body } = await cast().admin.get('vulnerabilities/advisories', { artifact_names: 'nginx' })
      await page.getByRole('button', { name: 'Delete all', exact: true }).click()
      await page.getByRole('textbox', { name: /^Type / }).fill(organization.name)
      await page.getByRole('button', { name: 'Delete the documents' }).click()
      await page.getByText('There are no documents in this folder').waitFor()
      const one = body.advisories.find(({ uid }: { uid: string }) => uid.startsWith(organization.uid))
      await open(`/advisories/${one.uid}`, one.advisoryId)
      await page.getByText('No document contains this advisory any more. Lists').waitFor()
      assert.deepEqual(problems, [])
    })

    test('a feed is added, fails with its reason, is read, edited and deleted', async (t) => {
      const organization = await cast().organization()
      const server = await startFeedServer(t)
      const { page, problems, open } = await signInAsImporter(cast(), organization.uid)
      await open(section(organization.uid, 'feeds'), organization.name)
      await page.getByRole('button', { name: 'Add a feed' }).click()
      await page.getByRole('textbox', { name: 'URL' }).fill('ftp://example.com/all.zip')
      await page.getByRole('button', { name: 'Add the feed' }).click()
      await page.getByRole('dialog').locator('.field .error').filter({ hasText: 'https' }).waitFor()
      await page.getByRole('textbox', { name: 'URL' }).fill(`${server.url}/all.json`)
      await page.getByRole('button', { name: 'Add the feed' }).click()
      await page.getByRole('heading', { level: 1, name: `${server.url}/all.json` }).waitFor()
      await page.getByText('The last run failed').waitFor()
      server.files.set('/all.json', Buffer.from(osvDocument(11)))
      await page.getByRole('button', { name: 'Sync now' }).click()
      await page.getByText('Up to date').waitFor()
      await page.getByText('1 created').first().waitFor()
      const runs = page.getByRole('grid', { name: 'Runs' })
      await runs.getByRole('row').filter({ hasText: 'succeeded' }).getByText('1 created').waitFor()
      await runs.getByText('you').first().waitFor()
      await page.getByRole('button', { name: /State/ }).click()
      await page.getByRole('option', { name: 'failed', exact: true }).click()
      await page.waitForURL(/runState=failed/)
      await runs.getByText('succeeded').waitFor({ state: 'detached' })
      await page.getByText(/feeds runs .* --state failed/).waitFor()
      await page.getByRole('button', { name: /State/ }).click()
      await page.getByRole('option', { name: 'interrupted', exact: true }).click()
      await page.getByText('No run matches the filters').waitFor()
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByRole('button', { name: /Read/ }).last().click()
      await page.getByRole('option', { name: 'Every 6 hours' }).click()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.getByText('Every 6 hours').waitFor()
      await page.getByRole('main').getByRole('link', { name: organization.name, exact: true }).last().click()
      await page.getByRole('button', { name: `Sync now ${server.url}/all.json` }).waitFor()
      await page.getByRole('link', { name: `${server.url}/all.json` }).click()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Delete the feed' }).click()
      await page.getByText('There are no feeds here').waitFor()
      assert.deepEqual(problems, [])
    })

    test('a publication is made public after a confirmation, and its files are readable', async () => {
      const organization = await cast().organization()
      await importInto(cast(), organization.uid, { 'nginx.yaml': wolfiDocument('nginx') })
      const { page, problems, open } = await signInAsImporter(cast(), organization.uid)
      await open(section(organization.uid, 'publication'), organization.name)
      await page.getByText('Private', { exact: true }).waitFor()
      // The addresses are folded by the clients that read them.
      assert.equal(await page.getByText(/security\.json$/).count(), 0)
      await page.getByText(/^Security database/).click()
      const url = (await page.getByText(/secdb\/security\.json$/).textContent()) ?? ''
      await page.getByRole('button', { name: 'Copy the address: Security database, all packages' }).waitFor()
      await page.getByText(/^OSV API/).click()
      const osv = (await page.getByText(/\/osv\/[0-9a-f]+$/).textContent()) ?? ''
      const query = () =>
        fetch(`${osv}/v1/query`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"package":{"ecosystem":"Wolfi","name":"nginx"}}',
        })
      assert.equal((await query()).status, 401)
      assert.equal((await fetch(url)).status, 401)
      await page.getByRole('button', { name: 'Make public' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Make public' }).click()
      await page.getByText('Everyone can read the files without a token').waitFor()
      assert.equal((await fetch(url)).status, 200)
      assert.equal((await query()).status, 200)
      await page.getByRole('button', { name: 'Edit settings' }).click()
      await page.getByText(/^cp osv\/osv-scanner\/Wolfi\/all\.zip/).waitFor()
      await page.getByRole('textbox', { name: 'Architectures' }).fill('x86_64, aarch64')
      await page.getByRole('textbox', { name: 'Distribution in OSV' }).fill('Alpine:v3.20')
      await page.getByRole('button', { name: 'Save' }).click()
      // The scanner names its folders without the release.
      await page.getByText(/^cp osv\/osv-scanner\/Alpine\/all\.zip/).waitFor()
      await page.getByText('Names of packages in the files').click()
      await page.getByText('x86_64, aarch64').waitFor()
      await page.getByText(/osv-scanner scan image/).waitFor()
      assert.deepEqual(problems, [])
    })

    test('a viewer reads everything and changes nothing; others see which capability they lack', async (t) => {
      const organization = await cast().organization()
      const server = await startFeedServer(t)
      const url = `${server.url}/none.json`
      const feed = await cast().admin.create(`vulnerabilities/advisoryFeeds/${organization.uid}`, { url })
      await importInto(cast(), organization.uid, { 'nginx.yaml': wolfiDocument('nginx') })
      const viewer = await cast().signIn('viewer', organization.uid)
      await viewer.open(section(organization.uid, 'import'), organization.name)
      await viewer.page.getByText('Requires the capability advisories.create').waitFor()
      await viewer.page.getByRole('link', { name: 'Publication' }).click()
      await viewer.page.getByText('Requires the capability advisories.update').first().waitFor()
      await viewer.open(`/advisory-feeds/${feed.uid}`, url)
      const runs = viewer.page.getByRole('grid', { name: 'Runs' })
      await runs.getByText('failed').first().waitFor({ timeout: 30_000 })
      await viewer.page.getByText('Requires the capability advisories.update').waitFor()
      assert.equal(await viewer.page.getByRole('button', { name: 'Sync now' }).isDisabled(), true)
      await assertAccessible(viewer.page, 'feed with runs, read only')
      const token = await cast().berth.tokenOf(viewer.identity)
      const refused = await fetch(
        `${cast().berth.url}/vulnerabilities/v2beta1/advisoryPublications/${organization.uid}`,
        {
          method: 'PATCH',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{"public":true}',
        },
      )
      assert.equal(refused.status, 403)

      const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
        name: `reader-${Date.now()}`,
        capabilities: ['CAP_IAM_GROUPS_LIST'],
      })
      const reader = await cast().signIn(role.uid, organization.uid)
      await reader.open(`/folders/${organization.uid}?tab=advisories`, organization.name)
      await reader.page.getByText('Requires the capability advisories.list').waitFor()
      await reader.open('/advisories', 'Advisories')
      await reader.page.getByText('There are no advisories that you can see').waitFor()
      const { body } = await cast().admin.get('vulnerabilities/advisories', { artifact_names: 'nginx' })
      await reader.open(`/advisories/${body.advisories.at(-1).uid}`, 'Not found')
      await reader.open('/advisory-feeds/x', 'Not found')
      await reader.open(`/advisory-feeds/${feed.uid}`, 'Not found')
      assert.equal(await reader.page.getByRole('grid').count(), 0)
      assert.deepEqual([...viewer.problems, ...reader.problems], [])
    })

    test('markup, direction overrides and very long texts of documents are text', async () => {
      const organization = await cast().organization()
      const note = `${MARKUP} ${OVERRIDE} ${VERY_LONG}`
      await importInto(cast(), organization.uid, { [`${MARKUP}.yaml`]: wolfiDocument('nginx', note) })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/advisories?cve=CVE-2023-44487&group=${organization.uid}`, 'Advisories')
      await page.getByRole('link', { name: 'CGA-5555-6666-7777' }).click()
      await page.getByRole('list', { name: 'History' }).getByText(MARKUP).waitFor()
      await page.getByRole('button', { name: 'Show the document nginx' }).click()
      await page
        .getByRole('dialog')
        .getByText(/onerror/)
        .waitFor()
      assert.equal(await page.evaluate(HACKED), undefined)
      assert.equal(await page.locator('main img, main script').count(), 0)
      assert.deepEqual(problems, [])
    })

    test('each page and dialog of advisories passes axe', async (t) => {
      const { admin } = cast()
      const organization = await cast().organization()
      const folder = await admin.create(`iam/groups/${organization.uid}`, { name: LONG })
      const { uid } = folder
      await importInto(cast(), uid, {
        [`${LONG}.yaml`]: wolfiDocument(`${LONG}-${LONG}`, `${LONG} `.repeat(20)),
        'score.json': scoreDocument,
        ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${at}.json`, osvDocument(at + 10)])),
      })
      const server = await startFeedServer(t)
      const { uid: feed } = await admin.create(`vulnerabilities/advisoryFeeds/${uid}`, {
        url: `${server.url}/${LONG}/all.zip`,
      })
      const { page, problems, visit } = await signInAsImporter(cast(), organization.uid)
      const look = async (name: string) => {
        await waitUntilLoaded(page)
        await assertAccessible(page, name)
        await page.setViewportSize({ width: 1280, height: 800 })
      }
      await visit('/advisories', 'Advisories')
      await look('search')
      await visit('/advisories?more=1&state=fixed&query=none', 'Advisories')
      await page.getByText('No advisory matches all filters').waitFor()
      await look('search without a result')
      await visit('/advisories?cve=CVE-2024-7347&package-type=apk', 'Advisories')
      await page.getByRole('link', { name: 'CGA-2222-3333-4444' }).click()
      await page.getByText('over a network').waitFor()
      await look('advisory')
      await page.getByRole('button', { name: /^Show the document/ }).click()
      await page.getByText('schema-version').waitFor()
      await look('document')
      for (const [name, button] of [
        ['documents', 'Delete all'],
        ['feeds', 'Add a feed'],
        ['publication', 'Make public'],
        ['publication', 'Edit settings'],
      ] as const) {
        await visit(section(uid, name), LONG)
        await page.getByRole('button', { name: button, exact: true }).waitFor()
        await look(name)
        await page.getByRole('button', { name: button, exact: true }).click()
        await page.getByRole('dialog').waitFor()
        await look(`${name} ${button}`)
      }
      await visit(`/folders/${uid}?tab=advisories`, LONG)
      await page.getByRole('figure', { name: 'By month of creation' }).waitFor()
      await look('overview')
      await visit(section(uid, 'import'), LONG)
      await look('import')
      await chooseFiles(page, [
        fileOf('new.json', osvDocument(99)),
        fileOf(`${LONG}-${LONG}.json`, '{\n  "id": "CVE-2024-1000",\n  "modified": 5 }'),
      ])
      await page.getByRole('heading', { name: 'What the import would change' }).waitFor()
      await look('import report')
      await page.goto(`${cast().berth.url}/console/advisory-feeds/${feed}`)
      await page.getByText('The last run failed').waitFor()
      await look('feed')
      await page.getByRole('button', { name: 'Edit' }).click()
      await look('feed edit')
      await visit(`/folders/${organization.uid}?tab=advisories&section=feeds`, organization.name)
      await page.getByRole('row').nth(1).waitFor()
      await look('feeds of an organization')
      assert.deepEqual(problems, [])
    })
  },
  FEEDS,
)
