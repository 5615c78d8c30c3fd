import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FindingsService } from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import { readScannerReport } from '@berth/image-contents/reports/read-scanner-report.ts'
import { findingsJob, MATCHED } from '@berth/server/findings/finding-job.ts'
import { MATCHER_VERSION } from '@berth/server/findings/matching/match.ts'
import {
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { policiesOf } from '../support/api/policies.ts'
import { sbomProblems } from '../support/contents/sbom-schemas.ts'
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
import { layeredImage } from '../support/registry/layered-image.ts'
import { digest, imageFromManifest, pushImage, putManifest, types } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** Vulnerabilities of images, from the push of an image and the import of advisories. */

onEveryDatabase(
  'findings',
  (cast) => {
    test('an image has the findings of its packages, with counts and coverage', async () => {
      const { importAll, name, owner, repoUid, matched, list } = await setUp(cast())
      await importAll(
        osv('CVE-2024-0001', 'Alpine:v3.19', 'openssl', '3.1.4-r5', {
          severity: [{ type: 'CVSS_V3', score: CRITICAL }],
        }),
        osv('CVE-2024-0002', 'Alpine:v3.18', 'openssl', '9.0.0-r0'),
        osv('CVE-2024-0003', 'Alpine:v3.19', 'openssl', '3.1.4-r1'),
      )
      const image = await pushImage(
        owner,
        name,
        await imageWith({ libcrypto3: '3.1.4-r4', libssl3: '3.1.4-r4' }, { 'left-pad': '1.0.0' }),
        'v1',
      )
      const repo = await repoUid()
      const found = await matched(repo, 'tag=v1')
      assert.deepEqual(found.findings.map(line).sort(), [
        'CVE-2024-0001 pkg:apk/alpine/libcrypto3@3.1.4-r4 AFFECTED CRITICAL 3.1.4-r5',
        'CVE-2024-0001 pkg:apk/alpine/libssl3@3.1.4-r4 AFFECTED CRITICAL 3.1.4-r5',
      ])
      assert.equal(found.findings[0].score, 9.8)
      assert.deepEqual(found.counts, [{ state: 'STATE_AFFECTED', severity: 'SEVERITY_CRITICAL', count: '2' }])
      assert.equal(found.totalCount, '2')
      assert.equal(found.digest, image.digest)
      assert.equal(found.contentsState, 'read')
      assert.deepEqual(found.coverage, [
        { ecosystem: 'Alpine:3.19.1', packageCount: '2', covered: true },
        { ecosystem: 'npm', packageCount: '1', covered: false },
      ])
      assert.ok(Date.parse(found.advisoriesTime) > 0)
      // The same by digest, in pages, and with filters.
      const first = await list(repo, `digest=${image.digest}&page_size=1`)
      const second = await list(repo, `digest=${image.digest}&page_size=1&page_token=${first.nextPageToken}`)
      assert.deepEqual([...first.findings, ...second.findings], found.findings)
      assert.equal(second.nextPageToken, '')
      for (const [filter, total] of [
        ['states=STATE_AFFECTED', '2'],
        ['states=STATE_NOT_AFFECTED', '0'],
        ['severities=SEVERITY_CRITICAL&severities=SEVERITY_LOW', '2'],
        ['severities=SEVERITY_LOW', '0'],
        ['vulnerability=CVE-2024-0001', '2'],
        ['vulnerability=CVE-2024-0003', '0'],
      ])
        assert.equal((await list(repo, `tag=v1&${filter}`)).totalCount, total, filter)
    })

    test('a report has the findings with what advisories say, and needs a format', async () => {
      const { importAll, name, owner, repoUid, matched, viewer } = await setUp(cast())
      await importAll(
        osv('CVE-2024-0001', 'Alpine:v3.19', 'openssl', '3.1.4-r5', {
          severity: [{ type: 'CVSS_V3', score: CRITICAL }],
          summary: 'Overflow',
          details: 'Two\nlines',
          references: [{ type: 'WEB', url: 'https://example.com/1' }],
        }),
      )
      await pushImage(owner, name, await imageWith({ libssl3: '3.1.4-r4' }, { 'left-pad': '1.0.0' }), 'v1')
      const repo = await repoUid()
      await matched(repo, 'tag=v1')
      const get = (query: string) => read(viewer.api, `${path}/${repo}:report?${query}`)
      for (const [format, version] of [
        ['REPORT_FORMAT_SARIF', 'sarif-2.1.0'],
        ['REPORT_FORMAT_CYCLONEDX', 'cyclonedx-1.6'],
      ] as const) {
        const { status, body, text } = await get(`reference=v1&format=${format}`)
        assert.equal(status, 200, text)
        assert.equal(body.format, version)
        assert.equal(sbomProblems(version, body.report), '')
        const { vulnerabilities } = readScannerReport(Buffer.from(body.report))
        assert.deepEqual(
          vulnerabilities.map(({ id, description, details, cvss }) => ({ id, description, details, cvss })),
          [
            {
              id: 'CVE-2024-0001',
              description: 'Overflow',
              details: 'Two\nlines',
              cvss: [{ score: CRITICAL, version: '3.1' }],
            },
          ],
        )
        assert.match(body.report, /https:\/\/example\.com\/1/)
        // The repo is named as people do.
        assert.match(body.report, new RegExp(name.split('/')[1] ?? '-'))
      }
      assertError(await get('reference=v1'), invalidFieldError('format'))
      assertError(
        await get('reference=none&format=REPORT_FORMAT_SARIF'),
        notFoundError('registry.chainguard.dev/Manifest', 'none'),
      )
    })

    test('policies at pull know packages, licenses and vulnerabilities, and never take missing data for none', async () => {
      const { importAll, name, owner, repoUid, matched, organization, root } = await setUp(cast())
      await importAll(
        osv('CVE-2024-0011', 'Alpine:v3.19', 'openssl', '3.1.4-r5', {
          severity: [{ type: 'CVSS_V3', score: CRITICAL }],
        }),
      )
      await pushImage(owner, name, await imageWith({ libssl3: '3.1.4-r4' }), 'affected')
      await pushImage(owner, name, await imageWith({ libssl3: '3.1.4-r5' }), 'fixed')
      await pushImage(owner, name, await imageWith({ libssl3: '3.1.4-r5' }, { 'left-pad': '1.0.0' }), 'npm')
      await pushImage(owner, name, layeredImage(), 'empty')
      const repo = await repoUid()
      for (const tag of ['affected', 'fixed', 'npm', 'empty']) await matched(repo, `tag=${tag}`)
      const policies = policiesOf(cast().berth, organization.owner.api.token)
      const outcome = async (tag: string) => {
        const { status, json } = await owner.request('GET', `${name}/manifests/${tag}`)
        return status === 200 ? '' : String(json.errors[0].message)
      }
      const severity = await policies.bind(root, 'highest-severity', { severity: 'high' })
      assert.match(await outcome('affected'), /1 vulnerability of severity high or higher: CVE-2024-0011/)
      assert.equal(await outcome('fixed'), '')
      assert.match(
        await outcome('npm'),
        /vulnerabilities is not known: the organization has no advisories of npm/,
      )
      assert.match(await outcome('empty'), /vulnerabilities is not known: /)
      const grace = { ...severity, parameters: { severity: 'high', grace_days: 7 } }
      assert.equal((await policies.request('PUT', `bindings/${severity.id}`, grace)).status, 200)
      assert.equal(await outcome('affected'), '')
      assert.equal((await policies.request('DELETE', `bindings/${severity.id}`)).status, 200)
      // A vulnerability without a fix, found today, in a package of its own.
      await importAll(
        osv('CVE-2024-0012', 'npm', 'unfixed', '', {
          severity: [{ type: 'CVSS_V3', score: CRITICAL }],
          affected: [
            {
              package: { ecosystem: 'npm', name: 'unfixed' },
              ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }] }],
            },
          ],
        }),
      )
      await pushImage(owner, name, await imageWith({ libssl3: '3.1.4-r5' }, { unfixed: '1.0.0' }), 'unfixed')
      await matched(repo, 'tag=unfixed')
      const parameters = [
        ['highest-severity', { severity: 'high' }, 'unfixed', /CVE-2024-0012 \(critical\)/],
        ['highest-severity', { severity: 'high', waive_unfixed_after_days: 30 }, 'unfixed', /CVE-2024-0012/],
        ['highest-severity', { severity: 'high', waive_unfixed_after_days: -1 }, 'unfixed', /^$/],
        ['highest-severity', { severity: 'high', waive_unfixed_after_days: -1 }, 'affected', /CVE-2024-0011/],
        ['licenses', { denied: ['MIT'] }, 'fixed', /it has packages under MIT/],
        ['licenses', { denied: ['GPL-*'] }, 'fixed', /^$/],
        ['licenses', { allowed: ['Apache-*'] }, 'fixed', /it has packages under MIT/],
        ['licenses', { allowed: ['mit', 'Apache-*'] }, 'fixed', /^$/],
        ['end-of-life', { warning_days: 36_500 }, 'fixed', /the end of life of alpine:3.19/],
      ] as const
      for (const [policy, values, tag, expected] of parameters) {
        const { id } = await policies.bind(root, policy, values)
        assert.match(await outcome(tag), expected, `${policy} ${JSON.stringify(values)}`)
        assert.equal((await policies.request('DELETE', `bindings/${id}`)).status, 200)
      }
      await policies.bind(root, 'contents-known')
      assert.equal(await outcome('npm'), '')
    })

    test('an advisory that is imported, changed and deleted changes the findings of images that are there', async () => {
      const { importAll, name, owner, repoUid, matched, list, organization, root } = await setUp(cast())
      await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      const repo = await repoUid()
      assert.deepEqual((await matched(repo, 'tag=v1')).findings, [])
      const states = async (expected: readonly string[]) => {
        const { findings } = await eventually(
          () => list(repo, 'tag=v1'),
          ({ findings }) => JSON.stringify(findings.map(line)) === JSON.stringify(expected),
        )
        return findings
      }
      await importAll(osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '2.0.0', { aliases: ['CVE-2024-0001'] }))
      const [finding] = await states(['CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 2.0.0'])
      assert.deepEqual(finding.aliases, ['GHSA-2222-3333-4444'])
      await importAll(
        osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '3.0.0', {
          aliases: ['CVE-2024-0001'],
          modified: '2024-01-03T00:00:00Z',
        }),
      )
      await states(['CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 3.0.0'])
      // A score by another record of the same vulnerability.
      await importAll(
        osv('CVE-2024-0001', 'npm', 'another', '1.0.0', { severity: [{ type: 'CVSS_V3', score: CRITICAL }] }),
      )
      await states(['CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED CRITICAL 3.0.0'])
      const { api } = await organization.member('advisories.admin')
      const deleted = await api.post(`vulnerabilities/advisories/${root}:deleteDocuments`, {
        format: 'osv',
        ids: ['GHSA-2222-3333-4444'],
      })
      assert.equal(deleted.status, 200, deleted.text)
      await states([])
    })

    test('images are found by a vulnerability and its aliases, below a group', async () => {
      const { importAll, name, owner, repoUid, matched, viewer, root } = await setUp(cast())
      await importAll(osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '2.0.0', { aliases: ['CVE-2024-0001'] }))
      const old = await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      await pushImage(owner, name, await imageWith({}, { 'left-pad': '2.0.0' }), 'v2')
      const other = await pushImage(owner, `${name}-2`, await imageWith({}, { 'left-pad': '1.5.0' }), 'v1')
      const repo = await repoUid()
      await matched(repo, 'tag=v1')
      const affected = async (scope: string, query: string): Promise<Json> => {
        const { status, body, text } = await read(
          viewer.api,
          `vulnerabilities/affectedImages/${scope}?${query}`,
        )
        assert.equal(status, 200, text)
        return body
      }
      const all = await eventually(
        () => affected(root, 'vulnerability=GHSA-2222-3333-4444'),
        ({ affectedImages }) => affectedImages.length === 2,
      )
      const images = all.affectedImages.map(({ digest: its }: Json) => its).sort()
      assert.deepEqual(images, [old.digest, other.digest].sort())
      const [{ repoUid: where, tags, finding }] = (await affected(repo, 'vulnerability=CVE-2024-0001'))
        .affectedImages
      assert.deepEqual(
        [where, tags, line(finding)],
        [repo, ['v1'], 'CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 2.0.0'],
      )
      // People pull the index: its tags are those of its images.
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        manifests: [old.descriptor],
      })
      assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
      assert.deepEqual((await affected(repo, 'vulnerability=CVE-2024-0001')).affectedImages[0].tags, [
        'multi',
        'v1',
      ])
      const first = await affected(root, 'vulnerability=CVE-2024-0001&page_size=1')
      const second = await affected(
        root,
        `vulnerability=CVE-2024-0001&page_size=1&page_token=${first.nextPageToken}`,
      )
      assert.deepEqual(
        [...first.affectedImages, ...second.affectedImages].map(({ digest: its }) => its),
        all.affectedImages.map(({ digest: its }: Json) => its),
      )
      assert.deepEqual(
        (await affected(root, 'vulnerability=CVE-2024-0001&states=STATE_UNKNOWN')).affectedImages,
        [],
      )
      assert.deepEqual((await affected(root, 'vulnerability=CVE-2024-9999')).affectedImages, [])

      const { body } = await read(
        viewer.api,
        `${path}/${repo}:compare?base_digest=${old.digest}&digest=${(await read(viewer.api, `${path}/${repo}?tag=v2`)).body.digest}`,
      )
      assert.deepEqual(
        [body.added, body.removed.map(line), body.changed],
        [[], ['CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 2.0.0'], []],
      )
    })

    test('the images of a vulnerability of many packages are paged, each once', async () => {
      const { importAll, name, owner, repoUid, matched, organization } = await setUp(cast())
      const range = (from: number, to: number) =>
        Array.from({ length: to - from }, (_, at) => `many-${String(from + at).padStart(2, '0')}`)
      const images = [range(0, 12), range(6, 18), range(19, 20)]
      for (const [at, names] of images.entries())
        await pushImage(
          owner,
          name,
          await imageWith({}, Object.fromEntries(names.map((each) => [each, '1.0.0']))),
          `v${at}`,
        )
      const repo = await repoUid()
      const recordOf = (id: string, names: readonly string[]) =>
        osv(id, 'npm', 'many-00', '', {
          aliases: ['GHSA-2222-3333-5555'],
          affected: names.map((each) => ({
            package: { ecosystem: 'npm', name: each },
            ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }] }],
          })),
        })
      await importAll(recordOf('CVE-2024-0021', range(0, 20)))
      await importAll(recordOf('CVE-2024-0022', range(4, 8)))
      for (const at of images.keys()) await matched(repo, `tag=v${at}`)
      const list = async (query: string, size: number) => {
        const found: string[] = []
        for (let token = ''; ; ) {
          const path = `vulnerabilities/affectedImages/${repo}?vulnerability=GHSA-2222-3333-5555&page_size=${size}&page_token=${token}&${query}`
          const { status, body, text } = await read(organization.owner.api, path)
          assert.equal(status, 200, text)
          for (const { tags, finding } of body.affectedImages)
            found.push(`${tags} ${finding.purl} ${finding.vulnerability}`)
          token = body.nextPageToken
          if (token === '') return found
        }
      }
      const expected = images.flatMap((names, at) =>
        names.flatMap((each) =>
          ['CVE-2024-0021', ...(range(4, 8).includes(each) ? ['CVE-2024-0022'] : [])].map(
            (id) => `v${at} pkg:npm/${each}@1.0.0 ${id}`,
          ),
        ),
      )
      const inOrder = await eventually(
        () => list('', 200),
        (found) => found.length === expected.length,
      )
      assert.deepEqual(inOrder.toSorted(), expected.toSorted())
      for (const size of [1, 7, 10]) assert.deepEqual(await list('', size), inOrder, `${size} in a page`)
      assert.deepEqual(await list('states=STATE_AFFECTED', 3), inOrder)
      assert.deepEqual(await list('states=STATE_NOT_AFFECTED', 3), [])
    })

    test('organizations do not share findings', async () => {
      const one = await setUp(cast())
      const other = await setUp(cast())
      await one.importAll(osv('CVE-2024-0001', 'npm', 'left-pad', '2.0.0'))
      const image = await imageWith({}, { 'left-pad': '1.0.0' })
      for (const { owner, name } of [one, other]) await pushImage(owner, name, image, 'v1')
      const [repo, otherRepo] = [await one.repoUid(), await other.repoUid()]
      assert.equal((await one.matched(repo, 'tag=v1')).totalCount, '1')
      const { totalCount, coverage } = await other.matched(otherRepo, 'tag=v1')
      assert.equal(totalCount, '0')
      assert.deepEqual(coverage, [{ ecosystem: 'npm', packageCount: '1', covered: false }])
      assertError(await read(other.viewer.api, `${path}/${repo}?tag=v1`), permissionDeniedError)
      assertError(
        await read(
          other.viewer.api,
          `vulnerabilities/affectedImages/${one.root}?vulnerability=CVE-2024-0001`,
        ),
        permissionDeniedError,
      )
      const { body } = await read(
        other.viewer.api,
        `vulnerabilities/affectedImages/${other.root}?vulnerability=CVE-2024-0001`,
      )
      assert.deepEqual(body.affectedImages, [])
    })

    test('reads need both capabilities, and invalid values are named', async () => {
      const { owner, name, repoUid, organization, viewer, root } = await setUp(cast())
      const image = await pushImage(owner, name, await imageWith({}), 'v1')
      const repo = await repoUid()
      const outsider = await organization.member('advisories.admin')
      assertError(await read(outsider.api, `${path}/${repo}?tag=v1`), permissionDeniedError)
      const get = (query: string) => read(viewer.api, `${path}/${repo}?${query}`)
      assertError(await get(''), invalidFieldError('digest'))
      assertError(await get(`tag=v1&digest=${image.digest}`), invalidFieldError('digest'))
      assertError(await get('digest=sha256:1'), invalidFieldError('digest'))
      assertError(await get('tag=v1&page_size=-1'), invalidFieldError('page_size'))
      assertError(await get('tag=v1&states=STATE_UNSPECIFIED'), invalidFieldError('states[0]'))
      assertError(await get('tag=v1&severities=SEVERITY_UNSPECIFIED'), invalidFieldError('severities[0]'))
      assertError(await get('tag=none'), notFoundError('registry.chainguard.dev/Manifest', `${repo}:none`))
      const none = digest('none')
      assertError(
        await get(`digest=${none}`),
        notFoundError('registry.chainguard.dev/Manifest', `${repo}@${none}`),
      )
      assertError(
        await read(viewer.api, `vulnerabilities/affectedImages/${root}`),
        invalidFieldError('vulnerability'),
      )
    })

    test('packages that an earlier version matched are matched again, also after a node ended in the middle', async () => {
      const { importAll, name, owner, repoUid, matched, list, root } = await setUp(cast())
      const severity = [{ type: 'CVSS_V3', score: CRITICAL }]
      await importAll(
        osv('CVE-2024-0001', 'Alpine:v3.19', 'openssl', '3.1.4-r5', { severity }),
        osv('CVE-2024-0002', 'npm', 'left-pad', '2.0.0', { severity }),
      )
      await pushImage(owner, name, await imageWith({ libssl3: '3.1.4-r4' }, { 'left-pad': '1.0.0' }), 'v1')
      const repo = await repoUid()
      const { findings } = await matched(repo, 'tag=v1')
      assert.deepEqual(findings.map(line).sort(), [
        'CVE-2024-0001 pkg:apk/alpine/libssl3@3.1.4-r4 AFFECTED CRITICAL 3.1.4-r5',
        'CVE-2024-0002 pkg:npm/left-pad@1.0.0 AFFECTED CRITICAL 2.0.0',
      ])
      const { kysely } = cast().berth.berth.installation.store.db
      const job = kysely.updateTable('jobs').where('kind', '=', findingsJob.name)
      const positions = [
        'indexed',
        `matched ${MATCHER_VERSION - 1}`,
        `matching ${MATCHER_VERSION - 1} ${root} 5`,
      ]
      for (const position of [...positions, `matching ${MATCHER_VERSION} ${root} 0`]) {
        await withoutMatching(cast().berth, async () => {
          await kysely
            .updateTable('package_findings')
            .set({ severity: 'unknown', fixed_version: '' })
            .where('root', '=', root)
            .execute()
          await job.set({ position }).execute()
        })
        await eventually(async () =>
          kysely.selectFrom('jobs').select('kind').where('position', '=', MATCHED).executeTakeFirst(),
        )
        assert.deepEqual((await list(repo, 'tag=v1')).findings, findings, position)
      }
    })

    test('over gRPC', async () => {
      const { owner, name, repoUid, matched, importAll, organization } = await setUp(cast())
      await importAll(osv('CVE-2024-0001', 'npm', 'left-pad', '2.0.0'))
      await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      const repo = await repoUid()
      await matched(repo, 'tag=v1')
      const token = await cast().berth.tokenOf(organization.owner.uid)
      const { findings } = await cast().grpc.call(
        FindingsService.method.listImageFindings,
        { uid: repo, tag: 'v1' },
        { token },
      )
      assert.deepEqual(
        findings.map(({ vulnerability }) => vulnerability),
        ['CVE-2024-0001'],
      )
    })
  },
  imageJobs,
)
