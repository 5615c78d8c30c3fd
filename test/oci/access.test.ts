import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertOciError,
  basicAuth,
  bearerOf,
  createRegistryFixture,
  digest,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  requestAt,
  testImage,
} from '../support/registry/registry.ts'
import {
  allOperations,
  operations,
  prepareRepo,
  pullOperations,
  readOperations,
} from '../support/registry/registry-operations.ts'

/** Who may do what (R21). */
const mayDo: Readonly<Record<string, readonly string[]>> = {
  owner: allOperations,
  editor: pullOperations,
  viewer: pullOperations,
  limited_owner: pullOperations,
  console_viewer: readOperations,
  'registry.pull': pullOperations,
  'registry.push': allOperations,
  'registry.pull_token_creator': pullOperations,
  'apk.pull': [],
  'advisories.admin': [],
  'a stranger': [],
  'without a token': [],
}

onEveryDatabase('registry: access', (cast) => {
  test('a denial names the missing permission and the roles that include it, also for the token of a client', async () => {
    const { name, root, owner, member } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name, testImage(), 'v1')
    const { berth } = cast()
    /** As docker does: a token for what it is about to do, of which it gets a part. */
    const asDocker = async (uid: string, actions: string) => {
      const password = basicAuth('_token', await berth.tokenOf(uid))
      const scope = `repository:${name}:${actions}`
      const { json } = await requestAt(`${berth.url}/token?scope=${scope}`, 'GET', {}, password)
      return ociClient(berth, `Bearer ${json.token}`)
    }
    const editor = await member('editor')
    for (const client of [editor, await asDocker(editor.uid, 'pull,push')]) {
      const refused = await client.request('POST', `${name}/blobs/uploads/`)
      assertOciError(refused, 403, 'DENIED')
      assert.deepEqual(refused.json.errors[0], {
        code: 'DENIED',
        message: `pushing to ${name} requires manifest.create, which you do not have. Ask an owner of ${root} for a role that includes it: registry.push or owner`,
        detail: { capabilities: ['manifest.create'], roles: ['registry.push', 'owner'] },
      })
    }
    const puller = await member('registry.pull')
    for (const client of [puller, await asDocker(puller.uid, 'delete')]) {
      const { json } = await client.request('DELETE', `${name}/manifests/v1`)
      assert.match(
        json.errors[0].message,
        /^deleting in \S+ requires tag\.delete, .*: registry\.push or owner$/,
      )
    }
    const reader = await member('console_viewer')
    const { json } = await reader.request('GET', `${name}/blobs/${image.descriptor.digest}`)
    assert.match(json.errors[0].message, /^pulling \S+ requires repo\.blobs\.get, .*: registry\.pull or /)
    // Another token helps here.
    const { uid } = editor
    const narrow = await asDocker(uid, 'push')
    assertOciError(await narrow.request('GET', `${name}/manifests/v1`), 401, 'UNAUTHORIZED')
    const restricted = ociClient(berth, await bearerOf(berth, uid, { scopes: [] }))
    const outside = await restricted.request('GET', `${name}/manifests/v1`)
    assert.match(outside.json.errors[0].message, /this token does not include: it is restricted/)
  })

  test('every method of the protocol by role (R21)', async () => {
    const { owner, name, member } = await createRegistryFixture(cast())
    for (const [role, allowed] of Object.entries(mayDo)) {
      const own =
        role === 'without a token'
          ? ociClient(cast().berth)
          : role === 'a stranger'
            ? (await createRegistryFixture(cast())).owner
            : await member(role)
      const about = await prepareRepo(owner, `${name}/${newName('by')}`, own)
      const may: string[] = []
      for (const [operation, requestOf] of Object.entries(operations)) {
        const reply = await own.request(...requestOf(about))
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
        allOperations.filter((operation) => allowed.includes(operation)),
        role,
      )
    }
  })

  test('a caller who may create but not update tags cannot move a tag, whatever its name (R20)', async () => {
    const { owner, name, root, member } = await createRegistryFixture(cast())
    const capabilities = ['manifest.create', 'manifest.list', 'tag.create', 'tag.list', 'repo.blobs.get']
    const role = await createRole(cast().berth, root, capabilities, newName('creator'))
    const creator = await member(role)
    const [first, second] = [testImage(), testImage()]
    await pushImage(owner, name, first, 'latest')
    for (const blob of second.blobs) await pushBlob(creator, name, blob)
    assertOciError(await putManifest(creator, name, 'latest', second), 403, 'DENIED')
    assert.deepEqual((await owner.request('GET', `${name}/manifests/latest`)).bytes, first.manifest)
    assert.equal((await putManifest(creator, name, 'new', second)).status, 201)
    assert.equal((await putManifest(creator, name, 'new', second)).status, 201)
    // Nor does it make repos, or folders.
    for (const other of [`${root}/other`, `${root}/folder/other`])
      assertOciError(await creator.request('POST', `${other}/blobs/uploads/`), 403, 'DENIED')
    const withRepos = await createRole(cast().berth, root, [...capabilities, 'repo.create'], newName('maker'))
    const maker = await member(withRepos)
    assert.equal((await maker.request('POST', `${root}/other/blobs/uploads/`)).status, 202)
    assertOciError(await maker.request('POST', `${root}/folder/other/blobs/uploads/`), 403, 'DENIED')
  })

  test('a caller who may delete manifests but not tags cannot delete a manifest with a tag', async () => {
    const { owner, name, root, member } = await createRegistryFixture(cast())
    const role = await createRole(cast().berth, root, ['manifest.delete'], newName('deleter'))
    const deleter = await member(role)
    const [tagged, bare] = [testImage(), testImage()]
    await pushImage(owner, name, tagged, 'v1')
    await pushImage(owner, name, bare)
    assertOciError(await deleter.request('DELETE', `${name}/manifests/${tagged.digest}`), 403, 'DENIED')
    assert.equal((await owner.request('GET', `${name}/manifests/v1`)).status, 200)
    assert.equal((await deleter.request('DELETE', `${name}/manifests/${bare.digest}`)).status, 202)
  })

  test('an upload belongs to the identity that started it', async () => {
    const { owner, name, member } = await createRegistryFixture(cast())
    const path = (
      (await owner.request('POST', `${name}/blobs/uploads/`)).headers.get('location') ?? ''
    ).slice(4)
    const other = await member('registry.push')
    for (const [method, target] of [
      ['GET', path],
      ['PATCH', path],
      ['PUT', `${path}?digest=${digest('')}`],
      ['DELETE', path],
    ] as const)
      assertOciError(await other.request(method, target), 404, 'BLOB_UPLOAD_UNKNOWN', method)
    assertOciError(await owner.request('GET', path.replace(name, `${name}-2`)), 404, 'NAME_UNKNOWN')
    assert.equal((await owner.request('PATCH', path, { body: 'more' })).status, 202)
  })

  test('denials of authenticated callers are in the audit log', async () => {
    const { owner, name, root, member } = await createRegistryFixture(cast())
    await pushImage(owner, name)
    const puller = await member('registry.pull')
    assertOciError(await puller.request('DELETE', `${name}/manifests/v1`), 403, 'DENIED')
    const { body } = await cast().admin.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid }] = body.repos
    const { db } = cast().berth.berth.installation.store
    const refused = await eventually(async () => {
      const rows = await db.kysely.selectFrom('audit_events').selectAll().where('parent', '=', uid).execute()
      return rows.find(({ actor }) => actor === puller.uid)
    })
    assert.equal(refused.method, 'berth.registry.v1.Distribution/DeleteTag')
    assert.match(refused.reason, /tag\.delete/)
  })

  test('R35: a stranger gets the same answer whether the organization exists or not', async () => {
    const { name, owner } = await createRegistryFixture(cast())
    await pushImage(owner, name, testImage(), 'v1')
    const stranger = await createRegistryFixture(cast())
    const known = [`${name}/manifests/v1`, `${name}/manifests/none`, `${name}-2/manifests/v1`]
    for (const path of [...known, 'no-such-organization/app/manifests/v1']) {
      const reply = await stranger.owner.request('GET', path)
      assertOciError(reply, 403, 'DENIED')
      assert.deepEqual(reply.json.errors, [
        { code: 'DENIED', message: `${path.split('/manifests')[0]} not found or not visible to you` },
      ])
    }
  })

  test('a narrowed token is limited here as elsewhere', async () => {
    const { owner, name, root, organization } = await createRegistryFixture(cast())
    await pushImage(owner, name, testImage(), 'v1')
    await pushImage(owner, `${root}/team/tool`, testImage(), 'v1')
    const { body } = await cast().admin.get('iam/groups', { 'uidp.children_of': root })
    const [{ uid: team }] = body.groups
    const { berth } = cast()
    const inTeam = ociClient(berth, await bearerOf(berth, organization.owner.uid, { scopes: [team] }))
    assert.equal((await inTeam.request('GET', `${root}/team/tool/manifests/v1`)).status, 200)
    assertOciError(await inTeam.request('GET', `${name}/manifests/v1`), 403, 'DENIED')
    assert.deepEqual((await inTeam.request('GET', '_catalog')).json.repositories, [`${root}/team/tool`])
  })
})
