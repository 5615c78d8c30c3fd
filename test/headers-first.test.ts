import assert from 'node:assert/strict'
import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AdvisoryDocumentsService } from '@berth/contract/gen/berth/vulnerabilities/v1/documents_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { fullMethodName } from '@berth/server/api/method-name.ts'
import { limits } from '@berth/server/config/limits.ts'
import { encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import { create, type DescMethodUnary, getOption, toBinary } from '@bufbuild/protobuf'
import { hasRest, methods, requestAt, restRequestOf, shortName } from './support/api/methods.ts'
import { call } from './support/api/rest.ts'
import {
  bindRole,
  createIdentity,
  createOrganization,
  createResource,
  createRole,
} from './support/api/tenant.ts'
import { anyDatabase } from './support/database/databases.ts'
import { http2Session, rawConnection } from './support/http/port.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** What refuses a request is decided before its body is sent: the answers below arrive although nothing follows the headers. */

const guarded = methods.filter((method) => accessRuleOf(method).kind !== 'open')
const scoped = guarded.filter((method) => accessRuleOf(method).kind === 'scoped')
const takesBody = (method: DescMethodUnary) => hasRest(method) && getOption(method, http).body !== ''

interface Unfinished {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends the headers and `begun` of a request, never its end, and returns the response. */
function unfinished(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  token: string | undefined,
  begun?: Uint8Array,
): Promise<Unfinished> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const stream = session.request({ ':method': 'POST', ...headers, ...authorization }, { endStream: false })
  if (begun !== undefined) stream.write(begun)
  return new Promise((resolve, reject) => {
    let head: IncomingHttpHeaders = {}
    let body = ''
    stream.setEncoding('utf8')
    stream.on('response', (received) => {
      head = received
    })
    stream.on('data', (text: string) => {
      body += text
    })
    stream.on('end', () => {
      stream.destroy()
      resolve({ headers: head, body })
    })
    stream.on('error', reject)
  })
}

const grpcHeaders = ({ parent, name }: DescMethodUnary) => ({
  ':path': `/${parent.typeName}/${name}`,
  'content-type': 'application/grpc',
  te: 'trailers',
})

const restHeaders = (method: DescMethodUnary, uid: string) => {
  const { verb, path } = restRequestOf(method, uid)
  return { ':method': verb, ':path': path, 'content-type': 'application/json', 'content-length': '900000' }
}

/** Refusals are written a second at a time. */
async function eventuallyCall(url: string, token: string) {
  for (;;) {
    const reply = await call('GET', url, { token })
    assert.equal(reply.status, 200, reply.text)
    if (reply.body.events.length > 1) return reply
    await sleep(100)
  }
}

for (const database of anyDatabase) {
  describe(`requests whose body is never sent (${database.name})`, () => {
    let berth: TestBerth
    let organization: string
    let withoutRole: string
    before(async () => {
      berth = await startTestBerth(database)
      organization = await createOrganization(berth, 'headers.example')
      withoutRole = await berth.tokenOf(await createIdentity(berth, organization))
    })
    after(() => berth.stop())

    test('R28: gRPC rejects every guarded method without a token, and every scoped one to a caller without a role', async (t) => {
      // The announced message is never sent. A connection with many such streams is closed.
      const begun = Buffer.from([0, 0, 0, 0xff, 0xff, 0x12, 0])
      let session = http2Session(t, berth.url)
      for (const [at, method] of guarded.entries()) {
        if (at % 50 === 0) session = http2Session(t, berth.url)
        const { headers } = await unfinished(session, grpcHeaders(method), undefined, begun)
        assert.equal(headers['grpc-status'], '16', shortName(method))
      }
      for (const [at, method] of scoped.entries()) {
        if (at % 50 === 0) session = http2Session(t, berth.url)
        const { headers } = await unfinished(session, grpcHeaders(method), withoutRole, begun)
        assert.equal(headers['grpc-status'], '7', shortName(method))
      }
    })

    test('R28: REST rejects every method with a body without a token, and every scoped one to a caller without a role', async (t) => {
      const session = http2Session(t, berth.url)
      for (const method of guarded.filter(takesBody)) {
        const { headers } = await unfinished(session, restHeaders(method, organization), undefined)
        assert.equal(headers[':status'], 401, shortName(method))
      }
      for (const method of scoped.filter(takesBody)) {
        const { headers, body } = await unfinished(session, restHeaders(method, organization), withoutRole)
        assert.equal(headers[':status'], 403, `${shortName(method)}: ${body}`)
      }
    })

    test('R28: a scope in the path is authorized as it is with a body: the same error, word for word', async (t) => {
      const session = http2Session(t, berth.url)
      const elsewhere = await createOrganization(berth, 'elsewhere.example')
      const identity = await createIdentity(berth, elsewhere)
      await bindRole(berth, elsewhere, identity, 'owner')
      const ownerElsewhere = await berth.tokenOf(identity)
      for (const path of [
        `/iam/v2beta1/identities/${organization}`,
        `/iam/v2/identities/${organization}`,
        `/iam/v1/identities/${organization}`,
        `/iam/v2beta1/roleBindings/${organization}`,
      ]) {
        const whole = await fetch(`${berth.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ownerElsewhere}`, 'content-type': 'application/json' },
          body: '{}',
        })
        const headers = { ':path': path, 'content-type': 'application/json', 'content-length': '900000' }
        const reply = await unfinished(session, headers, ownerElsewhere)
        assert.equal(reply.headers[':status'], 403, path)
        assert.equal(reply.body, await whole.text(), path)
        assert.match(reply.body, new RegExp(`at ${organization} you need`))
      }
    })

    test('R28: HTTP/1.1 gets its rejection after the headers', async (t) => {
      const path = `/vulnerabilities/v2beta1/advisories/${organization}:importDocuments`
      for (const [token, status] of [
        [undefined, 401],
        [withoutRole, 403],
      ] as const) {
        const connection = await rawConnection(t, Number(new URL(berth.url).port))
        const authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
        connection.socket.write(
          `POST ${path} HTTP/1.1\r\nhost: a\r\n${authorization}content-length: 8000000\r\n\r\n{"documents":[`,
        )
        assert.match(await connection.until('\r\n\r\n'), new RegExp(`^HTTP/1.1 ${status} `))
      }
    })

    test('R28: a large message of a caller without a role is rejected before it arrives', async (t) => {
      const session = http2Session(t, berth.url)
      for (const method of [
        AdvisoryDocumentsService.method.importAdvisoryDocuments,
        RoleBindingsService.method.batchCreateRoleBindings,
      ]) {
        const prefix = Buffer.from([1, 0, 0x0f, 0xff, 0xff])
        const headers = { ...grpcHeaders(method), 'grpc-encoding': 'gzip' }
        const reply = await unfinished(session, headers, withoutRole, prefix)
        assert.equal(reply.headers['grpc-status'], '7')
      }
    })

    test('a caller with the capability elsewhere is rejected by the scope in the message', async (t) => {
      const elsewhere = await createOrganization(berth, 'elsewhere-too.example')
      const identity = await createIdentity(berth, elsewhere)
      await bindRole(berth, elsewhere, identity, 'owner')
      const method = GroupsService.method.deleteGroup
      const bytes = toBinary(method.input, create(method.input, requestAt(method, organization)))
      const session = http2Session(t, berth.url)
      const stream = session.request({
        ':method': 'POST',
        ...grpcHeaders(method),
        authorization: `Bearer ${await berth.tokenOf(identity)}`,
      })
      stream.end(encodeFrame(bytes, false))
      const [headers] = await new Promise<[IncomingHttpHeaders]>((resolve, reject) => {
        stream.on('response', (received) => resolve([received]))
        stream.on('error', reject)
      })
      assert.equal(headers['grpc-status'], '7')
      assert.match(String(headers['grpc-message']), new RegExp(`at ${organization} you need groups.delete`))
    })

    test('a rejection before the body is counted, and in the audit log', async (t) => {
      const identity = await createIdentity(berth, organization)
      const token = await berth.tokenOf(identity)
      const session = http2Session(t, berth.url)
      const method = GroupsService.method.updateGroup
      const counted = async (protocol: string) => {
        const text = await (await fetch(`${berth.url}/metrics`)).text()
        const series = `berth_requests_total{method="${fullMethodName(method)}",protocol="${protocol}",code="PERMISSION_DENIED"} `
        return Number(
          text
            .split('\n')
            .find((line) => line.startsWith(series))
            ?.slice(series.length) ?? 0,
        )
      }
      const beforehand = { grpc: await counted('grpc'), rest: await counted('rest') }
      await unfinished(session, grpcHeaders(method), token)
      await unfinished(session, restHeaders(method, organization), token)
      assert.deepEqual(
        { grpc: await counted('grpc'), rest: await counted('rest') },
        { grpc: beforehand.grpc + 1, rest: beforehand.rest + 1 },
      )
      const { body } = await eventuallyCall(
        `${berth.url}/audit/v1/events?actor=${encodeURIComponent(identity)}`,
        berth.token,
      )
      const [event] = body.events
      assert.equal(event.method, fullMethodName(method))
      assert.equal(event.code, 7)
    })

    test('R12: a right that is lost while the body is on its way counts no more (grantsMaxAgeMs)', async (t) => {
      const identity = await createIdentity(berth, organization)
      const role = await createRole(berth, organization, ['roles.create', 'roles.list'], 'late')
      const { uid: binding } = await createResource(berth, `/iam/v2beta1/roleBindings/${organization}`, {
        identityUid: identity,
        roleUid: role,
      })
      const session = http2Session(t, berth.url)
      const stream = session.request({
        ':method': 'POST',
        ':path': `/iam/v2beta1/roles/${organization}`,
        'content-type': 'application/json',
        authorization: `Bearer ${await berth.tokenOf(identity)}`,
      })
      stream.write('{"name":"too-late",')
      await sleep(limits.grantsMaxAgeMs + 200)
      const { status } = await call('DELETE', `${berth.url}/iam/v2beta1/roleBindings/${binding}`, {
        token: berth.token,
      })
      assert.equal(status, 200)
      stream.end('"capabilities":["CAP_IAM_ROLES_LIST"]}')
      const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.on('response', resolve))
      assert.equal(headers[':status'], 403)
    })
  })
}
