import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { ResourceKind } from '@berth/server/api/resource-limits.ts'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import {
  assertOciError,
  createRegistryFixture,
  digest,
  type OciReply,
  pushBlob,
  pushImage,
  putManifest,
  testImage,
} from '../support/registry/registry.ts'

const MIB = 1024 * 1024

onEveryDatabase('registry: quotas', (cast) => {
  const prepared = async () => {
    const registry = await createRegistryFixture(cast())
    const settings = (limits: Partial<Record<ResourceKind, number>> = {}) =>
      organizationSettings(cast().berth.berth.installation, registry.root, {
        limits: new Map(Object.entries(limits) as [ResourceKind, number][]),
      })
    const { db } = cast().berth.berth.installation.store
    /** As it is counted, and as the rows are. */
    const usage = async () => {
      const counted = await db.kysely
        .selectFrom('registry_usage')
        .select((row) => [row.fn.sum('manifests').as('manifests'), row.fn.sum('bytes').as('bytes')])
        .where('root', '=', registry.root)
        .executeTakeFirstOrThrow()
      const links = await db.kysely
        .selectFrom('repo_blobs')
        .select(['digest', 'size'])
        .distinct()
        .where('root', '=', registry.root)
        .execute()
      const manifests = await db.kysely
        .selectFrom('manifests')
        .select('digest')
        .where('root', '=', registry.root)
        .execute()
      const actual = [manifests.length, links.reduce((sum, { size }) => sum + Number(size), 0)]
      assert.deepEqual([Number(counted.manifests), Number(counted.bytes)], actual)
      return { manifests: actual[0] as number, bytes: actual[1] as number }
    }
    return { ...registry, settings, usage }
  }
  const exceeded = (reply: OciReply, what: RegExp) => {
    assertOciError(reply, 403, 'DENIED')
    assert.match(reply.json.errors[0].message, what)
  }

  test('stored content is counted once for an organization, and subtracted when deleted', async () => {
    const { owner, name, root, organization, usage, settings } = await prepared()
    const { api } = organization.owner
    const image = await pushImage(owner, name, testImage({}, { layerBytes: 1000 }), 'v1')
    const one = await usage()
    const other = `${root}/${newName('repo')}`
    await pushImage(owner, other, image, 'v1')
    assert.deepEqual(await usage(), { manifests: 2, bytes: one.bytes })
    const third = `${root}/${newName('repo')}`
    const [config, layer] = image.blobs.map((blob) => digest(blob))
    const mounted = await owner.request('POST', `${third}/blobs/uploads/?mount=${layer}&from=${name}`)
    assert.equal(mounted.status, 201)
    await pushBlob(owner, third, randomBytes(10))
    await pushImage(owner, name, image)
    assert.deepEqual(await usage(), { manifests: 2, bytes: one.bytes + 10 })
    assert.equal((await settings()).usage.storage_mib, 1)
    await owner.request('DELETE', `${name}/manifests/${image.digest}`)
    assert.equal((await owner.request('DELETE', `${name}/blobs/${layer}`)).status, 202)
    assert.equal((await owner.request('DELETE', `${name}/blobs/${config}`)).status, 202)
    assert.deepEqual(await usage(), { manifests: 1, bytes: one.bytes + 10 })
    assert.equal((await owner.request('DELETE', `${other}/manifests/v1`)).status, 202)
    const { body } = await api.get('registry/repos', { 'uidp.descendants_of': root })
    for (const { uid } of body.repos) {
      for (const tag of (await api.get('registry/tags', { 'uidp.descendants_of': uid })).body.tags)
        await api.delete(`registry/tags/${tag.uid}`)
      assert.equal((await api.delete(`registry/repos/${uid}`)).status, 200)
      await usage()
    }
    assert.deepEqual(await usage(), { manifests: 0, bytes: 0 })
  })

  test('bytes beyond the limit are rejected at the start, during the transfer and at the end, and nothing is left', async () => {
    const { owner, name, usage, settings, clientOf, organization } = await prepared()
    const first = randomBytes(MIB - 1000)
    await pushBlob(owner, name, first)
    await settings({ storage_mib: 1 })
    const limit = /may store 1 MiB of blobs \(storage_mib\)/
    const large = randomBytes(2000)
    const at = `${name}/blobs/uploads/?digest=${digest(large)}`
    exceeded(await owner.request('POST', at, { body: large }), limit)
    const streamed = new ReadableStream({
      start(controller) {
        for (let piece = 0; piece < 20; piece++)
          controller.enqueue(large.subarray(piece * 100, (piece + 1) * 100))
        controller.close()
      },
    })
    exceeded(await owner.request('POST', at, { body: streamed }), limit)
    const begun = await owner.request('POST', `${name}/blobs/uploads/`)
    const upload = (begun.headers.get('location') ?? '').slice('/v2/'.length)
    exceeded(await owner.request('PATCH', upload, { body: large }), limit)
    assert.equal((await owner.request('PATCH', upload, { body: large.subarray(0, 900) })).status, 202)
    exceeded(await owner.request('PATCH', upload, { body: large.subarray(900) }), limit)
    exceeded(
      await owner.request('PUT', `${upload}?digest=${digest(large)}`, { body: large.subarray(900) }),
      limit,
    )
    assert.deepEqual((await usage()).bytes, first.length)
    // What it has already takes no room.
    assert.equal(
      (await owner.request('POST', `${name}2/blobs/uploads/?digest=${digest(first)}`, { body: first }))
        .status,
      201,
    )
    // Others are not limited.
    const others = await prepared()
    await pushBlob(others.owner, others.name, large)
    const client = await clientOf(organization.owner.uid)
    const theirs = `${name}/blobs/uploads/?digest=${digest(large.subarray(0, 500))}`
    assert.equal((await client.request('POST', theirs, { body: large.subarray(0, 500) })).status, 201)
    assert.deepEqual((await usage()).bytes, first.length + 500)
  })

  test('concurrent pushes do not exceed the limit', async () => {
    const { owner, name, usage, settings } = await prepared()
    await pushBlob(owner, name, randomBytes(MIB / 2))
    await settings({ storage_mib: 1 })
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) => {
        const blob = randomBytes(MIB / 8)
        return owner.request('POST', `${name}${at % 2}/blobs/uploads/?digest=${digest(blob)}`, { body: blob })
      }),
    )
    const statuses = replies.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 201, 201, 201, 403, 403, 403, 403])
    assert.equal((await usage()).bytes, MIB)
    const one = randomBytes(1000)
    await settings({ storage_mib: 2 })
    const same = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        owner.request('POST', `${name}${at}/blobs/uploads/?digest=${digest(one)}`, { body: one }),
      ),
    )
    assert.deepEqual(new Set(same.map(({ status }) => status)), new Set([201]))
    assert.equal((await usage()).bytes, MIB + 1000)
  })

  test('manifests, tags and repos have limits too, and rejected ones leave nothing', async () => {
    const { owner, name, root, organization, usage, settings } = await prepared()
    const image = await pushImage(owner, name, testImage(), 'v1')
    await settings({ manifests: 1, tags: 1, repos: 1 })
    const more = testImage()
    for (const blob of more.blobs) await pushBlob(owner, name, blob)
    exceeded(await putManifest(owner, name, more.digest, more), /may hold 1 manifests \(manifests\)/)
    exceeded(await putManifest(owner, name, 'v1', more), /may hold 1 manifests/)
    assert.equal((await owner.request('HEAD', `${name}/manifests/${more.digest}`)).status, 404)
    await settings({ manifests: 2 })
    exceeded(await putManifest(owner, name, 'v2', more), /may hold 1 tags/)
    assert.equal((await owner.request('HEAD', `${name}/manifests/${more.digest}`)).status, 404)
    assert.equal((await putManifest(owner, name, 'v1', more)).status, 201)
    exceeded(await owner.request('POST', `${root}/${newName('repo')}/blobs/uploads/`), /may hold 1 repos/)
    exceeded(
      await owner.request('POST', `${root}/folder/${newName('repo')}/blobs/uploads/`),
      /may hold 1 repos/,
    )
    const { body } = await organization.owner.api.get('iam/groups', {
      'uidp.descendants_of': root,
      name: 'folder',
    })
    assert.deepEqual(body.groups, [])
    assert.deepEqual((await usage()).manifests, 2)
    assert.equal((await owner.request('HEAD', `${name}/manifests/${image.digest}`)).status, 200)
  })
})
