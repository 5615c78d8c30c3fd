import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { AuditService } from '@berth/contract/gen/berth/audit/v1/audit_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import fc from 'fast-check'
import {
  type Api,
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  managedRole,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import type { GrpcFailure } from '../support/api/grpc.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { bindRole } from '../support/api/tenant.ts'
import { eventually } from '../support/eventually.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { startIssuer } from '../support/tokens/issuer.ts'

const GROUPS = 'chainguard.platform.iam.v2beta1.GroupsService'
const EXCHANGE = 'chainguard.platform.oidc.SecurityTokenService/Exchange'

onEveryDatabase('the audit log', (cast) => {
  const events = async (
    { token }: Pick<Api, 'token'>,
    query: Record<string, string | string[]> = {},
  ): Promise<RestReply> => {
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query))
      for (const one of [value].flat()) search.append(name, one)
    return call('GET', `${cast().berth.url}/audit/v1/events?${search}`, { token })
  }
  test('has each change once, newest first, with actor, method and resource', async () => {
    const { owner, uid } = await cast().organization()
    const { api } = owner
    const team = await api.create(`iam/groups/${uid}`, { name: 'team' })
    await api.patch(`iam/groups/${team.uid}`, { description: 'd' })
    const changed = await api.patch(`iam/groups/${team.uid}`, { description: 'd' })
    assert.equal(changed.status, 200)
    const deleted = await api.delete(`iam/groups/${team.uid}`)
    const { body } = await events(api, { resource_uid: team.uid })
    assert.equal(body.totalCount, '3')
    assert.deepEqual(
      body.events.map(({ method }: { method: string }) => method),
      [`${GROUPS}/DeleteGroup`, `${GROUPS}/UpdateGroup`, `${GROUPS}/CreateGroup`],
    )
    const [last] = body.events
    assert.match(last.uid, new RegExp(`^${team.uid}/[0-9a-f]{16}$`))
    assert.match(last.createTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const { uid: _, createTime: __, ...rest } = last
    assert.deepEqual(rest, {
      actor: owner.uid,
      method: `${GROUPS}/DeleteGroup`,
      resourceUid: team.uid,
      code: 0,
      reason: '',
      requestId: deleted.headers.get('x-request-id'),
      address: '127.0.0.1',
      issuer: '',
      subject: '',
      count: 1,
    })
    const read = await call('GET', `${cast().berth.url}/audit/v1/events/${last.uid}`, { token: api.token })
    assert.deepEqual(read.body, last)
    const overGrpc = await cast().grpc.call(
      AuditService.method.getAuditEvent,
      { uid: last.uid },
      { token: api.token },
    )
    assert.deepEqual(
      [overGrpc.actor, overGrpc.method, overGrpc.resourceUid],
      [owner.uid, last.method, team.uid],
    )
  })

  test('filters by part of the tree, actor, method, resource, outcome and time', async () => {
    const organization = await cast().organization()
    const { owner, uid } = organization
    const other = await organization.member('owner')
    const { api } = owner
    const one = await api.create(`iam/groups/${uid}`, { name: 'one' })
    const two = await other.api.create(`iam/groups/${uid}`, { name: 'two' })
    cast().berth.advance(10)
    const below = await other.api.create(`iam/groups/${one.uid}`, { name: 'below' })
    const all = (await events(api, { page_size: '200' })).body.events as Record<string, string>[]
    const about = async (query: Record<string, string>) =>
      (await events(api, query)).body.events.map(({ resourceUid }: { resourceUid: string }) => resourceUid)
    assert.deepEqual(await about({ 'uidp.descendants_of': one.uid }), [below.uid, one.uid])
    assert.deepEqual(await about({ 'uidp.children_of': one.uid }), [one.uid])
    assert.deepEqual(await about({ resource_uid: two.uid }), [two.uid])
    assert.deepEqual(await about({ actor: other.uid }), [below.uid, two.uid])
    assert.deepEqual(await about({ method: 'CreateGroup', 'uidp.descendants_of': uid }), [
      below.uid,
      two.uid,
      one.uid,
      uid,
    ])
    assert.deepEqual(await about({ method: `${GROUPS}/CreateGroup`, actor: owner.uid }), [one.uid])
    assert.deepEqual(await about({ method: 'NoSuchMethod' }), [])
    const at = all.find(({ resourceUid }) => resourceUid === below.uid)?.['createTime'] ?? ''
    assert.deepEqual(await about({ since: at }), [below.uid])
    assert.equal((await about({ until: at, page_size: '200' })).includes(below.uid), false)
    assert.deepEqual(await about({ since: at, until: at }), [])
    assert.deepEqual(await about({ since: '1969-12-31T00:00:00Z', until: '1970-01-01T00:00:00Z' }), [])
    assert.deepEqual(await about({ since: '9999-01-01T00:00:00Z' }), [])
    assert.equal(
      (await about({ code: '0', page_size: '200' })).length,
      all.filter(({ code }) => Number(code) === 0).length,
    )
    const asked = await events(api, { order_by: 'created_at', page_size: '200', code: '0' })
    assert.deepEqual(asked.body.events, all.filter(({ code }) => Number(code) === 0).reverse())
  })

  test('invalid uids, times and orders are rejected', async () => {
    const { owner } = await cast().organization()
    for (const [field, value] of [
      ['actor', 'me'],
      ['resource_uid', 'x'],
      ['since', 'yesterday'],
      ['until', '1'],
      ['code', 'OK'],
      ['order_by', 'name'],
      ['order_by', 'uid'],
      ['page_token', 'x'],
      ['page_size', '-1'],
    ] as const)
      assertError(await events(owner.api, { [field]: value }), invalidFieldError(field))
    assert.equal((await events(owner.api, { actor: 'system' })).status, 200)
  })

  test('R24: all pages together are the list, with any filter', async () => {
    const organization = await cast().organization()
    const { owner, uid } = organization
    const other = await organization.member('owner')
    const groups: string[] = [uid]
    for (let n = 0; n < 25; n++) {
      const by = n % 3 === 0 ? other : owner
      const parent = groups[(n * 7) % groups.length] as string
      groups.push((await by.api.create(`iam/groups/${parent}`, { name: `g${n}` })).uid)
    }
    const rows = (await events(owner.api, { page_size: '200', code: '0' })).body.events as Record<
      string,
      string
    >[]
    const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
    const query = fc.record({
      actor: maybe(fc.constantFrom(owner.uid, other.uid)),
      method: maybe(fc.constantFrom('CreateGroup', 'CreateRoleBinding')),
      'uidp.descendants_of': maybe(fc.constantFrom(...groups)),
      resource_uid: maybe(fc.constantFrom(...groups)),
      since: maybe(fc.constantFrom(...rows.map(({ createTime }) => createTime as string))),
      until: maybe(fc.constantFrom(...rows.map(({ createTime }) => createTime as string))),
    })
    await fc.assert(
      fc.asyncProperty(query, fc.integer({ min: 1, max: 9 }), async (filter, size) => {
        const asked = Object.fromEntries(
          Object.entries({ ...filter, code: '0', page_size: String(size) }).filter(
            ([, value]) => value !== undefined,
          ),
        ) as Record<string, string>
        const expected = rows.filter(
          (row) =>
            (filter.actor === undefined || row['actor'] === filter.actor) &&
            (filter.method === undefined || row['method']?.endsWith(`/${filter.method}`)) &&
            (filter['uidp.descendants_of'] === undefined ||
              row['uid']?.startsWith(`${filter['uidp.descendants_of']}/`)) &&
            (filter.resource_uid === undefined || row['resourceUid'] === filter.resource_uid) &&
            (filter.since === undefined || (row['createTime'] as string) >= filter.since) &&
            (filter.until === undefined || (row['createTime'] as string) < filter.until),
        )
        const seen: unknown[] = []
        for (let token = ''; ; ) {
          const { status, body, text } = await events(owner.api, { ...asked, page_token: token })
          assert.equal(status, 200, text)
          assert.equal(body.totalCount, String(expected.length))
          seen.push(...body.events)
          token = body.nextPageToken
          if (token === '') break
        }
        assert.deepEqual(seen, expected)
      }),
      { numRuns: 25 },
    )
  })

  test('R17: shows only events of groups whose events the caller may read', async () => {
    const mine = await cast().organization()
    const theirs = await cast().organization()
    const foreign = (await events(theirs.owner.api)).body.events[0]
    for (const query of [
      {},
      { resource_uid: theirs.uid },
      { 'uidp.descendants_of': theirs.uid },
      { actor: theirs.owner.uid },
    ])
      assert.ok(!(await events(mine.owner.api, query as Record<string, string>)).text.includes(theirs.uid))
    const read = (uid: string, { token }: Api) =>
      call('GET', `${cast().berth.url}/audit/v1/events/${uid}`, { token })
    assertError(await read(foreign.uid, mine.owner.api), permissionDeniedError)
    assertError(
      await read(`${mine.uid}/0123456789abcdef`, mine.owner.api),
      notFoundError('berth.dev/AuditEvent', `${mine.uid}/0123456789abcdef`),
    )
    assertError(await read(mine.uid, mine.owner.api), notFoundError('berth.dev/AuditEvent', mine.uid))
    const viewer = await mine.member('viewer')
    assert.deepEqual((await events(viewer.api)).body.events, [])
    const team = await mine.owner.api.create(`iam/groups/${mine.uid}`, { name: 'team' })
    const lead = await mine.member('editor', team.uid)
    const seen = (await events(lead.api)).body.events as { resourceUid: string }[]
    assert.ok(seen.length > 0 && seen.every(({ resourceUid }) => resourceUid.startsWith(team.uid)))
    assertError(await read(foreign.uid, lead.api), permissionDeniedError)
  })

  test('denials over REST and gRPC appear within seconds, equal ones as one', async () => {
    const organization = await cast().organization()
    const { owner, uid } = organization
    const viewer = await organization.member('viewer')
    for (let n = 0; n < 3; n++)
      assertError(await viewer.api.post(`iam/groups/${uid}`, { name: `n${n}` }), permissionDeniedError)
    await assert.rejects(
      cast().grpc.call(GroupsService.method.deleteGroup, { uid }, { token: viewer.api.token }),
      (failure: GrpcFailure) => failure.code === 7,
    )
    const query = { code: '7', actor: viewer.uid }
    const { body } = await eventually(
      () => events(owner.api, query),
      ({ body }) => body.events.reduce((sum: number, { count }: { count: number }) => sum + count, 0) === 4,
    )
    const byMethod = Object.groupBy(body.events as Record<string, string | number>[], ({ method }) =>
      String(method),
    )
    const created = byMethod[`${GROUPS}/CreateGroup`] ?? []
    assert.equal(
      created.reduce((sum, { count }) => sum + Number(count), 0),
      3,
    )
    assert.deepEqual([created[0]?.['resourceUid'], created[0]?.['code']], [uid, 7])
    // A caller who holds the capability nowhere is refused before the message shows what it is about.
    const [removed] = byMethod[`${GROUPS}/DeleteGroup`] ?? []
    assert.deepEqual(
      [removed?.['resourceUid'], removed?.['count'], removed?.['address']],
      [viewer.uid, 1, '127.0.0.1'],
    )
    assert.match(String(removed?.['reason']), /groups\.delete/)
  })

  test('a denied stranger appears in the log of the requested organization, in bounded number', async () => {
    const theirs = await cast().organization()
    const stranger = await cast().organization()
    await Promise.all(
      Array.from({ length: limits.auditDenialsPerActorMax + 50 }, (_, n) =>
        stranger.owner.api.get(`iam/groups/${theirs.uid}/${n.toString(16).padStart(16, '0')}`),
      ),
    )
    const { body } = await eventually(
      () => events(theirs.owner.api, { actor: stranger.owner.uid }),
      ({ body }) => Number(body.totalCount) > 0,
    )
    // Some may have fallen into a second flush.
    assert.ok(Number(body.totalCount) <= 2 * limits.auditDenialsPerActorMax, body.totalCount)
    const metrics = await (await fetch(`${cast().berth.url}/metrics`)).text()
    assert.match(metrics, /^berth_audit_written_total [1-9]/m)
    assert.match(metrics, /^berth_audit_dropped_total \d/m)
  })

  test('a denial names the requested uid, or else the group where the caller lacks a capability', async () => {
    const organization = await cast().organization()
    const { owner, uid } = organization
    const stranger = (await cast().organization()).owner
    const editor = await organization.member('editor')
    const role = await owner.api.create(`iam/roles/${uid}`, {
      name: 'role',
      capabilities: ['CAP_IAM_GROUPS_LIST'],
    })
    const custom = await owner.api.create(`iam/roles/${uid}`, {
      name: 'roles',
      capabilities: ['CAP_IAM_ROLES_UPDATE', 'CAP_IAM_IDENTITY_UPDATE'],
    })
    const [robot, team] = [
      await owner.api.create(`iam/identities/${uid}`, { name: 'robot', claimMatch }),
      await owner.api.create(`iam/groups/${uid}`, { name: 'team' }),
    ]
    await owner.api.create(`iam/roleBindings/${team.uid}`, {
      identityUid: robot.uid,
      roleUid: managedRole('owner'),
    })
    const narrow = await organization.member(custom.uid)
    const wider = { claimMatch: { ...claimMatch, subject: 'another' } }
    const cases = [
      [stranger, () => stranger.api.post(`iam/groups/${uid}`, { name: 'n' }), uid],
      [stranger, () => stranger.api.get(`iam/roles/${role.uid}`), role.uid],
      [stranger, () => stranger.api.delete(`iam/roles/${role.uid}`), role.uid],
      [
        narrow,
        () => narrow.api.patch(`iam/roles/${role.uid}`, { capabilities: ['CAP_IAM_GROUPS_DELETE'] }),
        role.uid,
      ],
      [narrow, () => narrow.api.patch(`iam/identities/${robot.uid}`, wider), team.uid],
      [editor, () => editor.api.post('iam/groups', { name: 'organization' }), editor.uid],
    ] as const
    for (const [, refuse] of cases) assertError(await refuse(), permissionDeniedError)
    const { body } = await eventually(
      () => events(owner.api, { code: '7' }),
      ({ body }) => Number(body.totalCount) >= cases.length,
    )
    const seen = (body.events as Record<string, string>[]).map(({ actor, resourceUid }) => [
      actor,
      resourceUid,
    ])
    assert.deepEqual(seen.sort(), cases.map(([{ uid: actor }, , about]) => [actor, about]).sort())
  })

  test('a denial outside of every organization is about the caller', async () => {
    const { owner, uid } = await cast().organization()
    const nowhere = randomBytes(20).toString('hex')
    const below = `${randomBytes(20).toString('hex')}/0123456789abcdef`
    assertError(await owner.api.get(`iam/groups/${nowhere}`), permissionDeniedError)
    assertError(await owner.api.delete(`iam/identities/${below}`), permissionDeniedError)
    const { body } = await eventually(
      () => events(owner.api, { code: '7' }),
      ({ body }) => body.totalCount === '2',
    )
    const seen: { reason: string; resourceUid: string }[] = body.events
    assert.deepEqual(
      seen.map(({ resourceUid }) => resourceUid),
      [owner.uid, owner.uid],
    )
    for (const asked of [nowhere, below]) {
      assert.ok(
        seen.some(({ reason }) => reason.includes(` ${asked} `)),
        asked,
      )
      assert.deepEqual(await cast().auditEventsOf(asked), [])
    }
    assert.ok(owner.uid.startsWith(`${uid}/`))
  })

  test('exchanges are listed with the workload that got or was denied a token', async (t) => {
    const issuer = await startIssuer(t)
    const { owner, uid } = await cast().organization()
    const { berth } = cast()
    const robot = await owner.api.create(`iam/identities/${uid}`, {
      name: 'robot',
      claimMatch: { issuer: issuer.name, subject: 'job-1' },
    })
    const exchange = async (subject: string, identity = robot.uid) => {
      const token = await issuer.sign({ sub: subject, aud: berth.url })
      return call('GET', `${berth.url}/sts/exchange?aud=${berth.url}&identity=${identity}`, { token })
    }
    assert.equal((await exchange('job-1')).status, 200)
    assert.equal((await exchange('job-2')).status, 403)
    assert.equal((await exchange('job-1', `${uid}/0123456789abcdef`)).status, 403)
    const forged = await call('GET', `${berth.url}/sts/exchange?aud=${berth.url}&identity=${robot.uid}`, {
      token: `${await issuer.sign({ sub: 'job-1', aud: berth.url })}x`,
    })
    assert.equal(forged.status, 401)
    const { body } = await eventually(
      () => events(owner.api, { method: 'Exchange' }),
      ({ body }) => Number(body.totalCount) >= 3,
    )
    assert.equal(body.totalCount, '3', 'nothing is recorded about an identity that does not exist')
    const seen: { code: number; reason: string }[] = body.events
      .map(({ code, issuer, subject, actor, resourceUid, method, reason }: Record<string, never>) => ({
        code,
        issuer,
        subject,
        actor,
        resourceUid,
        method,
        reason,
      }))
      .sort((a: { code: number }, b: { code: number }) => a.code - b.code)
    const common = { resourceUid: robot.uid, method: EXCHANGE, actor: robot.uid }
    assert.deepEqual(seen, [
      { ...common, code: 0, issuer: issuer.name, subject: 'job-1', reason: '' },
      {
        ...common,
        code: 7,
        issuer: issuer.name,
        subject: 'job-2',
        reason: 'the identity requires another subject',
      },
      { ...common, code: 16, issuer: '', subject: '', reason: seen[2]?.reason },
    ])
    assert.match(seen[2]?.reason ?? '', /^Unauthenticated: /)
  })

  test('a workload whose subject no database can store is rejected, and the records of others are written', async (t) => {
    const issuer = await startIssuer(t)
    const { owner, uid } = await cast().organization()
    const { berth } = cast()
    const { uid: identity } = await owner.api.create(`iam/identities/${uid}`, {
      name: 'robot',
      claimMatch: { issuer: issuer.name, subjectPattern: '[^/]*' },
    })
    for (const [sub, status] of [
      ['job\u0000', 401],
      ['job', 200],
    ] as const) {
      const token = await issuer.sign({ sub, aud: berth.url })
      const reply = await call('GET', `${berth.url}/sts/exchange?aud=${berth.url}&identity=${identity}`, {
        token,
      })
      if (status === 401) assertError(reply, { status, code: 16 })
      else assert.equal(reply.status, status, reply.text)
    }
    const { body } = await eventually(
      () => events(owner.api, { method: 'Exchange' }),
      ({ body }) => body.totalCount === '1',
    )
    assert.deepEqual(
      body.events.map(({ subject }: { subject: string }) => subject),
      ['job'],
    )
  })

  test('pending records are written when the server stops', async () => {
    // Its own server; the others of this file go on.
    const { startTestBerth } = await import('../support/server/test-berth.ts')
    const berth = await startTestBerth({ name: 'sqlite', open: undefined })
    let open = true
    try {
      const stranger = apiOf(
        berth,
        await berth.tokenOf(berth.owner, { scopes: [`${berth.organization}/0123456789abcdef`] }),
      )
      assert.equal((await stranger.get(`iam/groups/${berth.organization}`)).status, 403)
      const { db } = berth.berth.installation.store
      const written: unknown[] = []
      const close = db.close
      Object.assign(db, {
        close: async () => {
          written.push(
            ...(await db.kysely.selectFrom('audit_events').selectAll().where('code', '=', 7).execute()),
          )
          await close()
        },
      })
      open = false
      await berth.stop()
      assert.equal(written.length, 1)
    } finally {
      if (open) await berth.stop()
    }
  })
})

/** Parts of a statement, at most, so that few organizations are too many for one each. */
const BRANCHES_MAX = 2

onEveryDatabase(
  'the audit log of a caller with roles in many folders',
  (cast) => {
    const eventsOf = async ({ token }: Pick<Api, 'token'>, query: Record<string, string> = {}) => {
      const seen: Record<string, string>[] = []
      let totalCount: string
      for (let page_token = ''; ; ) {
        const search = new URLSearchParams({ page_size: '3', ...query, page_token })
        const { status, body, text } = await call('GET', `${cast().berth.url}/audit/v1/events?${search}`, {
          token,
        })
        assert.equal(status, 200, text)
        seen.push(...body.events)
        totalCount = body.totalCount
        page_token = body.nextPageToken
        if (page_token === '') break
      }
      assert.equal(totalCount, String(seen.length))
      return seen
    }

    for (const organizations of [1, BRANCHES_MAX, BRANCHES_MAX + 1])
      test(`has the events of these folders of ${organizations} organizations, page by page`, async () => {
        const { berth } = cast()
        const user = await createPerson(berth)
        const scopes: string[] = []
        const all: Record<string, string>[] = []
        for (let n = 0; n < organizations; n++) {
          const { owner, uid: root } = await cast().organization()
          let parent = root
          for (let at = 0; at < 6; at++) {
            const group = await owner.api.create(`iam/groups/${parent}`, { name: `level-${at}` })
            const sibling = await owner.api.create(`iam/groups/${parent}`, { name: `sibling-${at}` })
            await owner.api.create(`iam/groups/${sibling.uid}`, { name: 'child' })
            if (at % 2 === 1) scopes.push(sibling.uid)
            if (at === 4) scopes.push(group.uid)
            parent = group.uid
          }
          all.push(...(await eventsOf(owner.api, { page_size: '200', code: '0' })))
        }
        for (const scope of scopes) await bindRole(berth, scope, user, 'owner')
        const reader = { token: await berth.tokenOf(user) }
        const isWithin = (scope: string) => (event: Record<string, string>) =>
          event['uid']?.startsWith(`${scope}/`) === true
        const expected = all.filter((event) => scopes.some((scope) => isWithin(scope)(event)))
        const created = { method: 'CreateGroup', code: '0' }
        const byUid = (events: Record<string, string>[]) => events.map((event) => event['uid']).sort()
        const isCreation = (event: Record<string, string>) =>
          event['method']?.endsWith('/CreateGroup') === true
        const listed = await eventsOf(reader, created)
        assert.deepEqual(byUid(listed), byUid(expected.filter(isCreation)))
        const times = listed.map((event) => event['createTime'])
        assert.deepEqual(times, times.toSorted().reverse())
        const [one] = scopes as [string]
        assert.deepEqual(
          byUid(await eventsOf(reader, { ...created, 'uidp.descendants_of': one })),
          byUid(expected.filter(isCreation).filter(isWithin(one))),
        )
      })
  },
  { sizes: { bucketRowsMax: 2048, rowsInlineMax: 2000, branchesMax: BRANCHES_MAX } },
)
