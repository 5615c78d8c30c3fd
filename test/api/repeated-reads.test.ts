import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { type Group, GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { DAY_MS, limits } from '@berth/server/config/limits.ts'
import { encodeFrame } from '@berth/server/gateway/grpc/frame.ts'
import { create, toBinary } from '@bufbuild/protobuf'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import {
  type Api,
  apiOf,
  claimMatch,
  managedRole,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { ecKey, publicPem } from '../support/signatures/certificates.ts'

const digestOf = (digit: string) => `sha256:${digit.repeat(64)}`

/** Reads that are repeated, which SQLite serves from a cache (docs/adr/0106), show every change. */

onEveryDatabase('repeated reads', (cast) => {
  /** Repeats a read until it is cached and encoded, and returns the last reply. All replies are the same. */
  async function repeat(read: () => Promise<RestReply>): Promise<RestReply> {
    const first = await read()
    for (let n = 0; n < 3; n++) {
      const again = await read()
      assert.deepEqual([again.status, again.text], [first.status, withoutPageToken(first, again)])
    }
    return read()
  }

  /** The text of a reply with the page token of another one: each read issues its own. */
  const withoutPageToken = (reply: RestReply, other: RestReply) =>
    reply.text.replaceAll(reply.body.nextPageToken || '-', other.body.nextPageToken || '-')

  interface Kind {
    /** Path of the list. */
    readonly list: string
    /** Member of the list. */
    readonly items: string
    readonly parent: string
    readonly body: object
    /** A field that can change, and its new value. */
    readonly change?: readonly [field: string, value: string]
    /** Whether a create of the same name is the change. */
    readonly isUpsert?: boolean
  }

  /** A resource of each kind that is cached. */
  async function everyKind(uid: string, api: Api): Promise<Kind[]> {
    const identity = await api.create(`iam/identities/${uid}`, { name: newName('robot'), claimMatch })
    const capabilities = ['CAP_REPO_LIST']
    const role = await api.create(`iam/roles/${uid}`, { name: newName('role'), capabilities })
    const other = await api.create(`iam/roles/${uid}`, { name: newName('other'), capabilities })
    const repo = await api.create(`registry/repos/${uid}`, { name: newName('repo') })
    const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 's' }
    const provider = { name: newName('provider'), defaultRole: role.uid, oidc }
    const { uid: trusted } = await cast().admin.create(`iam/identityProviders/${uid}`, {
      ...provider,
      name: newName('login'),
    })
    const group = await api.create(`iam/groups/${uid}`, { name: newName('group') })
    const key = publicPem(ecKey())
    const named = { name: newName('one') }
    const described = ['description', 'changed'] as const
    const roleChanged = ['roleUid', other.uid] as const
    const github = { appInstallations: { 77: { installations: [{ installationId: '123', name: 'acme' }] } } }
    const list = (list: string, body: object, change?: Kind['change'], parent = uid): Kind => ({
      list,
      items: list.split('/')[1] ?? '',
      parent,
      body,
      ...(change && { change }),
    })
    return [
      list('iam/groups', named, described),
      list('iam/roles', { ...named, capabilities }, described),
      list('iam/roleBindings', { identityUid: identity.uid, roleUid: role.uid }, roleChanged),
      list('iam/groupInvites', { roleUid: role.uid, ttl: '3600s' }, roleChanged),
      list('iam/identityProviders', provider, described),
      list('iam/accountAssociations', { ...named, github }, described, group.uid),
      list(
        'iam/externalGroupRoleMappings',
        { externalGroupId: 'admins', roleUid: role.uid, scope: uid },
        undefined,
        trusted,
      ),
      list('registry/repos', named, described),
      {
        ...list(
          'registry/tags',
          { name: 'latest', digest: digestOf('a') },
          ['digest', digestOf('b')],
          repo.uid,
        ),
        isUpsert: true,
      },
      list('registry/signatureVerifiers', { ...named, publicKey: { key } }, described),
    ]
  }

  test('a change of every kind of resource is shown by the next Get and the next list', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    for (const { list, items, parent, body, change, isUpsert } of await everyKind(root, api)) {
      const listed = () => api.get(list, { 'uidp.descendants_of': root })
      const uidsOf = (reply: RestReply) => reply.body[items].map(({ uid }: { uid: string }) => uid)
      const before = await repeat(listed)
      const made = await api.create(`${list}/${parent}`, body)
      const withNew = await repeat(listed)
      assert.deepEqual(new Set(uidsOf(withNew)), new Set([...uidsOf(before), made.uid]), list)
      assert.equal(Number(withNew.body.totalCount), Number(before.body.totalCount) + 1)

      const read = () => api.get(`${list}/${made.uid}`)
      await repeat(read)
      if (change !== undefined) {
        const [field, value] = change
        const changed = isUpsert
          ? await api.post(`${list}/${parent}`, { ...body, [field]: value })
          : await api.patch(`${list}/${made.uid}`, { [field]: value })
        assert.equal(changed.status, 200, changed.text)
        const after = await read()
        assert.equal(after.body[field], value, list)
        assert.equal(after.headers.get('etag'), changed.headers.get('etag'))
        const one = (await listed()).body[items].find(({ uid }: { uid: string }) => uid === made.uid)
        assert.equal(one[field], value, list)
      }

      await repeat(read)
      await repeat(listed)
      assert.equal((await api.delete(`${list}/${made.uid}`)).status, 200)
      assert.equal((await read()).status, 404, list)
      assert.deepEqual(uidsOf(await listed()), uidsOf(before), list)
    }
  })

  test('a resource that another one embeds is shown as it is now', async () => {
    const { owner, uid } = await cast().organization()
    const { api } = owner
    const role = await api.create(`iam/roles/${uid}`, { name: 'reader', capabilities: ['CAP_REPO_LIST'] })
    const robot = await api.create(`iam/identities/${uid}`, { name: 'robot', claimMatch })
    const binding = await api.create(`iam/roleBindings/${uid}`, { identityUid: robot.uid, roleUid: role.uid })
    const read = () => api.get(`iam/roleBindings/${binding.uid}`)
    assert.equal((await repeat(read)).body.role.name, 'reader')
    await api.patch(`iam/roles/${role.uid}`, { name: 'renamed' })
    assert.equal((await read()).body.role.name, 'renamed')
    await repeat(read)
    await api.patch(`iam/identities/${robot.uid}`, { name: 'machine' })
    assert.equal((await read()).body.identity.name, 'machine')
    await repeat(read)
    await api.patch(`iam/groups/${uid}`, { description: 'renamed' })
    assert.equal((await read()).body.group.description, 'renamed')
    const invite = await api.create(`iam/groupInvites/${uid}`, { roleUid: role.uid, ttl: '3600s' })
    const readInvite = () => api.get(`iam/groupInvites/${invite.uid}`)
    assert.equal((await repeat(readInvite)).body.role.name, 'renamed')
    await api.patch(`iam/roles/${role.uid}`, { name: 'again' })
    assert.equal((await readInvite()).body.role.name, 'again')
  })

  test('each caller gets its own list, until its roles change', async () => {
    const organization = await cast().organization()
    const { owner, uid } = organization
    const inside = await owner.api.create(`iam/groups/${uid}`, { name: 'inside' })
    const outside = await owner.api.create(`iam/groups/${uid}`, { name: 'outside' })
    const viewer = await organization.member('viewer', inside.uid)
    const names = (reply: RestReply) => reply.body.groups.map(({ name }: { name: string }) => name)
    const list = (api: Api) => () => api.get('iam/groups', { 'uidp.descendants_of': uid, order_by: 'name' })
    assert.deepEqual(names(await repeat(list(owner.api))), ['inside', 'outside'])
    assert.deepEqual(names(await repeat(list(viewer.api))), ['inside'])
    const narrowed = apiOf(cast().berth, await cast().berth.tokenOf(owner.uid, { scopes: [outside.uid] }))
    assert.deepEqual(names(await repeat(list(narrowed))), ['outside'])
    assert.deepEqual(names(await repeat(list(owner.api))), ['inside', 'outside'])

    assert.equal((await narrowed.get(`iam/groups/${inside.uid}`)).status, 403)
    assert.equal((await repeat(() => viewer.api.get(`iam/groups/${inside.uid}`))).status, 200)
    await owner.api.delete(`iam/roleBindings/${viewer.binding}`)
    assert.equal((await viewer.api.get(`iam/groups/${inside.uid}`)).status, 403)
    assert.deepEqual(names(await list(viewer.api)()), [])
  })

  test('R12: a list that was started before its caller lost a role is not shown to later requests', async () => {
    const organization = await cast().organization()
    const { owner, uid } = organization
    const viewer = await organization.member('viewer')
    const list = () => viewer.api.get('iam/groups', { 'uidp.descendants_of': uid })
    await owner.api.create(`iam/groups/${uid}`, { name: 'inside' })
    assert.equal((await list()).body.groups.length, 1)

    const session = connect(cast().berth.url)
    await once(session, 'connect')
    const { listGroups } = GroupsService.method
    const message = toBinary(listGroups.input, create(listGroups.input, { uidp: { descendantsOf: uid } }))
    const streams = Array.from({ length: 3 }, () =>
      session.request({
        ':method': 'POST',
        ':path': `/${GroupsService.typeName}/${listGroups.name}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${viewer.api.token}`,
      }),
    )
    // The server has authorized the headers when it responds to what follows them; the first ping may be sent before them.
    for (let n = 0; n < 2; n++) await new Promise((resolve) => session.ping(resolve))
    assert.equal((await owner.api.delete(`iam/roleBindings/${viewer.binding}`)).status, 200)
    for (const stream of streams) {
      stream.resume()
      stream.end(encodeFrame(message, false))
      await once(stream, 'close')
    }
    session.close()
    assert.deepEqual((await list()).body.groups, [])
  })

  test('REST and gRPC share what is cached, each in its encoding, and version 1 in its own', async () => {
    const { grpc, berth } = cast()
    const { owner, uid } = await cast().organization()
    const { token } = owner.api
    const { uid: team } = await owner.api.create(`iam/groups/${uid}`, { name: 'team', description: 'one' })
    const { getGroup, listGroups } = GroupsService.method
    const overGrpc = async (): Promise<(Group | undefined)[]> => {
      const { groups } = await grpc.call(listGroups, { uidp: { descendantsOf: uid } }, { token })
      return [await grpc.call(getGroup, { uid: team }, { token }), groups[0]]
    }
    const overV1 = async () => {
      const { body } = await call('GET', `${berth.url}/iam/v1/groups?uidp.descendants_of=${uid}`, { token })
      return body.items.map(({ description }: { description: string }) => description)
    }
    const all = async () => {
      const { body } = await repeat(() => owner.api.get(`iam/groups/${team}`))
      const shown = [body.description, ...(await overV1())]
      for (const group of await overGrpc()) shown.push(group?.description)
      return shown
    }
    for (let n = 0; n < 4; n++) assert.deepEqual(await all(), ['one', 'one', 'one', 'one'])
    await owner.api.patch(`iam/groups/${team}`, { description: 'two' })
    for (let n = 0; n < 4; n++) assert.deepEqual(await all(), ['two', 'two', 'two', 'two'])
  })

  test('a repeated Get of the version that the client has is 304', async () => {
    const { berth } = cast()
    const { owner, uid } = await cast().organization()
    const url = `${berth.url}/iam/v2beta1/groups/${uid}`
    const { token } = owner.api
    const etag = (await repeat(() => owner.api.get(`iam/groups/${uid}`))).headers.get('etag') ?? ''
    for (let n = 0; n < 3; n++)
      assert.equal((await call('GET', url, { token, headers: { 'if-none-match': etag } })).status, 304)
    await owner.api.patch(`iam/groups/${uid}`, { description: 'changed' })
    assert.equal((await call('GET', url, { token, headers: { 'if-none-match': etag } })).status, 200)
  })

  test('the page token of a list that has not changed for days continues it', async () => {
    const { owner, uid } = await cast().organization()
    for (const name of ['a', 'b', 'c']) await owner.api.create(`iam/groups/${uid}`, { name })
    const query = { 'uidp.descendants_of': uid, page_size: '2', order_by: 'name' }
    const list = (more = {}) => owner.api.get('iam/groups', { ...query, ...more })
    await repeat(list)
    cast().berth.advance(4 * DAY_MS)
    const api = apiOf(cast().berth, await cast().berth.tokenOf(owner.uid))
    const { body } = await api.get('iam/groups', query)
    const next = await api.get('iam/groups', { ...query, page_token: body.nextPageToken })
    assert.deepEqual(
      next.body.groups.map(({ name }: { name: string }) => name),
      ['c'],
    )
  })
})

onEveryDatabase(
  'repeated reads of a SQLite file',
  (cast) => {
    const openFile = (t: TestContext) => {
      const { source } = cast().berth.berth.installation.store.db
      assert.ok(source?.engine === 'sqlite')
      const database = new Database(source.file)
      t.after(() => database.close())
      return database
    }

    test('what another process has committed is shown by the next read', async (t) => {
      const { owner, uid } = await cast().organization()
      const other = openFile(t)
      for (let round = 0; round < 20; round++) {
        const read = async () => (await owner.api.get(`iam/groups/${uid}`)).body.description
        const before = await read()
        for (let n = 0; n < 3; n++) assert.equal(await read(), before)
        other.prepare('update groups set description = ? where uid = ?').run(`round ${round}`, uid)
        assert.equal(await read(), `round ${round}`)
      }
    })

    const READS = 50

    /** Repeats reads until they are cached, and returns how many statements the server has run for `READS` more, with those of its jobs. */
    async function statementsOf(read: () => Promise<unknown>): Promise<number> {
      const statements = async () => {
        const text = await (await fetch(`${cast().berth.url}/metrics`)).text()
        const counts = text.matchAll(/^berth_database_statements_total\{.*\} (\d+)$/gm)
        return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
      }
      for (let n = 0; n < 3; n++) await read()
      const before = await statements()
      assert.ok(before > 0)
      for (let n = 0; n < READS; n++) await read()
      return (await statements()) - before
    }

    test('a repeated read runs no statement', async () => {
      const { owner, uid } = await cast().organization()
      const read = async () => {
        await owner.api.get(`iam/groups/${uid}`)
        await owner.api.get('iam/groups', { 'uidp.descendants_of': uid })
      }
      assert.ok((await statementsOf(read)) < READS)
    })

    test('a list whose filters are longer than cachedListKeyCharsMax is read each time', async () => {
      const { owner, uid } = await cast().organization()
      const count = Math.ceil(limits.cachedListKeyCharsMax / uid.length)
      const ids = Array.from({ length: count }, (_, at) => `${uid}/${String(at).padStart(16, '0')}`)
      assert.ok((await statementsOf(() => owner.api.get('iam/groups', { 'uidp.ids': ids }))) >= READS)
      assert.ok(
        (await statementsOf(() => owner.api.get('iam/groups', { 'uidp.ids': ids.slice(0, 2) }))) < READS,
      )
    })

    test('after any writes in any order, reads return what the file has', async (t) => {
      const organization = await cast().organization()
      const { owner, uid: root } = organization
      const viewer = await organization.member('viewer')
      const other = openFile(t)
      const stored = () =>
        other
          .prepare('select uid, description from groups where uid > ? and uid < ? order by uid')
          .all(`${root}/`, `${root}0`) as { uid: string; description: string }[]
      const binding = { identityUid: viewer.uid, roleUid: managedRole('viewer') }
      let bound: string | undefined = viewer.binding
      const readAll = async (api = owner.api) => {
        const { body } = await api.get('iam/groups', { 'uidp.descendants_of': root, page_size: '200' })
        return body.groups.map(({ uid, description }: { uid: string; description: string }) => ({
          uid,
          description,
        }))
      }
      const pick = (at: number) =>
        stored()[at % Math.max(1, stored().length)]?.uid ?? `${root}/0123456789abcdef`
      let changes = 0
      const writes = {
        create: () => owner.api.post(`iam/groups/${root}`, { name: newName('group') }),
        update: (at: number) => owner.api.patch(`iam/groups/${pick(at)}`, { description: `${++changes}` }),
        delete: (at: number) => owner.api.delete(`iam/groups/${pick(at)}`),
        'update by another process': (at: number) =>
          other.prepare('update groups set description = ? where uid = ?').run(`${++changes}`, pick(at)),
        // Both are written in one transaction if they come together.
        'two together': (at: number) => Promise.all([writes.update(at), writes.create()]),
        'one during reads': (at: number) => Promise.all([writes.update(at), readAll(), readAll(), readAll()]),
        async 'bind or unbind'() {
          if (bound === undefined) {
            bound = (await owner.api.create(`iam/roleBindings/${root}`, binding)).uid
          } else {
            await owner.api.delete(`iam/roleBindings/${bound}`)
            bound = undefined
          }
        },
        nothing: () => undefined,
      }
      const step = fc.record({
        write: fc.constantFrom(...(Object.keys(writes) as (keyof typeof writes)[])),
        at: fc.nat(20),
        reads: fc.nat(3),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
          for (const { write, at, reads } of steps) {
            await writes[write](at)
            const expected = stored()
            for (let n = 0; n <= reads; n++) {
              assert.deepEqual(await readAll(), expected, write)
              assert.deepEqual(await readAll(viewer.api), bound === undefined ? [] : expected, write)
              for (const { uid, description } of expected.slice(0, 3))
                assert.equal((await owner.api.get(`iam/groups/${uid}`)).body.description, description, write)
            }
          }
        }),
        { numRuns: 20 },
      )
    })
  },
  { only: 'sqlite' },
)
