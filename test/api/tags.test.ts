import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import fc from 'fast-check'
import {
  type Api,
  assertError,
  failedPreconditionError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { runProperty } from '../support/api/paging.ts'
import { call } from '../support/api/rest.ts'
import { createRole } from '../support/api/tenant.ts'

const TYPE = 'registry.chainguard.dev/Tag'
const REPO = 'registry.chainguard.dev/Repo'
const digestOf = (digit: number | string) => `sha256:${String(digit).repeat(64)}`
const [a, b] = [digestOf('a'), digestOf('b')]

onEveryDatabase('tags', (cast) => {
  const repoOf = async (api: Api, group: string, name = 'nginx'): Promise<string> =>
    (await api.create(`registry/repos/${group}`, { name })).uid
  const newRepo = async () => {
    const organization = await cast().organization()
    return { ...organization, repo: await repoOf(organization.owner.api, organization.uid) }
  }
  const rowsOf = (repo: string) =>
    cast()
      .berth.berth.installation.store.db.kysely.selectFrom('tags')
      .selectAll()
      .where('parent', '=', repo)
      .execute()

  test('create, get, list, move and delete return the exact JSON', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const created = await api.post(`registry/tags/${repo}`, {
      name: '1.27',
      digest: a,
      bundles: ['fips', 'base'],
    })
    assert.equal(created.status, 200, created.text)
    const { uid, updateTime, ...rest } = created.body
    assert.equal(uid.slice(0, -17), repo)
    assert.match(updateTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepEqual(rest, { name: '1.27', digest: a, deprecated: false, bundles: ['fips', 'base'] })
    assert.deepEqual((await api.get(`registry/tags/${uid}`)).body, created.body)
    const listed = await api.get('registry/tags', { 'uidp.children_of': repo })
    assert.deepEqual(listed.body, { tags: [created.body], nextPageToken: '', totalCount: '1', skipped: 0 })
    const moved = await api.create(`registry/tags/${repo}`, { name: '1.27', digest: b, deprecated: true })
    assert.deepEqual(
      { ...moved, updateTime },
      { uid, name: '1.27', digest: b, updateTime, deprecated: true, bundles: [] },
    )
    assert.ok(moved.updateTime > updateTime)
    const deleted = await api.delete(`registry/tags/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`registry/tags/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.delete(`registry/tags/${uid}`), notFoundError(TYPE, uid))
    // R23: a tag of the same name is another one.
    assert.notEqual((await api.create(`registry/tags/${repo}`, { name: '1.27', digest: b })).uid, uid)
  })

  test('the same over gRPC', async () => {
    const { owner, repo } = await newRepo()
    const { token } = owner.api
    const { grpc } = cast()
    const { createTag, getTag, listTags, deleteTag } = TagsService.method
    const created = await grpc.call(
      createTag,
      { parent: repo, tag: { name: 'latest', digest: a, bundles: ['ai'] } },
      { token },
    )
    const { uid } = created
    assert.deepEqual(await grpc.call(getTag, { uid }, { token }), created)
    const listed = await grpc.call(listTags, { uidp: { childrenOf: repo }, digest: a }, { token })
    assert.deepEqual([listed.tags, listed.totalCount], [[created], 1n])
    const moved = await grpc.call(createTag, { parent: repo, tag: { name: 'latest', digest: b } }, { token })
    assert.deepEqual([moved.uid, moved.digest, moved.bundles], [uid, b, []])
    await assert.rejects(grpc.call(createTag, { parent: repo }, { token }), { code: 3 })
    for (const updatedSince of [
      { seconds: 2n ** 62n, nanos: 0 },
      { seconds: -(2n ** 62n), nanos: 0 },
      { seconds: 253_402_300_800n, nanos: 0 },
      { seconds: 1n, nanos: -1 },
      { seconds: 1n, nanos: 1_000_000_000 },
    ])
      await assert.rejects(grpc.call(listTags, { updatedSince }, { token }), { code: 3 })
    await grpc.call(deleteTag, { uid }, { token })
    await assert.rejects(grpc.call(getTag, { uid }, { token }), { code: 5 })
  })

  test('an invalid tag is rejected, field by field, and nothing is written', async () => {
    const { owner, uid: root, repo } = await newRepo()
    const { api } = owner
    const tag = { name: 'latest', digest: a }
    await api.create(`registry/tags/${repo}`, tag)
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of [
        [{}, 'name', 'digest'],
        [{ digest: a }, 'name'],
        [{ ...tag, name: '' }, 'name'],
        [{ ...tag, name: '.a' }, 'name'],
        [{ ...tag, name: 'a/b' }, 'name'],
        [{ ...tag, name: 'a\u0000' }, 'name'],
        [{ ...tag, name: 'a'.repeat(129) }, 'name'],
        [{ name: 'latest' }, 'digest'],
        [{ ...tag, digest: a.slice(7) }, 'digest'],
        [{ ...tag, digest: a.toUpperCase() }, 'digest'],
        [{ ...tag, digest: `${a}0` }, 'digest'],
        [{ ...tag, digest: `sha512:${'0'.repeat(64)}` }, 'digest'],
        [{ ...tag, bundles: ['gold'] }, 'bundles[0]'],
        [{ ...tag, bundles: ['ai', 'ai-gpu', 'ai'] }, 'bundles[2]'],
        [{ name: '-', digest: '', bundles: [''] }, 'name', 'digest', 'bundles[0]'],
        [{ ...tag, deprecated: 'yes' }, 'deprecated'],
        [{ ...tag, createTime: '2001-01-01T00:00:00Z' }, 'createTime'],
        [{ ...tag, bundles: 'ai' }, 'bundles'],
      ] as const)
        assertError(await api.post(`registry/tags/${repo}`, body), invalidFieldError(...fields))
      // A missing repo is reported before violations in the tag; a group is not a repo.
      for (const gone of [`${root}/0123456789abcdef`, `${repo}/0123456789abcdef`, root])
        for (const body of [tag, {}])
          assertError(await api.post(`registry/tags/${gone}`, body), notFoundError(REPO, gone))
      for (const bad of ['x', repo.slice(1)]) {
        assertError(await api.get(`registry/tags/${bad}`), invalidFieldError('uid'))
        assertError(await api.delete(`registry/tags/${bad}`), invalidFieldError('uid'))
        assertError(await api.post(`registry/tags/${bad}`, tag), invalidFieldError('parent'))
      }
    })
    for (const body of [
      { name: `_${'.'.repeat(127)}`, digest: a },
      { name: 'A', digest: `sha512:${'0'.repeat(128)}` },
      {
        name: 'a',
        digest: a,
        bundles: 'application base byol ai ai-gpu featured fips commercial emeritoss'.split(' '),
      },
    ])
      await api.create(`registry/tags/${repo}`, body)
  })

  test('creating an existing tag changes it in place, or not at all', async () => {
    const { owner, uid: root, repo } = await newRepo()
    const { api } = owner
    const first = { name: 'latest', digest: a, bundles: ['ai', 'base'] }
    const made = await api.create(`registry/tags/${repo}`, first)
    const [row] = await rowsOf(repo)
    cast().berth.advance(1000)
    await cast().writesNothing(async () =>
      assert.deepEqual(await api.create(`registry/tags/${repo}`, first), made),
    )
    let { updateTime } = made
    for (const body of [
      { ...first, digest: b },
      { ...first, digest: b, deprecated: true },
      { ...first, digest: b, deprecated: true, bundles: ['base', 'ai'] },
      { name: 'latest', digest: b },
    ]) {
      const moved = await api.create(`registry/tags/${repo}`, body)
      assert.ok(moved.updateTime > updateTime)
      ;({ updateTime } = moved)
      assert.deepEqual(moved, { deprecated: false, bundles: [], ...body, uid: made.uid, updateTime })
      assert.deepEqual((await api.get(`registry/tags/${made.uid}`)).body, moved)
    }
    const [later] = await rowsOf(repo)
    assert.equal(later?.created_ms, row?.created_ms)
    // Names differ by the case of their letters, and from repo to repo.
    const others = [
      await api.create(`registry/tags/${repo}`, { ...first, name: 'LATEST' }),
      await api.create(`registry/tags/${await repoOf(api, root, 'other')}`, first),
    ]
    assert.equal(new Set([made.uid, ...others.map(({ uid }) => uid)]).size, 3)
    const { body } = await api.get('registry/tags')
    assert.equal(body.totalCount, '3')
  })

  test('R18: output-only fields cannot be set', async () => {
    const { owner, repo } = await newRepo()
    const own = { uid: 'f'.repeat(40), updateTime: '2001-01-01T00:00:00Z' }
    const made = await owner.api.create(`registry/tags/${repo}`, { name: 'latest', digest: a, ...own })
    assert.notEqual(made.uid, own.uid)
    assert.notEqual(made.updateTime, own.updateTime)
    await cast().writesNothing(async () =>
      assert.deepEqual(
        await owner.api.create(`registry/tags/${repo}`, { name: 'latest', digest: a, ...own }),
        made,
      ),
    )
  })

  test('50 concurrent creates of one tag create one tag', async () => {
    const { owner, repo } = await newRepo()
    // The first round also opens the connections that make the others close races.
    for (const name of ['t1', 't2', 't3', 't4']) {
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          owner.api.post(`registry/tags/${repo}`, { name, digest: digestOf(at % 10) }),
        ),
      )
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.equal(new Set(replies.map(({ body }) => body.uid)).size, 1)
      const [last] = replies
        .map(({ body }) => body)
        .toSorted((x, y) => (x.updateTime < y.updateTime ? 1 : -1))
      const { body } = await owner.api.get('registry/tags', { 'uidp.children_of': repo, name })
      assert.deepEqual([body.tags, body.totalCount], [[last], '1'])
    }
  })

  test('tags are created, moved and deleted concurrently without losing count', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const work = Array.from({ length: 60 }, async (_, at) => {
      const body = { name: `t${at % 4}`, digest: digestOf(at % 10) }
      const { status, body: made, text } = await api.post(`registry/tags/${repo}`, body)
      assert.equal(status, 200, text)
      if (at % 3 === 0) assert.ok([200, 404].includes((await api.delete(`registry/tags/${made.uid}`)).status))
    })
    await Promise.all(work)
    const { body } = await api.get('registry/tags', { 'uidp.descendants_of': repo })
    const rows = await rowsOf(repo)
    assert.equal(new Set(rows.map(({ name }) => name)).size, rows.length)
    assert.deepEqual([body.tags.length, body.totalCount], [rows.length, String(rows.length)])
  })

  test('R20: a caller who may only create tags cannot move any tag', async () => {
    const { owner, uid: root, repo, member } = await newRepo()
    const maker = await member(await createRole(cast().berth, root, ['tag.create'], 'maker'))
    const mover = await member(await createRole(cast().berth, root, ['tag.update'], 'mover'))
    const both = await member(await createRole(cast().berth, root, ['tag.create', 'tag.update'], 'both'))
    for (const name of ['latest', '1.27', `sha256-${'0'.repeat(64)}`, '1-r0']) {
      const tag = { name, digest: a }
      const made = await maker.api.create(`registry/tags/${repo}`, tag)
      await cast().writesNothing(async () => {
        for (const change of [{ digest: b }, { deprecated: true }, { bundles: ['ai'] }])
          assertError(
            await maker.api.post(`registry/tags/${repo}`, { ...tag, ...change }),
            permissionDeniedError,
          )
        assertError(
          await mover.api.post(`registry/tags/${repo}`, { ...tag, digest: b }),
          permissionDeniedError,
        )
        assert.deepEqual(await maker.api.create(`registry/tags/${repo}`, tag), made)
      })
      const moved = await both.api.create(`registry/tags/${repo}`, { ...tag, digest: b })
      assert.deepEqual([moved.uid, moved.digest], [made.uid, b])
    }
    // Rights in another group do not help.
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const roleUid = await createRole(cast().berth, root, ['tag.update'], 'mover-2')
    await owner.api.create(`iam/roleBindings/${team.uid}`, { identityUid: maker.uid, roleUid })
    assertError(
      await maker.api.post(`registry/tags/${repo}`, { name: 'latest', digest: a }),
      permissionDeniedError,
    )
    const deep = await repoOf(owner.api, team.uid)
    await maker.api.create(`registry/tags/${deep}`, { name: 'latest', digest: a })
    await maker.api.create(`registry/tags/${deep}`, { name: 'latest', digest: b })
  })

  test('viewers only read tags, and registry.push also creates, moves and deletes them', async () => {
    const { owner, repo, member } = await newRepo()
    const { uid } = await owner.api.create(`registry/tags/${repo}`, { name: 'latest', digest: a })
    for (const role of ['viewer', 'registry.pull', 'editor']) {
      const { api } = await member(role)
      assert.equal((await api.get(`registry/tags/${uid}`)).status, 200)
      assert.equal((await api.get('registry/tags')).body.totalCount, '1')
      await cast().writesNothing(async () => {
        assertError(await api.post(`registry/tags/${repo}`, { name: 'a', digest: a }), permissionDeniedError)
        assertError(await api.post(`registry/tags/${repo}`, {}), permissionDeniedError)
        assertError(await api.delete(`registry/tags/${uid}`), permissionDeniedError)
      })
    }
    const { api } = await member('registry.push')
    const made = await api.create(`registry/tags/${repo}`, { name: 'a', digest: a })
    await api.create(`registry/tags/${repo}`, { name: 'a', digest: b })
    assert.equal((await api.delete(`registry/tags/${made.uid}`)).status, 200)
  })

  test('R17: tags of another organization can be neither read nor written', async () => {
    const [mine, theirs] = [await cast().organization(), await newRepo()]
    const tag = { name: 'latest', digest: a }
    const { uid } = await theirs.owner.api.create(`registry/tags/${theirs.repo}`, tag)
    const { api } = mine.owner
    await cast().writesNothing(async () => {
      for (const other of [uid, `${theirs.repo}/0123456789abcdef`]) {
        assertError(await api.get(`registry/tags/${other}`), permissionDeniedError)
        assertError(await api.delete(`registry/tags/${other}`), permissionDeniedError)
      }
      for (const repo of [theirs.repo, `${theirs.uid}/0123456789abcdef`])
        assertError(await api.post(`registry/tags/${repo}`, tag), permissionDeniedError)
    })
    for (const query of [
      { 'uidp.ids': uid },
      { 'uidp.children_of': theirs.repo },
      { digest: a },
      { name: 'latest' },
    ]) {
      const { body } = await api.get('registry/tags', query)
      assert.deepEqual([body.tags, body.totalCount], [[], '0'])
    }
  })

  test('a repo with tags cannot be deleted, and an empty one can', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const made = []
    for (const name of ['latest', `sha256-${'0'.repeat(64)}`])
      made.push(await api.create(`registry/tags/${repo}`, { name, digest: a }))
    for (const { uid } of made) {
      await cast().writesNothing(async () =>
        assertError(
          await api.delete(`registry/repos/${repo}`),
          failedPreconditionError('RESOURCE_NOT_EMPTY'),
        ),
      )
      assert.equal((await api.delete(`registry/tags/${uid}`)).status, 200)
    }
    assert.equal((await api.delete(`registry/repos/${repo}`)).status, 200)
    assertError(
      await api.post(`registry/tags/${repo}`, { name: 'latest', digest: a }),
      notFoundError(REPO, repo),
    )
  })

  test('a repo that is deleted while tags are created loses none', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const [made, deleted] = await Promise.all([
      Promise.all([1, 2, 3, 4].map((at) => api.post(`registry/tags/${repo}`, { name: `t${at}`, digest: a }))),
      api.delete(`registry/repos/${repo}`),
    ])
    const left = (await rowsOf(repo)).length
    assert.equal(left, made.filter(({ status }) => status === 200).length)
    if (deleted.status === 200) assert.equal(left, 0)
    else assertError(deleted, failedPreconditionError('RESOURCE_NOT_EMPTY'))
  })

  test('a deletion may require the version that was read', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const { uid } = await api.create(`registry/tags/${repo}`, { name: 'latest', digest: a })
    const url = `${cast().berth.url}/registry/v2beta1/tags/${uid}`
    const seen = await call('GET', url, { token: api.token })
    const etag = seen.headers.get('etag') ?? ''
    assert.match(etag, /^W\/"/)
    await api.create(`registry/tags/${repo}`, { name: 'latest', digest: b })
    const ask = (ifMatch: string) =>
      call('DELETE', url, { token: api.token, headers: { 'if-match': ifMatch } })
    await cast().writesNothing(async () =>
      assertError(await ask(etag), { status: 412, code: 9, violation: 'ETAG_MISMATCH' }),
    )
    const now = await call('GET', url, { token: api.token })
    assert.equal((await ask(now.headers.get('etag') ?? '')).status, 200)
  })

  test('a create that requires another version of the tag names the existing tag', async () => {
    const { owner, repo } = await newRepo()
    const { uid } = await owner.api.create(`registry/tags/${repo}`, { name: 'latest', digest: a })
    const reply = await cast().writesNothing(() =>
      call('POST', `${cast().berth.url}/registry/v2beta1/tags/${repo}`, {
        token: owner.api.token,
        headers: { 'if-match': 'W/"other"' },
        body: { name: 'latest', digest: b },
      }),
    )
    assertError(reply, { status: 412, code: 9, violation: 'ETAG_MISMATCH' })
    assert.equal(reply.body.details[1].violations[0].subject, uid)
  })

  test('a create that is repeated with its key does not move the tag back', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const send = () =>
      call('POST', `${cast().berth.url}/registry/v2beta1/tags/${repo}`, {
        token: api.token,
        headers: { 'idempotency-key': 'push-1' },
        body: { name: 'latest', digest: a },
      })
    const first = await send()
    assert.equal(first.status, 200, first.text)
    const moved = await api.create(`registry/tags/${repo}`, { name: 'latest', digest: b })
    assert.equal(moved.uid, first.body.uid)
    const again = await cast().writesNothing(send)
    assert.deepEqual([again.status, again.body], [200, first.body])
    assert.deepEqual((await api.get(`registry/tags/${moved.uid}`)).body, moved)
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const { uid } = await api.create(`registry/tags/${repo}`, { name: 'latest', digest: a })
    await api.create(`registry/tags/${repo}`, { name: 'latest', digest: a })
    await api.post(`registry/tags/${repo}`, { name: 'latest', digest: 'x' })
    await api.create(`registry/tags/${repo}`, { name: 'latest', digest: b })
    await api.delete(`registry/tags/${uid}`)
    const records = await cast().auditEventsOf(uid)
    assert.deepEqual(
      records.map(({ method, actor }) => [method.split('/')[1], actor]),
      ['CreateTag', 'CreateTag', 'DeleteTag'].map((method) => [method, owner.uid]),
    )
  })

  test('names of some forms are listed only on request, even by name', async () => {
    const { owner, repo } = await newRepo()
    const names = ['latest', 'sha256-1', '1-20250102', '1-r3', 'sha256-1-20250102', 'sha256-1-r3']
    for (const name of names) await owner.api.create(`registry/tags/${repo}`, { name, digest: a })
    const list = async (query: Record<string, string>) => {
      const { status, body, text } = await owner.api.get('registry/tags', { order_by: 'name', ...query })
      assert.equal(status, 200, text)
      assert.equal(Number(body.totalCount), body.tags.length)
      return body.tags.map(({ name }: { name: string }) => name)
    }
    const [referrers, dates, epochs] = ['include_referrers', 'includeDates', 'include_epochs'].map(
      (name) => ({
        [name]: 'true',
      }),
    )
    for (const [query, ...wanted] of [
      [{}, 'latest'],
      [{ include_dates: 'false' }, 'latest'],
      [referrers, 'latest', 'sha256-1'],
      [dates, '1-20250102', 'latest'],
      [epochs, '1-r3', 'latest'],
      [{ ...dates, ...epochs }, '1-20250102', '1-r3', 'latest'],
      [{ ...referrers, ...dates }, '1-20250102', 'latest', 'sha256-1', 'sha256-1-20250102'],
      [{ ...referrers, ...epochs }, '1-r3', 'latest', 'sha256-1', 'sha256-1-r3'],
      [{ ...referrers, ...dates, ...epochs }, ...names.toSorted()],
      [{ name: '1-r3' }],
      [{ name: '1-r3', ...dates }],
      [{ name: '1-r3', ...epochs }, '1-r3'],
      [{ name: 'sha256-1-r3', ...epochs }],
      [{ name: 'sha256-1-r3', ...epochs, ...referrers }, 'sha256-1-r3'],
      [{ name: '', digest: '' }, 'latest'],
      [{ name: 'Latest' }],
      [{ digest: a.toUpperCase() }],
      [{ digest: 'a' }],
    ] as [Record<string, string>, ...string[]][])
      assert.deepEqual(await list(query), wanted, JSON.stringify(query))
  })

  test('a list is ordered by uid, name and time of change, and filtered by valid times', async () => {
    const { owner, repo } = await newRepo()
    const { api } = owner
    const made: { uid: string; name: string; updateTime: string }[] = []
    for (const name of ['b', 'c', 'a']) {
      made.push(await api.create(`registry/tags/${repo}`, { name, digest: a }))
      cast().berth.advance(10)
    }
    const list = async (query: Record<string, string>) => {
      const { status, body, text } = await api.get('registry/tags', query)
      assert.equal(status, 200, text)
      return body.tags.map(({ name }: { name: string }) => name).join('')
    }
    const byUid = made
      .toSorted((x, y) => (x.uid < y.uid ? -1 : 1))
      .map(({ name }) => name)
      .join('')
    assert.equal(await list({}), byUid)
    assert.equal(await list({ order_by: 'uid desc' }), [...byUid].reverse().join(''))
    assert.equal(await list({ order_by: 'name' }), 'abc')
    for (const field of ['updated_at', 'update_time', 'updateTime']) {
      assert.equal(await list({ order_by: field }), 'bca')
      assert.equal(await list({ order_by: `${field} desc` }), 'acb')
    }
    for (const order_by of ['created_at', 'create_time', 'createTime', 'digest', 'forms', 'name;'])
      assertError(await api.get('registry/tags', { order_by }), invalidFieldError('order_by'))
    const at = made[1]!.updateTime
    const sorted = { order_by: 'updated_at' }
    assert.equal(await list({ ...sorted, updated_since: at }), 'a')
    assert.equal(await list({ ...sorted, updatedSince: at.replace('Z', '999999Z') }), 'a')
    const before = new Date(Date.parse(at) - 1).toISOString()
    assert.equal(await list({ ...sorted, updated_since: before.replace('Z', '999999+00:00') }), 'ca')
    assert.equal(await list({ ...sorted, updated_since: '0001-01-01T00:00:00Z' }), 'bca')
    assert.equal(await list({ ...sorted, updated_since: '9999-12-31T23:59:59.999999999Z' }), '')
    for (const updated_since of ['yesterday', '2025-01-02', '10000-01-01T00:00:00Z', '0'])
      assertError(await api.get('registry/tags', { updated_since }), invalidFieldError('updated_since'))
    assertError(
      await api.get('registry/tags', { 'updated_since.seconds': '9223372036854775807' }),
      invalidFieldError('updated_since'),
    )
    assertError(
      await api.get('registry/tags', { include_dates: 'maybe' }),
      invalidFieldError('include_dates'),
    )
    // A page token is valid only for its own filters.
    const { body } = await api.get('registry/tags', { page_size: '1' })
    for (const other of [{ include_dates: 'true' }, { updated_since: at }, { digest: a }])
      assertError(
        await api.get('registry/tags', { page_size: '1', page_token: body.nextPageToken, ...other }),
        invalidFieldError('page_token'),
      )
  })
})

/** A random registry and questions about it; numbers stand for repos and tags, modulo how many there are. */
const index = fc.nat(1000)
const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 1) => fc.option(arbitrary, { nil: undefined, freq })
const registries = fc.record({
  tags: fc.array(
    fc.record({
      repo: index,
      prefix: fc.constantFrom('', '', 'sha256-'),
      version: fc.constantFrom('latest', '1', '1.27', '20250102', 'r1'),
      suffix: fc.constantFrom('', '', '-dev', '-20250102', '-r0', '-r12', '-20250102-r1', '-r1-20250102'),
      digest: fc.nat(2),
      later: fc.nat(3),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  questions: fc.array(
    fc.record({
      asOwner: fc.boolean(),
      name: maybe(index),
      digest: maybe(fc.nat(3)),
      updatedSince: maybe(fc.tuple(index, fc.integer({ min: -1, max: 1 }), fc.boolean())),
      referrers: fc.boolean(),
      dates: fc.boolean(),
      epochs: fc.boolean(),
      childrenOf: maybe(index),
      descendantsOf: maybe(index),
      ids: maybe(fc.array(index, { minLength: 1, maxLength: 8 })),
      ancestorsOf: maybe(index, 3),
      order: fc.uniqueArray(
        fc.tuple(fc.constantFrom('name', 'updated_at', 'uid'), fc.constantFrom('', ' asc', ' desc')),
        { maxLength: 3, selector: ([field]) => field },
      ),
      pageSize: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 15, maxLength: 15 },
  ),
})
const orderColumn = { name: 'name', updated_at: 'updated_ms', uid: 'uid' } as const

for (const [title, sizes] of [
  ['with small buckets', { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }],
  ['as they are run', undefined],
] as const) {
  onEveryDatabase(
    `lists of tags ${title}`,
    (cast) => {
      const rows = () =>
        cast().berth.berth.installation.store.db.kysely.selectFrom('tags').selectAll().execute()
      const isBelow = (uid: string, group: string) => uid.startsWith(`${group}/`)

      test('every filter works, in any order, page by page', () =>
        runProperty(
          registries,
          async ({ tags, questions }) => {
            const { uid: root, owner, member } = await cast().organization()
            const team = (await owner.api.create(`iam/groups/${root}`, { name: 'team' })).uid
            const part = (await owner.api.create(`iam/groups/${team}`, { name: 'part' })).uid
            const places: string[] = []
            for (const [at, group] of [root, team, team, part].entries())
              places.push((await owner.api.create(`registry/repos/${group}`, { name: `r${at}` })).uid)
            const nodes = [...places, root, team, part]
            const pick = <T>(all: readonly T[], at: number) => all[at % all.length] as T
            for (const { repo, prefix, version, suffix, digest, later } of tags) {
              const body = { name: prefix + version + suffix, digest: digestOf(digest) }
              await owner.api.create(`registry/tags/${pick(places, repo)}`, body)
              cast().berth.advance(later)
            }
            const viewer = await member('viewer', team)
            const all = (await rows()).filter(({ uid }) => isBelow(uid, root))

            for (const question of questions) {
              const query: Record<string, string | string[]> = {}
              const conditions: ((row: (typeof all)[number]) => boolean)[] = []
              const filter = (given: typeof query, holds: (typeof conditions)[number]) => {
                Object.assign(query, given)
                conditions.push(holds)
              }
              if (!question.asOwner) conditions.push(({ uid }) => isBelow(uid, team))
              if (question.name !== undefined) {
                const { name } = pick(all, question.name)
                filter({ name }, (row) => row.name === name)
              }
              if (question.digest !== undefined) {
                const digest = digestOf(question.digest)
                filter({ digest }, (row) => row.digest === digest)
              }
              if (question.updatedSince !== undefined) {
                const [at, by, finer] = question.updatedSince
                const ms = pick(all, at).updated_ms + by
                const text = new Date(ms).toISOString()
                filter(
                  { updated_since: finer ? text.replace('Z', '500Z') : text },
                  (row) => row.updated_ms > (finer ? ms + 0.5 : ms),
                )
              }
              const { referrers, dates, epochs } = question
              if (referrers) query['include_referrers'] = 'true'
              else conditions.push(({ name }) => !name.startsWith('sha256-'))
              if (dates) query['include_dates'] = 'true'
              else conditions.push(({ name }) => !name.endsWith('-20250102'))
              if (epochs) query['include_epochs'] = 'true'
              else conditions.push(({ name }) => !['-r0', '-r1', '-r12'].some((end) => name.endsWith(end)))
              if (question.childrenOf !== undefined) {
                const place = pick(nodes, question.childrenOf)
                filter({ 'uidp.children_of': place }, (row) => row.parent === place)
              }
              if (question.descendantsOf !== undefined) {
                const place = pick(nodes, question.descendantsOf)
                filter({ 'uidp.descendants_of': place }, ({ uid }) => isBelow(uid, place))
              }
              if (question.ids !== undefined) {
                const ids = question.ids.map((at) => pick(all, at).uid)
                filter({ 'uidp.ids': ids }, ({ uid }) => ids.includes(uid))
              }
              if (question.ancestorsOf !== undefined) {
                const place = pick([...nodes, ...all.map(({ uid }) => uid)], question.ancestorsOf)
                filter({ 'uidp.ancestors_of': place }, (row) => `${place}/`.startsWith(`${row.parent}/`))
              }
              const { order, pageSize } = question
              if (order.length > 0) query['order_by'] = order.map((key) => key.join('')).join(', ')
              const wanted = all
                .filter((row) => conditions.every((holds) => holds(row)))
                .toSorted((x, y) => {
                  for (const [field, direction] of [...order, ['uid', ''] as const]) {
                    const column = orderColumn[field]
                    if (x[column] !== y[column])
                      return (x[column] < y[column] ? -1 : 1) * (direction === ' desc' ? -1 : 1)
                  }
                  return 0
                })
                .map(({ uid }) => uid)

              const { api } = question.asOwner ? owner : viewer
              const seen: string[] = []
              let page_token = ''
              do {
                const { status, body, text } = await api.get('registry/tags', {
                  ...query,
                  page_size: String(pageSize),
                  page_token,
                })
                assert.equal(status, 200, text)
                assert.equal(body.totalCount, String(wanted.length))
                seen.push(...body.tags.map(({ uid }: { uid: string }) => uid))
                page_token = body.nextPageToken
              } while (page_token !== '')
              assert.deepEqual(seen, wanted, JSON.stringify(query))
            }
          },
          6,
        ))
    },
    sizes === undefined ? {} : { sizes },
  )
}
