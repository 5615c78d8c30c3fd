import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ANONYMOUS } from '../../src/core/anonymous.ts'
import { managedRole, newName, onEveryDatabase } from '../support/cast.ts'
import {
  askAt,
  assertRefusedAs,
  bearerOf,
  digest,
  type OciClient,
  type OciReply,
  type OciRequest,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  registryOf,
  type TestImage,
  testImage,
  types,
} from '../support/registry.ts'
import { makeRole } from '../support/tenant.ts'

/** Requests of every kind about a repo that has an image with a tag, a loose blob and an upload of the caller's. */
interface Prepared {
  readonly name: string
  readonly image: TestImage
  readonly loose: string
  readonly upload: string
  /** Another one. */
  readonly cancelled: string
}

type Request = readonly [method: string, path: string, request?: OciRequest]

const operations: Readonly<Record<string, (about: Prepared) => Request>> = {
  'GET manifest by tag': ({ name }) => ['GET', `${name}/manifests/v1`],
  'HEAD manifest by tag': ({ name }) => ['HEAD', `${name}/manifests/v1`],
  'GET manifest by digest': ({ name, image }) => ['GET', `${name}/manifests/${image.digest}`],
  'GET blob': ({ name, loose }) => ['GET', `${name}/blobs/${loose}`],
  'HEAD blob': ({ name, loose }) => ['HEAD', `${name}/blobs/${loose}`],
  'GET tags': ({ name }) => ['GET', `${name}/tags/list`],
  'GET referrers': ({ name, image }) => ['GET', `${name}/referrers/${image.digest}`],
  'POST upload': ({ name }) => ['POST', `${name}/blobs/uploads/`],
  'POST blob': ({ name }) => ['POST', `${name}/blobs/uploads/?digest=${digest('new')}`, { body: 'new' }],
  'POST mount': ({ name, loose }) => ['POST', `${name}/blobs/uploads/?mount=${loose}&from=${name}`],
  'GET upload': ({ upload }) => ['GET', upload],
  'PATCH upload': ({ upload }) => ['PATCH', upload, { body: 'more' }],
  'PUT upload': ({ upload }) => ['PUT', `${upload}?digest=${digest('more')}`],
  'DELETE upload': ({ cancelled }) => ['DELETE', cancelled],
  'PUT manifest by digest': ({ name, image }) => [
    'PUT',
    `${name}/manifests/${image.digest}`,
    manifestOf(image),
  ],
  'PUT manifest by new tag': ({ name, image }) => ['PUT', `${name}/manifests/v2`, manifestOf(image)],
  'PUT manifest over a tag': ({ name, image }) => ['PUT', `${name}/manifests/old`, manifestOf(image)],
  'DELETE tag': ({ name }) => ['DELETE', `${name}/manifests/v1`],
  'DELETE blob': ({ name, loose }) => ['DELETE', `${name}/blobs/${loose}`],
  'DELETE manifest': ({ name, image }) => ['DELETE', `${name}/manifests/${image.digest}`],
}

const browsing = [
  'GET manifest by tag',
  'HEAD manifest by tag',
  'GET manifest by digest',
  'GET tags',
  'GET referrers',
]
const pulling = [...browsing, 'GET blob', 'HEAD blob']
const everything = Object.keys(operations)

/** Who may do what (R21). */
const mayDo: Readonly<Record<string, readonly string[]>> = {
  owner: everything,
  editor: pulling,
  viewer: pulling,
  limited_owner: pulling,
  console_viewer: browsing,
  'registry.pull': pulling,
  'registry.push': everything,
  'registry.pull_token_creator': pulling,
  'apk.pull': [],
  'advisories.admin': [],
  'a stranger': [],
  'without a token': [],
}

function manifestOf({ manifest, mediaType }: TestImage): OciRequest {
  return { body: manifest, headers: { 'content-type': mediaType } }
}

/** What a request came to, without what differs from one to the next. */
function shape({ status, headers, bytes }: OciReply, name: string) {
  const text = (value: string | null) => value?.replaceAll(name, 'NAME')
  return { status, challenge: text(headers.get('www-authenticate')), body: text(bytes.toString()) }
}

onEveryDatabase('registry: access', (cast) => {
  const prepare = async (owner: OciClient, name: string, own: OciClient): Promise<Prepared> => {
    const image = await pushImage(owner, name, testImage(), 'v1')
    await pushImage(owner, name, testImage(), 'old')
    const loose = await pushBlob(owner, name, randomBytes(50))
    const begin = async () => {
      const begun = await own.ask('POST', `${name}/blobs/uploads/`)
      const location = begun.headers.get('location') ?? `/v2/${name}/blobs/uploads/${'0'.repeat(32)}`
      return location.slice('/v2/'.length)
    }
    return { name, image, loose, upload: await begin(), cancelled: await begin() }
  }

  test('every method of the protocol by role (R21)', async () => {
    const { owner, name, member } = await registryOf(cast())
    for (const [role, allowed] of Object.entries(mayDo)) {
      const own =
        role === 'without a token'
          ? ociClient(cast().berth)
          : role === 'a stranger'
            ? (await registryOf(cast())).owner
            : await member(role)
      const about = await prepare(owner, `${name}/${newName('by')}`, own)
      const may: string[] = []
      for (const [operation, requestOf] of Object.entries(operations)) {
        const reply = await own.ask(...requestOf(about))
        if (reply.status < 400) may.push(operation)
        else
          assert.equal(
            reply.status,
            role === 'without a token' ? 401 : 403,
            `${role}: ${operation} ${reply.bytes}`,
          )
      }
      assert.deepEqual(
        may,
        everything.filter((operation) => allowed.includes(operation)),
        role,
      )
    }
  })

  test('whoever may make tags and not move them moves none, whatever its name (R20)', async () => {
    const { owner, name, root, member } = await registryOf(cast())
    const capabilities = ['manifest.create', 'manifest.list', 'tag.create', 'tag.list', 'repo.blobs.get']
    const role = await makeRole(cast().berth, root, capabilities, newName('creator'))
    const creator = await member(role)
    const [first, second] = [testImage(), testImage()]
    await pushImage(owner, name, first, 'latest')
    for (const blob of second.blobs) await pushBlob(creator, name, blob)
    assertRefusedAs(await putManifest(creator, name, 'latest', second), 403, 'DENIED')
    assert.deepEqual((await owner.ask('GET', `${name}/manifests/latest`)).bytes, first.manifest)
    assert.equal((await putManifest(creator, name, 'new', second)).status, 201)
    assert.equal((await putManifest(creator, name, 'new', second)).status, 201)
    // Nor does it make repos, or folders.
    for (const other of [`${root}/other`, `${root}/folder/other`])
      assertRefusedAs(await creator.ask('POST', `${other}/blobs/uploads/`), 403, 'DENIED')
    const withRepos = await makeRole(cast().berth, root, [...capabilities, 'repo.create'], newName('maker'))
    const maker = await member(withRepos)
    assert.equal((await maker.ask('POST', `${root}/other/blobs/uploads/`)).status, 202)
    assertRefusedAs(await maker.ask('POST', `${root}/folder/other/blobs/uploads/`), 403, 'DENIED')
  })

  test('whoever may delete manifests and no tags deletes none that has a tag', async () => {
    const { owner, name, root, member } = await registryOf(cast())
    const role = await makeRole(cast().berth, root, ['manifest.delete'], newName('deleter'))
    const deleter = await member(role)
    const [tagged, bare] = [testImage(), testImage()]
    await pushImage(owner, name, tagged, 'v1')
    await pushImage(owner, name, bare)
    assertRefusedAs(await deleter.ask('DELETE', `${name}/manifests/${tagged.digest}`), 403, 'DENIED')
    assert.equal((await owner.ask('GET', `${name}/manifests/v1`)).status, 200)
    assert.equal((await deleter.ask('DELETE', `${name}/manifests/${bare.digest}`)).status, 202)
  })

  test('of a private repo nobody learns anything without a token, nor with one of a stranger (R30, R35)', async () => {
    const { owner, name, root } = await registryOf(cast())
    const there = await prepare(owner, name, owner)
    const { berth } = cast()
    const stranger = (await registryOf(cast())).owner
    const anonymousToken = (name: string) =>
      askAt(`${berth.url}/token?scope=repository:${name}:pull,push,delete`).then(({ json }) =>
        ociClient(berth, `Bearer ${json.token}`),
      )
    const absent = [`${root}/nothing`, `${root}/no/thing`, `${'0'.repeat(40)}/nothing`, 'nobody/nothing']
    for (const [operation, requestOf] of Object.entries(operations)) {
      const askThere = requestOf(there)
      const private_ = async (client: OciClient) => shape(await client.ask(...askThere), name)
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
          shape(await client.ask(method, path.replaceAll(name, other), request), other)
        assert.deepEqual(await ask(ociClient(berth)), seen, `${operation} of ${other}`)
        assert.deepEqual(await ask(await anonymousToken(other)), withToken, `${operation} of ${other}`)
        assert.deepEqual(await ask(stranger), asStranger, `${operation} of ${other}`)
      }
    }
    assertRefusedAs(await ociClient(berth).ask('GET', '_catalog'), 401, 'UNAUTHORIZED')
    const listed = await stranger.ask('GET', '_catalog')
    assert.deepEqual(listed.json.repositories, [])
  })

  test('blobs are reached through a link of their repo only (R31)', async () => {
    const { owner, name } = await registryOf(cast())
    const stranger = await registryOf(cast())
    const secret = randomBytes(100)
    await pushBlob(owner, name, secret)
    await stranger.owner.ask('POST', `${stranger.name}/blobs/uploads/`)
    const path = `${stranger.name}/blobs/${digest(secret)}`
    const mount = `${stranger.name}/blobs/uploads/?mount=${digest(secret)}`
    for (const query of ['', `&from=${name}`])
      assert.equal((await stranger.owner.ask('POST', mount + query)).status, 202)
    // HEAD makes no link.
    for (const method of ['HEAD', 'GET', 'HEAD', 'GET'])
      assert.equal((await stranger.owner.ask(method, path)).status, 404)
    const config = Buffer.from('{}')
    await pushBlob(stranger.owner, stranger.name, config)
    const thief = testImage({
      config: { mediaType: types.empty, digest: digest(config), size: 2 },
      layers: [{ mediaType: types.layer, digest: digest(secret), size: secret.length }],
    })
    assertRefusedAs(
      await putManifest(stranger.owner, stranger.name, 'v1', thief),
      404,
      'MANIFEST_BLOB_UNKNOWN',
    )
  })

  test('an upload is the identity’s that began it', async () => {
    const { owner, name, member } = await registryOf(cast())
    const path = ((await owner.ask('POST', `${name}/blobs/uploads/`)).headers.get('location') ?? '').slice(4)
    const other = await member('registry.push')
    for (const [method, target] of [
      ['GET', path],
      ['PATCH', path],
      ['PUT', `${path}?digest=${digest('')}`],
      ['DELETE', path],
    ] as const)
      assertRefusedAs(await other.ask(method, target), 404, 'BLOB_UPLOAD_UNKNOWN', method)
    assertRefusedAs(await owner.ask('GET', path.replace(name, `${name}-2`)), 404, 'NAME_UNKNOWN')
    assert.equal((await owner.ask('PATCH', path, { body: 'more' })).status, 202)
  })

  test('a repo is public where everybody may pull, and a token that is shown is looked at all the same', async () => {
    const { owner, name, root, organization } = await registryOf(cast())
    const { berth } = cast()
    const about = await prepare(owner, name, owner)
    const bind = (role: string) =>
      organization.owner.api.made(`iam/roleBindings/${root}`, {
        identityUid: ANONYMOUS,
        roleUid: managedRole(role),
      })
    const binding = await bind('registry.pull')
    // By mistake: nobody pushes without a token.
    await bind('registry.push')
    const everybody = ociClient(berth)
    const { json } = await askAt(`${berth.url}/token?scope=repository:${name}:pull,push`)
    assert.equal(json.scope, `repository:${name}:pull`)
    for (const client of [everybody, ociClient(berth, `Bearer ${json.token}`)]) {
      const may: string[] = []
      for (const [operation, requestOf] of Object.entries(operations)) {
        const reply = await client.ask(...requestOf(about))
        if (reply.status < 400) may.push(operation)
        else assert.equal(reply.status, 401, operation)
      }
      assert.deepEqual([...may].sort(), [...pulling].sort())
    }
    assertRefusedAs(
      await ociClient(berth, 'Bearer nonsense').ask('GET', `${name}/manifests/v1`),
      401,
      'UNAUTHORIZED',
    )
    const stranger = await registryOf(cast())
    assertRefusedAs(await stranger.owner.ask('GET', `${name}/manifests/v1`), 403, 'DENIED')
    assert.equal((await organization.owner.api.delete(`iam/roleBindings/${binding.uid}`)).status, 200)
    const { body } = await organization.owner.api.get('iam/roleBindings', { 'uidp.descendants_of': root })
    for (const { uid, identityUid } of body.roleBindings)
      if (identityUid === ANONYMOUS) await organization.owner.api.delete(`iam/roleBindings/${uid}`)
    assertRefusedAs(await everybody.ask('GET', `${name}/manifests/v1`), 401, 'UNAUTHORIZED')
  })

  test('what a known caller is denied is in the audit log', async () => {
    const { owner, name, root, member } = await registryOf(cast())
    await pushImage(owner, name)
    const puller = await member('registry.pull')
    assertRefusedAs(await puller.ask('DELETE', `${name}/manifests/v1`), 403, 'DENIED')
    const { body } = await cast().admin.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid }] = body.repos
    const { db } = cast().berth.berth.installation.store
    for (let tries = 0; ; tries++) {
      const rows = await db.kysely.selectFrom('audit_events').selectAll().where('parent', '=', uid).execute()
      const refused = rows.find(({ actor }) => actor === puller.uid)
      if (refused !== undefined) {
        assert.equal(refused.method, 'berth.registry.v1.Distribution/DeleteTag')
        assert.match(refused.reason, /tag\.delete/)
        return
      }
      assert.ok(tries < 100)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })

  test('a token that is narrowed opens no more here than elsewhere', async () => {
    const { owner, name, root, organization } = await registryOf(cast())
    await pushImage(owner, name, testImage(), 'v1')
    await pushImage(owner, `${root}/team/tool`, testImage(), 'v1')
    const { body } = await cast().admin.get('iam/groups', { 'uidp.children_of': root })
    const [{ uid: team }] = body.groups
    const { berth } = cast()
    const inTeam = ociClient(berth, await bearerOf(berth, organization.owner.uid, { scopes: [team] }))
    assert.equal((await inTeam.ask('GET', `${root}/team/tool/manifests/v1`)).status, 200)
    assertRefusedAs(await inTeam.ask('GET', `${name}/manifests/v1`), 403, 'DENIED')
    assert.deepEqual((await inTeam.ask('GET', '_catalog')).json.repositories, [`${root}/team/tool`])
  })
})
