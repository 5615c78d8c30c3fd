import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { buildTar, buildZip } from './support/advisories/archives.ts'
import { startNodes } from './support/advisories/feed-nodes.ts'
import { startFeedServer } from './support/advisories/feed-server.ts'
import { FEEDS, osvRecord, waitForFeed } from './support/advisories/feeds.ts'
import { apiOf } from './support/api/api-fixture.ts'

/** Malicious feeds: each ends in bounded time and memory, with a reason in one line. */

type Answer = (request: IncomingMessage, response: ServerResponse) => void

interface Hostile {
  readonly what: string
  readonly answer: Answer | Uint8Array
  /** Of the feed, or of the first document that was not taken where the feed as a whole was read. */
  readonly expected: RegExp
  /** Good documents beside what is bad. */
  readonly taken?: number
}

const MIB = 1024 * 1024
const GOOD = JSON.stringify(osvRecord(1))
const good = { name: 'good.json', content: GOOD }
const spaces = (mib: number) => Buffer.alloc(mib * MIB, ' ')
const redirect =
  (location: string): Answer =>
  (_, response) =>
    void response.writeHead(302, { location }).end()

/** Writes as long as the client reads, up to a number of bytes. */
function pour(response: ServerResponse, piece: Buffer, bytesMax = Number.POSITIVE_INFINITY): void {
  let bytes = 0
  const more = () => {
    for (let isDrained = true; isDrained && !response.destroyed; ) {
      if (bytes >= bytesMax) return void response.end()
      bytes += piece.byteLength
      isDrained = response.write(piece)
    }
  }
  response.on('drain', more)
  more()
}

const line = Buffer.alloc(MIB, 'x')

function laughs(): string {
  const levels = ['a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]']
  for (let level = 1; level < 12; level++) {
    const [name, before] = [String.fromCharCode(97 + level), String.fromCharCode(96 + level)]
    levels.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`)
  }
  return levels.join('\n')
}

const nested = (depth: number): Buffer =>
  depth === 0
    ? buildZip([good])
    : buildZip(Array.from({ length: 4 }, (_, at) => ({ name: `${at}.zip`, content: nested(depth - 1) })))

async function hostileFeeds(): Promise<Hostile[]> {
  // Made before anything is sent: that takes longer than a transfer may stand still here.
  const bomb = gzipSync(spaces(100))
  const pax = await buildTar([{ name: 'a.json', content: GOOD, pax: { size: '99999999999999' } } as never])
  return [
    {
      what: 'zip bomb: one file of 300 MiB in 300 KiB',
      answer: buildZip([{ name: 'bomb.json', content: spaces(300) }, good]),
      expected: /^must have at most 64 MiB$/,
      taken: 1,
    },
    {
      what: 'zip bomb that says it is small',
      answer: buildZip([{ name: 'bomb.json', content: spaces(100), declaredBytes: 2 }, good]),
      expected: /^cannot be unpacked: too many bytes in the stream/,
      taken: 1,
    },
    {
      what: 'zip bomb: 300 files of 1 MiB in 300 KiB',
      answer: buildZip(Array.from({ length: 300 }, (_, at) => ({ name: `${at}.json`, content: spaces(1) }))),
      expected: /^the file unpacks to more than 100 times its size/,
    },
    {
      what: 'gzip bomb: 2 GiB in 2 MiB',
      answer: Buffer.concat(Array(20).fill(gzipSync(spaces(100)))),
      expected: /^the file unpacks to more than 100 times|^the file must have at most 64 MiB/,
    },
    {
      what: 'gzip bomb in a tar.gz',
      answer: gzipSync(Buffer.concat([(await buildTar([good])).subarray(0, 1024), spaces(200)])),
      expected: /^the file (unpacks to more than 100 times|cannot be unpacked: Invalid tar header)/,
      taken: 1,
    },
    {
      what: 'gzip bomb as the encoding of the transfer',
      answer: (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
      expected: /^the response is compressed although this was not requested$/,
    },
    {
      what: 'archives in archives, 4 to the power of 6',
      answer: nested(6),
      expected: /^no document could be imported: is nested in more than 2 archives$/,
    },
    {
      what: 'paths that lead out of the archive',
      answer: buildZip([
        { name: '../../../etc/cron.d/x.json', content: GOOD },
        { name: '/etc/x.json', content: GOOD },
        good,
      ]),
      expected: /^has a path outside the archive$/,
      taken: 1,
    },
    {
      what: 'links and devices',
      answer: await buildTar([
        { name: 'passwd.json', type: 'symlink', linkname: '/etc/passwd' },
        { name: 'hard.json', type: 'link', linkname: '/etc/passwd' },
        { name: 'sda.json', type: 'block-device' },
        good,
      ]),
      expected: /^is a link; links are not followed$/,
      taken: 1,
    },
    {
      what: 'one name twice',
      answer: buildZip([good, { name: 'good.json', content: JSON.stringify(osvRecord(2)) }]),
      expected: /^occurs twice$/,
      taken: 1,
    },
    {
      what: 'tar whose header lies about the size',
      answer: pax,
      expected: /^the file cannot be unpacked: Unexpected end|^must have at most 64 MiB/,
    },
    {
      what: 'zip that is cut off',
      answer: buildZip([good, good]).subarray(0, -10),
      expected: /^the file cannot be unpacked: End of central directory/,
    },
    {
      what: 'YAML alias bomb',
      answer: buildZip([{ name: 'laughs.yaml', content: laughs() }, good]),
      expected: /alias/,
      taken: 1,
    },
    {
      what: 'JSON 100,000 levels deep',
      answer: buildZip([{ name: 'deep.json', content: '['.repeat(100_000) }, good]),
      expected: /deep|nest|level/,
      taken: 1,
    },
    {
      what: 'one line of 200 MB',
      answer: (_, response) => pour(response, line, 200 * MIB),
      expected: /must have at most 64 MiB$/,
    },
    {
      what: 'one line of 60 MB',
      answer: buildZip([{ name: 'line.json', content: `{"id":"${'x'.repeat(60 * MIB)}"}` }, good]),
      expected: /is not a Wolfi, OSV|id/,
      taken: 1,
    },
    ...(
      [
        ['UTF-16', Buffer.from(`\ufeff${GOOD}`, 'utf16le'), /UTF-16/],
        ['Latin-1', Buffer.from(GOOD.replace('npm', 'n\xe9'), 'latin1'), /UTF-8/],
        ['NUL', Buffer.from(GOOD.replace('npm', 'n\0')), /U\+0000/],
        ['no text', Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)), /./],
      ] as const
    ).map(([encoding, content, expected]) => ({
      what: `wrong encoding: ${encoding}`,
      answer: buildZip([{ name: 'bad.json', content }, good]),
      expected,
      taken: 1,
    })),
    ...[
      'https://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1/',
      'https://[::1]/',
      'http://0.0.0.0:22/',
      'http://[::ffff:10.0.0.1]/',
    ].map((target) => ({
      what: `redirect to ${target}`,
      answer: redirect(target),
      expected: /^the host is in a network that must not be fetched from$/,
    })),
    {
      what: 'redirect to a file',
      answer: redirect('file:///etc/passwd'),
      expected: /^redirect rejected: neither https nor http$/,
    },
    {
      what: 'redirect with credentials',
      answer: redirect('https://u:p@127.0.0.1/'),
      expected: /^redirect rejected: credentials/,
    },
    { what: 'redirects in a circle', answer: redirect('?again'), expected: /^too many redirects$/ },
    {
      what: 'body without an end',
      answer: (_, response) => pour(response, line),
      expected: /^the file has more than \d+ bytes$/,
    },
    {
      what: 'body of one byte now and then',
      answer(_, response) {
        const timer = setInterval(() => response.write('.'), 50)
        response.on('close', () => clearInterval(timer))
      },
      expected: /^the transfer is too slow or has stalled$/,
    },
    { what: 'no answer', answer: () => undefined, expected: /./ },
    {
      what: 'content length that is too long',
      answer: (_, response) =>
        void response.writeHead(200, { 'content-length': 1000 }).write('short', () => response.destroy()),
      expected: /^(no connection to the server, or it broke|the transfer was interrupted)$/,
    },
    {
      what: 'content length that is too short',
      answer: (_, { socket }) =>
        void socket?.end(`HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n${'x'.repeat(100_000)}`),
      expected: /./,
    },
    {
      what: 'headers of 1 MiB',
      answer: (_, { socket }) =>
        void socket?.end(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1000)}\r\n`.repeat(1000)}\r\n`),
      expected: /^no connection to the server, or it broke$/,
    },
    {
      what: 'no HTTP at all',
      answer: (_, { socket }) => void socket?.end('SSH-2.0-OpenSSH_9.6\r\n'),
      expected: /^no connection/,
    },
  ]
}

/** Memory of a process at its highest since it was last asked, in MiB. */
function peakOf(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return Math.round(Number(kib) / 1024)
}

test('malicious feeds end soon, with little memory and a reason', async (t) => {
  const server = await startFeedServer(t)
  const bounds = {
    downloadBytesMax: 210 * MIB,
    downloadMsMax: 30_000,
    downloadWindowMs: 2000,
    downloadWindowBytesMin: 1000,
  }
  const { start, organization, token } = await startNodes(t, 'sqlite', ['60000', JSON.stringify(bounds)])
  const node = await start()
  const api = apiOf(node, token)
  const pid = node.child.pid ?? 0
  const feeds = await hostileFeeds()
  server.answer = (request, response) => {
    const [, at] = /^\/(\d+)/.exec(request.url ?? '') ?? []
    const { answer } = feeds[Number(at)] as Hostile
    if (typeof answer === 'function') answer(request, response)
    else response.end(answer)
  }
  for (const [at, { what, expected, taken = 0 }] of feeds.entries()) {
    peakOf(pid)
    const startedMs = performance.now()
    const { uid } = await api.create(`${FEEDS}/${organization}`, { url: `${server.url}/${at}` })
    const feed = await waitForFeed(api, uid, ({ state }) => /FAILED|SUCCEEDED/.test(state))
    const ms = Math.round(performance.now() - startedMs)
    const peakMib = peakOf(pid)
    await api.delete(`${FEEDS}/${uid}`)
    const reasons = [
      feed.lastError,
      ...(feed.lastRun?.rejections ?? []).map(({ reason }: { reason: string }) => reason),
    ]
    t.diagnostic(
      `${what} | ${ms} ms | ${peakMib} MiB | ${feed.lastRun?.documents ?? 0} taken, ${feed.lastRun?.rejected ?? 0} rejected | ${reasons.find((reason) => expected.test(reason)) ?? ''}`,
    )
    assert.ok(
      reasons.some((reason) => expected.test(reason)),
      `${what}: ${JSON.stringify(reasons).slice(0, 500)}`,
    )
    assert.equal(feed.lastRun?.documents ?? 0, taken, what)
    assert.ok(peakMib < 1024, `${what}: ${peakMib} MiB`)
    assert.ok(ms < 60_000, `${what}: ${ms} ms`)
  }
  server.answer = undefined
  server.files.set('/good.zip', buildZip([good]))
  const { uid } = await api.create(`${FEEDS}/${organization}`, { url: `${server.url}/good.zip` })
  await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
  assert.equal(node.child.exitCode, null)
})
