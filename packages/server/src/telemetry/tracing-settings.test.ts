import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTracingSettings } from './tracing-settings.ts'

function read(env: Readonly<Record<string, string>>) {
  const problems: string[] = []
  return { settings: readTracingSettings(env, (sentence) => problems.push(sentence)), problems }
}

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

function urlOf(env: Readonly<Record<string, string>>): string | undefined {
  const { settings, problems } = read(env)
  assert.deepEqual(problems, [])
  return settings === undefined || settings.exporter === 'console' ? undefined : settings.exporter.url
}

test('tracing is off unless an endpoint or an exporter is set, and then no other variable is checked', () => {
  for (const env of [
    {},
    { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_PROTOCOL: 'nonsense' },
    { ...endpoint, OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'nonsense' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  ])
    assert.deepEqual(read(env), { settings: undefined, problems: [] })
})

test('the URL is the endpoint with the path of traces, or the one for traces as it is', () => {
  assert.equal(urlOf(endpoint), 'http://collector:4318/v1/traces')
  assert.equal(
    urlOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector/otlp/' }),
    'https://collector/otlp/v1/traces',
  )
  assert.equal(
    urlOf({ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://other:1/x' }),
    'http://other:1/x',
  )
  assert.equal(urlOf({ OTEL_TRACES_EXPORTER: 'otlp' }), 'http://localhost:4318/v1/traces')
  assert.equal(read({ OTEL_TRACES_EXPORTER: 'console' }).settings?.exporter, 'console')
})

test('variables for traces come before those for all signals; pairs are unescaped', () => {
  const { settings } = read({
    ...endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1, b=x%20y',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TIMEOUT: '5',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,k=v%3D',
    OTEL_SERVICE_NAME: 'mine',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  })
  assert.ok(settings !== undefined && settings.exporter !== 'console')
  const { headers, protocol, timeoutMs } = settings.exporter
  assert.deepEqual(
    { headers, protocol, timeoutMs },
    { headers: { a: '2', b: 'x y' }, protocol: 'http/json', timeoutMs: 5 },
  )
  assert.deepEqual(settings.resource, { 'service.name': 'mine', k: 'v=' })
  assert.deepEqual(settings.sampler, { kind: 'traceidratio', parentBased: true, ratio: 0.25 })
})

test('every wrong variable has a sentence that names it', () => {
  for (const [name, value] of Object.entries({
    OTEL_SDK_DISABLED: 'perhaps',
    OTEL_TRACES_EXPORTER: 'zipkin',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'nonsense',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: 'no-value',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1s',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'zip',
    OTEL_EXPORTER_OTLP_CLIENT_KEY: 'key.pem',
    OTEL_RESOURCE_ATTRIBUTES: 'a=%zz',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_PROPAGATORS: 'b3',
    OTEL_BSP_SCHEDULE_DELAY: '0',
    OTEL_BSP_EXPORT_TIMEOUT: '-1',
    OTEL_BSP_MAX_QUEUE_SIZE: 'many',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4096',
  })) {
    const { problems } = read({ ...endpoint, [name]: value })
    assert.equal(problems.length, 1, name)
    assert.ok(problems[0]?.includes(name), problems[0])
  }
})
