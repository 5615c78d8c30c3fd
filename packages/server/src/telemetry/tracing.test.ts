import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ApiError, Code } from '../api/errors.ts'
import { limits } from '../config/limits.ts'
import { spanOver } from '../runtime/tracer.ts'
import { openTracing, tracedLog } from './tracing.ts'
import { readTracingSettings } from './tracing-settings.ts'

const quiet = { error() {}, warn() {}, info() {}, debug() {} }

/** Traces that are exported to a server of this process as OTLP/JSON. */
async function tracing(t: { after(work: () => void): void }, targets: readonly string[] = []) {
  // biome-ignore lint/suspicious/noExplicitAny: assertions on JSON read better without a type for every shape
  const spans: any[] = []
  const server = createServer((request, response) => {
    void request.toArray().then((pieces) => {
      for (const { scopeSpans } of JSON.parse(Buffer.concat(pieces).toString()).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans)
      response.end('{}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const settings = readTracingSettings(
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    },
    assert.fail,
  )
  assert.ok(settings)
  return { opened: await openTracing(settings, { version: '1', targets, log: quiet }), spans }
}

test('log lines of a request name its trace and span, others name none', async (t) => {
  const { opened } = await tracing(t)
  const lines: object[] = []
  const log = tracedLog({ ...quiet, warn: (fields) => lines.push(fields) }, opened)
  const request = opened.startRequestSpan('GET', {})
  log.warn({ a: 1 }, 'outside')
  await request.run(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    log.warn({ a: 2 }, 'inside')
  })
  await opened.stop()
  const [outside, inside] = lines as { a: number; trace_id?: string; span_id?: string }[]
  assert.deepEqual(outside, { a: 1 })
  assert.equal(inside?.trace_id, request.traceId)
  assert.match(inside?.span_id ?? '', /^[0-9a-f]{16}$/)
})

test('trace headers go to listed origins only', async (t) => {
  const { opened } = await tracing(t, ['https://listed.example'])
  const request = opened.startRequestSpan('GET', {})
  request.run(() =>
    opened.span('GET', { kind: 'client' }, (span) => {
      assert.ok(span.headersFor('https://listed.example')['traceparent']?.includes(request.traceId))
      assert.deepEqual(span.headersFor('https://other.example'), {})
    }),
  )
  await opened.stop()
})

test('spans of work that fails have the kind of the failure without its message, and long values are cut', async (t) => {
  const { opened, spans } = await tracing(t)
  const request = opened.startRequestSpan('GET', {})
  await request.run(async () => {
    await assert.rejects(
      opened.span('a', { attributes: { long: 'x'.repeat(1000) } }, async () => {
        throw new ApiError(Code.UNAVAILABLE, 'mail@example.com')
      }),
    )
    const failing = async function* () {
      yield 1
      throw Object.assign(new Error('mail@example.com'), { code: 'ENOSPC' })
    }
    const iterated = spanOver(opened, 'b', {}, failing())
    assert.equal((await iterated.next()).value, 1)
    await assert.rejects(iterated.next())
  })
  await opened.stop()
  const [a, b] = spans
  const attributes = (span: typeof a) =>
    Object.fromEntries(
      span.attributes.map(({ key, value }: { key: string; value: { stringValue: string } }) => [
        key,
        value.stringValue,
      ]),
    )
  assert.deepEqual(attributes(a), {
    long: 'x'.repeat(limits.spanAttributeCharsMax),
    'error.type': 'UNAVAILABLE',
  })
  assert.deepEqual(attributes(b), { 'error.type': 'ENOSPC' })
  assert.doesNotMatch(JSON.stringify(spans), /mail@example/)
})

test('work outside of a recorded trace has no span', async (t) => {
  const { opened, spans } = await tracing(t)
  opened.span('nothing', {}, () => undefined)
  await opened.job('job', async () => opened.span('inside', {}, () => undefined))
  await opened.stop()
  assert.deepEqual(spans.map(({ name }: { name: string }) => name).sort(), ['inside', 'job'])
})
