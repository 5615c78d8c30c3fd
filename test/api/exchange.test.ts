import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  ExchangeRequestSchema,
  SecurityTokenService,
} from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { openSqliteDb } from '@berth/server/storage/db.ts'
import { keyRotation } from '@berth/server/tokens/keys/signing-keys.ts'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { Provider } from 'oidc-provider'
import { freePort } from '../../scripts/free-port.ts'
import { type GrpcFailure, grpcClient } from '../support/api/grpc.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { bindRole, createGroup, createIdentity, createResource } from '../support/api/tenant.ts'
import { databases } from '../support/database/databases.ts'
import { assertOciError, basicAuth, requestAt } from '../support/registry/registry.ts'
import { cleanups, runBerth, serveBerth, temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { type ExchangeParameters, exchange, statusOf, toSearchParams } from '../support/tokens/exchange.ts'
import {
  newSigner,
  type Responder,
  SUBJECT,
  signJws,
  startIssuer,
  type TestIssuer,
  unsignedJws,
} from '../support/tokens/issuer.ts'

/** The exchange in each of its forms. */
const forms = {
  'GET with a query': (url: string, token: string, asked: ExchangeParameters) =>
    call('GET', `${url}/sts/exchange?${toSearchParams(asked)}`, { token }),
  'POST with a form': exchange,
  'POST with a query and no body': (url: string, token: string, asked: ExchangeParameters) =>
    call('POST', `${url}/sts/exchange?${toSearchParams(asked)}`, { token }),
} as const

async function overGrpc(
  url: string,
  token: string | undefined,
  asked: MessageInitShape<typeof ExchangeRequestSchema>,
) {
  const client = grpcClient(url)
  try {
    const request = create(ExchangeRequestSchema, asked)
    return await client.call(SecurityTokenService.method.exchange, request, {
      deadlineMs: 10_000,
      ...(token === undefined ? {} : { token }),
    })
  } finally {
    client.close()
  }
}

function assertErrorBody(reply: RestReply, code: number): void {
  assert.equal(reply.body.code, code, reply.text)
  assert.deepEqual(Object.keys(reply.body), ['code', 'message', 'details'])
  assert.equal(reply.body.details[0]['@type'], 'type.googleapis.com/google.rpc.ErrorInfo')
  assert.equal(reply.headers.get('content-type'), 'application/json')
  assert.equal(reply.headers.get('www-authenticate') === null, code !== 16)
  assert.equal(reply.headers.get('retry-after') === null, code !== 14)
}

for (const database of databases) {
  describe(`exchange on ${database.name}`, () => {
    const suite = cleanups()
    let berth: TestBerth
    let issuer: TestIssuer
    let patternIssuer: TestIssuer
    let identity: string
    /** The registry host is ours to choose: the API's own address has a port that is not known before. */
    const REGISTRY = 'registry.test'
    const asked = (more: ExchangeParameters = {}): ExchangeParameters => ({
      aud: berth.url,
      identity,
      ...more,
    })
    const trusting = (more: object = {}, trusted = issuer.name) => ({
      claimMatch: { issuer: trusted, subject: SUBJECT, ...more },
    })
    const identityFor = (relationship: object) => createIdentity(berth, berth.organization, relationship)
    const good = (claims: Readonly<Record<string, unknown>> = {}) =>
      issuer.sign({ aud: berth.url, ...claims })

    before(async () => {
      issuer = await startIssuer(suite)
      patternIssuer = await startIssuer(suite)
      berth = await startTestBerth(database, {
        env: {
          BERTH_PATTERN_ISSUERS: `${patternIssuer.name},https://ci.example.com`,
          BERTH_REGISTRY_HOST: REGISTRY,
        },
      })
      identity = await identityFor(trusting())
      await bindRole(berth, berth.organization, identity, 'viewer')
    })
    after(async () => {
      await berth.stop()
      await suite.run()
    })

    for (const [name, send] of Object.entries(forms)) {
      test(`${name} gives a token that the API accepts, and nothing but its three members`, async () => {
        const reply = await send(berth.url, await good(), asked())
        assert.equal(reply.status, 200, reply.text)
        assert.deepEqual(Object.keys(reply.body).sort(), ['expiry', 'refreshToken', 'token'])
        assert.equal(reply.body.refreshToken, '')
        assert.match(reply.body.expiry, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/)
        const groups = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: reply.body.token })
        assert.deepEqual(
          groups.body.groups.map((group: { uid: string }) => group.uid),
          [berth.organization],
        )
      })
    }

    test('gRPC gives a token that the API accepts', async () => {
      const reply = await overGrpc(berth.url, await good(), { aud: [berth.url], identity })
      assert.equal(reply.refreshToken, '')
      const groups = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: reply.token })
      assert.equal(groups.status, 200)
    })

    test('parameters of form and query are merged, camelCase is read, unknown ones are ignored', async () => {
      const reply = await call('POST', `${berth.url}/sts/exchange?identity=${identity}&colour=blue`, {
        token: await good(),
        body: toSearchParams({ aud: berth.url, identityProvider: '', audiences: 'x' }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      assert.equal(reply.status, 200, reply.text)
    })

    test('a JSON body is not read, so the audience is missing', async () => {
      const reply = await call('POST', `${berth.url}/sts/exchange`, { token: await good(), body: asked() })
      assertErrorBody(reply, 3)
      assert.equal(reply.body.details[1].fieldViolations[0].field, 'aud')
    })

    test('the token is valid for an hour and names subject, audience and actor', async () => {
      const token = await good()
      const reply = await exchange(berth.url, token, asked())
      const claims = decodeJwt(reply.body.token)
      assert.equal(claims.iss, berth.url)
      assert.equal(claims.sub, identity)
      assert.equal(claims.aud, berth.url)
      assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 3600)
      assert.ok(Math.abs((claims.iat ?? 0) - Date.now() / 1000) < 30)
      assert.equal(new Date(reply.body.expiry).getTime(), (claims.exp ?? 0) * 1000)
      assert.deepEqual(claims['act'], { iss: issuer.name, sub: SUBJECT, aud: berth.url })
      assert.equal(claims['berth'], undefined)
    })

    test('R10: the token is for the requested audience, in any of its forms', async () => {
      for (const [aud, expected] of [
        [berth.url, berth.url],
        [`${berth.url}/`, berth.url],
        [REGISTRY, REGISTRY],
        [
          [berth.url, REGISTRY],
          [berth.url, REGISTRY],
        ],
        [
          [REGISTRY, berth.url, REGISTRY],
          [REGISTRY, berth.url],
        ],
        [`${berth.url},${REGISTRY}`, [berth.url, REGISTRY]],
      ] as const) {
        const reply = await exchange(berth.url, await good(), asked({ aud }))
        assert.deepEqual(decodeJwt(reply.body.token).aud, expected, String(aud))
        const use = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: reply.body.token })
        assert.equal(use.status, [expected].flat().includes(berth.url) ? 200 : 401)
      }
    })

    test('R10: an audience that is missing or not ours is rejected by name', async () => {
      for (const aud of [
        [],
        '',
        ',',
        'https://evil.example',
        `${berth.url}@evil.example`,
        `${berth.url},https://evil.example`,
        `${berth.url}/x`,
        'REGISTRY.test.evil',
      ]) {
        const reply = await exchange(berth.url, await good(), asked({ aud }))
        assertErrorBody(reply, 3)
        assert.equal(reply.body.details[1].fieldViolations[0].field, 'aud', String(aud))
      }
    })

    test('other invalid parameters are all named', async () => {
      const bad = {
        identity: 'x',
        scopes: ['y', berth.organization],
        scope: 'z',
        cap: ['groups.list', 'flying'],
        identity_provider: 'p',
      }
      const reply = await exchange(berth.url, await good(), { aud: 'q', ...bad })
      assertErrorBody(reply, 3)
      const fields = reply.body.details[1].fieldViolations.map(({ field }: { field: string }) => field)
      assert.deepEqual([...new Set(fields)], ['aud', 'scopes', 'cap', 'identity', 'identity_provider'])
    })

    test('scopes that make the token too long for a header are rejected', async () => {
      const scopes = Array.from({ length: 400 }, () => randomBytes(20).toString('hex'))
      const reply = await exchange(berth.url, await good(), asked({ scopes }))
      assertErrorBody(reply, 3)
      assert.equal(reply.body.details[1].fieldViolations[0].field, 'scopes')
    })

    test('R10: without an audience of its own an identity accepts tokens for the token service, by URL or host', async () => {
      const host = new URL(berth.url).host
      for (const [aud, expected] of [
        [berth.url, 'ok'],
        [host, 'ok'],
        [['https://other.example', host], 'ok'],
        [undefined, '403/7'],
        [[], '403/7'],
        ['https://other.example', '403/7'],
        [`${berth.url}.evil.example`, '403/7'],
        [REGISTRY, '403/7'],
      ] as const) {
        assert.equal(
          statusOf(await exchange(berth.url, await issuer.sign({ aud }), asked())),
          expected,
          String(aud),
        )
      }
    })

    test('R10: a workload token for the registry gives a token for the registry alone', async () => {
      const token = await issuer.sign({ aud: REGISTRY })
      const reply = await exchange(berth.url, token, asked({ aud: REGISTRY }))
      assert.equal(statusOf(reply), 'ok')
      assert.equal(decodeJwt(reply.body.token).aud, REGISTRY)
      for (const aud of [berth.url, [REGISTRY, berth.url]])
        assert.equal(statusOf(await exchange(berth.url, token, asked({ aud }))), '403/7', String(aud))
      const named = await identityFor(trusting({ audience: 'berth' }))
      assert.equal(
        statusOf(await exchange(berth.url, token, asked({ aud: REGISTRY, identity: named }))),
        '403/7',
      )
      const own = await berth.tokenOf(identity, { audiences: [REGISTRY] })
      assert.equal(statusOf(await exchange(berth.url, own, asked({ aud: REGISTRY }))), '401/16')
    })

    test("the registry's token endpoint takes a workload token for either audience as the password of its identity", async () => {
      const asDocker = (user: string, password: string) =>
        requestAt(`${berth.url}/token?service=${REGISTRY}`, 'GET', {}, basicAuth(user, password))
      const asOauth = (username: string, password: string) =>
        requestAt(`${berth.url}/token`, 'POST', {
          body: new URLSearchParams({
            grant_type: 'password',
            service: REGISTRY,
            client_id: 'containerd-client',
            username,
            password,
          }).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
        })
      for (const send of [asDocker, asOauth]) {
        for (const aud of [REGISTRY, berth.url, new URL(berth.url).host]) {
          const { status, json } = await send(identity, await issuer.sign({ aud }))
          assert.equal(status, 200, String(aud))
          assert.deepEqual([decodeJwt(json.token).sub, decodeJwt(json.token).aud], [identity, REGISTRY])
        }
        for (const password of [
          await issuer.sign({ aud: 'https://other.example' }),
          await issuer.sign({ aud: REGISTRY, sub: 'other' }),
          await issuer.sign({ aud: REGISTRY, exp: Math.floor(Date.now() / 1000) - 1 }),
        ])
          assertOciError(await send(identity, password), 401, 'UNAUTHORIZED')
      }
    })

    test('every condition of a claim match must hold, exact ones equal and patterns over the whole value', async () => {
      const table: readonly [string, object, Record<string, unknown>, string][] = [
        ['other subject', {}, { sub: `${SUBJECT}x` }, '403/7'],
        ['subject pattern', { subject: undefined, subjectPattern: 'repo:acme/[a-z]+:ref:.*' }, {}, 'ok'],
        ['subject pattern on a part', { subject: undefined, subjectPattern: 'repo:acme' }, {}, '403/7'],
        [
          'R4: alternatives are anchored on both sides',
          { subject: undefined, subjectPattern: 'x|repo:acme' },
          {},
          '403/7',
        ],
        [
          'a claim and its pattern',
          { claims: { ref: 'main' }, claimPatterns: { ref: 'm.*' } },
          { ref: 'main' },
          'ok',
        ],
        [
          'a claim without its pattern',
          { claims: { ref: 'main' }, claimPatterns: { ref: 'x.*' } },
          { ref: 'main' },
          '403/7',
        ],
        [
          'a pattern without its claim',
          { claims: { ref: 'main' }, claimPatterns: { ref: 'm.*' } },
          { ref: 'mine' },
          '403/7',
        ],
        ['audience', { audience: 'berth' }, { aud: 'berth' }, 'ok'],
        ['audience instead of the default', { audience: 'berth' }, {}, '403/7'],
        ['one of several audiences', { audience: 'berth' }, { aud: ['a', 'berth'] }, 'ok'],
        ['audience pattern', { audiencePattern: 'berth-[0-9]+' }, { aud: 'berth-17' }, 'ok'],
        ['audience pattern on a part', { audiencePattern: 'berth-[0-9]' }, { aud: 'berth-17' }, '403/7'],
        ['claim', { claims: { actor: 'ann' } }, { actor: 'ann' }, 'ok'],
        ['claim missing', { claims: { actor: 'ann' } }, {}, '403/7'],
        ['claim of another value', { claims: { actor: 'ann' } }, { actor: 'Ann' }, '403/7'],
        ['claim that is a number', { claims: { run: '42' } }, { run: 42 }, 'ok'],
        ['claim that is a list', { claims: { actor: 'ann' } }, { actor: ['ann'] }, '403/7'],
        ['claim of the prototype', { claims: { toString: 'x' } }, {}, '403/7'],
        ['claim pattern', { claimPatterns: { ref: 'refs/(heads|tags)/v.*' } }, { ref: 'refs/tags/v1' }, 'ok'],
        [
          'claim and pattern, one fails',
          { claims: { a: '1' }, claimPatterns: { b: '2+' } },
          { a: '1', b: '23' },
          '403/7',
        ],
        ['claim and pattern', { claims: { a: '1' }, claimPatterns: { b: '2+' } }, { a: '1', b: '22' }, 'ok'],
      ]
      for (const [name, match, claims, expected] of table) {
        const uid = await identityFor(trusting(match))
        assert.equal(
          statusOf(await exchange(berth.url, await good(claims), asked({ identity: uid }))),
          expected,
          name,
        )
      }
    })

    test('R1: an issuer pattern matches only issuers that the operator listed, and no other is fetched', async () => {
      const uid = await identityFor({
        claimMatch: { issuerPattern: 'http://127\\.0\\.0\\.1:[0-9]+', subject: SUBJECT },
      })
      const before = issuer.requests.length
      assert.equal(statusOf(await exchange(berth.url, await good(), asked({ identity: uid }))), '403/7')
      assert.equal(issuer.requests.length, before)
      const token = await patternIssuer.sign({ aud: berth.url })
      assert.equal(statusOf(await exchange(berth.url, token, asked({ identity: uid }))), 'ok')
      // On the operator's list, but not what this identity's pattern says.
      const narrower = await identityFor({
        claimMatch: { issuerPattern: 'https://ci\\.example\\.com', subject: SUBJECT },
      })
      assert.equal(statusOf(await exchange(berth.url, token, asked({ identity: narrower }))), '403/7')
    })

    test('R1: no issuer is fetched unless it is exactly the one that the identity trusts', async () => {
      const stranger = await startIssuer(suite)
      const missing = `${berth.organization}/${'0'.repeat(16)}`
      const targets = [
        stranger.name,
        `${stranger.name}/`,
        `${issuer.name}@${new URL(stranger.name).host}`,
        `${issuer.name}/../..`,
        `${issuer.name}#x`,
        issuer.name.toUpperCase(),
      ]
      const before = issuer.requests.length
      for (const iss of targets) {
        for (const uid of [identity, missing, berth.owner]) {
          const token = await signJws(
            { iss, sub: SUBJECT, aud: berth.url, exp: Date.now() / 1000 + 60 },
            stranger.signer.privateKey,
            { kid: 'k1' },
          )
          const status = statusOf(await exchange(berth.url, token, asked({ identity: uid })))
          assert.equal(status, '403/7', `${iss} ${uid}`)
        }
      }
      assert.equal(statusOf(await exchange(berth.url, await good(), asked({ identity: missing }))), '403/7')
      assert.deepEqual(stranger.requests, [])
      assert.equal(issuer.requests.length, before)
    })

    test('an unknown identity and one that does not match get the same response, byte for byte', async () => {
      const wrongClaim = await identityFor(trusting({ claims: { actor: 'ann' } }))
      const wrongAudience = await identityFor(trusting({ audience: 'another' }))
      const wrongIssuer = await identityFor(trusting({}, 'https://ci.example.com'))
      const expired = await identityFor({
        staticKeys: {
          issuer: issuer.name,
          subject: 'other',
          issuerKeys: JSON.stringify({ keys: [issuer.signer.jwk] }),
        },
      })
      const missing = `${berth.organization}/${'0'.repeat(16)}`
      const nowhere = randomBytes(20).toString('hex')
      const token = await good()
      const answers = new Set<string>()
      for (const uid of [wrongClaim, wrongAudience, wrongIssuer, expired, missing, nowhere, berth.owner]) {
        const reply = await exchange(berth.url, token, asked({ identity: uid }))
        assertErrorBody(reply, 7)
        answers.add(`${reply.status} ${reply.text}`)
      }
      assert.equal(answers.size, 1, [...answers].join('\n'))
    })

    test('R6, R7, R8: tokens that must not be accepted', async () => {
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: issuer.name, sub: SUBJECT, aud: berth.url, iat: now, exp: now + 300 }
      const { privateKey, publicKey, jwk } = issuer.signer
      const foreign = newSigner('k1')
      const pem = Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }))
      const valid = await good()
      const [head, body, signature = ''] = valid.split('.')
      const table: Record<string, string> = {
        'no JWT': 'x',
        'two parts': `${head}.${body}`,
        'four parts': `${valid}.x`,
        'empty signature': `${head}.${body}.`,
        'alg none': unsignedJws({ alg: 'none' }, claims),
        'alg None with a signature': unsignedJws({ alg: 'None', kid: 'k1' }, claims, signature),
        'HS256 with the public key as the secret': await signJws(claims, pem, { alg: 'HS256', kid: 'k1' }),
        'another algorithm than the key': unsignedJws({ alg: 'RS256', kid: 'k1' }, claims, signature),
        'unknown key id': await issuer.sign({ aud: berth.url }, { kid: 'k2' }),
        'another key under the same id': await signJws(claims, foreign.privateKey, { kid: 'k1' }),
        'a key of its own in the header': await signJws(claims, foreign.privateKey, {
          kid: 'k1',
          jwk: foreign.jwk,
        }),
        jku: await signJws(claims, foreign.privateKey, { kid: 'k1', jku: `${issuer.name}/keys` }),
        'critical extension': unsignedJws({ alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 }, claims, signature),
        'changed payload': unsignedJws({ alg: 'ES256', kid: 'k1' }, { ...claims, sub: 'x' }, signature),
        'truncated signature': valid.slice(0, -4),
        expired: await good({ iat: now - 600, exp: now - 1 }),
        'no expiry': await good({ exp: undefined }),
        'expiry as text': await good({ exp: String(now + 300) }),
        'not valid yet': await good({ nbf: now + 120 }),
        'issued in the future': await good({ iat: now + 120 }),
        'issuer as a list': await good({ iss: [issuer.name] }),
        'subject as a number': await good({ sub: 7 }),
        'no subject': await good({ sub: undefined }),
        'audience as a number': await good({ aud: [berth.url, 7] }),
        'payload as a list': await signJws([claims], privateKey, { kid: 'k1' }),
        'payload that is no JSON': await signJws('x', privateKey, { kid: 'k1' }),
        'our own token': berth.token,
        'longer than we read': `${head}.${'a'.repeat(limits.bearerTokenCharsMax)}.${signature}`,
      }
      assert.ok(jwk.kid)
      for (const [name, token] of Object.entries(table)) {
        const reply = await exchange(berth.url, token, asked())
        // Our own token is a proper one, but of an issuer that this identity does not trust.
        assertErrorBody(reply, name === 'our own token' ? 7 : 16)
      }
      for (const authorization of [
        '',
        'Bearer',
        'Bearer ',
        'Basic abc',
        valid,
        `Bearer ${valid} x`,
        `Token ${valid}`,
      ]) {
        const reply = await call('GET', `${berth.url}/sts/exchange?${toSearchParams(asked())}`, {
          headers: { authorization },
        })
        assertErrorBody(reply, 16)
      }
      await assert.rejects(
        overGrpc(berth.url, undefined, { aud: [berth.url], identity }),
        ({ code }: GrpcFailure) => code === 16,
      )
      await assert.rejects(
        overGrpc(berth.url, await good({ exp: now - 1 }), { aud: [berth.url], identity }),
        ({ code, status }: GrpcFailure) => code === 16 && status?.code === 16,
      )
    })

    test('R14: a token issued more than a day ago is rejected, whatever its expiry; until then it can be reused', async () => {
      const day = 24 * 60 * 60
      const now = Math.floor(Date.now() / 1000)
      const status = async (iat: number) =>
        statusOf(await exchange(berth.url, await good({ iat, exp: now + 9 * day }), asked()))
      assert.equal(await status(now - day - 60), '401/16')
      assert.equal(await status(now - day + 60), 'ok')
      const twice = await good()
      assert.equal(statusOf(await exchange(berth.url, twice, asked())), 'ok')
      assert.equal(statusOf(await exchange(berth.url, twice, asked())), 'ok')
    })

    test('scopes narrow the token to groups and their descendants, capabilities to themselves', async () => {
      const one = await createGroup(berth, berth.organization, `one ${randomBytes(4).toString('hex')}`)
      const two = await createGroup(berth, berth.organization, `two ${randomBytes(4).toString('hex')}`)
      const narrowed = async (more: ExchangeParameters) => {
        const { body } = await exchange(berth.url, await good(), asked(more))
        return async (path: string) =>
          (await call('GET', `${berth.url}${path}`, { token: body.token })).status
      }
      for (const [more, expected] of [
        [{}, [200, 200, 200, 200]],
        [{ scopes: one }, [403, 200, 403, 403]],
        [{ scope: one }, [403, 200, 403, 403]],
        [{ scopes: [one, two] }, [403, 200, 200, 403]],
        [{ scope: two, scopes: one }, [403, 200, 200, 403]],
        [{ cap: 'groups.list' }, [200, 200, 200, 403]],
        [{ cap: ['groups.list', 'identity.list'] }, [200, 200, 200, 200]],
        [{ cap: 'groups.delete' }, [403, 403, 403, 403]],
        [{ cap: 'identity.list', scopes: two }, [403, 403, 403, 403]],
        [{ scopes: randomBytes(20).toString('hex') }, [403, 403, 403, 403]],
      ] as const) {
        const get = await narrowed(more)
        const paths = [berth.organization, one, two].map((uid) => `/iam/v2beta1/groups/${uid}`)
        const seen = await Promise.all([...paths, `/iam/v2beta1/identities/${identity}`].map(get))
        assert.deepEqual(seen, expected, JSON.stringify(more))
      }
    })

    test('R12: changing or deleting an identity affects the next exchange', async () => {
      const uid = await identityFor(trusting())
      const token = await good()
      /** Of repeated exchanges, for which an identity may be cached. */
      const status = async () => {
        const seen = new Set<string>()
        for (let time = 0; time < 4; time++)
          seen.add(statusOf(await exchange(berth.url, token, asked({ identity: uid }))))
        return [...seen].join()
      }
      assert.equal(await status(), 'ok')
      const url = `${berth.url}/iam/v2beta1/identities/${uid}`
      const other = { claimMatch: { issuer: issuer.name, subject: 'another' } }
      assert.equal((await call('PATCH', url, { token: berth.token, body: other })).status, 200)
      assert.equal(await status(), '403/7')
      assert.equal((await call('PATCH', url, { token: berth.token, body: trusting() })).status, 200)
      assert.equal(await status(), 'ok')
      assert.equal((await call('DELETE', url, { token: berth.token })).status, 200)
      assert.equal(await status(), '403/7')
    })

    test('static keys verify without a fetch; their audience, subject and issuer are exact', async () => {
      const signer = newSigner('static')
      const keys = {
        issuer: 'https://offline.example',
        subject: 'robot',
        issuerKeys: JSON.stringify({ keys: [signer.jwk] }),
      }
      const token = (claims: object = {}) =>
        signJws(
          { iss: keys.issuer, sub: keys.subject, aud: berth.url, exp: Date.now() / 1000 + 60, ...claims },
          signer.privateKey,
          { kid: 'static' },
        )
      const open = await identityFor({ staticKeys: keys })
      const bound = await identityFor({ staticKeys: { ...keys, audiences: ['only-this'] } })
      for (const [uid, claims, expected] of [
        [open, {}, 'ok'],
        [open, { aud: new URL(berth.url).host }, 'ok'],
        [open, { aud: REGISTRY }, 'ok'],
        [open, { aud: 'only-this' }, '403/7'],
        [open, { sub: 'robot2' }, '403/7'],
        [open, { iss: 'https://offline.example/' }, '403/7'],
        [bound, {}, '403/7'],
        [bound, { aud: 'only-this' }, 'ok'],
        [bound, { aud: 'only-this2' }, '403/7'],
      ] as const) {
        const reply = await exchange(berth.url, await token(claims), asked({ identity: uid }))
        assert.equal(statusOf(reply), expected, JSON.stringify(claims))
      }
      const foreign = await signJws(decodeJwt(await token()), newSigner('static').privateKey, {
        kid: 'static',
      })
      assert.equal(statusOf(await exchange(berth.url, foreign, asked({ identity: open }))), '401/16')
    })

    test('lastSeenTime changes immediately with an exchange, and not with a denied one', async () => {
      const uid = await identityFor(trusting())
      const seen = async () =>
        new Date(
          (await call('GET', `${berth.url}/iam/v2beta1/identities/${uid}`, { token: berth.token })).body
            .lastSeenTime,
        ).getTime()
      const first = await seen()
      await new Promise((resolve) => setTimeout(resolve, 20))
      await exchange(berth.url, await good({ sub: 'x' }), asked({ identity: uid }))
      assert.equal(await seen(), first)
      await exchange(berth.url, await good(), asked({ identity: uid }))
      assert.ok((await seen()) > first)
    })

    test('R39: headers that name another host change neither token nor documents', async () => {
      const headers = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      }
      const document = await call('GET', `${berth.url}/.well-known/openid-configuration`, { headers })
      assert.equal(document.body.issuer, berth.url)
      assert.doesNotMatch(document.text, /evil/)
      const reply = await call('GET', `${berth.url}/sts/exchange?${toSearchParams(asked())}`, {
        token: await good(),
        headers,
      })
      assert.equal(decodeJwt(reply.body.token).iss, berth.url)
    })

    test('a stock verifier finds the keys by discovery and accepts the token', async () => {
      const { body: document } = await call('GET', `${berth.url}/.well-known/openid-configuration`)
      assert.equal(document.issuer, berth.url)
      const { token } = (await exchange(berth.url, await good(), asked())).body
      const { payload, protectedHeader } = await jwtVerify(
        token,
        createRemoteJWKSet(new URL(document.jwks_uri)),
        {
          issuer: document.issuer,
          audience: berth.url,
          algorithms: document.id_token_signing_alg_values_supported,
        },
      )
      assert.equal(payload.sub, identity)
      assert.equal(protectedHeader.alg, 'ES256')
      const { body: jwks } = await call('GET', document.jwks_uri)
      for (const key of jwks.keys)
        assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    })

    test('R11: two installations do not accept each other’s tokens, nor tokens for the other', async () => {
      const other = await startTestBerth({ name: 'sqlite', open: undefined })
      try {
        for (const [url, token] of [
          [berth.url, other.token],
          [other.url, berth.token],
        ] as const) {
          const reply = await call('GET', `${url}/iam/v2beta1/groups`, { token })
          assertErrorBody(reply, 16)
        }
        const relationship = { claimMatch: { issuer: issuer.name, subject: SUBJECT } }
        const twin = await createIdentity(other, other.organization, relationship)
        const reply = await exchange(other.url, await good(), { aud: other.url, identity: twin })
        assert.equal(statusOf(reply), '403/7')
      } finally {
        await other.stop()
      }
    })

    test('the key set that an issuer rotated is fetched again', async () => {
      const rotating = await startIssuer(suite)
      const own = await startTestBerth({ name: 'sqlite', open: undefined })
      try {
        const uid = await createIdentity(own, own.organization, trusting({}, rotating.name))
        const status = async () =>
          statusOf(
            await exchange(own.url, await rotating.sign({ aud: own.url, exp: Date.now() / 1000 + 4000 }), {
              aud: own.url,
              identity: uid,
            }),
          )
        assert.equal(await status(), 'ok')
        rotating.rotate('k2')
        assert.equal(await status(), '401/16', 'asked a moment ago')
        own.advance(limits.issuerKeysRefetchIntervalMs)
        assert.equal(await status(), 'ok')
      } finally {
        await own.stop()
      }
    })
  })
}

test('a token of a real identity provider is exchanged', async (t) => {
  const issuer = await startIssuer(t)
  const { privateKey } = issuer.signer
  const provider = new Provider(issuer.name, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig' }] },
    clients: [
      {
        client_id: 'ci',
        client_secret: 'not-a-secret',
        id_token_signed_response_alg: 'ES256',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: ['build'],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: 'build',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
  provider.on('client_credentials.issued', () => {})
  issuer.answer = provider.callback()
  const berth = await startTestBerth({ name: 'sqlite', open: undefined })
  t.after(() => berth.stop())
  const granted = await fetch(`${issuer.name}/token`, {
    method: 'POST',
    body: toSearchParams({
      grant_type: 'client_credentials',
      client_id: 'ci',
      client_secret: 'not-a-secret',
      id_token_signed_response_alg: 'ES256',
      resource: 'https://berth.example',
      scope: 'build',
    }),
  })
  assert.equal(granted.status, 200)
  const { access_token: token } = (await granted.json()) as { access_token: string }
  const identity = await createIdentity(berth, berth.organization, {
    claimMatch: {
      issuer: issuer.name,
      // A client's own token has the client as its subject.
      subject: 'ci',
      audience: 'https://berth.example',
      claims: { client_id: 'ci', scope: 'build' },
    },
  })
  const reply = await exchange(berth.url, token, { aud: berth.url, identity })
  assert.equal(reply.status, 200, reply.text)
})

test('R2: an issuer in a network that is not allowed is not fetched, even if an identity trusts it', async (t) => {
  const issuer = await startIssuer(t)
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env: { BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.2/32' } },
  )
  t.after(() => berth.stop())
  const identity = await createIdentity(berth, berth.organization, {
    claimMatch: { issuer: issuer.name, subject: SUBJECT },
  })
  const reply = await exchange(berth.url, await issuer.sign({ aud: berth.url }), { aud: berth.url, identity })
  assertErrorBody(reply, 16)
  assert.deepEqual(issuer.requests, [])
})

const MARK = 'mark7d1f'
const chaos: Readonly<Record<string, Responder>> = {
  429: (_request, response) => response.writeHead(429, MARK, { 'retry-after': '60', [MARK]: MARK }).end(MARK),
  500: (_request, response) => response.writeHead(500).end(MARK),
  503: (_request, response) => response.writeHead(503).end(MARK),
  'no JSON': (_request, response) => response.end(`<html>${MARK}`),
  'no keys': (_request, response) => response.end(JSON.stringify({ keys: [], mark: MARK })),
  'broken connection': (request) => request.socket.destroy(),
  'redirect to nowhere': (_request, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:1/${MARK}` }).end(),
  'endless redirects': (request, response) => response.writeHead(302, { location: `${request.url}x` }).end(),
  'too large': (_request, response) => response.end(MARK.repeat(limits.outboundBodyBytesMax)),
  'no answer': () => {},
}

test('R3, R15: an issuer that fails makes the exchange unavailable and retryable, and nothing of its response is returned', async (t) => {
  await Promise.all(
    Object.entries(chaos).map(async ([name, answer]) => {
      const issuer = await startIssuer(t)
      const berth = await startTestBerth({ name: 'sqlite', open: undefined })
      t.after(() => berth.stop())
      const identity = await createIdentity(berth, berth.organization, {
        claimMatch: { issuer: issuer.name, subject: SUBJECT },
      })
      const send = async () =>
        exchange(
          berth.url,
          await issuer.sign({ aud: berth.url, exp: Math.floor(Date.now() / 1000) + 4000 }),
          { aud: berth.url, identity },
        )
      issuer.answer = answer
      const refused = await send()
      // What is no metadata of this issuer at all is not its failure; it is never accepted either way.
      assertErrorBody(refused, name === 'no keys' ? 16 : 14)
      assert.doesNotMatch(refused.text, new RegExp(`${MARK}|${new URL(issuer.name).port}`), name)
      if (refused.body.code === 14)
        assert.ok(refused.body.details.some((detail: { retryDelay?: string }) => detail.retryDelay === '1s'))
      issuer.answer = undefined
      berth.advance(6000)
      assert.equal(statusOf(await send()), 'ok', name)
      if (name === 'no answer') return
      // From here on the keys are known, and a failing issuer changes nothing until they are a day old.
      issuer.answer = answer
      berth.advance(limits.issuerKeysMaxAgeMs)
      assert.equal(
        statusOf(
          await exchange(
            berth.url,
            await issuer.sign({ aud: berth.url, exp: Math.floor(Date.now() / 1000) + 9000 }),
            { aud: berth.url, identity },
          ),
        ),
        'ok',
        name,
      )
      issuer.rotate('k2')
      assert.notEqual(
        statusOf(
          await exchange(
            berth.url,
            await issuer.sign({ aud: berth.url, exp: Math.floor(Date.now() / 1000) + 9000 }),
            { aud: berth.url, identity },
          ),
        ),
        'ok',
        name,
      )
    }),
  )
})

test('R16: static keys expire at use, independent of cleanup', async (t) => {
  const berth = await startTestBerth({ name: 'sqlite', open: undefined })
  t.after(() => berth.stop())
  const signer = newSigner('k')
  const issuer = 'https://offline.example'
  const keys = { issuer, subject: 'robot', issuerKeys: JSON.stringify({ keys: [signer.jwk] }) }
  const hour = 3_600_000
  const soon = await createIdentity(berth, berth.organization, {
    staticKeys: { ...keys, expirationTime: new Date(Date.now() + hour).toISOString() },
  })
  const longest = await createIdentity(berth, berth.organization, { staticKeys: keys })
  const token = await signJws(
    { iss: issuer, sub: 'robot', aud: berth.url, exp: Date.now() / 1000 + 40_000_000 },
    signer.privateKey,
    { kid: 'k' },
  )
  const status = async (identity: string) =>
    statusOf(await exchange(berth.url, token, { aud: berth.url, identity }))
  assert.deepEqual([await status(soon), await status(longest)], ['ok', 'ok'])
  berth.advance(hour)
  assert.deepEqual([await status(soon), await status(longest)], ['403/7', 'ok'])
  const owner = await berth.tokenOf(berth.owner)
  const stored = await call('GET', `${berth.url}/iam/v2beta1/identities/${soon}`, { token: owner })
  assert.equal(stored.status, 200, 'it stays listed')
  berth.advance(365 * 24 * hour)
  assert.equal(await status(longest), '403/7')
})

test('a token is valid for its hour and not a second longer', async (t) => {
  const berth = await startTestBerth({ name: 'sqlite', open: undefined })
  t.after(() => berth.stop())
  const token = await berth.tokenOf(berth.owner)
  const status = async () => (await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })).status
  assert.equal(await status(), 200)
  const expiresMs = ((decodeJwt(token).exp ?? 0) as number) * 1000
  berth.advance(expiresMs - Date.now() - 60_000)
  assert.equal(await status(), 200)
  berth.advance(60_001)
  assert.equal(await status(), 401)
})

for (const database of databases.filter(({ name }) => name !== 'pglite')) {
  test(`key rotation on ${database.name}: a new key is published an hour before it signs, and old tokens keep working`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const published = async (): Promise<string[]> =>
      (await call('GET', `${berth.url}/.well-known/jwks.json`)).body.keys.map(
        ({ kid }: { kid: string }) => kid,
      )
    const kidOf = (token: string) =>
      JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid as string
    const usable = async (token: string) =>
      (await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })).status === 200
    const first = kidOf(await berth.tokenOf(berth.owner))
    assert.deepEqual(await published(), [first])

    berth.advance(keyRotation.signsForMs - 12 * keyRotation.publishedAheadMs)
    const last = await berth.tokenOf(berth.owner)
    assert.equal(kidOf(last), first, 'the successor does not sign yet')
    const both = await published()
    assert.equal(both.length, 2)
    const second = both.find((kid) => kid !== first)

    berth.advance(11 * keyRotation.publishedAheadMs - 60_000)
    const beforeSwitch = await berth.tokenOf(berth.owner)
    assert.equal(kidOf(beforeSwitch), first)
    berth.advance(60_000)
    assert.equal(kidOf(await berth.tokenOf(berth.owner)), second)
    assert.ok(await usable(beforeSwitch), 'a token of the old key')
    assert.deepEqual((await published()).sort(), [...both].sort())
    berth.advance(keyRotation.signsForMs)
    assert.ok(!(await published()).includes(first))
  })

  test(`key rotation on ${database.name}: an installation without requests for weeks still publishes a key before it signs`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const published = async (): Promise<string[]> =>
      (await call('GET', `${berth.url}/.well-known/jwks.json`)).body.keys.map(
        ({ kid }: { kid: string }) => kid,
      )
    // Verifiers ask for the keys now and then, but no token is issued.
    berth.advance(keyRotation.signsForMs - 12 * keyRotation.publishedAheadMs)
    const before = await published()
    assert.equal(before.length, 2)
    berth.advance(12 * keyRotation.publishedAheadMs)
    const token = await berth.tokenOf(berth.owner)
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
    assert.ok(before.includes(kid))
  })
}

test('lastSeenTime survives a restart, no line of the log contains a token or a secret, and R42: none is stored readable', async (t) => {
  const issuer = await startIssuer(t)
  const dataDir = temporaryDirectory(t)
  const env = {
    BERTH_DATA_DIR: dataDir,
    BERTH_LOG_LEVEL: 'trace',
    // The second server listens on the port of the first: it is not one that the system gives to others.
    BERTH_LISTEN: `127.0.0.1:${await freePort()}`,
  }
  const server = await serveBerth(t, env, ['--dev'])
  const first = JSON.parse((await runBerth(t, ['admin', 'bootstrap', '--json'], env)).stdout)
  const admin = { url: server.url, token: first.token as string }
  const staticSigner = newSigner('static')
  const identity = await createIdentity(admin, first.organization.uid, {
    claimMatch: { issuer: issuer.name, subject: SUBJECT },
  })
  await createResource(admin, `/iam/v2beta1/identities/${first.organization.uid}`, {
    name: 'static',
    staticKeys: {
      issuer: 'https://offline.example',
      subject: 'x',
      issuerKeys: JSON.stringify({ keys: [staticSigner.jwk] }),
    },
  })
  const subjectToken = await issuer.sign({ aud: server.url })
  const reply = await exchange(server.url, subjectToken, { aud: server.url, identity })
  assert.equal(reply.status, 200, reply.text)
  const secrets = [first.token, subjectToken, reply.body.token as string]
  for (const token of [
    `${subjectToken}x`,
    await issuer.sign({ aud: 'x' }),
    unsignedJws({ alg: 'none' }, { iss: issuer.name }),
    'secret-that-is-no-token',
  ]) {
    secrets.push(token)
    await exchange(server.url, token, { aud: server.url, identity })
    await call('GET', `${server.url}/iam/v2beta1/groups`, { token })
    await call('GET', `${server.url}/sts/exchange?access_token=${token}&aud=${token}`, { token })
  }
  const seen = async (url: string, token: string) =>
    (await call('GET', `${url}/iam/v2beta1/identities/${identity}`, { token })).body.lastSeenTime as string
  const before = await seen(server.url, admin.token)
  server.child.kill('SIGTERM')
  const { stdout, stderr, code } = await server.finished
  assert.equal(code, 0)
  const { readFileSync, readdirSync } = await import('node:fs')
  const masterKey = readFileSync(`${dataDir}/master.key`, 'utf8').trim()
  for (const secret of [...secrets, masterKey]) {
    for (const part of secret.split('.').filter((text: string) => text.length > 20)) {
      assert.ok(!stderr.includes(part) && !stdout.includes(part), 'a secret is in the log')
    }
  }
  assert.doesNotMatch(stderr, /eyJ|"d":/)
  for (const file of readdirSync(dataDir).filter((name) => name.startsWith('berth.db'))) {
    const text = readFileSync(`${dataDir}/${file}`, 'latin1')
    for (const secret of [...secrets, masterKey]) assert.ok(!text.includes(secret), `a secret is in ${file}`)
    assert.doesNotMatch(text, /"d":"/, `a private key is in ${file}`)
  }
  const again = await serveBerth(t, env, ['--dev'])
  assert.equal(await seen(again.url, admin.token), before)
})

test('a node whose clock is behind signs with the key that another node has just created', async (t) => {
  const dataDir = temporaryDirectory(t)
  const env = { BERTH_DATA_DIR: dataDir }
  // Without the lock of `berth serve`: as two nodes on one PostgreSQL.
  const openDb = () => openSqliteDb(join(dataDir, 'berth.db'))
  const ahead = await startTestBerth({ name: 'sqlite', open: undefined }, { env, openDb })
  t.after(() => ahead.stop())
  const behind = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env, openDb, clock: () => Date.now() - 5000 },
  )
  t.after(() => behind.stop())
  const kid = async (url: string) =>
    (await call('GET', `${url}/.well-known/jwks.json`)).body.keys.map((key: { kid: string }) => key.kid)
  assert.deepEqual(await kid(behind.url), await kid(ahead.url))
})
