import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createUnreadReplies } from '@berth/server/port/bodies/unread-replies.ts'
import { eventually } from './support/eventually.ts'
import { selfSignedCertificate } from './support/http/certificate.ts'
import { http2Request, http2Session, rawConnection, startPort } from './support/http/port.ts'

const body = (raw: string) => JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4))
const reasonOf = (error: { details: { reason: string }[] }) => error.details[0]?.reason

describe('one port', () => {
  test('answers HTTP/1.1 and HTTP/2 on the same port', async (t) => {
    const server = await startPort(t)
    const first = await fetch(`${server.url}/a?b=c`)
    assert.equal(first.status, 200)
    assert.deepEqual(await first.json(), { method: 'GET', url: '/a?b=c' })
    const second = await http2Request(http2Session(t, server.url), { ':path': '/a?b=c' })
    assert.equal(second.status, 200)
    assert.deepEqual(JSON.parse(second.body.toString()), { method: 'GET', url: '/a?b=c' })
    assert.match(String(second.headers['x-request-id']), /^[0-9a-z]+-[0-9a-z]+$/)
    assert.notEqual(second.headers['x-request-id'], first.headers.get('x-request-id'))
  })

  test('distinguishes HTTP/2 from HTTP/1 when bytes arrive one by one', async (t) => {
    const server = await startPort(t)
    const one = await rawConnection(t, server.port)
    for (const char of 'PROPFIND / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n') {
      one.socket.write(char)
      await new Promise(setImmediate)
    }
    assert.deepEqual(body(await one.received), { method: 'PROPFIND', url: '/' })
    const two = await rawConnection(t, server.port)
    const settings = '\0\0\0\x04\0\0\0\0\0'
    for (const char of `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings}`) {
      two.socket.write(char, 'latin1')
      await new Promise(setImmediate)
    }
    const acknowledged = '\0\0\0\x04\x01\0\0\0\0'
    assert.ok((await two.until(acknowledged)).includes(acknowledged))
  })

  test('closes a connection that sends nothing, or only the start of a preface', async (t) => {
    const server = await startPort(t, { limits: { protocolTimeoutMs: 100 } })
    const silent = await rawConnection(t, server.port)
    const shy = await rawConnection(t, server.port)
    shy.socket.write('PR')
    assert.equal(await silent.received, '')
    assert.equal(await shy.received, '')
  })

  test('closes a connection that ends before it said anything', async (t) => {
    const server = await startPort(t)
    const connection = await rawConnection(t, server.port)
    connection.socket.end()
    assert.equal(await connection.received, '')
  })

  test('answers a client that closed its sending half', async (t) => {
    const server = await startPort(t)
    const connection = await rawConnection(t, server.port)
    connection.socket.end('GET /x HTTP/1.1\r\nhost: a\r\n\r\n')
    assert.match(await connection.received, /^HTTP\/1.1 200 OK/)
  })

  test('rejects when the address is taken', async (t) => {
    const server = await startPort(t)
    await assert.rejects(startPort(t, { port: server.port }), { code: 'EADDRINUSE' })
  })

  test('survives clients that reset their connections', async (t) => {
    const server = await startPort(t)
    for (const start of [
      '',
      'PRI',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'POST / HTTP/1.1\r\ncontent-length: 9\r\n',
    ]) {
      const connection = await rawConnection(t, server.port)
      connection.socket.write(start)
      await new Promise((resolve) => setTimeout(resolve, 20))
      connection.socket.resetAndDestroy()
    }
    assert.equal((await fetch(server.url)).status, 200)
  })
})

describe('TLS', () => {
  const tls = selfSignedCertificate()

  test('offers HTTP/2 and HTTP/1.1 by ALPN on the same port', async (t) => {
    const server = await startPort(t, { tls })
    assert.match(server.url, /^https:/)
    const session = http2Session(t, server.url, { ca: tls.cert })
    const reply = await http2Request(session, { ':path': '/two' })
    assert.equal(session.alpnProtocol, 'h2')
    assert.deepEqual(JSON.parse(reply.body.toString()), { method: 'GET', url: '/two' })
    const text = await new Promise<string>((resolve, reject) => {
      const req = httpsRequest(`${server.url}/one`, { ca: tls.cert, agent: false }, (res) => {
        res.setEncoding('utf8')
        res.on('data', resolve)
      })
      req.on('error', reject)
      req.end()
    })
    assert.deepEqual(JSON.parse(text), { method: 'GET', url: '/one' })
  })

  test('closes a connection that does not shake hands', async (t) => {
    const server = await startPort(t, { tls, limits: { protocolTimeoutMs: 3000 } })
    const plain = await rawConnection(t, server.port)
    plain.socket.write('GET / HTTP/1.1\r\n\r\n')
    await plain.received
    const silent = await rawConnection(t, server.port)
    assert.equal(await silent.received, '')
    assert.equal(
      (await http2Request(http2Session(t, server.url, { ca: tls.cert }), { ':path': '/' })).status,
      200,
    )
  })

  test('closes a connection whose handshake takes too long, also if it sends a byte now and then', async (t) => {
    const protocolTimeoutMs = 400
    const server = await startPort(t, { tls, limits: { protocolTimeoutMs } })
    const { socket } = await rawConnection(t, server.port)
    // The header of a record of 512 bytes with a ClientHello (RFC 8446, section 5.1), and its content.
    const record = Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 0, 0, 0, 0, 0])
    for (const byte of record) {
      socket.write(Buffer.of(byte))
      await pause(protocolTimeoutMs / 4)
    }
    assert.ok(socket.closed)
  })
})

describe('replies', () => {
  test('HEAD gets the headers of GET and no body', async (t) => {
    const server = await startPort(t)
    const length = JSON.stringify({ method: 'GET', url: '/' }).length
    const first = await fetch(server.url, { method: 'HEAD' })
    assert.equal(first.headers.get('content-length'), String(length))
    assert.equal(await first.text(), '')
    const second = await http2Request(http2Session(t, server.url), { ':path': '/', ':method': 'HEAD' })
    assert.equal(second.headers['content-length'], String(length))
    assert.equal(second.body.length, 0)
  })

  test('a reply without a body says so', async (t) => {
    const server = await startPort(t, { http: () => ({ status: 200, headers: {}, body: undefined }) })
    const first = await fetch(server.url, { method: 'DELETE' })
    assert.equal(first.headers.get('content-length'), '0')
    const second = await http2Request(http2Session(t, server.url), { ':path': '/' })
    assert.equal(second.headers['content-length'], '0')
  })

  test('204 carries no content-length', async (t) => {
    const server = await startPort(t, { http: () => ({ status: 204, headers: {}, body: undefined }) })
    assert.equal((await fetch(server.url)).headers.get('content-length'), null)
    const reply = await http2Request(http2Session(t, server.url), { ':path': '/' })
    assert.equal(reply.status, 204)
    assert.equal(reply.headers['content-length'], undefined)
  })

  for (const [kind, http] of [
    [
      'throws',
      () => {
        throw new Error('secret /etc/passwd')
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret /etc/passwd'))],
    ['sends an impossible header', () => ({ status: 200, headers: { a: 'b\r\nc: d' }, body: 'x' })],
  ] as const) {
    test(`a handler that ${kind} is an internal error that reveals only the request id`, async (t) => {
      const server = await startPort(t, { http })
      const first = await fetch(server.url)
      const second = await http2Request(http2Session(t, server.url), { ':path': '/' })
      for (const [status, text, id] of [
        [first.status, await first.text(), first.headers.get('x-request-id')],
        [second.status, second.body.toString(), second.headers['x-request-id']],
      ] as const) {
        assert.equal(status, 500)
        const error = JSON.parse(text)
        assert.equal(error.code, 13)
        assert.ok(error.message.includes(id))
        assert.doesNotMatch(text, /secret|passwd|\.ts/)
      }
      assert.equal(server.log.errors.length, 2)
    })
  }

  test('requests that follow each other on one connection are answered in order', async (t) => {
    const server = await startPort(t, {
      http: async ({ url }) => {
        await new Promise((resolve) => setTimeout(resolve, url === '/slow' ? 50 : 0))
        return { status: 200, headers: {}, body: url }
      },
    })
    const connection = await rawConnection(t, server.port)
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
    connection.socket.write(get('/slow') + get('http://elsewhere/fast'))
    const text = await connection.until('/fast')
    assert.ok(text.indexOf('/slow') < text.indexOf('/fast'))
  })

  test('gRPC over HTTP/1 is rejected with a hint to HTTP/2', async (t) => {
    const server = await startPort(t)
    const reply = await fetch(server.url, { method: 'POST', headers: { 'content-type': 'application/grpc' } })
    assert.equal(reply.status, 505)
    const error = (await reply.json()) as { code: number; details: { reason: string }[] }
    assert.equal(error.code, 12)
    assert.equal(reasonOf(error), 'GRPC_NEEDS_HTTP2')
  })
})

describe('bodies', () => {
  const http = async (request: { body(max: number): Promise<Uint8Array> }) => ({
    status: 200,
    headers: {},
    body: String((await request.body(1000)).length),
  })

  test('arrive whole over both versions', async (t) => {
    const server = await startPort(t, { http })
    const first = await fetch(server.url, { method: 'POST', body: 'x'.repeat(1000) })
    assert.equal(await first.text(), '1000')
    const session = http2Session(t, server.url)
    const second = await http2Request(session, { ':path': '/', ':method': 'POST' }, 'x'.repeat(1000))
    assert.equal(second.body.toString(), '1000')
    const none = await http2Request(session, { ':path': '/', ':method': 'POST' })
    assert.equal(none.body.toString(), '0')
    assert.equal(await (await fetch(server.url)).text(), '0')
  })

  test('above the limit are rejected with 413, and HTTP/2 stays usable', async (t) => {
    const server = await startPort(t, { http })
    const session = http2Session(t, server.url)
    for (const size of [1001, 300_000]) {
      const text = 'x'.repeat(size)
      const declared = await fetch(server.url, { method: 'POST', body: text })
      const chunked = await fetch(server.url, {
        method: 'POST',
        body: new Blob([text]).stream(),
        duplex: 'half',
      } as RequestInit)
      const second = await http2Request(session, { ':path': '/', ':method': 'POST' }, text)
      for (const [status, error] of [
        [declared.status, await declared.json()],
        [chunked.status, await chunked.json()],
        [second.status, JSON.parse(second.body.toString())],
      ] as const) {
        assert.equal(status, 413)
        assert.equal(error.code, 3)
        assert.equal(reasonOf(error), 'BODY_TOO_LARGE')
      }
    }
    const after = await http2Request(session, { ':path': '/', ':method': 'POST' }, 'fine')
    assert.equal(after.body.toString(), '4')
  })

  test('that are rejected: a client that reads nothing of the response is cut off (stalledReplyMs)', async (t) => {
    const unread = createUnreadReplies()
    const response = Buffer.alloc(16 * 1024 * 1024)
    const server = await startPort(t, {
      http: async (request) => {
        await assert.rejects(request.body(10))
        return { status: 413, headers: {}, body: response }
      },
      unread,
      limits: { stalledReplyMs: 100 },
    })
    const one = await rawConnection(t, server.port)
    one.socket.pause()
    one.socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx')
    await eventually(() => unread.bytes > 0, Boolean, { pollMs: 1 })
    await eventually(() => unread.bytes === 0)
    one.socket.resume()
    assert.ok((await one.received).length < response.length)
  })

  test('that are rejected: an empty response is sent before the rest of the request arrives', async (t) => {
    const server = await startPort(t, {
      http: async (request) => {
        await assert.rejects(request.body(10))
        return { status: 413, headers: {}, body: '' }
      },
    })
    const { socket, until, received } = await rawConnection(t, server.port)
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nx')
    assert.match(await until('\r\n\r\n'), /^HTTP\/1\.1 413 /)
    // At the end of lingerMs, the head and the end would arrive together.
    await pause(50)
    assert.equal(socket.readableEnded, false)
    socket.write('x'.repeat(999))
    await received
  })

  test('a client that waits for 100 Continue gets it when the body is wanted', async (t) => {
    const server = await startPort(t, { http })
    const send = (length: number) =>
      new Promise<{ status: number | undefined; continued: boolean }>((resolve, reject) => {
        let continued = false
        const headers = { expect: '100-continue', 'content-length': length }
        const req = httpRequest(server.url, { method: 'POST', headers, agent: false }, (res) => {
          res.resume()
          resolve({ status: res.statusCode, continued })
        })
        req.on('continue', () => {
          continued = true
          req.end('x'.repeat(length))
        })
        req.on('error', reject)
        req.flushHeaders()
      })
    assert.deepEqual(await send(10), { status: 200, continued: true })
    assert.deepEqual(await send(1001), { status: 413, continued: false })
  })

  test('a body that is not read does not disturb the next request', async (t) => {
    const server = await startPort(t)
    const connection = await rawConnection(t, server.port)
    connection.socket.write('POST /1 HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\n0123456789')
    await connection.until('/1')
    connection.socket.write('0123456789GET /2 HTTP/1.1\r\nhost: a\r\n\r\n')
    await connection.until('/2')
  })

  test('that do not arrive in time are rejected with 408', async (t) => {
    const server = await startPort(t, { http, limits: { requestTimeoutMs: 100 } })
    const connection = await rawConnection(t, server.port)
    connection.socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n\r\n01')
    const text = await connection.received
    assert.match(text, /^HTTP\/1.1 408 /)
    assert.equal(body(text).code, 4)
    const stream = http2Session(t, server.url).request({ ':path': '/', ':method': 'POST' })
    stream.write('01')
    const status = await new Promise((resolve) => stream.on('response', (head) => resolve(head[':status'])))
    assert.equal(status, 408)
  })
})

describe('requests that are rejected', () => {
  for (const [kind, text] of [
    ['garbage', 'hello, is this HTTP?\r\n\r\n'],
    ['a bad header', 'GET / HTTP/1.1\r\nhost: a\r\nb ad: c\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
  ] as const) {
    test(`${kind} gets 400 with the error body, and the connection is closed`, async (t) => {
      const server = await startPort(t)
      const connection = await rawConnection(t, server.port)
      connection.socket.write(text)
      const reply = await connection.received
      assert.match(reply, /^HTTP\/1.1 400 Bad Request\r\n/)
      assert.equal(body(reply).code, 3)
      assert.equal(reasonOf(body(reply)), 'MALFORMED_REQUEST')
    })
  }

  test('headers above the limit get 431', async (t) => {
    const server = await startPort(t)
    const connection = await rawConnection(t, server.port)
    connection.socket.write(`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`)
    const reply = await connection.received
    assert.match(reply, /^HTTP\/1.1 431 /)
    assert.equal(body(reply).code, 3)
    const session = http2Session(t, server.url)
    await new Promise((resolve) => session.on('remoteSettings', resolve))
    const refused = await http2Request(session, { ':path': '/', x: 'y'.repeat(40_000) }).catch(
      () => undefined,
    )
    assert.notEqual(refused?.status, 200)
    const large = await http2Request(http2Session(t, server.url), { ':path': '/', x: 'y'.repeat(20_000) })
    assert.equal(large.status, 200)
    const large1 = await fetch(server.url, { headers: { x: 'y'.repeat(20_000) } })
    assert.equal(large1.status, 200)
  })

  test('headers that do not arrive in time get 408', async (t) => {
    const server = await startPort(t, { limits: { headersTimeoutMs: 100 } })
    const connection = await rawConnection(t, server.port)
    connection.socket.write('GET / HTTP/1.1\r\nhost:')
    const reply = await connection.received
    assert.match(reply, /^HTTP\/1.1 408 /)
    assert.equal(body(reply).code, 4)
  })

  test('a broken HTTP/2 frame ends the session, not the server', async (t) => {
    const server = await startPort(t)
    const connection = await rawConnection(t, server.port)
    connection.socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense that is no frame')
    await connection.received
    assert.equal((await fetch(server.url)).status, 200)
  })
})

describe('idle connections', () => {
  test('of HTTP/1 are closed after a while', async (t) => {
    const server = await startPort(t, { limits: { idleConnectionMs: 100 } })
    const connection = await rawConnection(t, server.port)
    connection.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    assert.match(await connection.received, /connection: keep-alive/i)
  })

  test('of HTTP/2 are closed after a while, pings or not', async (t) => {
    const server = await startPort(t, { limits: { idleConnectionMs: 100 } })
    const session = http2Session(t, server.url)
    await http2Request(session, { ':path': '/' })
    const pings = setInterval(() => session.closed || session.destroyed || session.ping(() => undefined), 20)
    t.after(() => clearInterval(pings))
    await new Promise((resolve) => session.on('close', resolve))
  })

  test('of HTTP/2 are cut off when the client does not close its side', async (t) => {
    const server = await startPort(t, { limits: { idleConnectionMs: 50 } })
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.resume()
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1')
    const cutOff = new Promise((resolve) => socket.on('close', resolve))
    const ping = Buffer.from('\0\0\x08\x06\0\0\0\0\0pingping', 'latin1')
    const pings = setInterval(() => socket.write(ping), 20)
    t.after(() => clearInterval(pings))
    await cutOff
  })

  test('HTTP/2 with an open stream is not idle', async (t) => {
    let release = () => {}
    const waiting = new Promise<void>((resolve) => {
      release = resolve
    })
    const server = await startPort(t, {
      limits: { idleConnectionMs: 500 },
      http: async () => {
        await waiting
        return { status: 200, headers: {}, body: 'late' }
      },
    })
    const reply = http2Request(http2Session(t, server.url), { ':path': '/' })
    setTimeout(release, 1500)
    assert.equal((await reply).body.toString(), 'late')
  })
})

test('a connection has at most as many streams as the limit says', async (t) => {
  const server = await startPort(t, { limits: { concurrentStreamsMax: 7 } })
  const session = http2Session(t, server.url)
  await new Promise((resolve) => session.on('remoteSettings', resolve))
  assert.equal(session.remoteSettings.maxConcurrentStreams, 7)
})

describe('stop', () => {
  test('lets running requests finish and asks for the connection to be closed', async (t) => {
    const finish = Promise.withResolvers<void>()
    let running = 0
    const slow = async () => {
      running += 1
      await finish.promise
      return { status: 200, headers: {}, body: 'done' }
    }
    const server = await startPort(t, { http: slow, limits: { stopGraceMs: 5000 } })
    const first = await rawConnection(t, server.port)
    first.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    const second = http2Request(http2Session(t, server.url), { ':path': '/' })
    await eventually(() => running === 2)
    const stopped = server.stop()
    finish.resolve()
    const text = await first.received
    assert.match(text, /connection: close/i)
    assert.match(text, /done$/)
    assert.equal((await second).body.toString(), 'done')
    await stopped
    await assert.rejects(fetch(server.url))
  })

  test('closes idle and undecided connections immediately', async (t) => {
    const server = await startPort(t, { limits: { stopGraceMs: 60_000 } })
    const silent = await rawConnection(t, server.port)
    const idle = await rawConnection(t, server.port)
    idle.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await idle.until('"url"')
    const session = http2Session(t, server.url)
    await http2Request(session, { ':path': '/' })
    await server.stop()
    await Promise.all([silent.received, idle.received])
  })

  test('gives up on requests that do not finish', async (t) => {
    let running = 0
    const never = () => {
      running += 1
      return new Promise<never>(() => {})
    }
    const server = await startPort(t, { http: never, limits: { stopGraceMs: 100 } })
    const first = await rawConnection(t, server.port)
    first.socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    const second = http2Request(http2Session(t, server.url), { ':path': '/' }).catch(() => 'gone')
    await eventually(() => running === 2)
    await Promise.all([server.stop(), server.stop()])
    assert.equal(await first.received, '')
    await second
  })

  test('frees the port', async (t) => {
    const server = await startPort(t)
    await server.stop()
    const again = await startPort(t, { port: server.port })
    assert.equal((await fetch(again.url)).status, 200)
  })
})
