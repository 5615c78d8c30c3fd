import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { commandLine } from './support/cli/command-line.ts'
import { databases } from './support/database/databases.ts'
import { bearerOf, ociClient, pushImage, testImage } from './support/registry/registry.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** The deletion of untagged manifests on the command line. */

const [database] = databases

describe('deletion of untagged manifests on the command line', () => {
  let berth: TestBerth
  before(async () => {
    assert.ok(database)
    berth = await startTestBerth(database)
  })
  after(() => berth.stop())

  /** A repo with one tag and untagged manifests that were pushed two days ago. */
  const prepared = async (t: TestContext, repo: string, untagged: number) => {
    const client = ociClient(berth, await bearerOf(berth, berth.owner))
    const name = `${berth.organization}/${repo}`
    const latest = await pushImage(client, name, testImage(), 'latest')
    const images = Array.from({ length: untagged }, () => testImage())
    for (const image of images) await pushImage(client, name, image)
    const { kysely } = berth.berth.installation.store.db
    await kysely
      .updateTable('manifests')
      .set((row) => ({ touched_ms: row('touched_ms', '-', 2 * limits.untaggedAgeMsDefault) }))
      .execute()
    const cli = commandLine(t, berth.url, { BERTH_TOKEN: berth.token })
    const deleteUntagged = (...args: string[]) =>
      cli.run(['images', 'repos', 'delete-untagged', repo, ...args])
    const left = async () => {
      const all = await Promise.all(
        [latest, ...images].map(({ digest }) => client.request('HEAD', `${name}/manifests/${digest}`)),
      )
      return all.filter(({ status }) => status === 200).length
    }
    return { latest, images, deleteUntagged, left }
  }

  test('shows with --dry-run what it would delete and why the rest stays, and deletes nothing', async (t) => {
    const { latest, images, deleteUntagged, left } = await prepared(t, 'tried', 2)
    const { code, stdout, stderr } = await deleteUntagged('--dry-run', '-o', 'json')
    assert.equal(code, 0, stderr)
    const items: { digest: string; deleted: boolean; reason: string }[] = JSON.parse(stdout).items
    const verdicts = items.map(({ digest, deleted, reason }) => ({ digest, deleted, reason }))
    const expected = [
      ...images.map(({ digest }) => ({ digest, deleted: true, reason: 'it is unreferenced' })),
      { digest: latest.digest, deleted: false, reason: 'a tag points to it' },
    ]
    assert.deepEqual(
      verdicts,
      expected.sort((a, b) => (a.digest < b.digest ? -1 : 1)),
    )
    assert.match(
      stderr,
      /0 tags and 2 manifests would be deleted, [\d.]+ (B|KiB) of blobs would be unreferenced/,
    )
    const old = await deleteUntagged('--dry-run', '--older-than', '3d', '-o', 'csv')
    assert.match(old.stderr, /0 tags and 0 manifests would be deleted/)
    assert.equal(await left(), 3)
  })

  test('asks with numbers and bytes, and deletes with --yes', async (t) => {
    const { deleteUntagged, left } = await prepared(t, 'cleaned', 3)
    const asked = await deleteUntagged()
    assert.equal(asked.code, 2)
    assert.match(
      asked.stderr,
      /Delete 0 tags and 3 manifests from default\/cleaned\? Only they reference [\d.]+ (B|KiB) of blobs in the repo\. Confirm with --yes/,
    )
    assert.equal(await left(), 4)
    const deleted = await deleteUntagged('--yes', '--json')
    assert.equal(deleted.code, 0, deleted.stderr)
    assert.deepEqual(JSON.parse(deleted.stdout), { deletedTags: 0, deletedManifests: 3 })
    assert.match(deleted.stderr, /deleted 0 tags and 3 manifests from default\/cleaned/)
    assert.equal(await left(), 1)
    const nothing = await deleteUntagged()
    assert.deepEqual([nothing.code, nothing.stdout], [0, ''], 'there is nothing to ask')
  })

  test('rejects an age that is none, or too short', async (t) => {
    const { deleteUntagged, left } = await prepared(t, 'kept', 1)
    const [none, short] = [
      await deleteUntagged('--older-than', 'soon', '--yes'),
      await deleteUntagged('--older-than', '30m', '--yes'),
    ]
    assert.deepEqual([none.code, short.code], [2, 1])
    assert.match(none.stderr, /--older-than: "soon" must be a duration/)
    assert.match(short.stderr, /must be from 3600s/)
    assert.equal(await left(), 2)
  })

  test('repeats the request until none remain', async (t) => {
    const { images, deleteUntagged, left } = await prepared(t, 'many', 1)
    const { kysely } = berth.berth.installation.store.db
    const model = await kysely
      .selectFrom('manifests')
      .selectAll()
      .where('digest', '=', images[0]?.digest ?? '')
      .executeTakeFirstOrThrow()
    const more = Array.from({ length: limits.untaggedDeletionsMax }, (_, n) => ({
      ...model,
      digest: `sha256:${String(n).padStart(64, '0')}`,
    }))
    await kysely.insertInto('manifests').values(more).execute()
    const { code, stdout, stderr } = await deleteUntagged('--yes', '--json')
    assert.equal(code, 0, stderr)
    assert.equal(JSON.parse(stdout).deletedManifests, more.length + 1)
    assert.equal(await left(), 1)
  })
})
