import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Auth } from '@berth/contract/gen/chainguard/platform/auth/auth_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { issueIdToken } from '@berth/server/tokens/id-token.ts'
import { decodeJwt, SignJWT } from 'jose'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import type { GrpcFailure } from './support/api/grpc.ts'
import { call } from './support/api/rest.ts'
import { createPerson, createSession } from './support/signin/accounts.ts'
import { exchange } from './support/tokens/exchange.ts'

/**
 * Access tokens open the API, ID tokens say who signed in: where the token service and the API have one address, both kinds have one
 * issuer, one key and one audience, and only their `typ` tells them apart.
 */

onEveryDatabase('an access token and an ID token for the same address', (cast) => {
  const server = () => cast().berth.berth
  /** A user who just signed in, and a token that was signed with our own key. */
  const signedIn = async () => {
    const { installation, addresses } = server()
    assert.equal(addresses.authUrl, addresses.baseUrl)
    const identity = await createPerson(cast().berth)
    const { id } = await createSession(cast().berth, { identity })
    const { keys, store } = installation
    const deps = { keys, issuer: addresses.authUrl, clock: store.clock }
    const { kid, key } = await keys.current()
    const now = Math.floor(store.clock() / 1000)
    return {
      identity,
      access: await cast().berth.tokenOf(identity, { session: id }),
      idToken: await issueIdToken(deps, {
        identity,
        audiences: [addresses.authUrl],
        session: id,
        email: '',
        name: '',
        nonce: '',
        signedInMs: store.clock(),
      }),
      sign: (typ: string | undefined, claims: object = {}) =>
        new SignJWT({
          iss: addresses.authUrl,
          sub: identity,
          aud: addresses.baseUrl,
          iat: now,
          exp: now + 300,
          berth: { sid: id },
          ...claims,
        })
          .setProtectedHeader({ alg: 'ES256', kid, ...(typ === undefined ? {} : { typ }) })
          .sign(key),
    }
  }
  /** What every way into the API says to a token, by REST and by gRPC. */
  const doors = async (token: string) => {
    const { url } = cast().berth
    const rest = await Promise.all(
      ['/iam/v2beta1/groups', '/auth/v1/ok', '/registry/v2beta1/repos'].map((path) =>
        call('GET', url + path, { token }),
      ),
    )
    const grpc = await Promise.all(
      [
        cast().grpc.call(GroupsService.method.listGroups, {}, { token }),
        cast().grpc.call(Auth.method.validate, {}, { token }),
      ].map((answer) =>
        answer.then(
          () => 'ok',
          ({ code, details }: GrpcFailure) => `${code} ${details}`,
        ),
      ),
    )
    return [
      ...rest.map(({ status, body }) => (status === 200 ? 'ok' : `${body.code} ${body.message}`)),
      ...grpc,
    ]
  }

  test('an ID token gives no access, by REST and gRPC, and the error says where to exchange it', async () => {
    const { idToken, access } = await signedIn()
    for (let times = 0; times < 2; times++)
      for (const answer of await doors(idToken)) assert.match(answer, /^16 .*ID token.*\/sts\/exchange/)
    assert.deepEqual(new Set(await doors(access)), new Set(['ok']))
  })

  test('whatever else is right about a token, another kind of it opens nothing', async () => {
    const { sign } = await signedIn()
    assert.deepEqual(new Set(await doors(await sign('at+jwt'))), new Set(['ok']))
    for (const typ of [undefined, '', 'JWT', 'jwt', 'AT+JWT ', 'account+jwt', 'secevent+jwt', 'logout+jwt'])
      for (const answer of await doors(await sign(typ))) assert.match(answer, /^16 /, String(typ))
  })

  test('an access token never counts as an ID token: what it is exchanged for ends with it, by REST and gRPC', async () => {
    const { sign, access, idToken } = await signedIn()
    const { url, berth } = cast().berth
    const aud = berth.addresses.baseUrl
    const ends = async (token: string) => {
      const rest = await exchange(url, token, { aud })
      assert.equal(rest.status, 200, rest.text)
      const grpc = await cast().grpc.call(SecurityTokenService.method.exchange, { aud: [aud] }, { token })
      const [one, other] = [rest.body.token, grpc.token].map((made) => decodeJwt(made).exp)
      assert.equal(one, other)
      return one
    }
    assert.equal(await ends(access), decodeJwt(access).exp)
    // As an ID token would say it.
    const dressedUp = await sign('at+jwt', { auth_time: Math.floor(Date.now() / 1000), nonce: 'n' })
    assert.equal(await ends(dressedUp), decodeJwt(dressedUp).exp)
    const { iat = 0 } = decodeJwt(idToken)
    assert.equal(await ends(idToken), iat + limits.accessTokenLifetimeMs / 1000)
  })

  test('what an ID token is exchanged for is an access token', async () => {
    const { idToken } = await signedIn()
    const { url, berth } = cast().berth
    const { body } = await exchange(url, idToken, { aud: berth.addresses.baseUrl })
    assert.deepEqual(new Set(await doors(body.token)), new Set(['ok']))
  })
})
