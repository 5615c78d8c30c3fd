import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { freePort } from '../scripts/free-port.ts'
import { type GrpcFailure, grpcClient } from './support/api/grpc.ts'
import { eventually } from './support/eventually.ts'
import { createProxy, proxyNames, withoutProxy } from './support/http/proxies.ts'
import { digest } from './support/registry/registry.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** The proxies of deploy/, in front of a server: every client works through them as it does without. */

const LAYER_BYTES = 16 * 1024 ** 2
const ERROR_CALLS = 300
/** Of the proxy's clients; Berth trusts the proxy, 127.0.0.1. */
const CLIENT_ADDRESS = '127.0.0.2'

for (const name of proxyNames)
  describe(`behind ${name}`, { skip: withoutProxy(name) }, () => {
    test('REST and gRPC calls work over HTTP/2 with TLS, and errors keep their details', async (t) => {
      const { request, proxy, organization, token } = await startBehind(t, name)
      const path = `/iam/v2beta1/groups/${organization}`
      const created = await request('POST', path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ name: 'over-rest' })),
      })
      assert.equal(created.status, 200, created.text)
      const denied = await request('GET', path)
      assert.equal(denied.status, 401)
      assert.equal(JSON.parse(denied.text).code, 16)

      const grpc = grpcClient(proxy.url, proxy.certificate)
      t.after(() => grpc.close())
      const { groups } = await grpc.call(GroupsService.method.listGroups, { pageSize: 50 }, { token })
      assert.ok(groups.some((group) => group.name === 'over-rest'))
      const unknown = { uid: `${organization}/0000000000000000` }
      // Often: a proxy that splits an error into headers and an empty body does so in one of a hundred.
      for (let call = 0; call < ERROR_CALLS; call++)
        await assert.rejects(
          grpc.call(GroupsService.method.deleteGroup, unknown, { token }),
          ({ code, status, details }: GrpcFailure) => {
            assert.equal(code, 5, details)
            assert.ok((status?.details.length ?? 0) > 0)
            return true
          },
        )
    })

    test('a layer passes while it is being uploaded, and comes back as it was', {
      timeout: 60_000,
    }, async (t) => {
      const { request, session, registryToken } = await startBehind(t, name)
      const headers = { authorization: `Bearer ${registryToken}` }
      const layer = randomBytes(LAYER_BYTES)
      const started = await request('POST', '/v2/acme/app/blobs/uploads/', { headers })
      assert.equal(started.status, 202, started.text)
      const upload = pathOf(started.headers.location)
      const half = LAYER_BYTES / 2
      const stream = session.request({ ':method': 'PATCH', ':path': upload, ...headers })
      stream.write(layer.subarray(0, half))
      // The proxy would store the body until its end if it buffered requests.
      const storedBytes = async () => {
        const { headers: state } = await request('GET', upload, { headers })
        return Number(String(state['range'] ?? '0-0').split('-')[1])
      }
      while ((await storedBytes()) < half / 2) await pause(50)
      stream.end(layer.subarray(half))
      const patched = await replyOf(stream)
      assert.equal(patched.status, 202, patched.text)
      const location = pathOf(patched.headers.location)
      const put = await request('PUT', `${location}?digest=${digest(layer)}`, { headers })
      assert.equal(put.status, 201, put.text)
      const pulled = await request('GET', `/v2/acme/app/blobs/${digest(layer)}`, { headers })
      assert.equal(digest(pulled.bytes), digest(layer))
    })

    test('the server sees the address of the client, and tokens of 16 KiB', async (t) => {
      const { request, accessLog } = await startBehind(t, name)
      const reply = await request('GET', '/iam/v2beta1/groups', {
        headers: {
          authorization: `Bearer ${'a'.repeat(16_000)}`,
          'x-forwarded-for': '192.0.2.1',
          'x-request-id': 'who-is-it',
        },
      })
      assert.equal(reply.status, 401)
      assert.equal(JSON.parse(reply.text).code, 16)
      await eventually(() => accessLog().includes('who-is-it'))
      const line = accessLog()
        .split('\n')
        .find((text) => text.includes('who-is-it'))
      assert.equal(JSON.parse(line ?? '').client, CLIENT_ADDRESS)
    })
  })

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

async function startBehind(t: TestContext, name: (typeof proxyNames)[number]) {
  const proxy = await createProxy(t, name)
  const directory = temporaryDirectory(t)
  const log = join(directory, 'access.log')
  const address = `127.0.0.1:${await freePort()}`
  const env = {
    BERTH_LISTEN: address,
    BERTH_DATA_DIR: join(directory, 'data'),
    BERTH_BASE_URL: proxy.url,
    BERTH_TRUSTED_PROXIES: '127.0.0.1/32',
    BERTH_ACCESS_LOG: log,
  }
  await serveBerth(t, env)
  await proxy.start(address)
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], env)
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  const bootstrapped = JSON.parse(await admin('bootstrap', '--name', 'acme', '--json'))
  const { hostname, port, host } = new URL(proxy.url)
  const session = connectHttp2(proxy.url, {
    createConnection: () =>
      connectTls({
        socket: connect({ host: hostname, port: Number(port), localAddress: CLIENT_ADDRESS }),
        ca: proxy.certificate,
        ALPNProtocols: ['h2'],
      }),
  })
  t.after(() => session.close())
  const request = (method: string, path: string, { headers = {}, body }: RequestOptions = {}) => {
    const stream = session.request({ ':method': method, ':path': path, ...headers })
    stream.end(body)
    return replyOf(stream)
  }
  return {
    proxy,
    session,
    request,
    organization: bootstrapped.organization.uid as string,
    token: await admin('token'),
    registryToken: await admin('token', '--audience', host),
    accessLog: () => readFileSync(log, 'utf8'),
  }
}

async function replyOf(stream: ReturnType<ReturnType<typeof connectHttp2>['request']>): Promise<Reply> {
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status': number }]
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part as Buffer)
  const bytes = Buffer.concat(parts)
  return { status: Number(headers[':status']), headers, bytes, text: bytes.toString() }
}

/** Locations are absolute or relative, as the registry chooses. */
function pathOf(location: string | undefined): string {
  const { pathname, search } = new URL(location ?? '', 'https://berth.test')
  return `${pathname}${search}`
}
