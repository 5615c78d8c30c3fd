import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { DownloadError, type DownloadOptions, download } from '@berth/server/advisories/feeds/download.ts'
import { limits } from '@berth/server/config/limits.ts'
import { createOutbound } from '@berth/server/runtime/outbound/outbound.ts'
import { etagOf, sendFile, startFeedServer, trustedCertificate } from './support/advisories/feed-server.ts'
import { eventually } from './support/eventually.ts'
import { temporaryDirectory } from './support/server/process.ts'

/** Downloads of advisory files: complete, resumed, or failed. */

const LOOPBACK = ['127.0.0.0/8', '::1/128']

function fetcher(t: TestContext, more: Partial<DownloadOptions> = {}, privateNetworks = LOOPBACK) {
  const outbound = createOutbound({ privateNetworks })
  t.after(() => outbound.close())
  const directory = temporaryDirectory(t)
  return {
    directory,
    fetch: (url: string, own: Partial<DownloadOptions> = {}) =>
      download(url, { outbound, directory, bounds: limits, ...more, ...own }),
  }
}

const failing = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DownloadError, String(error))
  assert.match(error.message, message)
  return true
}

/** Lists what downloads left in their directory, without the empty lock files. */
function partsIn(directory: string): string[] {
  return readdirSync(directory).filter((name) => !name.endsWith('.lock'))
}

test('a file is downloaded over TLS, and again only if it changed', async (t) => {
  const server = await startFeedServer(t, trustedCertificate())
  const { fetch, directory } = fetcher(t)
  const content = randomBytes(300_000)
  server.files.set('/all.zip', content)
  const first = await fetch(`${server.url}/all.zip`)
  assert.ok(first)
  assert.deepEqual(readFileSync(first.path), content)
  assert.equal(first.version.etag, etagOf(content))
  await first.remove()
  assert.deepEqual(partsIn(directory), [])

  assert.equal(await fetch(`${server.url}/all.zip`, { known: first.version }), undefined)
  assert.equal(server.requests.at(-1)?.headers['if-none-match'], first.version.etag)
  server.files.set('/all.zip', randomBytes(1000))
  const third = await fetch(`${server.url}/all.zip`, { known: first.version })
  assert.equal(readFileSync(third?.path ?? '').length, 1000)
  await third?.remove()
})

/** Sends the beginning of a file, and breaks the connection when the client has stored it in `directory`. */
async function cutAfter(
  bytes: number,
  response: ServerResponse,
  content: Uint8Array,
  directory: string,
): Promise<void> {
  response.writeHead(200, { etag: etagOf(content), 'content-length': content.byteLength })
  response.write(content.subarray(0, bytes))
  await eventually(() => partsIn(directory).some((name) => statSync(join(directory, name)).size >= bytes))
  response.destroy()
}

test('an interrupted transfer is resumed where it ended, in the same run and in the next', async (t) => {
  const server = await startFeedServer(t)
  const { fetch, directory } = fetcher(t)
  const content = randomBytes(500_000)
  let cuts = 1
  server.answer = (request, response) => {
    if (cuts-- > 0) void cutAfter(200_000, response, content, directory)
    else sendFile(request, response, content)
  }
  const whole = await fetch(`${server.url}/feed.zip`)
  assert.deepEqual(readFileSync(whole?.path ?? ''), content)
  assert.deepEqual(
    server.requests.map(({ headers }) => [headers.range, headers['if-range']]),
    [
      [undefined, undefined],
      ['bytes=200000-', etagOf(content)],
    ],
  )
  await whole?.remove()

  // A server that has had enough after the first part: what came stays for the next run.
  server.requests.length = 0
  let answered = 0
  server.answer = (_, response) => {
    if (answered++ === 0) void cutAfter(100_000, response, content, directory)
    else response.writeHead(503, { 'retry-after': '90' }).end()
  }
  await assert.rejects(fetch(`${server.url}/feed.zip`), (error: DownloadError) => {
    assert.equal(error.retryAfterMs, 90_000)
    return failing(/^the server responded with status 503$/)(error)
  })
  assert.equal(partsIn(directory).length, 2)
  server.answer = undefined
  server.files.set('/feed.zip', content)
  const later = await fetch(`${server.url}/feed.zip`)
  assert.equal(server.requests.at(-1)?.headers.range, 'bytes=100000-')
  assert.deepEqual(readFileSync(later?.path ?? ''), content)
  await later?.remove()
})

test('the rest of another version is never appended to a partial file', async (t) => {
  const server = await startFeedServer(t)
  const { fetch, directory } = fetcher(t)
  const [old, fresh] = [randomBytes(400_000), randomBytes(400_000)]
  let answered = 0
  server.answer = (request, response) => {
    if (answered++ === 0) void cutAfter(100_000, response, old, directory)
    else sendFile(request, response, fresh)
  }
  const got = await fetch(`${server.url}/feed.zip`)
  assert.deepEqual(readFileSync(got?.path ?? ''), fresh)
  await got?.remove()

  // One that sends the rest of another file all the same.
  answered = 0
  server.answer = (request, response) => {
    if (answered++ === 0) return void cutAfter(100_000, response, old, directory)
    delete request.headers['if-range']
    sendFile(request, response, fresh)
  }
  await assert.rejects(fetch(`${server.url}/feed.zip`), failing(/a different range of the file/))
})

test('a file that was complete in a killed run is not downloaded again', async (t) => {
  const server = await startFeedServer(t)
  const { fetch } = fetcher(t)
  const content = randomBytes(50_000)
  server.files.set('/feed.zip', content)
  const first = await fetch(`${server.url}/feed.zip`)
  assert.ok(first)
  await first.abandon()
  const second = await fetch(`${server.url}/feed.zip`)
  assert.deepEqual(readFileSync(second?.path ?? ''), content)
  assert.equal(server.requests.at(-1)?.headers.range, 'bytes=50000-')
  await second?.remove()
})

test('endless transfers are aborted: too large, too slow, stalled, too long', async (t) => {
  const server = await startFeedServer(t)
  const small = { ...limits, downloadBytesMax: 100_000 }
  const { fetch } = fetcher(t, { bounds: small })

  const endless = (response: ServerResponse): void => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000)));
    }
    response.on('drain', more)
    more()
  }
  server.answer = (_, response) => endless(response)
  await assert.rejects(fetch(`${server.url}/endless`), failing(/^the file has more than 100000 bytes$/))
  server.answer = (_, response) => {
    response.writeHead(200, { 'content-length': 10 ** 12 })
    endless(response)
  }
  await assert.rejects(fetch(`${server.url}/declared`), failing(/more than 100000 bytes/))

  let timer: NodeJS.Timeout | undefined
  t.after(() => clearInterval(timer))
  server.answer = (_, response) => {
    response.writeHead(200, { 'content-length': 50_000 })
    timer = setInterval(() => response.write('.'), 20)
  }
  const watched = { ...small, downloadWindowMs: 1000, downloadWindowBytesMin: 1000 }
  await assert.rejects(fetch(`${server.url}/slow`, { bounds: watched }), failing(/too slow or has stalled/))
  server.answer = (_, response) =>
    void response.writeHead(200, { 'content-length': 50_000 }).write('beginning')
  await assert.rejects(
    fetch(`${server.url}/stalled`, { bounds: watched }),
    failing(/too slow or has stalled|was interrupted|broke/),
  )
  const short = { ...limits, downloadMsMax: 400 }
  await assert.rejects(fetch(`${server.url}/late`, { bounds: short }), failing(/did not respond in time/))
  server.answer = () => {}
  const hasty = { ...small, downloadWindowMs: 300 }
  for (const _ of ['first', 'after it released its lock'])
    await assert.rejects(fetch(`${server.url}/silent`, { bounds: hasty }), failing(/^(?!another process)/))
})

test('a truncated body never counts as complete, however often it is sent', async (t) => {
  const server = await startFeedServer(t)
  const { fetch, directory } = fetcher(t)
  server.answer = (_, response) => void cutAfter(30_000, response, randomBytes(60_000), directory)
  await assert.rejects(fetch(`${server.url}/short`), failing(/broke/))
  assert.equal(server.requests.length, 2)
})

test('redirects follow the rules of the first URL, up to a limit', async (t) => {
  const server = await startFeedServer(t)
  const secure = await startFeedServer(t, trustedCertificate())
  const { fetch } = fetcher(t)
  server.files.set('/feed.json', Buffer.from('{}'))
  server.answer = (request, response) => {
    const [, left = '0'] = /^\/hop\/(\d+)$/.exec(request.url ?? '') ?? []
    if (left === '0') sendFile(request, response, Buffer.from('{}'))
    else response.writeHead(302, { location: `/hop/${Number(left) - 1}` }).end()
  }
  const got = await fetch(`${server.url}/hop/3`)
  assert.equal(readFileSync(got?.path ?? '', 'utf8'), '{}')
  await got?.remove()
  assert.equal(limits.outboundRedirectsMax, 3)
  await assert.rejects(fetch(`${server.url}/hop/4`), failing(/^too many redirects$/))

  server.answer = (_, response) => void response.writeHead(302, { location: '/loop' }).end()
  await assert.rejects(fetch(`${server.url}/loop`), failing(/^too many redirects$/))
  secure.answer = (_, response) => void response.writeHead(302, { location: `${server.url}/x` }).end()
  await assert.rejects(fetch(`${secure.url}/down`), failing(/leads from https to http/))
  server.answer = (_, response) => void response.writeHead(302, { location: 'https://u:p@127.0.0.1/' }).end()
  await assert.rejects(fetch(`${server.url}/credentials`), failing(/credentials in the URL/))
})

test('an address in a private network is rejected, named directly or by a redirect', async (t) => {
  const server = await startFeedServer(t, trustedCertificate())
  const closed = fetcher(t, {}, [])
  for (const url of [
    server.url,
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/feed.zip',
    'https://[::1]/feed.zip',
    'http://192.88.99.1/feed.zip',
    'http://8.8.8.8/feed.zip',
  ])
    await assert.rejects(closed.fetch(url), failing(/network that must not be fetched from/), url)
  assert.equal(server.requests.length, 0)

  const { fetch } = fetcher(t)
  server.answer = (_, response) =>
    void response.writeHead(302, { location: 'https://169.254.169.254/' }).end()
  await assert.rejects(fetch(server.url), failing(/network that must not be fetched from/))
})

test('an unrequested compressed response is rejected: its size is unknown', async (t) => {
  const server = await startFeedServer(t)
  const { fetch } = fetcher(t)
  server.answer = (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
  await assert.rejects(fetch(server.url), failing(/compressed although this was not requested/))
})

test('two processes do not write the same file', async (t) => {
  const server = await startFeedServer(t)
  const { fetch } = fetcher(t)
  server.files.set('/feed.zip', randomBytes(1000))
  const first = await fetch(`${server.url}/feed.zip`)
  await assert.rejects(
    fetch(`${server.url}/feed.zip`),
    failing(/^another process is downloading the same file$/),
  )
  await first?.remove()
  await (await fetch(`${server.url}/feed.zip`))?.remove()
})
