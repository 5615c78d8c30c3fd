import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { openSqliteDb } from '@berth/server/storage/db.ts'
import { readRefreshToken, writeRefreshToken } from '@berth/server/tokens/refresh/refresh-token.ts'
import {
  type ClientTokens,
  endClientSession,
  REUSE_METHOD,
  verifyRefreshToken,
} from '@berth/server/tokens/sessions/client-session.ts'
import { sessionsOf } from '@berth/server/tokens/sessions/sessions.ts'
import { decodeJwt } from 'jose'
import { freePort } from '../../scripts/free-port.ts'
import {
  type ApiFixture,
  apiOf,
  assertError,
  managedRole,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { databases } from '../support/database/databases.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import {
  clientSessionsOf,
  createAccount,
  createClientTokens,
  createPerson,
  endSession,
  voucherOf,
} from '../support/signin/accounts.ts'

const METHOD = 'chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken'
const unauthenticated = { status: 401, code: 16 } as const

type Form = Readonly<Record<string, string | readonly string[]>>

function form(parameters: Form): string {
  return new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  ).toString()
}

function refresh({ url }: TestBerth, token: string | undefined, parameters?: Form): Promise<RestReply> {
  return call('POST', `${url}/sts/exchange_refresh_token`, {
    ...(token === undefined ? {} : { token }),
    body: form(parameters ?? { aud: url }),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
}

const refreshTokenOf = ({ body }: RestReply): string => body.refreshToken.token
const claimsOf = (token: string) => JSON.parse(Buffer.from(token, 'base64').toString())
const encode = (claims: unknown) => Buffer.from(JSON.stringify(claims)).toString('base64')

/** A user who may read an organization, signed in with a client. */
async function signedIn(cast: ApiFixture, request: Parameters<typeof createClientTokens>[2] = {}) {
  const organization = await cast.organization()
  const identity = await createPerson(cast.berth)
  const binding = await cast.admin.create(`iam/roleBindings/${organization.uid}`, {
    identityUid: identity,
    roleUid: managedRole('viewer'),
  })
  const tokens = await createClientTokens(cast.berth, { identity }, request)
  const { refreshToken = assert.fail('there is no refresh token') } = tokens
  const group = `iam/groups/${organization.uid}`
  const statusWith = async (token: string) => (await apiOf(cast.berth, token).get(group)).status
  return { ...tokens, refreshToken, organization, identity, binding, group, statusWith }
}

onEveryDatabase('a refresh token', (cast) => {
  const eventsOf = async (identity: string) => {
    const { kysely } = cast().berth.berth.installation.store.db
    return kysely
      .selectFrom('audit_events')
      .select(['method', 'code', 'reason', 'actor', 'address', 'n'])
      .where('parent', '=', identity)
      .where('method', 'in', [METHOD, REUSE_METHOD])
      .orderBy('id')
      .execute()
  }
  /** Refusals reach the log about a second later. */
  const refusalsOf = (identity: string) =>
    eventually(
      async () => (await eventsOf(identity)).filter(({ code }) => code !== 0),
      ({ length }) => length > 0,
    )

  test('is padded base64 of JSON with its expiry, clientSessionMs after the sign-in', async () => {
    const { refreshToken, identity, session } = await signedIn(cast())
    assert.match(refreshToken, /^[A-Za-z0-9+/]+={0,2}$/)
    assert.equal(refreshToken.length % 4, 0)
    const { secret, iat, exp, ...claims } = claimsOf(refreshToken)
    const { authUrl, baseUrl } = cast().berth.berth.addresses
    assert.deepEqual(claims, { iss: authUrl, sub: identity, aud: baseUrl, jti: session })
    assert.equal(exp - iat, limits.clientSessionMs / 1000)
    assert.ok(Number.isInteger(exp))
    assert.match(secret, /^[\w-]{43}\.[\w-]{43}$/)
    const { kysely } = cast().berth.berth.installation.store.db
    const row = await kysely.selectFrom('sessions').selectAll().where('id', '=', session).executeTakeFirst()
    assert.doesNotMatch(JSON.stringify({ ...row, secret_hash: '' }), new RegExp(secret.split('.')[0]))
  })

  test('returns an access token of the session and the next refresh token, and no other members', async () => {
    const { refreshToken, identity, session, statusWith } = await signedIn(cast())
    const reply = await refresh(cast().berth, refreshToken)
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(Object.keys(reply.body), ['token', 'refreshToken'])
    for (const one of [reply.body.token, reply.body.refreshToken]) {
      assert.deepEqual(Object.keys(one).sort(), ['expiry', 'refreshToken', 'token'])
      assert.equal(one.refreshToken, '')
    }
    const claims = decodeJwt(reply.body.token.token)
    assert.deepEqual(
      [claims.sub, claims.aud, claims['berth']],
      [identity, cast().berth.url, { sid: session }],
    )
    assert.equal(new Date(reply.body.token.expiry).getTime(), (claims.exp ?? 0) * 1000)
    assert.equal(await statusWith(reply.body.token.token), 200)
    const [before, after] = [claimsOf(refreshToken), claimsOf(refreshTokenOf(reply))]
    assert.notEqual(after.secret, before.secret)
    assert.deepEqual({ ...after, secret: '', iat: 0 }, { ...before, secret: '', iat: 0 })
    assert.equal(new Date(reply.body.refreshToken.expiry).getTime(), after.exp * 1000)
  })

  test('R13: each use returns the next one, alternately over REST and gRPC', async () => {
    const { refreshToken, statusWith } = await signedIn(cast())
    const { url } = cast().berth
    let token = refreshToken
    const used = new Set<string>()
    for (let turn = 0; turn < 3; turn++) {
      used.add(token)
      token = refreshTokenOf(await refresh(cast().berth, token))
      used.add(token)
      const pair = await cast().grpc.call(
        SecurityTokenService.method.exchangeRefreshToken,
        { aud: [url] },
        { token },
      )
      assert.equal(await statusWith(pair.token?.token ?? ''), 200)
      token = pair.refreshToken?.token ?? ''
    }
    assert.equal(used.size, 6)
    assert.ok(!used.has(token))
  })

  test('is the bearer token of a POST, with parameters in a form or a query; JSON is not read', async () => {
    const { refreshToken } = await signedIn(cast())
    const { url } = cast().berth
    const address = `${url}/sts/exchange_refresh_token`
    const byJson = await call('POST', address, { token: refreshToken, body: { aud: [url] } })
    assertError(byJson, { status: 400, code: 3, fields: ['aud'] })
    const byQuery = await call('POST', `${address}?${form({ aud: url })}`, { token: refreshToken })
    assert.equal(byQuery.status, 200, byQuery.text)
    const get = await call('GET', `${address}?${form({ aud: url })}`, { token: refreshTokenOf(byQuery) })
    assert.equal(get.status, 405)
    assert.equal((await refresh(cast().berth, refreshTokenOf(byQuery))).status, 200)
  })

  test('R13: of 100 concurrent uses exactly one succeeds, and the session ends for all', async () => {
    const { refreshToken, accessToken, identity, statusWith } = await signedIn(cast())
    const replies = await Promise.all(Array.from({ length: 100 }, () => refresh(cast().berth, refreshToken)))
    const won = replies.filter(({ status }) => status === 200)
    assert.equal(won.length, 1)
    for (const reply of replies) if (reply.status !== 200) assertError(reply, unauthenticated)
    const [winner = assert.fail()] = won
    assertError(await refresh(cast().berth, refreshTokenOf(winner)), unauthenticated)
    assert.equal(await statusWith(winner.body.token.token), 401)
    assert.equal(await statusWith(accessToken), 401)
    const done = (await eventsOf(identity)).filter(({ code }) => code === 0)
    assert.deepEqual(
      done.map(({ method }) => method),
      [METHOD, REUSE_METHOD],
    )
  })

  test('R13: a second use ends the session, also for the first user of the token, and is an event of its own', async () => {
    const { refreshToken, accessToken, identity, statusWith, session } = await signedIn(cast())
    const other = await createClientTokens(cast().berth, { identity })
    const first = await refresh(cast().berth, refreshToken)
    const second = await refresh(cast().berth, refreshTokenOf(first))
    assert.equal(second.status, 200)
    const reuse = await refresh(cast().berth, refreshToken)
    assertError(reuse, unauthenticated)
    assert.match(reuse.body.message, /already used/)
    for (const reply of [first, second]) {
      assertError(await refresh(cast().berth, refreshTokenOf(reply)), unauthenticated)
      assert.equal(await statusWith(reply.body.token.token), 401)
    }
    assert.equal(await statusWith(accessToken), 401)
    const again = await refresh(cast().berth, refreshToken)
    assertError(again, unauthenticated)
    assert.match(again.body.message, /has ended/)
    const events = await eventsOf(identity)
    assert.deepEqual(
      events.filter(({ code }) => code === 0).map(({ method, actor, address }) => [method, actor, address]),
      [METHOD, METHOD, REUSE_METHOD].map((method) => [method, identity, '127.0.0.1']),
    )
    for (const { method, code, actor } of await refusalsOf(identity))
      assert.deepEqual([method, code, actor], [METHOD, 16, identity])
    // What else the person is signed in with goes on.
    const left = await sessionsOf(cast().berth.berth.installation.store, identity)
    assert.deepEqual(
      left.map(({ id }) => id),
      [other.session],
    )
    assert.notEqual(other.session, session)
    assert.equal(await statusWith(other.accessToken), 200)
  })

  test('R13: forged, changed and swapped ones are rejected and end no session', async () => {
    const mine = await signedIn(cast())
    const theirs = await signedIn(cast())
    const { berth } = cast()
    const [own, other] = [claimsOf(mine.refreshToken), claimsOf(theirs.refreshToken)]
    const read = readRefreshToken(berth.berth.installation.store.secretsKey, mine.refreshToken)
    assert.ok(read)
    const [secret = '', code = ''] = own.secret.split('.')
    const changed = (claims: object) => encode({ ...own, ...claims })
    const forged: Readonly<Record<string, string>> = {
      'no token at all': 'x',
      'an access token': mine.accessToken,
      'another issuer': changed({ iss: 'https://other.example' }),
      'the identity of another user': changed({ sub: other.sub }),
      'the session of another user': changed({ jti: other.jti }),
      'the secret of another user': changed({ secret: other.secret }),
      'everything of another user but the secret': encode({ ...other, secret: own.secret }),
      'the code of another user': changed({ secret: `${secret}.${other.secret.split('.')[1]}` }),
      'another audience': changed({ aud: `${own.aud},https://other.example` }),
      'a longer life': changed({ exp: own.exp + 3600 }),
      'an earlier issue': changed({ iat: own.iat - 1 }),
      'a life that is no integer': changed({ exp: own.exp + 0.5 }),
      'a life that is a text': changed({ exp: String(own.exp) }),
      'no code': changed({ secret }),
      'an empty code': changed({ secret: `${secret}.` }),
      'a code and more': changed({ secret: `${own.secret}.x` }),
      'another secret': changed({ secret: `${randomBytes(32).toString('base64url')}.${code}` }),
      'a list of secrets': changed({ secret: [own.secret] }),
      'one more member': changed({ admin: true }),
      'members in another order': encode({ secret: own.secret, ...own }),
      'a list': encode([own]),
      null: encode(null),
      'white space inside': Buffer.from(JSON.stringify(own, null, 1)).toString('base64'),
      'base64 without padding or with more of it': mine.refreshToken.endsWith('=')
        ? mine.refreshToken.replace(/=+$/, '')
        : `${mine.refreshToken}=`,
      'base64 twice': Buffer.from(mine.refreshToken).toString('base64'),
      'two of them': `${mine.refreshToken}${theirs.refreshToken}`,
      'made with another key': writeRefreshToken(createSecretKey(randomBytes(32)), read),
      'made here for another address': writeRefreshToken(berth.berth.installation.store.secretsKey, {
        ...read,
        issuer: 'https://other.example',
      }),
      'much too long': encode({ ...own, aud: 'x'.repeat(8000) }),
    }
    for (const [what, token] of Object.entries(forged)) {
      const reply = await refresh(berth, token)
      assert.deepEqual([reply.status, reply.body.code], [401, 16], `${what}: ${reply.text}`)
      assert.match(reply.body.message, /not issued by this server/, what)
    }
    assertError(await refresh(berth, undefined), unauthenticated)
    for (const { refreshToken, accessToken, statusWith } of [mine, theirs]) {
      assert.equal(await statusWith(accessToken), 200)
      assert.equal((await refresh(berth, refreshToken)).status, 200)
    }
  })

  test('a refresh token is not an access token', async () => {
    const { refreshToken, statusWith } = await signedIn(cast())
    assert.equal(await statusWith(refreshToken), 401)
  })

  test('R12: ends when the session is revoked, its account disabled, its identity or its provider deleted', async () => {
    const { berth, admin } = cast()
    const { store } = berth.berth.installation
    const ends: Readonly<Record<string, (who: Awaited<ReturnType<typeof signedIn>>) => Promise<unknown>>> = {
      revoked: ({ session }) => endSession(berth, session),
      'revoked by its own token': async ({ refreshToken }) => {
        const token = verifyRefreshToken(clientSessionsOf(berth), refreshToken) ?? assert.fail()
        assert.equal(await endClientSession(store, token), true)
        assert.equal(await endClientSession(store, token), false)
      },
      disabled: ({ identity }) => createAccount(berth, identity, { disabled: 1 }),
      'identity deleted': async ({ identity, binding }) => {
        await admin.delete(`iam/roleBindings/${binding.uid}`)
        assert.equal((await admin.delete(`iam/identities/${identity}`)).status, 200)
      },
    }
    for (const [what, end] of Object.entries(ends)) {
      const who = await signedIn(cast())
      const next = refreshTokenOf(await refresh(berth, who.refreshToken))
      await end({ ...who, refreshToken: next })
      const reply = await refresh(berth, next)
      assert.equal(reply.status, 401, what)
      assert.match(reply.body.message, /has ended/, what)
      await assert.rejects(
        cast().grpc.call(
          SecurityTokenService.method.exchangeRefreshToken,
          { aud: [berth.url] },
          { token: next },
        ),
        { code: 16 },
        what,
      )
    }
    const { owner, uid } = await cast().organization()
    const provider = await owner.api.create(`iam/identityProviders/${uid}`, {
      name: 'login',
      defaultRole: managedRole('viewer'),
      oidc: { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' },
    })
    const tokens = await createClientTokens(berth, {
      identity: await createPerson(berth),
      voucher: voucherOf(provider.uid),
    })
    const next = refreshTokenOf(await refresh(berth, tokens.refreshToken))
    assert.equal((await owner.api.delete(`iam/identityProviders/${provider.uid}`)).status, 200)
    assertError(await refresh(berth, next), unauthenticated)
  })

  test('narrows the access token to scopes and capabilities, for that token only', async () => {
    const { refreshToken, organization, statusWith } = await signedIn(cast())
    const { berth } = cast()
    const other = await cast().organization()
    const steps: readonly [Form, number][] = [
      [{ aud: berth.url, scope: organization.uid }, 200],
      [{ aud: berth.url, scopes: [other.uid] }, 403],
      [{ aud: berth.url, scope: other.uid, scopes: [organization.uid] }, 200],
      [{ aud: berth.url, cap: ['roles.list'] }, 403],
      [{ aud: berth.url, cap: ['roles.list', 'groups.list'] }, 200],
      [{ aud: `${berth.url}/` }, 200],
    ]
    let token = refreshToken
    for (const [parameters, status] of steps) {
      const reply = await refresh(berth, token, parameters)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(await statusWith(reply.body.token.token), status, JSON.stringify(parameters))
      token = refreshTokenOf(reply)
    }
  })

  test('R10: is only for the audiences of its session, and an invalid request does not use it up', async () => {
    const { berth } = cast()
    const { registryHost } = berth.berth.addresses
    const { refreshToken } = await signedIn(cast())
    const bad: readonly [Form, readonly string[]][] = [
      [{}, ['aud']],
      [{ aud: registryHost }, ['aud']],
      [{ aud: [berth.url, 'https://other.example'] }, ['aud']],
      [{ aud: 'x', scopes: 'y', cap: 'flying' }, ['aud', 'scopes', 'cap']],
      [
        { aud: berth.url, scopes: Array.from({ length: 400 }, () => randomBytes(20).toString('hex')) },
        ['scopes'],
      ],
    ]
    for (const [parameters, fields] of bad)
      assertError(await refresh(berth, refreshToken, parameters), { status: 400, code: 3, fields })
    assert.equal((await refresh(berth, refreshToken)).status, 200)

    const both = await signedIn(cast(), {
      audiences: [berth.url, registryHost],
      tokenAudiences: [berth.url],
    })
    assert.equal(decodeJwt(both.accessToken).aud, berth.url)
    const pull = await refresh(berth, both.refreshToken, { aud: registryHost })
    assert.equal(decodeJwt(pull.body.token.token).aud, registryHost)
    const api = await refresh(berth, refreshTokenOf(pull), { aud: `${registryHost},${berth.url}` })
    assert.deepEqual(decodeJwt(api.body.token.token).aud, [registryHost, berth.url])
  })

  test('is not returned if the session has groups, the token is narrowed, or none was requested', async () => {
    const { berth } = cast()
    const { store } = berth.berth.installation
    const identity = await createPerson(berth)
    const { uid } = await cast().organization()
    const without: Readonly<Record<string, Promise<ClientTokens>>> = {
      groups: createClientTokens(berth, { identity, groups: ['devs'] }),
      scopes: createClientTokens(berth, { identity }, { scopes: [uid] }),
      'not wanted': createClientTokens(berth, { identity }, { refreshToken: false }),
    }
    for (const [what, made] of Object.entries(without)) {
      const { refreshToken, session, expiresAtMs } = await made
      assert.equal(refreshToken, undefined, what)
      const kept = (await sessionsOf(store, identity)).find(({ id }) => id === session)
      assert.ok(
        Math.abs((kept?.expiresMs ?? 0) - expiresAtMs) < 2000,
        `${what}: it ends with its access token`,
      )
    }
  })

  test('its use counts as use of its session and of its identity', async () => {
    const { refreshToken, identity, session } = await signedIn(cast())
    const { store } = cast().berth.berth.installation
    const [before] = await sessionsOf(store, identity)
    cast().berth.advance(5000)
    assert.equal((await refresh(cast().berth, refreshToken)).status, 200)
    const [after] = await sessionsOf(store, identity)
    assert.equal(after?.id, session)
    assert.ok((after?.lastUsedMs ?? 0) >= (before?.lastUsedMs ?? 0) + 5000)
    assert.equal(after?.expiresMs, before?.expiresMs)
    assert.deepEqual([after?.address, after?.userAgent], ['127.0.0.1', 'test'])
    const { body } = await cast().admin.get(`iam/identities/${identity}`)
    assert.ok(new Date(body.lastSeenTime).getTime() >= (before?.lastUsedMs ?? 0) + 5000)
  })

  // The last test: it moves the clock so far that every other token has expired.
  test('R16: expires clientSessionMs after the sign-in, however often it is renewed', async () => {
    const { refreshToken, identity, session } = await signedIn(cast())
    const reply = await refresh(cast().berth, refreshToken)
    const short = await createClientTokens(cast().berth, { identity })
    cast().berth.advance(limits.clientSessionMs - 60_000)
    const late = await refresh(cast().berth, refreshTokenOf(reply))
    assert.equal(late.status, 200, late.text)
    // What the row says counts, not only what the token says.
    const { kysely } = cast().berth.berth.installation.store.db
    await kysely.updateTable('sessions').set({ expires_ms: 1 }).where('id', '=', short.session).execute()
    assertError(await refresh(cast().berth, short.refreshToken), unauthenticated)
    cast().berth.advance(61_000)
    const gone = await refresh(cast().berth, refreshTokenOf(late))
    assertError(gone, unauthenticated)
    assert.match(gone.body.message, /expired/)
    const row = await kysely.selectFrom('sessions').select('id').where('id', '=', session).executeTakeFirst()
    assert.ok(row, 'nothing has been cleared away')
    assert.deepEqual(await sessionsOf(cast().berth.berth.installation.store, identity), [])
  })
})

for (const database of databases) {
  test(`R13: a refresh token and its use survive a restart (${database.name})`, async (t) => {
    const dataDir = temporaryDirectory(t)
    const file = join(dataDir, 'berth.db')
    const kept = await database.open?.()
    if (kept !== undefined) t.after(() => kept.close())
    const env = {
      BERTH_DATA_DIR: dataDir,
      BERTH_LISTEN: `127.0.0.1:${await freePort()}`,
      BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    }
    const start = () =>
      startTestBerth(database, {
        env,
        openDb: async () => (kept === undefined ? openSqliteDb(file) : { ...kept, close: async () => {} }),
      })
    const first = await start()
    const identity = await createPerson(first)
    const { refreshToken } = await createClientTokens(first, { identity })
    const second = await createClientTokens(first, { identity })
    const next = refreshTokenOf(await refresh(first, refreshToken))
    await first.stop()

    const again = await start()
    t.after(() => again.stop())
    const reply = await refresh(again, next)
    assert.equal(reply.status, 200, reply.text)
    assert.equal((await refresh(again, second.refreshToken)).status, 200)
    // Used up before the restart.
    const reuse = await refresh(again, refreshToken)
    assertError(reuse, unauthenticated)
    assert.match(reuse.body.message, /already used/)
    assertError(await refresh(again, refreshTokenOf(reply)), unauthenticated)
  })
}
