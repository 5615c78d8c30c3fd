import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { onEveryStore } from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertOciError,
  bearerOf,
  createRegistryFixture,
  descriptor,
  digest,
  imageFromManifest,
  type OciClient,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
  types,
  waitForWriter,
} from '../support/registry/registry.ts'

/** The path of an upload that was just begun, below /v2/. */
async function begin(client: OciClient, name: string): Promise<string> {
  const begun = await client.request('POST', `${name}/blobs/uploads/`)
  assert.equal(begun.status, 202, begun.bytes.toString())
  assert.match(begun.headers.get('docker-upload-uuid') ?? '', /^[0-9a-f]{32}$/)
  const location = begun.headers.get('location') ?? ''
  assert.ok(location.startsWith(`/v2/${name}/blobs/uploads/`))
  return location.slice('/v2/'.length)
}

onEveryStore('registry: push', (cast) => {
  const has = async (client: OciClient, name: string, bytes: Buffer, algorithm = 'sha256') => {
    const got = await client.request('GET', `${name}/blobs/${digest(bytes, algorithm)}`)
    assert.equal(got.status, 200)
    assert.ok(got.bytes.equals(bytes))
  }

  test('a blob in one request, and in one after its upload was started', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const [first, second] = [randomBytes(1000), randomBytes(1000)]
    const posted = await owner.request('POST', `${name}/blobs/uploads/?digest=${digest(first)}`, {
      body: first,
    })
    assert.equal(posted.status, 201)
    assert.equal(posted.headers.get('location'), `/v2/${name}/blobs/${digest(first)}`)
    assert.equal(posted.headers.get('docker-content-digest'), digest(first))
    await has(owner, name, first)
    const put = await owner.request('PUT', `${await begin(owner, name)}?digest=${digest(second)}`, {
      body: second,
    })
    assert.equal(put.status, 201)
    assert.equal(put.headers.get('location'), `/v2/${name}/blobs/${digest(second)}`)
    await has(owner, name, second)
  })

  test('a blob in chunks, in order only', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(300_000)
    const path = await begin(owner, name)
    const chunk = (from: number, to: number) =>
      owner.request('PATCH', path, {
        body: bytes.subarray(from, to),
        headers: { 'content-range': `${from}-${to - 1}` },
      })
    const early = await chunk(100_000, 200_000)
    assert.equal(early.status, 416)
    const first = await chunk(0, 100_000)
    assert.equal(first.status, 202)
    assert.equal(first.headers.get('range'), '0-99999')
    assert.equal(first.headers.get('location'), `/v2/${path}`)
    const again = await chunk(0, 100_000)
    assert.equal(again.status, 416)
    assert.equal(again.headers.get('range'), '0-99999')
    const status = await owner.request('GET', path)
    assert.equal(status.status, 204)
    assert.equal(status.headers.get('range'), '0-99999')
    assert.equal((await chunk(100_000, 250_000)).status, 202)
    const unreadable = { body: bytes.subarray(0, 5), headers: { 'content-range': 'a-b' } }
    assertOciError(await owner.request('PATCH', path, unreadable), 400, 'BLOB_UPLOAD_INVALID')
    const last = await owner.request('PUT', `${path}?digest=${digest(bytes)}`, {
      body: bytes.subarray(250_000),
      headers: { 'content-range': '250000-299999' },
    })
    assert.equal(last.status, 201)
    await has(owner, name, bytes)
    assertOciError(await owner.request('GET', path), 404, 'BLOB_UPLOAD_UNKNOWN')
  })

  test('a blob in a stream of unknown length', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(2_500_000)
    const path = await begin(owner, name)
    const body = new Blob([bytes]).stream()
    const patched = await owner.request('PATCH', path, { body })
    assert.equal(patched.headers.get('range'), '0-2499999')
    assert.equal((await owner.request('PUT', `${path}?digest=${digest(bytes)}`)).status, 201)
    await has(owner, name, bytes)
  })

  test('an upload continues after its connection broke', async () => {
    const { owner, name, organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    const bytes = randomBytes(400_000)
    const path = await begin(owner, name)
    const broken = request(`${berth.url}/v2/${path}`, {
      method: 'PATCH',
      headers: {
        authorization: await bearerOf(berth, organization.owner.uid),
        'content-length': bytes.length,
      },
    })
    broken.on('error', () => {})
    // The system delivers what it has accepted.
    await new Promise((resolve) => broken.write(bytes.subarray(0, 150_000), resolve))
    broken.destroy()
    const sizeOf = async () => {
      const [, end] = ((await owner.request('GET', path)).headers.get('range') ?? '').split('-')
      return Number(end) === 0 ? 0 : Number(end) + 1
    }
    const size = await eventually(sizeOf, (stored) => stored === 150_000)
    const rest = { body: bytes.subarray(size), headers: { 'content-range': `${size}-399999` } }
    assert.equal((await owner.request('PATCH', path, rest)).status, 202)
    assert.equal((await owner.request('PUT', `${path}?digest=${digest(bytes)}`)).status, 201)
    await has(owner, name, bytes)
  })

  test('one request at a time writes an upload: the next one waits for its end', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const path = await begin(owner, name)
    const gate = Promise.withResolvers<void>()
    const slow = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.alloc(10))
        await gate.promise
        controller.enqueue(Buffer.alloc(10))
        controller.close()
      },
    })
    const first = owner.request('PATCH', path, { body: slow })
    await waitForWriter(cast().berth, path)
    const second = owner.request('PATCH', path, { body: Buffer.alloc(5) })
    await pause(150)
    gate.resolve()
    assert.equal((await first).headers.get('range'), '0-19')
    assert.equal((await second).headers.get('range'), '0-24')
  })

  test('an upload can be cancelled', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const path = await begin(owner, name)
    assert.equal((await owner.request('PATCH', path, { body: Buffer.alloc(10) })).status, 202)
    assert.equal((await owner.request('DELETE', path)).status, 204)
    for (const method of ['GET', 'PATCH', 'DELETE'])
      assertOciError(await owner.request(method, path), 404, 'BLOB_UPLOAD_UNKNOWN', method)
  })

  test('bytes that do not match the announced digest are rejected (R33)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(100)
    const wrong = digest('something else')
    const posted = await owner.request('POST', `${name}/blobs/uploads/?digest=${wrong}`, { body: bytes })
    assertOciError(posted, 400, 'DIGEST_INVALID')
    const path = await begin(owner, name)
    await owner.request('PATCH', path, { body: bytes })
    assertOciError(await owner.request('PUT', path), 400, 'DIGEST_INVALID', 'no digest')
    assertOciError(
      await owner.request('PUT', `${path}?digest=sha256:00`),
      400,
      'DIGEST_INVALID',
      'no digest at all',
    )
    assertOciError(await owner.request('PUT', `${path}?digest=${wrong}`), 400, 'DIGEST_INVALID')
    for (const one of [wrong, digest(bytes)])
      assertOciError(await owner.request('GET', `${name}/blobs/${one}`), 404, 'BLOB_UNKNOWN')
    const image = testImage()
    assertOciError(await putManifest(owner, name, wrong, image), 400, 'DIGEST_INVALID')
  })

  test('sha512, and a blob of no bytes', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(5000)
    const path = await begin(owner, name)
    await owner.request('PATCH', path, { body: bytes.subarray(0, 3000) })
    const finish = `${path}?digest=${digest(bytes, 'sha512')}`
    assert.equal((await owner.request('PUT', finish, { body: bytes.subarray(3000) })).status, 201)
    await has(owner, name, bytes, 'sha512')
    const none = Buffer.alloc(0)
    await pushBlob(owner, name, none)
    await has(owner, name, none)
    const empty = `${await begin(owner, `${name}-2`)}?digest=${digest(none)}`
    assert.equal((await owner.request('PUT', empty)).status, 201)
    await has(owner, `${name}-2`, none)
  })

  test('the same bytes are pushed concurrently to many repos', async () => {
    const { owner, root } = await createRegistryFixture(cast())
    const bytes = randomBytes(50_000)
    const names = Array.from({ length: 8 }, (_, at) => `${root}/shared/repo-${at % 4}`)
    await Promise.all(names.map((name) => pushBlob(owner, name, bytes)))
    for (const name of new Set(names)) await has(owner, name, bytes)
    const { db } = cast().berth.berth.installation.store
    const stored = await db.kysely
      .selectFrom('blobs')
      .selectAll()
      .where('digest', '=', digest(bytes))
      .execute()
    assert.equal(stored.length, 1)
  })

  test('a manifest creates its tag, and a moved tag has its new manifest immediately', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const [first, second] = [testImage(), testImage()]
    for (const image of [first, second, first]) {
      await pushImage(owner, name, image, 'latest')
      assert.deepEqual((await owner.request('GET', `${name}/manifests/latest`)).bytes, image.manifest)
    }
    const put = await putManifest(owner, name, 'other', second)
    assert.equal(put.headers.get('location'), `/v2/${name}/manifests/${second.digest}`)
    assert.equal(put.headers.get('docker-content-digest'), second.digest)
    assert.equal(put.headers.get('oci-subject'), null)
  })

  test('a push by digest sets tags', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = testImage()
    for (const blob of image.blobs) await pushBlob(owner, name, blob)
    assert.equal((await putManifest(owner, name, `${image.digest}?tag=a&tag=b`, image)).status, 201)
    assert.deepEqual((await owner.request('GET', `${name}/tags/list`)).json.tags, ['a', 'b'])
  })

  test('an index may reference a blob of its repo', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name)
    const other = Buffer.from(`anything at ${name}`)
    const manifests = [image.descriptor, descriptor('application/x.other', other)]
    const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests })
    assertOciError(await putManifest(owner, name, 'mixed', index), 404, 'MANIFEST_BLOB_UNKNOWN')
    const blob = await pushBlob(owner, name, other)
    assert.equal((await putManifest(owner, name, 'mixed', index)).status, 201)
    // It is needed from now on.
    assert.equal((await owner.request('DELETE', `${name}/blobs/${blob}`)).status, 409)
  })

  test('what a manifest references must be in its repo, also in nested indexes', async () => {
    const { owner, name, root } = await createRegistryFixture(cast())
    const image = testImage()
    for (const blob of image.blobs) await pushBlob(owner, `${root}/elsewhere`, blob)
    assertOciError(await putManifest(owner, name, 'v1', image), 404, 'MANIFEST_BLOB_UNKNOWN')
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [image.descriptor],
    })
    assertOciError(await putManifest(owner, name, 'multi', index), 404, 'MANIFEST_BLOB_UNKNOWN')
    await pushImage(owner, name, image)
    assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
    const nested = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [index.descriptor],
    })
    assert.equal((await putManifest(owner, name, 'nested', nested)).status, 201)
  })

  test('non-distributable layers need not exist', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const foreign = descriptor('application/vnd.oci.image.layer.nondistributable.v1.tar+gzip', 'windows', {
      urls: ['https://example.com/layer'],
    })
    const image = testImage({ layers: [foreign] })
    await pushImage(owner, name, image)
  })

  test('an existing non-distributable layer is kept', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = Buffer.from('a layer of my own')
    const type = 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip'
    const blob = await pushBlob(owner, name, bytes)
    const image = await pushImage(owner, name, testImage({ layers: [descriptor(type, bytes)] }))
    assertOciError(await owner.request('DELETE', `${name}/blobs/${blob}`), 409, 'DENIED')
    const wrong = testImage({ layers: [{ ...descriptor(type, bytes), size: 1 }] })
    await pushBlob(owner, name, wrong.blobs[0] as Buffer)
    assertOciError(await putManifest(owner, name, 'wrong', wrong), 400, 'MANIFEST_INVALID')
    await owner.request('DELETE', `${name}/manifests/${image.digest}`)
    assert.equal((await owner.request('DELETE', `${name}/blobs/${blob}`)).status, 202)
  })

  test('a manifest has one interpretation, of the media type of its request (R32)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name)
    const valid = JSON.parse(image.manifest.toString())
    const { mediaType: _, ...untyped } = valid
    const entry = image.descriptor
    const bad: readonly [string, unknown, string?][] = [
      ['both an image and an index', { ...valid, manifests: [] }],
      ['both an index and an image', { ...valid, mediaType: types.index, manifests: [] }],
      ['another media type inside', valid, types.index],
      ['an unknown media type', { ...valid, mediaType: 'application/json' }, 'application/json'],
      ['no media type at all', untyped, ''],
      ['the first version', { ...valid, schemaVersion: 1 }],
      ['no configuration', { ...valid, config: undefined }],
      ['no list of layers', { ...valid, layers: undefined }],
      ['a layer without a digest', { ...valid, layers: [{ ...valid.layers[0], digest: undefined }] }],
      ['a digest that is none', { ...valid, layers: [{ ...valid.layers[0], digest: 'sha256:0' }] }],
      ['a size below nothing', { ...valid, layers: [{ ...valid.layers[0], size: -1 }] }],
      ['a size that is not true', { ...valid, layers: [{ ...valid.layers[0], size: 5 }] }],
      [
        'layers that no number counts',
        {
          ...valid,
          layers: Array.from({ length: 2 }, () => ({
            ...valid.layers[0],
            mediaType: 'application/vnd.oci.image.layer.nondistributable.v1.tar',
            digest: digest('elsewhere'),
            size: Number.MAX_SAFE_INTEGER,
          })),
        },
      ],
      ['no list of manifests', { schemaVersion: 2, mediaType: types.index }],
      [
        'an entry of another size',
        { schemaVersion: 2, mediaType: types.index, manifests: [{ ...entry, size: 1 }] },
      ],
      ['annotations that are no text', { ...valid, annotations: { a: 1 } }],
      ['a subject that is none', { ...valid, subject: 'sha256:0' }],
      ['a type with a zero character', { ...valid, artifactType: 'a\u0000' }],
      ['a type that is no text', { ...valid, artifactType: 5 }],
      ['a list', []],
      ['no object', null],
    ]
    for (const [
      why,
      content,
      mediaType = (content as { mediaType?: string })?.mediaType ?? types.image,
    ] of bad)
      assertOciError(
        await owner.request('PUT', `${name}/manifests/bad`, {
          body: JSON.stringify(content),
          headers: { 'content-type': mediaType },
        }),
        400,
        'MANIFEST_INVALID',
        why,
      )
    const text = image.manifest.toString()
    const twice = text.replace('"layers":', '"layers":[],"layers":')
    // Which a reader that does not mind case takes for what it may not be.
    const otherCases = ['"Layers":[],', '"Manifests":[],', '"\u017fubject":{},'].map(
      (more) => `{${more}${text.slice(1)}`,
    )
    const inside = text.replace('"digest":', '"Digest":"","digest":')
    for (const body of ['', '{', Buffer.from([0x7b, 0xff, 0x7d]), twice, ...otherCases, inside])
      assertOciError(
        await owner.request('PUT', `${name}/manifests/bad`, {
          body,
          headers: { 'content-type': types.image },
        }),
        400,
        'MANIFEST_INVALID',
      )
    const untypedBytes = JSON.stringify(untyped)
    const put = (mediaType: string) =>
      owner.request('PUT', `${name}/manifests/untyped`, {
        body: untypedBytes,
        headers: { 'content-type': mediaType },
      })
    assert.equal((await put(types.image)).status, 201)
    assertOciError(await put(types.dockerImage), 400, 'MANIFEST_INVALID', 'the same bytes as something else')
    assertOciError(await putManifest(owner, name, '.bad', image), 400, 'MANIFEST_INVALID', 'a bad tag')
  })

  test('the size of a manifest is limited (manifestBytesMax)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const empty = Buffer.from('{}')
    await pushBlob(owner, name, empty)
    const config = descriptor(types.empty, empty)
    const content = (text: string) => ({
      schemaVersion: 2,
      mediaType: types.image,
      config,
      layers: [],
      text,
    })
    const room = limits.manifestBytesMax - JSON.stringify(content('')).length
    const most = imageFromManifest(content('x'.repeat(room)))
    assert.equal(most.manifest.length, limits.manifestBytesMax)
    assert.equal((await putManifest(owner, name, 'most', most)).status, 201)
    const more = imageFromManifest(content('x'.repeat(room + 1)))
    assertOciError(await putManifest(owner, name, 'more', more), 413, 'SIZE_INVALID')
  })

  test('a push creates its repo and the folders above it, and the API has them immediately', async () => {
    const { owner, root, organization } = await createRegistryFixture(cast())
    const name = `${root}/team/tools/cli`
    const image = await pushImage(owner, name, testImage(), 'v1')
    const { api } = organization.owner
    const { body: groups } = await api.get('iam/groups', { 'uidp.descendants_of': root })
    const named = (one: string) => groups.groups.find((group: { name: string }) => group.name === one)
    assert.equal(named('tools').uid.startsWith(`${named('team').uid}/`), true)
    const { body: repos } = await api.get('registry/repos', { 'uidp.descendants_of': root })
    assert.deepEqual(
      repos.repos.map((repo: { name: string }) => repo.name),
      ['cli'],
    )
    assert.equal(Number(repos.totalCount), 1)
    const [{ uid: repo }] = repos.repos
    assert.ok(repo.startsWith(`${named('tools').uid}/`))
    const { body: tags } = await api.get('registry/tags', { 'uidp.children_of': repo })
    assert.deepEqual(
      tags.tags.map((tag: { name: string; digest: string }) => [tag.name, tag.digest]),
      [['v1', image.digest]],
    )
    assert.equal(Number(tags.totalCount), 1)
    const methods = async (uid: string) =>
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1])
    assert.deepEqual(await methods(named('team').uid), ['CreateGroup'])
    assert.deepEqual(await methods(repo), ['CreateRepo'])
    assert.deepEqual(await methods(tags.tags[0].uid), ['PutManifest'])
    // By the name of the organization it is the same repo.
    const byName = `${organization.name}/team/tools/cli`
    assert.equal(
      (await owner.request('GET', `${byName}/manifests/v1`)).headers.get('docker-content-digest'),
      image.digest,
    )
  })

  test('tags that the API created or deleted are visible here', async () => {
    const { owner, name, organization } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name, testImage(), 'v1')
    const { api } = organization.owner
    const { body } = await api.get('registry/repos', { 'uidp.descendants_of': organization.uid })
    const repo = body.repos[0].uid
    const made = await api.create(`registry/tags/${repo}`, { name: 'v2', digest: image.digest })
    assert.deepEqual((await owner.request('GET', `${name}/manifests/v2`)).bytes, image.manifest)
    await api.delete(`registry/tags/${made.uid}`)
    assertOciError(await owner.request('GET', `${name}/manifests/v2`), 404, 'MANIFEST_UNKNOWN')
  })

  test('names follow the grammar of the specification (repoPathCharsMax)', async () => {
    const { owner, root } = await createRegistryFixture(cast())
    const room = limits.repoPathCharsMax - root.length - 1
    const longest = `${root}/${'a'.repeat(room)}`
    assert.equal(longest.length, limits.repoPathCharsMax)
    await begin(owner, longest)
    for (const bad of [
      `${longest}a`,
      root,
      `${root}/`,
      `${root}//a`,
      `${root}/A`,
      `${root}/-a`,
      `${root}/a-`,
      `${root}/a..b`,
      `${root}/a___b`,
      `${root}/.`,
      `${root}/a b`,
      `${root}/a%2fb`,
      `${root}/%2e%2e/b`,
      `${root}/${'a/'.repeat(limits.groupDepthMax + 1)}b`,
    ])
      assertOciError(await owner.request('POST', `${bad}/blobs/uploads/`), 400, 'NAME_INVALID', bad)
    // Words of the protocol are names like any other.
    const tricky = `${root}/blobs/uploads/manifests/tags`
    await pushImage(owner, tricky, testImage(), 'list')
    assert.equal((await owner.request('GET', `${tricky}/manifests/list`)).status, 200)
    assert.deepEqual((await owner.request('GET', `${tricky}/tags/list`)).json.tags, ['list'])
  })

  test('a blob of another repo is mounted for callers who may pull it there', async () => {
    const { owner, root, member, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(100)
    const from = `${root}/team/source`
    await pushBlob(owner, from, bytes)
    const mount = (source: string, one = digest(bytes)) =>
      `${name}/blobs/uploads/?mount=${one}&from=${encodeURIComponent(source)}`
    const mounted = await owner.request('POST', mount(from))
    assert.equal(mounted.status, 201)
    assert.equal(mounted.headers.get('location'), `/v2/${name}/blobs/${digest(bytes)}`)
    await has(owner, name, bytes)
    // What cannot be mounted begins an upload, whatever the reason.
    for (const path of [
      mount(from, digest('nothing')),
      mount(`${root}/nothing`),
      `${name}/blobs/uploads/?mount=${digest(bytes)}`,
    ])
      assert.equal((await owner.request('POST', path)).status, 202, path)
    const pusher = await member('registry.push')
    assert.equal((await pusher.request('POST', mount(from))).status, 201)
  })
})
