import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { limits } from '@berth/server/config/limits.ts'
import { managedRole, newName } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { createIdentity, createResource } from './support/api/tenant.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { createPerson } from './support/signin/accounts.ts'
import { type ExchangeParameters, exchange, statusOf } from './support/tokens/exchange.ts'
import { newSigner, type Responder, SUBJECT, startIssuer, type TestIssuer } from './support/tokens/issuer.ts'

/**
 * Issuers that fail, lie or lead elsewhere, through the front door: those of workloads, of the operator and of organizations. Names
 * that resolve to one address and then to another are in sts-issuers.test.ts, which has the resolver in its hand.
 */

const MARK = 'mark7d1f'
const CLIENT = 'berth'

const json =
  (value: unknown): Responder =>
  (_request, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
const status =
  (code: number): Responder =>
  (_request, response) =>
    response.writeHead(code, MARK, { 'retry-after': '60', [MARK]: MARK }).end(MARK)
const redirect =
  (location: string): Responder =>
  (_request, response) =>
    response.writeHead(302, { location }).end(MARK)
/** The metadata as it should be, and something else for the keys, or the keys elsewhere. */
const keys =
  (answer: Responder) =>
  (issuer: TestIssuer): Responder =>
  (request, response) =>
    request.url === '/keys'
      ? answer(request, response)
      : json({ issuer: issuer.name, jwks_uri: `${issuer.name}/keys` })(request, response)
const metadata =
  (changed: object) =>
  (issuer: TestIssuer): Responder =>
    json({ issuer: issuer.name, jwks_uri: `${issuer.name}/keys`, ...changed })
const always = (answer: Responder) => (): Responder => answer

const TRY_AGAIN = '503/14'
const NO = '401/16'

/** What an issuer does, and what comes of a token that it signed. `inner`: a server where nothing may be fetched from. */
const faults = (
  inner: string,
): Readonly<Record<string, readonly [(issuer: TestIssuer) => Responder, string]>> => ({
  'answers 429': [always(status(429)), TRY_AGAIN],
  'answers 500': [always(status(500)), TRY_AGAIN],
  'answers 503': [always(status(503)), TRY_AGAIN],
  'answers 404': [always(status(404)), TRY_AGAIN],
  'answers 204': [always((_request, response) => response.writeHead(204).end()), TRY_AGAIN],
  'answers no JSON': [always((_request, response) => response.end(`<html>${MARK}`)), TRY_AGAIN],
  'answers a list': [always(json([MARK])), TRY_AGAIN],
  'breaks the connection': [always((request) => request.socket.destroy()), TRY_AGAIN],
  'answers no HTTP': [always((request) => request.socket.end(MARK)), TRY_AGAIN],
  'does not answer': [always(() => {}), TRY_AGAIN],
  'sends one byte at a time': [
    always((_request, response) => {
      const timer = setInterval(() => response.write(' '), 50)
      response.on('close', () => clearInterval(timer))
    }),
    TRY_AGAIN,
  ],
  'sends too much': [
    always((_request, response) => response.end(MARK.repeat(limits.outboundBodyBytesMax))),
    TRY_AGAIN,
  ],
  'sends without end': [
    always((_request, response) => {
      const timer = setInterval(() => response.write(MARK.repeat(1000)), 1)
      response.on('close', () => clearInterval(timer))
    }),
    TRY_AGAIN,
  ],
  'sends what unpacks to more': [
    always((_request, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(MARK.repeat(100_000))),
    ),
    TRY_AGAIN,
  ],
  'redirects for ever': [
    always((request, response) => response.writeHead(302, { location: `${request.url}x` }).end()),
    TRY_AGAIN,
  ],
  'redirects to a private address': [always(redirect(`${inner}/${MARK}`)), NO],
  'redirects to the metadata of a cloud': [always(redirect('http://169.254.169.254/latest/meta-data')), NO],
  'redirects to a spelled-out address': [always(redirect(inner.replace('127.0.0.2', '2130706434'))), NO],
  'redirects to an IPv4 address in IPv6': [
    always(redirect(inner.replace('127.0.0.2', '[::ffff:127.0.0.2]'))),
    NO,
  ],
  'redirects with credentials': [always(redirect(inner.replace('//', '//user:secret@'))), TRY_AGAIN],
  'redirects to a file': [always(redirect('file:///etc/passwd')), TRY_AGAIN],
  'names another issuer': [metadata({ issuer: 'https://issuer.example' }), NO],
  'names itself with a slash': [(issuer) => metadata({ issuer: `${issuer.name}/` })(issuer), NO],
  'names no keys': [metadata({ jwks_uri: undefined }), TRY_AGAIN],
  'names two sets of keys': [metadata({ jwks_uri: [MARK, MARK] }), TRY_AGAIN],
  'has its keys at a private address': [metadata({ jwks_uri: `${inner}/keys` }), NO],
  'has its keys in a file': [metadata({ jwks_uri: 'file:///etc/passwd' }), NO],
  'has its keys behind credentials': [metadata({ jwks_uri: inner.replace('//', '//user@') }), NO],
  'redirects from its keys to a private address': [keys(redirect(`${inner}/${MARK}`)), NO],
  'fails with its keys': [keys(status(500)), TRY_AGAIN],
  'has no keys': [keys(json({ keys: [] })), TRY_AGAIN],
  'has a symmetric key': [keys(json({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'k1' }] })), TRY_AGAIN],
  'has another key of the same name': [keys(json({ keys: [newSigner('k1').jwk] })), NO],
  'has its key twice': [(issuer) => keys(json({ keys: [issuer.signer.jwk, issuer.signer.jwk] }))(issuer), NO],
})

/** Whom the token is for: who trusts the issuer, and how. */
const kinds = ['an identity', "the operator's provider", "an organization's provider"] as const

describe('issuers that fail', () => {
  const suite = cleanups()
  const innerRequests: string[] = []
  let berth: TestBerth
  let inner = ''
  let table: ReturnType<typeof faults>
  /** By the name of the fault. */
  const operators = new Map<string, TestIssuer>()

  before(async () => {
    const server = createServer((request, response) => {
      innerRequests.push(request.url ?? '')
      response.end('{}')
    })
    server.listen(0, '127.0.0.2')
    await once(server, 'listening')
    suite.after(() => void server.close())
    inner = `http://127.0.0.2:${(server.address() as AddressInfo).port}`
    table = faults(inner)
    for (const name of [...Object.keys(table), 'rotates']) operators.set(name, await startIssuer(suite))
    const file = join(temporaryDirectory(suite), 'providers.json')
    const providers = [...operators.values()].map(({ name }, at) => ({
      name: `p${at}`,
      issuer: name,
      clientId: CLIENT,
    }))
    writeFileSync(file, JSON.stringify(providers))
    berth = await startTestBerth(
      { name: 'sqlite', open: undefined },
      { env: { BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.1/32', BERTH_SIGN_IN_PROVIDERS_FILE: file } },
    )
  })
  after(async () => {
    await berth.stop()
    await suite.run()
  })

  /** An issuer that is trusted in this way, and the exchange of a token of it. */
  const trusted = async (kind: (typeof kinds)[number], fault: string) => {
    const issuer =
      kind === "the operator's provider" ? (operators.get(fault) ?? assert.fail()) : await startIssuer(suite)
    const aud = kind === 'an identity' ? berth.url : CLIENT
    const exp = Math.floor(Date.now() / 1000) + 9000
    const ask = async (asked: ExchangeParameters) =>
      exchange(berth.url, await issuer.sign({ aud, exp }), { aud: berth.url, ...asked })
    if (kind === 'an identity') {
      const claimMatch = { issuer: issuer.name, subject: SUBJECT }
      const identity = await createIdentity(berth, berth.organization, { claimMatch })
      return { issuer, ask: () => ask({ identity }) }
    }
    await createPerson(berth, { issuer: issuer.name, subject: SUBJECT })
    if (kind === "the operator's provider") return { issuer, ask: () => ask({}) }
    const { uid } = await createResource(berth, `/iam/v2beta1/identityProviders/${berth.organization}`, {
      name: newName('login'),
      defaultRole: managedRole('viewer'),
      oidc: { issuer: issuer.name, clientId: CLIENT, clientSecret: 's' },
    })
    return { issuer, ask: () => ask({ identity_provider: uid }) }
  }

  test('a new key of an issuer is known after one more fetch, for all that trust it', async () => {
    for (const kind of kinds) {
      const { issuer, ask } = await trusted(kind, 'rotates')
      assert.equal(statusOf(await ask()), 'ok', kind)
      issuer.rotate('k2')
      const asked = issuer.requests.length
      assert.equal(statusOf(await ask()), '401/16', kind)
      assert.equal(statusOf(await ask()), '401/16', kind)
      assert.equal(issuer.requests.length, asked, 'asked a moment ago')
      berth.advance(limits.issuerKeysRefetchIntervalMs)
      assert.equal(statusOf(await ask()), 'ok', kind)
    }
  })

  const names = [
    'https://ci.example.com@evil.example',
    'https://user:secret@evil.example',
    'https://evil.example?https://ci.example.com',
    'https://evil.example#ci.example.com',
    'https://evil.example\\@ci.example.com',
    'https://evil.example%2f@ci.example.com',
    'https://ci.example.com/../..',
    'https://ci.example.com/%2e%2e',
    'https://ci.example.com /',
    'https://ci.example.com\t',
    'https://CI.example.com',
    'https://ci.exämple.com',
    'https://127.1',
    'https://0x7f000001',
    'https://2130706433',
    'https://[::ffff:127.0.0.1',
    'https:///ci.example.com',
    'https:ci.example.com',
    'https://ci.example.com:0',
    'https://ci.example.com:99999',
    'ftp://ci.example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'ci.example.com',
    `https://ci.example.com/${'a'.repeat(limits.issuerCharsMax)}`,
  ]
  test(`R1: ${names.length} names that parsers read differently are rejected as issuers of identities and providers`, async () => {
    const { token, url, organization } = berth
    for (const issuer of names) {
      const identity = { name: 'x', claimMatch: { issuer, subject: 'x' } }
      const keysOf = {
        name: 'x',
        staticKeys: { issuer, subject: 'x', issuerKeys: JSON.stringify({ keys: [newSigner('k').jwk] }) },
      }
      const oidc = { issuer, clientId: 'x', clientSecret: 'x' }
      const provider = { name: 'x', defaultRole: managedRole('viewer'), oidc }
      for (const [path, body, field] of [
        ['identities', identity, 'claimMatch.issuer'],
        ['identities', keysOf, 'staticKeys.issuer'],
        ['identityProviders', provider, 'oidc.issuer'],
      ] as const) {
        const reply = await call('POST', `${url}/iam/v2beta1/${path}/${organization}`, { token, body })
        assert.equal(reply.body.code, 3, `${issuer}: ${reply.text}`)
        assert.deepEqual(
          reply.body.details[1].fieldViolations.map((violation: { field: string }) => violation.field),
          [field],
          issuer,
        )
      }
    }
  })

  const count = Object.keys(faults('http://127.0.0.2:1')).length
  test(`R1-R3, R15: ${count} faults of an issuer, for each of ${kinds.length} that trust it: access is denied, and nothing of the fault is returned`, async () => {
    const cases = kinds.flatMap((kind) => Object.keys(table).map((fault) => [kind, fault] as const))
    const answered = await Promise.all(
      cases.map(async ([kind, fault]) => {
        const [answer, expected] = table[fault] ?? assert.fail()
        const { issuer, ask } = await trusted(kind, fault)
        issuer.answer = answer(issuer)
        const began = performance.now()
        const reply = await ask()
        assert.equal(statusOf(reply), expected, `${fault}, for ${kind}: ${reply.text}`)
        assert.doesNotMatch(
          reply.text,
          new RegExp(`${MARK}|${new URL(issuer.name).port}|127\\.0\\.0\\.2|169\\.254`),
        )
        assert.ok(performance.now() - began < 4 * limits.outboundTimeoutMs, fault)
        const asked = issuer.requests.length
        assert.ok(asked <= 1 + limits.outboundRedirectsMax, `${fault}: ${asked} requests`)
        return { fault, kind, issuer, ask }
      }),
    )
    assert.deepEqual(innerRequests, [])
    // None of it lasts: an issuer that is well again is trusted again, at the latest when its keys are fetched anew.
    berth.advance(limits.issuerKeysMaxAgeMs)
    for (const { fault, kind, issuer, ask } of answered) {
      issuer.answer = undefined
      assert.equal(statusOf(await ask()), 'ok', `${fault}, for ${kind}`)
    }
  })
})
