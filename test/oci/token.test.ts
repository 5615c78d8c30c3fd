import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type ApiFixture, managedRole, onEveryDatabase, onEveryStore } from '../support/api/api-fixture.ts'
import {
  assertOciError,
  basicAuth,
  createRegistryFixture,
  digest,
  hostOf,
  ociClient,
  pushImage,
  putManifest,
  requestAt,
  testImage,
} from '../support/registry/registry.ts'
import { exchange } from '../support/tokens/exchange.ts'

const HOUR_MS = 60 * 60 * 1000

onEveryDatabase('registry: tokens', (cast) => {
  const passwordOf = (identity: string) =>
    cast().berth.tokenOf(identity, { audiences: [hostOf(cast().berth)] })
  const tokenAt = (query: string, authorization?: string) =>
    requestAt(`${cast().berth.url}/token?${query}`, 'GET', {}, authorization)
  const post = (form: Record<string, string>, authorization?: string) =>
    requestAt(
      `${cast().berth.url}/token`,
      'POST',
      {
        body: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      authorization,
    )

  test('a token is issued for a token as the password, in the form that clients expect', async () => {
    const { name, organization, owner } = await createRegistryFixture(cast())
    const { berth } = cast()
    await pushImage(owner, name, testImage(), 'v1')
    const password = await passwordOf(organization.owner.uid)
    const scope = `repository:${name}:pull`
    const { status, headers, json } = await tokenAt(`service=x&scope=${scope}`, basicAuth('_token', password))
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(json.token, json.access_token)
    // It ends with the token that was shown, which was made a moment ago.
    const lifetime = limits.registryTokenLifetimeMs / 1000
    assert.ok(json.expires_in <= lifetime && json.expires_in > lifetime - 60)
    assert.match(json.issued_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.equal(json.scope, scope)
    const claims = decodeJwt(json.token)
    assert.deepEqual([claims.sub, claims.aud], [organization.owner.uid, hostOf(berth)])
    assert.deepEqual(claims['access'], [{ type: 'repository', name, actions: ['pull'] }])
    const client = ociClient(berth, `Bearer ${json.token}`)
    assert.equal((await client.request('GET', `${name}/manifests/v1`)).status, 200)
    assert.equal((await client.request('GET', '')).status, 200)
  })

  test('a token allows the requested repos and actions, and the registry only', async () => {
    const { name, organization, owner } = await createRegistryFixture(cast())
    const { berth } = cast()
    const image = await pushImage(owner, name, testImage(), 'v1')
    await pushImage(owner, `${name}-2`, testImage(), 'v1')
    const password = basicAuth('_token', await passwordOf(organization.owner.uid))
    const { json } = await tokenAt(`scope=repository:${name}:pull`, password)
    const client = ociClient(berth, `Bearer ${json.token}`)
    for (const [method, path, scope] of [
      ['GET', `${name}-2/manifests/v1`, `repository:${name}-2:pull`],
      ['POST', `${name}/blobs/uploads/`, `repository:${name}:pull,push`],
      ['DELETE', `${name}/manifests/${image.digest}`, `repository:${name}:delete`],
      ['GET', '_catalog', 'registry:catalog:*'],
      // The same repo by another name is another scope.
      ['GET', `${name.replace(organization.uid, organization.name)}/manifests/v1`, undefined],
    ] as const) {
      const refused = await client.request(method, path)
      assertOciError(refused, 401, 'UNAUTHORIZED', path)
      const challenge = refused.headers.get('www-authenticate') ?? ''
      assert.equal(challenge.split('Bearer ').length, 2, 'one challenge')
      assert.match(challenge, /,error="insufficient_scope"$/)
      if (scope !== undefined) assert.ok(challenge.includes(`scope="${scope}"`), challenge)
    }
    for (const scopes of [
      `scope=repository:${name}:pull&scope=repository:${name}-2:pull,push`,
      `scope=repository:${name}:pull%20repository:${name}-2:pull,push`,
    ])
      assert.deepEqual(decodeJwt((await tokenAt(scopes, password)).json.token)['access'], [
        { type: 'repository', name, actions: ['pull'] },
        { type: 'repository', name: `${name}-2`, actions: ['pull', 'push'] },
      ])
    const every = decodeJwt((await tokenAt(`scope=repository:${name}:*`, password)).json.token)
    assert.deepEqual(every['access'], [{ type: 'repository', name, actions: ['pull', 'push', 'delete'] }])
    // It is no access token, nor to be had another one for.
    assert.equal(decodeProtectedHeader(json.token).typ, 'registry+jwt')
    const api = await fetch(`${berth.url}/iam/v2beta1/groups`, {
      headers: { authorization: `Bearer ${json.token}` },
    })
    assert.equal(api.status, 401)
    assert.equal((await exchange(berth.url, json.token, { aud: berth.url })).status, 401)
    assertOciError(await tokenAt('', basicAuth('_token', json.token)), 401, 'UNAUTHORIZED')
  })

  test('a token is limited to the permissions of its holder', async () => {
    const { name, member, organization } = await createRegistryFixture(cast())
    const puller = await member('registry.pull')
    const scope = `scope=repository:${name}:pull,push,delete`
    const asPuller = await tokenAt(scope, basicAuth('_token', await passwordOf(puller.uid)))
    assert.equal(asPuller.json.scope, `repository:${name}:pull`)
    const stranger = (await createRegistryFixture(cast())).organization.owner.uid
    const nothing = await tokenAt(scope, basicAuth('_token', await passwordOf(stranger)))
    assert.deepEqual(decodeJwt(nothing.json.token)['access'], [])
    for (const odd of [
      'scope=nonsense',
      'scope=repository:UPPER:pull',
      'scope=plugin:x:pull',
      'scope=registry:catalog:*',
    ])
      assert.equal((await tokenAt(odd, basicAuth('_token', await passwordOf(stranger)))).status, 200, odd)
    const long = (at: number) => `repository:${organization.uid}/${'x'.repeat(150)}${at}:pull,push,delete`
    const lengthy = Array.from({ length: limits.registryTokenScopesMax }, (_, at) => long(at)).join(' ')
    const tooLong = await tokenAt(
      new URLSearchParams({ scope: lengthy }).toString(),
      basicAuth('_token', await passwordOf(organization.owner.uid)),
    )
    assert.equal(tooLong.status, 400, 'bearerTokenCharsMax')
    const many = `scope=${`repository:${name}:pull `.repeat(limits.registryTokenScopesMax + 1).trim()}`
    assert.equal((await tokenAt(many)).status, 400, 'registryTokenScopesMax')
  })

  test('the grant types of the OAuth form', async () => {
    const { name, organization } = await createRegistryFixture(cast())
    const password = await passwordOf(organization.owner.uid)
    const scope = `repository:${name}:pull`
    for (const [form, authorization] of [
      [{ grant_type: 'password', username: '_token', password, scope }],
      [{ grant_type: 'refresh_token', refresh_token: password, scope }],
      [{ scope }, basicAuth('_token', password)],
    ] as const) {
      const { status, json } = await post(form, authorization)
      assert.equal(status, 200)
      assert.equal(json.scope, scope)
    }
    const anonymous = await post({ scope })
    assert.deepEqual(decodeJwt(anonymous.json.token)['access'], [])
    assert.equal((await post({ grant_type: 'other' })).status, 400)
    const large = await post({ scope: 'x'.repeat(limits.registryTokenBodyBytesMax) })
    assert.equal(large.status, 413, 'registryTokenBodyBytesMax')
    const { url } = cast().berth
    assert.equal((await requestAt(`${url}/token`, 'POST', { body: '{}' })).status, 400)
    assert.equal((await requestAt(`${url}/token`, 'DELETE')).status, 405)
  })

  test('an invalid password is rejected without a token in the response', async () => {
    const { organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    const { uid } = organization.owner
    const password = await passwordOf(uid)
    for (const authorization of [
      basicAuth('_token', 'nonsense'),
      basicAuth('_token', ''),
      basicAuth('someone', password),
      basicAuth(uid, 'nonsense'),
      basicAuth('0'.repeat(40), password),
      basicAuth('_token', await berth.tokenOf(uid, { audiences: ['https://elsewhere.example'] })),
      basicAuth('_token', await berth.tokenOf('0'.repeat(40), { audiences: [hostOf(berth)] })),
      `Bearer ${password}`,
      'Basic !',
    ]) {
      const reply = await tokenAt('', authorization)
      assertOciError(reply, 401, 'UNAUTHORIZED', authorization)
      assert.match(reply.headers.get('www-authenticate') ?? '', /^Basic realm=/)
    }
  })

  test('the registry accepts tokens for the registry and for the API, as Bearer and as Basic, and no others', async () => {
    const { name, organization, owner } = await createRegistryFixture(cast())
    const { berth } = cast()
    await pushImage(owner, name, testImage(), 'v1')
    const { uid } = organization.owner
    const path = `${name}/manifests/v1`
    for (const token of [await passwordOf(uid), await berth.tokenOf(uid)])
      for (const authorization of [`Bearer ${token}`, basicAuth('_token', token)]) {
        const client = ociClient(berth, authorization)
        assert.equal((await client.request('GET', path)).status, 200)
        assert.equal((await client.request('GET', '')).status, 200)
        assert.equal((await client.request('GET', '_catalog')).status, 200)
      }
    const elsewhere = await berth.tokenOf(uid, { audiences: ['https://elsewhere.example'] })
    const refused = await ociClient(berth, `Bearer ${elsewhere}`).request('GET', path)
    assertOciError(refused, 401, 'UNAUTHORIZED')
    assert.match(refused.headers.get('www-authenticate') ?? '', /,error="invalid_token"$/)
    assertOciError(
      await ociClient(berth, basicAuth('_token', 'no')).request('GET', path),
      401,
      'UNAUTHORIZED',
    )
    assertOciError(await ociClient(berth).request('GET', ''), 401, 'UNAUTHORIZED')
  })

  test('an exchanged token for the API pulls and pushes as far as its identity, groups and capabilities allow', async () => {
    const { name, organization, owner, root } = await createRegistryFixture(cast())
    const { berth } = cast()
    const image = await pushImage(owner, name, testImage(), 'v1')
    const { body: folder } = await organization.owner.api.post(`iam/groups/${root}`, { name: 'other' })
    const exchanged = async (identity: string, more: object = {}) => {
      const { body } = await exchange(berth.url, await berth.tokenOf(identity), { aud: berth.url, ...more })
      assert.equal(decodeJwt(body.token).aud, berth.url)
      return ociClient(berth, `Bearer ${body.token}`)
    }
    const pull = async (client: ReturnType<typeof ociClient>) =>
      (await client.request('GET', `${name}/manifests/v1`)).status
    const push = async (client: ReturnType<typeof ociClient>) =>
      (await putManifest(client, name, 'v2', image)).status
    const whole = await exchanged(organization.owner.uid)
    assert.deepEqual([await pull(whole), await push(whole)], [200, 201])
    const puller = await exchanged((await organization.member('registry.pull')).uid)
    assert.deepEqual([await pull(puller), await push(puller)], [200, 403])
    const reader = await exchanged(organization.owner.uid, { cap: ['manifest.list'] })
    assert.deepEqual([await pull(reader), await push(reader)], [200, 403])
    const elsewhere = await exchanged(organization.owner.uid, { scope: folder.uid })
    assert.deepEqual([await pull(elsewhere), await push(elsewhere)], [403, 403])
    const anonymous = await exchanged((await createRegistryFixture(cast())).organization.owner.uid)
    assert.deepEqual([await pull(anonymous), await push(anonymous)], [403, 403])
  })

  test('permissions of a token are checked when it is used', async () => {
    const { name, member, owner, organization } = await createRegistryFixture(cast())
    await pushImage(owner, name, testImage(), 'v1')
    const puller = await organization.member('registry.pull')
    const password = basicAuth('_token', await passwordOf(puller.uid))
    const { json } = await tokenAt(`scope=repository:${name}:pull`, password)
    const client = ociClient(cast().berth, `Bearer ${json.token}`)
    assert.equal((await client.request('GET', `${name}/manifests/v1`)).status, 200)
    await organization.owner.api.delete(`iam/roleBindings/${puller.binding}`)
    assertOciError(await client.request('GET', `${name}/manifests/v1`), 403, 'DENIED')
    const other = await member('registry.pull')
    const gone = await tokenAt(
      `scope=repository:${name}:pull`,
      basicAuth('_token', await passwordOf(other.uid)),
    )
    await organization.owner.api.delete(`iam/roleBindings/${(await bindingOf(other.uid)).uid}`)
    await organization.owner.api.delete(`iam/identities/${other.uid}`)
    const late = await ociClient(cast().berth, `Bearer ${gone.json.token}`).request(
      'GET',
      `${name}/manifests/v1`,
    )
    assertOciError(late, 401, 'UNAUTHORIZED')

    async function bindingOf(identity: string) {
      const { body } = await organization.owner.api.get('iam/roleBindings', { identity })
      return body.roleBindings.find((one: { identityUid: string }) => one.identityUid === identity)
    }
  })
})

/** An identity whose only key signs one token, as the command line makes pull tokens. */
async function pullToken(cast: ApiFixture, organization: string, days: number) {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const issuer = 'https://pulltoken.example'
  const subject = `pull-token-${randomBytes(8).toString('hex')}`
  const { uid } = await cast.admin.create(`iam/identities/${organization}`, {
    name: subject,
    staticKeys: {
      issuer,
      subject,
      issuerKeys: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig' }] }),
      expirationTime: new Date(Date.now() + days * 24 * HOUR_MS).toISOString(),
    },
  })
  await cast.admin.create(`iam/roleBindings/${organization}`, {
    identityUid: uid,
    roleUid: managedRole('registry.pull'),
  })
  const now = Math.floor(Date.now() / 1000)
  const password = await new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(issuer)
    .setSubject(subject)
    .setAudience(cast.berth.url)
    .setIssuedAt(now)
    .setExpirationTime(now + days * 24 * 3600)
    .sign(privateKey)
  return { uid, password }
}

// Time passes for everyone here, so these have servers of their own.
onEveryDatabase('registry: tokens in time', (cast) => {
  test('a push that outlives its token is challenged and continues with another one', async () => {
    const { name, organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    const bytes = randomBytes(100)
    const newClient = async () => {
      const password = await berth.tokenOf(organization.owner.uid, { audiences: [hostOf(berth)] })
      const query = `scope=repository:${name}:pull,push`
      const { json } = await requestAt(
        `${berth.url}/token?${query}`,
        'GET',
        {},
        basicAuth('_token', password),
      )
      return ociClient(berth, `Bearer ${json.token}`)
    }
    const first = await newClient()
    const path = (
      (await first.request('POST', `${name}/blobs/uploads/`)).headers.get('location') ?? ''
    ).slice(4)
    assert.equal((await first.request('PATCH', path, { body: bytes.subarray(0, 60) })).status, 202)
    berth.advance(limits.registryTokenLifetimeMs + 1000)
    const late = await first.request('PATCH', path, { body: bytes.subarray(60) })
    assertOciError(late, 401, 'UNAUTHORIZED')
    assert.match(
      late.headers.get('www-authenticate') ?? '',
      new RegExp(`^Bearer realm=.*scope="repository:${name}:pull,push",error="invalid_token"$`),
    )
    const second = await newClient()
    assert.equal((await second.request('GET', path)).headers.get('range'), '0-59')
    const rest = { body: bytes.subarray(60), headers: { 'content-range': '60-99' } }
    assert.equal((await second.request('PATCH', path, rest)).status, 202)
    assert.equal((await second.request('PUT', `${path}?digest=${digest(bytes)}`)).status, 201)
  })
})

onEveryDatabase('registry: pull tokens in time', (cast) => {
  test('a pull token is the uid of an identity and a password, valid as long as its key', async () => {
    const { name, owner, organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    await pushImage(owner, name, testImage(), 'v1')
    const { uid, password } = await pullToken(cast(), organization.uid, 30)
    const scope = `repository:${name}:pull`
    const pull = async () => {
      const { status, json } = await requestAt(
        `${berth.url}/token?scope=${scope}`,
        'GET',
        {},
        basicAuth(uid, password),
      )
      if (status !== 200) return status
      assert.equal(json.scope, scope)
      return (await ociClient(berth, `Bearer ${json.token}`).request('GET', `${name}/manifests/v1`)).status
    }
    assert.equal(await pull(), 200)
    assert.equal(
      (await ociClient(berth, basicAuth(uid, password)).request('GET', `${name}/manifests/v1`)).status,
      200,
    )
    berth.advance(3 * 24 * HOUR_MS)
    assert.equal(await pull(), 200)
    berth.advance(28 * 24 * HOUR_MS)
    assert.equal(await pull(), 401)
  })
})

onEveryStore('registry: uploads in time', (cast) => {
  test('an idle upload expires (uploadIdleMsMax)', async () => {
    const { name, organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    const client = async () =>
      ociClient(
        berth,
        `Bearer ${await berth.tokenOf(organization.owner.uid, { audiences: [hostOf(berth)] })}`,
      )
    const begun = await (await client()).request('POST', `${name}/blobs/uploads/`)
    const path = (begun.headers.get('location') ?? '').slice(4)
    berth.advance(limits.uploadIdleMsMax - 60_000)
    assert.equal((await (await client()).request('PATCH', path, { body: 'x' })).status, 202)
    berth.advance(limits.uploadIdleMsMax - 60_000)
    assert.equal((await (await client()).request('GET', path)).status, 204)
    berth.advance(120_000)
    assertOciError(await (await client()).request('GET', path), 404, 'BLOB_UPLOAD_UNKNOWN')
  })
})
