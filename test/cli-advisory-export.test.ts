import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { corpora, documentsIn } from './support/advisories/advisory-documents.ts'
import { apiOf } from './support/api/api-fixture.ts'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** The command line takes advisories elsewhere, and says who may read them. */

const [database] = databases

describe('berth advisories export', () => {
  let berth: TestBerth
  before(async () => {
    if (database === undefined) throw new Error('there is no database')
    berth = await startTestBerth(database)
    const [collection] = corpora
    const documents = documentsIn(collection ?? { root: '', isComplete: false }, 'secdb').map(
      ({ path, content }) => ({
        name: path,
        content: content.toString('base64'),
      }),
    )
    const { organization } = berth
    await apiOf(berth, berth.token).create(`vulnerabilities/advisories/${organization}:importDocuments`, {
      documents,
    })
  })

  after(() => berth.stop())

  test('writes each format to a file or to standard output', async (t) => {
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const directory = temporaryDirectory(t)
    const parent = ['--parent', berth.organization]
    const zip = join(directory, 'all.zip')
    assert.equal(await cli.ok(['advisories', 'export', ...parent, '--as', 'osv', '--output', zip]), '')
    assert.equal(readFileSync(zip).subarray(0, 2).toString(), 'PK')
    const secdb = JSON.parse(await cli.ok(['advisories', 'export', ...parent, '--as', 'secdb']))
    assert.ok(secdb.packages.length > 10)
    const words = ['advisories', 'export', ...parent, '--as', 'openvex', '--artifact', 'binutils', '-o', '-']
    assert.equal(
      JSON.parse(await cli.ok(words)).statements[0].products[0]['@id'].startsWith('pkg:apk/wolfi/binutils'),
      true,
    )
    const nothing = await cli.run([...words.slice(0, -3), 'no-such-thing'])
    assert.equal(nothing.code, 1)
    assert.match(nothing.stderr, /nothing to export: openvex\/no-such-thing\.json does not exist/)
    const elsewhere = join(directory, 'missing', 'all.zip')
    assert.equal(
      (await cli.run(['advisories', 'export', ...parent, '--as', 'osv', '--output', elsewhere])).code,
      1,
    )
    assert.equal(existsSync(elsewhere), false)
    assert.equal((await cli.run(['advisories', 'export', ...parent])).code, 2)
    assert.equal(
      (await cli.run(['advisories', 'export', ...parent, '--as', 'secdb', '--artifact', 'x'])).code,
      2,
    )
  })

  test('asks before everyone may read, and needs no token afterwards', async (t) => {
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const stranger = commandLine(t, berth.url)
    const update = ['advisories', 'publication', 'update', '--parent', berth.organization]
    const fetched = () =>
      stranger.run(['advisories', 'export', '--parent', berth.organization, '--as', 'secdb'])
    assert.equal((await fetched()).code, 4)
    const asked = await cli.run([...update, '--public'])
    assert.equal(asked.code, 2)
    assert.match(asked.stderr, /Publish the current and future advisories of .* and its subfolders to anyone/)
    assert.match(await cli.ok([...update, '--public', '--yes']), /PUBLIC +yes/)
    assert.equal((await fetched()).code, 0)
    const table = await cli.ok([
      ...update,
      '--private',
      '--arch',
      'x86_64,riscv64',
      '--urlprefix',
      'https://x.example',
      '-o',
      'json',
    ])
    const { securityDatabase, publicThrough } = JSON.parse(table)
    assert.deepEqual(
      [securityDatabase.archs, securityDatabase.reponame, publicThrough],
      [['x86_64', 'riscv64'], 'os', ''],
    )
    assert.equal((await fetched()).code, 4)
    assert.equal((await cli.run(update)).code, 2)
    const described = ['advisories', 'publication', 'describe', '--parent', berth.organization, '-o', 'wide']
    assert.match(await cli.ok(described), /\/vulnerabilities\/feeds\//)
  })
})
