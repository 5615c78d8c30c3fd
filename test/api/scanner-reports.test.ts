import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import { imageWith, type Json, osv, read, setUp } from '../support/findings/image-findings.ts'
import { attach } from '../support/images/readable-image.ts'
import {
  cycloneDxVdr,
  envelopeOf,
  grypeReport,
  json,
  reportTypes,
  sarifReport,
  statementOf,
  trivyReport,
  vulnPredicate,
} from '../support/images/scanner-reports.ts'
import { pushImage, type TestImage } from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** Reports of other scanners that are attached to images: what is stored of them, and how they differ from the findings of the server. */

const reportsPath = 'vulnerabilities/imageScannerReports'
const high = (id: string) => ({ id, severity: 'high' })

const lineOf = ({ scanner, scannerVersion, format, findingCount, counts }: Json) =>
  [
    scanner,
    scannerVersion,
    format,
    findingCount,
    ...counts.map(({ severity, count }: Json) => `${severity.replace('SEVERITY_', '')}=${count}`),
  ].join(' ')

onEveryDatabase(
  'reports of scanners',
  (cast, { testOnce }) => {
    const prepare = async () => {
      const fixture = await setUp(cast())
      const { owner, name, viewer } = fixture
      const get = async (address: string): Promise<Json> => {
        const { status, body, text } = await read(viewer.api, address)
        assert.equal(status, 200, text)
        return body
      }
      const image = await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      const uid = await fixture.repoUid()
      const attached = (type: string, document: Buffer) => attach(owner, name, image, type, document)
      const list = async (): Promise<Json[]> =>
        (await get(`${reportsPath}/${uid}?reference=v1`)).scannerReports
      const waitFor = (count: number) => eventually(list, (reports) => reports.length === count)
      const problems = (count: number) =>
        eventually(
          () => get(`registry/repos/${uid}/manifests/v1/contents`),
          (body) => body.state === 'CONTENTS_STATE_READ' && body.problems.length === count,
        )
      return { ...fixture, image, uid, get, attached, list, waitFor, problems }
    }

    testOnce('every format is a report of its scanner, as a referrer and as an attestation', async () => {
      const { image, attached, waitFor, get, uid, owner, name } = await prepare()
      const one = [high('CVE-2024-0001')]
      const { digest } = image
      await attached(reportTypes.sarif, json(sarifReport(one)))
      await attached(
        reportTypes.grype,
        json(grypeReport([...one, { id: 'CVE-2024-0009', severity: 'Negligible' }])),
      )
      await attached(reportTypes.trivy, json(trivyReport(one)))
      await attached(reportTypes.cyclonedx, json(cycloneDxVdr(one)))
      const attestations: TestImage[] = []
      for (const [type, predicate] of [
        ['https://cosign.sigstore.dev/attestation/vuln/v1', vulnPredicate(trivyReport(one))],
        [
          'https://cosign.sigstore.dev/attestation/v1',
          { Data: JSON.stringify(grypeReport(one)), Timestamp: '' },
        ],
        ['https://docs.oasis-open.org/sarif/v2.1.0', sarifReport(one, 'Clair')],
      ] as const)
        attestations.push(
          await attached(reportTypes.dsse, json(envelopeOf(statementOf(digest, type, predicate)))),
        )
      await attached(
        reportTypes.statement,
        json(statementOf(digest, 'https://cyclonedx.org/bom/v1.6', cycloneDxVdr(one))),
      )
      const reports = await waitFor(8)
      assert.deepEqual(reports.map(lineOf).sort(), [
        'clair 1.2 sarif 1 HIGH=1',
        'dtrack 4 cyclonedx 1 HIGH=1',
        'dtrack 4 cyclonedx 1 HIGH=1',
        'grype 0.92.0 grype 1 HIGH=1',
        'grype 0.92.0 grype 2 HIGH=1 NONE=1',
        'snyk container 1.2 sarif 1 HIGH=1',
        'trivy 0.57.1 trivy 1 HIGH=1',
        'trivy 0.57.1 vuln-predicate 1 HIGH=1',
      ])
      // The latest first; a report without a time has that of its push.
      const times = reports.map(({ createTime }) => createTime)
      assert.deepEqual(times, times.toSorted().reverse())
      assert.equal(
        reports.find(({ format }) => format === 'vuln-predicate')?.createTime,
        '2026-02-06T00:01:00.000Z',
      )
      const contents = await get(`registry/repos/${uid}/manifests/v1/contents`)
      assert.deepEqual(contents.problems, [])
      assert.equal(contents.source, 'CONTENTS_SOURCE_LAYERS')

      // A deleted referrer takes its report with it, a deleted image all of them.
      const [first] = attestations
      assert.equal((await owner.request('DELETE', `${name}/manifests/${first?.digest}`)).status, 202)
      await waitFor(7)
      const { db } = cast().berth.berth.installation.store
      const stored = () =>
        db.kysely
          .selectFrom('image_reports')
          .select('position')
          .where('root', '=', uid.split('/')[0]!)
          .execute()
      assert.equal((await stored()).length, 7)
      assert.equal((await owner.request('DELETE', `${name}/manifests/${digest}`)).status, 202)
      assert.equal((await stored()).length, 0)
    })

    test('the findings of a scanner are paged, and compared with those of the server by any ID', async () => {
      const { importAll, attached, waitFor, get, uid, matched } = await prepare()
      await importAll(
        osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '2.0.0', { aliases: ['CVE-2024-0001'] }),
        osv('CVE-2024-0002', 'npm', 'left-pad', '2.0.0'),
      )
      await matched(uid, 'tag=v1')
      const found = [
        { id: 'CVE-2024-0003', severity: 'low', name: 'other' },
        { id: 'CVE-2024-0001', severity: 'critical', fixed: '2.0.0' },
      ]
      await attached(reportTypes.trivy, json(trivyReport(found)))
      await waitFor(1)
      const address = `${reportsPath}/${uid}:findings?reference=v1&scanner=Trivy`
      const first = await get(`${address}&page_size=1`)
      assert.equal(first.totalCount, '2')
      const second = await get(`${address}&page_size=1&page_token=${first.nextPageToken}`)
      assert.equal(second.nextPageToken, '')
      const [critical] = first.findings
      assert.deepEqual(
        [
          critical.vulnerability,
          critical.severity,
          critical.fixState,
          critical.fixedVersions,
          critical.purls,
          critical.known,
        ],
        [
          'CVE-2024-0001',
          'SEVERITY_CRITICAL',
          'FIX_STATE_FIXED',
          ['2.0.0'],
          ['pkg:npm/left-pad@1.0.0'],
          true,
        ],
      )
      assert.deepEqual([second.findings[0].vulnerability, second.findings[0].known], ['CVE-2024-0003', false])

      const compared = await get(`${reportsPath}/${uid}:compare?reference=v1&scanner=trivy`)
      assert.deepEqual(
        [
          compared.onlyInReport,
          compared.onlyInServer,
          compared.notAffected,
          compared.commonCount,
          compared.matched,
        ],
        [['CVE-2024-0003'], ['CVE-2024-0002'], [], '1', true],
      )
    })

    test('a broken report is a problem of the image with its reason, and others are read', async () => {
      const { attached, waitFor, problems, image } = await prepare()
      const broken: readonly (readonly [type: string, document: Buffer, reason: RegExp])[] = [
        [reportTypes.trivy, Buffer.from('{'), /JSON/],
        [reportTypes.trivy, json([]), /is invalid/],
        [reportTypes.grype, json({ matches: [{}], descriptor: {} }), /a match has no vulnerability/],
        [reportTypes.sarif, json({ runs: [], version: '1.0' }), /is not a report/],
        [reportTypes.sarif, json(sarifReport([{ id: '\u202e', severity: 'high' }])), /control characters/],
        [reportTypes.trivy, Buffer.from(`${'['.repeat(200)}${']'.repeat(200)}`), /is invalid/],
        [reportTypes.dsse, json({ payloadType: 'application/vnd.in-toto+json', payload: '*' }), /not base64/],
        [
          reportTypes.dsse,
          json(envelopeOf(statementOf(image.digest, 'https://cosign.sigstore.dev/attestation/vuln/v1', {}))),
          /is not a report/,
        ],
      ]
      for (const [type, document] of broken) await attached(type, document)
      // Of another image: no report of this one, and no problem.
      const other = statementOf(
        `sha256:${'0'.repeat(64)}`,
        'https://cosign.sigstore.dev/attestation/vuln/v1',
        vulnPredicate(trivyReport([])),
      )
      await attached(reportTypes.dsse, json(envelopeOf(other)))
      await attached(reportTypes.trivy, json(trivyReport([high('CVE-2024-0001')])))
      const contents = await problems(broken.length)
      for (const { reason } of contents.problems)
        assert.match(reason, /^the attached document sha256:\w+ is invalid: /)
      const reasons = contents.problems.map(({ reason }: Json) => reason).join('\n')
      for (const [, , reason] of broken) assert.match(reasons, reason)
      assert.deepEqual((await waitFor(1)).map(lineOf), ['trivy 0.57.1 trivy 1 HIGH=1'])
    })

    testOnce('a report of more bytes than contentsReportBytesMax is a problem of the image', async () => {
      const { attached, waitFor, problems } = await prepare()
      const text = json(trivyReport([high('CVE-2024-0001')]))
      const padded = (bytes: number) => Buffer.concat([text, Buffer.alloc(bytes - text.length, ' ')])
      const { contentsReportBytesMax: max } = limits
      await attached(reportTypes.trivy, padded(max + 1))
      const [problem] = (await problems(1)).problems
      assert.match(problem.reason, new RegExp(`it has more than ${max} bytes \\(contentsReportBytesMax\\)`))
      await attached(reportTypes.trivy, padded(max))
      assert.deepEqual((await waitFor(1)).map(lineOf), ['trivy 0.57.1 trivy 1 HIGH=1'])
    })

    test('reports beyond the limits are cut to the most severe findings, and to the latest reports', async () => {
      const { attached, list, waitFor, problems, get, uid } = await prepare()
      const max = limits.contentsReportFindingsMax
      const many = Array.from({ length: max + 1 }, (_, at) => ({
        id: `CVE-2024-${10_000 + at}`,
        severity: at === max ? 'critical' : 'low',
      }))
      await attached(reportTypes.trivy, json(trivyReport(many)))
      const [report] = await waitFor(1)
      assert.equal(report.findingCount, String(max + 1))
      assert.ok(Number(report.storedFindingCount) <= max)
      const [worst] = (await get(`${reportsPath}/${uid}:findings?reference=v1&scanner=trivy&page_size=1`))
        .findings
      assert.equal(worst.severity, 'SEVERITY_CRITICAL')
      assert.match((await problems(1)).problems[0].reason, /10001 findings.*contentsReportFindingsMax/)
      for (let at = 0; at < limits.contentsReportsMax; at++)
        await attached(reportTypes.grype, json(grypeReport([high(`CVE-2024-${1000 + at}`)])))
      // That of trivy is older than all of these, and counts until the last one is read.
      await eventually(
        list,
        (reports) =>
          reports.length === limits.contentsReportsMax && reports.every(({ scanner }) => scanner === 'grype'),
      )
      const { problems: found } = await problems(2)
      assert.ok(found.some(({ reason }: Json) => reason.includes('contentsReportsMax')))
    })

    testOnce('texts of one report take bounded space, whatever is in them', async () => {
      const { attached, waitFor, viewer, uid } = await prepare()
      const long = 'x'.repeat(50_000)
      await attached(
        reportTypes.trivy,
        json(
          trivyReport([], {
            Results: [
              {
                Vulnerabilities: Array.from({ length: 200 }, (_, at) => ({
                  VulnerabilityID: `CVE-2024-${1000 + at}`,
                  Title: `${at} <script>\u0000\ud800 ${long}`.slice(0, 60_000),
                  Description: long,
                  Severity: 'no such',
                  References: [`https://example.com/${'y'.repeat(1900)}`, 'javascript:alert(1)'],
                })),
              },
            ],
          }),
        ),
      )
      const [report] = await waitFor(1)
      assert.equal(lineOf(report), 'trivy 0.57.1 trivy 200 UNKNOWN=200')
      const address = `${reportsPath}/${uid}:findings?reference=v1&scanner=trivy&page_size=200`
      const { text } = await read(viewer.api, address)
      assert.ok(text.length < 200 * 5000, String(text.length))
    })

    test('reads need both capabilities, and invalid values are named', async () => {
      const { uid, viewer, organization, attached, waitFor } = await prepare()
      await attached(reportTypes.trivy, json(trivyReport([])))
      await waitFor(1)
      const outsider = await organization.member('advisories.admin')
      const image = `${reportsPath}/${uid}`
      for (const address of [
        `${image}?reference=v1`,
        `${image}:findings?reference=v1&scanner=trivy`,
        `${image}:compare?reference=v1&scanner=trivy`,
      ])
        assertError(await read(outsider.api, address), permissionDeniedError)
      assertError(await read(viewer.api, `${image}:findings?reference=v1`), invalidFieldError('scanner'))
      assertError(
        await read(viewer.api, `${image}:findings?reference=v1&scanner=trivy&page_token=x`),
        invalidFieldError('page_token'),
      )
      assert.equal((await read(viewer.api, `${image}:compare?reference=v1&scanner=grype`)).status, 404)
      assert.equal((await read(viewer.api, `${image}?reference=no-such`)).status, 404)
    })
  },
  imageJobs,
)
