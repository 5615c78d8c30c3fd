import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { limits } from '@berth/server/config/limits.ts'
import { assertError, failedPreconditionError, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import {
  assertOciError,
  basicAuth,
  bearerOf,
  createRegistryFixture,
  descriptor,
  digest,
  imageFromManifest,
  type OciClient,
  ociClient,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
  types,
} from '../support/registry/registry.ts'
import { runScrub } from '../support/registry/scrub-check.ts'

/** Manifests that are made to cost the server more than they cost the client, and callers who may push none. */

const empty = Buffer.from('{}')
const image = (more: object = {}) => ({
  schemaVersion: 2,
  mediaType: types.image,
  config: descriptor(types.empty, empty),
  layers: [],
  ...more,
})
/** JSON of an image with a member whose value is this text. */
const imageWith = (json: string) => JSON.stringify(image({ x: 0 })).replace('"x":0', `"x":${json}`)
const layer = (n: number) => descriptor(types.layer, `layer ${n}`)
const count = <T>(length: number, one: (n: number) => T) => Array.from({ length }, (_, n) => one(n))
const putText = (client: OciClient, name: string, body: string, mediaType: string = types.image) =>
  client.request('PUT', `${name}/manifests/hostile`, { body, headers: { 'content-type': mediaType } })

/** Sends the head of a request that asks before it sends its body. */
function askFirst(url: string, method: string, headers: Record<string, string | number>) {
  return new Promise<{ status: number; isAskedForBody: boolean }>((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers, expect: '100-continue' } })
    sent.on('error', reject)
    sent.on('continue', () => {
      resolve({ status: 100, isAskedForBody: true })
      sent.destroy()
    })
    sent.on('response', ({ statusCode = 0 }) => {
      resolve({ status: statusCode, isAskedForBody: false })
      sent.destroy()
    })
    sent.flushHeaders()
  })
}

onEveryDatabase('registry: hostile manifests', (cast, { testOnce }) => {
  testOnce('R28: a manifest beyond a limit is rejected, and the error names the limit', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    await pushBlob(owner, name, empty)
    const deep = 1_000_000
    const many = limits.manifestElementsMax
    const hostile: readonly [keyof typeof limits, string, string?][] = [
      ['manifestDepthMax', `${'['.repeat(deep)}${']'.repeat(deep)}`],
      ['manifestDepthMax', imageWith(`${'['.repeat(deep)}${']'.repeat(deep)}`)],
      ['manifestDepthMax', imageWith(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)],
      ['manifestDepthMax', '['.repeat(limits.manifestDepthMax + 1)],
      ['manifestElementsMax', imageWith(`{${count(many, (n) => `"${n}":0`).join(',')}}`)],
      ['manifestElementsMax', imageWith(`[${'1,'.repeat(many)}1]`)],
      ['manifestElementsMax', imageWith(`[${'{},'.repeat(many)}1]`)],
      [
        'manifestElementsMax',
        JSON.stringify(image({ layers: count(30_000, (n) => descriptor('a/b', `layer ${n}`)) })),
      ],
      [
        'manifestDescriptorsMax',
        JSON.stringify(image({ layers: count(limits.manifestDescriptorsMax + 1, layer) })),
      ],
      [
        'manifestDescriptorsMax',
        JSON.stringify({
          schemaVersion: 2,
          mediaType: types.index,
          manifests: count(limits.manifestDescriptorsMax + 1, layer),
        }),
        types.index,
      ],
      [
        'manifestAnnotationsMax',
        JSON.stringify(
          image({
            annotations: Object.fromEntries(count(limits.manifestAnnotationsMax + 1, (n) => [`a${n}`, ''])),
          }),
        ),
      ],
      [
        'manifestAnnotationsBytesMax',
        JSON.stringify(image({ annotations: { a: 'é'.repeat(limits.manifestAnnotationsBytesMax / 2) } })),
      ],
      [
        'mediaTypeCharsMax',
        JSON.stringify(image({ artifactType: 'a'.repeat(limits.mediaTypeCharsMax + 1) })),
      ],
      [
        'mediaTypeCharsMax',
        JSON.stringify(image({ layers: [descriptor('a'.repeat(limits.mediaTypeCharsMax + 1), empty)] })),
      ],
    ]
    for (const [limit, text, mediaType] of hostile) {
      assert.ok(text.length <= limits.manifestBytesMax)
      const reply = await putText(owner, name, text, mediaType)
      assertOciError(reply, 400, 'MANIFEST_INVALID', limit)
      const { message } = reply.json.errors[0]
      assert.ok(message.includes(`(${limit})`), `${limit}: ${message}`)
      assert.ok(message.includes(String(limits[limit])), `${limit}: ${message}`)
    }
    assertOciError(await owner.request('GET', `${name}/manifests/hostile`), 404, 'MANIFEST_UNKNOWN')
  })

  test('a manifest at the limits is pushed, and so is one that has reasonable annotations', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    await pushBlob(owner, name, empty)
    const far = 'application/vnd.oci.image.layer.nondistributable.v1.tar'
    const most = imageFromManifest(
      image({
        layers: count(limits.manifestDescriptorsMax, (n) => descriptor(far, `far ${n}`)),
        artifactType: 'a'.repeat(limits.mediaTypeCharsMax),
        annotations: Object.fromEntries(
          count(limits.manifestAnnotationsMax, (n) => [`a${String(n).padStart(4, '0')}`, 'x'.repeat(200)]),
        ),
        x: count(1000, () => [{}]),
      }),
    )
    assert.equal((await putManifest(owner, name, 'most', most)).status, 201)
    const got = await owner.request('GET', `${name}/manifests/most`)
    assert.ok(got.bytes.equals(most.manifest))
    assert.equal(got.headers.get('content-type'), types.image)
  })

  test('a manifest of more than 64 KiB is pushed, pulled, listed and deleted like any other', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const { manifests } = cast().berth.berth
    const layers = count(100, (n) => Buffer.from(`layer ${n}`))
    for (const bytes of [empty, ...layers]) await pushBlob(owner, name, bytes)
    const subject = await pushImage(owner, name)
    const large = imageFromManifest(
      image({
        layers: layers.map((bytes) => descriptor(types.layer, bytes)),
        subject: subject.descriptor,
        annotations: { text: 'x'.repeat(limits.manifestInlineBytesMax) },
      }),
    )
    const small = manifests.counts().done
    await pushImage(owner, name)
    assert.equal(manifests.counts().done, small, 'a small manifest needs no thread')
    assert.equal((await putManifest(owner, name, 'large', large)).status, 201)
    assert.equal(manifests.counts().done, small + 1)
    assertOciError(await putManifest(owner, name, digest('other'), large), 400, 'DIGEST_INVALID')
    const sha512 = digest(large.manifest, 'sha512')
    const pushed512 = await putManifest(owner, name, sha512, large)
    assert.equal(pushed512.headers.get('docker-content-digest'), sha512)
    assertOciError(
      await putManifest(owner, name, 'large', { ...large, mediaType: types.dockerImage }),
      400,
      'MANIFEST_INVALID',
    )
    const got = await owner.request('GET', `${name}/manifests/${large.digest}`)
    assert.ok(got.bytes.equals(large.manifest))
    assert.deepEqual((await owner.request('GET', `${name}/tags/list`)).json.tags, ['large'])
    const referrers = await owner.request('GET', `${name}/referrers/${subject.digest}`)
    assert.deepEqual(
      referrers.json.manifests.map((one: { digest: string }) => one.digest).sort(),
      [large.digest, sha512].sort(),
    )
    const { body } = await organization.owner.api.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid: repo }] = body.repos
    const size = await organization.owner.api.get(`registry/repos/${repo}/digests/${large.digest}/size`)
    const bytes = [empty, ...layers].reduce((sum, { length }) => sum + length, 0)
    assert.equal(size.body.size, String(bytes))

    assertOciError(await owner.request('DELETE', `${name}/blobs/${digest(layers[0] ?? '')}`), 409, 'DENIED')
    for (const reference of [large.digest, sha512])
      assert.equal((await owner.request('DELETE', `${name}/manifests/${reference}`)).status, 202)
    assertOciError(await owner.request('GET', `${name}/manifests/large`), 404, 'MANIFEST_UNKNOWN')
    const { kysely } = cast().berth.berth.installation.store.db
    const references = kysely.selectFrom('manifest_references').select('digest').where('repo', '=', repo)
    assert.equal(
      (await references.where('manifest', 'in', [large.digest, sha512]).execute()).length,
      0,
      'no reference remains',
    )
    for (const bytes of layers.slice(0, 3))
      assert.equal((await owner.request('DELETE', `${name}/blobs/${digest(bytes)}`)).status, 202)
  })

  testOnce('a configuration beyond the limits counts as none (imageConfigElementsMax)', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const pushed = async (labels: number) => {
      const Labels = Object.fromEntries(count(labels, (n) => [`label-${n}`, '']))
      const config = Buffer.from(JSON.stringify({ architecture: 'arm64', config: { Labels } }))
      assert.ok(config.length > limits.manifestInlineBytesMax)
      await pushBlob(owner, name, config)
      const one = imageFromManifest(image({ config: descriptor(types.config, config) }))
      assert.equal((await putManifest(owner, name, one.digest, one)).status, 201)
      return one.digest
    }
    const [fits, exceeds] = [await pushed(10_000), await pushed(limits.imageConfigElementsMax)]
    const { api } = organization.owner
    const { body } = await api.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid: repo }] = body.repos
    const architectures = async (one: string) =>
      (await api.get(`registry/repos/${repo}/digests/${one}/architectures`)).body.architectures
    assert.deepEqual(await architectures(fits), ['arm64'])
    assert.deepEqual(await architectures(exceeds), [])
  })

  test('one request reads a limited part of an index (imageBytesMax, imageManifestsMax)', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    await pushBlob(owner, name, empty)
    const entries = []
    for (let bytes = 0; bytes <= limits.imageBytesMax; bytes += 4_000_000) {
      const one = imageFromManifest(image({ x: 'x'.repeat(4_000_000), n: bytes }))
      assert.equal((await putManifest(owner, name, one.digest, one)).status, 201)
      entries.push({ ...one.descriptor, platform: { architecture: 'amd64', os: 'linux' } })
    }
    const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests: entries })
    assert.equal((await putManifest(owner, name, 'index', index)).status, 201)
    const { api } = organization.owner
    const { body } = await api.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid: repo }] = body.repos
    assertError(
      await api.get(`registry/repos/${repo}/digests/${index.digest}/architectures`),
      failedPreconditionError('IMAGE_TOO_LARGE'),
    )
    const size = await api.get(`registry/repos/${repo}/digests/${index.digest}/size`)
    assert.equal(size.body.architecture, 'amd64', 'the first image answers it')
    assert.ok(limits.imageManifestsMax > limits.manifestDescriptorsMax)
  })

  test('a manifest that an earlier release accepted beyond the limits is pulled, whole for a scrub, and deleted', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    await pushBlob(owner, name, empty)
    const known = imageFromManifest(image())
    assert.equal((await putManifest(owner, name, 'v1', known)).status, 201)
    const annotations = { text: 'x'.repeat(limits.manifestAnnotationsBytesMax) }
    const far = 'application/vnd.oci.image.layer.nondistributable.v1.tar'
    const old = imageFromManifest(
      image({
        annotations,
        layers: count(limits.manifestDescriptorsMax + 1, (n) => descriptor(far, `${n}`)),
      }),
    )
    const { kysely } = cast().berth.berth.installation.store.db
    const row = await kysely
      .selectFrom('manifests')
      .selectAll()
      .where('digest', '=', known.digest)
      .where('repo', 'like', `${name.split('/')[0]}/%`)
      .executeTakeFirstOrThrow()
    await kysely
      .insertInto('manifests')
      .values({
        ...row,
        digest: old.digest,
        size: old.manifest.length,
        annotations: JSON.stringify(annotations),
        content: old.manifest,
      })
      .execute()
    await kysely
      .insertInto('manifest_references')
      .values({ root: row.root, repo: row.repo, manifest: old.digest, digest: digest(empty), kind: 'blob' })
      .execute()
    assert.ok((await owner.request('GET', `${name}/manifests/${old.digest}`)).bytes.equals(old.manifest))
    const { findings } = await runScrub(cast().berth)
    assert.deepEqual(
      findings.filter((finding) => finding.digest === old.digest),
      [],
    )
    assert.equal((await owner.request('DELETE', `${name}/manifests/${old.digest}`)).status, 202)
  })

  test('one push sets a limited number of tags (manifestTagsMax)', async () => {
    const { owner, name } = await createRegistryFixture(cast())
    const one = await pushImage(owner, name)
    const put = (tags: number) =>
      putManifest(owner, name, `${one.digest}?${count(tags, (n) => `tag=t${n}`).join('&')}`, one)
    const reply = await put(limits.manifestTagsMax + 1)
    assertOciError(reply, 414, 'MANIFEST_INVALID')
    assert.match(reply.json.errors[0].message, /manifestTagsMax/)
    assert.equal((await put(limits.manifestTagsMax)).status, 201)
  })

  testOnce('a caller who lacks a capability is rejected before the server asks for a body', async () => {
    const { owner, name, root, member, organization } = await createRegistryFixture(cast())
    const { berth } = cast()
    await pushImage(owner, name)
    const makes = async (...capabilities: string[]) =>
      (await member(await createRole(berth, root, capabilities, newName('role')))).uid
    const pushesOnly = await makes('manifest.create', 'manifest.list', 'repo.blobs.get')
    const puller = (await member('registry.pull')).uid
    const stranger = (await createRegistryFixture(cast())).organization.owner.uid
    const upload = (await owner.request('POST', `${name}/blobs/uploads/`)).headers.get('location') ?? ''
    const manifest = { 'content-type': types.image, 'content-length': limits.manifestBytesMax }
    const body = { 'content-length': 1_000_000 }
    const at = (path: string) => `/v2/${path}`
    const posted = at(`${name}/blobs/uploads/?digest=${digest('x')}`)
    const cases: readonly [
      string,
      number,
      string | undefined,
      string,
      string,
      Record<string, string | number>,
    ][] = [
      ['a puller, PUT manifest', 403, puller, 'PUT', at(`${name}/manifests/v1`), manifest],
      ['no tag capability', 403, pushesOnly, 'PUT', at(`${name}/manifests/v1`), manifest],
      [
        'no tag capability, by query',
        403,
        pushesOnly,
        'PUT',
        at(`${name}/manifests/${digest('x')}?tag=a`),
        manifest,
      ],
      ['no repo capability', 403, pushesOnly, 'PUT', at(`${root}/new/manifests/${digest('x')}`), manifest],
      [
        'no folder capability',
        403,
        pushesOnly,
        'PUT',
        at(`${root}/a/new/manifests/${digest('x')}`),
        manifest,
      ],
      [
        'no repo capability, blob',
        403,
        pushesOnly,
        'POST',
        at(`${root}/new/blobs/uploads/?digest=${digest('x')}`),
        body,
      ],
      ['a puller, POST blob', 403, puller, 'POST', posted, body],
      ['a puller, PATCH', 403, puller, 'PATCH', upload, body],
      ['a puller, PUT upload', 403, puller, 'PUT', `${upload}?digest=${digest('x')}`, body],
      ['another pusher, PATCH', 404, pushesOnly, 'PATCH', upload, body],
      ['another pusher, PUT upload', 404, pushesOnly, 'PUT', `${upload}?digest=${digest('x')}`, body],
      ['a stranger, PUT manifest', 403, stranger, 'PUT', at(`${name}/manifests/v1`), manifest],
      ['a stranger, POST blob', 403, stranger, 'POST', posted, body],
      ['no token, PUT manifest', 401, undefined, 'PUT', at(`${name}/manifests/v1`), manifest],
      ['no token, POST blob', 401, undefined, 'POST', posted, body],
      ['a bad name', 400, undefined, 'PUT', at('NAME/manifests/v1'), manifest],
      [
        'too many bytes',
        413,
        organization.owner.uid,
        'PUT',
        at(`${name}/manifests/v1`),
        { ...manifest, 'content-length': limits.manifestBytesMax + 1 },
      ],
      ['a bad tag', 400, organization.owner.uid, 'PUT', at(`${name}/manifests/.v1`), manifest],
    ]
    for (const [why, status, identity, method, path, headers] of cases) {
      const authorization = identity === undefined ? {} : { authorization: await bearerOf(berth, identity) }
      const reply = await askFirst(`${berth.url}${path}`, method, { ...headers, ...authorization })
      assert.deepEqual(reply, { status, isAskedForBody: false }, why)
    }
    const authorization = await bearerOf(berth, organization.owner.uid)
    const asked = await askFirst(`${berth.url}/v2/${name}/manifests/v1`, 'PUT', {
      ...manifest,
      authorization,
    })
    assert.equal(asked.isAskedForBody, true, 'who may push is asked for the body')
  })

  testOnce('the token endpoint verifies credentials in the header before it reads a form', async () => {
    const { berth } = cast()
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': 60_000 }
    const url = `${berth.url}/token`
    for (const [why, status, headers] of [
      ['bad credentials', 401, { ...form, authorization: basicAuth('_token', 'wrong') }],
      ['another scheme', 401, { ...form, authorization: 'Bearer x' }],
      ['another type', 400, { ...form, 'content-type': 'application/json' }],
      ['too long', 413, { ...form, 'content-length': limits.registryTokenBodyBytesMax + 1 }],
    ] as const)
      assert.deepEqual(await askFirst(url, 'POST', headers), { status, isAskedForBody: false }, why)
  })
})

onEveryDatabase(
  'registry: requests with Basic credentials',
  (cast) => {
    test('each is counted as an exchange before its token is verified, whatever its path', async () => {
      const { berth } = cast()
      const { organization } = await createRegistryFixture(cast())
      const client = ociClient(berth, basicAuth(organization.owner.uid, 'x.y.z'))
      const paths = ['', '_catalog', `${organization.uid}/repo/tags/list`]
      for (const path of paths) assertOciError(await client.request('GET', path), 401, 'UNAUTHORIZED', path)
      for (const path of paths)
        assertOciError(await client.request('GET', path), 429, 'TOOMANYREQUESTS', path)
    })
  },
  { env: { BERTH_RATE_LIMITS_ADDRESS: 'exchange=3/60s' } },
)

const started: ((worker: Worker) => void)[] = []

onEveryDatabase(
  'registry: worker threads for manifests',
  (cast) => {
    const large = (more: object = {}) =>
      imageFromManifest(image({ x: 'x'.repeat(limits.manifestInlineBytesMax), nonce: newName('n'), ...more }))
    const threadsEnd = async () => {
      while (cast().berth.berth.manifests.counts().threads > 0)
        await new Promise((done) => setTimeout(done, 5))
    }

    test('other requests are served while a large manifest is parsed', async () => {
      const { owner, name } = await createRegistryFixture(cast())
      await pushBlob(owner, name, empty)
      const { manifests } = cast().berth.berth
      await threadsEnd()
      const order: string[] = []
      const starts = Promise.withResolvers<void>()
      const listed = Promise.withResolvers<void>()
      started.push((worker) => {
        // The thread has parsed it only when the other request was served, however fast it is.
        const emit = worker.emit.bind(worker)
        worker.emit = (event: string, ...values: unknown[]) => {
          if (event === 'message') void listed.promise.then(() => emit(event, ...values))
          else emit(event, ...values)
          return true
        }
        starts.resolve()
      })
      const pushing = putManifest(owner, name, 'v1', large()).then((reply) => {
        order.push('push')
        return reply
      })
      await starts.promise
      assert.deepEqual(manifests.counts().threads, 1)
      assert.equal((await owner.request('GET', `${name}/tags/list`)).status, 200)
      order.push('list')
      listed.resolve()
      assert.equal((await pushing).status, 201)
      assert.deepEqual(order, ['list', 'push'])
    })

    test('a thread that dies is a 503 with Retry-After, and the next push works', async () => {
      const { owner, name } = await createRegistryFixture(cast())
      await pushBlob(owner, name, empty)
      await threadsEnd()
      started.push((worker) => void worker.terminate())
      const failed = await putManifest(owner, name, 'v1', large())
      assert.equal(failed.status, 503, failed.bytes.toString())
      assert.ok(Number(failed.headers.get('retry-after')) > 0)
      assert.equal((await putManifest(owner, name, 'v1', large())).status, 201)
    })

    test('places are reserved before the body is read, and one caller takes some of them only (largeManifestsMax, largeManifestsPerCallerMax)', async () => {
      const { berth } = cast()
      const [one, other, third] = [
        await createRegistryFixture(cast()),
        await createRegistryFixture(cast()),
        await createRegistryFixture(cast()),
      ]
      for (const { owner, name } of [one, other, third]) await pushBlob(owner, name, empty)
      const authorizations = new Map<string, string>()
      for (const { name, organization } of [one, other, third])
        authorizations.set(name, await bearerOf(berth, organization.owner.uid))
      const open: ReturnType<typeof request>[] = []
      /** Starts a push and sends no body. */
      const start = (name: string) =>
        new Promise<void>((resolve, reject) => {
          const sent = request(`${berth.url}/v2/${name}/manifests/slow`, {
            method: 'PUT',
            headers: {
              authorization: authorizations.get(name) ?? '',
              'content-type': types.image,
              'content-length': limits.manifestBytesMax,
              expect: '100-continue',
            },
          })
          open.push(sent)
          sent.on('continue', resolve)
          sent.on('response', ({ statusCode }) => reject(new Error(`answered ${statusCode}`)))
          sent.on('error', reject)
          sent.flushHeaders()
        })
      await start(one.name)
      await start(one.name)
      const refused = await putManifest(one.owner, one.name, 'v1', large())
      assertOciError(refused, 429, 'TOOMANYREQUESTS')
      assert.match(refused.json.errors[0].message, /largeManifestsPerCallerMax/)
      assert.ok(Number(refused.headers.get('retry-after')) > 0)
      await pushImage(one.owner, one.name, testImage(), 'small')
      assert.equal((await putManifest(other.owner, other.name, 'v1', large())).status, 201)
      await start(other.name)
      const full = await putManifest(third.owner, third.name, 'v1', large())
      assert.equal(full.status, 503, full.bytes.toString())
      assert.match(full.json.errors[0].message, /largeManifestsMax/)
      assert.ok(Number(full.headers.get('retry-after')) > 0)
      for (const sent of open) sent.destroy()
      // What a client that goes away had reserved is free again.
      for (;;) {
        const reply = await putManifest(third.owner, third.name, 'v1', large())
        if (reply.status === 201) break
        assert.equal(reply.status, 503)
      }
      assert.ok(limits.largeManifestsPerCallerMax < limits.largeManifestsMax)
      assert.ok(limits.manifestThreadsMax >= 1)
    })

    test('a thread without work ends (manifestThreadIdleMs)', async () => {
      const { owner, name } = await createRegistryFixture(cast())
      await pushBlob(owner, name, empty)
      assert.equal((await putManifest(owner, name, 'v1', large())).status, 201)
      await threadsEnd()
    })
  },
  {
    manifests: {
      largeManifestsMax: 3,
      largeManifestsPerCallerMax: 2,
      manifestThreadIdleMs: 50,
      onThread: (worker) => started.shift()?.(worker),
    },
  },
)
