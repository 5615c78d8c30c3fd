import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { buildZip } from './support/advisories/archives.ts'
import { startFeedServer } from './support/advisories/feed-server.ts'
import { osvRecord } from './support/advisories/feeds.ts'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Advisories from elsewhere on the command line: fetched once, or by the server again and again. */

const [database] = databases

describe('feeds on the command line', () => {
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

  test('a URL is fetched into the cache; one that cannot be fetched is reported and stops nothing else', async (t) => {
    const server = await startFeedServer(t)
    server.files.set('/all.zip', buildZip([{ name: 'a.json', content: JSON.stringify(osvRecord(1)) }]))
    const cli = at(t)
    const group = await folder(cli, 'addresses')
    const run = (urls: string[], ...more: string[]) =>
      cli.run(['advisories', 'import', ...urls, '--parent', group, ...more])
    const closed = await run([`${server.url}/all.zip`])
    assert.deepEqual([closed.code, closed.stderr], [2, `berth: ${server.url}/all.zip must be an https URL\n`])
    const open = ['--private-networks', '127.0.0.0/8', '--json']
    const both = await run([`${server.url}/none.zip`, `${server.url}/all.zip?token=secret`], ...open)
    assert.equal(both.code, 1)
    const report = json(both.stdout)
    assert.deepEqual(report.rejected, [
      { file: `${server.url}/none.zip`, line: 0, reason: 'the server responded with status 404', format: '' },
    ])
    assert.equal(report.total.created, 1)
    assert.ok(!both.stdout.includes('secret') && !both.stderr.includes('secret'))
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.authorization),
      [undefined, undefined],
    )
    const left = readdirSync(join(cli.home, '.cache', 'berth', 'downloads'))
    assert.deepEqual(
      left.filter((name) => !name.endsWith('.lock')),
      [],
    )
    const wrong = await run(['https://feeds.example/x'], '--private-networks', 'nowhere')
    assert.equal(wrong.code, 2)
    assert.equal((await run(['/no/such/file'])).code, 2)
    assert.equal((await run(['https://user:secret@feeds.example/x'])).code, 2)
  })

  test('feeds are added, watched, paused, run immediately and removed', async (t) => {
    const server = await startFeedServer(t)
    const url = `${server.url}/all.zip`
    server.files.set(
      '/all.zip',
      buildZip([
        { name: 'a.json', content: JSON.stringify(osvRecord(1)) },
        { name: 'b.json', content: '[' },
      ]),
    )
    const cli = at(t)
    const group = await folder(cli, 'feeds')
    const feeds = (...args: string[]) => cli.ok(['advisories', 'feeds', ...args])
    const added = await feeds('add', url, '--parent', group, '--format', 'osv', '--every', '6h', '--wait')
    assert.match(added, /^STATE +succeeded$/m)
    assert.match(added, /^INTERVAL +6h$/m)
    assert.match(await feeds('list', '--parent', group), /^URL +GROUP +STATE +LAST SUCCESS/)
    const described = await cli.run(['advisories', 'feeds', 'describe', url])
    assert.match(described.stderr, new RegExp(`^rejected ${url}:b\\.json:1: `, 'm'))
    assert.equal(json(await feeds('pause', url, '-o', 'json')).state, 'STATE_PAUSED')
    assert.equal((await cli.run(['advisories', 'feeds', 'sync', url])).code, 1)
    await feeds('resume', url)
    assert.equal(json(await feeds('update', url, '--every', '1d', '-o', 'json')).interval, '86400s')
    // A feed that is resumed runs immediately. No run may be left that would fail without its file.
    await feeds('sync', url, '--wait')
    server.files.clear()
    const failed = await cli.run(['advisories', 'feeds', 'sync', url, '--wait', '--full'])
    assert.equal(failed.code, 1)
    assert.match(failed.stderr, /^berth: the server responded with status 404$/m)

    const runs = json(await feeds('runs', url, '-o', 'json')).items
    assert.deepEqual(
      runs.map(({ state }: { state: string }) => state),
      ['STATE_FAILED', 'STATE_SUCCEEDED', 'STATE_SUCCEEDED'],
    )
    assert.equal(runs[0].error, 'the server responded with status 404')
    assert.deepEqual([runs[2].counts.created, runs[2].counts.rejected], [1, 1])
    assert.match(
      await feeds('runs', url, '--state', 'succeeded'),
      /^STARTED.*\n.* succeeded .*\n.* succeeded .* 1 created.*\n$/,
    )
    assert.equal((await cli.run(['advisories', 'feeds', 'runs', url, '--state', 'lost'])).code, 2)
    assert.equal((await cli.run(['advisories', 'feeds', 'remove', url])).code, 2)
    await feeds('remove', url, '--yes')
    assert.equal(await feeds('list', '--parent', group, '-o', 'id'), '')
    const gone = await cli.run(['advisories', 'feeds', 'describe', url])
    assert.deepEqual([gone.code, gone.stderr], [2, `berth: no feed of ${url} found or visible to you\n`])
  })
})
