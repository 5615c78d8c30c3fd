import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertError,
  failedPreconditionError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import {
  CRITICAL,
  imageWith,
  type Json,
  line,
  osv,
  path,
  read,
  setUp,
  withoutMatching,
} from '../support/findings/image-findings.ts'
import { attach } from '../support/images/readable-image.ts'
import { json, reportTypes, trivyReport } from '../support/images/scanner-reports.ts'
import { layeredImage } from '../support/registry/layered-image.ts'
import { digest, pushImage } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** What responses state about advisories that were imported and are not matched with images yet. */

onEveryDatabase(
  'findings that wait for work in the background',
  (cast) => {
    const prepare = async () => {
      const fixture = await setUp(cast())
      const { importAll, owner, name, repoUid, matched, viewer, root } = fixture
      await importAll(osv('CVE-2024-0001', 'npm', 'left-pad', '2.0.0'))
      const image = await imageWith({}, { 'left-pad': '1.0.0' })
      await pushImage(owner, name, image, 'v1')
      await pushImage(owner, name, await imageWith({}, { 'right-pad': '1.0.0' }), 'other')
      const repo = await repoUid()
      for (const tag of ['v1', 'other']) await matched(repo, `tag=${tag}`)
      const get = async (address: string): Promise<Json> => {
        const { status, body, text } = await read(viewer.api, address)
        assert.equal(status, 200, text)
        return body
      }
      const pendingOf = async (tag: string) => {
        const { matched: isMatched, pending } = await get(`${path}/${repo}?tag=${tag}`)
        assert.equal(isMatched, pending.length === 0)
        return pending
      }
      const summary = (rest = '') => get(`vulnerabilities/findingSummaries/${root}${rest}`)
      return { ...fixture, image, repo, get, pendingOf, summary }
    }

    test('an image is not matched while an advisory about its packages waits', async () => {
      const { importAll, repo, get, pendingOf, summary, matched } = await prepare()
      assert.equal((await summary()).matched, true)
      await withoutMatching(cast().berth, async () => {
        await importAll(osv('CVE-2024-0002', 'npm', 'left-pad', '3.0.0'))
        assert.deepEqual(await pendingOf('v1'), ['PENDING_WORK_ADVISORIES'])
        assert.deepEqual(await pendingOf('other'), [])
        assert.equal((await summary()).matched, false)
        const { tagFindingSummaries } = await get(`vulnerabilities/findingSummaries/${repo}:tags`)
        assert.deepEqual(
          tagFindingSummaries.map((one: Json) => [one.tag, one.matched]),
          [
            ['other', true],
            ['v1', false],
          ],
        )
      })
      const { findings } = await matched(repo, 'tag=v1')
      assert.deepEqual(findings.map(line), [
        'CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 2.0.0',
        'CVE-2024-0002 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 3.0.0',
      ])
    })

    test('neither while a score of its vulnerabilities, or an advisory that was deleted, waits', async () => {
      const { importAll, repo, pendingOf, matched, organization, root } = await prepare()
      await withoutMatching(cast().berth, async () => {
        // Another package, the same vulnerability.
        const severity = [{ type: 'CVSS_V3', score: CRITICAL }]
        await importAll(
          osv('GHSA-2222-3333-4444', 'npm', 'x', '1.0.0', { aliases: ['CVE-2024-0001'], severity }),
        )
        assert.deepEqual(await pendingOf('v1'), ['PENDING_WORK_ADVISORIES'])
        assert.deepEqual(await pendingOf('other'), [])
      })
      const [finding] = (await matched(repo, 'tag=v1')).findings
      assert.equal(finding.severity, 'SEVERITY_CRITICAL')
      const { api } = await organization.member('advisories.admin')
      await withoutMatching(cast().berth, async () => {
        const deleted = await api.post(`vulnerabilities/advisories/${root}:deleteDocuments`, {
          format: 'osv',
          ids: ['CVE-2024-0001'],
        })
        assert.equal(deleted.status, 200, deleted.text)
        assert.deepEqual(await pendingOf('v1'), ['PENDING_WORK_ADVISORIES'])
      })
      assert.deepEqual((await matched(repo, 'tag=v1')).findings, [])
    })

    test('packages that are new wait to be matched, and an image to be read', async () => {
      const { owner, name, repo, pendingOf, matched } = await prepare()
      await withoutMatching(cast().berth, async () => {
        const image = await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.5.0' }), 'new')
        const pending = await pendingOf('new')
        assert.ok(
          ['PENDING_WORK_CONTENTS', 'PENDING_WORK_PACKAGES'].includes(pending.join()),
          String(pending),
        )
        assert.ok(image.digest)
      })
      assert.equal((await matched(repo, 'tag=new')).findings.length, 1)
    })

    test('images are compared only if both are read and matched', async () => {
      const { importAll, repo, owner, name, image, get, matched, viewer } = await prepare()
      const fixed = await pushImage(owner, name, await imageWith({}, { 'left-pad': '2.0.0' }), 'fixed')
      await matched(repo, 'tag=fixed')
      const compare = (base: string, other: string) =>
        read(viewer.api, `${path}/${repo}:compare?base_digest=${base}&digest=${other}`)
      const difference = await get(
        `${path}/${repo}:compare?base_digest=${image.digest}&digest=${fixed.digest}`,
      )
      assert.deepEqual([difference.removed.length, difference.pending], [1, []])

      const unreadable = await pushImage(owner, name, layeredImage(), 'unreadable')
      await matched(repo, 'tag=unreadable')
      await cast()
        .berth.berth.installation.store.db.kysely.updateTable('manifest_contents')
        .set({ state: 'failed', reason: 'it needs more than 1024 MiB (contentsMemoryMib)' })
        .where('digest', '=', unreadable.digest)
        .execute()
      const artifact = await attach(owner, name, image, 'application/vnd.example.note', json({}))
      await eventually(
        () => get(`${path}/${repo}?digest=${artifact.digest}`),
        ({ contentsState }) => contentsState === 'none',
      )
      // The image is read again with what is attached to it.
      await matched(repo, 'tag=v1')
      await withoutMatching(cast().berth, async () => {
        await importAll(osv('CVE-2024-0003', 'npm', 'left-pad', '3.0.0'))
        const { body } = await compare(image.digest, fixed.digest)
        assert.deepEqual(body.pending, ['PENDING_WORK_ADVISORIES'])
        const added = await pushImage(owner, name, await imageWith({}, { 'left-pad': '2.5.0' }), 'added')
        await eventually(
          () => get(`${path}/${repo}?tag=added`),
          ({ contentsState }) => contentsState === 'read',
        )
        for (const [base, other] of [
          [image.digest, added.digest],
          [added.digest, image.digest],
        ] as const)
          assertError(await compare(base, other), failedPreconditionError('IMAGE_NOT_MATCHED'))
      })
      const cases = [
        [unreadable.digest, /it could not be read, because it needs more than 1024 MiB/],
        [artifact.digest, /it is not an image/],
      ] as const
      for (const [unknown, why] of cases)
        for (const [base, other] of [
          [image.digest, unknown],
          [unknown, image.digest],
        ] as const) {
          const reply = await compare(base, other)
          assertError(reply, failedPreconditionError('IMAGE_NOT_READ'))
          assert.match(reply.body.message, why)
        }
      const none = digest('none')
      assertError(
        await compare(none, image.digest),
        notFoundError('registry.chainguard.dev/Manifest', `${repo}@${none}`),
      )
      assertError(await compare('latest', image.digest), invalidFieldError('base_digest'))
    })

    test('a report is written with what waits, and compared with it', async () => {
      const { importAll, image, owner, name, repo, get, matched } = await prepare()
      await attach(
        owner,
        name,
        image,
        reportTypes.trivy,
        json(trivyReport([{ id: 'CVE-2024-0002', severity: 'low' }])),
      )
      await eventually(
        () => get(`vulnerabilities/imageScannerReports/${repo}?reference=v1`),
        ({ scannerReports }) => scannerReports.length === 1,
      )
      await matched(repo, 'tag=v1')
      const reportOf = (format: string) =>
        get(`${path}/${repo}:report?reference=v1&format=REPORT_FORMAT_${format}`)
      assert.deepEqual((await reportOf('SARIF')).pending, [])
      await withoutMatching(cast().berth, async () => {
        await importAll(osv('CVE-2024-0002', 'npm', 'left-pad', '3.0.0'))
        const sarif = await reportOf('SARIF')
        assert.deepEqual(sarif.pending, ['PENDING_WORK_ADVISORIES'])
        assert.match(sarif.report, /Advisories have changed and are not matched/)
        assert.match((await reportOf('CYCLONEDX')).report, /"berth:advisories:outdated"/)
        const compared = await get(
          `vulnerabilities/imageScannerReports/${repo}:compare?reference=v1&scanner=trivy`,
        )
        assert.deepEqual([compared.matched, compared.onlyInReport], [false, ['CVE-2024-0002']])
      })
      await matched(repo, 'tag=v1')
      assert.match((await reportOf('SARIF')).report, /CVE-2024-0002/)
    })
  },
  imageJobs,
)
