import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, renameSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import type { AccessLine } from '@berth/server/telemetry/access-log.ts'
import { grpcClient } from './support/api/grpc.ts'
import { call } from './support/api/rest.ts'
import { databases } from './support/database/databases.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { digest, ociClient } from './support/registry/registry.ts'
import {
  type Cleanup,
  type Environment,
  runBerth,
  serveBerth,
  temporaryDirectory,
} from './support/server/process.ts'

/** One line for every request of a server process, whatever its protocol and however it ends. */

async function loggingServer(t: Cleanup, env: Environment = {}) {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'access.log')
  const places = { BERTH_DATA_DIR: join(directory, 'data'), ...env }
  const serving = await serveBerth(t, { BERTH_ACCESS_LOG: file, ...places })
  const { stdout } = await runBerth(t, ['admin', 'bootstrap', '--name', 'log-org', '--json'], places)
  const { organization, identity, token } = JSON.parse(stdout)
  const text = () => readFileSync(file, 'utf8')
  const lines = () =>
    text()
      .split('\n')
      .filter((line) => line !== '')
      .map((line): AccessLine => JSON.parse(line))
  return {
    ...serving,
    file,
    text,
    lines,
    organization: organization.uid as string,
    identity: identity.uid as string,
    token: token as string,
    registryToken: (
      await runBerth(t, ['admin', 'token', '--audience', new URL(serving.url).host], places)
    ).stdout.trim(),
    /** The line of a request; fails when there is none in time, or more than one. */
    async lineOf(requestId: string): Promise<AccessLine> {
      const found = () => lines().filter(({ request_id }) => request_id === requestId)
      await eventually(() => found().length > 0)
      assert.equal(found().length, 1)
      return found()[0] as AccessLine
    },
  }
}

for (const engine of ['sqlite', 'postgres'] as const)
  test(`the access log has one line for every request, with its caller and its end, and no secrets (${engine})`, {
    skip:
      (!databases.some(({ name }) => name === engine) && 'not among BERTH_TEST_DATABASES') ||
      (engine === 'postgres' && withoutPostgres),
  }, async (t) => {
    const berth = await loggingServer(t, {
      ...(engine === 'postgres' && { BERTH_DATABASE_URL: (await startPostgres(t)).url }),
    })
    const { url, token, organization, lineOf } = berth
    const groups = `${url}/iam/v2beta1/groups`
    const named = (id: string, more: Readonly<Record<string, string>> = {}) => ({
      'x-request-id': id,
      ...more,
    })

    await t.test(
      'REST: a request that succeeds, and its id in the response and in the audit log',
      async () => {
        const body = JSON.stringify({ name: 'logged' })
        const agent = 'a'.repeat(limits.loggedUserAgentCharsMax + 10)
        const reply = await call('POST', `${groups}/${organization}`, {
          token,
          body,
          headers: named('rest/ok:1', { 'user-agent': agent }),
        })
        assert.equal(reply.headers.get('x-request-id'), 'rest/ok:1')
        const { time, duration_ms, ...line } = await lineOf('rest/ok:1')
        assert.ok(Date.parse(time) <= Date.now() && duration_ms > 0)
        assert.deepEqual(line, {
          request_id: 'rest/ok:1',
          protocol: 'rest',
          http_method: 'POST',
          method: 'chainguard.platform.iam.v2beta1.GroupsService/CreateGroup',
          route: '/iam/v2beta1/groups/{parent=**}',
          identity: berth.identity,
          status: 200,
          code: 'OK',
          bytes_in: body.length,
          bytes_out: Buffer.byteLength(reply.text),
          client: '127.0.0.1',
          user_agent: agent.slice(0, limits.loggedUserAgentCharsMax),
        })
        const events = await call('GET', `${url}/audit/v1/events?uidp.descendants_of=${organization}`, {
          token,
        })
        assert.ok(events.text.includes('"rest/ok:1"'), events.text)
      },
    )

    await t.test('REST: requests that are rejected, and those of no method', async () => {
      await fetch(groups, { headers: named('rest-401', { authorization: 'Bearer secret-token' }) })
      await fetch(`${groups}/${organization}`, {
        method: 'POST',
        headers: named('rest-400', { authorization: `Bearer ${token}`, 'content-type': 'application/json' }),
        body: 'secret-body',
      })
      await fetch(`${url}/secret-path?code=secret-query`, { headers: named('rest-404') })
      await fetch(`${url}/sign-in?email=secret@example.com`, { headers: named('page') })
      await fetch(`${url}/setup?code=secret-code`, { headers: named('setup') })
      const shape = async (id: string) => {
        const { status, code, route, identity } = await lineOf(id)
        return [status, code, route, identity]
      }
      assert.deepEqual(await shape('rest-401'), [401, 'UNAUTHENTICATED', '/iam/v2beta1/groups', undefined])
      assert.deepEqual(await shape('rest-400'), [
        400,
        'INVALID_ARGUMENT',
        '/iam/v2beta1/groups/{parent=**}',
        berth.identity,
      ])
      assert.deepEqual(await shape('rest-404'), [404, 'NOT_FOUND', undefined, undefined])
      assert.deepEqual(await shape('page'), [200, 'OK', '/sign-in', undefined])
      assert.equal((await lineOf('page')).method, 'berth.signin/ShowSignIn')
      assert.deepEqual(await shape('setup'), [404, 'NOT_FOUND', '/setup', undefined])
    })

    await t.test('gRPC: calls that succeed, are rejected, and that no method takes', async () => {
      const client = grpcClient(url)
      t.after(() => client.close())
      const request = { uid: organization }
      let returned: unknown
      await client.call(GroupsService.method.getGroup, request, {
        token,
        metadata: named('grpc-ok'),
        onMetadata: (metadata) => {
          returned = metadata.get('x-request-id')
        },
      })
      assert.deepEqual(returned, ['grpc-ok'])
      await assert.rejects(
        client.call(GroupsService.method.getGroup, request, {
          token: 'secret-token',
          metadata: named('grpc-16'),
        }),
      )
      const { protocol, method, identity, status, code, bytes_in, bytes_out } = await lineOf('grpc-ok')
      assert.deepEqual(
        [protocol, method, identity, status, code],
        ['grpc', 'chainguard.platform.iam.v2beta1.GroupsService/GetGroup', berth.identity, 200, 'OK'],
      )
      assert.ok(bytes_in > organization.length && bytes_out > organization.length)
      assert.equal((await lineOf('grpc-16')).code, 'UNAUTHENTICATED')
    })

    await t.test('registry: pushes, and requests without a token', async () => {
      const oci = ociClient({ url }, `Bearer ${berth.registryToken}`)
      const blob = randomBytes(1000)
      const reply = await oci.request('POST', `${organization}/r/blobs/uploads/?digest=${digest(blob)}`, {
        body: blob,
        headers: named('oci-push'),
      })
      assert.equal(reply.headers.get('x-request-id'), 'oci-push')
      const { protocol, method, route, identity, status, bytes_in } = await lineOf('oci-push')
      assert.deepEqual(
        { protocol, method, route, identity, status, bytes_in },
        {
          protocol: 'oci',
          method: 'berth.registry.v1.Distribution/BeginUpload',
          route: '/v2/{name}/blobs/uploads/',
          identity: berth.identity,
          status: 201,
          bytes_in: blob.length,
        },
      )
      await ociClient({ url }).request('GET', 'acme/x/manifests/latest', { headers: named('oci-401') })
      assert.equal((await lineOf('oci-401')).status, 401)
    })

    await t.test(
      'requests that are cut off, by HTTP/1.1 and HTTP/2, and calls that are cancelled',
      async () => {
        const { hostname, port } = new URL(url)
        const socket = connect(Number(port), hostname)
        const head = [
          `POST /v2/${organization}/r/blobs/uploads/?digest=${digest('x')} HTTP/1.1`,
          'host: berth',
          `authorization: Bearer ${berth.registryToken}`,
          'content-length: 100000',
          'x-request-id: cut-http1',
        ]
        socket.write(`${head.join('\r\n')}\r\n\r\n${'y'.repeat(1000)}`)
        await once(socket, 'connect')
        // The server has the request once it is asked the next on another connection and has answered it.
        await call('GET', groups, { token })
        socket.resetAndDestroy()
        const cut = await lineOf('cut-http1')
        assert.deepEqual([cut.aborted, cut.protocol], [true, 'oci'])

        const session = connectHttp2(url)
        t.after(() => session.destroy())
        const stream = session.request({
          ':method': 'POST',
          ':path': `/iam/v2beta1/groups/${organization}`,
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'x-request-id': 'cut-http2',
        })
        stream.on('error', () => undefined)
        stream.write('{"name":')
        await new Promise<void>((resolve) => session.ping(() => resolve()))
        stream.close(8)
        const reset = await lineOf('cut-http2')
        assert.deepEqual([reset.status, reset.code, reset.aborted], [499, 'CANCELLED', true])

        const grpcCall = session.request({
          ':method': 'POST',
          ':path': '/chainguard.platform.iam.v2beta1.GroupsService/GetGroup',
          'content-type': 'application/grpc',
          te: 'trailers',
          authorization: `Bearer ${token}`,
          'x-request-id': 'cut-grpc',
        })
        grpcCall.on('error', () => undefined)
        await new Promise<void>((resolve) => session.ping(() => resolve()))
        session.destroy()
        const cancelled = await lineOf('cut-grpc')
        assert.deepEqual(
          [cancelled.protocol, cancelled.code, cancelled.aborted, cancelled.method?.split('/')[1]],
          ['grpc', 'CANCELLED', true, 'GetGroup'],
        )
      },
    )

    await t.test('a message that is not HTTP has a line with the status of its response', async () => {
      const { hostname, port } = new URL(url)
      const before = berth.lines().length
      const socket = connect(Number(port), hostname)
      socket.write('secret nonsense\r\n\r\n')
      const answer = Buffer.concat(await socket.toArray()).toString()
      const [, id = ''] = /x-request-id: (\S+)/.exec(answer) ?? []
      const { status, http_method, route } = await lineOf(id)
      assert.deepEqual([status, http_method, route], [400, '_OTHER', undefined])
      assert.equal(berth.lines().length, before + 1)
    })

    await t.test('an invalid x-request-id is replaced, and forges no line', async () => {
      const before = berth.lines().length
      for (const id of [
        'a b',
        'x'.repeat(limits.requestIdCharsMax + 1),
        'secret@example.com',
        '"},{"a":"b',
      ]) {
        const reply = await fetch(`${url}/openapi.json`, { method: 'HEAD', headers: named(id) })
        const own = reply.headers.get('x-request-id') ?? ''
        assert.match(own, /^[0-9a-z]{10}-[0-9a-z]+$/)
        assert.equal((await lineOf(own)).bytes_out, 0)
      }
      assert.equal(berth.lines().length, before + 4)
    })

    await t.test('probes have no lines', async () => {
      const before = berth.lines().length
      for (const path of ['healthz', 'readyz', 'metrics'])
        assert.equal((await fetch(`${url}/${path}`)).status, 200)
      await fetch(`${url}/openapi.json`, { headers: named('after-probes') })
      await lineOf('after-probes')
      assert.equal(berth.lines().length, before + 1)
    })

    await t.test('a file that was moved is opened again on SIGHUP', async () => {
      renameSync(berth.file, `${berth.file}.1`)
      berth.child.kill('SIGHUP')
      await eventually(() => {
        try {
          return readFileSync(berth.file, 'utf8') === ''
        } catch {
          return false
        }
      })
      await fetch(`${url}/openapi.json`, { headers: named('rotated') })
      await lineOf('rotated')
    })

    const all = readFileSync(`${berth.file}.1`, 'utf8') + berth.text()
    for (const secret of ['secret', 'eyJ', '@', token, berth.registryToken, 'log-org', 'logged'])
      assert.ok(!all.includes(secret), secret)
  })

describe('the access log on standard output', () => {
  test('has the requests of probes if they are wanted, and what waits is written when the server stops', async (t) => {
    const berth = await serveBerth(t, {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_ACCESS_LOG: 'stdout',
      BERTH_ACCESS_LOG_PROBES: 'true',
    })
    berth.child.stdout?.pause()
    // More than a pipe holds, so that lines wait when the server stops.
    for (let round = 0; round < 20; round++)
      await Promise.all(Array.from({ length: 50 }, () => fetch(`${berth.url}/healthz`)))
    berth.child.kill('SIGTERM')
    // Immediately: what is not written after accessLogFlushMs is lost.
    berth.child.stdout?.resume()
    const { code, stdout } = await berth.finished
    assert.equal(code, 0)
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
    assert.equal(lines.length, 1000)
    for (const line of lines) assert.equal(JSON.parse(line).route, '/healthz')
  })

  test('without a reader delays neither requests nor the stop of the server', async (t) => {
    const berth = await serveBerth(t, { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_ACCESS_LOG: 'stdout' })
    berth.child.stdout?.pause()
    // More than a pipe holds.
    for (let round = 0; round < 20; round++)
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const { status } = await fetch(`${berth.url}/nothing`)
          assert.equal(status, 404)
        }),
      )
    const exited = once(berth.child, 'exit')
    berth.child.kill('SIGTERM')
    assert.equal((await exited)[0], 0)
    berth.child.stdout?.resume()
  })
})

test('an access log that cannot be opened ends the start with a sentence', async (t) => {
  const { code, stderr } = await runBerth(t, ['serve'], {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_ACCESS_LOG: '/nowhere/access.log',
  })
  assert.notEqual(code, 0)
  assert.match(stderr, /^berth: BERTH_ACCESS_LOG: ENOENT[^\n]*\n$/)
})
