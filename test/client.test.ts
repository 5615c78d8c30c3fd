import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type BerthClient, BerthError, type ClientOptions, createBerthClient } from '@berth/client/berth.ts'
import { operations } from '@berth/client/generated/operations.ts'
import type { Operation } from '@berth/client/operation.ts'
import { currentFiles } from '@berth/contract/schema-files.ts'
import { routesOf } from '@berth/server/gateway/rest/routes.ts'
import { claimMatch, managedRole, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import type { Cleanup } from './support/server/process.ts'
import { startIssuer } from './support/tokens/issuer.ts'

/** The client of client/, against the server it is for, and against servers that fail. */

async function failure(call: Promise<unknown>): Promise<BerthError> {
  try {
    await call
  } catch (error) {
    if (error instanceof BerthError) return error
    throw error
  }
  assert.fail('the call did not fail')
}

test('every method of the contract is in the client, with its verb and its path', () => {
  const shape = (verb: string, path: string) => `${verb} ${path.replace(/\{[^}]*\}/g, '{}')}`
  const methods = currentFiles.flatMap((file) => file.services).flatMap((service) => service.methods)
  const routes = routesOf(currentFiles.flatMap((file) => file.services))
  const wanted = methods.map((method) => {
    const route = routes.find((candidate) => candidate.method === method)
    return shape(route?.httpMethod ?? '', route?.template.text ?? '')
  })
  const offered = Object.values(operations)
    .flatMap((service) => Object.values<Operation>(service))
    .map(({ verb, path }) => shape(verb, path))
  assert.deepEqual(offered.sort(), wanted.sort())
})

onEveryDatabase(
  'the client',
  (cast) => {
    const clientOf = (token: string | undefined, options: Partial<ClientOptions> = {}) =>
      createBerthClient({ baseUrl: cast().berth.url, token, ...options })
    const owner = async () => {
      const { uid, owner } = await cast().organization()
      return { uid, client: clientOf(owner.api.token) }
    }

    test('groups: create, get, update with a version, list, delete', async () => {
      const admin = clientOf(cast().admin.token)
      const organization = await admin.groups.create('', { name: newName('client') })
      const group = await admin.groups.create(organization.uid, { name: 'team', description: 'one' })
      assert.deepEqual(await admin.groups.get(group.uid), group)

      const read = await admin.groups.get(group.uid).withResponse()
      assert.deepEqual([read.value, read.status], [group, 200])
      assert.match(read.requestId ?? '', /./)
      cast().berth.advance(5)
      const changed = await admin.groups.update(group.uid, { description: 'two' }, { ifMatch: read.etag })
      assert.deepEqual([changed.name, changed.description], ['team', 'two'])
      const stale = await failure(
        admin.groups.update(group.uid, { description: 'three' }, { ifMatch: read.etag }),
      )
      assert.deepEqual(
        [stale.status, stale.codeName, stale.preconditionViolations[0]?.type],
        [412, 'FAILED_PRECONDITION', 'ETAG_MISMATCH'],
      )
      const masked = await admin.groups.update(
        group.uid,
        { name: 'squad', description: 'three' },
        { updateMask: ['description'] },
      )
      assert.deepEqual([masked.name, masked.description], ['team', 'three'])
      // What was read can be sent back as it is.
      assert.equal((await admin.groups.update(group.uid, { ...masked, name: 'squad' })).name, 'squad')

      const listed = await admin.groups.list({ uidp: { childrenOf: organization.uid }, orderBy: 'name desc' })
      assert.deepEqual([listed.groups.map(({ uid }) => uid), listed.totalCount], [[group.uid], '1'])
      assert.equal(await admin.groups.delete(group.uid, { ifMatch: '*' }), undefined)
      const gone = await failure(admin.groups.get(group.uid))
      assert.deepEqual(
        [gone.status, gone.code, gone.resource],
        [404, 5, { resourceType: 'iam.chainguard.dev/Group', resourceName: group.uid, description: '' }],
      )
    })

    test('identities, roles, role bindings and repos', async () => {
      const { uid, client } = await owner()
      const identity = await client.identities.create(uid, { name: 'robot', claimMatch })
      assert.equal((await client.identities.get(identity.uid)).claimMatch?.issuer, claimMatch.issuer)
      const subject = { claimMatch: { ...claimMatch, subject: 'other' } }
      assert.equal(
        (await client.identities.update(identity.uid, subject)).claimMatch?.subject,
        subject.claimMatch.subject,
      )
      const found = await client.identities.list({ name: 'robot', uidp: { descendantsOf: uid } })
      assert.deepEqual(
        found.identities.map((one) => one.uid),
        [identity.uid],
      )

      const role = await client.roles.create(uid, { name: 'reader', capabilities: ['CAP_REPO_LIST'] })
      assert.deepEqual((await client.roles.get(role.uid)).capabilities, ['CAP_REPO_LIST'])
      assert.equal((await client.roles.update(role.uid, { description: 'reads' })).description, 'reads')
      const names = (await client.roles.list({ uidp: { childrenOf: uid } })).roles.map(({ name }) => name)
      assert.deepEqual(names, ['reader'])

      const binding = await client.roleBindings.create(uid, { identityUid: identity.uid, roleUid: role.uid })
      assert.equal((await client.roleBindings.get(binding.uid)).role?.name, 'reader')
      const viewer = { roleUid: managedRole('viewer') }
      assert.equal((await client.roleBindings.update(binding.uid, viewer)).role?.name, 'viewer')
      const { roleBindings } = await client.roleBindings.list({ uidp: { childrenOf: uid } })
      assert.ok(roleBindings.some((one) => one.uid === binding.uid))
      await client.roleBindings.delete(binding.uid)
      await client.roles.delete(role.uid)
      await client.identities.delete(identity.uid)

      const repo = await client.repos.create(uid, { name: 'app' })
      assert.equal((await client.repos.get(repo.uid)).name, 'app')
      assert.equal((await client.repos.update(repo.uid, { name: 'application' })).name, 'application')
      assert.equal((await client.repos.list({ uidp: { childrenOf: uid } })).repos.length, 1)
      await client.repos.delete(repo.uid)
    })

    test('ping needs no token, and a workload signs in with its own', async (t) => {
      const anybody = clientOf(undefined)
      assert.deepEqual(await anybody.ping.ping(), { response: 'pong' })
      const refused = await failure(anybody.groups.list())
      assert.deepEqual(
        [refused.status, refused.codeName, refused.reason],
        [401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'],
      )

      const { uid, client } = await owner()
      const issuer = await startIssuer(t)
      const { url } = cast().berth
      const { uid: identity } = await client.identities.create(uid, {
        name: 'workload',
        claimMatch: { issuer: issuer.name, subject: 'me' },
      })
      await client.roleBindings.create(uid, { identityUid: identity, roleUid: managedRole('viewer') })
      const { token, expiry } = await anybody.securityToken.exchange(
        { aud: [url], identity },
        { token: await issuer.sign({ sub: 'me', aud: url }) },
      )
      assert.ok(Date.parse(expiry ?? '') > Date.now())
      assert.equal((await clientOf(token).groups.get(uid)).uid, uid)
    })

    test('an iterator gives the items of all pages, and asks for a page when it comes to it', async () => {
      const { uid } = await owner()
      const urls: URL[] = []
      const client = clientOf(cast().admin.token, {
        fetch: (url, init) => {
          urls.push(new URL(url))
          return fetch(url, init)
        },
      })
      for (const name of ['a', 'b', 'c', 'd', 'e']) await client.repos.create(uid, { name })
      const filter = { uidp: { childrenOf: uid }, orderBy: 'name' } as const
      const names = async (pageSize: number) => {
        urls.length = 0
        const seen: string[] = []
        for await (const { name } of client.repos.all({ ...filter, pageSize })) seen.push(name)
        return [seen.join(''), urls.length]
      }
      assert.deepEqual(await names(2), ['abcde', 3])
      assert.deepEqual(await names(5), ['abcde', 1])
      urls.length = 0
      for await (const { name } of client.repos.all(filter)) {
        assert.equal(name, 'a')
        break
      }
      assert.deepEqual(
        urls.map(({ searchParams }) => searchParams.get('pageSize')),
        ['200'],
      )
      for await (const _ of client.repos.all({ ...filter, name: 'none' })) assert.fail('there is none')
    })

    test('errors have their details', async () => {
      const { uid, client } = await owner()
      const bad = await failure(client.groups.create(uid, { name: 'No' }))
      assert.deepEqual([bad.status, bad.codeName], [400, 'INVALID_ARGUMENT'])
      assert.deepEqual(
        bad.fieldViolations.map(({ field }) => field),
        ['name'],
      )
      assert.deepEqual([bad.domain, bad.message.startsWith('Invalid argument: name')], ['127.0.0.1', true])
      await client.groups.create(uid, { name: 'child' })
      const full = await failure(client.groups.delete(uid))
      assert.deepEqual([full.code, full.preconditionViolations[0]?.type], [9, 'RESOURCE_NOT_EMPTY'])
      const stranger = await owner()
      assert.equal((await failure(stranger.client.groups.get(uid))).codeName, 'PERMISSION_DENIED')
      assert.equal(
        (await failure(stranger.client.groups.get(uid).withResponse())).codeName,
        'PERMISSION_DENIED',
      )
    })

    test('a create with one key happens once, however often it is sent', async () => {
      const { uid, client } = await owner()
      const create = (idempotencyKey: string) =>
        client.repos.create(uid, { name: newName('r') }, { idempotencyKey })
      const name = newName('r')
      const [first, again] = [
        await client.repos.create(uid, { name }, { idempotencyKey: name }),
        await client.repos.create(uid, { name }, { idempotencyKey: name }),
      ]
      assert.deepEqual(again, first)
      assert.equal((await failure(create(name))).preconditionViolations[0]?.type, 'IDEMPOTENCY_KEY_REUSED')
      // Without one, each call is a create of its own.
      assert.equal((await failure(client.repos.create(uid, { name }))).codeName, 'ALREADY_EXISTS')
    })

    test('a uid that would lead to another path is sent nowhere', async () => {
      const { client } = await owner()
      for (const uid of ['', '/', '..', 'a/../b', 'a//b', '.']) {
        await assert.rejects(client.groups.delete(uid), TypeError)
        await assert.rejects(client.identities.create(uid, { name: 'x' }), TypeError)
      }
      assert.equal((await failure(client.groups.get('a b?c#d%2e'))).codeName, 'INVALID_ARGUMENT')
      assert.equal(
        (await failure(client.images.getSize({ repoUid: 'no uid', digest: 'sha256:0' }))).codeName,
        'INVALID_ARGUMENT',
      )
    })
  },
  { only: 'sqlite' },
)

type Answer = (request: IncomingMessage, response: ServerResponse) => void

interface Failing {
  readonly client: BerthClient
  /** What was asked so far. */
  readonly requests: IncomingMessage[]
}

/** A server that answers the requests in turn, the last one for ever. */
async function failing(
  t: Cleanup,
  answers: readonly Answer[],
  options: Partial<ClientOptions> = {},
): Promise<Failing> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answers[Math.min(requests.length, answers.length) - 1]?.(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { client: createBerthClient({ baseUrl, token: 't', ...options }), requests }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
const ok = json(200, { uid: 'u', response: 'pong' })
const busy = json(503, { code: 14, message: 'Unavailable: busy', details: [] }, { 'retry-after': '0' })
const limited = json(429, { code: 8, message: 'Resource exhausted', details: [] }, { 'retry-after': '0' })
const usedUp = json(429, { code: 8, message: 'Resource exhausted: no more groups', details: [] })
const cut: Answer = (request) => request.socket.destroy()
const cutInBody: Answer = (request, response) => {
  response.writeHead(200, { 'content-length': '100' })
  response.write('{', () => request.socket.destroy())
}

const repeated: readonly [what: string, call: (client: BerthClient) => Promise<unknown>][] = [
  ['a get', (client) => client.groups.get('u')],
  ['a list', (client) => client.groups.list()],
  ['a delete', (client) => client.groups.delete('u')],
  ['a create', (client) => client.groups.create('u', { name: 'n' })],
  ['a batch create', (client) => client.roleBindings.batchCreate({ parent: 'u', requests: [] })],
  ['an update of a version', (client) => client.groups.update('u', { name: 'n' }, { ifMatch: 'W/"1"' })],
  ['an exchange', (client) => client.securityToken.exchange({ aud: ['a'] })],
]
for (const [what, call] of repeated) {
  for (const [why, answer] of Object.entries({ busy, limited, cut, cutInBody })) {
    test(`${what} is sent again when it was ${why}`, async (t) => {
      const { client, requests } = await failing(t, [answer, ok])
      await call(client)
      assert.equal(requests.length, 2)
      const [first, second] = requests.map(({ method, url, headers }) => [
        method,
        url,
        headers['idempotency-key'],
        headers['if-match'],
      ])
      assert.deepEqual(first, second)
    })
  }
}

const single: readonly [what: string, call: (client: BerthClient) => Promise<unknown>][] = [
  ['an update of whatever version', (client) => client.groups.update('u', { name: 'n' })],
  ['an acceptance of an invite', (client) => client.invitations.acceptGroupInvite({ code: 'c' })],
]
for (const [what, call] of single) {
  for (const [why, answer] of Object.entries({ busy, limited, cut })) {
    test(`${what} is sent once, also when it was ${why}`, async (t) => {
      const { client, requests } = await failing(t, [answer, ok])
      await failure(call(client))
      assert.equal(requests.length, 1)
    })
  }
}

test('each create has a key of its own', async (t) => {
  const { client, requests } = await failing(t, [ok])
  await client.groups.create('u', { name: 'n' })
  await client.groups.create('u', { name: 'n' })
  const keys = requests.map(({ headers }) => String(headers['idempotency-key']))
  assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/)
  assert.notEqual(keys[0], keys[1])
})

test('attempts are bounded, and the last failure is reported', async (t) => {
  const { client, requests } = await failing(t, [busy], { retries: 2 })
  const error = await failure(client.groups.get('u'))
  assert.deepEqual([requests.length, error.status, error.retryDelayMs], [3, 503, 0])
  const never = await failing(t, [busy], { retries: 0 })
  await failure(never.client.groups.get('u'))
  assert.equal(never.requests.length, 1)
})

test('what time does not mend is not sent again', async (t) => {
  const refusals = [
    usedUp,
    json(400, { code: 3, message: 'm', details: [] }),
    json(500, { code: 13, message: 'm', details: [] }),
    json(409, { code: 6, message: 'm', details: [] }),
    json(503, { code: 14, message: 'm', details: [] }, { 'retry-after': '3600' }),
  ]
  for (const refusal of refusals) {
    const { client, requests } = await failing(t, [refusal, ok])
    await failure(client.groups.get('u'))
    assert.equal(requests.length, 1)
  }
})

test('a delete that was carried out unheard has succeeded; one of nothing has not', async (t) => {
  const missing = json(404, { code: 5, message: 'Not found', details: [] })
  const unheard = await failing(t, [cut, missing])
  assert.equal(await unheard.client.groups.delete('u'), undefined)
  const none = await failing(t, [limited, missing])
  assert.equal((await failure(none.client.groups.delete('u'))).status, 404)
  const read = await failing(t, [cut, missing])
  assert.equal((await failure(read.client.groups.get('u'))).status, 404)
})

test('an unreachable server is distinguished by status 0', async () => {
  const client = createBerthClient({ baseUrl: 'http://127.0.0.1:1', retries: 0 })
  const error = await failure(client.ping.ping())
  assert.deepEqual([error.status, error.codeName], [0, 'UNAVAILABLE'])
  assert.match(error.message, /127\.0\.0\.1:1/)
  assert.ok(error.cause instanceof Error)
})

test('answers of others are errors too', async (t) => {
  const html =
    (status: number): Answer =>
    (_, response) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>hello</h1>')
    }
  for (const [status, codeName] of [
    [502, 'UNAVAILABLE'],
    [418, 'UNKNOWN'],
    [200, 'UNKNOWN'],
  ] as const) {
    const { client } = await failing(t, [html(status)])
    const error = await failure(client.groups.get('u'))
    assert.deepEqual([error.status, error.codeName, error.details], [status, codeName, []])
  }
  const elsewhere: Answer = (_, response) => {
    response.writeHead(302, { location: '/other' }).end()
  }
  const { client, requests } = await failing(t, [elsewhere], { retries: 0 })
  assert.equal((await failure(client.groups.get('u'))).status, 0)
  assert.equal(requests.length, 1)
})

test('the token is asked for before each attempt', async (t) => {
  let count = 0
  const token = async () => `t${++count}`
  const { client, requests } = await failing(t, [busy, ok], { token })
  await client.groups.get('u')
  await client.groups.get('u', { token: 'own' })
  assert.deepEqual(
    requests.map(({ headers }) => headers.authorization),
    ['Bearer t1', 'Bearer t2', 'Bearer own'],
  )
})

test('a signal ends a call while it waits for an answer, for its turn, or before it is sent', async (t) => {
  const reason = new Error('enough')
  const silent: Answer = () => undefined
  for (const own of [true, false]) {
    for (const answer of [silent, json(503, {}, { 'retry-after': '30' })]) {
      const controller = new AbortController()
      const { signal } = controller
      const asked: Answer = (request, response) => {
        answer(request, response)
        // The answer, where there is one, arrives before the signal does.
        setTimeout(() => controller.abort(reason), 20)
      }
      const { client, requests } = await failing(t, [asked], own ? {} : { signal })
      const options = own ? { signal } : { signal: new AbortController().signal }
      await assert.rejects(client.groups.get('u', options), reason)
      await assert.rejects(client.groups.get('u', options), reason)
      assert.equal(requests.length, 1)
    }
  }
})

test('the compiler refuses what the API would not take, and what it does not give', () => {
  // Never called: what it says is said to the compiler.
  const never = async (client: BerthClient) => {
    const group = await client.groups.get('u')
    const name: string = group.name
    const created: string | undefined = group.createTime
    // @ts-expect-error a message that is not set is left out
    const sure: string = group.createTime
    const { totalCount } = await client.groups.list()
    // @ts-expect-error 64-bit integers are text
    const count: number | undefined = totalCount
    // @ts-expect-error there is no such field
    await client.groups.create('u', { name: 'n', nickname: 'x' })
    // @ts-expect-error a name is required
    await client.groups.create('u', { description: 'd' })
    // @ts-expect-error the server alone sets it
    await client.groups.create('u', { name: 'n', createTime: '2025-01-01T00:00:00Z' })
    // @ts-expect-error a patch has the fields of the resource
    await client.groups.update('u', { nickname: 'x' })
    // @ts-expect-error an enum has its names
    await client.roles.create('u', { name: 'n', capabilities: ['CAP_NOPE'] })
    // @ts-expect-error a filter has the fields of the request
    await client.groups.list({ nickname: 'x' })
    // @ts-expect-error the pages are the iterator's own affair
    client.groups.all({ pageToken: 't' })
    // @ts-expect-error a get has no version to match
    await client.groups.get('u', { ifMatch: '*' })
    // @ts-expect-error tags are not updated
    await client.tags.update('u', {})
    return [name, created, sure, count]
  }
  assert.equal(typeof never, 'function')
})
