import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '../../src/core/limits.ts'
import { assertRefused, missing, onEveryStore } from '../support/cast.ts'
import {
  descriptor,
  digest,
  pushable,
  pushBlob,
  pushImage,
  putManifest,
  registryOf,
  testImage,
  types,
} from '../support/registry.ts'

const MANIFEST = 'registry.chainguard.dev/Manifest'

onEveryStore('registry: images that were pushed', (cast) => {
  const pushed = async () => {
    const { owner, name, organization, root } = await registryOf(cast())
    const amd = await pushImage(owner, name, testImage({}, { layerBytes: 1000 }))
    const arm = await pushImage(owner, name, testImage({}, { architecture: 'arm64', layerBytes: 2000 }))
    const { body } = await organization.owner.api.get('registry/repos', { 'uidp.descendants_of': root })
    const [{ uid: repo }] = body.repos
    const ask = (reference: string, question: string, query = {}) =>
      organization.owner.api.get(`registry/repos/${repo}/digests/${reference}/${question}`, query)
    const sizeOf = ({ blobs }: typeof amd) => String(blobs.reduce((sum, { length }) => sum + length, 0))
    return { owner, name, amd, arm, ask, sizeOf }
  }

  test('an index tells its architectures, in its order, and the size of each', async () => {
    const { owner, name, amd, arm, ask, sizeOf } = await pushed()
    const attestation = await pushImage(owner, name, testImage({}, { architecture: 'unknown' }))
    const platform = (architecture: string, variant?: string) => ({
      platform: { os: 'linux', architecture, ...(variant && { variant }) },
    })
    const index = pushable({
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
    assertRefused(await ask(index.digest, 'size', { architecture: 's390x' }), missing(MANIFEST, index.digest))

    const nested = pushable({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [index.descriptor, arm.descriptor],
    })
    assert.equal((await putManifest(owner, name, 'nested', nested)).status, 201)
    assert.deepEqual((await ask(nested.digest, 'architectures')).body, { architectures: ['arm64', 'amd64'] })
    await owner.ask('DELETE', `${name}/manifests/${amd.digest}`)
    assert.deepEqual((await ask(index.digest, 'architectures')).body, { architectures: ['arm64'] })
  })

  test('an image tells its own, from its configuration', async () => {
    const { owner, name, arm, ask, sizeOf } = await pushed()
    assert.deepEqual((await ask(arm.digest, 'architectures')).body, { architectures: ['arm64'] })
    assert.deepEqual((await ask(arm.digest, 'size')).body, { size: sizeOf(arm), architecture: 'arm64' })
    assertRefused(await ask(arm.digest, 'size', { architecture: 'amd64' }), missing(MANIFEST, arm.digest))
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
    assertRefused(await ask(digest('nothing'), 'size'), missing(MANIFEST, digest('nothing')))
  })

  test('lists of tags find what was pushed, by all their filters', async () => {
    const { owner, name, organization, root } = await registryOf(cast())
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
    await owner.ask('DELETE', `${name}/manifests/${image.digest}`)
    assert.deepEqual(await list(all), [])
  })
})
