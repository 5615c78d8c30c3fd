import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { ErrorInfoSchema } from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import { routesOf } from '@berth/server/gateway/rest/routes.ts'
import { type DescMessage, fromBinary, type Message, toBinary, toJson } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { methods, restRequestOf, services, shortName } from '../api/methods.ts'
import { randomMessage } from '../api/random-message.ts'
import { bindRole, createGroup, createIdentity, createOrganization, createRole } from '../api/tenant.ts'
import { PATIENCE_MS } from '../eventually.ts'
import { type Cleanup, runBerth, serveBerth, temporaryDirectory } from '../server/process.ts'
import { http2Request } from './port.ts'

const PARALLEL = 8
const MIB = 1024 * 1024
/** What the memory may grow by after the first third of the time, in which caches fill and code is compiled. */
const GROWTH_BYTES_MAX = 256 * MIB

interface World {
  readonly url: string
  readonly token: string
  readonly session: ClientHttp2Session
  readonly uids: readonly string[]
}

const hostile = [
  '',
  ' ',
  '\0',
  'a',
  '-1',
  '0',
  '1',
  '200',
  '4294967296',
  '9223372036854775808',
  '1e400',
  'NaN',
  'true',
  'null',
  '*',
  'name',
  'name desc',
  'uid asc,uid',
  '__proto__',
  'constructor',
  'toString',
  '..',
  '../..',
  '%',
  '%00',
  '%2f',
  '%ff',
  "' or 1=1 --",
  '"; drop table groups; --',
  '{}',
  '[]',
  '$(id)',
  '\u202e',
  '\ud800',
  'ä'.repeat(300),
  'a'.repeat(5000),
  '(a+)+$',
  '(((((((((((((((((a*)*)*)*)*)*)*)*',
  'https://127.0.0.1',
  'http://[::1]:1',
  'eyJhbGciOiJub25lIn0.e30.',
  'groups.list',
] as const

/**
 * Sends random requests of every kind to a server for `ms`: REST and gRPC by the schema, raw frames, raw bytes. Nothing may be an internal
 * error, hang, or make the server grow; each refusal over REST is a whole error body.
 */
export async function fuzz(t: Cleanup, ms: number): Promise<number> {
  const env = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_LOG_LEVEL: 'warn',
    // The address of a proxy is never shut out, whatever arrives from it (abusiveConnectionsPerAddressMax).
    BERTH_TRUSTED_PROXIES: '127.0.0.0/8',
  }
  const server = await serveBerth(t, env)
  const { stdout: token } = await runBerth(t, ['admin', 'token'], env)
  const admin = { url: server.url, token }
  const organization = await createOrganization(admin, 'fuzzed')
  const group = await createGroup(admin, organization, 'group')
  const identity = await createIdentity(admin, group)
  const role = await createRole(admin, organization, ['groups.list'])
  const uids = [
    organization,
    group,
    identity,
    role,
    await bindRole(admin, group, identity, role),
    `${group}/${'0'.repeat(16)}`,
    'f'.repeat(40),
  ]
  let session: ClientHttp2Session | undefined
  t.after(() => session?.destroy())
  const world: World = {
    url: server.url,
    token,
    uids,
    // The server may end one that misbehaves or idles; that is its right, and the next request opens another.
    get session() {
      if (session === undefined || session.destroyed || session.closed) {
        session = connectHttp2(server.url)
        session.on('error', () => undefined)
      }
      return session
    },
  }

  const memory = `/proc/${server.child.pid}/status`
  // Elsewhere than on Linux there is nothing to read, so growth is not looked at.
  const rss = () =>
    existsSync(memory) ? Number(/VmRSS:\s+([0-9]+) kB/.exec(readFileSync(memory, 'utf8'))?.[1]) * 1024 : 0
  let runs = 0
  const shoot = async (until: number) => {
    const kinds = [restCalls(world), grpcCalls(world), rawFrames(world), rawBytes(world)]
    for (let at = 0; Date.now() < until; at++) {
      const kind = kinds[at % kinds.length] as fc.Arbitrary<() => Promise<void>>
      // fast-check shrinks what fails; each run is a volley, so that requests also meet each other.
      await fc.assert(
        fc.asyncProperty(fc.array(kind, { minLength: PARALLEL, maxLength: PARALLEL }), async (volley) => {
          runs += volley.length
          await Promise.all(volley.map((send) => inTime(send())))
        }),
        { numRuns: 5, endOnFailure: true },
      )
    }
  }
  const start = Date.now()
  await shoot(start + ms / 3)
  const warm = rss()
  await shoot(start + ms)
  const ready = await fetch(`${server.url}/readyz`)
  assert.equal(ready.status, 200)
  const grown = rss() - warm
  assert.ok(grown < GROWTH_BYTES_MAX, `the server grew by ${Math.round(grown / MIB)} MiB`)
  const errors = server
    .output()
    .stderr.split('\n')
    .filter((line) => line.includes('"level":50'))
  assert.deepEqual(errors, [], 'the server logged errors')
  return runs
}

/** Fails if a request hangs. */
async function inTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${PATIENCE_MS} ms`)), PATIENCE_MS)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Values that mean something to the server, values that mean something to attackers, and any text. */
function values({ uids }: World): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(...uids),
    fc.constantFrom(...hostile),
    fc.string({ unit: 'binary', maxLength: 40 }),
  )
}

/** A random message, some of whose texts are replaced by values. */
function messages(desc: DescMessage, world: World): fc.Arbitrary<Message> {
  return fc
    .tuple(randomMessage(desc, 3), fc.array(fc.option(values(world)), { maxLength: 12 }))
    .map(([message, texts]) => {
      const left = [...texts]
      const replace = (value: unknown): unknown => {
        if (typeof value === 'string') return left.shift() ?? value
        if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value
        for (const [name, inner] of Object.entries(value)) {
          // The names of types and of oneof cases are the library's.
          if (name !== '$typeName' && !(name === 'case' && 'value' in value))
            (value as Record<string, unknown>)[name] = replace(inner)
        }
        return value
      }
      return replace(message) as Message
    })
}

function tokens({ token }: World): fc.Arbitrary<string | undefined> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant<string | undefined>(token) },
    fc.constantFrom(undefined, 'x', `${token}x`, ' ', 'a.b.c'),
  )
}

const encoded = (text: string) => {
  try {
    return encodeURIComponent(text)
  } catch {
    return '%EF%BF%BD'
  }
}

function restCalls(world: World): fc.Arbitrary<() => Promise<void>> {
  const paths = fc.constantFrom(...routesOf(services)).chain((route) => {
    const { method } = route
    const { verb, path } = restRequestOf(method, '\u0001')
    const names = method.input.fields.flatMap((field) =>
      field.message === undefined
        ? [field.name, field.jsonName]
        : field.message.fields.map((inner) => `${field.name}.${inner.name}`),
    )
    const bodyField = method.input.fields.find(({ name }) => name === route.body)?.message ?? method.input
    const body = fc.oneof(
      messages(bodyField, world).map((message) => {
        try {
          return JSON.stringify(toJson(bodyField, message))
        } catch {
          return '{'
        }
      }),
      fc.json(),
      fc.object().map((value) => JSON.stringify(value)),
      values(world),
      fc.constant(`${'['.repeat(20_000)}`),
    )
    return fc.record({
      verb: fc.oneof(
        { weight: 9, arbitrary: fc.constant(verb) },
        fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'),
      ),
      path: fc
        .tuple(values(world), fc.boolean())
        .map(([value, raw]) =>
          path.replaceAll(
            '\u0001',
            raw ? value.replace(/[^!-~]/g, '').replaceAll('#', '') : encoded(value).replaceAll('%2F', '/'),
          ),
        ),
      query: fc.array(
        fc.tuple(
          fc.oneof(
            fc.constantFrom(
              'page_size',
              'page_token',
              'skip',
              'order_by',
              'uidp.ids',
              'updateMask',
              ...names,
            ),
            fc.string({ maxLength: 8 }),
          ),
          values(world),
        ),
        { maxLength: 5 },
      ),
      body,
      type: fc.constantFrom(
        'application/json',
        'application/x-www-form-urlencoded',
        'text/plain',
        'application/json; charset=latin1',
        'application/grpc',
      ),
      headers: fc.dictionary(fc.stringMatching(/^[a-z][a-z-]{0,12}$/), fc.stringMatching(/^[ -~]{0,40}$/), {
        maxKeys: 3,
      }),
      token: tokens(world),
    })
  })
  return paths.map(({ verb, path, query, body, type, headers, token }) => async () => {
    const search = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
    const hasBody = verb !== 'GET' && verb !== 'HEAD' && verb !== 'OPTIONS'
    const target = `${path}${search === '' ? '' : `?${search}`}`
    const own = Object.fromEntries(
      Object.entries(headers).filter(
        ([name]) => !/^(host|connection|upgrade|expect|transfer|content|te$|trailer|keep|proxy)/.test(name),
      ),
    )
    const sent = {
      ...own,
      ...(hasBody ? { 'content-type': type } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    }
    const reply = await plainRequest(world.url, verb, target, sent, hasBody ? body : undefined)
    const what = `${verb} ${target} ${hasBody ? body.slice(0, 300) : ''}: ${reply.status} ${reply.text.slice(0, 300)}`
    assert.ok(reply.status >= 200 && reply.status !== 500 && reply.status !== 502, what)
    if (reply.status >= 400 && verb !== 'HEAD') assertErrorBody(reply.text, what)
  })
}

function plainRequest(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const sending = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    sending.on('error', reject)
    sending.end(body)
  })
}

function assertErrorBody(text: string, what: string): void {
  let body: {
    code?: unknown
    message?: unknown
    details?: { '@type'?: unknown; reason?: unknown; domain?: unknown }[]
  }
  try {
    body = JSON.parse(text)
  } catch {
    assert.fail(`no JSON: ${what}`)
  }
  assert.ok(Number.isInteger(body.code) && body.code !== 13 && body.code !== 2, what)
  assert.ok(typeof body.message === 'string' && body.message !== '', what)
  const [info] = body.details ?? []
  assert.equal(info?.['@type'], 'type.googleapis.com/google.rpc.ErrorInfo', what)
  assert.match(String(info?.reason), /^[A-Z][A-Z0-9_]*$/, what)
  assert.ok(typeof info?.domain === 'string' && info.domain !== '', what)
}

const grpcHeaders = (path: string, token: string | undefined) => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
})

function framed(bytes: Uint8Array, flag = 0, length = bytes.length): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flag
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, bytes])
}

function grpcCalls(world: World): fc.Arbitrary<() => Promise<void>> {
  return fc.constantFrom(...methods).chain((method) =>
    fc.tuple(messages(method.input, world), tokens(world)).map(([message, token]) => async () => {
      let bytes: Uint8Array
      try {
        bytes = toBinary(method.input, message)
      } catch {
        return // what the library cannot write: half a surrogate, a number too large
      }
      const reply = await http2Request(
        world.session,
        grpcHeaders(`/${method.parent.typeName}/${method.name}`, token),
        framed(bytes),
      )
      const ended = { ...reply.headers, ...reply.trailers }
      const code = Number(ended['grpc-status'])
      const what = `${shortName(method)} ${JSON.stringify(message, (_, value) => (typeof value === 'bigint' ? String(value) : value)).slice(0, 500)}: ${code} ${ended['grpc-message']}`
      assert.equal(reply.status, 200, what)
      assert.ok(code >= 0 && code !== 13 && code !== 2, what)
      if (code === 0) return
      const details = ended['grpc-status-details-bin']
      assert.equal(typeof details, 'string', what)
      const status = fromBinary(StatusSchema, Buffer.from(details as string, 'base64'))
      assert.equal(status.code, code, what)
      const info = status.details[0] && anyUnpack(status.details[0], ErrorInfoSchema)
      assert.match(info?.reason ?? '', /^[A-Z][A-Z0-9_]*$/, what)
    }),
  )
}

/** What breaks the framing may break the call in any way, but not the connection's other calls, and not the server. */
function rawFrames(world: World): fc.Arbitrary<() => Promise<void>> {
  const paths = [
    ...methods.map((method) => `/${method.parent.typeName}/${method.name}`),
    '/grpc.health.v1.Health/Check',
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    '/x/y',
    '/',
    '*',
  ]
  const bytes = fc.uint8Array({ maxLength: 300 })
  return fc
    .record({
      path: fc.constantFrom(...paths),
      type: fc.constantFrom(
        'application/grpc',
        'application/grpc+proto',
        'application/grpc+json',
        'application/grpc-web',
        'text/plain',
        'application/json',
      ),
      body: fc.oneof(
        bytes,
        bytes.map((content) => framed(content)),
        bytes.map((content) => framed(content, 1)),
        fc
          .tuple(bytes, fc.nat({ max: 255 }), fc.nat({ max: 0xffffffff }))
          .map(([content, flag, length]) => framed(content, flag, length)),
        fc
          .array(
            bytes.map((content) => framed(content)),
            { maxLength: 3 },
          )
          .map((frames) => Buffer.concat(frames)),
      ),
      timeout: fc.constantFrom(undefined, '1n', '0S', '99999999H', '123456789S', '-1S', 'x', ''),
      encoding: fc.constantFrom(undefined, 'gzip', 'identity', 'deflate', 'br', 'x'),
    })
    .map(({ path, type, body, timeout, encoding }) => async () => {
      const headers = {
        ...grpcHeaders(path, world.token),
        'content-type': type,
        ...(timeout === undefined ? {} : { 'grpc-timeout': timeout }),
        ...(encoding === undefined ? {} : { 'grpc-encoding': encoding }),
      }
      const reply = await http2Request(world.session, headers, body).catch(() => undefined)
      if (reply !== undefined) assert.notEqual(reply.status, 500, JSON.stringify(headers))
    })
}

function rawBytes({ url, token }: World): fc.Arbitrary<() => Promise<void>> {
  const beginnings = [
    '',
    'PRI',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
    'GET / HTTP/1.1\r\n',
    'GET /iam/v2beta1/groups HTTP/1.1\r\nhost: x\r\n\r\n',
    `POST /iam/v2beta1/groups HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ntransfer-encoding: chunked\r\n\r\n`,
    `POST /iam/v2beta1/groups HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
    'GET / HTTP/9.9\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00',
    'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n',
  ]
  return fc
    .tuple(fc.constantFrom(...beginnings), fc.uint8Array({ maxLength: 400 }))
    .map(([beginning, rest]) => async () => {
      const { hostname, port } = new URL(url)
      const socket = connect({ host: hostname, port: Number(port) })
      let text = ''
      socket.setEncoding('latin1').on('data', (chunk) => {
        text += chunk
      })
      socket.on('error', () => undefined)
      socket.end(Buffer.concat([Buffer.from(beginning, 'latin1'), rest]))
      await new Promise((resolve) => socket.once('close', resolve))
      assert.doesNotMatch(text, /^HTTP\/1\.1 500/, JSON.stringify(beginning))
    })
}
