import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { type BlobStore, MissingBytes } from '@berth/server/registry/blobs/blob-store.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import type { Finding } from '@berth/server/registry/scrub/findings.ts'
import { onEveryStore } from '../support/api/api-fixture.ts'
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
import { runScrub } from '../support/registry/scrub-check.ts'
import type { TestBerth } from '../support/server/test-berth.ts'

/** Puts other bytes, or none, where those of a blob are. */
async function overwrite(
  { berth }: TestBerth,
  blob: Uint8Array,
  bytes: Uint8Array | undefined,
): Promise<string> {
  const { blobs, installation } = berth
  const { location } = await installation.store.db.kysely
    .selectFrom('blobs')
    .select('location')
    .where('digest', '=', digest(blob))
    .executeTakeFirstOrThrow()
  await blobs.remove(location)
  if (bytes === undefined) return location
  async function* pieces() {
    yield bytes as Uint8Array
  }
  await blobs.commit(
    await blobs.append({ id: randomBytes(16).toString('hex'), size: 0, state: '' }, pieces()),
    location,
  )
  return location
}

const short = ({ kind, what, digest, repaired, repos, repoCount }: Finding) => ({
  kind,
  what,
  digest,
  repaired,
  repos: repos.map(({ name }) => name).sort(),
  repoCount,
})

onEveryStore('registry: scrub', (cast) => {
  test('intact content passes, and a damaged blob is reported with the repos that have it', async () => {
    const { berth } = cast()
    const { owner, name, organization } = await createRegistryFixture(cast())
    const [image, other] = [testImage({}, { layerBytes: 1_000_000 }), testImage()]
    await pushImage(owner, name, image, 'v1')
    await pushImage(owner, `${name}-2`, image, 'v1')
    await pushImage(owner, name, other, 'v2')
    const clean = await runScrub(berth)
    assert.deepEqual(clean.findings, [])
    assert.deepEqual([clean.report.blobs, clean.report.manifests], [4, 3])

    const [config = Buffer.from(''), layer = Buffer.from('')] = image.blobs
    const flipped = Buffer.from(layer)
    flipped[500_000] = (flipped[500_000] ?? 0) ^ 1
    const damagedAt = await overwrite(berth, layer, flipped)
    await overwrite(berth, config, undefined)
    const [, short2 = Buffer.from('')] = other.blobs
    await overwrite(berth, short2, short2.subarray(1))
    const names = ['', '-2'].map((end) => `${organization.name}/${name.split('/')[1]}${end}`)
    const expected = (repaired: boolean) =>
      [
        { kind: 'damaged', what: 'blob', digest: digest(layer), repaired, repos: names, repoCount: 2 },
        { kind: 'missing', what: 'blob', digest: digest(config), repaired, repos: names, repoCount: 2 },
        { kind: 'damaged', what: 'blob', digest: digest(short2), repaired, repos: [names[0]], repoCount: 1 },
      ].sort((a, b) => (a.digest < b.digest ? -1 : 1))
    const found = await runScrub(berth)
    assert.deepEqual(found.findings.map(short), expected(false))
    assert.equal(found.findings.find((finding) => finding.digest === digest(layer))?.location, damagedAt)
    assert.equal(
      (await runScrub(berth, { repair: true, orphanAgeMs: limits.untrackedBlobAgeMsMin })).findings.length,
      3,
    )

    const events = await berth.berth.installation.store.db.kysely
      .selectFrom('audit_events')
      .select('actor')
      .where('method', '=', 'berth admin scrub')
      .execute()
    assert.deepEqual(
      events,
      Array.from({ length: 5 }, () => ({ actor: 'system' })),
    )

    // A forgotten blob is missing in all repos until a client pushes it; then it is complete in all of them.
    assert.equal((await owner.request('HEAD', `${name}/blobs/${digest(layer)}`)).status, 404)
    assert.deepEqual((await putManifest(owner, name, 'v3', image)).codes, ['MANIFEST_BLOB_UNKNOWN'])
    const waiting = await runScrub(berth, { orphanAgeMs: limits.untrackedBlobAgeMsMin })
    assert.deepEqual(new Set(waiting.findings.map(({ kind }) => kind)), new Set(['missing']))
    for (const blob of [...image.blobs, short2]) await pushBlob(owner, name, blob)
    for (const repo of [name, `${name}-2`])
      assert.ok((await owner.request('GET', `${repo}/blobs/${digest(layer)}`)).bytes.equals(layer))
    assert.equal((await putManifest(owner, name, 'v3', image)).status, 201)
    const orphans = await runScrub(berth)
    assert.deepEqual(new Set(orphans.findings.map(({ kind }) => kind)), new Set(['orphan']))
    const { installation, blobs } = berth.berth
    const { db, clock } = installation.store
    const store = { db, clock: () => clock() + limits.untrackedBlobAgeMsMin + 1000 }
    await collectGarbage({ store, blobs, graceMs: 0, dryRun: false, requireKnownStore: true })
    assert.deepEqual((await runScrub(berth)).findings, [])
  })

  test('blobs that have grown are reported: only the pushed bytes are served', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    const image = await pushImage(owner, name)
    const [config = Buffer.of()] = image.blobs
    await overwrite(berth, config, Buffer.concat([config, Buffer.from('more')]))
    const { findings } = await runScrub(berth)
    assert.deepEqual(
      findings.map(({ kind, digest: its, repaired }) => ({ kind, its, repaired })),
      [{ kind: 'damaged', its: digest(config), repaired: false }],
    )
    assert.ok((await owner.request('GET', `${name}/blobs/${digest(config)}`)).bytes.equals(config))
    await overwrite(berth, config, config)
    assert.deepEqual((await runScrub(berth)).findings, [])
  })

  test('manifests are checked too, and an index whose image was deleted is incomplete, not damaged', async () => {
    const { berth } = cast()
    const { owner, name, root } = await createRegistryFixture(cast())
    const [image, bad] = [testImage(), testImage()]
    await pushImage(owner, name, image)
    await pushImage(owner, name, bad)
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [image.descriptor],
    })
    assert.equal((await putManifest(owner, name, 'all', index)).status, 201)
    assert.equal((await owner.request('DELETE', `${name}/manifests/${image.digest}`)).status, 202)
    const { db } = berth.berth.installation.store
    await db.kysely
      .updateTable('manifests')
      .set({ content: Buffer.from(bad.manifest.toString().replace('layers', 'lawyer')) })
      .where('root', '=', root)
      .where('digest', '=', bad.digest)
      .execute()
    const { findings } = await runScrub(berth)
    assert.deepEqual(
      findings
        .map(({ kind, what, digest }) => ({ kind, what, digest }))
        .sort((a, b) => (a.kind < b.kind ? -1 : 1)),
      [
        { kind: 'damaged', what: 'manifest', digest: bad.digest },
        { kind: 'incomplete', what: 'manifest', digest: image.digest },
      ],
    )
    await owner.request('DELETE', `${name}/manifests/${bad.digest}`)
    assert.equal((await putManifest(owner, name, 'v1', bad)).status, 201)
    await owner.request('DELETE', `${name}/manifests/${index.digest}`)
    assert.deepEqual((await runScrub(berth)).findings, [])
  })

  test('optional layers and blobs of an index are no findings; without bytes they are', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    const layer = randomBytes(50)
    const foreign = descriptor('application/vnd.oci.image.layer.nondistributable.v1.tar+gzip', layer)
    const image = await pushImage(owner, name, testImage({ layers: [foreign] }))
    const entry = randomBytes(20)
    const manifests = [descriptor('text/plain', entry), image.descriptor]
    const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests })
    await pushBlob(owner, name, entry)
    assert.equal((await putManifest(owner, name, 'all', index)).status, 201)
    assert.deepEqual((await runScrub(berth)).findings, [])
    await pushBlob(owner, name, layer)
    assert.deepEqual((await runScrub(berth)).findings, [])
    assert.equal((await putManifest(owner, name, 'v1', image)).status, 201)
    assert.deepEqual((await runScrub(berth)).findings, [])
    await berth.berth.installation.store.db.kysely
      .deleteFrom('repo_blobs')
      .where('digest', 'in', [digest(layer), digest(entry)])
      .execute()
    const { findings } = await runScrub(berth)
    assert.deepEqual(
      new Set(findings.map(({ kind, digest }) => `${kind} ${digest}`)),
      new Set([`missing ${digest(layer)}`, `missing ${digest(entry)}`]),
    )
    for (const blob of [layer, entry]) await pushBlob(owner, name, blob)
  })

  test('it reads up to its limit and continues from there', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    for (let n = 0; n < 5; n++) await pushBlob(owner, name, randomBytes(1000))
    let [position, blobs, rounds] = ['', 0, 0]
    do {
      const { report } = await runScrub(berth, { bytesMax: 1500, position })
      assert.ok(report.blobs > 0)
      blobs += report.blobs
      position = report.position
      rounds++
    } while (position !== '')
    assert.ok(rounds > 2)
    assert.equal(blobs, (await runScrub(berth)).report.blobs)
  })

  test('blobs with a SHA-512 digest are verified', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    const bytes = randomBytes(100)
    const sha512 = `sha512:${createHash('sha512').update(bytes).digest('hex')}`
    const reply = await owner.request('POST', `${name}/blobs/uploads/?digest=${sha512}`, { body: bytes })
    assert.equal(reply.status, 201)
    assert.deepEqual((await runScrub(berth)).findings, [])
  })

  test('a repair with a foreign store forgets nothing unless it is forced', async () => {
    const { berth } = cast()
    const { owner, name } = await createRegistryFixture(cast())
    await pushImage(owner, name)
    const { db } = berth.berth.installation.store
    const known = async () => (await db.kysely.selectFrom('blobs').select('digest').execute()).length
    const before = await known()
    const empty: BlobStore = {
      ...berth.berth.blobs,
      async *listBlobs() {},
      async *read(location) {
        yield* []
        throw new MissingBytes(`${location} is not there`, 0)
      },
    }
    const refused =
      /\d+ of \d+ blobs in the database are missing in the store.* BERTH_DATA_DIR .* --repair --force/
    await assert.rejects(runScrub(berth, { repair: true, blobs: empty }), refused)
    // As well where it goes away during the pass.
    for (let n = 0; n <= limits.missingBlobsUnconfirmedMax; n++) await pushBlob(owner, name, randomBytes(10))
    const away = { ...empty, blobs: berth.berth.blobs.listBlobs }
    await assert.rejects(runScrub(berth, { repair: true, blobs: away }), refused)
    assert.ok((await known()) >= before)
    // A few are forgotten unasked.
    const lost = randomBytes(10)
    await pushBlob(owner, name, lost)
    await overwrite(berth, lost, undefined)
    await runScrub(berth, { repair: true })
    assert.equal((await owner.request('HEAD', `${name}/blobs/${digest(lost)}`)).status, 404)
    await runScrub(berth, { repair: true, force: true, blobs: empty })
    assert.equal(await known(), 0)
    // Nothing of the store is known now, and bytes are not taken for that.
    const { installation, blobs } = berth.berth
    const { clock } = installation.store
    const store = { db, clock: () => clock() + limits.untrackedBlobAgeMsMin + 1000 }
    await assert.rejects(
      collectGarbage({ store, blobs, graceMs: 0, dryRun: false, requireKnownStore: true }),
      /Check that this is the right database\./,
    )
  })
})
