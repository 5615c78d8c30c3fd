import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextIteration, setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { startPort } from '../../../../test/support/http/port.ts'
import type {
  ReceivedReply,
  ReceivedText,
  WaitingClientData,
} from '../../../../test/support/http/waiting-client.ts'
import type { HttpHandler, HttpRequest } from './http.ts'

const LIMIT_MS = 2000
/** More than the system buffers. */
const REPLY_BYTES = 32 * 1024 * 1024
/** Of a body that a client sends. */
const BODY_BYTES = 100_000

/** Returns what a client receives that continues to send or read while the server stands still for longer than its limits. */
async function receivedAfterStandstill(
  t: TestContext,
  http: HttpHandler,
  client: Pick<WaitingClientData, 'version' | 'stop'>,
  afterMs = LIMIT_MS / 5,
): Promise<ReceivedReply | ReceivedText> {
  const started = Promise.withResolvers<void>()
  const server = await startPort(t, {
    http: (request) => {
      started.resolve()
      return http(request)
    },
    limits: {
      stalledReplyMs: LIMIT_MS,
      streamedBodyWindowMs: LIMIT_MS,
      headersTimeoutMs: LIMIT_MS,
      requestTimeoutMs: LIMIT_MS,
      protocolTimeoutMs: LIMIT_MS,
    },
  })
  const worker = new Worker(new URL('../../../../test/support/http/waiting-client.ts', import.meta.url), {
    workerData: { url: server.url, bodyBytes: BODY_BYTES, ...client },
  })
  t.after(() => worker.terminate())
  const received = once(worker, 'message')
  if (client.stop === 'connected' || client.stop === 'headers') await once(worker, 'online')
  else await started.promise
  // Until the client has stopped, and what it does not read fills the buffers of the system.
  await pause(afterMs)
  // After an immediate, timers fire before anything is read.
  await nextIteration()
  worker.postMessage('continue')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LIMIT_MS + 500)
  return (await received)[0]
}

async function* largeStream() {
  for (let left = REPLY_BYTES; left > 0; left -= 2 ** 20) yield new Uint8Array(2 ** 20)
}

describe('a client is not cut off because the server itself stood still', () => {
  const whole = { status: 200, bytes: REPLY_BYTES, isWhole: true }
  const sent = { ...whole, bytes: BODY_BYTES }
  for (const version of ['1.1', '2'] as const)
    test(`while it reads a streamed reply (stalledReplyMs, HTTP/${version})`, async (t) => {
      const http = () => ({ status: 200, headers: {}, body: largeStream() })
      assert.deepEqual(await receivedAfterStandstill(t, http, { version, stop: 'reading' }), whole)
    })

  test('while it reads a whole reply (stalledReplyMs)', async (t) => {
    const http = () => ({ status: 200, headers: {}, body: new Uint8Array(REPLY_BYTES) })
    assert.deepEqual(await receivedAfterStandstill(t, http, { version: '1.1', stop: 'reading' }), whole)
  })

  for (const part of [0.2, 0.85])
    test(`while it sends a streamed body (streamedBodyWindowMs), after ${part} of the limit`, async (t) => {
      const http = async (request: HttpRequest) => {
        const chunks: Uint8Array[] = []
        for await (const chunk of request.stream()) chunks.push(chunk)
        return { status: 200, headers: {}, body: Buffer.concat(chunks) }
      }
      const client = { version: '1.1', stop: 'sending' } as const
      assert.deepEqual(await receivedAfterStandstill(t, http, client, part * LIMIT_MS), sent)
    })

  for (const version of ['1.1', '2'] as const)
    test(`while it sends a whole body (requestTimeoutMs, HTTP/${version})`, async (t) => {
      const http = async (request: HttpRequest) => {
        return { status: 200, headers: {}, body: await request.body(BODY_BYTES) }
      }
      assert.deepEqual(await receivedAfterStandstill(t, http, { version, stop: 'sending' }), sent)
    })

  for (const [when, stop] of [
    ['before its first bytes (protocolTimeoutMs)', 'connected'],
    ['while it sends headers (headersTimeoutMs)', 'headers'],
  ] as const)
    test(when, async (t) => {
      const http = () => ({ status: 200, headers: {}, body: 'served' })
      const received = await receivedAfterStandstill(t, http, { version: '1.1', stop })
      assert.ok('text' in received)
      assert.match(received.text, /^HTTP\/1\.1 200 .*served$/s)
    })
})
