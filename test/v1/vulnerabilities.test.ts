import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  Scanner_Name,
  Vulnerabilities,
} from '@berth/contract/gen/chainguard/platform/registry/vuln_reports_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { eventually } from '../support/eventually.ts'
import { CRITICAL, imageWith, type Json, osv, setUp } from '../support/findings/image-findings.ts'
import { attach } from '../support/images/readable-image.ts'
import {
  envelopeOf,
  grypeReport,
  json,
  reportTypes,
  sarifReport,
  statementOf,
  trivyReport,
  vulnPredicate,
} from '../support/images/scanner-reports.ts'
import { pushImage, putManifest } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** Reports and counts of vulnerabilities in version 1: those of this server, and those that are attached. */

const high = (id: string) => ({ id, severity: 'high' })

onEveryDatabase(
  'vulnerabilities of version 1',
  (cast, { testOnce }) => {
    const prepare = async () => {
      const fixture = await setUp(cast())
      const { importAll, owner, name, viewer, organization } = fixture
      await importAll(
        osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '2.0.0', {
          aliases: ['CVE-2024-0001'],
          severity: [{ type: 'CVSS_V3', score: CRITICAL }],
          summary: 'pads too far',
        }),
        osv('CVE-2024-0002', 'npm', 'left-pad', '1.5.0'),
      )
      const image = await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      const uid = await fixture.repoUid()
      await fixture.matched(uid, 'tag=v1')
      const { url } = cast().berth
      const get = async (
        path: string,
        query: Record<string, string>,
        token = viewer.api.token,
      ): Promise<Json> => {
        const { status, body, text } = await call(
          'GET',
          `${url}/registry/v1/${path}?${new URLSearchParams(query)}`,
          { token },
        )
        return status === 200 ? body : { status, text }
      }
      const attached = (type: string, document: unknown) => attach(owner, name, image, type, json(document))
      return { ...fixture, image, uid, get, attached, organization }
    }

    test('GetVulnReport returns what this server finds in an image, over REST and gRPC', async () => {
      const { image, uid, get, viewer, organization } = await prepare()
      const path = `repos/${uid}/digests/${image.digest}/vulnreport`
      const report = await get(path, {})
      assert.equal(report.id, image.digest)
      assert.equal(report.scanner.name, 'berth')
      assert.ok(report.vulnerabilityDbLastBuildTime)
      assert.deepEqual(
        report.vulnerabilityMatches.map(({ vulnerability, pkg, fix }: Json) => [
          vulnerability.id,
          vulnerability.severity,
          vulnerability.description,
          vulnerability.relatedVulnerabilities.map(({ id }: Json) => id),
          pkg.purl,
          pkg.name,
          fix.state,
          fix.versions,
        ]),
        [
          [
            'CVE-2024-0001',
            'CRITICAL',
            'pads too far',
            ['GHSA-2222-3333-4444'],
            'pkg:npm/left-pad@1.0.0',
            'left-pad',
            'FIXED',
            ['2.0.0'],
          ],
          ['CVE-2024-0002', 'UNKNOWN', '', [], 'pkg:npm/left-pad@1.0.0', 'left-pad', 'FIXED', ['1.5.0']],
        ],
      )
      const raw = JSON.parse(Buffer.from(report.rawVulnReport, 'base64').toString())
      assert.equal(raw.bomFormat, 'CycloneDX')
      const overGrpc = await cast().grpc.call(
        Registry.method.getVulnReport,
        { repoId: uid, digest: image.digest },
        { token: viewer.api.token },
      )
      assert.equal(overGrpc.vulnerabilityMatches.length, 2)
      const outsider = await organization.member('advisories.admin')
      assert.equal((await get(path, {}, outsider.api.token)).status, 403)
      assert.equal((await get(`repos/${uid}/digests/sha256:${'0'.repeat(64)}/vulnreport`, {})).status, 404)
    })

    test('ListVulnReports returns the reports of this server and of other scanners, by repo, digest, tag, scanner and time', async () => {
      const { image, uid, get, attached, organization, viewer } = await prepare()
      await attached(
        reportTypes.trivy,
        trivyReport([{ id: 'CVE-2024-0001', severity: 'critical', fixed: '2.0.0' }]),
      )
      await attached(
        reportTypes.dsse,
        envelopeOf(
          statementOf(
            image.digest,
            'https://cosign.sigstore.dev/attestation/vuln/v1',
            vulnPredicate(grypeReport([high('CVE-2024-0003')])),
          ),
        ),
      )
      await attached(reportTypes.sarif, sarifReport([high('CVE-2024-0004')], 'berth'))
      const list = async (query: Record<string, string>): Promise<Json[]> =>
        (await get('vuln_reports', query)).items
      const reports = await eventually(
        () => list({ repo_id: uid }),
        (items) => items.length === 4,
      )
      const named = (items: Json[]) => items.map(({ scanner }) => scanner.name).sort()
      // A report that calls its scanner as this server is not from it.
      assert.deepEqual(named(reports), ['BERTH', 'GRYPE', 'OTHER', 'TRIVY'])
      for (const { digest, createdAt } of reports) assert.ok(digest === image.digest && createdAt)
      const trivy = reports.find(({ scanner }) => scanner.name === 'TRIVY')
      assert.deepEqual(
        trivy.vulnerabilities.map(({ id, severity, purls, fix, description }: Json) => [
          id,
          severity,
          purls,
          fix,
          description,
        ]),
        [
          [
            'CVE-2024-0001',
            'CRITICAL',
            ['pkg:npm/left-pad@1.0.0'],
            { versions: ['2.0.0'], state: 'FIXED' },
            'about CVE-2024-0001',
          ],
        ],
      )
      const own = reports.find(({ scanner }) => scanner.name === 'BERTH')
      assert.deepEqual(
        own.vulnerabilities.map(({ id, aliases, severity, locations }: Json) => [
          id,
          aliases,
          severity,
          locations,
        ]),
        [
          ['CVE-2024-0001', ['GHSA-2222-3333-4444'], 'CRITICAL', ['app/node_modules/left-pad/package.json']],
          ['CVE-2024-0002', [], 'UNKNOWN', ['app/node_modules/left-pad/package.json']],
        ],
      )
      assert.deepEqual(named(await list({ digest: image.digest, 'scanner.name': 'GRYPE' })), ['GRYPE'])
      assert.deepEqual(named(await list({ repo_id: uid, tag: 'v1', 'scanner.name': 'BERTH' })), ['BERTH'])
      assert.deepEqual(await list({ repo_id: uid, tag: 'v2' }), [])
      assert.deepEqual(named(await list({ repo_id: uid, created_since: '2026-02-05T00:00:00Z' })), [
        'BERTH',
        'GRYPE',
        'OTHER',
      ])
      assert.equal((await get('vuln_reports', { tag: 'v1' })).status, 400)
      const outsider = await cast().organization()
      assert.deepEqual((await get('vuln_reports', { repo_id: uid }, outsider.owner.api.token)).items, [])
      const unable = await organization.member('advisories.admin')
      assert.deepEqual((await get('vuln_reports', { digest: image.digest }, unable.api.token)).items, [])
      const { items } = await cast().grpc.call(
        Vulnerabilities.method.listVulnReports,
        { repoId: uid, scanner: { name: Scanner_Name.BERTH } },
        { token: viewer.api.token },
      )
      assert.equal(items[0]?.scanner?.name, 1000)

      // The documents as they were attached.
      const rawOf = (query: Record<string, string>) =>
        get('vuln_reports/raw', { digest: image.digest, ...query })
      assert.equal(JSON.parse((await rawOf({ scanner: 'TRIVY' })).rawReport).ArtifactName, 'app')
      assert.equal(JSON.parse((await rawOf({ scanner: 'GRYPE' })).rawReport).scanner.version, '0.57.1')
      assert.equal(JSON.parse((await rawOf({})).rawReport).bomFormat, 'CycloneDX')
      assert.equal(
        (await rawOf({ scanner: 'TRIVY', created_at: trivy.createdAt })).createdAt,
        trivy.createdAt,
      )
      // The image may be read once more for the last document, which is a new report of this server.
      await eventually(
        async () => {
          const [{ createdAt }] = await list({ repo_id: uid, 'scanner.name': 'BERTH' })
          return [createdAt, (await rawOf({ scanner: 'BERTH', created_at: createdAt })).createdAt]
        },
        ([listed, raw]) => listed === raw,
      )
      assert.equal((await rawOf({ scanner: 'TRIVY', created_at: '2020-01-01T00:00:00Z' })).status, 404)
      assert.equal(
        (await get('vuln_reports/raw', { digest: image.digest }, outsider.owner.api.token)).status,
        404,
      )
    })

    test('counts have one report for each digest of a tag, and cumulative ones add up', async () => {
      const { owner, name, uid, get, matched, viewer } = await prepare()
      await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.6.0' }), 'v1')
      await matched(uid, 'tag=v1')
      await pushImage(owner, name, await imageWith({}, { other: '1.0.0' }), 'v1')
      await matched(uid, 'tag=v1')
      const [, short = ''] = name.split('/')
      const lines = ({ items }: Json): string[] =>
        items.map(({ tag, cveIds, critCveIds, vulnCounts }: Json) =>
          [
            tag,
            cveIds.join('+') || 'none',
            critCveIds.length,
            ...vulnCounts
              .filter(({ count }: Json) => count > 0)
              .map(({ severity, count }: Json) => `${severity}=${count}`),
          ].join(' '),
        )
      const both = 'v1 CVE-2024-0001+CVE-2024-0002 1 UNKNOWN=1 CRITICAL=1'
      const expected = [both, 'v1 CVE-2024-0001 1 CRITICAL=1', 'v1 none 0']
      const byId = await get('vuln_reports/counts', { repo: uid, tag: 'v1' })
      assert.deepEqual(lines(byId), expected)
      assert.ok(byId.items.every(({ sizeBytes, repo }: Json) => Number(sizeBytes) > 0 && repo === uid))
      assert.deepEqual(lines(await get('vuln_reports/counts', { repo: short })), expected)
      assert.deepEqual(lines(await get('vuln_reports/counts_cumulative', { repo: short })), [
        both,
        both,
        both,
      ])
      const [, second] = byId.items
      // The digest that the tag had at the start, from the start on.
      const from = await get('vuln_reports/counts', { repo: uid, from: second.date })
      assert.deepEqual(lines(from), expected.slice(1))
      assert.deepEqual(lines(await get('vuln_reports/counts', { repo: uid, to: '2020-01-01T00:00:00Z' })), [])
      assert.equal((await get('vuln_reports/counts', {})).status, 400)
      const outsider = await cast().organization()
      assert.deepEqual((await get('vuln_reports/counts', { repo: uid }, outsider.owner.api.token)).items, [])
      const { items } = await cast().grpc.call(
        Vulnerabilities.method.listVulnCountReports,
        {
          references: [
            { repo: uid, tag: 'v1' },
            { repo: uid, tag: 'no-such' },
          ],
        },
        { token: viewer.api.token },
      )
      assert.equal(items.length, 3)
    })

    testOnce(
      'as many vulnerabilities of reports as v1ReportedVulnerabilitiesMax are one response, and no more',
      async () => {
        const { image, uid, get, attached } = await prepare()
        const { contentsReportFindingsMax, v1ReportedVulnerabilitiesMax: max } = limits
        const found = Array.from({ length: contentsReportFindingsMax }, (_, at) =>
          high(`CVE-2024-${1000 + at}`),
        )
        const count = max / contentsReportFindingsMax
        for (let at = 0; at < count; at++)
          await attached(reportTypes.grype, grypeReport(found, { nonce: at }))
        const { items } = await eventually(
          () => get('vuln_reports', { digest: image.digest, 'scanner.name': 'GRYPE' }),
          (list) => list.items?.length === count,
          { pollMs: 250 },
        )
        assert.equal(
          items.reduce((sum: number, { vulnerabilities }: Json) => sum + vulnerabilities.length, 0),
          max,
        )
        // Those of this server are two more.
        const { status, text } = await get('vuln_reports', { repo_id: uid })
        assert.equal(status, 400)
        assert.ok(text.includes(`more than ${max} vulnerabilities match`), text)
      },
    )

    testOnce('too many images, tags or reports for one response fail, with what to narrow', async () => {
      const { owner, name, image, uid, get } = await prepare()
      const isTooLong = async (path: string, query: Record<string, string>, what: string) => {
        const { status, text } = await get(path, query)
        assert.equal(status, 400)
        assert.ok(text.includes(`more than ${what} match`) && text.includes('narrow the filter'), text)
      }
      const { v1CountReferencesMax, v1CountReportsMax, v1ReportImagesMax } = limits
      for (let at = 1; at <= v1CountReportsMax; at++) {
        const reply = await putManifest(owner, name, `t${at}`, image)
        assert.equal(reply.status, 201)
      }
      await isTooLong('vuln_reports/counts', { repo: uid }, `${v1CountReportsMax} reports`)
      assert.equal((await get('vuln_reports/counts', { repo: uid, tag: 't1' })).items.length, 1)

      const references = Array.from({ length: v1CountReferencesMax + 1 }, () => ({ repo: uid, tag: 'v1' }))
      const tooMany = cast().grpc.call(
        Vulnerabilities.method.listVulnCountReports,
        { references },
        { token: cast().berth.token },
      )
      await assert.rejects(tooMany, /references.*at most 20 tags/)

      for (let at = 1; at <= v1ReportImagesMax; at++)
        await pushImage(owner, name, await imageWith({}, { [`package-${at}`]: '1.0.0' }))
      await eventually(
        () => get('vuln_reports', { repo_id: uid }),
        ({ status }) => status === 400,
      )
      await isTooLong('vuln_reports', { repo_id: uid }, `${v1ReportImagesMax} images`)
      assert.equal((await get('vuln_reports', { digest: image.digest })).items.length, 1)
    })
  },
  imageJobs,
)
