import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, Code } from '@berth/server/api/errors.ts'
import { limits } from '@berth/server/config/limits.ts'
import type { HttpHandler, HttpRequest } from '@berth/server/port/http.ts'
import { http2Session, rawConnection, startPort } from './support/http/port.ts'
import { END_HEADERS, postRoot, rawFrame, rawHttp2, uint32 } from './support/http/raw-http2.ts'

/** Answers with how many bytes came, and their hash. */
const swallowing: HttpHandler = async (request) => {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of request.stream()) {
    bytes += chunk.length
    hash.update(chunk)
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ bytes, hash: hash.digest('hex') }),
  }
}

const body = (raw: string) => JSON.parse(raw.slice(raw.lastIndexOf('\r\n\r\n') + 4))

describe('bodies that are streamed', () => {
  test('come whole, over HTTP/1.1 and HTTP/2', async (t) => {
    const server = await startPort(t, { http: swallowing })
    const bytes = randomBytes(5_000_000)
    const expected = { bytes: bytes.length, hash: createHash('sha256').update(bytes).digest('hex') }
    const first = await fetch(server.url, { method: 'PATCH', body: bytes })
    assert.deepEqual(await first.json(), expected)
    const stream = http2Session(t, server.url).request({ ':path': '/', ':method': 'PATCH' })
    stream.end(bytes)
    const parts: Buffer[] = []
    for await (const part of stream) parts.push(part)
    assert.deepEqual(JSON.parse(Buffer.concat(parts).toString()), expected)
    const none = await fetch(server.url, { method: 'PATCH' })
    assert.equal(((await none.json()) as { bytes: number }).bytes, 0)
  })

  test('leave the connection for the next request when they were read to their end', async (t) => {
    const server = await startPort(t, { http: swallowing })
    const { socket, received } = await rawConnection(t, server.port)
    const head = 'PUT / HTTP/1.1\r\nhost: a\r\n'
    socket.write(`${head}content-length: 10\r\n\r\n0123456789`)
    await once(socket, 'data')
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`)
    await once(socket, 'data')
    socket.write(`${head}content-length: 5\r\nconnection: close\r\n\r\nabcde`)
    const replies = (await received).split('HTTP/1.1 200 OK').slice(1)
    assert.deepEqual(
      replies.map((reply) => body(reply).bytes),
      [10, 3, 5],
    )
  })

  test('may take longer than other requests, as long as they come', async (t) => {
    const server = await startPort(t, {
      http: swallowing,
      limits: {
        headersTimeoutMs: 400,
        requestTimeoutMs: 500,
        // Much longer than a pause, also on a busy machine.
        streamedBodyWindowMs: 2000,
        streamedBodyWindowBytesMin: 10,
      },
    })
    const { socket, received } = await rawConnection(t, server.port)
    socket.write('PATCH / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 120\r\n\r\n')
    for (let at = 0; at < 12; at++) {
      await pause(60)
      socket.write('0123456789')
    }
    assert.equal(body(await received).bytes, 120)
  })

  test('end when next to nothing comes (streamedBodyWindowMs, streamedBodyWindowBytesMin)', async (t) => {
    const failures: unknown[] = []
    const telling: HttpHandler = async (request) => {
      try {
        return await swallowing(request)
      } catch (error) {
        failures.push(error)
        throw error
      }
    }
    const server = await startPort(t, {
      http: telling,
      limits: { streamedBodyWindowMs: 200, streamedBodyWindowBytesMin: 100 },
    })
    const { socket, received } = await rawConnection(t, server.port)
    socket.write('PATCH / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n')
    const drip = setInterval(() => socket.write('x'), 20)
    t.after(() => clearInterval(drip))
    assert.match(await received, /^HTTP\/1\.1 408 /)
    assert.equal(failures.length, 1)
    assert.ok(limits.streamedBodyWindowBytesMin > 0 && limits.streamedBodyWindowMs > 0)
  })

  test('fail when their client goes away', async (t) => {
    const failed = Promise.withResolvers<unknown>()
    const server = await startPort(t, {
      http: (request) =>
        Promise.resolve(swallowing(request)).catch((error) => {
          failed.resolve(error)
          throw error
        }),
    })
    const { socket } = await rawConnection(t, server.port)
    socket.write('PATCH / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nxxx')
    await pause(50)
    socket.destroy()
    assert.match(String(await failed.promise), /the client went away/)
  })

  for (const version of ['HTTP/1.1', 'HTTP/2'] as const)
    test(`give a slow reader all that arrived before their client went away, over ${version}`, async (t) => {
      const sent = 60_000
      const ended = Promise.withResolvers<{ readonly bytes: number; readonly error: unknown }>()
      const begun = Promise.withResolvers<void>()
      const disconnected = Promise.withResolvers<void>()
      const server = await startPort(t, {
        http: async (request) => {
          let bytes = 0
          try {
            for await (const chunk of request.stream()) {
              bytes += chunk.length
              begun.resolve()
              await disconnected.promise
            }
          } catch (error) {
            ended.resolve({ bytes, error })
          }
          return { status: 200, headers: {}, body: undefined }
        },
      })
      const piece = Buffer.alloc(sent / 6)
      const send = async (write: (bytes: Buffer) => void) => {
        for (let at = 0; at < sent; at += piece.length) {
          write(piece)
          await pause(30)
        }
        await begun.promise
      }
      if (version === 'HTTP/1.1') {
        const { socket } = await rawConnection(t, server.port)
        socket.write('PATCH / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n')
        await send((bytes) => socket.write(bytes))
        socket.destroy()
      } else {
        const session = http2Session(t, server.url)
        session.on('error', () => undefined)
        const stream = session.request({ ':path': '/', ':method': 'PATCH' })
        stream.on('error', () => undefined)
        await send((bytes) => stream.write(bytes))
        stream.close(constants.NGHTTP2_CANCEL)
      }
      await pause(200)
      disconnected.resolve()
      const { bytes, error } = await ended.promise
      assert.match(String(error), /the client went away/)
      assert.equal(bytes, sent)
    })

  test('wait for a reader: what is not read stays with the client', async (t) => {
    let taken = 0
    const server = await startPort(t, {
      http: async (request) => {
        for await (const chunk of request.stream()) {
          taken += chunk.length
          await pause(400)
        }
        return { status: 200, headers: {}, body: undefined }
      },
    })
    const { socket } = await rawConnection(t, server.port)
    const total = 64 * 1024 * 1024
    socket.write(`PATCH / HTTP/1.1\r\nhost: a\r\ncontent-length: ${total}\r\n\r\n`)
    let sent = 0
    const chunk = Buffer.alloc(1024 * 1024)
    const pump = () => {
      while (sent < total && socket.write(chunk)) sent += chunk.length
    }
    socket.on('drain', pump)
    pump()
    await pause(600)
    assert.ok(taken > 0)
    assert.ok(sent < total / 2, `${sent} bytes left the client, ${taken} were taken`)
  })

  test('that are rejected half-way are answered, and the connection is not kept', async (t) => {
    const server = await startPort(t, {
      http: async (request) => {
        for await (const _ of request.stream()) break
        return { status: 403, headers: {}, body: 'no' }
      },
    })
    const { socket, received } = await rawConnection(t, server.port)
    socket.write(`PATCH / HTTP/1.1\r\nhost: a\r\ncontent-length: 10000000\r\n\r\n${'x'.repeat(1000)}`)
    const raw = await received
    assert.match(raw, /^HTTP\/1\.1 403 /)
    assert.match(raw, /connection: close/i)
  })

  test('that are rejected over HTTP/2 do not outrun the answer', async (t) => {
    const server = await startPort(t, { http: () => ({ status: 401, headers: {}, body: 'no' }) })
    const session = http2Session(t, server.url)
    for (let round = 0; round < 10; round++) {
      const stream = session.request({ ':path': '/', ':method': 'PATCH' })
      stream.on('error', () => {})
      stream.write(Buffer.alloc(1_000_000))
      const status = await new Promise((resolve) => {
        stream.on('response', (headers) => resolve(headers[':status']))
        stream.on('close', () => resolve('closed without an answer'))
      })
      assert.equal(status, 401)
      stream.close()
    }
  })

  test('start when they are requested', async (t) => {
    const server = await startPort(t, { http: swallowing })
    const { socket, until } = await rawConnection(t, server.port)
    socket.write('PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\nexpect: 100-continue\r\n\r\n')
    await until('100 Continue')
    socket.write('abc')
    assert.match(await until('"bytes":3'), /200 OK/)
  })
})

describe('bodies over HTTP/2 that are cut off', () => {
  const reading: Readonly<Record<string, (request: HttpRequest) => Promise<number>>> = {
    whole: async (request) => (await request.body(1_000_000)).length,
    streamed: async (request) => {
      let bytes = 0
      for await (const chunk of request.stream()) bytes += chunk.length
      return bytes
    },
  }
  const reset = (code: number) => rawFrame('reset', 0, 1, uint32(code))
  const cuts: Readonly<Record<string, (socket: Socket) => void>> = {
    'a reset that says CANCEL': (socket) => socket.write(reset(constants.NGHTTP2_CANCEL)),
    'a reset that says NO_ERROR': (socket) => socket.write(reset(constants.NGHTTP2_NO_ERROR)),
    'the end of the connection': (socket) => socket.destroy(),
  }
  for (const [how, read] of Object.entries(reading))
    for (const [what, cut] of Object.entries(cuts))
      test(`do not pass for complete ones: ${how}, by ${what}`, async (t) => {
        const started = Promise.withResolvers<void>()
        const ended = Promise.withResolvers<unknown>()
        const server = await startPort(t, {
          http: async (request) => {
            started.resolve()
            await read(request).then(ended.resolve, ended.resolve)
            return { status: 204, headers: {}, body: undefined }
          },
        })
        const { socket } = await rawHttp2(t, server.port)
        socket.write(
          Buffer.concat([
            rawFrame('headers', END_HEADERS, 1, postRoot),
            rawFrame('data', 0, 1, Buffer.from('half')),
          ]),
        )
        await started.promise
        cut(socket)
        const outcome = await ended.promise
        assert.ok(outcome instanceof ApiError && outcome.code === Code.CANCELLED, String(outcome))
      })
})
