import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readScannerReport } from '@berth/image-contents/reports/read-scanner-report.ts'
import { createOrganization } from '../support/api/tenant.ts'
import { type CommandLine, commandLine } from '../support/cli/command-line.ts'
import { sbomProblems } from '../support/contents/sbom-schemas.ts'
import { eventually } from '../support/eventually.ts'
import { type Json, withoutMatching } from '../support/findings/image-findings.ts'
import { attach, imageOfFiles, imageOfLayers } from '../support/images/readable-image.ts'
import { json, reportTypes, trivyReport } from '../support/images/scanner-reports.ts'
import { bearerOf, ociClient, pushImage } from '../support/registry/registry.ts'
import { cleanups } from '../support/server/process.ts'
import { imageJobs, startTestBerth, type TestBerth } from '../support/server/test-berth.ts'

/** `berth images vulns` and `berth advisories affected`. On SQLite alone: what a command does is a request. */

describe('vulnerabilities on the command line', () => {
  const cleanup = cleanups()
  let berth: TestBerth
  let cli: CommandLine
  before(async () => {
    berth = await startTestBerth(
      { name: 'sqlite', open: undefined },
      { ...imageJobs, findingHistoryDelayMs: 0 },
    )
    cli = commandLine(cleanup, berth.url, { BERTH_TOKEN: berth.token })
    await createOrganization(berth, 'acme')
    const record = {
      id: 'CVE-2024-0001',
      modified: '2024-01-02T00:00:00Z',
      aliases: ['GHSA-2222-3333-4444'],
      severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
      affected: [
        {
          package: { ecosystem: 'npm', name: 'left-pad' },
          ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '2.0.0' }] }],
        },
      ],
    }
    const file = join(mkdtempSync(join(tmpdir(), 'berth-test-')), 'CVE-2024-0001.json')
    writeFileSync(file, JSON.stringify(record))
    await cli.ok(['advisories', 'import', file, '--parent', 'acme'])
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    for (const version of ['1.0.0', '2.0.0'])
      await pushImage(
        client,
        'acme/app',
        await imageOfFiles([
          {
            'app/node_modules/left-pad/package.json': JSON.stringify({ name: 'left-pad', version }),
            'usr/lib/python3/site-packages/django-4.0.dist-info/METADATA':
              'Metadata-Version: 2.1\nName: django\nVersion: 4.0\n',
          },
        ]),
        version,
      )
  })
  after(async () => {
    await cleanup.run()
    await berth.stop()
  })

  test('findings are printed with what is not covered', async () => {
    const finished = await cli.run(['images', 'vulns', 'acme/app:1.0.0', '--wait', '-o', 'json'])
    assert.equal(finished.code, 0, finished.stderr)
    const { items } = JSON.parse(finished.stdout)
    assert.equal(items.length, 1)
    const [{ advisory, ...rest }] = items
    assert.deepEqual(rest, {
      id: 'CVE-2024-0001',
      aliases: ['GHSA-2222-3333-4444'],
      purl: 'pkg:npm/left-pad@1.0.0',
      version: '1.0.0',
      state: 'affected',
      severity: 'critical',
      score: 9.8,
      cwes: [],
      knownExploited: false,
      fixedVersion: '2.0.0',
      justification: '',
    })
    assert.match(advisory, /^[0-9a-f]{40}\//)
    assert.match(finished.stderr, /not covered: 1 package of PyPI, the organization has no advisories of it/)
    assert.match(finished.stderr, /advisories as of 20/)
  })

  test('--fail-on ends with exit code 1, after the list', async () => {
    const failed = await cli.run(['images', 'vulns', 'acme/app:1.0.0', '--wait', '--fail-on', 'high'])
    assert.equal(failed.code, 1, failed.stderr)
    assert.match(failed.stdout, /CVE-2024-0001 +critical +pkg:npm\/left-pad@1\.0\.0 +affected +2\.0\.0/)
    assert.match(failed.stderr, /1 finding of severity high or higher/)
    const passed = await cli.run(['images', 'vulns', 'acme/app:2.0.0', '--wait', '--fail-on', 'low'])
    assert.equal(passed.code, 0, passed.stderr)
  })

  test('the history of a tag has its numbers of vulnerabilities', async () => {
    const history = ['images', 'vulns-history', 'acme/app:1.0.0']
    const [entry, ...rest] = await eventually(
      async (): Promise<Json[]> => JSON.parse(await cli.ok([...history, '-o', 'json'])).items,
      (items) => items.length > 0,
    )
    assert.deepEqual(rest, [])
    const { time, digest, ...numbers } = entry
    assert.ok(Date.parse(time) > 0)
    assert.match(digest, /^sha256:/)
    assert.deepEqual(numbers, {
      contentsState: 'read',
      ...{ critical: '1', high: '0', medium: '0', low: '0', none: '0', unknown: '0' },
    })
    const stdout = await cli.ok(history)
    assert.match(stdout, /^SINCE +CRITICAL +HIGH +MEDIUM +LOW +UNKNOWN +CONTENTS\n.* 1 +0 +0 +0 +0 +read\n$/)
    assert.match((await cli.run(['images', 'vulns-history', 'acme/app:none'])).stderr, /none/)
  })

  test('the history of a repo and of an organization counts each vulnerability once', async () => {
    for (const scope of [
      ['--repo', 'acme/app'],
      ['--parent', 'acme'],
    ]) {
      const history = ['images', 'vulns-history', ...scope]
      const [entry] = await eventually(
        async (): Promise<Json[]> => JSON.parse(await cli.ok([...history, '-o', 'json'])).items,
        ([last]) => last?.imageCount === '2' && last.unreadImageCount === '0',
      )
      const { time, ...numbers } = entry
      assert.ok(Date.parse(time) > 0)
      assert.deepEqual(numbers, {
        ...{ imageCount: '2', unreadImageCount: '0' },
        ...{ critical: '1', high: '0', medium: '0', low: '0', none: '0', unknown: '0' },
      })
      assert.match(
        await cli.ok([...history, '--limit', '1']),
        /^SINCE +CRITICAL +HIGH +MEDIUM +LOW +UNKNOWN +IMAGES +NOT READ\n.* 1 +0 +0 +0 +0 +2 +0\n$/,
      )
    }
    const both = await cli.run(['images', 'vulns-history', 'acme/app:1.0.0', '--repo', 'acme/app'])
    assert.equal(both.code, 2)
    assert.match(both.stderr, /a tag or --repo, not both/)
    const unknown = await cli.run(['images', 'vulns-history', '--repo', 'acme/none'])
    assert.match(unknown.stderr, /acme\/none/)
  })

  test('SARIF and CycloneDX have the findings, and --fail-on counts for them too', async () => {
    const run = (format: string, ...more: string[]) =>
      cli.run(['images', 'vulns', 'acme/app:1.0.0', '--wait', '-o', format, ...more])
    for (const [format, schema] of [
      ['sarif', 'sarif-2.1.0'],
      ['cyclonedx', 'cyclonedx-1.6'],
    ] as const) {
      const finished = await run(format)
      assert.equal(finished.code, 0, finished.stderr)
      assert.equal(sbomProblems(schema, finished.stdout), '')
      const { scanner, vulnerabilities } = readScannerReport(Buffer.from(finished.stdout))
      assert.equal(scanner.name, 'berth')
      assert.ok(scanner.databaseBuilt)
      const [{ id, aliases, purls, severity, fix, locations }, ...rest] = vulnerabilities as [
        (typeof vulnerabilities)[number],
      ]
      assert.deepEqual(rest, [])
      assert.deepEqual(
        { id, aliases, purls, severity, fix, locations },
        {
          id: 'CVE-2024-0001',
          aliases: ['GHSA-2222-3333-4444'],
          purls: ['pkg:npm/left-pad@1.0.0'],
          severity: 'CRITICAL',
          fix: { state: 'FIXED', versions: ['2.0.0'] },
          locations: ['app/node_modules/left-pad/package.json'],
        },
      )
      assert.match(finished.stdout, /PyPI/)
      const failed = await run(format, '--fail-on', 'high')
      assert.equal(failed.code, 1, failed.stderr)
      assert.equal(readScannerReport(Buffer.from(failed.stdout)).vulnerabilities.length, 1)
    }
    assert.equal((await run('xml')).code, 2)
  })

  test('repos and tags are listed with their vulnerabilities, and tags in which one is fixed', async () => {
    await cli.ok(['images', 'vulns', 'acme/app:2.0.0', '--wait'])
    const repos = await cli.ok(['images', 'vulns-by-repo', '--parent', 'acme'])
    assert.match(repos, /REPO +CRITICAL +HIGH +MEDIUM +LOW +UNKNOWN +EXPLOITED +IMAGES +NOT READ\n/)
    assert.match(repos, /acme\/app +1 +0 +0 +0 +0 +0 +2 +0\n/)
    const tags = await cli.ok(['images', 'vulns-by-tag', 'acme/app'])
    assert.match(tags, /1\.0\.0 +1 +0 +0 +0 +0 +read/)
    assert.match(tags, /2\.0\.0 +0 +0 +0 +0 +0 +read/)
    const one = ['images', 'vulns-by-tag', 'acme/app', '--vulnerability', 'GHSA-2222-3333-4444']
    assert.match(await cli.ok(one), /1\.0\.0 +affected +pkg:npm\/left-pad@1\.0\.0 +2\.0\.0/)
    assert.match(await cli.ok([...one, '--filter', 'state=not found']), /^TAG .*\n2\.0\.0 +not found .*\n$/)
  })

  test('images are listed by a vulnerability or its alias', async () => {
    const { items } = JSON.parse(
      await cli.ok(['advisories', 'affected', 'GHSA-2222-3333-4444', '--parent', 'acme', '-o', 'json']),
    )
    assert.equal(items.length, 1)
    assert.deepEqual(items[0].tags, ['1.0.0'])
    assert.equal(items[0].finding.vulnerability, 'CVE-2024-0001')
    const table = await cli.ok(['advisories', 'affected', 'CVE-2024-0001', '--parent', 'acme'])
    assert.match(table, /^REPO .*\nacme\/app +1\.0\.0 +sha256:/)
  })

  test('reports of other scanners are listed, and their findings printed with the differences', async () => {
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const image = await imageOfFiles([
      { 'app/node_modules/left-pad/package.json': JSON.stringify({ name: 'left-pad', version: '1.0.0' }) },
    ])
    await pushImage(client, 'acme/scanned', image, 'v1')
    const found = [
      { id: 'GHSA-2222-3333-4444', severity: 'critical', fixed: '2.0.0' },
      { id: 'CVE-2024-0009', severity: 'low' },
    ]
    await attach(client, 'acme/scanned', image, reportTypes.trivy, json(trivyReport(found)))
    await cli.ok(['images', 'vulns', 'acme/scanned:v1', '--wait'])
    const list = async () =>
      JSON.parse(await cli.ok(['images', 'reports', 'acme/scanned:v1', '--wait', '-o', 'json'])).items
    const [report] = await eventually(list, (items) => items.length === 1)
    assert.deepEqual([report.scanner, report.findingCount], ['trivy', '2'])
    assert.match(
      await cli.ok(['images', 'reports', 'acme/scanned:v1']),
      /trivy +0\.57\.1 +2 +critical: 1, low: 1/,
    )
    const finished = await cli.run([
      'images',
      'reports',
      'acme/scanned:v1',
      '--scanner',
      'trivy',
      '-o',
      'json',
    ])
    assert.equal(finished.code, 0, finished.stderr)
    assert.deepEqual(
      JSON.parse(finished.stdout).items.map(({ id, severity, fixedVersion, known }: Json) => [
        id,
        severity,
        fixedVersion,
        known,
      ]),
      [
        ['GHSA-2222-3333-4444', 'critical', '2.0.0', true],
        ['CVE-2024-0009', 'low', '', false],
      ],
    )
    assert.match(finished.stderr, /in both: 1; only in the report: 1; only in Berth: 0/)
    const absent = await cli.run(['images', 'reports', 'acme/scanned:v1', '--scanner', 'grype'])
    assert.equal(absent.code, 1)
    assert.match(absent.stderr, /no report of grype is attached/)
  })

  test('--wait and --fail-on cover advisories that were imported just now', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'berth-test-')), 'CVE-2024-0007.json')
    const affected = [{ package: { ecosystem: 'npm', name: 'late' }, versions: ['1.0.0'] }]
    const modified = '2024-01-02T00:00:00Z'
    writeFileSync(file, JSON.stringify({ id: 'CVE-2024-0007', modified, affected }))
    const image = await imageOfFiles([
      { 'app/node_modules/late/package.json': JSON.stringify({ name: 'late', version: '1.0.0' }) },
    ])
    await pushImage(ociClient(berth, await bearerOf(berth, berth.owner)), 'acme/late', image, 'v1')
    const vulns = (...more: string[]) => cli.run(['images', 'vulns', 'acme/late:v1', ...more])
    assert.equal((await vulns('--wait', '--fail-on', 'low')).code, 0)
    const { waiting } = await withoutMatching(berth, async () => {
      await cli.ok(['advisories', 'import', file, '--parent', 'acme'])
      const undecided = await vulns('--fail-on', 'low')
      assert.equal(undecided.code, 1)
      assert.match(
        undecided.stderr,
        /--fail-on cannot be decided: advisories about packages of the image have changed .*; add --wait/,
      )
      const listed = await vulns()
      assert.equal(listed.code, 0, listed.stderr)
      assert.match(
        listed.stderr,
        /have changed and are not matched yet: the list may change; wait with --wait/,
      )
      const affected = await cli.run(['advisories', 'affected', 'CVE-2024-0007', '--parent', 'acme'])
      assert.match(affected.stderr, /not matched with the current advisories yet: there may be more images/)
      return { waiting: vulns('--wait', '--fail-on', 'low', '--filter', 'id=CVE-2024-0007') }
    })
    const found = await waiting
    // Its severity is unknown.
    assert.equal(found.code, 0, found.stderr)
    assert.match(found.stdout, /CVE-2024-0007 +unknown +pkg:npm\/late@1\.0\.0 +affected/)
  })

  test('an image that could not be read does not pass, and says so', async () => {
    const unreadable = imageOfLayers([Buffer.from('no archive '.repeat(1000))])
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    await pushImage(client, 'acme/unreadable', unreadable, 'v1')
    const vulns = (...more: string[]) => cli.run(['images', 'vulns', 'acme/unreadable:v1', '--wait', ...more])
    const listed = await vulns()
    assert.equal(listed.code, 0, listed.stderr)
    assert.match(listed.stderr, /no packages were found, and parts of the image could not be read/)
    assert.match(
      listed.stderr,
      /not covered: 1 part of the image that could not be read; `berth images packages`/,
    )
    const gated = await vulns('--fail-on', 'critical')
    assert.equal(gated.code, 1)
    assert.match(gated.stderr, /--fail-on cannot be decided: no packages were found, and parts/)
    const sarif = JSON.parse((await vulns('-o', 'sarif')).stdout)
    const [{ message }] = sarif.runs[0].invocations[0].toolExecutionNotifications
    assert.match(message.text, /^The image could not be read, because .*invalid tar header/)
  })

  test('diff --vulns prints which vulnerabilities another image has', async () => {
    for (const tag of ['1.0.0', '2.0.0']) await cli.ok(['images', 'vulns', `acme/app:${tag}`, '--wait'])
    const diff = (from: string, to: string, ...more: string[]) =>
      cli.run(['images', 'diff', from, to, '--vulns', ...more])
    const fixed = await diff('acme/app:1.0.0', 'acme/app:2.0.0', '--wait')
    assert.equal(fixed.code, 0, fixed.stderr)
    assert.match(
      fixed.stdout,
      /removed +CVE-2024-0001 +critical +pkg:npm\/left-pad@1\.0\.0 +affected +2\.0\.0/,
    )
    const { items } = JSON.parse((await diff('acme/app:2.0.0', 'acme/app:1.0.0', '-o', 'json')).stdout)
    assert.deepEqual(
      items.map(({ change, id, fixedVersion }: Json) => [change, id, fixedVersion]),
      [['added', 'CVE-2024-0001', '2.0.0']],
    )
    const same = await diff('acme/app:1.0.0', 'acme/app:1.0.0')
    assert.match(same.stderr + same.stdout, /both images have the same vulnerabilities/)
    const other = await diff('acme/app:1.0.0', 'acme/late:v1')
    assert.equal(other.code, 2)
    assert.match(other.stderr, /--vulns compares images of one repo/)
  })
})
