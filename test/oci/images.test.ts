import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { assertError, invalidFieldError, notFoundError, onEveryStore } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import {
  createRegistryFixture,
  descriptor,
  digest,
  imageFromManifest,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
  types,
} from '../support/registry/registry.ts'

const MANIFEST = 'registry.chainguard.dev/Manifest'

onEveryStore('registry: pushed images', (cast) => {
  const pushed = async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const amd = await pushImage(owner, name, testImage({}, { layerBytes: 1000 }))
    const arm = await pushImage(owner, name, testImage({}, { architecture: 'arm64', layerBytes: 2000 }))
    const { body } = await organization.owner.api.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid: repo }] = body.repos
    const ask = (reference: string, question: string, query = {}) =>
      organization.owner.api.get(`registry/repos/${repo}/digests/${reference}/${question}`, query)
    const sizeOf = ({ blobs }: typeof amd) => String(blobs.reduce((sum, { length }) => sum + length, 0))
    return { owner, name, amd, arm, ask, sizeOf }
  }

  test('an index has its architectures, in its order, and the size of each', async () => {
    const { owner, name, amd, arm, ask, sizeOf } = await pushed()
    const attestation = await pushImage(owner, name, testImage({}, { architecture: 'unknown' }))
    const platform = (architecture: string, variant?: string) => ({
      platform: { os: 'linux', architecture, ...(variant && { variant }) },
    })
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [
        { ...arm.descriptor, ...platform('arm64') },
        { ...amd.descriptor, ...platform('amd64') },
        { ...attestation.descriptor, ...platform('unknown') },
      ],
    })
    assert.equal((await putManifest(owner, name, 'v1', index)).status, 201)
    assert.deepEqual((await ask(index.digest, 'architectures')).body, { architectures: ['arm64', 'amd64'] })
    for (const [query, architecture, image] of [
      [{}, 'amd64', amd],
      [{ architecture: 'amd64' }, 'amd64', amd],
      [{ architecture: 'arm64' }, 'arm64', arm],
    ] as const)
      assert.deepEqual((await ask(index.digest, 'size', query)).body, { size: sizeOf(image), architecture })
    assertError(
      await ask(index.digest, 'size', { architecture: 's390x' }),
      notFoundError(MANIFEST, index.digest),
    )

    const nested = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [index.descriptor, arm.descriptor],
    })
    assert.equal((await putManifest(owner, name, 'nested', nested)).status, 201)
    assert.deepEqual((await ask(nested.digest, 'architectures')).body, { architectures: ['arm64', 'amd64'] })
    await owner.request('DELETE', `${name}/manifests/${amd.digest}`)
    assert.deepEqual((await ask(index.digest, 'architectures')).body, { architectures: ['arm64'] })
  })

  test('an image has its architecture from its configuration', async () => {
    const { owner, name, arm, ask, sizeOf } = await pushed()
    assert.deepEqual((await ask(arm.digest, 'architectures')).body, { architectures: ['arm64'] })
    assert.deepEqual((await ask(arm.digest, 'size')).body, { size: sizeOf(arm), architecture: 'arm64' })
    assertError(await ask(arm.digest, 'size', { architecture: 'amd64' }), notFoundError(MANIFEST, arm.digest))
    assert.ok(limits.imageConfigBytesMax >= limits.manifestBytesMax)
    for (const config of [Buffer.from('no JSON'), Buffer.from('null'), randomBytes(10)]) {
      await pushBlob(owner, name, config)
      const artifact = testImage({ config: descriptor('application/x.config', config), layers: [] })
      assert.equal((await putManifest(owner, name, 'artifact', artifact)).status, 201)
      assert.deepEqual((await ask(artifact.digest, 'architectures')).body, { architectures: [] })
      assert.deepEqual((await ask(artifact.digest, 'size')).body, {
        size: String(config.length),
        architecture: '',
      })
    }
    assertError(await ask(digest('nothing'), 'size'), notFoundError(MANIFEST, digest('nothing')))
  })

  test('version 1 returns the same, and how an image runs', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const config = {
      architecture: 'arm64',
      config: {
        User: '65532',
        ExposedPorts: { '80/tcp': {} },
        Env: ['PATH=/bin', 7],
        Entrypoint: ['/bin/serve'],
        Cmd: ['--all'],
        Volumes: { '/data': {} },
        WorkingDir: '/srv',
        Labels: { team: 'web', odd: 1 },
        StopSignal: 'SIGQUIT',
      },
    }
    const bytes = Buffer.from(JSON.stringify(config))
    await pushBlob(owner, name, bytes)
    const image = testImage({ config: descriptor(types.config, bytes), layers: [] })
    assert.equal((await putManifest(owner, name, 'v1', image)).status, 201)
    const [{ uid: repo }] = (
      await organization.owner.api.get('registry/repos', { 'uidp.descendants_of': root })
    ).body.repos
    const { token } = organization.owner.api
    const ask = async (what: string) => {
      const url = `${cast().berth.url}/registry/v1/repos/${repo}/digests/${image.digest}/${what}`
      return call('GET', url, { token })
    }
    assert.deepEqual((await ask('architectures')).body, { archs: ['arm64'] })
    assert.deepEqual((await ask('size')).body, { size: String(bytes.length), arch: 'arm64' })
    assert.deepEqual((await ask('size?arch=arm64')).body.arch, 'arm64')
    assert.equal((await ask('size?arch=amd64')).status, 404)
    assertError(await ask('size?arch=A'), invalidFieldError('arch'))
    assertError(await ask('imageconfig?arch=A'), invalidFieldError('arch'))
    assert.deepEqual((await ask('imageconfig')).body, {
      user: '65532',
      exposedPorts: { '80/tcp': {} },
      env: ['PATH=/bin'],
      entrypoint: ['/bin/serve'],
      cmd: ['--all'],
      volumes: { '/data': {} },
      workingDir: '/srv',
      labels: { team: 'web' },
      stopSignal: 'SIGQUIT',
    })
    await pushBlob(owner, name, Buffer.from('{}'))
    const artifact = testImage({ config: descriptor(types.empty, '{}'), layers: [] })
    await putManifest(owner, name, artifact.digest, artifact)
    const url = `${cast().berth.url}/registry/v1/repos/${repo}/digests/${artifact.digest}/imageconfig`
    assert.equal((await call('GET', url, { token })).body.user, '')
  })

  test('lists follow each push, move and delete: times, digests, totals, and repos by name', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const { api } = organization.owner
    const list = async (query: Record<string, string> = {}) =>
      (await api.get('registry/tags', { 'uidp.descendants_of': root, ...query })).body
    const [one, two] = [testImage(), testImage()]
    await pushImage(owner, name, one, 'a')
    await pushImage(owner, name, one, 'b')
    const pushed = (await list({ name: 'a' })).tags[0]
    assert.equal(pushed.digest, one.digest)
    await pushImage(owner, name, two, 'a')
    const [moved] = (await list({ name: 'a' })).tags
    assert.deepEqual([moved.uid, moved.digest], [pushed.uid, two.digest])
    assert.ok(Date.parse(moved.updateTime) > Date.parse(pushed.updateTime))
    const since = await list({ updated_since: pushed.updateTime })
    assert.deepEqual(since.tags.map((tag: { name: string }) => tag.name).sort(), ['a', 'b'])
    const later = await list({ updated_since: (await list({ name: 'b' })).tags[0].updateTime })
    assert.deepEqual([later.totalCount, later.tags[0].name], ['1', 'a'])
    assert.deepEqual((await list({ digest: one.digest })).tags[0].name, 'b')
    const repos = await api.get('registry/repos', {
      'uidp.descendants_of': root,
      name: name.split('/')[1] ?? '',
    })
    assert.deepEqual([repos.body.totalCount, repos.body.repos.length], ['1', 1])
    await owner.request('DELETE', `${name}/manifests/a`)
    assert.equal((await list()).totalCount, '1')
    await owner.request('DELETE', `${name}/manifests/${one.digest}`)
    assert.equal((await list()).totalCount, '0')
  })

  test('lists of tags find what was pushed, by all their filters', async () => {
    const { owner, name, organization, root } = await createRegistryFixture(cast())
    const image = testImage()
    await pushImage(owner, name, image, 'latest')
    const names = ['1.0-r3', '1.0-20240101', `sha256-${image.digest.slice(7)}.sig`]
    for (const tag of names) assert.equal((await putManifest(owner, name, tag, image)).status, 201)
    const { api } = organization.owner
    const list = async (query: Record<string, string>) => {
      const { body } = await api.get('registry/tags', { 'uidp.descendants_of': root, ...query })
      assert.equal(Number(body.totalCount), body.tags.length)
      return body.tags.map((tag: { name: string }) => tag.name).sort()
    }
    assert.deepEqual(await list({}), ['latest'])
    assert.deepEqual(await list({ include_epochs: 'true' }), ['1.0-r3', 'latest'])
    assert.deepEqual(await list({ include_dates: 'true' }), ['1.0-20240101', 'latest'])
    assert.deepEqual(await list({ include_referrers: 'true' }), ['latest', names[2]])
    const all = { include_epochs: 'true', include_dates: 'true', include_referrers: 'true' }
    assert.deepEqual(await list({ ...all, digest: image.digest }), [...names, 'latest'].sort())
    assert.deepEqual(await list({ ...all, digest: digest('other') }), [])
    const since = new Date(Date.now() + 60_000).toISOString()
    assert.deepEqual(await list({ ...all, updated_since: since }), [])
    await owner.request('DELETE', `${name}/manifests/${image.digest}`)
    assert.deepEqual(await list(all), [])
  })
})
