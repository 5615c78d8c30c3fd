import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { limits } from '@berth/server/config/limits.ts'
import {
  createOutbound,
  OutboundError,
  type OutboundOptions,
} from '@berth/server/runtime/outbound/outbound.ts'
import { checkSubjectToken, readSubjectToken } from '@berth/server/tokens/exchange/subject-token.ts'
import { createIssuerKeys } from '@berth/server/tokens/issuers/issuer-keys.ts'
import { evaluateUntilFailure } from '@berth/server/tokens/trust/evaluate.ts'
import type { KeySource } from '@berth/server/tokens/trust/key-set.ts'
import { SignJWT } from 'jose'
import { Provider } from 'oidc-provider'
import { selfSignedCertificate } from './support/http/certificate.ts'

const loopback = ['127.0.0.0/8', '::1/128']

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server on a free port of 127.0.0.1; `answer` may be replaced while it runs. */
async function startServer(t: TestContext, answer: Answer) {
  const running = { answer, url: '', port: 0, requests: [] as string[] }
  const server = createServer((request, response) => {
    running.requests.push(request.url ?? '')
    running.answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  running.port = (server.address() as AddressInfo).port
  running.url = `http://127.0.0.1:${running.port}`
  return running
}

function outboundFor(t: TestContext, options: Partial<OutboundOptions> = {}) {
  const outbound = createOutbound({ privateNetworks: loopback, ...options })
  t.after(() => outbound.close())
  return outbound
}

function json(value: unknown): Answer {
  return (_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
}

async function failureOf(promise: Promise<unknown>): Promise<OutboundError> {
  const error = await promise.then(
    () => assert.fail('the fetch succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof OutboundError, String(error))
  return error
}

test('a document in an allowed network is fetched over plain http, without asking for compression', async (t) => {
  let headers: IncomingMessage['headers'] = {}
  const server = await startServer(t, (request, response) => {
    headers = request.headers
    json({ a: 'ü' })(request, response)
  })
  assert.deepEqual(await outboundFor(t).getJson(`${server.url}/x?y=1`), { a: 'ü' })
  assert.deepEqual(server.requests, ['/x?y=1'])
  assert.equal(headers['accept-encoding'], 'identity')
  assert.equal(headers.authorization, undefined)
})

const loopbackHosts = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '0',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::]',
  'localhost',
  'localhost.',
]
test(`R2: loopback is rejected in ${loopbackHosts.length} spellings, over http and https, before a connection is made`, async (t) => {
  const server = await startServer(t, json({}))
  const outbound = outboundFor(t, { privateNetworks: [] })
  for (const host of loopbackHosts) {
    for (const scheme of ['http', 'https']) {
      const { kind } = await failureOf(outbound.getJson(`${scheme}://${host}:${server.port}/`))
      assert.ok(
        kind === 'refused' || (host === 'localhost.' && kind === 'network'),
        `${scheme} ${host}: ${kind}`,
      )
    }
  }
  assert.deepEqual(server.requests, [])
})

test('R2: a name that resolves only to forbidden addresses is rejected; others are used', async (t) => {
  const server = await startServer(t, json({ ok: true }))
  for (const [addresses, expected] of [
    [['10.0.0.1', '169.254.169.254', '::1'], 'refused'],
    [['64:ff9b::7f00:1'], 'refused'],
    [['not an address'], 'refused'],
    [[], 'refused'],
    [['10.0.0.1', '127.0.0.1'], 'ok'],
  ] as const) {
    const outbound = outboundFor(t, { privateNetworks: ['127.0.0.1/32'], resolve: async () => addresses })
    const result = await outbound.getJson(`http://ci.example.com:${server.port}/`).then(
      () => 'ok',
      (error: OutboundError) => error.kind,
    )
    assert.equal(result, expected, addresses.join())
  }
})

test('R2: plain http to a public address is rejected', async (t) => {
  const outbound = outboundFor(t, { resolve: async () => ['8.8.8.8'] })
  assert.equal((await failureOf(outbound.getJson('http://ci.example.com/'))).kind, 'refused')
  assert.equal((await failureOf(outbound.getJson('http://8.8.8.8/'))).kind, 'refused')
})

test('R2: a name is resolved once per connection, so a second answer cannot lead elsewhere', async (t) => {
  const server = await startServer(t, (_request, response) =>
    response.setHeader('connection', 'close').end('{}'),
  )
  const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.1']
  const resolved: string[] = []
  const outbound = outboundFor(t, {
    privateNetworks: ['127.0.0.1/32'],
    async resolve(hostname) {
      resolved.push(hostname)
      return [answers[resolved.length - 1] ?? '']
    },
  })
  const url = `http://ci.example.com:${server.port}/`
  await outbound.getJson(url)
  assert.equal(resolved.length, 1)
  assert.equal((await failureOf(outbound.getJson(url))).kind, 'refused')
  await outbound.getJson(url)
  assert.equal(resolved.length, 3)
  assert.equal(server.requests.length, 2)
})

test('R2: each target of a redirect is checked', async (t) => {
  const inner = await startServer(t, json({ secret: true }))
  const server = await startServer(t, (request, response) => {
    const location = new URL(request.url ?? '/', 'http://x').searchParams.get('to') ?? ''
    response.writeHead(302, { location }).end()
  })
  const names: Record<string, string> = { 'ci.example.com': '127.0.0.1', 'inner.example.com': '127.0.0.2' }
  const outbound = outboundFor(t, {
    privateNetworks: ['127.0.0.1/32'],
    resolve: async (hostname) => [names[hostname] ?? '10.0.0.1'],
  })
  for (const [target, kind] of [
    [`http://127.0.0.2:${inner.port}/`, 'refused'],
    [`http://inner.example.com:${inner.port}/`, 'refused'],
    [`https://inner.example.com:${inner.port}/`, 'refused'],
    ['http://169.254.169.254/latest/meta-data', 'refused'],
    [`http://user@127.0.0.1:${inner.port}/`, 'redirect'],
    ['file:///etc/passwd', 'redirect'],
    ['data:application/json,{}', 'redirect'],
    ['http://', 'redirect'],
  ]) {
    const url = `http://ci.example.com:${server.port}/?to=${encodeURIComponent(target ?? '')}`
    assert.equal((await failureOf(outbound.getJson(url))).kind, kind, target)
  }
  assert.deepEqual(inner.requests, [])
})

test('over https the certificate is checked, and a redirect to http is rejected', async (t) => {
  const plain = await startServer(t, json({}))
  const { cert, key } = selfSignedCertificate()
  const paths: string[] = []
  const server = createTlsServer({ cert, key }, (request, response) => {
    paths.push(request.url ?? '')
    if (request.url === '/down') response.writeHead(302, { location: plain.url }).end()
    else response.end('{"secure":true}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const options = { resolve: async () => ['127.0.0.1'] }

  assert.equal((await failureOf(outboundFor(t).getJson(`https://127.0.0.1:${port}/`))).kind, 'network')
  const trusted = tls.getCACertificates()
  t.after(() => tls.setDefaultCACertificates(trusted))
  tls.setDefaultCACertificates([cert])
  const outbound = outboundFor(t, options)
  assert.deepEqual(await outbound.getJson(`https://localhost:${port}/x`), { secure: true })
  assert.equal((await failureOf(outbound.getJson(`https://localhost:${port}/down`))).kind, 'redirect')
  // The address came from the resolver, the name in the certificate must still be that of the URL.
  const other = outboundFor(t, options)
  assert.equal((await failureOf(other.getJson(`https://ci.example.com:${port}/`))).kind, 'network')
  assert.deepEqual(paths, ['/x', '/down'])
  assert.deepEqual(plain.requests, [])
})

test('R3: three redirects are followed, a fourth is not', async (t) => {
  const server = await startServer(t, (request, response) => {
    const left = Number(request.url?.slice(1))
    if (left === 0) response.end('"done"')
    else response.writeHead(307, { location: `/${left - 1}` }).end()
  })
  const outbound = outboundFor(t)
  assert.equal(await outbound.getJson(`${server.url}/${limits.outboundRedirectsMax}`), 'done')
  const error = await failureOf(outbound.getJson(`${server.url}/${limits.outboundRedirectsMax + 1}`))
  assert.equal(error.kind, 'redirect')
})

test('R3: a redirect without a target is an error', async (t) => {
  const server = await startServer(t, (_request, response) => response.writeHead(302).end())
  assert.equal((await failureOf(outboundFor(t).getJson(server.url))).kind, 'redirect')
})

test('R3: a body of more than 100 KiB is aborted while it arrives', async (t) => {
  const outbound = outboundFor(t)
  const exact = JSON.stringify('a'.repeat(limits.outboundBodyBytesMax - 2))
  const server = await startServer(t, (_request, response) => response.end(exact))
  assert.equal(typeof (await outbound.getJson(server.url)), 'string')
  server.answer = (_request, response) => response.end(`${exact} `)
  assert.equal((await failureOf(outbound.getJson(server.url))).kind, 'too_large')

  let sent = 0
  server.answer = (_request, response) => {
    const chunk = Buffer.alloc(16 * 1024, 'a')
    const send = () => {
      while (!response.destroyed && sent < 1e9 && response.write(chunk)) sent += chunk.length
    }
    response.on('drain', send)
    send()
  }
  assert.equal((await failureOf(outbound.getJson(server.url))).kind, 'too_large')
  assert.ok(sent < 20e6, `${sent} bytes were taken`)
})

test('R3: a compressed body is not decompressed', async (t) => {
  const server = await startServer(t, (_request, response) =>
    response.setHeader('content-encoding', 'gzip').end(gzipSync(JSON.stringify('a'.repeat(1e6)))),
  )
  assert.equal((await failureOf(outboundFor(t).getJson(server.url))).kind, 'bad_body')
})

const quick = { ...limits, outboundTimeoutMs: 150 }

test('R3: slow headers and bodies time out, redirects included', async (t) => {
  const outbound = outboundFor(t, { limits: quick })
  const server = await startServer(t, () => {})
  const answers: Record<string, Answer> = {
    'no headers': () => {},
    'no body': (_request, response) => response.writeHead(200).flushHeaders(),
    'one byte at a time': (_request, response) => {
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    },
    'slow redirects': (_request, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 60)
    },
  }
  for (const [name, answer] of Object.entries(answers)) {
    server.answer = answer
    assert.equal((await failureOf(outbound.getJson(server.url))).kind, 'timeout', name)
  }
})

test('R3: a resolver that does not respond times out', async (t) => {
  const outbound = outboundFor(t, { limits: quick, resolve: () => new Promise(() => {}) })
  assert.equal((await failureOf(outbound.getJson('https://ci.example.com'))).kind, 'timeout')
})

test('a caller that aborts ends the fetch', async (t) => {
  const server = await startServer(t, () => {})
  const caller = new AbortController()
  const fetching = failureOf(outboundFor(t).getJson(server.url, caller.signal))
  caller.abort()
  assert.equal((await fetching).kind, 'timeout')
})

test('R3: concurrent fetches are limited, the others wait within their timeout', async (t) => {
  const open: ServerResponse[] = []
  let most = 0
  const server = await startServer(t, (_request, response) => {
    open.push(response)
    most = Math.max(most, open.length)
    setTimeout(() => {
      open.splice(open.indexOf(response), 1)
      response.end('1')
    }, 20)
  })
  const outbound = outboundFor(t, { limits: { ...limits, outboundConcurrencyMax: 3 } })
  const results = await Promise.all(Array.from({ length: 12 }, () => outbound.getJson(server.url)))
  assert.equal(results.length, 12)
  assert.equal(most, 3)

  server.answer = () => {}
  const stuck = outboundFor(t, { limits: { ...quick, outboundConcurrencyMax: 1 } })
  const failures = await Promise.all(Array.from({ length: 5 }, () => failureOf(stuck.getJson(server.url))))
  assert.deepEqual(new Set(failures.map(({ kind }) => kind)), new Set(['timeout']))
})

test('R3: no error repeats anything of the URL or of the response', async (t) => {
  const server = await startServer(t, () => {})
  const outbound = outboundFor(t)
  const impatient = outboundFor(t, { limits: quick })
  const answers: [string, Answer][] = [
    ['bad_body', (_request, response) => response.end('mark')],
    ['bad_body', (_request, response) => response.end(Buffer.from([0x22, 0xff, 0x22]))],
    ['bad_body', (_request, response) => response.end()],
    ['bad_status', (_request, response) => response.writeHead(404, 'mark', { mark: 'mark' }).end('mark')],
    ['bad_status', (_request, response) => response.writeHead(204).end()],
    ['bad_status', (_request, response) => response.writeHead(304).end()],
    ['redirect', (_request, response) => response.writeHead(302, { location: 'mark:mark' }).end('mark')],
    ['network', (request) => request.socket.destroy()],
    ['network', (request) => request.socket.end('mark mark mark\r\n\r\n')],
    ['timeout', () => {}],
  ]
  for (const [kind, answer] of answers) {
    server.answer = answer
    const used = kind === 'timeout' ? impatient : outbound
    const error = await failureOf(used.getJson(`${server.url}/mark?mark=1`))
    assert.equal(error.kind, kind)
    assert.doesNotMatch(error.message, /mark|127/)
  }
})

test('proxies of the environment are not used', async (t) => {
  const proxy = await startServer(t, json({ proxied: true }))
  const server = await startServer(t, json({ proxied: false }))
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']) {
    const before = process.env[name]
    process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url
    t.after(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  assert.deepEqual(await outboundFor(t).getJson(server.url), { proxied: false })
})

test('closing ends running fetches and rejects new ones', async (t) => {
  const server = await startServer(t, () => {})
  const outbound = outboundFor(t)
  const running = failureOf(outbound.getJson(server.url))
  await sleep(20)
  await outbound.close()
  await running
  await failureOf(outbound.getJson(server.url))
})

/** An issuer of tokens with its keys, and a clock to move. */
async function startIssuer(t: TestContext, path = '') {
  const signers = new Map<string, ReturnType<typeof newKey>>()
  let down: Answer | undefined
  const server = await startServer(t, (request, response) => {
    if (down !== undefined) return down(request, response)
    if (request.url === `${path}/.well-known/openid-configuration`) {
      return json({ issuer: issuer.name, jwks_uri: `${server.url}/keys` })(request, response)
    }
    if (request.url === '/keys')
      return json({ keys: [...signers.values()].map(({ jwk }) => jwk) })(request, response)
    return void response.writeHead(404).end()
  })
  const issuer = {
    server,
    name: server.url + path,
    now: Date.now(),
    clock: () => issuer.now,
    addKey: (kid: string) => void signers.set(kid, newKey(kid)),
    removeKey: (kid: string) => signers.delete(kid),
    goDown: (answer: Answer | undefined) => {
      down = answer
    },
    sign: (kid: string, as = kid) =>
      new SignJWT({ aud: 'sts.example.com' })
        .setProtectedHeader({ alg: 'ES256', kid: as })
        .setIssuer(issuer.name)
        .setSubject('repo:a/b')
        .setExpirationTime(Math.floor(issuer.now / 1000) + 300)
        .sign((signers.get(kid) ?? newKey(kid)).privateKey),
    fetches: () => server.requests.filter((url) => url === '/keys').length,
  }
  issuer.addKey('k1')
  return issuer
}

function newKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid } }
}

function verifierFor(
  t: TestContext,
  issuer: Awaited<ReturnType<typeof startIssuer>>,
  options: Partial<OutboundOptions> = {},
) {
  const issuerKeys = createIssuerKeys({ outbound: outboundFor(t, options), clock: issuer.clock })
  return (token: string) => outcomeOf(token, issuerKeys.keysFor(issuer.name, 'acme'), issuer.clock)
}

/** `ok`; `invalid`: the token will not do; `unavailable`: the issuer could not be asked. */
async function outcomeOf(token: string, keys: KeySource, clock: () => number): Promise<string> {
  const read = readSubjectToken(token)
  if (!read.ok) return 'invalid'
  const checked = await evaluateUntilFailure((evaluate) =>
    checkSubjectToken(token, read, { keys, clock }, evaluate),
  )
  if (checked.ok) return 'ok'
  return checked.failed.fault === 'elsewhere' ? 'unavailable' : 'invalid'
}

test('a token verifies with the keys that its issuer publishes, fetched once for an hour', async (t) => {
  for (const path of ['', '/', '/realms/main', '/realms/main/']) {
    const issuer = await startIssuer(t, path.replace(/\/$/, ''))
    issuer.name = issuer.server.url + path
    const verify = verifierFor(t, issuer)
    assert.deepEqual(
      await Promise.all([1, 2, 3].map(async () => verify(await issuer.sign('k1')))),
      ['ok', 'ok', 'ok'],
      path,
    )
    issuer.now += limits.issuerKeysMaxAgeMs - 1
    assert.equal(await verify(await issuer.sign('k1')), 'ok')
    assert.equal(issuer.server.requests.length, 2)
    issuer.now += 1
    assert.equal(await verify(await issuer.sign('k1')), 'ok')
    assert.equal(issuer.server.requests.length, 4)
  }
})

test('a real identity provider is verified against', async (t) => {
  const { privateKey, jwk } = newKey('real')
  const server = await startServer(t, () => {})
  const provider = new Provider(server.url, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: jwk.kid, use: 'sig' }] },
  })
  server.answer = provider.callback()
  const token = await new SignJWT({ aud: 'sts.example.com' })
    .setProtectedHeader({ alg: 'ES256', kid: 'real' })
    .setIssuer(server.url)
    .setSubject('someone')
    .setExpirationTime('5m')
    .sign(privateKey)
  const keys = createIssuerKeys({ outbound: outboundFor(t), clock: Date.now }).keysFor(server.url, 'acme')
  assert.equal(await outcomeOf(token, keys, Date.now), 'ok')
})

test('R2: an issuer at an address that is not allowed makes the token invalid', async (t) => {
  const issuer = await startIssuer(t)
  const verify = verifierFor(t, issuer, { privateNetworks: [] })
  assert.equal(await verify(await issuer.sign('k1')), 'invalid')
  assert.deepEqual(issuer.server.requests, [])
})

test('R2: the key set that the metadata names is fetched under the same guard', async (t) => {
  const inner = await startServer(t, json({ keys: [] }))
  const issuer = await startIssuer(t)
  issuer.goDown((request, response) =>
    json({ issuer: issuer.name, jwks_uri: `http://127.0.0.2:${inner.port}/` })(request, response),
  )
  const verify = verifierFor(t, issuer, { privateNetworks: ['127.0.0.1/32'] })
  assert.equal(await verify(await issuer.sign('k1')), 'invalid')
  assert.deepEqual(inner.requests, [])
})

test('a new key works after one refetch, and a withdrawn one ends with the cached keys', async (t) => {
  const issuer = await startIssuer(t)
  const verify = verifierFor(t, issuer)
  const old = await issuer.sign('k1')
  assert.equal(await verify(old), 'ok')
  issuer.addKey('k2')
  issuer.now += limits.issuerKeysRefetchIntervalMs
  assert.equal(await verify(await issuer.sign('k2')), 'ok')
  assert.equal(issuer.fetches(), 2)
  const withdrawn = await issuer.sign('k1')
  issuer.removeKey('k1')
  assert.equal(await verify(withdrawn), 'ok')
  issuer.now += limits.issuerKeysMaxAgeMs
  assert.equal(await verify(await issuer.sign('k2')), 'ok')
  issuer.now -= limits.issuerKeysMaxAgeMs
  assert.equal(await verify(withdrawn), 'invalid')
})

test('R15: a flood of unknown key ids causes at most one fetch per 30 seconds', async (t) => {
  const issuer = await startIssuer(t)
  const verify = verifierFor(t, issuer)
  assert.equal(await verify(await issuer.sign('k1')), 'ok')
  const flood = await Promise.all(Array.from({ length: 50 }, (_, i) => issuer.sign('k1', `unknown-${i}`)))
  for (const expected of [1, 2, 3]) {
    const outcomes = [...(await Promise.all(flood.map(verify))), ...(await Promise.all(flood.map(verify)))]
    assert.deepEqual(new Set(outcomes), new Set(['invalid']))
    assert.equal(issuer.fetches(), expected)
    issuer.now += limits.issuerKeysRefetchIntervalMs - 1
    assert.equal(await verify(flood[0] ?? ''), 'invalid')
    assert.equal(issuer.fetches(), expected)
    issuer.now += 1
  }
})

test('R7: a known key id does not make another key trusted', async (t) => {
  const issuer = await startIssuer(t)
  const verify = verifierFor(t, issuer)
  assert.equal(await verify(await issuer.sign('foreign', 'k1')), 'invalid')
  assert.equal(await verify(await issuer.sign('foreign')), 'invalid')
})

const failing: Record<string, Answer> = {
  '429': (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end(),
  '500': (_request, response) => response.writeHead(500).end('{}'),
  '503': (_request, response) => response.writeHead(503).end(),
  '404': (_request, response) => response.writeHead(404).end(),
  'no answer': () => {},
  'broken connection': (request) => request.socket.destroy(),
  'no JSON': (_request, response) => response.end('<html>'),
  'no object': json([]),
  'too large': (_request, response) => response.end('a'.repeat(limits.outboundBodyBytesMax + 1)),
}

/** For issuers that also respond: a busy machine needs some time for that. */
const patient = { ...limits, outboundTimeoutMs: 1500 }

test('R15: an issuer that fails makes tokens unverifiable for now, and is not fetched for some seconds', async (t) => {
  const issuer = await startIssuer(t)
  for (const [name, answer] of Object.entries(failing)) {
    const verify = verifierFor(t, issuer, { limits: patient })
    issuer.goDown(answer)
    const before = issuer.server.requests.length
    const token = await issuer.sign('k1')
    assert.deepEqual(await Promise.all([verify(token), verify(token)]), ['unavailable', 'unavailable'], name)
    assert.equal(await verify(token), 'unavailable', name)
    assert.equal(issuer.server.requests.length, before + 1, name)
    issuer.goDown(undefined)
    issuer.now += 5000
    assert.equal(await verify(token), 'ok', name)
  }
})

test('R15: the last good keys outlive a failing issuer for a day, unknown keys stay unaccepted', async (t) => {
  const issuer = await startIssuer(t)
  for (const [name, answer] of Object.entries(failing)) {
    const verify = verifierFor(t, issuer, { limits: patient })
    issuer.goDown(undefined)
    assert.equal(await verify(await issuer.sign('k1')), 'ok', name)
    issuer.goDown(answer)
    issuer.now += 23 * 3600_000
    assert.equal(await verify(await issuer.sign('k1')), 'ok', name)
    assert.equal(await verify(await issuer.sign('new')), 'unavailable', name)
    issuer.now += 3600_000
    assert.equal(await verify(await issuer.sign('k1')), 'unavailable', name)
  }
})

test('metadata of another issuer, without keys or with unusable ones is never accepted', async (t) => {
  const issuer = await startIssuer(t)
  const { privateKey, jwk } = newKey('k1')
  const jwksUri = `${issuer.server.url}/other-keys`
  for (const [name, metadata, keys, expected] of [
    ['other issuer', { issuer: 'https://other.example', jwks_uri: jwksUri }, [jwk], 'invalid'],
    ['issuer with a slash', { issuer: `${issuer.name}/`, jwks_uri: jwksUri }, [jwk], 'invalid'],
    ['no issuer', { jwks_uri: jwksUri }, [jwk], 'invalid'],
    ['no jwks_uri', { issuer: issuer.name }, [jwk], 'unavailable'],
    ['list of jwks_uri', { issuer: issuer.name, jwks_uri: [jwksUri] }, [jwk], 'unavailable'],
    ['jwks_uri of a file', { issuer: issuer.name, jwks_uri: 'file:///etc/passwd' }, [jwk], 'invalid'],
    ['no keys', { issuer: issuer.name, jwks_uri: jwksUri }, [], 'unavailable'],
    [
      'symmetric key',
      { issuer: issuer.name, jwks_uri: jwksUri },
      [{ kty: 'oct', k: 'AAAA', kid: 'k1' }],
      'unavailable',
    ],
    [
      'private key',
      { issuer: issuer.name, jwks_uri: jwksUri },
      [privateKey.export({ format: 'jwk' })],
      'unavailable',
    ],
    ['encryption key', { issuer: issuer.name, jwks_uri: jwksUri }, [{ ...jwk, use: 'enc' }], 'unavailable'],
  ] as const) {
    issuer.goDown((request, response) =>
      json(request.url === '/other-keys' ? { keys } : metadata)(request, response),
    )
    assert.equal(await verifierFor(t, issuer)(await issuer.sign('k1')), expected, name)
  }
})

test('R1: an invalid issuer URL is not fetched', async () => {
  const outbound = { share: () => assert.fail('fetched') }
  const issuerKeys = createIssuerKeys({ outbound, clock: Date.now })
  for (const issuer of ['https://ci.example.com@evil', 'https://ci.example.com?x', 'file:///x', '']) {
    assert.equal((await issuerKeys.keysFor(issuer, 'acme').find('ES256', 'k')).kind, 'invalid', issuer)
  }
})
