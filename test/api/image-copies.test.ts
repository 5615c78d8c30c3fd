import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ImageCopiesService } from '@berth/contract/gen/berth/registry/v1/image_copies_pb.js'
import type { ResourceKind } from '@berth/server/api/resource-limits.ts'
import { limits } from '@berth/server/config/limits.ts'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import {
  alreadyExistsError,
  assertError,
  failedPreconditionError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryStore,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { policiesOf } from '../support/api/policies.ts'
import { differsOnCitus } from '../support/database/citus-suites.ts'
import { indexOf } from '../support/registry/layered-image.ts'
import {
  createRegistryFixture,
  imageFromManifest,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
  types,
} from '../support/registry/registry.ts'

const REPO = 'registry.chainguard.dev/Repo'
const TAG = 'registry.chainguard.dev/Tag'
const MANIFEST = 'registry.chainguard.dev/Manifest'
const absent = `sha256:${'0'.repeat(64)}`
const MIB = 1024 * 1024

onEveryStore('copies of images', (cast) => {
  const prepared = async () => {
    const registry = await createRegistryFixture(cast())
    const { organization, root, owner } = registry
    const { api } = organization.owner
    const newRepo = async (parent = root, name = newName('repo')) => {
      const { uid } = await api.create(`registry/repos/${parent}`, { name })
      return { uid: uid as string, path: `${root}/${name}` }
    }
    const [from, to] = [await newRepo(), await newRepo()]
    const copy = (body: object, target = to.uid, caller = api) =>
      caller.post(`registry/repos/${target}/images:copy`, { sourceUid: from.uid, ...body })
    const push = (image: TestImage, tag?: string) => pushImage(owner, from.path, image, tag)
    const pushIndex = async (tag: string, ...images: readonly TestImage[]) => {
      for (const image of images) await push(image)
      const index = indexOf(images.map((image) => ({ image })))
      assert.equal((await putManifest(owner, from.path, tag, index)).status, 201)
      return index
    }
    const about = (subject: Pick<TestImage, 'descriptor'>) =>
      testImage({ subject: subject.descriptor, artifactType: 'application/x.sbom' })
    const digestAt = async (reference: string, { path } = to) => {
      const reply = await owner.request('HEAD', `${path}/manifests/${reference}`)
      return reply.status === 200 ? reply.headers.get('docker-content-digest') : undefined
    }
    const settings = (kinds: Partial<Record<ResourceKind, number>>) =>
      organizationSettings(cast().berth.berth.installation, root, {
        limits: new Map(Object.entries(kinds) as [ResourceKind, number][]),
      })
    return { ...registry, api, from, to, newRepo, copy, push, pushIndex, about, digestAt, settings }
  }

  test('an index is copied with its platforms; it can be pulled, and a second copy changes nothing', async () => {
    const { owner, to, copy, pushIndex, digestAt, api, organization } = await prepared()
    const images = [testImage(), testImage({}, { architecture: 'arm64' })]
    const index = await pushIndex('1.0', ...images)
    const first = await copy({ reference: '1.0', tag: 'released' })
    assert.equal(first.status, 200, first.text)
    const { tagUid, ...rest } = first.body
    const bytes = images.flatMap(({ blobs }) => blobs).reduce((sum, { length }) => sum + length, 0)
    assert.deepEqual(rest, {
      digest: index.digest,
      copiedManifests: 3,
      existingManifests: 0,
      mountedBlobs: 4,
      mountedBytes: String(bytes),
      existingBlobs: 0,
      referrers: 0,
      warnings: [],
    })
    const tag = (await api.get(`registry/tags/${tagUid}`)).body
    assert.deepEqual([tag.name, tag.digest], ['released', index.digest])
    for (const image of images) {
      const pulled = await owner.request('GET', `${to.path}/manifests/${image.digest}`)
      assert.deepEqual(pulled.bytes, image.manifest)
      const [, layer] = image.blobs
      const blob = await owner.request('GET', `${to.path}/blobs/${pulled.json.layers[0].digest}`)
      assert.deepEqual(blob.bytes, layer)
    }
    const { entries } = (await api.get(`registry/tags/${tagUid}/history`)).body
    assert.deepEqual(
      entries.map(({ digest, actor }: Record<string, string>) => [digest, actor]),
      [[index.digest, organization.owner.uid]],
    )
    const events = [...(await cast().auditEventsOf(to.uid)), ...(await cast().auditEventsOf(tagUid))]
    const copies = events.filter(({ method }) => method === 'berth.registry.v1.ImageCopiesService/CopyImage')
    assert.deepEqual(
      copies.map(({ actor }) => actor),
      Array(3).fill(organization.owner.uid),
    )
    const again = await cast().writesNothing(() => copy({ reference: index.digest, tag: 'released' }))
    assert.deepEqual(
      [again.body.tagUid, again.body.copiedManifests, again.body.existingManifests, again.body.mountedBlobs],
      [tagUid, 0, 3, 0],
    )
    assert.equal(again.body.existingBlobs, 4)
    // In its own repo it gets another tag.
    const own = await copy({ sourceUid: to.uid, reference: 'released', tag: 'same' })
    assert.deepEqual([own.status, own.body.copiedManifests], [200, 0])
    assert.equal(await digestAt('same'), index.digest)
  })

  test('signatures and SBOMs of any level are copied on request, also those that tags attach', async () => {
    const { copy, push, pushIndex, about, digestAt, newRepo, api } = await prepared()
    const image = testImage()
    const index = await pushIndex('1.0', image)
    const sbom = await push(about(image))
    const ofSbom = await push(about(sbom))
    const prefix = index.digest.replace(':', '-')
    const attached = await push(testImage(), `${prefix}.sig`)
    await push(testImage({ subject: attached.descriptor, artifactType: 'application/x.other' }))
    await push(testImage(), 'unrelated')

    const without = await copy({ reference: '1.0', tag: '1.0' })
    assert.deepEqual([without.body.copiedManifests, without.body.referrers], [2, 0])
    assert.equal(await digestAt(sbom.digest), undefined)

    const target = await newRepo()
    const { body } = await copy({ reference: '1.0', tag: '1.0', includeReferrers: true }, target.uid)
    assert.deepEqual([body.copiedManifests, body.referrers], [6, 4])
    for (const { digest } of [index, image, sbom, ofSbom])
      assert.equal(await digestAt(digest, target), digest)
    assert.equal(await digestAt(`${prefix}.sig`, target), attached.digest)
    assert.equal(await digestAt('unrelated', target), undefined)
    const listed = await api.get(`registry/repos/${target.uid}/manifests/${image.digest}/referrers`)
    assert.deepEqual(
      listed.body.referrers.map(({ digest }: { digest: string }) => digest),
      [sbom.digest],
    )
    // Another signature of the same image: the attached tag is not moved without a word.
    const newer = await push(testImage(), `${prefix}.sig`)
    const again = { reference: '1.0', tag: '1.0', includeReferrers: true }
    assert.equal((await copy(again, target.uid)).status, 409)
    assert.equal(await digestAt(`${prefix}.sig`, target), attached.digest)
    const moved = await copy({ ...again, overwrite: true }, target.uid)
    assert.equal(moved.status, 200, moved.text)
    assert.equal(await digestAt(`${prefix}.sig`, target), newer.digest)
  })

  test('a tag that points elsewhere needs overwrite, and an immutable one is refused before anything is written', async () => {
    const { owner, copy, push, digestAt, to, api } = await prepared()
    const [image, other] = [await push(testImage(), '1.0'), testImage()]
    await pushImage(owner, to.path, other, 'latest')
    const [{ uid }] = (await api.get('registry/tags', { 'uidp.children_of': to.uid })).body.tags
    const body = { reference: '1.0', tag: 'latest' }
    assertError(await cast().writesNothing(() => copy(body)), alreadyExistsError(TAG, uid))
    assert.equal(await digestAt(image.digest), undefined)
    await api.patch(`registry/repos/${to.uid}/policy`, {
      immutableTags: { patterns: ['l*'], exceptions: [] },
    })
    const forced = { ...body, overwrite: true }
    assertError(await cast().writesNothing(() => copy(forced)), failedPreconditionError('TAG_IMMUTABLE'))
    assert.equal(await digestAt(image.digest), undefined)
    await api.patch(`registry/repos/${to.uid}/policy`, { immutableTags: { patterns: [], exceptions: [] } })
    assert.equal((await copy(forced)).status, 200)
    assert.equal(await digestAt('latest'), image.digest)
    // A new tag that is immutable from now on may be created once.
    await api.patch(`registry/repos/${to.uid}/policy`, {
      immutableTags: { patterns: ['v*'], exceptions: [] },
    })
    assert.equal((await copy({ reference: '1.0', tag: 'v1' })).status, 200)
    assert.equal((await copy({ reference: '1.0', tag: 'v1' })).status, 200)
  })

  test('requires a pull in the source and a push at the destination, and names both', async () => {
    const { copy, push, organization, api, root, from, to, pushIndex, about } = await prepared()
    const image = await push(testImage(), '1.0')
    await pushIndex('multi', image)
    await push(about(image))
    const body = { reference: '1.0', tag: '1.0' }
    const role = async (...capabilities: string[]) =>
      (
        await api.create(`iam/roles/${root}`, {
          name: newName('role'),
          capabilities: capabilities.map((name) => `CAP_${name}`),
        })
      ).uid as string
    const pusher = await role('MANIFEST_CREATE')
    const pusherOnly = await organization.member(pusher, root)
    const denied = await copy(body, to.uid, pusherOnly.api)
    assertError(denied, permissionDeniedError)
    assert.match(
      denied.body.message,
      new RegExp(
        `repo\\.blobs\\.get, manifest\\.list in the source ${from.uid}|manifest\\.list, repo\\.blobs\\.get in the source ${from.uid}`,
      ),
    )
    assert.match(denied.body.message, new RegExp(`tag\\.create at the destination ${to.uid}`))
    const puller = await organization.member('registry.pull')
    const readOnly = await copy(body, to.uid, puller.api)
    assertError(readOnly, permissionDeniedError)
    assert.match(readOnly.body.message, /manifest\.create/)
    // By name of the source, whether it exists or not.
    const hidden = await cast().organization()
    const foreign = await hidden.owner.api.create(`registry/repos/${hidden.uid}`, { name: newName('repo') })
    for (const sourceUid of [foreign.uid, `${hidden.uid}/${'0'.repeat(16)}`])
      assertError(await copy({ ...body, sourceUid }), permissionDeniedError)

    const copier = await organization.member(
      await role('MANIFEST_CREATE', 'MANIFEST_LIST', 'REPO_BLOBS_GET', 'TAG_CREATE'),
    )
    assert.equal((await copy(body, to.uid, copier.api)).status, 200)
    assertError(await copy({ ...body, includeReferrers: true }, to.uid, copier.api), permissionDeniedError)
    // Moving a tag needs more, as in a push.
    const moved = await copy({ reference: 'multi', tag: '1.0', overwrite: true }, to.uid, copier.api)
    assertError(moved, permissionDeniedError)
    assert.match(moved.body.message, /tag\.update/)
    assert.equal((await copy({ reference: '1.0' }, to.uid, copier.api)).status, 200)
  })

  test('copies from another organization of the caller, within the quota of the destination', async () => {
    const { owner, copy, push, from, settings, newRepo } = await prepared()
    const other = await prepared()
    const image = await push(testImage({}, { layerBytes: 2 * MIB }), 'big')
    const body = { sourceUid: from.uid, reference: 'big', tag: 'big' }
    // The administrator has roles in both.
    const copyThere = () => other.copy(body, other.to.uid, cast().admin)
    await other.settings({ storage_mib: 1 })
    const full = await copyThere()
    assert.deepEqual([full.status, full.body.code], [429, 8])
    assert.match(full.body.message, /storage_mib/)
    assert.equal(await other.digestAt('big'), undefined)
    await other.settings({ storage_mib: 3 })
    const done = await copyThere()
    assert.equal(done.status, 200, done.text)
    assert.deepEqual(done.body.warnings, [])
    const { owner: there, to } = other
    assert.equal((await there.request('GET', `${to.path}/manifests/big`)).status, 200)
    // In its own organization the bytes count once.
    await settings({ storage_mib: 3 })
    const repo = await newRepo()
    assert.equal((await copy({ reference: 'big', tag: 'big' }, repo.uid)).status, 200)
    await settings({ manifests: 2 })
    const limited = await push(testImage(), 'small').catch((error: Error) => error.message)
    assert.match(String(limited), /manifests/)
    const third = await newRepo()
    const over = await copy({ reference: 'big', tag: 'big' }, third.uid)
    assert.deepEqual([over.status, over.body.code], [429, 8])
    assert.equal((await owner.request('GET', `${from.path}/manifests/${image.digest}`)).status, 200)
  })

  test('a copy that exceeds a quota as a whole fails before anything is written', async () => {
    const { copy, push, pushIndex, from } = await prepared()
    const other = await prepared()
    // Each image fits, both together do not.
    const images = ['amd64', 'arm64'].map((architecture) =>
      testImage({}, { architecture, layerBytes: 2 * MIB }),
    )
    await pushIndex('both', ...images)
    const copyThere = (reference: string) =>
      other.copy({ sourceUid: from.uid, reference, tag: reference }, other.to.uid, cast().admin)
    await other.settings({ storage_mib: 3 })
    const full = await cast().writesNothing(() => copyThere('both'))
    assert.deepEqual([full.status, full.body.code], [429, 8])
    assert.match(
      full.body.message,
      /may store 3 MiB of blobs \(storage_mib\) and stores 0 MiB; 4 MiB would be added/,
    )
    await other.settings({ manifests: 2, storage_mib: 5 })
    const many = await cast().writesNothing(() => copyThere('both'))
    assert.deepEqual([many.status, many.body.code], [429, 8])
    assert.match(many.body.message, /may hold 2 manifests \(manifests\) and holds 0; 3 would be added/)
    // What is there is not counted again: exactly what is missing fits.
    await push(images[0] as TestImage, 'first')
    await other.settings({ manifests: 3, storage_mib: 5 })
    assert.equal((await copyThere('first')).status, 200)
    const done = await copyThere('both')
    assert.equal(done.status, 200, done.text)
    assert.deepEqual([done.body.copiedManifests, done.body.existingManifests], [2, 1])
    const again = await copyThere('both')
    assert.equal(again.status, 200, again.text)
    assert.equal(await copy({ reference: 'none', tag: 'none' }).then(({ status }) => status), 404)
  })

  test('a tag that is created or moved has the marks of its source, and another one keeps its own', async () => {
    const { api, copy, push, from } = await prepared()
    const [image, next] = [testImage(), testImage({}, { architecture: 'arm64' })]
    await push(image)
    await push(next, 'next')
    await api.create(`registry/tags/${from.uid}`, {
      name: 'old',
      digest: image.digest,
      deprecated: true,
      bundles: ['base', 'ai'],
    })
    const marksAfter = async (body: object) => {
      const { tagUid } = (await copy(body)).body
      const { digest, deprecated = false, bundles = [] } = (await api.get(`registry/tags/${tagUid}`)).body
      return [digest, deprecated, bundles]
    }
    const created = await marksAfter({ reference: 'old', tag: 'a' })
    assert.deepEqual(created, [image.digest, true, ['base', 'ai']])
    assert.deepEqual(await marksAfter({ reference: image.digest, tag: 'b' }), [image.digest, false, []])
    assert.deepEqual(await marksAfter({ reference: 'old', tag: 'b' }), [image.digest, false, []])
    const moved = await marksAfter({ reference: 'next', tag: 'a', overwrite: true })
    assert.deepEqual(moved, [next.digest, false, []])
    const back = await marksAfter({ reference: image.digest, tag: 'a', overwrite: true })
    assert.deepEqual(back, [image.digest, false, []])
  })

  test('an image whose pull a policy denies is not copied', async () => {
    const { copy, push, from, api, digestAt } = await prepared()
    const image = await push(testImage(), 'nightly')
    await push(image, 'v1')
    await policiesOf(cast().berth, api.token).bind(from.uid, 'tag-pattern', { patterns: ['v*'] })
    const denied = await cast().writesNothing(() => copy({ reference: 'nightly', tag: 'x' }))
    assertError(denied, permissionDeniedError)
    assert.match(denied.body.message, /policy tag-pattern denies this image/)
    assert.equal(await digestAt('x'), undefined)
    assert.equal((await copy({ reference: 'v1', tag: 'x' })).status, 200)
  })

  test('rejects what is not there and what is not valid', async () => {
    const { copy, push, root } = await prepared()
    await push(testImage(), '1.0')
    const body = { reference: '1.0', tag: '1.0' }
    const missing = `${root}/${'0'.repeat(16)}`
    assertError(await copy({ ...body, reference: '2.0' }), notFoundError(MANIFEST, '2.0'))
    assertError(await copy({ ...body, reference: absent }), notFoundError(MANIFEST, absent))
    assertError(await copy({ ...body, sourceUid: missing }), notFoundError(REPO, missing))
    assertError(await copy(body, missing), notFoundError(REPO, missing))
    assertError(await copy({ ...body, sourceUid: 'x' }), invalidFieldError('sourceUid'))
    assertError(await copy({ ...body, reference: '' }), invalidFieldError('reference'))
    assertError(await copy({ ...body, reference: 'sha256:1' }), invalidFieldError('reference'))
    assertError(await copy({ ...body, tag: '-' }), invalidFieldError('tag'))
  })

  test('a damaged blob of the source is named, and the copy can be repeated after a push', async () => {
    const { copy, push, digestAt } = await prepared()
    const image = await push(testImage(), '1.0')
    const { db } = cast().berth.berth.installation.store
    const { digest } = JSON.parse(image.manifest.toString()).layers[0]
    // As the scrub does with damaged bytes.
    await db.kysely.deleteFrom('blobs').where('digest', '=', digest).execute()
    const failed = await copy({ reference: '1.0', tag: '1.0' })
    assertError(failed, failedPreconditionError('BLOB_MISSING'))
    assert.match(failed.body.message, new RegExp(digest))
    assert.equal(await digestAt('1.0'), undefined)
    await push(image, '1.0')
    assert.equal((await copy({ reference: '1.0', tag: '1.0' })).status, 200)
  })

  const skip = differsOnCitus('copiedManifestsMax')
  test('an image with more manifests than one copy may have is rejected (copiedManifestsMax)', {
    skip,
  }, async () => {
    const { copy, push, about, owner, from, digestAt } = await prepared()
    const image = await push(testImage(), '1.0')
    const first = await push(about(image))
    // Their blobs are there already.
    const referrers = Array.from({ length: limits.copiedManifestsMax - 1 }, (_, at) =>
      imageFromManifest({
        ...JSON.parse(first.manifest.toString()),
        mediaType: types.image,
        annotations: { at: String(at) },
      }),
    )
    for (const [at, referrer] of referrers.entries()) {
      if (at === referrers.length - 1) {
        const whole = await copy({ reference: '1.0', tag: '1.0', includeReferrers: true })
        assert.deepEqual(
          [whole.status, whole.body.copiedManifests, whole.body.referrers],
          [200, limits.copiedManifestsMax, limits.copiedManifestsMax - 1],
        )
      }
      assert.equal((await putManifest(owner, from.path, referrer.digest, referrer)).status, 201)
    }
    const body = { reference: '1.0', tag: 'more', includeReferrers: true }
    assertError(await cast().writesNothing(() => copy(body)), failedPreconditionError('TOO_MANY_MANIFESTS'))
    assert.equal(await digestAt('more'), undefined)
    assert.equal((await copy({ ...body, includeReferrers: false })).status, 200)
  })

  test('the same with gRPC', async () => {
    const { push, from, to, api } = await prepared()
    const image = await push(testImage(), '1.0')
    const { grpc } = cast()
    const { method } = ImageCopiesService
    const request = { uid: to.uid, sourceUid: from.uid, reference: '1.0', tag: '1.0' }
    const copied = await grpc.call(method.copyImage, request, { token: api.token })
    assert.deepEqual([copied.digest, copied.copiedManifests, copied.mountedBlobs], [image.digest, 1, 2])
    await assert.rejects(
      grpc.call(method.copyImage, { ...request, reference: 'none' }, { token: api.token }),
      { code: 5 },
    )
    const other = await push(testImage(), 'other')
    await assert.rejects(
      grpc.call(method.copyImage, { ...request, reference: other.digest }, { token: api.token }),
      { code: 6 },
    )
  })

  test('copies of the same image at the same time do not disturb each other', async () => {
    const { copy, pushIndex, digestAt, to } = await prepared()
    const index = await pushIndex('1.0', testImage(), testImage({}, { architecture: 'arm64' }))
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, at) => copy({ reference: '1.0', tag: `t${at % 3}` })),
    )
    assert.deepEqual(
      replies.map(({ status }) => status),
      Array(6).fill(200),
    )
    assert.equal(
      replies.reduce((sum, { body }) => sum + body.copiedManifests, 0),
      3,
    )
    for (const tag of ['t0', 't1', 't2']) assert.equal(await digestAt(tag, to), index.digest)
  })
})
