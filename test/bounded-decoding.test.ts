import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { AdvisoryDocumentsService } from '@berth/contract/gen/berth/vulnerabilities/v1/documents_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RolesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { create, type DescMethodUnary, fromBinary, toBinary } from '@bufbuild/protobuf'
import { restRequestOf } from './support/api/methods.ts'
import { http2Request, http2Session } from './support/http/port.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** What a request may be built of, as a caller who may call everything meets it: the server's owner. */

const sqlite = { name: 'sqlite', open: undefined } as const
const MIB = 1024 * 1024
const { importAdvisoryDocuments } = AdvisoryDocumentsService.method
const { batchCreateRoleBindings } = RoleBindingsService.method
const { exchange } = SecurityTokenService.method
const { path: exchangePath } = restRequestOf(exchange, '')
const form = 'application/x-www-form-urlencoded'
/** An empty element of the second field: documents, and requests of a batch. */
const emptyElements = (bytes: number) => Buffer.alloc(bytes, Buffer.from([0x12, 0]))

describe('what is decoded', () => {
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth(sqlite)
  })
  after(() => berth.stop())

  const rest = async (verb: string, path: string, body: string | undefined, type?: string) => {
    const response = await fetch(`${berth.url}${path}`, {
      method: verb,
      headers: {
        authorization: `Bearer ${berth.token}`,
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    })
    return { status: response.status, text: await response.text() }
  }
  const importing = (body: string) => {
    const { verb, path } = restRequestOf(importAdvisoryDocuments, berth.organization)
    return rest(verb, path, body)
  }

  for (const method of [importAdvisoryDocuments, batchCreateRoleBindings] as DescMethodUnary[])
    for (const [what, bytes, compressed, refusal] of [
      ['empty elements', 60_000, false, `more%20than%20${limits.protobufElementsMax}%20fields`],
      ['empty elements, packed', 900_000, true, `more%20than%20${limits.protobufElementsMax}%20fields`],
      ['more than the limit, packed', 20 * MIB, true, 'is%20larger%20than'],
    ] as const)
      test(`R28: gRPC ${method.name} refuses ${what} by their number, before it creates objects`, async (t) => {
        const session = http2Session(t, berth.url)
        const elements = emptyElements(bytes)
        const message = compressed ? gzipSync(elements) : elements
        assert.ok(!compressed || message.length < 25_000)
        const { headers } = await http2Request(
          session,
          {
            ':method': 'POST',
            ':path': `/${method.parent.typeName}/${method.name}`,
            'content-type': 'application/grpc',
            'grpc-encoding': compressed ? 'gzip' : 'identity',
            authorization: `Bearer ${berth.token}`,
          },
          encodeFrame(message, compressed),
        )
        assert.equal(headers['grpc-status'], '3')
        assert.match(
          decodeURIComponent(String(headers['grpc-message'])),
          new RegExp(decodeURIComponent(refusal)),
        )
      })

  for (const [what, body, refusal] of [
    ['objects', () => `{"documents":[${'{},'.repeat(1.5 * MIB)}{}]}`, /more than 10000 values/],
    ['members', () => `{${'"dryRun":true,'.repeat(200_000)}"dryRun":true}`, /more than 10000 values/],
    ['numbers', () => `{"documents":[${'1,'.repeat(1.5 * MIB)}1]}`, /more than 10000 values/],
    ['levels', () => `{"documents":${'['.repeat(4 * MIB)}`, /nested more than 32 levels/],
    [
      'documents',
      () => `{"documents":[${'{},'.repeat(limits.advisoryDocumentsMax)}{}]}`,
      /at most 1000 entries/,
    ],
    ['bytes', () => `{"documents":[{"content":"${'A'.repeat(8 * MIB)}"}]}`, /larger than 8388608 bytes/],
  ] as const)
    test(`R28: REST refuses too many ${what} by their number (code 3)`, async () => {
      const { status, text } = await importing(body())
      assert.equal(status, what === 'bytes' ? 413 : 400)
      assert.match(text, refusal)
    })

  test('R28: an update mask has a largest number of paths, in the query and in the body (fieldMaskPathsMax)', async () => {
    const mask = `name${',name'.repeat(limits.fieldMaskPathsMax)}`
    const refusal = new RegExp(`updateMask: must have at most ${limits.fieldMaskPathsMax} paths`)
    const group = `/iam/v2beta1/groups/${berth.organization}`
    const inQuery = await rest('PATCH', `${group}?updateMask=${mask}`, '{"name":"a"}')
    assert.equal(inQuery.status, 400)
    assert.match(inQuery.text, refusal)
    const enough = mask.split(',').slice(1).join(',')
    assert.equal((await rest('PATCH', `${group}?updateMask=${enough}`, '{"name":"renamed"}')).status, 200)
  })

  test('R28: a query and a form have a largest number of parameters (queryParametersMax)', async () => {
    const parameters = 'a&'.repeat(limits.queryParametersMax)
    const refusal = new RegExp(`more than ${limits.queryParametersMax} parameters`)
    assert.equal((await rest('GET', `/iam/v1/groups?${parameters}`, undefined)).status, 200)
    const query = await rest('GET', `/iam/v1/groups?${parameters}a`, undefined)
    assert.equal(query.status, 400)
    assert.match(query.text, refusal)
    const posted = await rest('POST', exchangePath, `${parameters}a`, form)
    assert.equal(posted.status, 400)
    assert.match(posted.text, refusal)
  })

  test('R28: a filter longer than anything that is stored matches nothing (filterCharsMax)', async (t) => {
    const session = http2Session(t, berth.url)
    for (const method of [GroupsService.method.listGroups, RolesService.method.listRoles]) {
      const list = async (name: string) => {
        const { headers, trailers, body } = await http2Request(
          session,
          {
            ':method': 'POST',
            ':path': `/${method.parent.typeName}/${method.name}`,
            'content-type': 'application/grpc',
            authorization: `Bearer ${berth.token}`,
          },
          encodeFrame(toBinary(method.input, create(method.input, { name } as never)), false),
        )
        assert.equal(trailers['grpc-status'] ?? headers['grpc-status'], '0')
        return fromBinary(method.output, body.subarray(5))
      }
      assert.equal((await list('x'.repeat(limits.filterCharsMax))).totalCount, 0n)
      assert.equal((await list('x'.repeat(900_000))).totalCount, 0n)
    }
  })

  test('R28: methods without a token read a small body only (unauthenticatedBodyBytesMax)', async (t) => {
    const large = `aud=${'x'.repeat(limits.unauthenticatedBodyBytesMax)}`
    const { status, text } = await rest('POST', exchangePath, large, form)
    assert.equal(status, 413)
    assert.match(text, new RegExp(`larger than ${limits.unauthenticatedBodyBytesMax} bytes`))
    for (const message of [
      gzipSync(Buffer.alloc(limits.unauthenticatedBodyBytesMax + 1)),
      Buffer.alloc(100_000),
    ]) {
      const compressed = message.length < 1000
      const { headers } = await http2Request(
        http2Session(t, berth.url),
        {
          ':method': 'POST',
          ':path': `/${exchange.parent.typeName}/${exchange.name}`,
          'content-type': 'application/grpc',
          'grpc-encoding': 'gzip',
        },
        encodeFrame(message, compressed),
      )
      assert.equal(headers['grpc-status'], '3')
      assert.match(String(headers['grpc-message']), /larger than 65536 bytes/)
    }
  })
})
