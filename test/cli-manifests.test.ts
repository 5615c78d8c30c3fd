import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { indexOf, layeredImage } from './support/registry/layered-image.ts'
import { bearerOf, ociClient, pushImage, putManifest } from './support/registry/registry.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Repositories and manifests on the command line, as the API describes them. */

const [database] = databases

describe('manifests on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database)
  })
  after(() => berth.stop())

  const prepared = async (t: TestContext, repo: string) => {
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${berth.organization}/${repo}`
    const image = await pushImage(client, name, layeredImage())
    const other = await pushImage(client, name, layeredImage({ architecture: 'arm64' }), 'other')
    const index = indexOf([{ image, platform: { os: 'linux', architecture: 'amd64' } }])
    assert.equal((await putManifest(client, name, 'multi', index)).status, 201)
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const run = (...args: string[]) => cli.run(['images', ...args])
    const items = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args, '-o', 'json')
      assert.equal(code, 0, stderr)
      return JSON.parse(stdout).items
    }
    return { image, other, index, run, items }
  }

  test('lists repos with what they contain', async (t) => {
    const { run, items } = await prepared(t, 'summarized')
    const found = (await items('repos', 'summary')).find(
      ({ name }: { name: string }) => name === 'summarized',
    )
    assert.deepEqual([found.tagCount, found.manifestCount, found.public], ['2', '3', false])
    const { stdout } = await run('repos', 'summary')
    assert.match(stdout, /REPO +SIZE +TAGS +MANIFESTS +PUSHED +VISIBILITY +POLICY/)
    assert.match(stdout, /default\/summarized +\d+ B +2 +3 .* private/)
  })

  test('lists, describes and deletes manifests', async (t) => {
    const { image, other, index, run, items } = await prepared(t, 'inspected')
    const digests = async (...filter: string[]) =>
      (await items('manifests', 'list', 'inspected', ...filter)).map((one: { digest: string }) => one.digest)
    assert.equal((await digests()).length, 3)
    assert.deepEqual(await digests('--kind', 'index'), [index.digest])
    assert.deepEqual(await digests('--platform', 'linux/arm64'), [other.digest])
    assert.deepEqual(await digests('--untagged'), [image.digest])
    assert.deepEqual(await digests('--tagged', '--kind', 'image'), [other.digest])
    const described = await run('manifests', 'describe', 'inspected', other.digest)
    assert.match(described.stdout, /COPY app \/app/)
    const ofIndex = await run('manifests', 'describe', 'inspected', index.digest)
    assert.match(ofIndex.stdout, /linux\/amd64/)

    const inUse = await run('manifests', 'delete', 'inspected', image.digest, '--yes')
    assert.match(inUse.stderr, /is part of index/)
    const dryRun = await run('manifests', 'delete', 'inspected', index.digest, '--dry-run')
    assert.match(dryRun.stdout, /only a deleted index contains it/)
    assert.match(
      dryRun.stderr,
      /1 tags and 1 other manifests would be deleted with the manifest, .* of blobs would be unreferenced/,
    )
    assert.equal((await digests()).length, 3)
    const asked = await run('manifests', 'delete', 'inspected', index.digest)
    assert.equal(asked.code, 2)
    assert.match(asked.stderr, /from default\/inspected, with 1 tags and 1 other manifests\?/)
    const deleted = await run('manifests', 'delete', 'inspected', index.digest, '--yes')
    assert.equal(deleted.code, 0, deleted.stderr)
    assert.deepEqual(await digests(), [other.digest])
  })
})
