import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import type { Uid } from '@berth/server/api/uid.ts'
import { randomUids } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import fc from 'fast-check'
import {
  type Api,
  type ApiFixture,
  apiOf,
  assertError,
  invalidFieldError,
  managedRole,
  newName,
  type Organization,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import {
  assertGetsMatchList,
  assertPagesMatchList,
  assertSkipsAddUp,
  assertStableUnderChanges,
  listQuestions,
  runProperty,
} from '../support/api/paging.ts'

const DAY_MS = 24 * 3_600_000
const runs = 12
const small = listQuestions({ groups: 12, rows: 5 })

/** An organization with six groups in it, and its owner. */
async function six(organization: Organization): Promise<Api> {
  for (const name of ['b', 'a', 'd', 'c', 'f', 'e'])
    await organization.owner.api.create(`iam/groups/${organization.uid}`, { name })
  return organization.owner.api
}

const names = (body: { groups: { name: string }[] }) => body.groups.map(({ name }) => name).join('')

for (const [title, sizes] of [
  ['with small buckets', { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }],
  ['as they are run', undefined],
] as const) {
  onEveryDatabase(
    `lists ${title}`,
    (cast) => {
      test('all pages together are the list, in order, with its total', () =>
        runProperty(small, (question) => assertPagesMatchList(cast(), question), runs))

      test('a further skip counts from the cursor', () =>
        runProperty(
          fc.tuple(small, fc.nat(30)),
          ([question, further]) => assertSkipsAddUp(cast(), question, further),
          runs,
        ))

      test('changes between pages neither repeat nor skip another row', () =>
        runProperty(
          fc.tuple(small, fc.array(fc.nat(1000), { minLength: 1 })),
          ([question, changes]) => assertStableUnderChanges(cast(), { ...question, skip: 0 }, changes),
          runs,
        ))

      test('R24: a list contains exactly what Get allows', () =>
        runProperty(small, (question) => assertGetsMatchList(cast(), question), Math.ceil(runs / 3)))
    },
    sizes === undefined ? {} : { sizes },
  )
}

onEveryDatabase(
  'lists of a caller with roles in more folders than one statement reads',
  (cast) => {
    test('all pages are in the order of uids, upwards and downwards, also with a filter', async () => {
      const organization = await cast().organization()
      const { api } = organization.owner
      const first = await newFolder(organization)
      const member = await organization.member('viewer', first.uid)
      const visible = [first]
      for (let at = 0; at < 24; at++) {
        const folder = await newFolder(organization)
        const below = []
        for (let child = 0; child < at % 4; child++)
          below.push(await api.create(`iam/groups/${folder.uid}`, { name: ['one', 'two', 'three'][child] }))
        // Some folders between the others are not visible.
        if (at % 5 === 4) continue
        await bindViewer(cast(), folder.uid, member.uid)
        visible.push(folder, ...below)
      }
      const expected = visible.map(({ uid }) => uid).sort()
      for (const page_size of ['1', '3', '7', '19', '200']) {
        assert.deepEqual(await all(member.api, { page_size }), expected, page_size)
        assert.deepEqual(
          await all(member.api, { page_size, order_by: 'uid desc' }),
          expected.toReversed(),
          page_size,
        )
        for (const name of ['one', 'three', 'none'])
          assert.deepEqual(
            await all(member.api, { page_size, name }),
            visible
              .filter((group) => group.name === name)
              .map(({ uid }) => uid)
              .sort(),
            `${name} ${page_size}`,
          )
        assert.deepEqual(await all(member.api, { page_size, skip: '11' }), expected.slice(11))
      }
    })
  },
  { sizes: { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 } },
)

const bindViewer = ({ admin }: ApiFixture, folder: string, identityUid: string) =>
  admin.create(`iam/roleBindings/${folder}`, { identityUid, roleUid: managedRole('viewer') })

const newFolder = ({ uid, owner }: Organization) =>
  owner.api.create(`iam/groups/${uid}`, { name: newName('folder') })

/** The uids of all pages of a list of groups. Each page states the total. */
async function all(api: Api, query: Record<string, string>): Promise<string[]> {
  const uids: string[] = []
  const totals = new Set<string>()
  for (let page_token = ''; ; ) {
    const { body } = await api.get('iam/groups', { ...query, page_token })
    uids.push(...body.groups.map(({ uid }: { readonly uid: string }) => uid))
    totals.add(body.totalCount)
    page_token = body.nextPageToken
    if (page_token !== '') continue
    assert.deepEqual([...totals], [String(uids.length + Number(query['skip'] ?? 0))])
    return uids
  }
}

onEveryDatabase('page tokens and parameters', (cast) => {
  test('a page has 50 rows, or the requested number, and never more than 200', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    for (let at = 0; at < 205; at += 41)
      await Promise.all(
        Array.from({ length: 41 }, (_, n) => api.create(`registry/repos/${root}`, { name: `r${at + n}` })),
      )
    const sizes = [
      ['', 50],
      ['0', 50],
      ['1', 1],
      ['50', 50],
      ['200', 200],
      ['201', 200],
      ['2147483647', 200],
    ] as const
    for (const [asked, got] of sizes) {
      const { status, body } = await api.get('registry/repos', asked === '' ? {} : { page_size: asked })
      assert.deepEqual([status, body.repos.length, body.totalCount], [200, got, '205'], asked)
      assert.notEqual(body.nextPageToken, '')
    }
    const first = await api.get('registry/repos', { page_size: '200' })
    const rest = await api.get('registry/repos', { page_size: '7', page_token: first.body.nextPageToken })
    assert.deepEqual([rest.body.repos.length, rest.body.nextPageToken, rest.body.totalCount], [5, '', '205'])
  })

  test('R28: invalid page sizes and skips are rejected', async () => {
    const { owner } = await cast().organization()
    for (const value of ['-1', '2147483648', '99999999999999999999', '1.5', 'x', 'NaN', '0x10']) {
      assertError(await owner.api.get('iam/groups', { page_size: value }), invalidFieldError('page_size'))
      assertError(await owner.api.get('iam/groups', { skip: value }), invalidFieldError('skip'))
    }
    const { status, body } = await owner.api.get('iam/groups', { skip: '2147483647' })
    assert.deepEqual([status, body.groups, body.totalCount, body.skipped], [200, [], '1', 2147483647])
    const { grpc } = cast()
    const { listGroups } = GroupsService.method
    for (const request of [{ pageSize: -1 }, { skip: -1 }])
      await assert.rejects(grpc.call(listGroups, request, { token: owner.api.token }), { code: 3 })
    const many = Array.from({ length: limits.filterIdsMax + 1 }, () => 'f'.repeat(40))
    await assert.rejects(grpc.call(listGroups, { uidp: { ids: many } }, { token: owner.api.token }), {
      code: 3,
    })
  })

  test('filterIdsMax uids are found by a caller with roles in many folders', async () => {
    const organization = await cast().organization()
    const folders = [await newFolder(organization)]
    const member = await organization.member('viewer', folders[0]?.uid)
    for (let at = 1; at < 40; at++) {
      const folder = await newFolder(organization)
      folders.push(folder)
      await bindViewer(cast(), folder.uid, member.uid)
    }
    const named = [folders[0], folders[20], folders[39]].map((folder) => folder?.uid as string)
    const unknown = Array.from({ length: limits.filterIdsMax - named.length }, (_, at) =>
      at.toString(16).padStart(40, '0'),
    )
    const { groups, totalCount } = await cast().grpc.call(
      GroupsService.method.listGroups,
      { uidp: { ids: [...unknown, ...named] } },
      { token: member.api.token },
    )
    assert.deepEqual([groups.map(({ uid }) => uid), totalCount], [named.toSorted(), 3n])
  })

  test('the sum of skips stays within the range of the field', async () => {
    const api = await six(await cast().organization())
    const first = await api.get('iam/groups', { page_size: '1', skip: '1' })
    const { body } = await api.get('iam/groups', { page_token: first.body.nextPageToken, skip: '2147483647' })
    assert.deepEqual([body.groups, body.skipped], [[], 2147483647])
  })

  test('rows are in the requested order', async () => {
    const organization = await cast().organization()
    const api = await six(organization)
    const list = async (order_by: string) => {
      const { body } = await api.get('iam/groups', { 'uidp.children_of': organization.uid, order_by })
      return names(body)
    }
    assert.equal(await list('name'), 'abcdef')
    assert.equal(await list('name asc'), 'abcdef')
    assert.equal(await list(' name  desc '), 'fedcba')
    assert.equal(await list('created_at,name'), await list('createTime, name asc'))
    assert.equal((await list('created_at desc, name')).length, 6)
    assert.equal(await list('update_time,name'), await list('updated_at,name'))
  })

  test('R27: an order by an unknown field is rejected', async () => {
    const { owner } = await cast().organization()
    const orders = [
      'description',
      'root',
      'created_ms',
      'NAME',
      'name up',
      'name desc desc',
      'name,',
      ',name',
      'name,name',
      'name;drop table groups',
      'name desc, (select 1)',
      '1',
      '*',
      'constructor',
      '__proto__',
      'uid,uid',
      'uid,name,created_at,updated_at,uid,name',
    ]
    for (const order_by of orders)
      assertError(await owner.api.get('iam/groups', { order_by }), invalidFieldError('order_by'))
  })

  test('R26: a changed, truncated or invented token is rejected', async () => {
    const api = await six(await cast().organization())
    const { body } = await api.get('iam/groups', { page_size: '2' })
    const token: string = body.nextPageToken
    assert.match(token, /^[A-Za-z0-9_-]+$/)
    const flipped = Array.from({ length: token.length }, (_, at) => {
      const bytes = [...token]
      bytes[at] = bytes[at] === 'A' ? 'B' : 'A'
      return bytes.join('')
    })
    const forged = [
      ...flipped.filter((one) => one !== token),
      token.slice(0, -1),
      token.slice(1),
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      'x',
      '%00',
      Buffer.from('{"offset":50}').toString('base64'),
      'A'.repeat(limits.pageTokenCharsMax + 1),
    ]
    for (const page_token of forged)
      assertError(
        await api.get('iam/groups', { page_size: '2', page_token }),
        invalidFieldError('page_token'),
      )
  })

  test('R26: a token is valid only for its own caller, collection, filter and order', async () => {
    const organization = await cast().organization()
    const api = await six(organization)
    const query = { 'uidp.descendants_of': organization.uid, order_by: 'name', page_size: '2' }
    const page_token: string = (await api.get('iam/groups', query)).body.nextPageToken
    const asked = { ...query, page_token }
    const other = await organization.member('viewer')
    const { berth } = cast()
    const narrowed = apiOf(berth, await berth.tokenOf(organization.owner.uid, { scopes: [organization.uid] }))
    const refused = invalidFieldError('page_token')
    for (const caller of [other.api, cast().admin, narrowed])
      assertError(await caller.get('iam/groups', asked), refused)
    for (const collection of ['iam/roles', 'iam/identities', 'iam/roleBindings', 'registry/repos']) {
      const { order_by: _, ...unordered } = asked
      assertError(await api.get(collection, collection === 'iam/roleBindings' ? unordered : asked), refused)
    }
    for (const change of [
      { order_by: 'name desc' },
      { order_by: 'uid' },
      { name: 'a' },
      { 'uidp.in_root': 'true' },
      { 'uidp.children_of': organization.uid },
      { 'uidp.descendants_of': `${organization.uid}/0123456789abcdef` },
    ]) {
      assertError(await api.get('iam/groups', { ...asked, ...change }), refused)
    }
    // The same caller with a new token of its own, and with another page size, goes on.
    const again = apiOf(berth, await berth.tokenOf(organization.owner.uid))
    assert.equal(names((await again.get('iam/groups', { ...asked, page_size: '3' })).body), 'cde')
  })

  test('R26: a token gives no access that was removed', async () => {
    const organization = await cast().organization()
    await six(organization)
    const member = await organization.member('viewer')
    const { body } = await member.api.get('iam/groups', { page_size: '2' })
    await organization.owner.api.delete(`iam/roleBindings/${member.binding}`)
    const next = await member.api.get('iam/groups', { page_token: body.nextPageToken })
    assert.deepEqual([next.status, next.body.groups, next.body.nextPageToken], [200, [], ''])
  })

  test('a skip in a request with a token applies only if it has changed (decision 4)', async () => {
    const organization = await cast().organization()
    const api = await six(organization)
    const query = { 'uidp.children_of': organization.uid, order_by: 'name', page_size: '2' }
    const first = await api.get('iam/groups', { ...query, skip: '1' })
    assert.deepEqual([names(first.body), first.body.skipped], ['bc', 1])
    const page_token = first.body.nextPageToken
    for (const [skip, wanted, skipped] of [
      ['1', 'de', 1],
      ['0', 'de', 1],
      ['2', 'f', 3],
    ] as const) {
      const { body } = await api.get('iam/groups', { ...query, page_token, skip })
      assert.deepEqual([names(body), body.skipped, body.totalCount], [wanted, skipped, '6'])
    }
  })

  test('unknown parameters are rejected with the names of those that exist, both spellings are accepted', async () => {
    const organization = await cast().organization()
    const api = await six(organization)
    const snake = await api.get('iam/groups', {
      'uidp.children_of': organization.uid,
      order_by: 'name',
      page_size: '2',
    })
    assertError(await api.get('iam/groups', { offset: '3' }), invalidFieldError('offset'))
    // A filter of other lists would seem to match everything.
    const bindings = await api.get('iam/roleBindings', { name: 'x' })
    assertError(bindings, invalidFieldError('name'))
    assert.match(bindings.body.message, /which has .*identity.*page_size/s)
    assertError(
      await api.get('vulnerabilities/advisories', { artifact_name: 'git' }),
      invalidFieldError('artifact_name'),
    )
    const camel = await api.get('iam/groups', {
      'uidp.childrenOf': organization.uid,
      orderBy: 'name',
      pageSize: '2',
    })
    assert.deepEqual(camel.body.groups, snake.body.groups)
    assertError(await api.get('iam/groups', { page_size: ['1', '2'] }), invalidFieldError('page_size'))
  })
})

onEveryDatabase('an expired token', (cast) => {
  test('restarts the query after three days, without an error', async () => {
    const organization = await cast().organization()
    const api = await six(organization)
    const { berth } = cast()
    const query = { 'uidp.children_of': organization.uid, order_by: 'name', page_size: '2', skip: '1' }
    const { nextPageToken: page_token } = (await api.get('iam/groups', query)).body
    const ask = async () => {
      // The caller's own token lives for an hour only.
      const { status, body, text } = await apiOf(berth, await berth.tokenOf(organization.owner.uid)).get(
        'iam/groups',
        { ...query, page_token },
      )
      assert.equal(status, 200, text)
      return [names(body), body.skipped]
    }
    berth.advance(3 * DAY_MS - 60_000)
    assert.deepEqual(await ask(), ['de', 1])
    berth.advance(60_001)
    assert.deepEqual(await ask(), ['bc', 1])
  })
})

const planned: Uid[] = []
onEveryDatabase(
  'uids',
  (cast) => {
    test('R23: the uid of a deleted resource is never reused', async () => {
      const { owner, uid: root } = await cast().organization()
      const { api } = owner
      const made = await api.create(`registry/repos/${root}`, { name: 'first' })
      await api.delete(`registry/repos/${made.uid}`)
      for (const [path, body] of [
        [`registry/repos/${root}`, { name: 'second' }],
        [`iam/groups/${root}`, { name: 'second' }],
      ] as const) {
        planned.push(made.uid)
        const reply = await cast().writesNothing(() => api.post(path, body))
        assert.deepEqual([reply.status, reply.body.code], [500, 13])
        assert.doesNotMatch(reply.text, new RegExp(made.uid))
      }
      assert.equal((await api.get(`registry/repos/${made.uid}`)).status, 404)
      const gone = await cast().admin.create('iam/groups', { name: newName('gone') })
      await cast().admin.delete(`iam/groups/${gone.uid}`)
      planned.push(gone.uid)
      const again = await cast().writesNothing(() =>
        cast().admin.post('iam/groups', { name: newName('again') }),
      )
      assert.deepEqual([again.status, again.body.code], [500, 13])
    })
  },
  {
    uids: {
      root: () => planned.shift() ?? randomUids.root(),
      child: (parent) => planned.shift() ?? randomUids.child(parent),
      timeOrderedChild: randomUids.timeOrderedChild,
    },
  },
)

let statements = 0
onEveryDatabase(
  'the cost of a list',
  (cast) => {
    test('is the same number of statements for any content', async () => {
      const organization = await cast().organization()
      const { api } = organization.owner
      for (let n = 0; n < 30; n++) await api.create(`iam/groups/${organization.uid}`, { name: `g${n}` })
      for (const { uid } of (await api.get('iam/groups')).body.groups)
        await api.post(`registry/repos/${uid}`, { name: 'nginx' })
      const robots = await api.get('iam/identities')
      for (const { uid } of robots.body.identities)
        assert.equal((await api.get(`iam/identities/${uid}`)).status, 200)
      const cost = async (path: string, query: Record<string, string>) => {
        await api.get(path, query) // what is remembered of the caller is not the list's
        statements = 0
        const { status, body } = await api.get(path, query)
        assert.equal(status, 200)
        return [statements, body.nextPageToken]
      }
      for (const [path, extra] of [
        ['iam/groups', 0],
        ['iam/identities', 0],
        ['iam/roles', 0],
        ['iam/roleBindings', 3],
        ['registry/repos', 0],
      ] as const) {
        const [one] = await cost(path, { page_size: '1' })
        assert.ok(Number(one) <= 2 + extra, path)
        for (const query of [{ page_size: '200' }, { page_size: '3', skip: '7' }]) {
          const [more] = await cost(path, query as unknown as Record<string, string>)
          assert.ok(Number(more) <= Number(one), path)
        }
        const [filtered] = await cost(path, { page_size: '20', 'uidp.children_of': organization.uid })
        assert.ok(Number(filtered) <= 3 + extra, path)
      }
    })
  },
  { only: 'sqlite', meter: { statement: () => statements++ } },
)
