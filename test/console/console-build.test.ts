import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { brotliCompressSync, constants } from 'node:zlib'
import { databases } from '../support/database/databases.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/** The build of the console, and how the server sends it. */

const build = new URL('../../packages/console/dist/static/', import.meta.url)
const BROTLI_QUALITY = 9
const SHELL_BYTES_MAX = 200_000
/** Of the first script, with what it imports. */
const START_BYTES_MAX = 30_000
/** Of the chunk of one page. */
const PAGE_BYTES_MAX = 50_000
/** Of a script of the shell that is worth a hint. */
const LARGE_BYTES = 10_000

const compressed = (name: string) =>
  brotliCompressSync(readFileSync(new URL(name, build)), {
    params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY },
  }).length

const page = readFileSync(new URL('console.html', build), 'utf8')
const shell = [...page.matchAll(/(?:src|href)="\/console-assets\/([^"]+)"/g)].map(([, name = '']) => name)

test('what every page loads has at most 200 KB, and what one page adds at most 50 KB', () => {
  assert.ok(shell.length > 2)
  const bytes = shell.map(compressed).reduce((sum, size) => sum + size, compressed('console.html'))
  assert.ok(bytes < SHELL_BYTES_MAX, `the shell has ${bytes} bytes`)
  const added = readdirSync(build).filter((name) => name.endsWith('.js') && !shell.includes(name))
  for (const name of added) assert.ok(compressed(name) < PAGE_BYTES_MAX, name)
})

test('the scripts of the shell start with the hint to compile them while they are received', () => {
  const hinted = readdirSync(build).filter(
    (name) =>
      name.endsWith('.js') &&
      readFileSync(new URL(name, build), 'utf8').startsWith('//# allFunctionsCalledOnLoad\n'),
  )
  const large = shell.filter((name) => name.endsWith('.js') && compressed(name) > LARGE_BYTES)
  assert.deepEqual(hinted.toSorted(), large.toSorted())
})

test('the first script does not wait for React and the components', () => {
  const [first = ''] = shell.filter((name) => name.startsWith('start-') && name.endsWith('.js'))
  const script = readFileSync(new URL(first, build), 'utf8')
  const imported = [...script.matchAll(/(?:^|;)import(?:[^(;]*from)?"\.\/([^"]+)"/gm)].map(
    ([, name = '']) => name,
  )
  const bytes = imported.reduce((sum, name) => sum + compressed(name), compressed(first))
  assert.ok(bytes < START_BYTES_MAX, `${first} loads ${bytes} bytes first`)
})

test('the page has no inline script or style', () => {
  assert.doesNotMatch(page, /<style|\son\w+=|style=/)
  assert.deepEqual(page.match(/<script(?![^>]* src=)[^>]*>/g), [
    '<script type="application/json" id="session">',
  ])
})

test('files of the build are immutable, compressed and revalidated by their ETag', async (t) => {
  const [database] = databases
  assert.ok(database)
  const berth = await startTestBerth(database)
  t.after(() => berth.stop())
  const [script = ''] = shell.filter((name) => name.endsWith('.js'))
  const get = (headers: Record<string, string>, name = script) =>
    fetch(`${berth.url}/console-assets/${name}`, { headers })
  for (const [accepted, coding] of [
    ['gzip, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
  ] as const) {
    const response = await get({ 'accept-encoding': accepted })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-encoding'), coding)
    assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal(response.headers.get('vary'), 'accept-encoding')
    assert.equal(response.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.equal(await response.text(), readFileSync(new URL(script, build), 'utf8'))
    const again = await get({ 'if-none-match': response.headers.get('etag') ?? '' })
    assert.equal(again.status, 304)
    assert.equal(again.headers.get('etag'), response.headers.get('etag'))
  }
  for (const name of ['console.html', 'none.js', '../package.json', '..%2fpackage.json', ''])
    assert.equal((await get({}, name)).status, 404, name)
})
