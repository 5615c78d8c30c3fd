import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManifestsService } from '@berth/contract/gen/berth/registry/v1/manifests_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { deleteUnreferencedManifests } from '@berth/server/registry/retention/manifest-deletion.ts'
import { manifestsToDelete } from '@berth/server/registry/retention/unreferenced-manifests.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import {
  assertError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import {
  createRegistryFixture,
  imageFromManifest,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
  types,
} from '../support/registry/registry.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const HOUR_MS = 60 * 60 * 1000

onEveryDatabase('registry: deletion of untagged manifests', (cast) => {
  const store = () => cast().berth.berth.installation.store

  /** A repo with a tag `latest`. */
  const prepared = async () => {
    const registry = await createRegistryFixture(cast())
    const { owner, name, organization, root } = registry
    const latest = await pushImage(owner, name, testImage(), 'latest')
    const { api } = organization.owner
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const path = `registry/repos/${repo}`
    /** As if everything in the repo had been pushed so much earlier. */
    const age = async (ms: number) => {
      await store()
        .db.kysely.updateTable('manifests')
        .set((row) => ({ touched_ms: row('touched_ms', '-', ms) }))
        .where('repo', '=', repo)
        .execute()
    }
    const has = async ({ digest }: { digest: string }) =>
      (await owner.request('HEAD', `${name}/manifests/${digest}`)).status === 200
    const pushIndex = async (reference: string, ...manifests: object[]) => {
      const made = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests })
      const reply = await putManifest(owner, name, reference === '' ? made.digest : reference, made)
      assert.equal(reply.status, 201, reply.bytes.toString())
      return made
    }
    const preview = (request: object = {}) => api.create(`${path}/manifests:previewUntagged`, request)
    const remove = (request: object = {}) => api.create(`${path}/manifests:deleteUntagged`, request)
    return { ...registry, api, repo, path, latest, age, has, pushIndex, preview, remove }
  }
  const sizeOf = (image: TestImage) => image.blobs.reduce((sum, { length }) => sum + length, 0)

  test('deletes what no tag, index or subject needs, with attached tags; the preview says so before', async () => {
    const { owner, name, repo, latest, age, has, pushIndex, preview, remove, path, api, organization } =
      await prepared()
    const [loose, inOld, inNew] = [testImage(), testImage(), testImage()]
    for (const image of [loose, inOld, inNew]) await pushImage(owner, name, image)
    const oldIndex = await pushIndex('', inOld.descriptor)
    const newIndex = await pushIndex('stays', inNew.descriptor)
    const about = (subject: TestImage) =>
      testImage({ subject: subject.descriptor, artifactType: 'application/x.sbom' })
    const [sbomOfLoose, sbomOfLatest] = [about(loose), about(latest)]
    for (const image of [sbomOfLoose, sbomOfLatest]) await pushImage(owner, name, image)
    const prefix = loose.digest.replace(':', '-')
    await api.patch(`${path}/policy`, { immutableTags: { patterns: ['*.fixed'] } })
    const [signature, fixed] = [testImage(), testImage()]
    await pushImage(owner, name, signature, `${prefix}.sig`)
    await pushImage(owner, name, fixed, `${prefix}.fixed`)
    await age(DAY_MS + 1000)
    const young = await pushImage(owner, name, testImage())

    const gone = [loose, sbomOfLoose, inOld, oldIndex]
    const expected: Record<string, [boolean, string]> = {
      [`${prefix}.sig`]: [true, 'it is attached to a manifest that is deleted'],
      ...Object.fromEntries(gone.map(({ digest }) => [digest, [true, 'it is unreferenced']])),
    }
    const kept = {
      [latest.digest]: [false, 'a tag points to it'],
      [signature.digest]: [false, 'a tag points to it'],
      [fixed.digest]: [false, 'a tag points to it'],
      [newIndex.digest]: [false, 'a tag points to it'],
      [inNew.digest]: [false, 'an index references it'],
      [sbomOfLatest.digest]: [false, 'its subject exists'],
      [young.digest]: [false, 'it was pushed or tagged recently'],
    }
    const verdicts: { tag: string; digest: string; deleted: boolean; reason: string }[] = []
    let pageToken = ''
    do {
      const page = await preview({ pageSize: 3, pageToken })
      assert.deepEqual([page.deletedManifests, page.deletedTags], [4, 1])
      const bytes = [loose, sbomOfLoose, inOld].reduce((sum, image) => sum + sizeOf(image), 0)
      assert.equal(page.unreferencedBytes, pageToken === '' ? String(bytes) : '0')
      verdicts.push(...page.verdicts)
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    assert.deepEqual(
      Object.fromEntries(
        verdicts.map(({ tag, digest, deleted, reason }) => [tag || digest, [deleted, reason]]),
      ),
      { ...expected, ...kept },
    )
    const only = await preview({ deletedOnly: true })
    assert.deepEqual(
      only.verdicts.map(({ tag, digest }: { tag: string; digest: string }) => tag || digest),
      [`${prefix}.sig`, ...gone.map(({ digest }) => digest).sort()],
    )
    for (const image of gone) assert.equal(await has(image), true)

    const before = (await cast().auditEventsOf(repo)).length
    assert.deepEqual(await remove(), { deletedManifests: 4, deletedTags: 1, remainingManifests: 0 })
    for (const image of gone) assert.equal(await has(image), false)
    for (const image of [latest, signature, fixed, newIndex, inNew, sbomOfLatest, young])
      assert.equal(await has(image), true)
    const tags = (await owner.request('GET', `${name}/tags/list`)).json.tags
    assert.deepEqual(tags, ['latest', `${prefix}.fixed`, 'stays'])
    const events = (await cast().auditEventsOf(repo)).slice(before)
    // Events of one millisecond have no order.
    assert.deepEqual(events.map(({ method }) => method.split('/').pop()).sort(), [
      ...Array(4).fill('DeleteManifest'),
      'DeleteUntaggedManifests',
    ])
    assert.deepEqual(new Set(events.map(({ actor }) => actor)), new Set([organization.owner.uid]))
    assert.deepEqual(await remove(), { deletedManifests: 0, deletedTags: 0, remainingManifests: 0 })
    assert.equal(
      (await cast().auditEventsOf(repo)).length,
      before + events.length,
      'no event without a change',
    )
  })

  test('gRPC previews and deletes the same', async () => {
    const { owner, name, repo, age, has, organization } = await prepared()
    const loose = await pushImage(owner, name, testImage())
    await age(DAY_MS + 1000)
    const { previewUntaggedManifests, deleteUntaggedManifests } = ManifestsService.method
    const token = { token: organization.owner.api.token }
    const preview = await cast().grpc.call(previewUntaggedManifests, { uid: repo, deletedOnly: true }, token)
    assert.deepEqual(
      [preview.verdicts.map(({ digest }) => digest), preview.unreferencedBytes],
      [[loose.digest], BigInt(sizeOf(loose))],
    )
    const deleted = await cast().grpc.call(deleteUntaggedManifests, { uid: repo }, token)
    assert.deepEqual([deleted.deletedManifests, deleted.remainingManifests], [1, 0])
    assert.equal(await has(loose), false)
  })

  test('blobs that a kept manifest also references do not count as unreferenced', async () => {
    const { owner, name, latest, age, preview } = await prepared()
    const { config, layers } = JSON.parse(latest.manifest.toString())
    const again = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.image,
      config,
      layers,
      annotations: { 'com.example.build': '2' },
    })
    assert.equal((await putManifest(owner, name, again.digest, again)).status, 201)
    await age(DAY_MS + 1000)
    const { deletedManifests, unreferencedBytes } = await preview()
    assert.deepEqual([deletedManifests, unreferencedBytes], [1, '0'])
  })

  test('the age is a day without olderThan, counts from the last push or the loss of the last tag, and has a minimum', async () => {
    const { owner, name, age, has, remove, path, api } = await prepared()
    const loose = await pushImage(owner, name, testImage())
    const untagged = await pushImage(owner, name, testImage(), 'old')
    await age(2 * HOUR_MS)
    await owner.request('DELETE', `${name}/manifests/old`)
    assert.equal((await remove()).deletedManifests, 0)
    assert.equal((await remove({ olderThan: '10800s' })).deletedManifests, 0)
    assert.equal((await remove({ olderThan: '3600s' })).deletedManifests, 1)
    assert.deepEqual([await has(loose), await has(untagged)], [false, true])
    await age(DAY_MS)
    assert.equal((await remove()).deletedManifests, 1)
    for (const action of ['previewUntagged', 'deleteUntagged'])
      for (const olderThan of ['0s', '3599s', '-86400s', '400000000s'])
        assertError(
          await api.post(`${path}/manifests:${action}`, { olderThan }),
          invalidFieldError('olderThan'),
        )
    assert.equal(limits.untaggedAgeMsDefault, DAY_MS)
  })

  test('a manifest that is tagged, referenced or pushed again after it was found is kept', async () => {
    const { owner, name, repo, age, has, pushIndex } = await prepared()
    const [tagged, referenced, repeated, loose] = [testImage(), testImage(), testImage(), testImage()]
    const all = [tagged, referenced, repeated, loose]
    for (const image of all) await pushImage(owner, name, image)
    await age(DAY_MS + 1000)
    const { db, clock } = store()
    const untilMs = clock() - DAY_MS
    const digests = await manifestsToDelete(db, repo, untilMs)
    assert.deepEqual([...digests].sort(), all.map(({ digest }) => digest).sort())
    await putManifest(owner, name, 'now', tagged)
    await pushIndex('', referenced.descriptor)
    await putManifest(owner, name, repeated.digest, repeated)
    const deleted = await inTransaction(db, (tx) =>
      deleteUnreferencedManifests(
        store(),
        tx,
        { repo, immutable: {} },
        { digests, untilMs, record: async () => {} },
      ),
    )
    assert.deepEqual(deleted, { tags: 0, manifests: 1 })
    assert.deepEqual(await Promise.all(all.map(has)), [true, true, true, false])
  })

  test('pushes of tags continue meanwhile, and every tag that was pushed has its manifest', async () => {
    const { owner, name, age, remove } = await prepared()
    const images = Array.from({ length: 2 * limits.retentionBatchRows }, () => testImage())
    for (const image of images) await pushImage(owner, name, image)
    await age(DAY_MS + 1000)
    const tagged = images.filter((_, at) => at % 5 === 0)
    const [deleted, ...pushes] = await Promise.all([
      remove(),
      ...tagged.map((image, at) => putManifest(owner, name, `t${at}`, image)),
    ])
    for (const { status } of pushes) assert.equal(status, 201)
    for (const [at, image] of tagged.entries()) {
      const reply = await owner.request('GET', `${name}/manifests/t${at}`)
      assert.deepEqual([reply.status, reply.headers.get('docker-content-digest')], [200, image.digest])
    }
    assert.ok(deleted.deletedManifests >= images.length - tagged.length)
  })

  test('one call deletes a bounded number, in order, and returns how many remain', async () => {
    const { owner, name, repo, age, has, remove, pushIndex } = await prepared()
    const inIndex = await pushImage(owner, name, testImage())
    const index = await pushIndex('', inIndex.descriptor)
    const { db } = store()
    const model = await db.kysely
      .selectFrom('manifests')
      .selectAll()
      .where('repo', '=', repo)
      .where('digest', '=', inIndex.digest)
      .executeTakeFirstOrThrow()
    const more = Array.from({ length: limits.untaggedDeletionsMax }, (_, n) => ({
      ...model,
      digest: `sha256:${String(n).padStart(64, '0')}`,
    }))
    await db.kysely.insertInto('manifests').values(more).execute()
    await db.kysely
      .updateTable('registry_usage')
      .set((row) => ({ manifests: row('manifests', '+', more.length) }))
      .where('root', '=', model.root)
      .execute()
    await age(DAY_MS + 1000)
    assert.deepEqual(await remove(), {
      deletedManifests: limits.untaggedDeletionsMax,
      deletedTags: 0,
      remainingManifests: 2,
    })
    assert.equal((await remove()).deletedManifests, 2)
    assert.deepEqual([await has(index), await has(inIndex)], [false, false])
  })

  test('requires the capabilities of a retention run, also of a caller who may delete manifests', async () => {
    const { owner, name, age, has, path, member, organization } = await prepared()
    const loose = await pushImage(owner, name, testImage())
    await age(DAY_MS + 1000)
    const { api } = organization.owner
    const as = async (...capabilities: string[]) => {
      const role = await api.create(`iam/roles/${organization.uid}`, {
        name: newName('cleaner'),
        capabilities,
      })
      return (await member(role.uid)).api
    }
    const reader = await as('CAP_REPO_LIST', 'CAP_TAG_LIST', 'CAP_MANIFEST_LIST')
    assert.equal((await reader.create(`${path}/manifests:previewUntagged`, {})).deletedManifests, 1)
    assertError(await reader.post(`${path}/manifests:deleteUntagged`, {}), permissionDeniedError)
    const deleter = await as('CAP_MANIFEST_DELETE', 'CAP_TAG_DELETE')
    assertError(await deleter.post(`${path}/manifests:previewUntagged`, {}), permissionDeniedError)
    assertError(await deleter.post(`${path}/manifests:deleteUntagged`, {}), permissionDeniedError)
    assert.equal(await has(loose), true)
    const pusher = (await member('registry.push')).api
    assert.equal((await pusher.create(`${path}/manifests:deleteUntagged`, {})).deletedManifests, 1)
  })

  test('fails if the repo does not exist', async () => {
    const { root, api } = await prepared()
    const uid = `${root}/0123456789abcdef`
    for (const action of ['previewUntagged', 'deleteUntagged'])
      assertError(
        await api.post(`registry/repos/${uid}/manifests:${action}`, {}),
        notFoundError('registry.chainguard.dev/Repo', uid),
      )
  })
})
