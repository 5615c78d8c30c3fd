import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ANONYMOUS_IDENTITY } from '@berth/server/iam/identities/anonymous-uid.ts'
import { managedRole, onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  assertOciError,
  createRegistryFixture,
  digest,
  type OciClient,
  type OciReply,
  ociClient,
  pushBlob,
  putManifest,
  requestAt,
  testImage,
  types,
} from '../support/registry/registry.ts'
import { operations, prepareRepo, pullOperations } from '../support/registry/registry-operations.ts'

/** What a request came to, without what differs from one to the next. */
function shape({ status, headers, bytes }: OciReply, name: string) {
  const text = (value: string | null) => value?.replaceAll(name, 'NAME')
  return { status, challenge: text(headers.get('www-authenticate')), body: text(bytes.toString()) }
}

onEveryDatabase('registry: private and public repos', (cast) => {
  test('a private repo is not disclosed without a token, nor to another organization (R30, R35)', async () => {
    const { owner, name, root } = await createRegistryFixture(cast())
    const there = await prepareRepo(owner, name)
    const { berth } = cast()
    const stranger = (await createRegistryFixture(cast())).owner
    const anonymous = new Map<string, OciClient>()
    const anonymousToken = async (name: string) => {
      const known = anonymous.get(name)
      if (known !== undefined) return known
      const { json } = await requestAt(`${berth.url}/token?scope=repository:${name}:pull,push,delete`)
      const client = ociClient(berth, `Bearer ${json.token}`)
      anonymous.set(name, client)
      return client
    }
    const absent = [`${root}/no/thing`, `${'0'.repeat(40)}/nothing`]
    for (const [operation, requestOf] of Object.entries(operations)) {
      const askThere = requestOf(there)
      const private_ = async (client: OciClient) => shape(await client.request(...askThere), name)
      const seen = await private_(ociClient(berth))
      assert.equal(seen.status, 401, operation)
      assert.match(
        seen.challenge ?? '',
        /^Bearer realm="http:\/\/127\.0\.0\.1:\d+\/token",service="127\.0\.0\.1:\d+",scope="repository:NAME:(pull|pull,push|delete)( repository:NAME:pull)?"$/,
        operation,
      )
      const withToken = await private_(await anonymousToken(name))
      assert.equal(withToken.status, 401, operation)
      const asStranger = await private_(stranger)
      assert.equal(asStranger.status, 403, operation)
      for (const other of absent) {
        const [method, path, request] = askThere
        const ask = async (client: OciClient) =>
          shape(await client.request(method, path.replaceAll(name, other), request), other)
        assert.deepEqual(await ask(ociClient(berth)), seen, `${operation} of ${other}`)
        assert.deepEqual(await ask(await anonymousToken(other)), withToken, `${operation} of ${other}`)
        assert.deepEqual(await ask(stranger), asStranger, `${operation} of ${other}`)
      }
    }
    assertOciError(await ociClient(berth).request('GET', '_catalog'), 401, 'UNAUTHORIZED')
    const listed = await stranger.request('GET', '_catalog')
    assert.deepEqual(listed.json.repositories, [])
  })

  test('blobs are reached through a link of their repo only (R31)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const stranger = await createRegistryFixture(cast())
    const secret = randomBytes(100)
    await pushBlob(owner, name, secret)
    await stranger.owner.request('POST', `${stranger.name}/blobs/uploads/`)
    const path = `${stranger.name}/blobs/${digest(secret)}`
    const mount = `${stranger.name}/blobs/uploads/?mount=${digest(secret)}`
    for (const query of ['', `&from=${name}`])
      assert.equal((await stranger.owner.request('POST', mount + query)).status, 202)
    // HEAD makes no link.
    for (const method of ['HEAD', 'GET', 'HEAD', 'GET'])
      assert.equal((await stranger.owner.request(method, path)).status, 404)
    const config = Buffer.from('{}')
    await pushBlob(stranger.owner, stranger.name, config)
    const thief = testImage({
      config: { mediaType: types.empty, digest: digest(config), size: 2 },
      layers: [{ mediaType: types.layer, digest: digest(secret), size: secret.length }],
    })
    assertOciError(
      await putManifest(stranger.owner, stranger.name, 'v1', thief),
      404,
      'MANIFEST_BLOB_UNKNOWN',
    )
  })

  test('a repo is public if anonymous callers may pull, and a presented token is still verified', async () => {
    const { owner, name, root, organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    const about = await prepareRepo(owner, name)
    const bind = (role: string) =>
      organization.owner.api.create(`iam/roleBindings/${root}`, {
        identityUid: ANONYMOUS_IDENTITY,
        roleUid: managedRole(role),
      })
    const binding = await bind('registry.pull')
    // By mistake: pushes need a token.
    await bind('registry.push')
    const everybody = ociClient(berth)
    const { json } = await requestAt(`${berth.url}/token?scope=repository:${name}:pull,push`)
    assert.equal(json.scope, `repository:${name}:pull`)
    for (const client of [everybody, ociClient(berth, `Bearer ${json.token}`)]) {
      const may: string[] = []
      for (const [operation, requestOf] of Object.entries(operations)) {
        const reply = await client.request(...requestOf(about))
        if (reply.status < 400) may.push(operation)
        else assert.equal(reply.status, 401, operation)
      }
      assert.deepEqual([...may].sort(), [...pullOperations].sort())
    }
    assertOciError(
      await ociClient(berth, 'Bearer nonsense').request('GET', `${name}/manifests/v1`),
      401,
      'UNAUTHORIZED',
    )
    const stranger = await createRegistryFixture(cast())
    assertOciError(await stranger.owner.request('GET', `${name}/manifests/v1`), 403, 'DENIED')
    assert.equal((await organization.owner.api.delete(`iam/roleBindings/${binding.uid}`)).status, 200)
    const { body } = await organization.owner.api.get('iam/roleBindings', { 'uidp.descendants_of': root })
    for (const { uid, identityUid } of body.roleBindings)
      if (identityUid === ANONYMOUS_IDENTITY) await organization.owner.api.delete(`iam/roleBindings/${uid}`)
    assertOciError(await everybody.request('GET', `${name}/manifests/v1`), 401, 'UNAUTHORIZED')
  })
})
