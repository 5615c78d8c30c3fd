import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CreateGroupRequest,
  GroupSchema,
  file_chainguard_platform_iam_v2beta1_groups as groups,
  type ListGroupsRequest,
  ListGroupsResponseSchema,
  type UpdateGroupRequest,
  UpdateGroupRequestSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import {
  IdentitySchema,
  file_chainguard_platform_iam_v2beta1_identities as identities,
  UpdateIdentityRequestSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import {
  type ExchangeRequest,
  RawTokenSchema,
  file_chainguard_platform_oidc_sts as sts,
} from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { file_chainguard_platform_registry_v2beta1_repos as repos } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { contractFiles } from '@berth/contract/schema-files.ts'
import {
  ApiError,
  Code,
  invalidArgument,
  invalidArguments,
  notFound,
  unauthenticated,
  unavailable,
} from '@berth/server/api/errors.ts'
import { etagOf } from '@berth/server/api/etag.ts'
import { withCors } from '@berth/server/gateway/rest/cors.ts'
import { createRestHandler, type RestOptions } from '@berth/server/gateway/rest/handler.ts'
import type { Dispatch, IncomingCall } from '@berth/server/pipeline/call.ts'
import {
  currentContext,
  RequestContext,
  runInContext,
} from '@berth/server/pipeline/request/request-context.ts'
import type { HttpReply, HttpRequest } from '@berth/server/port/http.ts'
import { create, type DescMethod, type Message } from '@bufbuild/protobuf'
import { EmptySchema, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { allowAll } from './support/api/allow-all-pipeline.ts'

interface Seen {
  method: DescMethod
  message: Message
  incoming: IncomingCall
}

const group = create(GroupSchema, { uid: 'ab/cd', name: 'n', createTime: timestampFromMs(1735787045000) })

/** Replies that a service might give; anything else is a group. */
const replies: Readonly<Record<string, Message>> = {
  DeleteGroup: create(EmptySchema),
  ListGroups: create(ListGroupsResponseSchema, { totalCount: 0n }),
  UpdateIdentity: create(IdentitySchema),
  Exchange: create(RawTokenSchema, { token: 't' }),
}

function gateway(more: Partial<RestOptions> = {}, corsOrigins: readonly string[] = []) {
  const seen: Seen[] = []
  const logged: object[] = []
  const rest = createRestHandler({
    authorizeHeaders: allowAll(async (method, message, incoming) => {
      seen.push({ method, message, incoming })
      return replies[method.name] ?? group
    }),
    services: [groups, identities, repos, sts].flatMap((file) => file.services),
    errorDomain: 'api.example.com',
    log: { error: (fields) => logged.push(fields) },
    ...more,
  })
  const handler = corsOrigins.length === 0 ? rest : withCors(rest, corsOrigins)
  const call = async (line: string, options: { body?: string; headers?: HttpRequest['headers'] } = {}) => {
    const [method = '', url = ''] = line.split(' ')
    const reply = await handler({
      method,
      isHead: false,
      url,
      headers: options.headers ?? {},
      address: '127.0.0.1',
      id: 'r1',
      body: async () => new TextEncoder().encode(options.body ?? ''),
      stream: notStreamed,
    })
    return { ...reply, json: parsed(reply) }
  }
  /** The request message that a call became. */
  const request = async <T extends Message>(
    line: string,
    body?: string,
    headers?: HttpRequest['headers'],
  ) => {
    const reply = await call(line, {
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    })
    assert.equal(reply.status, 200, String(reply.body))
    return seen.at(-1)!.message as T
  }
  return { call, request, seen, logged }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
function parsed(reply: HttpReply): any {
  return typeof reply.body === 'string' ? JSON.parse(reply.body) : undefined
}

// biome-ignore lint/suspicious/noExplicitAny: as above
const violation = (json: any) => json.details[1].fieldViolations[0]

test('a Get returns the resource as JSON that is not cached', async () => {
  const { call, seen } = gateway()
  const reply = await call('GET /iam/v2beta1/groups/ab/cd', { headers: { authorization: 'Bearer x' } })
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.headers, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    etag: etagOf(GroupSchema, group),
  })
  assert.deepEqual([reply.json.uid, reply.json.createTime], ['ab/cd', '2025-01-02T03:04:05.000Z'])
  const { method, message, incoming } = seen[0]!
  assert.equal(method.name, 'GetGroup')
  assert.deepEqual(message, { $typeName: 'chainguard.platform.iam.v2beta1.GetGroupRequest', uid: 'ab/cd' })
  assert.deepEqual(
    [incoming.protocol, incoming.requestId, incoming.authorizationHeader, incoming.address],
    ['rest', 'r1', 'Bearer x', '127.0.0.1'],
  )
})

test('HEAD and the v2 alias reach the same method', async () => {
  const { call, seen } = gateway()
  for (const line of ['HEAD /iam/v2beta1/groups/ab', 'GET /iam/v2/groups/ab', 'GET /iam/v2/groups%2Fab']) {
    assert.equal((await call(line)).status, 200)
    assert.deepEqual(
      [seen.at(-1)!.method.name, (seen.at(-1)!.message as unknown as { uid: string }).uid],
      ['GetGroup', 'ab'],
    )
  }
})

test('a List reads its query and shows an empty page in full', async () => {
  const { call, request } = gateway()
  const message = await request<ListGroupsRequest>(
    'GET /iam/v2beta1/groups?uidp.descendants_of=ab%2Fcd&page_size=2&orderBy=name%20desc',
  )
  assert.deepEqual(
    [message.uidp?.descendantsOf, message.pageSize, message.orderBy],
    ['ab/cd', 2, 'name desc'],
  )
  const { body } = await call('GET /iam/v2beta1/groups')
  assert.equal(body, '{"groups":[],"nextPageToken":"","totalCount":"0","skipped":0}')
})

test('a Create takes the parent from the path and the resource from the body', async () => {
  const { request } = gateway()
  const message = await request<CreateGroupRequest>(
    'POST /iam/v2beta1/groups/ab/cd',
    '{"name":"n","description":"d"}',
  )
  assert.deepEqual([message.parent, message.group?.name, message.group?.description], ['ab/cd', 'n', 'd'])
  const root = await request<CreateGroupRequest>('POST /iam/v2beta1/groups', '')
  assert.deepEqual([root.parent, root.group?.name], ['', ''])
})

test('an Update takes the uid from the path, whatever the body says', async () => {
  const { request } = gateway()
  const message = await request<UpdateGroupRequest>(
    'PATCH /iam/v2beta1/groups/ab/cd',
    '{"uid":"other","name":"n"}',
  )
  assert.equal(message.group?.uid, 'ab/cd')
})

const masks: readonly [query: string, body: string, paths: string[] | undefined][] = [
  ['', '{"name":"n","description":null}', ['name', 'description']],
  ['?updateMask=', '{"description":""}', ['description']],
  ['?updateMask=description', '{"name":"n","description":"d"}', ['description']],
  ['?update_mask=name,createTime', '{}', ['name', 'createTime']],
  ['?updateMask=*', '{"name":"n"}', ['*']],
  ['?group.name=x', '{"description":"d"}', ['description']],
  ['', '{}', undefined],
  ['', '', undefined],
]
for (const [query, body, paths] of masks) {
  test(`PATCH ${query} ${body || 'without a body'} has the mask ${paths}`, async () => {
    const message = await gateway().request<UpdateGroupRequest>(`PATCH /iam/v2beta1/groups/ab${query}`, body)
    assert.deepEqual(message.updateMask?.paths, paths)
  })
}

test('a Delete is answered with no bytes', async () => {
  const reply = await gateway().call('DELETE /iam/v2beta1/groups/ab')
  assert.deepEqual([reply.status, reply.body], [200, undefined])
  assert.equal(reply.headers['content-type'], undefined)
})

test('an exchange takes its parameters from the query or from a form', async () => {
  const { request, seen } = gateway()
  const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  const one = await request<ExchangeRequest>('GET /sts/exchange?aud=a&identity=i')
  assert.deepEqual([one.aud, one.identity], [['a'], 'i'])
  const two = await request<ExchangeRequest>('POST /sts/exchange?aud=a', 'identity=i%2Fj', form)
  assert.deepEqual([two.aud, two.identity], [['a'], 'i/j'])
  const three = await request<ExchangeRequest>('POST /sts/exchange?aud=a', 'identity=i')
  assert.deepEqual([three.aud, three.identity], [['a'], ''])
  assert.equal(seen.length, 3)
})

const refusals: readonly [line: string, body: string, field: string][] = [
  ['POST /iam/v2beta1/groups', '{', 'body'],
  ['POST /iam/v2beta1/groups', '[]', 'body'],
  ['POST /iam/v2beta1/groups', '{"nope":1}', 'nope'],
  ['POST /iam/v2beta1/groups', '{"name":1}', 'name'],
  ['PATCH /iam/v2beta1/groups/ab', '{"nope":1}', 'nope'],
  ['PATCH /iam/v2beta1/groups/ab?updateMask=*', '{"nope":1}', 'nope'],
  ['PATCH /iam/v2beta1/identities/ab?updateMask=claim_match', '{"claimMatch":{"nope":1}}', 'claimMatch.nope'],
  ['PATCH /iam/v2beta1/groups/ab?updateMask=name', '{', 'body'],
  ['GET /iam/v2beta1/groups?nope=1', '', 'nope'],
  ['GET /iam/v2beta1/groups/ab?name=x', '', 'name'],
  ['DELETE /iam/v2beta1/groups/ab?force=true', '', 'force'],
  ['POST /iam/v2beta1/groups/ab?validate_only=true', '{}', 'validate_only'],
  ['PATCH /iam/v2beta1/groups/ab?updateMask=a&update_mask=b', '{}', 'updateMask'],
  ['GET /iam/v2beta1/groups?pageSize=x', '', 'page_size'],
  ['GET /iam/v2beta1/groups?uidp=x', '', 'uidp'],
  ['GET /iam/v2beta1/groups?name=%zz', '', 'query'],
  ['GET /iam/v2beta1/groups/%zz', '', 'path'],
]
for (const [line, body, field] of refusals) {
  test(`${line} ${body} is rejected`, async () => {
    const { call, seen } = gateway()
    const reply = await call(line, { body })
    assert.equal(reply.status, 400)
    assert.equal(reply.json.code, 3)
    assert.deepEqual(
      reply.json.details.map((detail: { '@type': string }) => detail['@type'].split('.').at(-1)),
      ['ErrorInfo', 'BadRequest'],
    )
    assert.equal(violation(reply.json).field ?? '', field)
    assert.equal(seen.length, 0)
  })
}

test('with a mask, members that it does not name are ignored, known or not, valid or not', async () => {
  const { call, seen } = gateway()
  const body = JSON.stringify({ name: 'n', description: 5, nope: { x: 1 } })
  assert.equal((await call('PATCH /iam/v2beta1/groups/ab?updateMask=name', { body })).status, 200)
  const claims = JSON.stringify({ claimMatch: { issuer: 'https://i.example', nope: 1 }, name: [] })
  const masked = 'PATCH /iam/v2beta1/identities/ab?updateMask=claim_match.issuer'
  assert.equal((await call(masked, { body: claims })).status, 200)
  assert.deepEqual(
    seen.map(({ message }) => message as unknown),
    [
      create(UpdateGroupRequestSchema, { group: { uid: 'ab', name: 'n' }, updateMask: { paths: ['name'] } }),
      create(UpdateIdentityRequestSchema, {
        identity: {
          uid: 'ab',
          relationship: {
            case: 'claimMatch',
            value: { iss: { case: 'issuer', value: 'https://i.example' } },
          },
        },
        updateMask: { paths: ['claim_match.issuer'] },
      }),
    ],
  )
})

test('an unknown path is 404 with code 5', async () => {
  const reply = await gateway().call('GET /iam/v2beta1/nothing')
  assert.deepEqual([reply.status, reply.json.code, reply.json.details.length], [404, 5, 1])
  assert.deepEqual(
    [reply.json.details[0].reason, reply.json.details[0].domain],
    ['NOT_FOUND', 'api.example.com'],
  )
})

test('a wrong method is 405 with code 12 and the methods that are answered', async () => {
  const reply = await gateway().call('PUT /iam/v2beta1/groups')
  assert.deepEqual([reply.status, reply.json.code], [405, 12])
  // Without a uid there is nothing to change or delete, and only an organization has no parent.
  assert.equal(reply.headers['allow'], 'GET, HEAD, POST')
  const allowAt = async (path: string) => (await gateway().call(`PUT ${path}`)).headers['allow']
  assert.equal(await allowAt('/iam/v2beta1/identities'), 'GET, HEAD')
  assert.equal(await allowAt('/iam/v2beta1/groups/ab'), 'DELETE, GET, HEAD, PATCH, POST')
})

test('the token is checked after the route and before anything else', async () => {
  const order: string[] = []
  const authorizeHeaders = (method: DescMethod): never => {
    order.push(method.name)
    throw unauthenticated('no token')
  }
  const { call } = gateway({ authorizeHeaders })
  assert.equal((await call('GET /iam/v2beta1/nothing')).status, 404)
  assert.equal((await call('POST /iam/v2beta1/groups', { body: '{' })).status, 401)
  assert.deepEqual(order, ['CreateGroup'])
  const late = gateway({
    authorizeHeaders: async () => authorizeHeaders(groups.services[0]!.methods[0]!),
  })
  assert.equal((await late.call('POST /iam/v2beta1/groups', { body: '{' })).status, 401)
})

test('a challenge says whether a token was presented', async () => {
  const { call } = gateway({
    authorizeHeaders: allowAll(async () => Promise.reject(unauthenticated('bad token'))),
  })
  const without = await call('GET /iam/v2beta1/groups')
  assert.deepEqual([without.status, without.json.code], [401, 16])
  assert.equal(without.headers['www-authenticate'], 'Bearer realm="api.example.com"')
  const presented = await call('GET /iam/v2beta1/groups', { headers: { authorization: 'Bearer x' } })
  assert.equal(presented.headers['www-authenticate'], 'Bearer realm="api.example.com", error="invalid_token"')
})

test('errors of the services are passed on', async () => {
  const missing = await gateway({
    authorizeHeaders: allowAll(async () => Promise.reject(notFound('iam.chainguard.dev/Group', 'ab'))),
  }).call('GET /iam/v2beta1/groups/ab')
  assert.deepEqual([missing.status, missing.json.details[1].resourceName], [404, 'ab'])
  const busy = await gateway({
    authorizeHeaders: allowAll(async () => Promise.reject(unavailable('busy', 1500))),
  }).call('GET /iam/v2beta1/groups/ab')
  assert.deepEqual([busy.status, busy.headers['retry-after']], [503, '2'])
})

test('an error may have an HTTP status of its own', async () => {
  const handler = createRestHandler({
    authorizeHeaders: allowAll(async () => group),
    services: groups.services,
    errorDomain: 'x',
    log: { error: () => undefined },
  })
  const tooLarge = new ApiError(Code.INVALID_ARGUMENT, 'Invalid argument: too large', { httpStatus: 413 })
  const body = () => Promise.reject(tooLarge)
  const reply = await handler({
    method: 'POST',
    isHead: false,
    url: '/iam/v2beta1/groups',
    headers: {},
    address: '',
    id: 'r',
    body,
    stream: notStreamed,
  })
  assert.deepEqual([reply.status, parsed(reply).code], [413, 3])
})

test('violations name fields as the caller spelled them', async () => {
  const error = invalidArgument('claimMatch.subjectPattern', 'is bad')
  const { call } = gateway({ authorizeHeaders: allowAll(async () => Promise.reject(error)) })
  const path = 'POST /iam/v2beta1/identities/ab'
  const proto = await call(path, { body: '{"claim_match":{"subject_pattern":"x"}}' })
  assert.equal(violation(proto.json).field, 'claim_match.subject_pattern')
  assert.equal(proto.json.message, 'Invalid argument: claim_match.subject_pattern: is bad')
  const json = await call(path, { body: '{"claimMatch":{"subjectPattern":"x"}}' })
  assert.equal(violation(json.json).field, 'claimMatch.subjectPattern')
  const absent = await call(path, { body: '{}' })
  assert.equal(violation(absent.json).field, 'claimMatch.subjectPattern')
})

test('violations of the mask and of lists name the parameter of the specification', async () => {
  const error = invalidArguments([{ field: 'update_mask', description: 'is bad' }])
  const mask = await gateway({ authorizeHeaders: allowAll(async () => Promise.reject(error)) }).call(
    'PATCH /iam/v2beta1/groups/ab?update_mask=x',
    { body: '{}' },
  )
  assert.equal(violation(mask.json).field, 'updateMask')
  assert.equal(mask.json.message, 'Invalid argument: updateMask: is bad')
  const page = await gateway({
    authorizeHeaders: allowAll(async () => Promise.reject(invalidArgument('page_size', 'is bad'))),
  }).call('GET /iam/v2beta1/groups?pageSize=-1')
  assert.equal(violation(page.json).field, 'page_size')
})

test('an unexpected failure is logged and reveals only the request id to the caller', async () => {
  const secret = new Error('secret')
  const failures: Dispatch[] = [
    async () => Promise.reject(secret),
    () => {
      throw secret
    },
    async () => ({ $typeName: 'x', groups: 5 }) as Message,
  ]
  for (const dispatch of failures) {
    const { call, logged } = gateway({ authorizeHeaders: allowAll(dispatch) })
    const reply = await call('GET /iam/v2beta1/groups')
    assert.deepEqual([reply.status, reply.json.code], [500, 13])
    assert.match(reply.json.message, /request r1/)
    assert.doesNotMatch(String(reply.body), /secret/)
    assert.equal(logged.length, 1)
  }
})

test('a handler that takes too long is given up with code 4 (handlerTimeoutMs)', async () => {
  const { call } = gateway({ authorizeHeaders: allowAll(() => new Promise(() => {})), handlerTimeoutMs: 20 })
  const reply = await call('GET /iam/v2beta1/groups')
  assert.deepEqual([reply.status, reply.json.code], [504, 4])
})

test('a request is aborted only when its handler takes too long, also if another one started with it', async () => {
  const waiting = new RequestContext()
  const short = new RequestContext()
  const { call } = gateway({
    authorizeHeaders: allowAll(async () => {
      if (currentContext() === waiting) await new Promise(() => {})
      return create(ListGroupsResponseSchema)
    }),
    handlerTimeoutMs: 20,
  })
  const start = (context: RequestContext) => runInContext(context, () => call('GET /iam/v2beta1/groups'))
  const replies = await Promise.all([start(short), start(waiting)])
  assert.deepEqual(
    replies.map(({ status }) => status),
    [200, 504],
  )
  assert.deepEqual([short.aborted, waiting.aborted?.code], [undefined, Code.DEADLINE_EXCEEDED])
})

test('pages of other origins are allowed only when they are listed', async () => {
  const { call } = gateway({}, ['https://console.example.com'])
  const from = (origin: string) => ({ headers: { origin, 'access-control-request-method': 'PATCH' } })
  const preflight = await call('OPTIONS /iam/v2beta1/groups', from('https://console.example.com'))
  assert.deepEqual(
    [preflight.status, preflight.headers['access-control-allow-origin']],
    [204, 'https://console.example.com'],
  )
  assert.match(preflight.headers['access-control-allow-headers']!, /authorization/)
  const foreign = await call('OPTIONS /iam/v2beta1/groups', from('https://evil.example.com'))
  assert.deepEqual([foreign.status, foreign.headers['access-control-allow-origin']], [405, undefined])
  const listed = await call('GET /iam/v2beta1/groups', from('https://console.example.com'))
  assert.equal(listed.headers['access-control-allow-origin'], 'https://console.example.com')
  const other = await call('GET /iam/v2beta1/groups', from('https://evil.example.com'))
  assert.deepEqual(
    [other.status, other.headers['access-control-allow-origin'], other.headers['vary']],
    [200, undefined, 'origin'],
  )
  const off = await gateway().call('GET /iam/v2beta1/groups', from('https://console.example.com'))
  assert.deepEqual([off.headers['access-control-allow-origin'], off.headers['vary']], [undefined, undefined])
})

test('the routes of the whole product fit together', () => {
  const services = contractFiles.flatMap((file) => file.services)
  assert.doesNotThrow(() => gateway({ services }))
})

/** Nothing of the REST API is read as it comes. */
function notStreamed(): never {
  throw new Error('the body was not to be streamed')
}
