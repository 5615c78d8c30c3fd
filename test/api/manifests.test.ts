import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManifestKind } from '@berth/contract/gen/berth/registry/v1/manifest_pb.js'
import { ManifestsService } from '@berth/contract/gen/berth/registry/v1/manifests_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryStore,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'
import { indexOf, layeredImage, layerOf } from '../support/registry/layered-image.ts'
import {
  createRegistryFixture,
  descriptor,
  digest,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
  types,
} from '../support/registry/registry.ts'

const REPO = 'registry.chainguard.dev/Repo'
const MANIFEST = 'registry.chainguard.dev/Manifest'
const missing = `sha256:${'0123456789abcdef'.repeat(4)}`
const sizeOf = (...images: readonly TestImage[]) =>
  String(
    [
      ...new Map(images.flatMap(({ blobs }) => blobs).map((blob) => [blob.toString('hex'), blob])).values(),
    ].reduce((sum, { length }) => sum + length, 0),
  )

onEveryStore('manifests', (cast) => {
  /** A repo with a tag `latest`. */
  const prepared = async () => {
    const registry = await createRegistryFixture(cast())
    const { owner, name, organization, root } = registry
    const latest = await pushImage(owner, name, layeredImage(), 'latest')
    const { api } = organization.owner
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
    const path = `registry/repos/${repo}/manifests`
    const list = async (query: Record<string, string> = {}) => {
      const reply = await api.get(path, query)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    }
    const digests = async (query: Record<string, string> = {}) =>
      (await list(query)).manifests.map(({ digest }: { digest: string }) => digest)
    const get = async (digest: string) => {
      const reply = await api.get(`${path}/${digest}`)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    }
    const put = async (made: Pick<TestImage, 'manifest' | 'mediaType' | 'digest'>, tag = made.digest) => {
      const reply = await putManifest(owner, name, tag, made)
      assert.equal(reply.status, 201, reply.bytes.toString())
    }
    return { ...registry, api, repo, path, latest, list, digests, get, put }
  }

  test('lists images, indexes and artifacts by push time, with tags, sizes and platforms', async () => {
    const { owner, name, latest, list, digests, put } = await prepared()
    const arm = await pushImage(owner, name, layeredImage({ architecture: 'arm', variant: 'v7' }))
    const index = indexOf([
      { image: latest, platform: { os: 'linux', architecture: 'amd64' } },
      { image: arm, platform: { os: 'linux', architecture: 'arm', variant: 'v7' } },
    ])
    await put(index, 'multi')
    await put(index, 'stable')
    const sbom = await pushImage(
      owner,
      name,
      testImage({ subject: latest.descriptor, artifactType: 'application/x.sbom' }),
    )
    const { manifests, manifestCount, nextPageToken } = await list()
    assert.deepEqual([manifestCount, nextPageToken], ['4', ''])
    const byDigest = new Map<string, Record<string, unknown>>(
      manifests.map((manifest: { digest: string }) => [manifest.digest, manifest]),
    )
    const times = manifests.map(({ pushTime }: { pushTime: string }) => Date.parse(pushTime))
    assert.deepEqual(
      times,
      times.toSorted((a: number, b: number) => b - a),
    )
    const { pushTime, ...listed } = byDigest.get(index.digest) ?? {}
    assert.ok(pushTime)
    assert.deepEqual(listed, {
      digest: index.digest,
      kind: 'MANIFEST_KIND_INDEX',
      mediaType: types.index,
      artifactType: '',
      size: String(index.manifest.length),
      subject: '',
      tags: ['multi', 'stable'],
      tagCount: 2,
      platforms: ['linux/amd64', 'linux/arm/v7'],
      annotations: {},
    })
    const armListed = byDigest.get(arm.digest)
    assert.deepEqual(
      [armListed?.['kind'], armListed?.['imageSize'], armListed?.['platforms'], armListed?.['tagCount']],
      ['MANIFEST_KIND_IMAGE', sizeOf(arm), ['linux/arm/v7'], 0],
    )
    const artifact = byDigest.get(sbom.digest)
    assert.deepEqual(
      [artifact?.['kind'], artifact?.['artifactType'], artifact?.['subject'], artifact?.['platforms']],
      ['MANIFEST_KIND_ARTIFACT', 'application/x.sbom', latest.digest, []],
    )

    const sorted = (...images: { digest: string }[]) => images.map(({ digest }) => digest).sort()
    const filtered = async (query: Record<string, string>) => (await digests(query)).sort()
    assert.deepEqual(await filtered({ kind: 'MANIFEST_KIND_INDEX' }), [index.digest])
    assert.deepEqual(await filtered({ kind: 'MANIFEST_KIND_IMAGE' }), sorted(latest, arm))
    assert.deepEqual(await filtered({ kind: 'MANIFEST_KIND_ARTIFACT' }), [sbom.digest])
    assert.deepEqual(await filtered({ tagged: 'true' }), sorted(latest, index))
    assert.deepEqual(await filtered({ tagged: 'false' }), sorted(arm, sbom))
    assert.deepEqual(await filtered({ platform: 'linux/arm/v7' }), sorted(arm, index))
    assert.deepEqual(await filtered({ platform: 'linux/amd64', tagged: 'true' }), sorted(latest, index))
    assert.deepEqual(await filtered({ platform: 'windows/amd64' }), [])
    assert.deepEqual(await filtered({ media_type: types.index }), [index.digest])
    assert.deepEqual(await filtered({ artifact_type: 'application/x.sbom' }), [sbom.digest])
    assert.deepEqual(await digests({ order_by: 'digest' }), sorted(latest, arm, index, sbom))
    assert.deepEqual(await digests({ order_by: 'digest desc' }), sorted(latest, arm, index, sbom).reverse())
    assert.equal((await list({ kind: 'MANIFEST_KIND_IMAGE' })).manifestCount, undefined)
    assert.equal((await list({ tagged: 'true' })).manifestCount, '2')
  })

  test('pages of any size have every manifest once, with and without filters', async () => {
    const { owner, name, latest, list, digests } = await prepared()
    const images = [latest]
    for (let n = 0; n < 6; n++) images.push(await pushImage(owner, name, layeredImage()))
    await pushImage(owner, name, testImage({ artifactType: 'application/x.sbom' }))
    for (const query of [
      {},
      { order_by: 'digest' },
      { kind: 'MANIFEST_KIND_IMAGE' },
      { platform: 'linux/amd64', order_by: 'push_time asc' },
    ] as Record<string, string>[]) {
      const whole = await digests(query)
      assert.equal(whole.length, query['kind'] || query['platform'] ? 7 : 8)
      for (const page_size of ['1', '3', '7', '8']) {
        const found: string[] = []
        let page_token = ''
        do {
          const page = await list({ ...query, page_size, page_token })
          assert.ok(page.manifests.length <= Number(page_size))
          found.push(...page.manifests.map(({ digest }: { digest: string }) => digest))
          page_token = page.nextPageToken
        } while (page_token !== '')
        assert.deepEqual(found, whole, JSON.stringify({ ...query, page_size }))
      }
    }
  })

  test('a filter examines a limited number of manifests in one call (manifestsExaminedMax)', async () => {
    const { repo, root, latest, list } = await prepared()
    const { kysely } = cast().berth.berth.installation.store.db
    const content = Buffer.from('{"schemaVersion":2}')
    const rows = Array.from({ length: limits.manifestsExaminedMax }, (_, n) => ({
      root,
      repo,
      digest: `sha256:${n.toString(16).padStart(64, '0')}`,
      media_type: types.image,
      size: content.length,
      subject: '',
      artifact_type: 'application/x.other',
      annotations: '',
      created_ms: Date.now() + 60_000,
      touched_ms: Date.now(),
      content,
    }))
    for (let at = 0; at < rows.length; at += 500)
      await kysely
        .insertInto('manifests')
        .values(rows.slice(at, at + 500))
        .execute()
    const platform = { kind: 'MANIFEST_KIND_INDEX' }
    assert.deepEqual((await list(platform)).manifests, [])
    // Conditions on columns skip rows without examining them; a signature that looks like an image is not skipped.
    await kysely
      .updateTable('manifests')
      .set({ artifact_type: types.config })
      .where('repo', '=', repo)
      .where('artifact_type', '=', 'application/x.other')
      .execute()
    const first = await list({ platform: 'linux/amd64' })
    assert.deepEqual(first.manifests, [])
    assert.notEqual(first.nextPageToken, '')
    const second = await list({ platform: 'linux/amd64', page_token: first.nextPageToken })
    assert.deepEqual(
      second.manifests.map(({ digest }: { digest: string }) => digest),
      [latest.digest],
    )
    assert.equal(second.nextPageToken, '')
  })

  test('describes an image: layers with their steps, configuration and the manifest as it was pushed', async () => {
    const { owner, name, get } = await prepared()
    const layers = [layerOf('RUN apt-get install', 300), layerOf('COPY app /app', 50)]
    const image = layeredImage({
      layers,
      config: {
        User: '65532:65532',
        Env: ['PATH=/bin', 'LANG=C'],
        Entrypoint: ['/app'],
        Cmd: ['--serve'],
        WorkingDir: '/srv',
        ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
        Volumes: { '/data': {} },
        Labels: { team: 'web', markup: '<b>\u202Ebold</b>' },
        StopSignal: 'SIGQUIT',
      },
      more: { author: 'Ada' },
      manifest: { annotations: { 'org.opencontainers.image.version': '1.2' } },
    })
    await pushImage(owner, name, image, 'described')
    const { content, ...manifest } = await get(image.digest)
    assert.deepEqual(manifest.annotations, { 'org.opencontainers.image.version': '1.2' })
    assert.deepEqual([manifest.imageSize, manifest.platforms], [sizeOf(image), ['linux/amd64']])
    const parsed = JSON.parse(image.manifest.toString())
    const created = '2025-01-02T03:04:05Z'
    assert.equal(content.json, image.manifest.toString())
    assert.equal(content.configurationDigest, parsed.config.digest)
    assert.deepEqual(
      content.layers,
      parsed.layers.map((layer: { mediaType: string; digest: string; size: number }, at: number) => ({
        digest: layer.digest,
        mediaType: types.layer,
        size: String(layer.size),
        createdBy: layers[at]?.createdBy,
        title: '',
      })),
    )
    const { createTime, history, ...configuration } = content.configuration
    assert.equal(Date.parse(createTime), Date.parse(created))
    assert.deepEqual(configuration, {
      os: 'linux',
      architecture: 'amd64',
      author: 'Ada',
      user: '65532:65532',
      env: ['PATH=/bin', 'LANG=C'],
      entrypoint: ['/app'],
      cmd: ['--serve'],
      workingDir: '/srv',
      exposedPorts: ['8080/tcp', '9090/tcp'],
      volumes: ['/data'],
      labels: { team: 'web', markup: '<b>\u202Ebold</b>' },
      stopSignal: 'SIGQUIT',
      truncated: false,
    })
    assert.deepEqual(
      history.map(({ createdBy, comment, layer }: Record<string, unknown>) => [createdBy, comment, layer]),
      [
        ['RUN apt-get install', 'buildkit', 0],
        ['COPY app /app', 'buildkit', 1],
        ['CMD ["app"]', '', undefined],
      ],
    )
  })

  test('describes an index: entries with platforms and sizes, attestations, and the indexes of an image', async () => {
    const { owner, name, latest, get, put } = await prepared()
    const shared = layerOf('shared')
    const [amd, arm] = [
      layeredImage({ layers: [shared, layerOf('amd')] }),
      layeredImage({ architecture: 'arm64', layers: [shared, layerOf('arm')] }),
    ]
    const attestation = testImage({ layers: [] }, { architecture: 'unknown' })
    for (const image of [amd, arm, attestation]) await pushImage(owner, name, image)
    const index = indexOf([
      { image: amd, platform: { os: 'linux', architecture: 'amd64' } },
      { image: arm, platform: { os: 'linux', architecture: 'arm64' } },
      {
        image: attestation,
        platform: { os: 'unknown', architecture: 'unknown' },
        annotations: { 'vnd.docker.reference.digest': amd.digest },
      },
    ])
    await put(index, 'multi')
    const described = await get(index.digest)
    assert.deepEqual(
      described.content.entries.map(
        ({ digest, platform, present, describes, imageSize }: Record<string, unknown>) => [
          digest,
          platform,
          present,
          describes,
          imageSize,
        ],
      ),
      [
        [amd.digest, 'linux/amd64', true, '', sizeOf(amd)],
        [arm.digest, 'linux/arm64', true, '', sizeOf(arm)],
        [attestation.digest, '', true, amd.digest, String(attestation.blobs[0]?.length)],
      ],
    )
    const bytes = Number(sizeOf(amd, arm)) + (attestation.blobs[0]?.length ?? 0)
    assert.equal(described.imageSize, String(bytes), 'shared layers count once')
    assert.deepEqual(described.platforms, ['linux/amd64', 'linux/arm64'])
    assert.deepEqual((await get(amd.digest)).content.indexes, [index.digest])
    assert.deepEqual((await get(latest.digest)).content.indexes, [])
    // The protocol can delete an image that an index needs.
    await owner.request('DELETE', `${name}/manifests/${arm.digest}`)
    const [, gone] = (await get(index.digest)).content.entries
    assert.deepEqual([gone.present, gone.imageSize], [false, undefined])
  })

  test('artifacts have files and no configuration; what is too large or no configuration is left out', async () => {
    const { owner, name, get } = await prepared()
    const artifact = await pushImage(
      owner,
      name,
      testImage({ artifactType: 'application/x.chart' }, { layerBytes: 10 }),
    )
    const { kind, content } = await get(artifact.digest)
    assert.equal(kind, 'MANIFEST_KIND_ARTIFACT')
    assert.equal(content.configuration, undefined)
    // As cosign writes signatures: the configuration of an image, and no layer of one.
    const blob = Buffer.from(JSON.stringify({ critical: newName('signature') }))
    const annotations = { 'org.opencontainers.image.title': 'signature.json' }
    const signed = layeredImage({
      layers: [{ bytes: blob, createdBy: '' }],
      manifest: {
        layers: [descriptor('application/vnd.dev.cosign.simplesigning.v1+json', blob, { annotations })],
      },
    })
    await pushImage(owner, name, signed)
    const described = await get(signed.digest)
    assert.equal(described.kind, 'MANIFEST_KIND_ARTIFACT')
    assert.deepEqual(
      described.content.layers.map(({ title, size }: Record<string, unknown>) => [title, size]),
      [['signature.json', String(blob.length)]],
    )
    const large = layeredImage({
      config: { Labels: { a: 'x'.repeat(limits.imageConfigTextBytesMax), b: 'kept' } },
    })
    await pushImage(owner, name, large)
    const { configuration } = (await get(large.digest)).content
    assert.deepEqual([configuration.labels, configuration.truncated], [{ b: 'kept' }, true])
    const image = layeredImage()
    const padded = Buffer.concat([image.manifest, Buffer.alloc(limits.manifestTextBytesMax, ' ')])
    await pushImage(owner, name, { ...image, manifest: padded, digest: digest(padded) })
    const long = await get(digest(padded))
    assert.deepEqual([long.content.json, long.content.layers.length], ['', 1])
  })

  test('gRPC lists, describes and deletes the same', async () => {
    const { owner, name, repo, latest, organization } = await prepared()
    const other = await pushImage(owner, name, layeredImage())
    const token = { token: organization.owner.api.token }
    const { listManifests, getManifest, deleteManifest } = ManifestsService.method
    const { grpc } = cast()
    const { manifests, manifestCount } = await grpc.call(listManifests, { uid: repo, tagged: true }, token)
    assert.deepEqual(
      [manifests.map(({ digest, kind }) => [digest, kind]), manifestCount],
      [[[latest.digest, ManifestKind.IMAGE]], 1n],
    )
    const { content } = await grpc.call(getManifest, { uid: repo, digest: other.digest }, token)
    assert.equal(content?.configuration?.os, 'linux')
    const { unreferencedBytes } = await grpc.call(
      deleteManifest,
      { uid: repo, digest: other.digest, validateOnly: true },
      token,
    )
    assert.equal(String(unreferencedBytes), sizeOf(other))
    await grpc.call(deleteManifest, { uid: repo, digest: other.digest }, token)
    await assert.rejects(grpc.call(getManifest, { uid: repo, digest: other.digest }, token), { code: 5 })
  })

  test('invalid requests are rejected, field by field', async () => {
    const { api, path, root } = await prepared()
    const tooLong = 'x'.repeat(limits.mediaTypeCharsMax + 1)
    await cast().writesNothing(async () => {
      for (const [query, field] of [
        [{ kind: '77' }, 'kind'],
        [{ platform: 'amd64' }, 'platform'],
        [{ platform: 'linux/' }, 'platform'],
        [{ platform: 'linux/arm/v7/x' }, 'platform'],
        [{ platform: `linux/${'a'.repeat(limits.platformCharsMax)}` }, 'platform'],
        [{ media_type: tooLong }, 'mediaType'],
        [{ artifact_type: tooLong }, 'artifactType'],
        [{ page_size: '-1' }, 'page_size'],
        [{ page_token: 'x' }, 'page_token'],
        [{ order_by: 'size' }, 'order_by'],
      ] as [Record<string, string>, string][])
        assertError(await api.get(path, query), invalidFieldError(field))
      for (const bad of ['latest', missing.slice(1), missing.toUpperCase()]) {
        assertError(await api.get(`${path}/${bad}`), invalidFieldError('digest'))
        assertError(await api.delete(`${path}/${bad}`), invalidFieldError('digest'))
      }
      assertError(await api.get(`${path}/${missing}`), notFoundError(MANIFEST, missing))
      assertError(await api.delete(`${path}/${missing}`), notFoundError(MANIFEST, missing))
      const gone = `${root}/0123456789abcdef`
      for (const suffix of ['', `/${missing}`, '/latest'])
        assertError(await api.get(`registry/repos/${gone}/manifests${suffix}`), notFoundError(REPO, gone))
    })
  })

  test('R17: callers need the capabilities in the repo; tags and referrers need their own', async () => {
    const { organization, path, latest, root } = await prepared()
    const stranger = await cast().organization()
    for (const api of [stranger.owner.api, (await organization.member('apk.pull')).api])
      for (const suffix of ['', `/${latest.digest}`, `/${missing}`])
        assertError(await api.get(`${path}${suffix}`), permissionDeniedError)
    const reader = await createRole(cast().berth, root, ['repo.list', 'manifest.list'], 'reader')
    const { api } = await organization.member(reader)
    const [listed] = (await api.get(path)).body.manifests
    assert.deepEqual([listed.tags, listed.tagCount], [[], 0])
    const { tags, content } = (await api.get(`${path}/${latest.digest}`)).body
    assert.deepEqual(tags, [])
    // The configuration is metadata.
    assert.equal(content.configuration, undefined)
    assert.deepEqual(
      content.layers.map(({ createdBy }: { createdBy: string }) => createdBy),
      content.layers.map(() => ''),
    )
    const full = await createRole(
      cast().berth,
      root,
      ['repo.list', 'manifest.list', 'manifest.metadata.list'],
      'full',
    )
    const whole = (await (await organization.member(full)).api.get(`${path}/${latest.digest}`)).body.content
    assert.ok(whole.configuration !== undefined && whole.layers.length > 0)
    assert.ok(whole.layers.every(({ createdBy }: { createdBy: string }) => createdBy !== ''))
    assertError(await api.get(path, { tagged: 'true' }), permissionDeniedError)
    assertError(await api.delete(`${path}/${latest.digest}`), permissionDeniedError)
    const deleter = await createRole(
      cast().berth,
      root,
      ['repo.list', 'manifest.list', 'manifest.delete'],
      'deleter',
    )
    const half = await organization.member(deleter)
    assertError(await half.api.delete(`${path}/${latest.digest}`), permissionDeniedError)
    assertError(await half.api.delete(`${path}/${latest.digest}?validateOnly=true`), permissionDeniedError)
  })
})
