import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { epss, kev, LOG4SHELL } from '../support/advisories/catalogs.ts'
import { newName } from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { LONG } from '../support/console/hostile.ts'
import { eventually } from '../support/eventually.ts'
import { alpineFiles, attach, imageOfFiles } from '../support/images/readable-image.ts'
import { json, reportTypes, trivyReport } from '../support/images/scanner-reports.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'
import { assertAccessible } from '../support/signin/axe.ts'

/** The pages about what images contain: packages, vulnerabilities, signatures, and policies at pull. */

const CRITICAL = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'
const MEDIUM = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:L/A:N'
const short = ({ digest }: { digest: string }) => digest.slice(0, 'sha256:'.length + 12)

function osv(id: string, ecosystem: string, name: string, fixed: string | undefined, more: object = {}) {
  const events = [{ introduced: '0' }, ...(fixed === undefined ? [] : [{ fixed }])]
  const document = {
    schema_version: '1.6.0',
    id,
    modified: '2026-01-02T00:00:00Z',
    affected: [{ package: { ecosystem, name }, ranges: [{ type: 'ECOSYSTEM', events }] }],
    ...more,
  }
  return { name: `${id}.json`, content: Buffer.from(JSON.stringify(document)).toString('base64') }
}

const scored = (score: string) => ({ severity: [{ type: 'CVSS_V3', score }] })

const npmFiles = (...packages: readonly string[]) =>
  Object.fromEntries(
    packages.map((text) => {
      const [name = '', version = '', license] = text.split(' ')
      return [`app/node_modules/${name}/package.json`, JSON.stringify({ name, version, license })]
    }),
  )

consoleSuite(
  'the contents of images in the console',
  (cast) => {
    /** Waits until the packages of an image are read and matched. */
    const matched = async (repo: string, tag: string) => {
      const read = async () => (await cast().admin.get(`vulnerabilities/imageFindings/${repo}`, { tag })).body
      await eventually(read, ({ matched }) => matched === true)
    }

    /** A repository with two images that were read, one that cannot be read, and advisories. */
    const prepared = async (folderName = newName('team')) => {
      const { berth, admin } = cast()
      const organization = await cast().organization()
      const folder = await admin.create(`iam/groups/${organization.uid}`, { name: folderName })
      const repo = await admin.create(`registry/repos/${folder.uid}`, { name: 'web' })
      const registry = ociClient(berth, await bearerOf(berth, berth.owner))
      const name = `${organization.name}/${folderName}/web`
      const { body } = await admin.post(`vulnerabilities/advisories/${organization.uid}:importDocuments`, {
        documents: [
          osv('CVE-2026-0001', 'Alpine:v3.20', 'openssl-src', '3.1.4-r5', scored(CRITICAL)),
          osv('CVE-2026-0002', 'Alpine:v3.20', 'musl-src', undefined, scored(MEDIUM)),
          osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '1.3.0', { aliases: ['CVE-2026-0003'] }),
        ],
      })
      for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
      const old = await imageOfFiles([
        alpineFiles('openssl 3.1.4-r4', 'musl 1.2.5-r0', 'zlib 1.3.1-r1'),
        npmFiles('left-pad 1.2.0 MIT'),
      ])
      const now = await imageOfFiles([
        alpineFiles('openssl 3.1.4-r5', 'musl 1.2.5-r0', 'curl 8.9.0-r0'),
        npmFiles('left-pad 1.3.0 MIT'),
        { 'usr/lib/python3/site-packages/six-1.16.0.dist-info/METADATA': 'Name: six\nVersion: 1.16.0\n' },
      ])
      await pushImage(registry, name, old, 'v1')
      await pushImage(registry, name, now, 'v2')
      await matched(repo.uid, 'v1')
      await matched(repo.uid, 'v2')
      return { organization, folder, repo, registry, name, old, now }
    }

    test('the packages of an image, with filters in the address and its SBOM', async () => {
      const { organization, repo, name, old } = await prepared()
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/manifests/${repo.uid}/${old.digest}`, `Image ${short(old)}`)
      await page.getByRole('tab', { name: 'Packages' }).click()
      await page.getByText('Alpine Linux v3.20').waitFor()
      const packages = page.getByRole('grid', { name: 'Packages' })
      const row = packages.getByRole('row', { name: /openssl/ })
      for (const text of ['3.1.4-r4', 'apk', 'openssl-src', 'MIT', 'lib/apk/db/installed'])
        await row.getByText(text, { exact: true }).first().waitFor()
      assert.equal(await packages.getByRole('row').count(), 1 + 4)
      await page.getByRole('searchbox', { name: 'Name starts with' }).fill('left')
      await page.getByText('1 of 1').waitFor()
      await page.getByText(`berth images packages ${name}@${old.digest} --name-prefix left`).waitFor()
      assert.match(page.url(), /name=left/)
      await page.getByRole('button', { name: 'Remove all filters' }).click()
      await page.getByText('4 of 4').waitFor()
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Download CycloneDX 1.6' }).click()
      const file = await download
      assert.match(file.suggestedFilename(), /^[0-9a-f]{12}\.cyclonedx-1\.6\.json$/)
      assert.deepEqual(problems, [])
    })

    test('the vulnerabilities of a tag over time, at the tag and at its repository', async () => {
      const { organization, repo, name } = await prepared()
      const recorded = async (tag: string) =>
        (await cast().admin.get(`vulnerabilities/findingSummaries/${repo.uid}:history`, { tag })).body
          .tagFindingHistoryEntries
      await eventually(async () => {
        const [one, two] = [await recorded('v1'), await recorded('v2')]
        return one.length === 1 && two.length === 1
      })
      // A week of history.
      const { kysely } = cast().berth.berth.installation.store.db
      const startMs = Date.now() - 6 * 24 * 60 * 60 * 1000
      const viewer = await cast().signIn('viewer', organization.uid)
      await viewer.open(`/repos/${repo.uid}?tab=activity&of=v1`, 'web')
      const figure = viewer.page.getByRole('figure', { name: 'Findings by severity over time' })
      await figure.getByText(/^Recorded for .* The chart starts with the second day\.$/).waitFor()
      assert.deepEqual(await figure.getByRole('definition').allTextContents(), ['1', '1', '1'])
      assert.equal(await figure.getByRole('img').count(), 0)
      await assertAccessible(viewer.page, 'activity-of-one-day')
      await kysely
        .updateTable('tag_findings')
        .set({ time_ms: startMs })
        .where('tag', 'like', `${repo.uid}/%`)
        .execute()
      const { body } = await cast().admin.get('registry/tags', { 'uidp.children_of': repo.uid, name: 'v1' })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/tags/${body.tags[0].uid}`, 'v1')
      const picture = page.getByRole('img', { name: /^Findings by severity over time, / })
      await picture.waitFor()
      assert.match(
        String(await picture.getAttribute('aria-label')),
        /Unknown from 1 to 1.*Medium from 1 to 1.*Critical from 1 to 1/,
      )
      assert.equal(await picture.locator('.chart-bar').count(), 7 * 3)
      await page.getByRole('button', { name: 'Show as table' }).click()
      const table = page.getByRole('table', { name: 'Findings by severity over time' })
      assert.equal(await table.getByRole('row').count(), 1 + 7)
      await page.getByText(`berth images vulns-history ${name}:v1`).waitFor()
      await assertAccessible(page, 'tag-vulnerabilities')

      await open(`/repos/${repo.uid}?tab=activity`, 'web')
      const section = page.getByRole('region', { name: 'Vulnerabilities of a tag' })
      await section.getByText(`berth images vulns-history ${name}:v2`).waitFor()
      await section.getByRole('button', { name: /Tag/ }).click()
      await page.getByRole('option', { name: 'v1' }).click()
      await section.getByText(`berth images vulns-history ${name}:v1`).waitFor()
      await section.getByRole('img', { name: /Critical from 1 to 1/ }).waitFor()
      assert.match(page.url(), /of=v1/)
      await assertAccessible(page, 'repo-vulnerabilities')
      assert.deepEqual(problems, [])
    })

    test('the vulnerabilities of a repository and of a folder over time', async () => {
      const { organization, folder, repo, name } = await prepared()
      const { admin } = cast()
      for (const uid of [repo.uid, folder.uid, organization.uid])
        await eventually(async () => {
          const { body } = await admin.get(`vulnerabilities/findingSummaries/${uid}:summaryHistory`)
          const [last] = body.findingSummaryHistoryEntries
          return last?.imageCount === '2' && last.unreadImageCount === '0'
        })
      const { kysely } = cast().berth.berth.installation.store.db
      await kysely
        .updateTable('scope_findings')
        .set({ time_ms: Date.now() - 6 * 24 * 60 * 60 * 1000 })
        .where('root', '=', organization.uid)
        .execute()
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      const isComplete = async (area: Page | Locator) => {
        const picture = area.getByRole('img', { name: /^Vulnerabilities by severity over time, / })
        await picture.waitFor()
        assert.match(
          String(await picture.getAttribute('aria-label')),
          /Unknown from 1 to 1.*Medium from 1 to 1.*Critical from 1 to 1/,
        )
        await area.getByRole('button', { name: 'Show as table' }).click()
        const table = area.getByRole('table', { name: 'Vulnerabilities by severity over time' })
        assert.equal(await table.getByRole('row').count(), 1 + 7)
      }
      const folderName = name.split('/')[1] ?? ''
      await open(`/folders/${folder.uid}`, folderName)
      await page.getByRole('tab', { name: 'Vulnerabilities' }).click()
      await isComplete(page)
      await page.getByText(`berth images vulns-history --parent ${organization.name}/${folderName}`).waitFor()
      await page.getByText('Images with a tag', { exact: true }).waitFor()
      await assertAccessible(page, 'folder-vulnerabilities')

      await open(`/repos/${repo.uid}?tab=activity`, 'web')
      const section = page.getByRole('region', { name: 'Vulnerabilities', exact: true })
      await isComplete(section)
      await section.getByText(`berth images vulns-history --repo ${name}`).waitFor()
      await assertAccessible(page, 'repo-all-vulnerabilities')
      assert.deepEqual(problems, [])

      // An empty folder, and a user who may not see vulnerabilities.
      const empty = await admin.create(`iam/groups/${organization.uid}`, { name: newName('empty') })
      await open(`/folders/${empty.uid}?tab=vulnerabilities`, empty.name)
      await page.getByText(/^No numbers yet\./).waitFor()
      const role = await createRole(cast().berth, organization.uid, ['groups.list', 'repo.list'])
      const other = await cast().signIn(role, organization.uid)
      await other.open(`/folders/${folder.uid}?tab=vulnerabilities`, folderName)
      await other.page.getByText('You have no permission to see vulnerabilities here.').waitFor()
      await assertAccessible(other.page, 'folder-vulnerabilities-no-permission')
      assert.deepEqual(other.problems, [])
    })

    test('reports of other scanners are beside the findings, with the differences', async () => {
      const { organization, repo, registry, name, old } = await prepared()
      const found = [
        { id: 'CVE-2026-0001', severity: 'critical' },
        { id: 'CVE-2026-0009', severity: 'low' },
      ]
      await attach(registry, name, old, reportTypes.trivy, json(trivyReport(found)))
      await eventually(async () => {
        const { body } = await cast().admin.get(`vulnerabilities/imageScannerReports/${repo.uid}`, {
          reference: old.digest,
        })
        return body.scannerReports.length === 1
      })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/manifests/${repo.uid}/${old.digest}?tab=vulnerabilities`, `Image ${short(old)}`)
      const row = page
        .getByRole('grid', { name: 'Reports of other scanners' })
        .getByRole('row', { name: /trivy/ })
      for (const text of ['0.57.1', '1 critical', '1 low', '1 in both'])
        await row.getByText(text, { exact: true }).waitFor()
      await row
        .getByText(/Only in the report:/)
        .getByText('CVE-2026-0009')
        .waitFor()
      await row
        .getByText(/Only in Berth:/)
        .getByText('CVE-2026-0002, CVE-2026-0003')
        .waitFor()
      await assertAccessible(page, 'reports of other scanners')
      assert.deepEqual(problems, [])
    })

    test('two images differ in packages and vulnerabilities, and an advisory lists the images that have it', async () => {
      const { organization, repo, old, now } = await prepared()
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/compare/${repo.uid}?from=${old.digest}&to=${now.digest}`, 'Compare images')
      const packages = page.getByRole('grid', { name: 'Packages' })
      for (const [name, change] of [
        ['curl', 'added'],
        ['zlib', 'removed'],
        ['openssl', 'changed'],
      ] as const)
        await packages
          .getByRole('row', { name: new RegExp(name) })
          .getByText(change, { exact: true })
          .waitFor()
      const findings = page.getByRole('grid', { name: 'Vulnerabilities' })
      const fixed = findings.getByRole('row', { name: /CVE-2026-0001/ })
      await fixed.getByText('removed', { exact: true }).waitFor()
      await assertAccessible(page, 'compared contents')
      await fixed.getByRole('link', { name: 'CVE-2026-0001' }).click()
      const images = page.getByRole('grid', { name: 'Affected images' })
      const row = images.getByRole('row').filter({ hasText: 'openssl' })
      await row.getByText('v1', { exact: true }).waitFor()
      assert.equal(await images.getByRole('row').count(), 1 + 1)
      await assertAccessible(page, 'advisory with affected images')
      assert.deepEqual(problems, [])
    })

    test('lists of repositories and tags have the vulnerabilities, and a finding the tags in which it is fixed', async () => {
      const { organization, folder, repo, registry, name, old, now } = await prepared()
      await pushImage(registry, name, now, 'latest')
      await cast().admin.create(`registry/repos/${folder.uid}`, { name: 'empty' })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      const requests: string[] = []
      page.on('request', (request) => {
        const { pathname } = new URL(request.url())
        if (pathname.includes('/findingSummaries/')) requests.push(pathname)
      })
      await open(`/folders/${folder.uid}?tab=repositories`, folder.name)
      const repos = page.getByRole('grid', { name: 'Repositories' })
      const web = repos.getByRole('row').filter({ hasText: 'web' })
      for (const text of ['1 critical', '1 medium', '1 more'])
        await web.getByText(text, { exact: true }).waitFor()
      await repos.getByRole('row').filter({ hasText: 'empty' }).getByText('no images').waitFor()
      assert.equal(requests.length, 1, requests.join('\n'))
      await assertAccessible(page, 'repositories with vulnerabilities')
      await open(`/repos/${repo.uid}`, 'web')
      const tags = page.getByRole('grid', { name: 'Tags' })
      const rowOf = (tag: string) =>
        tags.getByRole('row').filter({ has: page.getByRole('rowheader', { name: tag, exact: true }) })
      await rowOf('v1').getByText('1 critical').waitFor()
      await rowOf('v2').getByText('1 medium').waitFor()
      await rowOf('latest').getByText('1 medium').waitFor()
      assert.equal(requests.length, 2, requests.join('\n'))
      await assertAccessible(page, 'tags with vulnerabilities')
      await rowOf('v1')
        .getByRole('link', { name: /critical/ })
        .click()
      await page.getByRole('heading', { level: 1, name: `Image ${short(old)}` }).waitFor()
      await page.getByRole('button', { name: 'Show the tags with CVE-2026-0001' }).click()
      const found = page.getByRole('grid', { name: 'Tags with the vulnerability' })
      const states = async () =>
        Promise.all(
          (await found.getByRole('row').all())
            .slice(1)
            .map(async (row) => (await row.innerText()).split(/\s+/).slice(0, 2)),
        )
      await found.getByText('not found').first().waitFor()
      assert.deepEqual(await states(), [
        ['latest', 'not'],
        ['v1', 'Affected'],
        ['v2', 'not'],
      ])
      await page.getByText(`berth images vulns-by-tag ${name} --vulnerability CVE-2026-0001`).waitFor()
      await assertAccessible(page, 'tags with a vulnerability')
      assert.deepEqual(problems, [])
    })

    test('findings show what catalogs state about their exploitation, and are filtered and sorted by it', async () => {
      const { organization, folder, repo, name, old } = await prepared()
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      const address = `/manifests/${repo.uid}/${old.digest}?tab=vulnerabilities`
      await open(address, `Image ${short(old)}`)
      // Without a catalog, nothing is known, which is not the same as none.
      await page.getByText(/no catalog of known exploited vulnerabilities/).waitFor()
      assert.equal(await page.getByRole('columnheader', { name: 'Exploitation' }).count(), 0)
      const catalogs = [
        { name: 'known.json', text: kev([{ ...LOG4SHELL, cveID: 'CVE-2026-0002' }]) },
        { name: 'epss.csv', text: epss({ 'CVE-2026-0001': [0.02, 0.8], 'CVE-2026-0002': [0.94358, 0.999] }) },
      ]
      const { body } = await cast().admin.post(
        `vulnerabilities/advisories/${organization.uid}:importDocuments`,
        {
          documents: catalogs.map(({ name, text }) => ({
            name,
            content: Buffer.from(text).toString('base64'),
          })),
        },
      )
      for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
      await eventually(async () => {
        const { body: found } = await cast().admin.get(`vulnerabilities/imageFindings/${repo.uid}`, {
          tag: 'v1',
        })
        return found.knownExploitedCount === '1'
      })
      await open(`${address}&order=risk`, `Image ${short(old)}`)
      const findings = page.getByRole('grid', { name: 'Findings' })
      const row = findings.getByRole('row').nth(1)
      for (const text of [
        'CVE-2026-0002',
        'exploited by ransomware',
        'EPSS 94.4%',
        'mitigate by 2021-12-24',
        'CWE-20, CWE-502',
      ])
        await row.getByText(text, { exact: true }).waitFor()
      await findings.getByRole('row').filter({ hasText: 'CVE-2026-0001' }).getByText('EPSS 2%').waitFor()
      await findings
        .getByRole('row')
        .filter({ hasText: 'CVE-2026-0003' })
        .getByText('nothing known')
        .waitFor()
      await page.getByText(`berth images vulns ${name}@${old.digest} --by-risk`).waitFor()
      await assertAccessible(page, 'findings with their exploitation')
      await page.getByRole('button', { name: '1 finding known to be exploited' }).click()
      await page.getByText('1 of 1').waitFor()
      await page.getByText(`berth images vulns ${name}@${old.digest} --exploited --by-risk`).waitFor()
      await page.getByRole('button', { name: /Exploitation$/ }).click()
      await page.getByRole('option', { name: 'EPSS of 1 % or more' }).click()
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('searchbox', { name: 'Weakness' }).fill('cwe-502')
      await page.getByText('1 of 1').waitFor()
      await page.getByRole('button', { name: 'Remove all filters' }).click()
      await page.getByText('3 of 3').waitFor()
      await open(`/folders/${folder.uid}?tab=repositories`, folder.name)
      await page.getByText('1 known to be exploited').waitFor()
      assert.deepEqual(problems, [])
    })

    test('vulnerabilities are found by what documents say, by score and weakness', async () => {
      const { organization, name } = await prepared()
      const { body } = await cast().admin.post(
        `vulnerabilities/advisories/${organization.uid}:importDocuments`,
        {
          documents: [
            osv('GHSA-5555-6666-7777', 'npm', 'parser', '2.0.0', {
              aliases: ['CVE-2026-0021'],
              summary: 'Denial of service <b>in</b> parser',
              details: 'A crafted header exhausts the heap.',
              ...scored(CRITICAL),
              database_specific: { cwe_ids: ['CWE-770'] },
            }),
            osv('CVE-2026-0022', 'npm', 'other', '2.0.0', { summary: LONG, ...scored(MEDIUM) }),
          ],
        },
      )
      for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      await open(`/folders/${organization.uid}?tab=advisories&section=search`, organization.name)
      const found = page.getByRole('grid', { name: 'Vulnerabilities' })
      await found.getByRole('row').nth(4).waitFor()
      await assertAccessible(page, 'search of texts')
      await page.getByRole('searchbox', { name: 'Words' }).fill('heap CRAFTED')
      await page.getByText('1 of 1').waitFor()
      const row = found.getByRole('row').nth(1)
      for (const text of [
        'CVE-2026-0021',
        'Denial of service <b>in</b> parser',
        'A crafted header exhausts the heap.',
        'CWE-770',
        'OSV',
      ])
        await row.getByText(text, { exact: true }).waitFor()
      const [root = ''] = name.split('/')
      await page.getByText(`berth advisories search 'heap CRAFTED' --parent ${root}`).waitFor()
      assert.match(page.url(), /text=heap/)
      await page.getByRole('button', { name: 'Remove all filters' }).click()
      await page.getByRole('button', { name: /CVSS score$/ }).click()
      await page.getByRole('option', { name: '9 or higher' }).click()
      await page.getByText('2 of 2').waitFor()
      await page.getByRole('searchbox', { name: 'Weakness' }).fill('CWE-79')
      await page.getByText('No document says all of this.').waitFor()
      await page.getByRole('searchbox', { name: 'Weakness' }).fill('CWE-770')
      await page.getByText('1 of 1').waitFor()
      await row.getByRole('link', { name: 'CVE-2026-0021' }).click()
      await page.getByRole('heading', { level: 1, name: 'Advisories' }).waitFor()
      await page
        .getByRole('grid', { name: 'Advisories' })
        .getByRole('row')
        .filter({ hasText: 'parser' })
        .waitFor()
      assert.deepEqual(problems, [])
    })

    test('an advisory about two vulnerabilities lists the images of each', async () => {
      const { organization } = await prepared()
      const aliases = ['CVE-2026-0011', 'CVE-2026-0012']
      const { body } = await cast().admin.post(
        `vulnerabilities/advisories/${organization.uid}:importDocuments`,
        {
          documents: [
            osv('ALPINE-2026-0011', 'Alpine:v3.20', 'curl-src', '9.0.0-r0', { aliases }),
            osv('ALPINE-2026-0012', 'Alpine:v3.20', 'zlib-src', '1.3.2-r0', { aliases: aliases.slice(1) }),
          ],
        },
      )
      for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
      const { body: list } = await cast().admin.get('vulnerabilities/advisories', {
        'uidp.descendants_of': organization.uid,
        aliases: 'CVE-2026-0011',
      })
      await eventually(async () => {
        const { body: found } = await cast().admin.get(`vulnerabilities/affectedImages/${organization.uid}`, {
          vulnerability: 'CVE-2026-0012',
        })
        return found.affectedImages.length === 2
      })
      const { page, problems, open } = await cast().signIn('viewer', organization.uid)
      const [advisory] = list.advisories
      await open(`/advisories/${advisory.uid}`, advisory.advisoryId)
      const images = page.getByRole('grid', { name: 'Affected images' })
      await images.getByRole('row').filter({ hasText: 'curl' }).waitFor()
      assert.equal(await images.getByRole('row').count(), 1 + 1)
      await page.getByRole('button', { name: /Vulnerability$/ }).click()
      await page.getByRole('option', { name: 'CVE-2026-0012' }).click()
      await images.getByRole('row').filter({ hasText: 'zlib' }).waitFor()
      assert.equal(await images.getByRole('row').count(), 1 + 2)
      await assertAccessible(page, 'an advisory about two vulnerabilities')
      assert.deepEqual(problems, [])
    })

    test('passes axe', async () => {
      const { organization, repo, old, now } = await prepared(LONG)
      const { page, problems, visit } = await cast().signIn('owner', organization.uid)
      for (const [title, path, heading] of [
        ['packages', `/manifests/${repo.uid}/${old.digest}?tab=packages`, `Image ${short(old)}`],
        [
          'vulnerabilities',
          `/manifests/${repo.uid}/${old.digest}?tab=vulnerabilities`,
          `Image ${short(old)}`,
        ],
        ['uncovered', `/manifests/${repo.uid}/${now.digest}?tab=vulnerabilities`, `Image ${short(now)}`],
        ['signatures', `/manifests/${repo.uid}/${now.digest}?tab=signatures`, `Image ${short(now)}`],
        ['pull policies', `/manifests/${repo.uid}/${now.digest}?tab=pull-policies`, `Image ${short(now)}`],
      ] as const) {
        await visit(path, heading)
        await assertAccessible(page, title)
      }
      assert.deepEqual(problems, [])
    })
  },
  { ...imageJobs, findingHistoryDelayMs: 0 },
)
