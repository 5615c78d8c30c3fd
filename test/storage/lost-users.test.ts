import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import { type Api, apiOf, createApiFixture, managedRole, newName } from '../support/api/api-fixture.ts'
import { createOperator, type OperatorApi } from '../support/api/operator.ts'
import { call } from '../support/api/rest.ts'
import { nodeServer } from '../support/database/citus-databases.ts'
import { type ClusterDatabase, selectedCluster } from '../support/database/databases.ts'
import { connectToCoordinator, whileLost } from '../support/database/lost-server.ts'
import { eventually } from '../support/eventually.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { cleanups } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson, createSession } from '../support/signin/accounts.ts'

/** An organization some of whose users are on a server of a distributed database that is lost (ADR 109). */

// biome-ignore lint/suspicious/noExplicitAny: assertions on JSON read better without a type for every shape
type Json = any

const cluster = selectedCluster
const skip = cluster === undefined && 'no Citus cluster is selected'

describe('users on a lost server', { skip }, () => {
  const t = cleanups()
  let database: ClusterDatabase
  let berth: TestBerth
  let organization: string
  /** A user on the server that is not lost, who owns the organization. */
  let owner: string
  let api: Api
  /** Members on the lost server. */
  let far: readonly string[]
  let members: readonly string[]
  /** A role binding, and its user, on the lost server. */
  let binding: string
  let bound: string
  let operator: OperatorApi
  let tag: string
  const mark = newName('person')

  before(async () => {
    database = await (cluster as NonNullable<typeof cluster>).share()
    t.after(() => database.close())
    const [, one = '', other = ''] = database.urls
    const servers = await connectToCoordinator(database.urls)
    t.after(() => servers.close())
    const open = () => openPostgresDb(database.urls[nodeServer] as string, { onError() {} })
    berth = await startTestBerth({ name: 'citus', open })
    t.after(() => berth.stop())
    const { admin, grpc } = createApiFixture(berth)
    grpc.close()
    const createUser = () => createPerson(berth, { email: `${mark}.${newName('p')}@example.com` })
    organization = await servers.createOn(
      one,
      async () => (await admin.create('iam/groups', { name: newName('org') })).uid,
    )
    owner = await servers.createOn(one, createUser)
    const invited = [await servers.createOn(other, createUser), await servers.createOn(other, createUser)]
    bound = invited[1] ?? ''
    for (const identityUid of [owner, ...invited])
      binding = (
        await admin.create(`iam/roleBindings/${organization}`, { identityUid, roleUid: managedRole('owner') })
      ).uid
    api = apiOf(berth, await berth.tokenOf(owner))
    const all: string[] = (await api.get(`iam/access/${organization}:findMembers`)).body.members.map(
      ({ uid }: Json) => uid,
    )
    // With the creator of the organization.
    members = all
    const onOther: string[] = []
    for (const uid of all) if (await servers.isOn(other, uid)) onOther.push(uid)
    far = onOther
    const repo = (await api.create(`registry/repos/${organization}`, { name: 'web' })).uid
    const { body: home } = await api.get(`iam/groups/${organization}`)
    const oci = ociClient(berth, await bearerOf(berth, invited[0] ?? ''))
    await pushImage(oci, `${home.name}/web`, testImage(), 'one')
    tag = (await api.get('registry/tags', { 'uidp.children_of': repo })).body.tags[0].uid
    operator = await operatorOn(one)
    await createSession(berth, { identity: invited[0] ?? '' })

    async function operatorOn(server: string): Promise<OperatorApi> {
      for (;;) {
        const { identity, api: created } = await createOperator(berth)
        if (await servers.isOn(server, identity)) return created
      }
    }
  })
  after(() => t.run())

  const lose = (work: () => Promise<void>) => whileLost(database.urls[2] ?? '', work)
  const get = async (path: string, query: Record<string, string> = {}): Promise<Json> => {
    const reply = await api.get(path, query)
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }
  const findMembers = (query: Record<string, string> = {}) =>
    get(`iam/access/${organization}:findMembers`, query)
  const uidsOf = (all: Json[]): string[] => all.map(({ uid }) => uid)
  const unknownOf = (all: Json[]): string[] =>
    all.filter(({ detailsUnavailable }) => detailsUnavailable === true).map(({ uid }) => uid)
  /** The node asks a server again after a while. */
  const untilKnown = () =>
    eventually(
      () => findMembers(),
      ({ members: all }) => unknownOf(all).length === 0,
    )

  test('lists of role bindings have all rows, and mark those whose user is unknown', async () => {
    const read = async () => {
      const { roleBindings } = await get('iam/roleBindings', { 'uidp.descendants_of': organization })
      return roleBindings.map(({ identity }: Json) => identity)
    }
    const known = await read()
    assert.deepEqual([uidsOf(known).toSorted(), unknownOf(known)], [members.toSorted(), []])
    await lose(async () => {
      const identities = await read()
      assert.deepEqual(uidsOf(identities), uidsOf(known))
      assert.deepEqual(unknownOf(identities).toSorted(), far.toSorted())
      for (const [at, identity] of identities.entries())
        if (!far.includes(identity.uid)) assert.deepEqual(identity, known[at])
        else assert.deepEqual([identity.name, identity.email], ['', ''])
      const one = await get(`iam/roleBindings/${binding}`)
      assert.deepEqual([one.identityUid, one.identity.detailsUnavailable], [bound, true])
      const { body } = await call(
        'GET',
        `${berth.url}/iam/v1/roleBindings?uidp.descendantsOf=${organization}`,
        {
          token: api.token,
        },
      )
      const unknown = body.items.filter(({ detailsUnavailable }: Json) => detailsUnavailable)
      assert.deepEqual(unknown.map(({ identity }: Json) => identity).toSorted(), far.toSorted())
    })
    await eventually(read, (identities: Json) => unknownOf(identities).length === 0)
  })

  test('members have no names, and a list over several pages leaves none out', async () => {
    const readAll = async (
      first: Json,
      change: () => Promise<void>,
    ): Promise<{ readonly uids: ReadonlySet<string>; readonly pages: number }> => {
      const uids = new Set(uidsOf(first.members))
      let pages = 1
      let { nextPageToken: page_token } = first
      await change()
      while (page_token !== '') {
        const page = await findMembers({ page_size: '1', page_token })
        for (const uid of uidsOf(page.members)) uids.add(uid)
        page_token = page.nextPageToken
        pages += 1
      }
      return { uids, pages }
    }
    await untilKnown()
    const started = await findMembers({ page_size: '1' })
    const continued = await readAll(started, async () => undefined)
    assert.equal(continued.pages, members.length)
    await lose(async () => {
      for (const path of [':findMembers', ':whoCan'].map((name) => `iam/access/${organization}${name}`)) {
        const { members: all, totalCount } = await get(path, {
          ...(path.endsWith('whoCan') && { capability: 'groups.list' }),
        })
        assert.deepEqual([uidsOf(all).toSorted(), totalCount], [members.toSorted(), `${members.length}`])
        assert.deepEqual(unknownOf(all).toSorted(), far.toSorted())
        for (const { name, email, sources, role } of all.filter(({ uid }: Json) => far.includes(uid)))
          assert.deepEqual([name, email, sources.length, role.name], ['', '', 1, 'owner'])
      }
      const [lost = ''] = far
      assert.deepEqual(uidsOf((await findMembers({ identity: lost })).members), [lost])
      assert.deepEqual((await findMembers({ kind: 'MEMBER_KIND_WORKLOAD' })).members, [])
      const { uids } = await readAll(started, async () => undefined)
      assert.deepEqual([...uids].toSorted(), members.toSorted())
      const { pages } = await readAll(await findMembers({ page_size: '1' }), async () => undefined)
      assert.equal(pages, members.length)

      const reply = await api.get(`iam/access/${organization}:findMembers`, { query: mark })
      assert.equal(reply.status, 503, reply.text)
      assert.match(reply.body.message, /the database server of user [0-9a-f]{40}.* their names are unknown/)
    })
    let whileUnknown: Json
    await lose(async () => {
      whileUnknown = await findMembers({ page_size: '1' })
    })
    const { uids } = await readAll(whileUnknown, async () => void (await untilKnown()))
    assert.deepEqual([...uids].toSorted(), members.toSorted())
  })

  test('candidates and results of a search are incomplete', async () => {
    await untilKnown()
    const find = async () => {
      const { identities, more } = await get(`iam/access/${organization}:findCandidates`, { query: mark })
      const { body, status, text } = await call(
        'GET',
        `${berth.url}/search/v1/resources:search?${new URLSearchParams({ text: mark })}`,
        { token: api.token },
      )
      assert.equal(status, 200, text)
      return {
        candidates: uidsOf(identities).toSorted(),
        more,
        users: uidsOf(body.resources).toSorted(),
        incomplete: body.incompleteKinds,
      }
    }
    const near = members.filter((uid) => !far.includes(uid))
    const isNamed = ({ email }: Json) => email.startsWith(mark)
    const named: string[] = uidsOf((await findMembers()).members.filter(isNamed)).toSorted()
    assert.deepEqual(await find(), { candidates: named, more: false, users: named, incomplete: [] })
    await lose(async () => {
      const found = named.filter((uid) => near.includes(uid))
      assert.deepEqual(await find(), {
        candidates: found,
        more: true,
        users: found,
        incomplete: ['RESOURCE_KIND_USER'],
      })
    })
  })

  test('what names users has their uids instead', async () => {
    await untilKnown()
    const [lost = ''] = far
    await lose(async () => {
      const { body } = await call('POST', `${berth.url}/search/v1/resources:lookup`, {
        token: api.token,
        body: { uids: [owner, lost, binding] },
      })
      const named = new Map(body.resources.map((one: Json) => [one.uid, one]))
      assert.deepEqual([...named.keys()].toSorted(), [owner, lost, binding].toSorted())
      const nameOf = (uid: string, field: string) => (named.get(uid) as Json)[field]
      assert.match(nameOf(owner, 'name'), /@example\.com$/)
      assert.deepEqual([nameOf(lost, 'name'), nameOf(binding, 'detail')], [lost, bound])

      const { entries } = await get(`registry/tags/${tag}/history`)
      assert.deepEqual([far.includes(entries[0].actor), entries[0].actorName], [true, ''])
      const sessions = await operator.get('sessions')
      assert.equal(sessions.status, 200, sessions.text)
      assert.ok(sessions.body.sessions.some(({ identityUid }: Json) => far.includes(identityUid)))
    })
  })

  test('a server that is back is asked again', async () => {
    await lose(async () => {
      assert.notDeepEqual(unknownOf((await findMembers()).members), [])
    })
    await untilKnown()
  })
})
