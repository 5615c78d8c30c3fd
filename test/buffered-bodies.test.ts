import assert from 'node:assert/strict'
import { constants } from 'node:http2'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { createGrpcHandler } from '@berth/server/gateway/grpc/handler.ts'
import { type BodyBudget, createBodyBudget } from '@berth/server/port/bodies/body-budget.ts'
import type { HttpHandler } from '@berth/server/port/http.ts'
import { eventually } from './support/eventually.ts'
import {
  http2Request,
  http2Session,
  type RawConnection,
  rawConnection,
  startPort,
} from './support/http/port.ts'

const MIB = 1024 * 1024

/** Replies with the number of bytes that came. */
const counting: HttpHandler = async (request) => ({
  status: 200,
  headers: {},
  body: String((await request.body(16 * MIB)).length),
})

const post = { ':path': '/', ':method': 'POST' }

describe('bodies that wait in memory', () => {
  test('R28: of one HTTP/2 connection stay within its budget, and the other requests on it continue', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 64 * MIB })
    const server = await startPort(t, { http: counting, budget })
    const session = http2Session(t, server.url)
    const first = session.request({ ...post, 'content-length': 3 * MIB + 1 })
    first.write(Buffer.alloc(3 * MIB))
    await eventually(() => budget.buffered === 3 * MIB)
    const refused = await http2Request(session, post, Buffer.alloc(2 * MIB))
    assert.equal(refused.status, 503)
    assert.equal(refused.headers['retry-after'], '1')
    const { code, details } = JSON.parse(refused.body.toString())
    assert.equal(code, 8)
    assert.equal(details[0].reason, 'BODY_BUDGET_EXHAUSTED')
    assert.equal(budget.buffered, 3 * MIB)

    assert.equal((await http2Request(session, post, Buffer.alloc(MIB / 2))).body.toString(), String(MIB / 2))
    assert.equal(await (await fetch(server.url, { method: 'POST', body: 'four' })).text(), '4')
    first.end('x')
    const chunks: Buffer[] = []
    for await (const chunk of first) chunks.push(chunk)
    assert.equal(Buffer.concat(chunks).toString(), String(3 * MIB + 1))
    await eventually(() => budget.buffered === 0)
  })

  test('R28: of 100 half-sent messages of 16 MiB stay within the budget, and are freed with their connection', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 64 * MIB })
    const server = await startPort(t, { http: counting, budget })
    const session = http2Session(t, server.url)
    const statuses: number[] = []
    for (let at = 0; at < 100; at++) {
      const stream = session.request({ ...post, 'content-length': 16 * MIB })
      stream.on('error', () => undefined)
      stream.on('response', (headers) => statuses.push(Number(headers[':status'])))
      stream.resume()
      stream.write(Buffer.alloc(64 * 1024))
    }
    await eventually(() => statuses.length >= 100 - 64)
    assert.deepEqual(new Set(statuses), new Set([503]))
    assert.ok(budget.buffered <= 4 * MIB)
    assert.equal(await (await fetch(server.url, { method: 'POST', body: 'four' })).text(), '4')
    session.destroy()
    await eventually(() => budget.buffered === 0)
  })

  test('R28: of many HTTP/1.1 connections stay within the budget of the process', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 8 * MIB })
    const server = await startPort(t, { http: counting, budget })
    const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${4 * MIB}\r\n\r\n`
    const attackers: RawConnection[] = []
    let refused = 0
    for (let at = 0; at < 10; at++) {
      const attacker = await rawConnection(t, server.port)
      attackers.push(attacker)
      attacker.socket.write(head)
      attacker.socket.write(Buffer.alloc(3 * MIB))
      void attacker.until('BODY_BUDGET_EXHAUSTED').then(
        (text) => {
          assert.match(text, /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/s)
          refused += 1
        },
        () => undefined,
      )
    }
    await eventually(() => refused >= 8)
    assert.ok(budget.buffered <= 8 * MIB)
    assert.equal(await (await fetch(server.url, { method: 'POST', body: 'four' })).text(), '4')
    for (const { socket } of attackers) socket.destroy()
    await eventually(() => budget.buffered === 0)
  })

  test('R28: of clients that go away before they are read fail, whatever the version of HTTP', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 8 * MIB })
    const gone = Promise.withResolvers<void>()
    const codes: unknown[] = []
    let requests = 0
    let closed = 0
    const server = await startPort(t, {
      budget,
      http: async (request) => {
        if (request.url === '/later') return { status: 200, headers: {}, body: undefined }
        requests += 1
        await gone.promise
        await request.body(MIB).catch((error) => codes.push(error.code))
        return { status: 200, headers: {}, body: undefined }
      },
    })
    const one = await rawConnection(t, server.port)
    one.socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nhalf')
    const session = http2Session(t, server.url)
    const two = session.request({ ...post, 'content-length': 1000, expect: '100-continue' })
    two.on('error', () => undefined)
    two.on('close', () => (closed += 1))
    two.write('half')
    await eventually(() => requests === 2)
    one.socket.on('close', () => (closed += 1))
    one.socket.resetAndDestroy()
    two.close(constants.NGHTTP2_CANCEL)
    await eventually(() => closed === 2)
    // The server has noticed once it has read a later request.
    await http2Request(session, { ...post, ':path': '/later' }, Buffer.from(''))
    gone.resolve()
    await eventually(() => codes.length === 2)
    assert.deepEqual(codes, [1, 1])
    assert.equal(budget.buffered, 0)
  })

  test('R28: of compressed gRPC messages are freed when the call ends while they are unpacked', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 64 * MIB })
    let peak = 0
    const watched: BodyBudget = {
      open(connection) {
        const body = budget.open(connection)
        return {
          ...body,
          grow(bytes) {
            body.grow(bytes)
            peak = Math.max(peak, budget.buffered)
          },
        }
      },
      get buffered() {
        return budget.buffered
      },
    }
    const grpc = createGrpcHandler({
      authorizeHeaders: () => () => Promise.reject(new Error('zeros are no message')),
      services: [GroupsService],
      errorDomain: 'test.example',
      log: { error() {}, debug() {} },
      budget: watched,
    })
    const server = await startPort(t, { grpc })
    const message = encodeFrame(gzipSync(Buffer.alloc(MIB)), true)
    const path = `/${GroupsService.typeName}/GetGroup`
    for (let at = 0; at < 20; at++) {
      const session = http2Session(t, server.url)
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        'grpc-encoding': 'gzip',
        // Ends the call in any of its phases.
        'grpc-timeout': `${at}m`,
      })
      stream.on('error', () => undefined)
      stream.end(message)
      await new Promise((resolve) => stream.resume().on('close', resolve))
      session.close()
    }
    assert.ok(peak > message.length, 'some were being unpacked')
    await eventually(() => budget.buffered === 0)
  })

  test('R28: behind a request that runs are freed with their connection', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 8 * MIB })
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let running = 0
    const server = await startPort(t, {
      budget,
      http: async (request) => {
        running += 1
        if (request.method === 'GET') await released
        return counting(request)
      },
    })
    const one = await rawConnection(t, server.port)
    one.socket.write(
      'GET / HTTP/1.1\r\nhost: a\r\n\r\nPOST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nfour',
    )
    await eventually(() => running > 0)
    const closed = new Promise((resolve) => one.socket.on('close', resolve))
    one.socket.resetAndDestroy()
    await closed
    release()
    assert.equal(await (await fetch(server.url, { method: 'POST', body: 'four' })).text(), '4')
    await eventually(() => budget.buffered === 0)
    assert.equal(running, 2, 'a request whose client is gone does not run')
  })

  test('R28: are freed when they do not arrive in time', async (t) => {
    const budget = createBodyBudget({ perConnectionMax: 4 * MIB, totalMax: 8 * MIB })
    const server = await startPort(t, { http: counting, budget, limits: { requestTimeoutMs: 3000 } })
    const one = await rawConnection(t, server.port)
    one.socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nhalf')
    const two = http2Session(t, server.url).request({ ...post, 'content-length': 1000 })
    const status = new Promise((resolve) => two.on('response', (head) => resolve(head[':status'])))
    two.write('half')
    await eventually(() => budget.buffered === 8)
    assert.equal(await status, 408)
    assert.match(await one.received, /^HTTP\/1\.1 408 /)
    await eventually(() => budget.buffered === 0)
  })
})
