import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { onEveryStore } from '../support/api/api-fixture.ts'
import {
  assertOciError,
  createRegistryFixture,
  digest,
  imageFromManifest,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
  types,
} from '../support/registry/registry.ts'

onEveryStore('registry: pull', (cast) => {
  test('a manifest is pulled by tag and by digest, byte for byte, and HEAD returns the same headers', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name, testImage(), 'v1')
    for (const reference of ['v1', image.digest, encodeURIComponent(image.digest)]) {
      const got = await owner.request('GET', `${name}/manifests/${reference}`)
      assert.equal(got.status, 200)
      assert.deepEqual(got.bytes, image.manifest)
      const head = await owner.request('HEAD', `${name}/manifests/${reference}`)
      assert.equal(head.status, 200)
      assert.equal(head.bytes.length, 0)
      for (const { headers } of [got, head]) {
        assert.equal(headers.get('docker-content-digest'), image.digest)
        assert.equal(headers.get('content-type'), types.image)
        assert.equal(headers.get('content-length'), String(image.manifest.length))
      }
    }
  })

  test('an unchanged manifest is not sent again', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name, testImage(), 'v1')
    for (const [seen, status] of [
      [`"${image.digest}"`, 304],
      ['"sha256:other"', 200],
      ['*', 304],
    ] as const)
      assert.equal(
        (await owner.request('GET', `${name}/manifests/v1`, { headers: { 'if-none-match': seen } })).status,
        status,
      )
  })

  test('every kind of manifest keeps the media type that it was pushed with', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    for (const mediaType of [types.image, types.dockerImage]) {
      const image = await pushImage(owner, name, testImage({}, { mediaType }))
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: mediaType === types.image ? types.index : types.dockerList,
        manifests: [image.descriptor],
      })
      assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
      for (const pushed of [image, index])
        assert.equal(
          (await owner.request('GET', `${name}/manifests/${pushed.digest}`)).headers.get('content-type'),
          pushed.mediaType,
        )
    }
  })

  test('a blob is pulled whole, by HEAD, and in ranges', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(700_000)
    const path = `${name}/blobs/${await pushBlob(owner, name, bytes)}`
    const whole = await owner.request('GET', path)
    assert.equal(whole.status, 200)
    assert.ok(whole.bytes.equals(bytes))
    const head = await owner.request('HEAD', path)
    for (const { headers } of [whole, head]) {
      assert.equal(headers.get('content-length'), '700000')
      assert.equal(headers.get('docker-content-digest'), digest(bytes))
      assert.equal(headers.get('accept-ranges'), 'bytes')
    }
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 1],
      ['bytes=10-19', 10, 20],
      ['bytes=699990-', 699_990, 700_000],
      ['bytes=699990-9999999', 699_990, 700_000],
      ['bytes=-5', 699_995, 700_000],
      ['bytes=-9999999', 0, 700_000],
      ['bytes=100000-599999', 100_000, 600_000],
    ] as const) {
      const part = await owner.request('GET', path, { headers: { range } })
      assert.equal(part.status, 206, range)
      assert.equal(part.headers.get('content-range'), `bytes ${from}-${to - 1}/700000`)
      assert.ok(part.bytes.equals(bytes.subarray(from, to)), range)
    }
    const looked = await owner.request('HEAD', path, { headers: { range: 'bytes=0-9' } })
    assert.deepEqual([looked.status, looked.headers.get('content-length')], [200, '700000'])
    for (const range of ['bytes=700000-', 'bytes=700000-700001', 'bytes=-0', 'bytes=5-4']) {
      const nothing = await owner.request('GET', path, { headers: { range } })
      assert.equal(nothing.status, 416, range)
      assert.equal(nothing.headers.get('content-range'), 'bytes */700000')
    }
    for (const range of ['bytes=0-1,4-5', 'lines=1-2', 'bytes=a-b', 'bytes=-'])
      assert.equal((await owner.request('GET', path, { headers: { range } })).status, 200, range)
    const other = { range: 'bytes=0-1', 'if-range': '"sha256:other"' }
    assert.equal((await owner.request('GET', path, { headers: other })).status, 200)
    const known = { 'if-none-match': `"${digest(bytes)}"` }
    assert.equal((await owner.request('GET', path, { headers: known })).status, 304)
  })

  test('missing content is reported with the codes of the specification', async () => {
    const { owner, name, root } = await createRegistryFixture(cast())
    await pushImage(owner, name)
    const missing = digest('missing')
    for (const method of ['GET', 'HEAD']) {
      const codes = (reply: { status: number; codes: readonly string[] }) =>
        method === 'HEAD' ? [reply.status] : [reply.status, ...reply.codes]
      for (const [path, ...expected] of [
        [`${name}/manifests/nothing`, 404, 'MANIFEST_UNKNOWN'],
        [`${name}/manifests/${missing}`, 404, 'MANIFEST_UNKNOWN'],
        [`${name}/manifests/.not-a-tag`, 404, 'MANIFEST_UNKNOWN'],
        [`${name}/manifests/sha256:short`, 400, 'DIGEST_INVALID'],
        [`${name}/blobs/${missing}`, 404, 'BLOB_UNKNOWN'],
        [`${name}/blobs/md5:00`, 400, 'DIGEST_INVALID'],
        [`${root}/nobody/has/this/manifests/latest`, 404, 'NAME_UNKNOWN'],
        [`${root}/nobody/blobs/${missing}`, 404, 'NAME_UNKNOWN'],
        [`${root}/UPPER/manifests/latest`, 400, 'NAME_INVALID'],
        [`${root}/a..b/manifests/latest`, 400, 'NAME_INVALID'],
      ] as const)
        assert.deepEqual(
          codes(await owner.request(method, path)),
          method === 'HEAD' ? [expected[0]] : expected,
          path,
        )
    }
  })

  test('a tag without a manifest is not found', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    await pushImage(owner, name)
    const { body } = await organization.owner.api.get('registry/repos', { name: name.split('/')[1] ?? '' })
    const repo = body.repos.find(({ uid }: { uid: string }) => uid.startsWith(root)).uid
    await organization.owner.api.create(`registry/tags/${repo}`, { name: 'ghost', digest: digest('ghost') })
    assertOciError(await owner.request('GET', `${name}/manifests/ghost`), 404, 'MANIFEST_UNKNOWN')
  })
})
