import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import type { GcReport } from '@berth/server/registry/gc/run.ts'
import { onEveryStore } from '../support/api/api-fixture.ts'
import {
  assertOciError,
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
} from '../support/registry/registry.ts'
import type { TestBerth } from '../support/server/test-berth.ts'

const { gcGraceMsDefault: graceMs, untrackedBlobAgeMsMin, uploadIdleMsMax, expiredUploadRetentionMs } = limits

interface Options {
  readonly graceMs?: number
  readonly dryRun?: boolean
  readonly requireKnownStore?: boolean
  /** Moves the clock forward. */
  readonly afterMs?: number
}

async function run({ berth }: TestBerth, { afterMs = 0, ...options }: Options = {}) {
  const { installation, blobs } = berth
  const { db, clock } = installation.store
  return collectGarbage({
    store: { db, clock: () => clock() + afterMs },
    blobs,
    graceMs,
    dryRun: false,
    requireKnownStore: true,
    ...options,
  })
}

/** Runs a dry run, and checks that the run has the same report. */
async function runLikeDryRun(berth: TestBerth, options: Options = {}): Promise<GcReport> {
  const preview = await run(berth, { ...options, dryRun: true })
  assert.deepEqual(await run(berth, { ...options, dryRun: true }), preview, 'a dry run deleted something')
  assert.deepEqual(await run(berth, options), preview)
  return preview
}

async function stored({ berth }: TestBerth): Promise<string[]> {
  const found: string[] = []
  for await (const { location } of berth.blobs.listBlobs()) found.push(location)
  return found
}

const isStored = async (berth: TestBerth, bytes: Uint8Array) =>
  (await stored(berth)).some((location) => location.includes(digest(bytes).slice('sha256:'.length)))

onEveryStore('registry: garbage collection', (cast) => {
  test('an unreferenced blob and its bytes are deleted after the grace period, and nothing else', async () => {
    const { berth } = cast()
    await run(berth, { graceMs: 0 })
    const { owner, name, root } = await createRegistryFixture(cast())
    const [image, untagged, deleted] = [testImage(), testImage(), testImage()]
    await pushImage(owner, name, image, 'v1')
    await pushImage(owner, name, untagged)
    await pushImage(owner, name, deleted, 'v2')
    const subject = await pushImage(owner, name, testImage({ subject: image.descriptor }))
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [untagged.descriptor],
    })
    assert.equal((await putManifest(owner, name, 'all', index)).status, 201)
    const loose = randomBytes(1000)
    await pushBlob(owner, name, loose)
    assert.equal((await owner.request('DELETE', `${name}/manifests/${deleted.digest}`)).status, 202)

    const nothing = await runLikeDryRun(berth)
    assert.deepEqual(nothing.links, { count: 0, bytes: 0 })
    const report = await runLikeDryRun(berth, { afterMs: graceMs + 1 })
    const bytes = [...deleted.blobs, loose].reduce((sum, { length }) => sum + length, 0)
    assert.deepEqual(report, {
      orphans: { count: 0, bytes: 0 },
      links: { count: 3, bytes },
      blobs: { count: 3, bytes },
      uploads: { count: 0, bytes: 0 },
      strays: { count: 0, bytes: 0 },
      organizations: [{ uid: root, links: { count: 3, bytes }, uploads: { count: 0, bytes: 0 } }],
    })
    for (const blob of [...deleted.blobs, loose]) {
      assert.equal((await owner.request('HEAD', `${name}/blobs/${digest(blob)}`)).status, 404)
      assert.equal(await isStored(berth, blob), false)
    }
    for (const { blobs, digest: manifest } of [image, untagged, subject]) {
      assert.equal((await owner.request('GET', `${name}/manifests/${manifest}`)).status, 200)
      for (const blob of blobs) {
        const reply = await owner.request('GET', `${name}/blobs/${digest(blob)}`)
        assert.ok(reply.bytes.equals(blob))
      }
    }
    // It is pushed again as if it had never been there.
    await pushImage(owner, name, deleted, 'v2')
    const events = await berth.berth.installation.store.db.kysely
      .selectFrom('audit_events')
      .select('method')
      .where('root', '=', root)
      .where('actor', '=', 'system')
      .where('method', 'like', '%/CollectBlobs')
      .execute()
    assert.equal(events.length, 1)
  })

  test('a layer that was pushed after its manifest is referenced once the manifest is pushed again', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    const layer = randomBytes(500)
    const foreign = descriptor('application/vnd.oci.image.layer.nondistributable.v1.tar+gzip', layer)
    const image = await pushImage(owner, name, testImage({ layers: [foreign] }))
    await pushBlob(owner, name, layer)
    assert.equal((await putManifest(owner, name, image.digest, image)).status, 201)
    await run(berth, { graceMs: 0 })
    assert.equal((await owner.request('HEAD', `${name}/blobs/${digest(layer)}`)).status, 200)
  })

  test('bytes are kept as long as any repo has them', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    const layer = randomBytes(500)
    const image = testImage()
    await pushBlob(owner, name, layer)
    await pushImage(owner, `${name}-2`, {
      ...image,
      blobs: [...image.blobs, layer],
      ...imageFromManifest({
        ...JSON.parse(image.manifest.toString()),
        layers: [{ mediaType: types.layer, digest: digest(layer), size: layer.length }],
      }),
    })
    await run(berth, { graceMs: 0 })
    assert.equal((await owner.request('HEAD', `${name}/blobs/${digest(layer)}`)).status, 404)
    assert.ok((await owner.request('GET', `${name}-2/blobs/${digest(layer)}`)).bytes.equals(layer))
  })

  test('a HEAD by a caller who may push refreshes the grace period of a blob', async () => {
    const { berth } = cast()
    await run(berth, { graceMs: 0 })
    const { name, clientOf, organization, owner, member } = await createRegistryFixture(cast())
    const image = testImage()
    for (const blob of image.blobs) await pushBlob(owner, name, blob)
    const other = randomBytes(50)
    await pushBlob(owner, name, other)
    const reader = await member('registry.pull')
    const aheadMs = graceMs - 1000
    berth.advance(aheadMs)
    const client = await clientOf(organization.owner.uid)
    const looking = await clientOf(reader.uid)
    for (const blob of image.blobs)
      assert.equal((await client.request('HEAD', `${name}/blobs/${digest(blob)}`)).status, 200)
    assert.equal((await looking.request('HEAD', `${name}/blobs/${digest(other)}`)).status, 200)
    const report = await run(berth, { afterMs: graceMs - limits.linkRefreshMs })
    assert.deepEqual(report.links, { count: 1, bytes: other.length })
    assert.equal((await client.request('HEAD', `${name}/blobs/${digest(other)}`)).status, 404)
    assert.equal((await putManifest(client, name, 'v1', image)).status, 201)
    berth.advance(-aheadMs)
  })

  for (const way of ['pushed in one request', 'uploaded', 'mounted'] as const)
    test(`a blob that is ${way} again is written to the database only after ten minutes, and has the grace period from then on`, async () => {
      const { berth } = cast()
      const { name, root, clientOf, organization, owner } = await createRegistryFixture(cast())
      const blob = randomBytes(60)
      const from = `${root}/source`
      for (const repo of [name, from]) await pushBlob(owner, repo, blob)
      const { kysely } = berth.berth.installation.store.db
      const links = () =>
        kysely
          .selectFrom('repo_blobs')
          .select(['repo', 'linked_ms'])
          .where('root', '=', root)
          .orderBy('linked_ms', 'desc')
          .execute()
      const push = async (client: OciClient, body: Buffer) => {
        const uploads = `${name}/blobs/uploads/`
        if (way === 'mounted') return client.request('POST', `${uploads}?mount=${digest(blob)}&from=${from}`)
        if (way === 'pushed in one request')
          return client.request('POST', `${uploads}?digest=${digest(blob)}`, { body })
        const location = (await client.request('POST', uploads)).headers.get('location') ?? ''
        return client.request('PUT', `${location.slice('/v2/'.length)}?digest=${digest(blob)}`, { body })
      }
      const repeat = async () => {
        const reply = await push(await clientOf(organization.owner.uid), blob)
        assert.equal(reply.status, 201, reply.bytes.toString())
        assert.equal(reply.headers.get('docker-content-digest'), digest(blob))
      }
      const before = await links()
      await repeat()
      if (way !== 'mounted') assertOciError(await push(owner, randomBytes(60)), 400, 'DIGEST_INVALID')
      assert.deepEqual(await links(), before)
      for await (const { id } of berth.berth.blobs.listUploads()) assert.fail(`upload ${id} was left behind`)
      assert.deepEqual(await kysely.selectFrom('uploads').select('id').where('root', '=', root).execute(), [])

      const aheadMs = limits.linkRefreshMs + 1000
      berth.advance(aheadMs)
      await repeat()
      const [refreshed, untouched] = await links()
      assert.ok(Number(refreshed?.linked_ms) >= Number(before[0]?.linked_ms) + aheadMs - 1000)
      assert.deepEqual(
        [untouched],
        before.filter(({ repo }) => repo === untouched?.repo),
      )
      await run(berth, { afterMs: graceMs - 60_000 })
      const client = await clientOf(organization.owner.uid)
      assert.equal((await client.request('HEAD', `${name}/blobs/${digest(blob)}`)).status, 200)
      assert.equal((await client.request('HEAD', `${from}/blobs/${digest(blob)}`)).status, 404)
      // For the counts of other tests.
      await run(berth, { graceMs: 0 })
      berth.advance(-aheadMs)
    })

  test('an expired upload is deleted with its bytes, another one is kept', async () => {
    const { berth } = cast()
    await run(berth, { graceMs: 0 })
    const { owner, name, root, clientOf, organization } = await createRegistryFixture(cast())
    const begin = async (client = owner) => {
      const location = (await client.request('POST', `${name}/blobs/uploads/`)).headers.get('location') ?? ''
      const reply = await client.request('PATCH', location.slice('/v2/'.length), { body: randomBytes(300) })
      assert.equal(reply.status, 202)
      return location.slice('/v2/'.length)
    }
    await begin()
    const aheadMs = uploadIdleMsMax + expiredUploadRetentionMs + 1
    berth.advance(aheadMs)
    const client = await clientOf(organization.owner.uid)
    const kept = await begin(client)
    const report = await runLikeDryRun(berth)
    berth.advance(-aheadMs)
    assert.deepEqual(report.uploads, { count: 1, bytes: 300 })
    assert.deepEqual(report.organizations, [
      { uid: root, links: { count: 0, bytes: 0 }, uploads: { count: 1, bytes: 300 } },
    ])
    assert.equal((await owner.request('GET', kept)).status, 204)
    const ids: string[] = []
    for await (const { id } of berth.berth.blobs.listUploads()) ids.push(id)
    assert.deepEqual(ids, [kept.split('/').at(-1)])
  })

  test('untracked bytes of a crash are deleted, files of other programs are kept', async () => {
    const { berth } = cast()
    await run(berth, { graceMs: 0 })
    const { blobs } = berth.berth
    async function* bytes() {
      yield randomBytes(70)
    }
    const hex = randomBytes(32).toString('hex')
    const now = berth.berth.installation.store.clock()
    const locations = [
      `sha256/${hex.slice(0, 2)}/${hex}.${now.toString(36)}-${randomBytes(8).toString('hex')}`,
      `sha256/${hex.slice(0, 2)}/notes.txt`,
    ]
    for (const location of locations) {
      const upload = await blobs.append({ id: randomBytes(16).toString('hex'), size: 0, state: '' }, bytes())
      await blobs.commit(upload, location)
    }
    const abandoned = { id: randomBytes(16).toString('hex'), size: 0, state: '' }
    await blobs.append(abandoned, bytes())
    // The client that has just stored it is about to reference it.
    assert.deepEqual((await runLikeDryRun(berth, { graceMs: 0 })).strays, { count: 0, bytes: 0 })
    const report = await runLikeDryRun(berth, { graceMs: 0, afterMs: untrackedBlobAgeMsMin + 1000 })
    assert.deepEqual(report.strays, { count: 1, bytes: 70 })
    assert.equal(report.uploads.count, 1)
    const left = await stored(berth)
    assert.ok(left.includes(locations[1] ?? '') && !left.includes(locations[0] ?? ''))
    assert.deepEqual((await run(berth, { graceMs: 0 })).strays, { count: 0, bytes: 0 })
  })

  test('a push that is so slow that garbage collection may have deleted its bytes fails and leaves nothing', async () => {
    const { berth } = cast()
    const { blobs } = berth.berth
    const { owner, name } = await createRegistryFixture(cast())
    await pushBlob(owner, name, randomBytes(10))
    const bytes = randomBytes(10)
    const { commit: keep } = blobs
    let aheadMs = 0
    const slowly = async (ms: number) => {
      blobs.commit = async (...given) => {
        await keep(...given)
        await run(berth, { graceMs: 0, afterMs: untrackedBlobAgeMsMin - 60_000 })
        berth.advance(ms)
        aheadMs += ms
      }
      const path = `${name}/blobs/uploads/?digest=${digest(bytes)}`
      const reply = await owner.request('POST', path, { body: bytes })
      blobs.commit = keep
      return reply
    }
    const late = await slowly(limits.blobCommitMsMax + 1000)
    assert.equal(late.status, 409, late.bytes.toString())
    assert.equal(await isStored(berth, bytes), false)
    const inTime = await slowly(1000)
    assert.equal(inTime.status, 201, inTime.bytes.toString())
    const { bytes: read } = await owner.request('GET', `${name}/blobs/${digest(bytes)}`)
    assert.ok(read.equals(bytes))
    berth.advance(-aheadMs)
  })

  test('untracked bytes that are most of the store are deleted only if forced', async () => {
    const { berth } = cast()
    const afterMs = untrackedBlobAgeMsMin + 1000
    const before = (await run(berth, { graceMs: 0, afterMs, dryRun: true })).strays.count
    const now = berth.berth.installation.store.clock()
    const { blobs } = berth.berth
    const most = (await stored(berth)).length + limits.untrackedBlobsUnconfirmedMax + 1
    for (let n = 0; n < most; n++) {
      const hex = randomBytes(32).toString('hex')
      const location = `sha256/${hex.slice(0, 2)}/${hex}.${now.toString(36)}-${randomBytes(8).toString('hex')}`
      await blobs.commit({ id: randomBytes(16).toString('hex'), size: 0, state: '' }, location)
    }
    await assert.rejects(
      run(berth, { graceMs: 0, afterMs }),
      /Check that this is the right database\. To delete them, run berth admin collect --force/,
    )
    const preview = await run(berth, { graceMs: 0, afterMs, dryRun: true })
    assert.equal(preview.strays.count, before + most)
    assert.deepEqual(await run(berth, { graceMs: 0, afterMs, requireKnownStore: false }), preview)
  })
})
