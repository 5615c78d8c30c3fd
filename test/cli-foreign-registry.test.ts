import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandLine } from './support/cli/command-line.ts'
import { startDockerRegistry, withoutDockerRegistry } from './support/registry/docker-registry.ts'
import {
  bearerOf,
  descriptor,
  imageFromManifest,
  ociClient,
  pushImage,
  putManifest,
  testImage,
  types,
} from './support/registry/registry.ts'
import { temporaryDirectory } from './support/server/process.ts'
import { startTestBerth } from './support/server/test-berth.ts'

/** The command line and a registry by other people. */

test('images are copied to another registry and back, with their referrers', {
  skip: withoutDockerRegistry,
}, async (t) => {
  const berth = await startTestBerth({ name: 'sqlite', open: undefined })
  t.after(() => berth.stop())
  const host = await startDockerRegistry(t)
  const client = ociClient(berth, await bearerOf(berth, berth.owner))
  const name = `${berth.organization}/app`
  const images = [testImage({}, { layerBytes: 3 * 1024 * 1024 }), testImage({}, { architecture: 'arm64' })]
  for (const image of images) await pushImage(client, name, image)
  const manifests = images.map(({ descriptor }, at) => ({
    ...descriptor,
    platform: { os: 'linux', architecture: at === 0 ? 'amd64' : 'arm64' },
  }))
  const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests })
  await putManifest(client, name, '1', index)
  const [empty] = [Buffer.from('{}')]
  const signature = testImage({
    artifactType: 'application/x.signature',
    subject: index.descriptor,
    annotations: { empty: descriptor(types.empty, empty).digest },
  })
  await pushImage(client, name, signature)

  const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
  const json = async (...args: string[]) => JSON.parse(await cli.ok(['images', ...args, '--json']))
  const out = await json('copy', `${name}:1`, `${host}/a/app:1`, '--referrers')
  assert.deepEqual([out.digest, out.referrers, out.manifests], [index.digest, 1, 4])
  assert.equal((await json('referrers', `${host}/a/app:1`)).items[0].digest, signature.digest)
  const inside = await json('copy', `${host}/a/app:1`, `${host}/b/app:1`)
  assert.deepEqual([inside.blobs, inside.blobsMounted], [0, 4])
  const back = await json('copy', `${host}/a/app:1`, `${berth.organization}/back:1`, '--referrers')
  assert.deepEqual([back.digest, back.referrers], [index.digest, 1])
  const { json: referrers } = await client.request(
    'GET',
    `${berth.organization}/back/referrers/${index.digest}`,
  )
  assert.equal(referrers.manifests[0].digest, signature.digest)
  const directory = join(temporaryDirectory(t), 'layout')
  await json('pull', `${host}/a/app:1`, directory, '--platform', 'linux/arm64')
  assert.equal((await json('push', directory, `${host}/c/app:x`)).digest, images[1]?.digest)

  await cli.ok(['images', 'tags', 'set', `${host}/a/app:1`, 'stable', 'latest'])
  const tags = (await cli.ok(['images', 'list', `${host}/a/app`, '-o', 'id'])).trim().split('\n').sort()
  assert.deepEqual(tags, ['1', 'latest', index.digest.replace(':', '-'), 'stable'])
  assert.match(await cli.ok(['images', 'describe', `${host}/a/app:stable`]), /linux\/arm64 +sha256:/)
  await cli.ok(['images', 'delete', `${host}/a/app:stable`, '--yes'])
  const gone = await cli.run(['images', 'digest', `${host}/a/app:stable`])
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /tag stable not found in .*\/a\/app$/m)
})
