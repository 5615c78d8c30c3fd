import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { freePort } from '../scripts/free-port.ts'
import { grpcClient } from './support/api/grpc.ts'
import { call } from './support/api/rest.ts'
import { databases } from './support/database/databases.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { type OtlpCollector, type ReceivedSpan, startCollector } from './support/http/otlp-collector.ts'
import { startFaultyS3Proxy } from './support/registry/faulty-s3-proxy.ts'
import { ociClient, pushImage, testImage } from './support/registry/registry.ts'
import { startS3, withoutS3 } from './support/registry/s3.ts'
import {
  type Cleanup,
  type Environment,
  runBerth,
  serveBerth,
  temporaryDirectory,
} from './support/server/process.ts'
import { exchange } from './support/tokens/exchange.ts'
import { SUBJECT, startIssuer } from './support/tokens/issuer.ts'

/** Traces of a server process, as a collector receives them over OTLP. */

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const quick = { OTEL_BSP_SCHEDULE_DELAY: '50' }

async function tracedServer(t: Cleanup, collector: Pick<OtlpCollector, 'url'>, env: Environment = {}) {
  const places = { BERTH_DATA_DIR: temporaryDirectory(t), ...env }
  const serving = await serveBerth(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...quick, ...places }, [
    '--dev',
  ])
  const { stdout } = await runBerth(t, ['admin', 'bootstrap', '--name', 'trace-org', '--json'], places)
  const { organization, identity, token } = JSON.parse(stdout)
  const registry = await runBerth(t, ['admin', 'token', '--audience', new URL(serving.url).host], places)
  return {
    ...serving,
    organization: organization.uid as string,
    identity: identity.uid as string,
    token: token as string,
    registryToken: registry.stdout.trim(),
  }
}

const server = (spans: readonly ReceivedSpan[], name: string) =>
  spans.filter((span) => span.kind === 2 && span.name === name)
const childrenOf = (spans: readonly ReceivedSpan[], { spanId }: Pick<ReceivedSpan, 'spanId'>) =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId)

for (const engine of ['sqlite', 'postgres'] as const)
  test(`traces REST, gRPC, registry and token requests with their statements, blobs and outbound requests, and none of their secrets (${engine})`, {
    skip:
      (!databases.some(({ name }) => name === engine) && 'not among BERTH_TEST_DATABASES') ||
      (engine === 'postgres' && withoutPostgres),
  }, async (t) => {
    const collector = await startCollector(t)
    const berth = await tracedServer(t, collector, {
      ...(engine === 'postgres' && { BERTH_DATABASE_URL: (await startPostgres(t)).url }),
      OTEL_SERVICE_NAME: 'berth-test',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%2Cb',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=collector%20secret',
    })
    const { url, token, registryToken, organization } = berth
    const groups = `${url}/iam/v2beta1/groups`
    const groupName = `group-${randomBytes(4).toString('hex')}`

    const created = await call('POST', `${groups}/${organization}`, {
      token,
      body: { name: groupName, description: 'mail to someone@example.com' },
      headers: { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=value' },
    })
    assert.equal(created.status, 200)
    const grpc = grpcClient(url)
    t.after(() => grpc.close())
    const grpcTrace = randomBytes(16).toString('hex')
    await grpc.call(
      GroupsService.method.getGroup,
      { uid: created.body.uid },
      {
        token,
        metadata: { traceparent: `00-${grpcTrace}-${PARENT}-01` },
      },
    )
    await assert.rejects(
      grpc.call(GroupsService.method.getGroup, { uid: created.body.uid }, { token: 'wrong-token' }),
    )

    const oci = ociClient({ url }, `Bearer ${registryToken}`)
    const repo = `${organization}/repo-${randomBytes(4).toString('hex')}`
    const image = await pushImage(oci, repo, testImage(), 'secret-tag')
    const pulled = await oci.request(
      'GET',
      `${repo}/blobs/${JSON.parse(image.manifest.toString()).config.digest}`,
    )
    assert.equal(pulled.status, 200)

    const issuer = await startIssuer(t)
    const asked: (string | undefined)[] = []
    issuer.answer = (request, response) => {
      asked.push(request.headers['traceparent'] as string | undefined)
      const documents: Record<string, unknown> = {
        '/.well-known/openid-configuration': { issuer: issuer.name, jwks_uri: `${issuer.name}/keys` },
        '/keys': { keys: [issuer.signer.jwk] },
      }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(documents[request.url ?? '']))
    }
    const identity = await call('POST', `${url}/iam/v2beta1/identities/${organization}`, {
      token,
      body: { name: 'robot', claimMatch: { issuer: issuer.name, subject: SUBJECT, audience: url } },
    })
    assert.equal(identity.status, 200, identity.text)
    const subjectToken = await issuer.sign({ aud: url, email: 'claim@example.com' })
    const exchanged = await exchange(url, subjectToken, { aud: url, identity: identity.body.uid })
    assert.equal(exchanged.status, 200, exchanged.text)
    await fetch(`${url}/sign-in?email=query@example.com&code=secret-code`)
    await fetch(`${url}/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ email: 'form@example.com', password: 'secret-password' }),
    })
    const unknown = await fetch(`${url}/secret-path`, {
      headers: { 'x-request-id': 'not kept: mail@example.com' },
    })
    assert.equal(unknown.status, 404)
    await fetch(`${url}/healthz`)

    const { spans } = collector
    // Requests that are refused half-way end a second later than their answers.
    const isWhole = () => {
      const ids = new Set(spans.map(({ spanId }) => spanId))
      // The pushed image is read by a job, which has no parent.
      return spans.every(
        ({ kind, name, parentSpanId }) => kind === 2 || name.startsWith('job ') || ids.has(parentSpanId),
      )
    }
    const isLast = ({ kind, attributes }: ReceivedSpan) =>
      kind === 2 && attributes['http.response.status_code'] === '404'
    await collector.until('the last request, and whole traces', () => spans.some(isLast) && isWhole())

    await t.test(
      'a request continues the trace of its client, with the authorization and the statements in it',
      () => {
        const [request] = server(spans, 'POST /iam/v2beta1/groups/{parent=**}')
        assert.ok(request)
        assert.deepEqual(
          [request.traceId, request.parentSpanId, request.traceState, request.failed],
          [TRACE, PARENT, 'vendor=value', false],
        )
        assert.deepEqual(
          [
            request.attributes['http.request.method'],
            request.attributes['http.response.status_code'],
            request.attributes['http.route'],
            request.attributes['berth.method'],
            request.attributes['berth.code'],
            request.attributes['user.id'],
            request.attributes['berth.request_id'],
          ],
          [
            'POST',
            '200',
            '/iam/v2beta1/groups/{parent=**}',
            'chainguard.platform.iam.v2beta1.GroupsService/CreateGroup',
            'OK',
            berth.identity,
            created.headers.get('x-request-id'),
          ],
        )
        const children = childrenOf(spans, request)
        assert.equal(children.filter(({ name }) => name === 'authorize').length, 1)
        const [transaction] = children.filter(({ name }) => name === 'transaction')
        assert.ok(transaction, 'transaction')
        const [insert] = childrenOf(spans, transaction).filter(({ name }) => name === 'INSERT groups')
        assert.ok(insert, 'INSERT groups in the transaction')
        assert.equal(insert.kind, 3)
        assert.deepEqual(insert.attributes, {
          'db.system.name': engine === 'sqlite' ? 'sqlite' : 'postgresql',
          'db.operation.name': 'INSERT',
          'db.query.summary': 'INSERT groups',
          'db.collection.name': 'groups',
        })
      },
    )

    await t.test('gRPC calls have the code of the call, and their statements too', async () => {
      const name = 'chainguard.platform.iam.v2beta1.GroupsService/GetGroup'
      await collector.until('both calls', () => server(spans, name).length === 2)
      const request = server(spans, name).find(({ traceId }) => traceId === grpcTrace)
      assert.ok(request)
      assert.deepEqual(
        [request.parentSpanId, request.attributes['rpc.system.name'], request.attributes['rpc.method']],
        [PARENT, 'grpc', name],
      )
      assert.equal(request.attributes['rpc.response.status_code'], 'OK')
      assert.ok(Number(request.attributes['http.response.body.size']) > 0)
      assert.ok(childrenOf(spans, request).some(({ name }) => name === 'SELECT groups'))
      const denied = server(spans, name).find(({ traceId }) => traceId !== grpcTrace)
      assert.equal(denied?.attributes['rpc.response.status_code'], 'UNAUTHENTICATED')
      assert.equal(denied?.failed, false)
    })

    await t.test('operations of the registry have the template of their path, and the blob store', () => {
      const [push] = server(spans, 'PUT /v2/{name}/manifests/{reference}')
      assert.equal(push?.attributes['berth.method'], 'berth.registry.v1.Distribution/PutManifest')
      assert.equal(push?.attributes['http.request.body.size'], String(image.manifest.length))
      const [pull] = server(spans, 'GET /v2/{name}/blobs/{digest}')
      assert.ok(pull)
      assert.equal(pull.attributes['http.response.body.size'], String(pulled.bytes.length))
      const [read] = childrenOf(spans, pull).filter(({ name }) => name === 'blobs read')
      assert.equal(read?.attributes['berth.blobs.system'], 'file')
      assert.ok(spans.some(({ name }) => name === 'blobs append'))
    })

    await t.test('outbound requests have spans, and issuers of tenants get no trace headers', () => {
      const [request] = server(spans, 'POST /sts/exchange')
      assert.ok(request)
      assert.equal(request.attributes['user.id'], identity.body.uid)
      const outbound = spans.filter(
        ({ kind, name, traceId }) => kind === 3 && name === 'GET' && traceId === request.traceId,
      )
      assert.equal(outbound.length, 2)
      for (const { attributes } of outbound)
        assert.deepEqual(
          [attributes['server.address'], attributes['server.port'], attributes['http.response.status_code']],
          ['127.0.0.1', new URL(issuer.name).port, '200'],
        )
      assert.deepEqual(asked, [undefined, undefined])
    })

    await t.test('spans form whole traces, and probes have none', () => {
      const ids = new Set(spans.map(({ spanId }) => spanId))
      assert.equal(ids.size, spans.length)
      for (const { name, kind, parentSpanId } of spans)
        assert.ok(kind === 2 || name.startsWith('job ') || ids.has(parentSpanId), `${name} has no parent`)
      assert.ok(!spans.some(({ name }) => name.includes('healthz')))
    })

    await t.test('no span has a token, a secret, an email address, a name or a uid of a resource', () => {
      const exported = collector.text()
      for (const secret of [
        token,
        registryToken,
        subjectToken,
        exchanged.body.token,
        'wrong-token',
        'secret',
        '@example.com',
        groupName,
        repo,
        created.body.uid,
        image.digest,
        'mail to',
        'robot',
        'trace-org',
      ])
        assert.ok(!exported.includes(secret), secret)
      for (const { name, events, message, attributes } of spans) {
        assert.deepEqual([events, message], [0, ''], name)
        const { 'user.id': _, ...others } = attributes
        assert.doesNotMatch(JSON.stringify(others), /[0-9a-f]{40}|eyJ|@|\?/, name)
      }
    })

    await t.test('exports have the resource and the headers that the variables set', () => {
      const resource = collector.resource()
      assert.equal(resource['service.name'], 'berth-test')
      assert.equal(resource['deployment.environment.name'], 'a,b')
      assert.match(String(resource['service.version']), /^\d+\.\d+\.\d+/)
      assert.equal(collector.headers[0]?.['api-key'], 'collector secret')
      assert.equal(collector.headers[0]?.['content-type'], 'application/x-protobuf')
    })
  })

test('the sampler and OTEL_PROPAGATORS decide which requests are traced, by OTLP/JSON too', async (t) => {
  const collector = await startCollector(t)
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }
  const berth = await serveBerth(t, {
    BERTH_DATA_DIR: temporaryDirectory(t),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    ...quick,
    ...sampled,
  })
  await fetch(`${berth.url}/openapi.json`)
  await fetch(`${berth.url}/openapi.json`, { headers: { traceparent: `00-${TRACE}-${PARENT}-00` } })
  await fetch(`${berth.url}/openapi.json`, { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } })
  berth.child.kill('SIGTERM')
  assert.equal((await berth.finished).code, 0)
  assert.deepEqual(
    collector.spans.map(({ traceId, parentSpanId, name }) => [traceId, parentSpanId, name]),
    [[TRACE, PARENT, 'GET /openapi.json']],
  )
})

test('a collector that does not answer keeps neither requests nor the stop of the server, and takes bounded memory', async (t) => {
  const collector = await startCollector(t)
  const release = collector.hold()
  const berth = await serveBerth(t, {
    BERTH_DATA_DIR: temporaryDirectory(t),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...quick,
    // For as long as the test runs.
    OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    OTEL_BSP_EXPORT_TIMEOUT: '600000',
    OTEL_BSP_MAX_QUEUE_SIZE: '20',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    OTEL_PROPAGATORS: 'none',
  })
  const ask = async (count: number) => {
    const headers = { traceparent: `00-${TRACE}-${PARENT}-01` }
    for (let n = 0; n < count; n++)
      assert.equal((await fetch(`${berth.url}/openapi.json`, { headers })).status, 200)
  }
  await ask(1)
  await eventually(() => collector.held.length === 1)
  await ask(200)
  release()
  await collector.until('what waited', (spans) => spans.length > 1)
  const again = collector.hold()
  await ask(1)
  await eventually(() => collector.held.length === 1)
  await ask(15)
  berth.child.kill('SIGTERM')
  assert.equal((await berth.finished).code, 0)
  again()
  // One that hung, a full queue, and those of the second time.
  assert.ok(collector.spans.length <= 1 + 20 + 16, `${collector.spans.length} spans`)
  assert.match(berth.output().stderr, /spans were not exported/)
  for (const { traceId, parentSpanId } of collector.spans) {
    assert.notEqual(traceId, TRACE, 'with OTEL_PROPAGATORS=none traces of clients are not continued')
    assert.equal(parentSpanId, '')
  }
})

test('without a collector at the address requests are served, and the log says why there are no traces', async (t) => {
  const berth = await serveBerth(t, {
    BERTH_DATA_DIR: temporaryDirectory(t),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '1',
    ...quick,
  })
  assert.equal((await fetch(`${berth.url}/openapi.json`)).status, 200)
  await eventually(() => berth.output().stderr.includes('spans were not exported'))
  berth.child.kill('SIGTERM')
  assert.equal((await berth.finished).code, 0)
})

test('wrong OTEL_ variables end the start, each with a sentence, and values that may be secret are not repeated', async (t) => {
  const { code, stderr } = await runBerth(t, ['serve'], {
    BERTH_DATA_DIR: temporaryDirectory(t),
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key:hidden-value',
    OTEL_TRACES_SAMPLER: 'sometimes',
  })
  assert.notEqual(code, 0)
  assert.match(stderr, /OTEL_EXPORTER_OTLP_PROTOCOL: berth exports by HTTP alone/)
  assert.match(stderr, /OTEL_EXPORTER_OTLP_HEADERS must be/)
  assert.match(stderr, /OTEL_TRACES_SAMPLER must be one of/)
  assert.doesNotMatch(stderr, /hidden-value/)
})

test('requests to the bucket of the operator continue the trace', { skip: withoutS3 }, async (t) => {
  const s3 = await startS3()
  t.after(() => s3.stop())
  const { env } = await s3.bucket()
  const way = await startFaultyS3Proxy(t, s3.url)
  const collector = await startCollector(t)
  const berth = await tracedServer(t, collector, {
    ...env,
    BERTH_BLOBS_S3_ENDPOINT: way.url,
    AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'] ?? '',
    AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
  })
  const oci = ociClient(berth, `Bearer ${berth.registryToken}`)
  await pushImage(oci, `${berth.organization}/traced`)
  const { spans } = collector
  await collector.until('the push', () => server(spans, 'PUT /v2/{name}/manifests/{reference}').length === 1)
  const calls = spans.filter(({ name }) => name.startsWith('S3/'))
  assert.ok(calls.some(({ name }) => name === 'S3/PutObject'))
  for (const { traceId, spanId } of calls) assert.ok(way.traceparents.includes(`00-${traceId}-${spanId}-01`))
})
