import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import type { BodyStream, HttpHandler } from '@berth/server/port/http.ts'
import { selfSignedCertificate } from './support/http/certificate.ts'
import { http2Session, rawConnection, startPort } from './support/http/port.ts'
import { readLiveMemory } from './support/live-memory.ts'

/** Bodies that are sent as they come, read by real clients of both versions of HTTP. */

interface Opened {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
  /** Goes away without reading the rest. */
  abort(): void
}

type Open = (
  t: TestContext,
  url: string,
  options?: { readonly method?: string; readonly body?: string; readonly ca?: string },
) => Promise<Opened>

const openHttp1: Open = (t, url, { method = 'GET', body, ca } = {}) =>
  new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? httpsRequest : httpRequest
    const req = request(url, { method, agent: false, ...(ca !== undefined && { ca }) }, (res) => {
      res.on('error', () => undefined)
      resolve({
        status: res.statusCode ?? 0,
        headers: res.headers,
        body: res,
        abort: () => req.destroy(),
      })
    })
    t.after(() => req.destroy())
    req.on('error', reject)
    req.end(body)
  })

const openHttp2: Open = (t, url, { method = 'GET', body, ca } = {}) =>
  new Promise((resolve, reject) => {
    const session = http2Session(t, url, ca === undefined ? {} : { ca })
    const stream = session.request(
      { ':path': new URL(url).pathname, ':method': method },
      { endStream: body === undefined },
    )
    stream.on('error', reject)
    stream.on('response', ({ ':status': status, ...headers }) =>
      resolve({ status: Number(status), headers, body: stream, abort: () => stream.close(8) }),
    )
    if (body !== undefined) stream.end(body)
  })

const sending =
  (body: () => BodyStream): HttpHandler =>
  () => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: body() })

/** Rejects when the body is not whole. */
async function textOf(body: Readable): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  // Of a stream that is reset when its session ends, node:http2 only says so.
  if ('rstCode' in body && Number(body.rstCode ?? 0) !== 0) throw new Error(`reset with ${body.rstCode}`)
  return Buffer.concat(chunks).toString()
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A body that goes on for ever, and what became of it. */
function endless(bytes = 64 * 1024) {
  const ended = Promise.withResolvers<void>()
  const seen = { started: false, sent: 0, ended: ended.promise }
  async function* body() {
    seen.started = true
    try {
      for (;;) {
        yield Buffer.alloc(bytes, 97)
        seen.sent += bytes
      }
    } finally {
      ended.resolve()
    }
  }
  return { seen, body }
}

for (const [version, open] of [
  ['HTTP/1.1', openHttp1],
  ['HTTP/2', openHttp2],
] as const) {
  describe(`a streamed body (${version})`, () => {
    test('arrives whole and in order, text and bytes, without a length', async (t) => {
      const wanted: string[] = []
      async function* lines() {
        for (let n = 0; n < 5000; n++) {
          const line = `${n} \u00e4\u{1f6a2}${'x'.repeat(n % 97)}\n`
          wanted.push(line)
          if (n % 500 === 0) await pause(1)
          yield n % 2 === 0 ? line : Buffer.from(line)
        }
      }
      const server = await startPort(t, { http: sending(lines) })
      const reply = await open(t, server.url)
      assert.equal(reply.status, 200)
      assert.equal(reply.headers['content-length'], undefined)
      assert.equal(reply.headers['content-type'], 'text/plain')
      assert.match(String(reply.headers['x-request-id']), /^[0-9a-z]+-[0-9a-z]+$/)
      assert.equal(await textOf(reply.body), wanted.join(''))
    })

    test('may be one large piece, or nothing, or have empty pieces', async (t) => {
      const large = '\u20ac'.repeat(1_000_000)
      for (const pieces of [[large], [], ['', 'a', new Uint8Array(), 'b', '']]) {
        async function* body() {
          yield* pieces
        }
        const server = await startPort(t, { http: sending(body) })
        assert.equal(await textOf((await open(t, server.url)).body), pieces.join(''))
      }
    })

    test('comes before it is complete', async (t) => {
      const seen = Promise.withResolvers<void>()
      async function* body() {
        yield 'first'
        await seen.promise
        yield ' second'
      }
      const server = await startPort(t, { http: sending(body) })
      const reply = await open(t, server.url)
      reply.body.once('data', (first) => {
        assert.equal(String(first), 'first')
        seen.resolve()
      })
      await new Promise((resolve) => reply.body.on('end', resolve))
    })

    test('waits for its client: 200 MB through a slow reader need little memory', async (t) => {
      const total = 200 * 1024 * 1024
      let made = 0
      async function* body() {
        for (; made < total; made += 64 * 1024) yield Buffer.alloc(64 * 1024, made / 65_536)
      }
      const server = await startPort(t, { http: sending(body) })
      const before = await readLiveMemory()
      let received = 0
      let ahead = 0
      let growth = 0
      const reply = await open(t, server.url)
      for await (const chunk of reply.body) {
        const earlier = Math.floor(received / (10 * 1024 * 1024))
        received += chunk.length
        if (Math.floor(received / (10 * 1024 * 1024)) === earlier) continue
        await pause(20)
        ahead = Math.max(ahead, made - received)
        growth = Math.max(growth, (await readLiveMemory()) - before)
      }
      assert.equal(received, total)
      // Besides the buffers of the system, which are not the process's own.
      assert.ok(ahead < 32 * 1024 * 1024, `${ahead} bytes ahead of the reader`)
      assert.ok(growth < 50 * 1024 * 1024, `${growth} bytes more memory`)
    })

    test('is not made when its client does not read', async (t) => {
      const { seen, body } = endless()
      const server = await startPort(t, { http: sending(body) })
      const reply = await open(t, server.url)
      reply.body.pause()
      let sent = -1
      while (sent !== seen.sent) {
        sent = seen.sent
        await pause(200)
      }
      assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes`)
      reply.abort()
      await seen.ended
    })

    test('ends when its client goes away, and cleans up', async (t) => {
      const { seen, body } = endless()
      const server = await startPort(t, { http: sending(body) })
      const reply = await open(t, server.url)
      reply.body.on('error', () => undefined)
      reply.body.once('data', () => reply.abort())
      await seen.ended
      assert.deepEqual(server.log.errors, [])
    })

    test('that waits for something is ended immediately when its client disconnects', async (t) => {
      const returned = Promise.withResolvers<void>()
      const body: BodyStream = {
        [Symbol.asyncIterator]: () => ({
          next: () => returned.promise.then(() => ({ done: true, value: undefined })),
          return: async () => {
            returned.resolve()
            return { done: true, value: undefined }
          },
        }),
      }
      const server = await startPort(t, { http: sending(() => body) })
      const reply = await open(t, server.url)
      reply.body.on('error', () => undefined)
      reply.abort()
      await returned.promise
    })

    test('is not started for a HEAD, nor for a status without a body', async (t) => {
      const { seen, body } = endless()
      const server = await startPort(t, {
        http: ({ url }) => ({ status: url === '/204' ? 204 : 200, headers: { a: 'b' }, body: body() }),
      })
      const head = await open(t, server.url, { method: 'HEAD' })
      assert.deepEqual(
        [head.status, head.headers['a'], head.headers['content-length']],
        [200, 'b', undefined],
      )
      assert.equal(await textOf(head.body), '')
      const none = await open(t, `${server.url}/204`)
      assert.equal(none.status, 204)
      assert.equal(await textOf(none.body), '')
      assert.equal(seen.started, false)
    })

    test('that fails does not pass for a whole one, and is logged', async (t) => {
      for (const before of ['', 'half', 'x'.repeat(1_000_000)]) {
        async function* body() {
          yield before
          throw new Error('the other half is missing')
        }
        const server = await startPort(t, { http: sending(body) })
        let id: unknown
        await assert.rejects(async () => {
          const reply = await open(t, server.url)
          id = reply.headers['x-request-id']
          await textOf(reply.body)
        })
        assert.equal(server.log.errors.length, 1)
        const { requestId, err } = server.log.errors[0]!.fields as { requestId: string; err: Error }
        assert.equal(err.message, 'the other half is missing')
        if (id !== undefined) assert.equal(requestId, id)
      }
    })

    test('ends when its headers cannot be sent', async (t) => {
      let hasEnded = false
      async function* body() {
        try {
          yield 'a'
          yield 'b'
        } finally {
          hasEnded = true
        }
      }
      const server = await startPort(t, {
        http: async () => {
          const started = body()
          await started.next()
          return { status: 200, headers: { 'x-name': 'a\nb' }, body: started }
        },
      })
      const reply = await open(t, server.url)
      assert.equal(reply.status, 500)
      await textOf(reply.body)
      assert.equal(hasEnded, true)
    })

    test('is cut off when its client reads nothing for stalledReplyMs', async (t) => {
      const { seen, body } = endless()
      const server = await startPort(t, { http: sending(body), limits: { stalledReplyMs: 200 } })
      const reply = await open(t, server.url)
      reply.body.pause()
      await seen.ended
      await assert.rejects(textOf(reply.body))
    })

    test('is not cut off when it has nothing to say for longer than that', async (t) => {
      async function* body() {
        yield 'a'
        await pause(200)
        yield 'b'
      }
      const server = await startPort(t, { http: sending(body), limits: { stalledReplyMs: 50 } })
      assert.equal(await textOf((await open(t, server.url)).body), 'ab')
    })

    test('may finish when the server stops, and is cut when it takes too long', async (t) => {
      const stopping = Promise.withResolvers<void>()
      async function* short() {
        yield 'a'
        await stopping.promise
        await pause(50)
        yield 'b'
      }
      const first = await startPort(t, { http: sending(short), limits: { stopGraceMs: 10_000 } })
      const reply = await open(t, first.url)
      const text = textOf(reply.body)
      const stopped = first.stop()
      stopping.resolve()
      assert.equal(await text, 'ab')
      await stopped

      const { seen, body } = endless()
      const second = await startPort(t, { http: sending(body), limits: { stopGraceMs: 100 } })
      const cut = await open(t, second.url)
      const all = assert.rejects(textOf(cut.body))
      await second.stop()
      await seen.ended
      await all
    })

    test('does not delay other requests', async (t) => {
      const { seen, body } = endless()
      const server = await startPort(t, {
        http: (request) =>
          request.url === '/' ? sending(body)(request) : { status: 200, headers: {}, body: 'ok' },
      })
      const reply = await open(t, server.url)
      reply.body.on('error', () => undefined)
      reply.body.resume()
      for (let n = 0; n < 20; n++) assert.equal(await (await fetch(`${server.url}/other`)).text(), 'ok')
      reply.abort()
      await seen.ended
    })

    test('answers a request whose body is not read', async (t) => {
      async function* body() {
        yield 'a'
        await pause(20)
        yield 'b'
      }
      const server = await startPort(t, { http: sending(body) })
      const reply = await open(t, server.url, { method: 'POST', body: 'x'.repeat(60_000) })
      assert.equal(await textOf(reply.body), 'ab')
    })

    test('goes over TLS too', async (t) => {
      const tls = selfSignedCertificate()
      async function* body({ fails }: { fails: boolean }) {
        yield 'x'.repeat(300_000)
        if (fails) throw new Error('half')
      }
      const server = await startPort(t, {
        tls,
        http: (request) => sending(() => body({ fails: request.url === '/fails' }))(request),
      })
      const reply = await open(t, server.url, { ca: tls.cert })
      assert.equal((await textOf(reply.body)).length, 300_000)
      await assert.rejects(async () => {
        const failing = await open(t, `${server.url}/fails`, { ca: tls.cert })
        await textOf(failing.body)
      })
    })
  })
}

test('HTTP/1.1 keeps the connection open after a streamed body', async (t) => {
  const server = await startPort(t, {
    http: ({ url }) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield `this is ${url}`
      })(),
    }),
  })
  const connection = await rawConnection(t, server.port)
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
  connection.socket.write(get('/1') + get('/2'))
  const text = await connection.until('this is /2')
  assert.ok(text.indexOf('this is /1') < text.indexOf('this is /2'))
})

test('HTTP/1.0, where a closed connection is the end, is reset when a body fails', async (t) => {
  async function* body() {
    yield 'half'
    await pause(50)
    throw new Error('the other half is missing')
  }
  const server = await startPort(t, { http: sending(body) })
  const { socket, until, received } = await rawConnection(t, server.port)
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => socket.on('error', resolve))
  socket.write('GET / HTTP/1.0\r\n\r\n')
  await until('half')
  assert.equal((await failed).code, 'ECONNRESET')
  await received
})
