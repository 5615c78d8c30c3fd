import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { onEveryStore } from '../support/api/api-fixture.ts'
import {
  assertOciError,
  createRegistryFixture,
  digest,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
} from '../support/registry/registry.ts'

onEveryStore('registry: content management', (cast) => {
  test('a tag is deleted and its manifest is kept', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name, testImage(), 'v1')
    await putManifest(owner, name, 'v2', image)
    assert.equal((await owner.request('DELETE', `${name}/manifests/v1`)).status, 202)
    assertOciError(await owner.request('GET', `${name}/manifests/v1`), 404, 'MANIFEST_UNKNOWN')
    assertOciError(await owner.request('DELETE', `${name}/manifests/v1`), 404, 'MANIFEST_UNKNOWN')
    for (const reference of ['v2', image.digest])
      assert.equal((await owner.request('GET', `${name}/manifests/${reference}`)).status, 200)
    assert.deepEqual((await owner.request('GET', `${name}/tags/list`)).json.tags, ['v2'])
  })

  test('a manifest is deleted with its tags, and the API counts what is left', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const [gone, kept] = [testImage(), testImage()]
    await pushImage(owner, name, gone, 'v1')
    await putManifest(owner, name, 'v2', gone)
    await pushImage(owner, name, kept, 'v3')
    assert.equal((await owner.request('DELETE', `${name}/manifests/${gone.digest}`)).status, 202)
    for (const reference of ['v1', 'v2', gone.digest])
      assertOciError(await owner.request('GET', `${name}/manifests/${reference}`), 404, 'MANIFEST_UNKNOWN')
    assertOciError(await owner.request('DELETE', `${name}/manifests/${gone.digest}`), 404, 'MANIFEST_UNKNOWN')
    assert.equal((await owner.request('GET', `${name}/manifests/v3`)).status, 200)
    const { body } = await organization.owner.api.get('registry/tags', { 'uidp.descendants_of': root })
    assert.equal(Number(body.totalCount), 1)
    assert.deepEqual(
      body.tags.map((tag: { name: string }) => tag.name),
      ['v3'],
    )
  })

  test('a blob is deleted unless a manifest references it, and only from its repo (R31)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name)
    const loose = randomBytes(100)
    const path = `${name}/blobs/${await pushBlob(owner, name, loose)}`
    await pushBlob(owner, `${name}-2`, loose)
    for (const blob of image.blobs) {
      const needed = `${name}/blobs/${digest(blob)}`
      assertOciError(await owner.request('DELETE', needed), 409, 'DENIED')
      assert.equal((await owner.request('HEAD', needed)).status, 200)
    }
    assert.equal((await owner.request('DELETE', path)).status, 202)
    assertOciError(await owner.request('GET', path), 404, 'BLOB_UNKNOWN')
    assertOciError(await owner.request('DELETE', path), 404, 'BLOB_UNKNOWN')
    assert.equal((await owner.request('GET', `${name}-2/blobs/${digest(loose)}`)).status, 200)
    await owner.request('DELETE', `${name}/manifests/${image.digest}`)
    for (const blob of image.blobs)
      assert.equal((await owner.request('DELETE', `${name}/blobs/${digest(blob)}`)).status, 202)
  })

  test('deleting a repo deletes its manifests and links', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name)
    const upload = (await owner.request('POST', `${name}/blobs/uploads/`)).headers.get('location') ?? ''
    const { api } = organization.owner
    const { body } = await api.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid }] = body.repos
    assert.equal((await api.delete(`registry/repos/${uid}`)).status, 200)
    for (const path of [`manifests/${image.digest}`, `blobs/${image.descriptor.digest}`, 'tags/list'])
      assertOciError(await owner.request('GET', `${name}/${path}`), 404, 'NAME_UNKNOWN', path)
    assertOciError(await owner.request('GET', upload.slice('/v2/'.length)), 404, 'NAME_UNKNOWN')
    const { db } = cast().berth.berth.installation.store
    for (const table of ['manifests', 'manifest_references', 'repo_blobs', 'uploads'] as const)
      assert.deepEqual(
        await db.kysely.selectFrom(table).selectAll().where('root', '=', root).execute(),
        [],
        table,
      )
    // One of the same name is another repo.
    await owner.request('POST', `${name}/blobs/uploads/`)
    for (const blob of image.blobs)
      assertOciError(await owner.request('GET', `${name}/blobs/${digest(blob)}`), 404, 'BLOB_UNKNOWN')
  })
})
