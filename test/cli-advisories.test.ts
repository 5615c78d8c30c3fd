import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildZip } from './support/advisories/archives.ts'
import { countAdvisories, osvRecord } from './support/advisories/feeds.ts'
import { apiOf } from './support/api/api-fixture.ts'
import { commandLine, waitForOutput } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { eventually } from './support/eventually.ts'
import { temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Advisories on the command line: whatever goes in, and how it is shown. */

const [database] = databases
const wolfi = `schema-version: 2.0.2
package:
  name: nginx
advisories:
  - id: CGA-2222-3333-4444
    aliases: [CVE-2024-7347]
    events:
      - timestamp: 2024-08-15T10:00:00Z
        type: detection
        data: {type: manual}
      - timestamp: 2024-08-16T10:00:00Z
        type: fixed
        data: {fixed-version: 1.27.1-r0}
  - id: CGA-5555-6666-7777
    aliases: [CVE-2023-44487]
    events:
      - timestamp: 2023-10-11T10:00:00Z
        type: false-positive-determination
        data: {type: vulnerable-code-not-in-execution-path, note: limits are set}
`
const score = osvRecord(1, {
  id: 'CVE-2024-7347',
  severity: [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
})

describe('advisories on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database, { feeds: { pollMs: 25 } })
  })
  after(() => berth.stop())
  const at = (t: TestContext, more: Record<string, string> = {}) =>
    commandLine(t, berth.url, { BERTH_TOKEN: berth.token, ...more })
  const json = (text: string) => JSON.parse(text)

  /** A folder of its own below the organization, so that tests do not meet. */
  const folder = async (cli: ReturnType<typeof at>, name: string) => {
    const args = ['iam', 'folders', 'create', name, '--parent', berth.organization, '-o', 'id']
    return (await cli.ok(args)).trim()
  }

  test('a folder, an archive and a file go in together; the report counts, names what was rejected, and again changes nothing', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'import')
    const here = temporaryDirectory(t)
    mkdirSync(join(here, 'docs', '.git'), { recursive: true })
    writeFileSync(join(here, 'docs', '.git', 'HEAD.json'), 'no')
    writeFileSync(join(here, 'docs', 'curl.advisories.yaml'), wolfi.replace('nginx', 'curl'))
    writeFileSync(join(here, 'docs', 'README.md'), '# nothing')
    writeFileSync(join(here, 'docs', 'bad.json'), '{\n  "id": "CVE-2024-1000",\n  "modified": 5 }')
    const many = Array.from({ length: 1100 }, (_, n) => ({
      name: `${n}.json`,
      content: JSON.stringify(osvRecord(n, { summary: 'bad' })),
    }))
    writeFileSync(join(here, 'all.zip'), buildZip([...many, { name: '../up.json', content: '{}' }]))
    writeFileSync(join(here, 'score.json.gz'), gzipSync(JSON.stringify(score)))
    const sources = ['docs', 'all.zip', 'score.json.gz']
    const run = (...more: string[]) =>
      cli.run(['advisories', 'import', ...sources, '--parent', group, ...more], { cwd: here })

    const dry = await run('--dry-run', '--json')
    assert.equal(dry.code, 1)
    const rejected = [
      {
        file: 'docs/bad.json',
        line: 3,
        reason: json(dry.stdout).rejected.find(({ file }: { file: string }) => file === 'docs/bad.json')
          ?.reason,
        format: '',
      },
      { file: 'all.zip:../up.json', line: 0, reason: 'has a path outside the archive', format: '' },
    ]
    assert.match(String(rejected[0]?.reason), /modified/)
    const byFile = (a: { file: string }, b: { file: string }) => (a.file < b.file ? -1 : 1)
    assert.deepEqual(json(dry.stdout).rejected.toSorted(byFile), rejected.toSorted(byFile))
    assert.equal(await cli.ok(['advisories', 'list', '--parent', group, '-o', 'id']), '')

    const first = await run('-o', 'json')
    assert.equal(first.code, 1)
    assert.match(first.stderr, /^berth: 2 of 1104 documents were rejected, the others were imported\n$/m)
    const report = json(first.stdout)
    assert.deepEqual([report.dryRun, report.stopped, report.skipped], [false, false, 1])
    const { events, unmapped, ...counts } = report.formats.osv
    assert.deepEqual(counts, {
      ...{ documents: 1101, rejected: 0, created: 1101, updated: 0, unchanged: 0 },
      ...{ withdrawn: 0, covered: 0, scored: 1, older: 0 },
    })
    assert.deepEqual(events, { detection: 1101 })
    assert.equal(unmapped.summary, 1100)
    assert.deepEqual(report.formats.wolfi.events, { detection: 1, fixed: 1, falsePositiveDetermination: 1 })
    assert.deepEqual(report.total.created, 1103)

    const again = json((await run('--json')).stdout)
    assert.deepEqual(
      [again.total.created, again.total.updated, again.total.withdrawn, again.total.unchanged],
      [0, 0, 0, 1103],
    )
    const table = await cli.run(['advisories', 'import', 'docs', '--parent', group], { cwd: here })
    assert.match(table.stdout, /^FORMAT +DOCUMENTS +CREATED .*REJECTED\n(.*\n)*wolfi +1 +0 +0 +2 /)
    assert.match(table.stderr, /^rejected docs\/bad\.json:3: .+$/m)
    assert.match(table.stderr, /^skipped 1 file without advisories$/m)
  })

  test('tables show at a glance what a vulnerability is, how bad, and what was done; a description is a time line', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'tables')
    const here = temporaryDirectory(t)
    writeFileSync(join(here, 'nginx.yaml'), wolfi)
    writeFileSync(join(here, 'score.json'), JSON.stringify(score))
    await cli.ok(['advisories', 'import', here, '--parent', group])
    const list = (...more: string[]) => cli.ok(['advisories', 'list', '--parent', group, ...more])
    const lines = (await list('--package', 'nginx', '--sort', 'advisory_id')).trimEnd().split('\n')
    assert.match(lines[0] ?? '', /^ID +PACKAGE +COMPONENT +CVE +SEVERITY +STATE +FIXED IN +AGE$/)
    assert.match(
      lines[1] ?? '',
      /^CGA-2222-3333-4444 +nginx +CVE-2024-7347 +9\.8 critical +fixed +1\.27\.1-r0 +\d+(y|mo)$/,
    )
    assert.match(lines[2] ?? '', /^CGA-5555-6666-7777 +nginx +CVE-2023-44487 +not-affected +\d+(y|mo)$/)
    assert.equal(lines.length, 3)

    const ids = async (...filters: string[]) =>
      json(await list('-o', 'json', ...filters))
        .items.map(({ advisoryId }: { advisoryId: string }) => advisoryId)
        .filter((id: string) => /^CGA-(2222|5555)-/.test(id))
        .sort()
    const [fixed, not] = ['CGA-2222-3333-4444', 'CGA-5555-6666-7777']
    for (const [filters, expected] of [
      [['--state', 'fixed'], [fixed]],
      [['--state', 'not-affected'], [not]],
      [
        ['--event', 'detected,not-affected', '--package', 'nginx'],
        [fixed, not],
      ],
      [['--cve', 'CVE-2023-44487'], [not]],
      [
        ['--id', fixed, '--id', not],
        [fixed, not],
      ],
      [
        ['--origin', 'nginx'],
        [fixed, not],
      ],
      [['-q', '44487'], [not]],
      [
        ['--package-type', 'apk', '--review-state', 'approved'],
        [fixed, not],
      ],
      [['--legacy-id', fixed], [fixed]],
      [['--author', 'nobody'], []],
      [
        ['--component', 'x', '--component-type', 'y', '--location', '/z', '--arch', 'q', '--reviewer', 'r'],
        [],
      ],
    ] as const)
      assert.deepEqual(await ids(...filters), expected, filters.join(' '))
    assert.equal((await list('--limit', '1', '-o', 'id')).trim().split('\n').length, 1)
    assert.equal((await cli.run(['advisories', 'list', '--limit', 'few'])).code, 2)
    assert.match(await list('-o', 'csv'), /^ID,PACKAGE,COMPONENT,CVE,SEVERITY,/)
    assert.match(await list('-o', 'yaml'), /^items:\n {2}- uid: /)

    const shown = await cli.ok(['advisories', 'describe', fixed, '--parent', group])
    assert.match(shown, /^SEVERITY +9\.8 critical$/m)
    assert.match(
      shown,
      /\nTIME +EVENT +DETAILS +BY\n2024-08-15 10:00Z +detected.*\n2024-08-16 10:00Z +fixed +in 1\.27\.1-r0\n\nFORMAT +wolfi\n/,
    )
    assert.match(
      await cli.ok(['advisories', 'describe', not, '--parent', group]),
      /vulnerable code not in execution path; limits are set/,
    )
    assert.equal(
      json(await cli.ok(['advisories', 'describe', not, '-o', 'json', '--parent', group])).advisoryId,
      not,
    )
    const missing = await cli.run(['advisories', 'describe', 'CVE-1999-9999'])
    assert.deepEqual(
      [missing.code, missing.stderr],
      [2, 'berth: advisory "CVE-1999-9999" not found or not visible to you\n'],
    )
    await cli.ok(['images', 'repos', 'create', 'nginx', '--parent', group])
    const ofRepo = await cli.ok([
      'images',
      'advisories',
      `default/tables/nginx`,
      '--state',
      'fixed',
      '-o',
      'csv',
    ])
    assert.equal(ofRepo.trimEnd().split('\n').length, 2)
    assert.match(ofRepo, /\nCGA-2222-3333-4444,nginx,/)
  })

  test('Ctrl-C ends an import after what is under way and says what was done; the next one does the rest', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'interrupt')
    const here = temporaryDirectory(t)
    // Several requests: about a megabyte goes in one.
    const details = 'x'.repeat(20_000)
    const records = Array.from({ length: 1000 }, (_, n) => osvRecord(n, { details }))
    writeFileSync(
      join(here, 'all.zip'),
      buildZip(records.map((record, n) => ({ name: `${n}.json`, content: JSON.stringify(record) }))),
    )
    const args = ['advisories', 'import', join(here, 'all.zip'), '--parent', group, '--json']
    const running = cli.start(args)
    await eventually(() => countAdvisories(apiOf(berth, berth.token), group), Boolean, { pollMs: 1 })
    running.child.kill('SIGINT')
    await waitForOutput(running, /stopping after the current batch/)
    const { code, stdout } = await running.finished
    assert.equal(code, 130)
    const stopped = json(stdout)
    assert.equal(stopped.stopped, true)
    const done = stopped.total.documents
    assert.ok(done > 0 && done < records.length, String(done))
    const rest = json(await cli.ok(args))
    assert.deepEqual([rest.total.unchanged, rest.total.created], [done, records.length - done])
  })

  test('a large document is sent alone and compressed, and one that is too large is reported', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'large')
    const here = temporaryDirectory(t)
    writeFileSync(join(here, 'large.json'), JSON.stringify(osvRecord(1, { details: 'y'.repeat(20_000_000) })))
    writeFileSync(join(here, 'larger.json'), ' '.repeat(65 * 1024 * 1024))
    writeFileSync(join(here, 'small.json'), JSON.stringify(osvRecord(2)))
    const finished = await cli.run(['advisories', 'import', here, '--parent', group, '--json'])
    const report = json(finished.stdout)
    assert.equal(report.total.created, 2, finished.stdout)
    assert.deepEqual(report.rejected, [
      { file: join(here, 'larger.json'), line: 0, reason: 'must have at most 64 MiB', format: '' },
    ])
  })
})
