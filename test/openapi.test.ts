import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { contractFiles } from '@berth/contract/schema-files.ts'
import { routesOf } from '@berth/server/gateway/rest/routes.ts'
import { auditExportPath } from '@berth/server/reference/audit-export.ts'
import { readComments } from '@berth/server/reference/comments.ts'
import { publishedAdvisories } from '@berth/server/reference/published-advisories.ts'
import { serverEndpoints } from '@berth/server/reference/server-endpoints.ts'
import { Validator } from '@seriousme/openapi-schema-validator'
import { assertDescribed, describeServedApi, pointerTo, schemaChecks } from './support/api/openapi.ts'
import { assertGolden } from './support/golden.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** A file of the page: plain JavaScript, which browsers load. */
const { toOpenApi30 } = (await import(import.meta.resolve('@berth/server/reference/page/openapi-30.js'))) as {
  // Shaped like the description, with the members that have another form in 3.0.
  toOpenApi30: <T extends object>(description: T) => T
}

const version = '0.0.0'
const { document, operations } = describeServedApi('https://berth.example.com', version)
const everyOperation = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
)

test('the description is the one on record', () => {
  assertGolden('openapi.json', `${JSON.stringify(document, null, 1)}\n`)
})

test('the description is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const result = await validator.validate(structuredClone(document) as never)
  assert.deepEqual(result, { valid: true })
  assert.equal(validator.version, '3.1')
})

test('its form for the page is valid OpenAPI 3.0, and has all of its operations, members, references and examples', async () => {
  const shown = toOpenApi30(structuredClone(document))
  const validator = new Validator()
  assert.deepEqual(await validator.validate(structuredClone(shown) as never), { valid: true })
  assert.equal(validator.version, '3.0')
  const facts = factsOf(document)
  assert.ok(facts.length > 5000, String(facts.length))
  assert.deepEqual(factsOf(shown), facts)
})

/** What a description says that no form of it may lose, each with its path. */
function factsOf(description: object): string[] {
  const facts = new Set<string>()
  const visit = (value: unknown, path: string, name: string) => {
    if (
      ['example', 'operationId', 'required', 'summary', 'pattern'].includes(name) &&
      !path.endsWith('/properties')
    )
      facts.add(`${path} ${name} ${JSON.stringify(value)}`)
    // A reference may be in another place.
    else if (name === '$ref') facts.add(`${path.replace(/\/schemas\/([^/]*)\/.*/, '/schemas/$1')} ${value}`)
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) {
        if (name === 'properties') facts.add(`${path} ${key}`)
        if (key !== 'propertyNames')
          visit(member, /^(oneOf|allOf|\d+)$/.test(name) ? path : `${path}/${name}`, key)
      }
  }
  visit(description, '', '')
  return [...facts].sort()
}

test('the page shows what can be null, what is constant, and texts beside references', () => {
  const shown = toOpenApi30({
    openapi: '3.1.0',
    info: { title: 't', version: '1', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    properties: {
      default: { type: ['string', 'null'], description: 'text' },
      type: { oneOf: [{ $ref: '#/a' }, { type: 'null' }], description: 'reference' },
      time: { oneOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
      kind: { const: 'x' },
      bytes: { type: 'string', contentEncoding: 'base64' },
      noBytes: { type: ['string', 'null'], contentEncoding: 'base64' },
      list: { type: 'array', prefixItems: [{ $ref: '#/a' }], items: { oneOf: [{ $ref: '#/b' }] } },
      other: { $ref: '#/b', description: 'beside' },
      plain: { $ref: '#/c' },
      example: { type: 'object', propertyNames: { pattern: 'x' }, example: { type: ['data', 'null'] } },
    },
  })
  assert.deepEqual(shown.properties, {
    default: { type: 'string', description: 'text', nullable: true },
    type: { allOf: [{ $ref: '#/a' }], description: 'reference', nullable: true },
    time: { type: 'string', format: 'date-time', nullable: true },
    kind: { enum: ['x'] },
    bytes: { type: 'string', format: 'byte' },
    noBytes: { type: 'string', format: 'byte', nullable: true },
    list: { type: 'array', items: { oneOf: [{ $ref: '#/a' }, { $ref: '#/b' }] } },
    other: { allOf: [{ $ref: '#/b' }], description: 'beside' },
    plain: { $ref: '#/c' },
    example: { type: 'object', example: { type: ['data', 'null'] } },
  })
  assert.deepEqual(shown.info.license as object, {
    name: 'Apache-2.0',
    url: 'https://spdx.org/licenses/Apache-2.0.html',
  })
})

test('a form of a schema that the page cannot show is an error', () => {
  const forms = [
    { type: ['string', 'integer', 'null'] },
    { oneOf: [{ $ref: '#/a' }, { $ref: '#/b' }, { type: 'null' }] },
    { type: 'string', contentEncoding: 'base32' },
  ]
  for (const form of forms)
    assert.throws(
      () =>
        toOpenApi30({ info: { title: 't', version: '1', license: { name: 'x', identifier: 'x' } }, form }),
      /has no form in OpenAPI 3\.0/,
      JSON.stringify(form),
    )
})

test('every route of the server is described, and nothing else is', () => {
  const services = contractFiles.flatMap((file) => file.services)
  const routes = routesOf(services).map(({ httpMethod, template }) => `${httpMethod} ${template.text}`)
  const described = operations.map(({ route }) => `${route.httpMethod} ${route.template.text}`)
  assert.deepEqual([...new Set(described)].sort(), routes.sort())

  const placed = [
    ...operations.map(({ path, httpMethod }) => `${httpMethod} ${path}`),
    ...Object.keys({ ...serverEndpoints, ...publishedAdvisories }).map((path) => `get ${path}`),
    `get ${auditExportPath}`,
  ]
  assert.deepEqual(everyOperation.map(({ path, method }) => `${method} ${path}`).sort(), placed.sort())
})

test('operations have names of their own, and a create that needs no parent is found without one', () => {
  const names = everyOperation.map(({ operation }) => operation.operationId)
  assert.equal(new Set(names).size, names.length)
  assert.equal(document.paths['/iam/v2beta1/groups']?.['post']?.operationId, 'CreateGroupAtRoot')
  assert.equal(document.paths['/iam/v2beta1/groups/{uid}']?.['post']?.operationId, 'CreateGroup')
})

test('every operation, parameter, member and value is explained', () => {
  const bare: string[] = []
  const explained = (name: string, text: string | undefined) => {
    if (text === undefined || text.trim() === '') bare.push(name)
  }
  for (const { operation } of everyOperation) {
    explained(operation.operationId, operation.summary)
    for (const parameter of operation.parameters ?? [])
      if ('name' in parameter) explained(`${operation.operationId} ${parameter.name}`, parameter.description)
  }
  for (const [name, { description, properties }] of Object.entries(document.components.schemas)) {
    explained(name, description)
    for (const [member, schema] of Object.entries(properties ?? {}))
      if (schema.const === undefined) explained(`${name}.${member}`, schema.description)
  }
  for (const { name, description } of document.tags) explained(name, description)
  assert.deepEqual(bare, [])
  // What the schema of the reader would see as a hole: an element without its comment.
  const comments = readComments()
  for (const file of contractFiles)
    for (const service of file.services) explained(service.typeName, comments.of(service))
})

test('texts spell names as REST does: members in lowerCamelCase, parameters as in the query', () => {
  const list = document.paths['/iam/v2beta1/groups']?.['get']
  const token = list?.parameters?.find((parameter) => 'name' in parameter && parameter.name === 'page_token')
  assert.match(JSON.stringify(token), /`nextPageToken`/)
  const identity = document.components.schemas['Identity.ClaimMatch']
  assert.match(identity?.description ?? '', /`issuerPattern`/)
})

test('every example is valid against its schema', () => {
  const checks = schemaChecks(document)
  const problems: string[] = []
  let count = 0
  const check = (example: unknown, ...at: (string | number)[]) => {
    if (example === undefined) return
    count += 1
    const wrong = checks.problems(pointerTo(...at), example)
    if (wrong !== '') problems.push(`${at.join(' ')}: ${wrong}`)
  }
  for (const { path, method, operation } of everyOperation) {
    const at = ['paths', path, method]
    for (const [type, { example }] of Object.entries(operation.requestBody?.content ?? {}))
      check(example, ...at, 'requestBody', 'content', type, 'schema')
    for (const [status, answer] of Object.entries(operation.responses)) {
      const content = 'content' in answer ? answer.content : undefined
      for (const [type, { example }] of Object.entries(content ?? {}))
        check(example, ...at, 'responses', status, 'content', type, 'schema')
    }
    for (const [index, parameter] of (operation.parameters ?? []).entries())
      if ('example' in parameter) check(parameter.example, ...at, 'parameters', index, 'schema')
  }
  for (const [name, answer] of Object.entries(document.components.responses))
    for (const [type, { example }] of Object.entries(answer.content ?? {}))
      check(example, 'components', 'responses', name, 'content', type, 'schema')
  assert.deepEqual(problems, [])
  assert.ok(count > 100, `${count} examples`)
})

describe('what a schema requires', () => {
  const required = (name: string) => document.components.schemas[name]?.required ?? []

  test('is what a create needs, and nothing for an update', () => {
    assert.deepEqual(required('RoleBindingInput'), ['identityUid', 'roleUid'])
    assert.deepEqual(required('RoleInput'), ['name', 'capabilities'])
    assert.deepEqual(required('IdentityProviderInput'), ['name', 'defaultRole', 'oidc'])
    for (const name of ['RoleBindingUpdate', 'RoleUpdate', 'IdentityProviderUpdate'])
      assert.deepEqual(required(name), [], name)
  })

  test('an entry of a batch leaves to the batch what that says for all', () => {
    assert.deepEqual(required('CreateRoleBindingRequest'), ['roleBinding'])
    assert.deepEqual(required('RoleBindingEntry'), ['identityUid'])
    assert.deepEqual(required('BatchCreateRoleBindingsRequest'), ['parent', 'requests'])
  })

  test('an answer always has totals and times', () => {
    assert.deepEqual(required('ListGroupsResponse'), ['groups', 'nextPageToken', 'totalCount', 'skipped'])
    for (const name of ['Group', 'Identity', 'Role', 'Repo', 'AccountAssociation'])
      for (const member of ['uid', 'createTime', 'updateTime'])
        assert.ok(required(name).includes(member), `${name}.${member}`)
  })

  test('names, uids and pages have their limits', () => {
    const { GroupInput, TagInput } = document.components.schemas
    const name = { pattern: '^[a-z0-9 ._-]{1,}$', maxLength: 1024 }
    assert.partialDeepStrictEqual(GroupInput?.properties?.['name'], name)
    assert.equal(GroupInput?.properties?.['description']?.maxLength, 512)
    // A member that is null is a member that is not set.
    assert.deepEqual(GroupInput?.properties?.['description']?.type, ['string', 'null'])
    assert.equal(GroupInput?.properties?.['name']?.type, 'string')
    const { RoleBinding } = document.components.schemas
    assert.match(RoleBinding?.properties?.['identityUid']?.pattern ?? '', /0-9a-f/)
    assert.match('1.27-r0', new RegExp(TagInput?.properties?.['name']?.pattern ?? ''))
    const schemaOf = (name: string) => {
      const list = document.paths['/iam/v2beta1/groups']?.['get']?.parameters ?? []
      return list.flatMap((one) => ('name' in one && one.name === name ? [one.schema] : []))[0]
    }
    assert.partialDeepStrictEqual(schemaOf('page_size'), { minimum: 0, default: 50 })
    // A larger page size means the maximum.
    assert.equal(schemaOf('page_size')?.maximum, undefined)
    const below = new RegExp(schemaOf('uidp.descendants_of')?.pattern ?? '^never$')
    for (const [text, matches] of [
      ['', true],
      ['a'.repeat(40), true],
      ['team', false],
    ] as const)
      assert.equal(below.test(text), matches)
    const uid = `${'a'.repeat(40)}/${'0'.repeat(16)}`
    const lists = everyOperation.flatMap(({ operation }) =>
      (operation.parameters ?? []).flatMap((one) =>
        'name' in one && one.name === 'uidp.children_of' ? [one.schema] : [],
      ),
    )
    assert.ok(lists.length >= 25, `${lists.length} lists with uidp.children_of`)
    for (const { pattern } of lists)
      assert.deepEqual(
        ['', '/', uid, `/${uid}`, `${uid}/`, 'team'].map((text) => new RegExp(pattern ?? '').test(text)),
        [true, true, true, false, false, false],
      )
    assert.partialDeepStrictEqual(schemaOf('skip'), { minimum: 0 })
    const [own] = document.paths['/iam/v2beta1/groups/{uid}']?.['get']?.parameters ?? []
    assert.match('a'.repeat(40), new RegExp((own as { schema: { pattern: string } }).schema.pattern))
  })
})

test('no answer has a code that the server never answers', () => {
  const { Refused } = document.components.responses
  const schema = Refused?.content?.['application/json']?.schema
  assert.deepEqual(schema?.properties?.['code']?.enum, [3, 9])
})

test('secrets are never part of an answer', () => {
  const { IdentityProvider, 'IdentityProvider.OIDC': oidc, GroupInvite } = document.components.schemas
  assert.ok(IdentityProvider)
  assert.equal(oidc?.properties?.['clientSecret']?.maxLength, 0)
  assert.equal(GroupInvite?.properties?.['ttl'], undefined)
  assert.equal(
    document.components.schemas['IdentityProvider.OIDCInput']?.properties?.['clientSecret']?.writeOnly,
    true,
  )
})

describe('answers are held against the description', () => {
  const group = {
    uid: 'a'.repeat(40),
    name: 'x',
    description: '',
    resourceLimits: {},
    verified: false,
    createTime: '2025-01-02T03:04:05.000Z',
    updateTime: '2025-01-02T03:04:05.000Z',
    kind: 'ORG_KIND_UNSPECIFIED',
    status: 'ORG_STATUS_READY',
  }
  const good = {
    method: 'GET',
    url: `http://127.0.0.1/iam/v2beta1/groups/${group.uid}`,
    status: 200,
    headers: { 'content-type': 'application/json', etag: 'W/"1"', 'x-request-id': '1' },
    body: group as unknown,
  }
  const answered = (change: Partial<typeof good>) => {
    const { body, headers, ...rest } = { ...good, ...change }
    const text = body === undefined ? '' : JSON.stringify(body)
    return () => assertDescribed({ ...rest, headers: new Headers(headers), text })
  }

  test('one that fits passes, under both names of the version', () => {
    answered({})()
    answered({ url: good.url.replace('v2beta1', 'v2') })()
    answered({ url: `${good.url}/${'b'.repeat(16)}?x=1` })()
    answered({ method: 'DELETE', body: undefined })()
  })

  const wrong: Record<string, [Partial<typeof good>, RegExp]> = {
    'a member too many': [{ body: { ...group, secret: '' } }, /additional properties/],
    'a member too few': [{ body: { ...group, description: undefined } }, /required property 'description'/],
    'a time with other digits': [{ body: { ...group, createTime: '2025-01-02T03:04:05Z' } }, /createTime/],
    'an enum as a number': [{ body: { ...group, kind: 1 } }, /kind/],
    'a uid that is none': [{ body: { ...group, uid: 'x' } }, /uid/],
    'no entity tag': [{ headers: { ...good.headers, etag: undefined as never } }, /ETag/],
    'another type of content': [{ headers: { ...good.headers, 'content-type': 'text/html' } }, /text\/html/],
    'a status that is not described': [{ status: 418 }, /no answer 418/],
    'an error in another form': [{ status: 404, body: { error: 'no' } }, /required property/],
    'the code of another status': [
      { status: 404, body: { code: 3, message: '', details: [] } },
      /allowed values/,
    ],
    'a body where none belongs': [{ method: 'DELETE' }, /no body/],
    'an answer to what is not there': [{ url: 'http://127.0.0.1/nothing' }, /no operation/],
  }
  for (const [name, [change, message]] of Object.entries(wrong)) {
    test(`${name} fails`, () => assert.throws(answered(change), message))
  }
})

describe('/openapi.json', () => {
  let berth: TestBerth
  before(async () => {
    berth = await startTestBerth(
      { name: 'sqlite', open: undefined },
      { env: { BERTH_CORS_ORIGINS: 'https://console.example.com' } },
    )
  })
  after(() => berth.stop())
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${berth.url}/openapi.json`, { method, headers })

  test('is the description of this server, for everyone, to be kept and asked for again', async () => {
    const reply = await get()
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-type'), 'application/json')
    assert.equal(reply.headers.get('cache-control'), 'public, max-age=300')
    const packageJson = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    const own = describeServedApi(berth.url, packageJson.version).document
    assert.deepEqual(await reply.json(), JSON.parse(JSON.stringify(own)))

    const etag = reply.headers.get('etag') ?? ''
    const again = await get({ 'if-none-match': etag })
    assert.deepEqual([again.status, await again.text()], [304, ''])
    assert.equal((await get({ 'if-none-match': 'W/"other"' })).status, 200)
    const head = await get({}, 'HEAD')
    assert.deepEqual([head.status, await head.text(), head.headers.get('etag')], [200, '', etag])
    assert.equal((await get({}, 'POST')).status, 405)
  })

  test('is sent compressed to those who take it', async () => {
    const plain = await get({ 'accept-encoding': 'identity, gzip;q=0' })
    assert.equal(plain.headers.get('content-encoding'), null)
    const text = await plain.text()
    for (const encoding of ['gzip', 'br']) {
      const zipped = await get({ 'accept-encoding': `deflate, ${encoding}` })
      assert.equal(zipped.headers.get('content-encoding'), encoding)
      assert.equal(zipped.headers.get('vary'), 'accept-encoding, origin')
      assert.equal(await zipped.text(), text)
    }
  })

  test('may be read by pages of the origins in BERTH_CORS_ORIGINS alone', async () => {
    const allowed = async (origin: string) =>
      (await get({ origin })).headers.get('access-control-allow-origin')
    assert.equal(await allowed('https://console.example.com'), 'https://console.example.com')
    assert.equal(await allowed('https://evil.example.com'), null)
  })

  test('every list can be sorted by the keys that its description names', async () => {
    // Lists of one resource have tests of their own, and lists of the operator API have one order.
    const lists = operations.filter(
      ({ path, operation }) =>
        /^List(?!Advisories)/.test(operation.operationId) && !/^\/operator\/|\{/.test(path),
    )
    for (const { path, operation } of lists) {
      const named = operation.parameters?.flatMap((one) =>
        'name' in one && one.name === 'order_by' ? [one.description] : [],
      )
      const [, text = ''] = /Sort keys: (.*)\.$/.exec(named?.[0] ?? '') ?? []
      const keys = [...text.matchAll(/`(\w+)`/g)].map(([, key]) => key)
      assert.ok(keys.length > 0, operation.operationId)
      for (const key of keys) {
        const url = `${berth.url}${path}?uidp.descendants_of=${berth.organization}&order_by=${key}%20desc`
        const reply = await fetch(url, { headers: { authorization: `Bearer ${berth.token}` } })
        assert.equal(reply.status, 200, `${operation.operationId} ${key}: ${await reply.text()}`)
      }
    }
  })

  test('what it mentions besides the API exists', async () => {
    for (const path of Object.keys(serverEndpoints)) {
      const reply = await fetch(berth.url + path)
      const text = await reply.text()
      assert.equal(reply.status, 200, path)
      assertDescribed({ method: 'GET', url: berth.url + path, status: 200, headers: reply.headers, text })
    }
  })
})
