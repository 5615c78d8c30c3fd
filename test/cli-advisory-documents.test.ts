import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { osvRecord } from './support/advisories/feeds.ts'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** What was imported can be listed and deleted on the command line. */

const [database] = databases

describe('documents of advisories on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database)
  })
  after(() => berth.stop())
  const at = (t: TestContext) => commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
  const json = (text: string) => JSON.parse(text)
  const folder = async (cli: ReturnType<typeof at>, name: string) => {
    const args = ['iam', 'folders', 'create', name, '--parent', berth.organization, '-o', 'id']
    return (await cli.ok(args)).trim()
  }

  test('documents are listed, shown and deleted; then their folder can be deleted', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'documents')
    const here = temporaryDirectory(t)
    const records = [1, 2, 3].map((n) =>
      osvRecord(n, { references: [{ type: 'WEB', url: 'https://a.example' }] }),
    )
    for (const record of records) writeFileSync(join(here, `${record['id']}.json`), JSON.stringify(record))
    await cli.ok(['advisories', 'import', here, '--parent', group])
    const documents = (...words: string[]) => ['advisories', 'documents', ...words, '--parent', group]

    const table = await cli.ok(documents('list'))
    assert.match(
      table,
      /^FORMAT +ID +FILE +REVISION +IMPORTED +UNMAPPED\nosv +CVE-2024-1001 +.*CVE-2024-1001\.json /,
    )
    assert.equal(table.trimEnd().split('\n').length, 4)
    const listed = json(await cli.ok(documents('list', '--json', '--format', 'osv')))
    assert.deepEqual(
      listed.items.map(({ id, content }: { id: string; content: string }) => [id, content]),
      [1, 2, 3].map((n) => [`CVE-2024-${1000 + n}`, '']),
    )
    assert.match((await cli.run(documents('list', '--format', 'csaf'))).stderr, /no documents/)

    assert.match(
      await cli.ok(documents('describe', 'CVE-2024-1002')),
      /^FORMAT +osv\nID +CVE-2024-1002\n(.*\n)*\nUNMAPPED FIELD +COUNT\n(.*\n)*references\[\]\.url +1\n/,
    )
    assert.equal(json(await cli.ok(documents('describe', 'CVE-2024-1002', '--json'))).format, 'osv')
    const text = await cli.ok(documents('describe', 'CVE-2024-1002', '--content'))
    assert.deepEqual(json(text), records[1])
    const missing = await cli.run(documents('describe', 'CVE-2024-1002', '--format', 'csaf'))
    assert.deepEqual([missing.code, /document "CVE-2024-1002" not found/.test(missing.stderr)], [2, true])

    const shown = await cli.ok(['advisories', 'describe', 'CVE-2024-1002', '--parent', group])
    assert.match(shown, /\nFORMAT +osv\nID +CVE-2024-1002\n(.*\n)*\nUNMAPPED FIELD +COUNT\n(.*\n)*references/)

    const refused = await cli.run(['iam', 'folders', 'delete', group, '--yes'])
    assert.equal(refused.code, 1)
    const [, hint = ''] =
      /with their documents: berth (advisories documents delete .*)$/m.exec(refused.stderr) ?? []
    assert.equal(hint, 'advisories documents delete --all --parent default/documents')

    assert.equal((await cli.run(documents('delete'))).code, 2)
    assert.equal((await cli.run(documents('delete', 'CVE-2024-1001', '--all', '--yes'))).code, 2)
    const unsure = await cli.run(documents('delete', 'CVE-2024-1001'))
    assert.deepEqual([unsure.code, /Confirm with --yes/.test(unsure.stderr)], [2, true])
    assert.deepEqual(json(await cli.ok(documents('delete', 'CVE-2024-1001', '--yes', '--json'))), {
      documents: 1,
      withdrawn: 1,
    })
    const one = await cli.run(documents('delete', 'CVE-2024-1002', '--yes'))
    assert.equal(one.stderr, 'deleted 1 document, withdrew 1 advisory\n')
    const rest = await cli.run([...hint.split(' '), '--yes'])
    assert.deepEqual([rest.code, rest.stderr], [0, 'deleted 1 document, withdrew 1 advisory\n'])
    assert.equal(await cli.ok(documents('list', '-o', 'id')), '')
    await cli.ok(['iam', 'folders', 'delete', group, '--yes'])
  })

  test('a vulnerability of several advisories is shown with each of them', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'ambiguous')
    const affected = Array.from({ length: 25 }, (_, n) => ({ package: { ecosystem: 'npm', name: `p${n}` } }))
    const stdin = JSON.stringify(osvRecord(9, { affected }))
    await cli.ok(['advisories', 'import', '-', '--parent', group], { input: stdin })
    const { code, stderr } = await cli.run(['advisories', 'describe', 'CVE-2024-1009', '--parent', group])
    assert.equal(code, 2)
    const [head, ...lines] = stderr.trimEnd().split('\n')
    assert.match(head ?? '', /^berth: 25 advisories match "CVE-2024-1009": use the id or uid of one/)
    assert.equal(lines.length, 21)
    for (const line of lines.slice(0, -1))
      assert.match(line, /^ {2}CGA-[\w-]{14} {2}[0-9a-f/]{57,} {2}p\d+, detected/)
    assert.equal(lines.at(-1), '  and 5 more; see berth advisories list')
    const [id = ''] = /CGA-[\w-]{14}/.exec(lines[0] ?? '') ?? []
    assert.match(await cli.ok(['advisories', 'describe', id, '--parent', group]), /^ID +CGA-/)
  })

  test('standard input is a document or an archive like any other', async (t) => {
    const cli = at(t)
    const group = await folder(cli, 'stdin')
    const run = (stdin: string, ...words: string[]) =>
      cli.run(['advisories', 'import', ...words, '--parent', group, '--json'], { input: stdin })
    const { stdout } = await run(JSON.stringify(osvRecord(1)), '-')
    assert.equal(json(stdout).total.created, 1)
    const bad = await run('{', '-')
    assert.deepEqual([bad.code, json(bad.stdout).rejected[0].file], [1, '-'])
    const twice = await run('', '-', '-')
    assert.deepEqual([twice.code, /once/.test(twice.stderr)], [2, true])
  })
})
