import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { assertError, failedPreconditionError, onEveryDatabase } from '../support/api/api-fixture.ts'
import { indexOf, layeredImage } from '../support/registry/layered-image.ts'
import {
  createRegistryFixture,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
} from '../support/registry/registry.ts'

onEveryDatabase('deletion of a manifest', (cast) => {
  const prepared = async () => {
    const registry = await createRegistryFixture(cast())
    const { owner, name, organization, root } = registry
    const image = await pushImage(owner, name, layeredImage(), 'latest')
    const { api } = organization.owner
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const path = `registry/repos/${repo}/manifests`
    const about = (subject: Pick<TestImage, 'descriptor'>) =>
      testImage({ subject: subject.descriptor, artifactType: 'application/x.sbom' })
    const push = (made: TestImage, tag?: string) => pushImage(owner, name, made, tag)
    const putIndex = async (tag: string, ...images: readonly TestImage[]) => {
      const made = indexOf(images.map((entry) => ({ image: entry })))
      assert.equal((await putManifest(owner, name, tag === '' ? made.digest : tag, made)).status, 201)
      return made
    }
    const has = async ({ digest }: { digest: string }) =>
      (await owner.request('HEAD', `${name}/manifests/${digest}`)).status === 200
    const remove = (digest: string, query = '') => api.delete(`${path}/${digest}${query}`)
    return { ...registry, api, repo, path, image, about, push, putIndex, has, remove }
  }

  test('deletes tags, referrers of any level, attached tags and the images of an index; the preview says so before', async () => {
    const { repo, image, about, push, putIndex, has, remove, organization } = await prepared()
    const [alone, shared, tagged] = [layeredImage(), layeredImage(), layeredImage()]
    await push(alone)
    await push(shared)
    await push(tagged, 'kept')
    const other = await putIndex('other', shared)
    const index = await putIndex('multi', alone, shared, tagged)
    const sbom = await push(about(index))
    const ofSbom = await push(about(sbom))
    const ofAlone = await push(about(alone))
    const prefix = index.digest.replace(':', '-')
    const attached = await push(testImage(), `${prefix}.sig`)
    const gone = [alone, sbom, ofSbom, ofAlone, attached]
    const expected = {
      tags: ['multi', `${prefix}.sig`],
      manifests: {
        [alone.digest]: 'only a deleted index contains it',
        [sbom.digest]: 'it refers to a deleted manifest',
        [ofSbom.digest]: 'it refers to a deleted manifest',
        [ofAlone.digest]: 'it refers to a deleted manifest',
        [attached.digest]: 'its tag is attached to a deleted manifest',
      },
    }
    const reasons = (body: { manifests: { digest: string; reason: string }[] }) =>
      Object.fromEntries(body.manifests.map(({ digest, reason }) => [digest, reason]))
    const preview = await cast().writesNothing(() => remove(index.digest, '?validateOnly=true'))
    assert.equal(preview.status, 200, preview.text)
    assert.deepEqual({ tags: preview.body.tags, manifests: reasons(preview.body) }, expected)
    const blobs = gone.flatMap((made) => made.blobs)
    assert.equal(preview.body.unreferencedBytes, String(blobs.reduce((sum, { length }) => sum + length, 0)))
    for (const made of [index, ...gone]) assert.equal(await has(made), true)

    const before = (await cast().auditEventsOf(repo)).length
    const deleted = await remove(index.digest)
    assert.equal(deleted.status, 200, deleted.text)
    assert.deepEqual({ tags: deleted.body.tags, manifests: reasons(deleted.body) }, expected)
    assert.equal(deleted.body.unreferencedBytes, '0')
    for (const made of [index, ...gone]) assert.equal(await has(made), false)
    for (const made of [image, shared, tagged, other]) assert.equal(await has(made), true)
    const events = (await cast().auditEventsOf(repo)).slice(before)
    assert.deepEqual(
      events.map(({ method, actor }) => [method.split('/').pop(), actor]),
      Array(1 + gone.length).fill(['DeleteManifest', organization.owner.uid]),
    )
  })

  test('an image that an index contains and one with an immutable tag are not deleted', async () => {
    const { api, repo, image, push, putIndex, has, remove } = await prepared()
    const inside = await push(layeredImage())
    const index = await putIndex('multi', inside)
    await cast().writesNothing(async () => {
      for (const query of ['', '?validateOnly=true'])
        assertError(await remove(inside.digest, query), failedPreconditionError('MANIFEST_IN_USE'))
    })
    await api.patch(`registry/repos/${repo}/policy`, { immutableTags: { patterns: ['multi', 'latest'] } })
    for (const { digest } of [image, index])
      for (const query of ['', '?validateOnly=true'])
        assertError(await remove(digest, query), failedPreconditionError('TAG_IMMUTABLE'))
    for (const made of [image, index, inside]) assert.equal(await has(made), true)
  })

  test('a manifest with too many tags is not deleted (manifestTagDeletionsMax)', async () => {
    const { repo, image, has, remove } = await prepared()
    const { db } = cast().berth.berth.installation.store
    const root = repo.slice(0, repo.indexOf('/'))
    const base = { root, parent: repo, digest: image.digest, deprecated: 0, bundles: '[]', forms: 0 }
    for (const at of Array(limits.manifestTagDeletionsMax).keys()) {
      const uid = `${repo}/${at.toString(16).padStart(16, '0')}`
      await db.kysely
        .insertInto('tags')
        .values({ ...base, uid, name: `n${at}`, created_ms: 1, updated_ms: 1 })
        .execute()
    }
    await cast().writesNothing(async () => {
      for (const query of ['', '?validateOnly=true'])
        assertError(await remove(image.digest, query), failedPreconditionError('TOO_MANY_TAGS'))
    })
    assert.equal(await has(image), true)
    await db.kysely.deleteFrom('tags').where('root', '=', root).where('name', '=', 'n0').execute()
    const preview = await remove(image.digest, '?validateOnly=true')
    assert.equal(preview.body.tags.length, limits.manifestTagDeletionsMax)
  })

  test('a referrer with a tag of its own stays', async () => {
    const { image, about, push, has, remove } = await prepared()
    const named = await push(about(image), 'sbom')
    const { body, status, text } = await remove(image.digest)
    assert.equal(status, 200, text)
    assert.deepEqual([body.tags, body.manifests], [['latest'], []])
    assert.equal(await has(named), true)
  })
})
