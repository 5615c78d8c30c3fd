import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TagsService } from '#gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { limits } from '../../src/core/limits.ts'
import {
  type Api,
  assertRefused,
  badField,
  denied,
  missing,
  onEveryDatabase,
  precondition,
} from '../support/cast.ts'
import { capabilitiesJson } from '../support/tenant.ts'

const TYPE = 'registry.chainguard.dev/Tag'
const REPO = 'registry.chainguard.dev/Repo'
const digestOf = (n: number) => `sha256:${n.toString(16).padStart(64, '0')}`
const digest = digestOf(1)

onEveryDatabase('tags', (cast) => {
  const newRepo = async () => {
    const { owner, uid: root, member } = await cast().organization()
    const { uid: repo } = await owner.api.made(`registry/repos/${root}`, { name: 'nginx' })
    return { api: owner.api, root, repo: repo as string, member }
  }

  test('create, get, list and delete answer in the exact shape', async () => {
    const { api, repo } = await newRepo()
    const made = await api.post(`registry/tags/${repo}`, {
      name: '1.2',
      digest,
      bundles: ['fips'],
      deprecated: true,
    })
    assert.equal(made.status, 200, made.text)
    const { uid, updateTime } = made.body
    assert.match(uid, new RegExp(`^${repo}/[0-9a-f]{16}$`))
    assert.deepEqual(made.body, { uid, name: '1.2', digest, updateTime, deprecated: true, bundles: ['fips'] })
    assert.deepEqual((await api.get(`registry/tags/${uid}`)).body, made.body)
    const listed = await api.get('registry/tags', { 'uidp.children_of': repo })
    assert.deepEqual(listed.body, { tags: [made.body], nextPageToken: '', totalCount: '1', skipped: 0 })
    const deleted = await api.delete(`registry/tags/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertRefused(await api.get(`registry/tags/${uid}`), missing(TYPE, uid))
    assertRefused(await api.delete(`registry/tags/${uid}`), missing(TYPE, uid))
    assert.deepEqual(
      (await cast().auditOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateTag', 'DeleteTag'],
    )
  })

  test('the same over gRPC', async () => {
    const { api, repo } = await newRepo()
    const { createTag, getTag, listTags, deleteTag } = TagsService.method
    const { token } = api
    const made = await cast().grpc.call(
      createTag,
      { parent: repo, tag: { name: 'latest', digest } },
      { token },
    )
    assert.deepEqual(await cast().grpc.call(getTag, { uid: made.uid }, { token }), made)
    const listed = await cast().grpc.call(listTags, { uidp: { childrenOf: repo }, digest }, { token })
    assert.deepEqual([listed.tags, listed.totalCount], [[made], 1n])
    await cast().grpc.call(deleteTag, { uid: made.uid }, { token })
    await assert.rejects(cast().grpc.call(getTag, { uid: made.uid }, { token }), { code: 5 })
  })

  test('a name that is there is moved, and keeps its uid', async () => {
    const { api, repo } = await newRepo()
    const first = await api.post(`registry/tags/${repo}`, { name: 'latest', digest })
    const same = await cast().writesNothing(() =>
      api.post(`registry/tags/${repo}`, { name: 'latest', digest }),
    )
    assert.deepEqual(same.body, first.body)
    const moved = await api.post(`registry/tags/${repo}`, {
      name: 'latest',
      digest: digestOf(2),
      bundles: ['ai'],
    })
    assert.deepEqual(
      [moved.body.uid, moved.body.digest, moved.body.bundles],
      [first.body.uid, digestOf(2), ['ai']],
    )
    assert.ok(moved.body.updateTime > first.body.updateTime)
    assert.notEqual(moved.headers.get('etag'), first.headers.get('etag'))
    assert.equal((await api.get('registry/tags', { 'uidp.children_of': repo })).body.totalCount, '1')
  })

  test('fifty creates of one new name at once make one tag', async () => {
    const { api, repo } = await newRepo()
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        api.post(`registry/tags/${repo}`, { name: 'latest', digest: digestOf(n) }),
      ),
    )
    for (const { status, text } of replies) assert.equal(status, 200, text)
    assert.equal(new Set(replies.map(({ body }) => body.uid)).size, 1)
    assert.equal((await api.get('registry/tags', { 'uidp.children_of': repo })).body.totalCount, '1')
  })

  test('R20: whoever may only make tags moves none, whatever its name', async () => {
    const { api, root, repo, member } = await newRepo()
    const role = await api.made(`iam/roles/${root}`, {
      name: 'tagger',
      capabilities: capabilitiesJson('tag.create', 'tag.list'),
    })
    const tagger = await member(role.uid)
    for (const name of ['latest', '1.0', 'v']) {
      assert.equal((await tagger.api.post(`registry/tags/${repo}`, { name, digest })).status, 200)
      for (const change of [
        { digest: digestOf(2) },
        { digest, deprecated: true },
        { digest, bundles: ['base'] },
      ]) {
        const reply = await cast().writesNothing(() =>
          tagger.api.post(`registry/tags/${repo}`, { name, ...change }),
        )
        assertRefused(reply, denied)
      }
      assert.equal((await tagger.api.post(`registry/tags/${repo}`, { name, digest })).status, 200)
    }
    const [tag] = (await tagger.api.get('registry/tags')).body.tags
    assertRefused(await tagger.api.delete(`registry/tags/${tag.uid}`), denied)
  })

  test('what is no tag is refused, field by field, and nothing is written', async () => {
    const { api, repo } = await newRepo()
    const good = { name: 'latest', digest }
    for (const [bad, ...fields] of [
      [{}, 'name', 'digest'],
      [{ ...good, name: '' }, 'name'],
      [{ ...good, name: '.latest' }, 'name'],
      [{ ...good, name: 'a/b' }, 'name'],
      [{ ...good, name: 'a'.repeat(129) }, 'name'],
      [{ ...good, digest: 'latest' }, 'digest'],
      [{ ...good, digest: digest.toUpperCase() }, 'digest'],
      [{ ...good, digest: `${digest}0` }, 'digest'],
      [{ ...good, bundles: ['free'] }, 'bundles'],
      [{ ...good, bundles: ['fips', 'fips'] }, 'bundles'],
      [{ ...good, createTime: '2025-01-01T00:00:00Z' }, 'createTime'],
    ] as const) {
      const reply = await cast().writesNothing(() => api.post(`registry/tags/${repo}`, bad))
      assertRefused(reply, badField(...(fields as readonly string[])))
    }
    const nowhere = `${repo}/0123456789abcdef`
    assertRefused(await api.post(`registry/tags/${nowhere}`, {}), missing(REPO, nowhere))
    const made = await api.made(`registry/tags/${repo}`, {
      ...good,
      uid: nowhere,
      updateTime: '2025-01-01T00:00:00Z',
    })
    assert.notEqual(made.uid, nowhere)
    assert.notEqual(made.updateTime, '2025-01-01T00:00:00.000Z')
  })

  test('R17: another tenant sees, makes and deletes none', async () => {
    const mine = await newRepo()
    const theirs = await newRepo()
    const { uid } = await theirs.api.made(`registry/tags/${theirs.repo}`, { name: 'latest', digest })
    assertRefused(await mine.api.get(`registry/tags/${uid}`), denied)
    assertRefused(await mine.api.post(`registry/tags/${theirs.repo}`, { name: 'latest', digest }), denied)
    assertRefused(await mine.api.delete(`registry/tags/${uid}`), denied)
    for (const query of [{}, { 'uidp.children_of': theirs.repo }, { 'uidp.ids': uid }, { digest }])
      assert.deepEqual((await mine.api.get('registry/tags', query)).body.tags, [])
  })

  test('a repo with tags is kept', async () => {
    const { api, repo } = await newRepo()
    const { uid } = await api.made(`registry/tags/${repo}`, { name: 'latest', digest })
    const reply = await cast().writesNothing(() => api.delete(`registry/repos/${repo}`))
    assertRefused(reply, precondition('RESOURCE_NOT_EMPTY'))
    await api.delete(`registry/tags/${uid}`)
    assert.equal((await api.delete(`registry/repos/${repo}`)).status, 200)
    assertRefused(await api.post(`registry/tags/${repo}`, { name: 'latest', digest }), missing(REPO, repo))
  })

  test('lists are ordered by uid, name and update time, and by nothing else', async () => {
    const { api, repo } = await newRepo()
    for (const name of ['b', 'a', 'c']) {
      cast().berth.advance(2)
      await api.made(`registry/tags/${repo}`, { name, digest })
    }
    cast().berth.advance(2)
    await api.made(`registry/tags/${repo}`, { name: 'a', digest: digestOf(2) })
    const names = async (order_by: string) =>
      (await api.get('registry/tags', { 'uidp.children_of': repo, order_by })).body.tags
        .map(({ name }: { name: string }) => name)
        .join('')
    assert.equal(await names('name'), 'abc')
    assert.equal(await names('name desc'), 'cba')
    for (const field of ['updated_at', 'update_time', 'updateTime']) assert.equal(await names(field), 'bca')
    for (const order_by of ['created_at', 'createTime', 'digest'])
      assertRefused(await api.get('registry/tags', { order_by }), badField('order_by'))
    assertRefused(await api.get('registry/tags', { updated_since: 'yesterday' }), badField('updated_since'))
  })

  test('every combination of filters keeps what it says', async () => {
    const { api, root, repo } = await newRepo()
    const group = (await api.made(`iam/groups/${root}`, { name: 'team' })).uid
    const repos = [repo]
    for (const [parent, name] of [
      [root, 'redis'],
      [group, 'nginx'],
    ] as const)
      repos.push((await api.made(`registry/repos/${parent}`, { name })).uid)
    interface Seen {
      uid: string
      name: string
      digest: string
      updateTime: string
    }
    const rows: Seen[] = []
    const endings = ['', '-r1', '-20240131', '-r2-20240131']
    for (const [at, one] of repos.entries()) {
      for (const name of [
        'latest',
        '1.2',
        'sha256-0.sig',
        ...endings.map((end) => `1.3${end}`),
        'sha256-1-r3',
      ]) {
        cast().berth.advance(1)
        rows.push(await api.made(`registry/tags/${one}`, { name, digest: digestOf((rows.length + at) % 3) }))
      }
    }
    const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
    const question = fc.record({
      name: maybe(fc.constantFrom('latest', '1.3-r1', 'sha256-1-r3', 'none')),
      digest: maybe(fc.constantFrom(...[0, 1, 2, 3].map(digestOf))),
      updated_since: maybe(fc.constantFrom(...rows.map(({ updateTime }) => updateTime))),
      include_referrers: fc.boolean(),
      include_dates: fc.boolean(),
      include_epochs: fc.boolean(),
      'uidp.children_of': maybe(fc.constantFrom(...repos, group)),
      'uidp.descendants_of': maybe(fc.constantFrom(root, group, ...repos)),
      order_by: fc.constantFrom('uid', 'uid desc', 'name', 'updated_at desc'),
      page_size: fc.integer({ min: 1, max: 9 }),
    })
    await fc.assert(
      fc.asyncProperty(question, async (asked) => {
        const query = Object.fromEntries(
          Object.entries(asked).flatMap(([key, value]) =>
            value === undefined ? [] : [[key, String(value)]],
          ),
        )
        const expected = rows
          .filter(
            ({ uid, name, digest: at, updateTime }) =>
              (asked.name === undefined || name === asked.name) &&
              (asked.digest === undefined || at === asked.digest) &&
              (asked.updated_since === undefined || updateTime > asked.updated_since) &&
              (asked.include_referrers || !name.startsWith('sha256-')) &&
              (asked.include_dates || !/-20\d{6}$/.test(name)) &&
              (asked.include_epochs || !/-r\d+$/.test(name)) &&
              (asked['uidp.children_of'] === undefined || uid.slice(0, -17) === asked['uidp.children_of']) &&
              (asked['uidp.descendants_of'] === undefined ||
                uid.startsWith(`${asked['uidp.descendants_of']}/`)),
          )
          .sort((a, b) => {
            const key = asked.order_by.startsWith('name')
              ? 'name'
              : asked.order_by.startsWith('upd')
                ? 'updateTime'
                : 'uid'
            const sign = asked.order_by.endsWith('desc') ? -1 : 1
            if (a[key] !== b[key]) return a[key] < b[key] ? -sign : sign
            return a.uid < b.uid ? -1 : 1
          })
        const seen: Seen[] = []
        for (let page_token = ''; ; ) {
          const { status, body, text } = await api.get('registry/tags', { ...query, page_token })
          assert.equal(status, 200, text)
          assert.equal(body.totalCount, String(expected.length))
          seen.push(...body.tags)
          page_token = body.nextPageToken
          if (page_token === '') break
        }
        assert.deepEqual(seen, expected)
      }),
      { numRuns: 40 },
    )
  })
})

onEveryDatabase('images', (cast) => {
  test('what was never pushed is not found, and a question that makes no sense is refused', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const { uid: repo } = await api.made(`registry/repos/${root}`, { name: 'nginx' })
    const manifest = missing('registry.chainguard.dev/Manifest', digest)
    for (const what of ['architectures', 'size']) {
      assertRefused(await api.get(`registry/repos/${repo}/digests/${digest}/${what}`), manifest)
      assertRefused(await api.get(`registry/repos/${repo}/digests/latest/${what}`), badField('digest'))
      const nowhere = `${root}/0123456789abcdef`
      assertRefused(
        await api.get(`registry/repos/${nowhere}/digests/${digest}/${what}`),
        missing(REPO, nowhere),
      )
    }
    const size = (architecture: string) =>
      api.get(`registry/repos/${repo}/digests/${digest}/size`, { architecture })
    assertRefused(await size('arm/v7'), manifest)
    assertRefused(await size('AMD 64'), badField('architecture'))
    assertRefused(await size('a'.repeat(limits.architectureCharsMax + 1)), badField('architecture'))
    const stranger: Api = (await cast().organization()).owner.api
    assertRefused(await stranger.get(`registry/repos/${repo}/digests/${digest}/size`), denied)
  })
})
