import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { v1ClientOf } from '../support/api/v1-client.ts'

/** Tags of version 1, in their exact shape, and where they have pointed. */

const TYPE = 'registry.chainguard.dev/Tag'
const digestOf = (digit: string) => `sha256:${digit.repeat(64)}`
const [a, b] = [digestOf('a'), digestOf('b')]

onEveryDatabase('tags of version 1', (cast) => {
  const newRepo = async () => {
    const organization = await cast().organization()
    const owned = v1ClientOf(cast(), organization.owner.api)
    const { id: repo } = (await owned.post(`registry/repos/${organization.uid}`, { name: newName('repo') }))
      .body
    return { ...organization, owned, repo: repo as string }
  }
  const store = () => cast().berth.berth.installation.store

  test('are created, listed, replaced and deleted in the format of version 1', async () => {
    const { owned, owner, repo } = await newRepo()
    const made = await owned.post(`registry/tags/${repo}`, { name: '1.27', digest: a, bundles: ['fips'] })
    assert.equal(made.status, 200, made.text)
    const { id, lastUpdated } = made.body
    const expected = {
      id,
      name: '1.27',
      digest: a,
      lastUpdated,
      deprecated: false,
      bundles: ['fips'],
      updatedAt: lastUpdated,
    }
    assert.deepEqual(made.body, expected)
    const { uid, updateTime } = (await owner.api.get(`registry/tags/${id}`)).body
    assert.deepEqual([uid, updateTime], [id, lastUpdated])
    for (const query of [`id=${id}`, `uidp.children_of=${repo}`, `digest=${a}&uidp.ids=${id}`])
      assert.deepEqual((await owned.get(`registry/tags?${query}`)).body, { items: [expected] }, query)
    assert.deepEqual((await owned.get('registry/tags?id=x')).body, { items: [] })
    const path = `registry/tags/${id}`
    const replaced = await owned.put(path, { id: 'another', name: '1.27', deprecated: true })
    const { lastUpdated: later } = replaced.body
    assert.deepEqual(replaced.body, {
      ...expected,
      digest: '',
      deprecated: true,
      bundles: [],
      lastUpdated: later,
      updatedAt: later,
    })
    assert.ok(later > lastUpdated)
    await cast().writesNothing(async () => {
      assert.deepEqual((await owned.put(path, { name: '1.27', deprecated: true })).body, replaced.body)
      assertError(await owned.put(path, { name: '1.28', digest: a }), invalidFieldError('name'))
      assertError(await owned.put(path, { digest: 'x' }), invalidFieldError('name', 'digest'))
    })
    assert.deepEqual((await owned.delete(path)).text, '{}')
    assertError(await owned.delete(path), notFoundError(TYPE, id))
    assertError(await owned.put(path, { name: '1.27' }), notFoundError(TYPE, id))
  })

  test('may have no digest yet, which version 2 shows and does not create', async () => {
    const { owned, owner, repo, uid: root, member } = await newRepo()
    const { body } = await owned.post(`registry/tags/${repo}`, { name: 'soon' })
    assert.equal(body.digest, '')
    const path = `registry/tags/${body.id}`
    assert.equal((await owner.api.get(path)).body.digest, '')
    assertError(await owner.api.post(`registry/tags/${repo}`, { name: 'soon' }), invalidFieldError('digest'))
    assert.equal(
      (await owner.api.post(`registry/tags/${repo}`, { name: 'soon', digest: b })).body.uid,
      body.id,
    )
    assert.equal((await owned.get(`registry/tags?id=${body.id}`)).body.items[0].digest, b)
    const role = await cast().admin.create(`iam/roles/${root}`, {
      name: newName('creator'),
      capabilities: ['CAP_TAG_CREATE', 'CAP_TAG_LIST'],
    })
    const creator = v1ClientOf(cast(), (await member(role.uid)).api)
    await cast().writesNothing(async () => {
      assertError(await creator.post(`registry/tags/${repo}`, { name: 'soon' }), permissionDeniedError)
      assertError(await creator.put(path, { name: 'soon' }), permissionDeniedError)
    })
  })

  test('lists omit only what the request excludes', async () => {
    const { owned, owner, repo } = await newRepo()
    const names = ['1.27', '1.27-20260101', '1.27-r3', 'sha256-abc']
    for (const name of names) await owned.post(`registry/tags/${repo}`, { name })
    const listed = async (query: string) => {
      const { body } = await owned.get(`registry/tags?uidp.childrenOf=${repo}${query}`)
      return body.items.map(({ name }: { name: string }) => name).sort()
    }
    assert.deepEqual(await listed(''), names)
    assert.deepEqual(await listed('&exclude_dates=true'), ['1.27', '1.27-r3', 'sha256-abc'])
    assert.deepEqual(await listed('&excludeEpochs=true&exclude_referrers=true'), ['1.27', '1.27-20260101'])
    const all = '&exclude_dates=true&exclude_epochs=true&exclude_referrers=true'
    assert.deepEqual(await listed(all), ['1.27'])
    const newer = await owner.api.get('registry/tags', { 'uidp.children_of': repo })
    assert.deepEqual(
      newer.body.tags.map(({ name }: { name: string }) => name),
      ['1.27'],
    )
    assertError(await owned.get('registry/tags?updated_since=9999999'), invalidFieldError('updated_since'))
  })

  test('their history has each digest, and is deleted with them', async () => {
    const { owned, owner, repo } = await newRepo()
    const { id } = (await owned.post(`registry/tags/${repo}`, { name: 'latest' })).body
    const path = `registry/tags/${id}`
    await owner.api.create(`registry/tags/${repo}`, { name: 'latest', digest: a })
    await owned.put(path, { name: 'latest', digest: a, deprecated: true })
    const { lastUpdated } = (await owned.put(path, { name: 'latest', digest: b })).body
    await owned.put(path, { name: 'latest' })
    const history = async (query = '') => (await owned.get(`${path}/history${query}`)).body.items
    const all = await history()
    assert.deepEqual(
      all.map(({ digest }: { digest: string }) => digest),
      ['', b, a, ''],
    )
    assert.equal(all[1].updateTimestamp, lastUpdated)
    assert.deepEqual(await history(`?start=${lastUpdated}`), all.slice(0, 2))
    assert.deepEqual(await history(`?end=${lastUpdated}`), all.slice(2))
    assert.deepEqual(await history(`?start=${lastUpdated}&end=${all[0].updateTimestamp}`), [all[1]])
    const { items } = await cast().grpc.call(Registry.method.listTagHistory, { parentId: id }, owner.api)
    assert.deepEqual(
      items.map(({ digest }) => digest),
      ['', b, a, ''],
    )
    // No more than one answer holds, the latest first.
    const { kysely } = store().db
    const [{ since_ms: first }] = (await kysely
      .selectFrom('tag_digests')
      .select('since_ms')
      .where('uid', '=', id)
      .orderBy('since_ms')
      .execute()) as [{ since_ms: number }]
    const older = Array.from({ length: limits.tagHistoryMax }, (_, n) => ({
      root: repo.slice(0, 40),
      uid: id,
      since_ms: Number(first) - n - 1,
      digest: a,
      actor: '',
    }))
    for (let at = 0; at < older.length; at += 200)
      await kysely
        .insertInto('tag_digests')
        .values(older.slice(at, at + 200))
        .execute()
    assert.equal((await history()).length, limits.tagHistoryMax)
    // No more are kept than that: the next one makes the oldest go.
    await owned.put(path, { name: 'latest', digest: b })
    const kept = await kysely
      .selectFrom('tag_digests')
      .where('uid', '=', id)
      .select(['since_ms', 'digest'])
      .orderBy('since_ms', 'desc')
      .execute()
    assert.equal(kept.length, limits.tagHistoryMax)
    assert.deepEqual(
      [kept[0]?.digest, Number(kept.at(-1)?.since_ms)],
      [b, Number(first) - (limits.tagHistoryMax - 5)],
    )
    await owned.delete(path)
    assert.deepEqual(await kysely.selectFrom('tag_digests').where('uid', '=', id).selectAll().execute(), [])
    assertError(await owned.get(`${path}/history`), notFoundError(TYPE, id))
  })

  test('a summary counts them and names the latest', async () => {
    const { owned, repo } = await newRepo()
    const summary = async (query = '') => (await owned.get(`registry/repotagssummary/${repo}${query}`)).body
    assert.deepEqual(await summary(), {
      id: repo,
      tagCount: '0',
      lastUpdated: null,
      latestTag: null,
      latestVersion: '',
    })
    const make = async (name: string, digest: string) =>
      (await owned.post(`registry/tags/${repo}`, { name, digest })).body
    await make('1', a)
    const long = await make('1.27.3-20260101', a)
    await make('2', b)
    const last = await make('1.27', a)
    assert.deepEqual(await summary(), {
      id: repo,
      tagCount: '4',
      lastUpdated: last.lastUpdated,
      latestTag: last,
      latestVersion: long.name,
    })
    const latest = await make('latest', b)
    await make('3', a)
    const { tagCount, latestTag, latestVersion } = await summary('?exclude_dates=true')
    assert.deepEqual([tagCount, latestTag, latestVersion], ['5', latest, 'latest'])
    const gone = `${repo.slice(0, 40)}/0123456789abcdef`
    assertError(
      await owned.get(`registry/repotagssummary/${gone}`),
      notFoundError('registry.chainguard.dev/Repo', gone),
    )
  })
})
