import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { FindingSummariesService } from '@berth/contract/gen/berth/vulnerabilities/v1/finding_summaries_pb.js'
import type { Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { findLinkedBlob } from '@berth/server/registry/blobs/stored-blobs.ts'
import {
  type Api,
  type ApiFixture,
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  managedRole,
  newName,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import {
  CRITICAL,
  imageWith,
  type Json,
  openvex,
  osv,
  read,
  setUp,
  VEX,
} from '../support/findings/image-findings.ts'
import { attach } from '../support/images/readable-image.ts'
import {
  digest,
  imageFromManifest,
  pushImage,
  putManifest,
  type TestImage,
  types,
} from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** How many findings tags had over time. */

const DAY_MS = 24 * 60 * 60 * 1000
const npm = (id: string, name: string, fixed: string, more: object = {}) => osv(id, 'npm', name, fixed, more)
const critical = { severity: [{ type: 'CVSS_V3', score: CRITICAL }] }

const shown = ({ contentsState, critical, high, medium, low, none, unknown }: Json) =>
  `${contentsState} ${[critical, high, medium, low, none, unknown].join(' ')}`

const prepare = async (cast: ApiFixture) => {
  const fixture = await setUp(cast)
  const { owner, name, viewer, repoUid, matched } = fixture
  const push = async (version: string, tag = 'v1') =>
    pushImage(owner, name, await imageWith({}, { 'left-pad': version }), tag)
  /** Pushes an image without a tag, and waits until its packages are matched: the entry of a tag for it waits for nothing but its delay. */
  const pushMatched = async (version: string) => {
    const image = await pushImage(owner, name, await imageWith({}, { 'left-pad': version }))
    await matched(await repoUid(), `digest=${image.digest}`)
    return image
  }
  const setTag = async (image: Pick<TestImage, 'manifest' | 'mediaType'>) =>
    assert.equal((await putManifest(owner, name, 'v1', image)).status, 201)
  const address = (repo: string, query = 'tag=v1') =>
    `vulnerabilities/findingSummaries/${repo}:history?${query}`
  const history = async (repo: string, query?: string): Promise<Json> => {
    const { status, body, text } = await read(viewer.api, address(repo, query))
    assert.equal(status, 200, text)
    return body
  }
  const entries = async (repo: string, query?: string): Promise<Json[]> =>
    (await history(repo, query)).tagFindingHistoryEntries
  /** Waits for the numbers of the latest entry. */
  const latest = (repo: string, numbers: string, query?: string) =>
    eventually(
      () => entries(repo, query),
      ([last]) => last !== undefined && shown(last) === numbers,
    )
  return { ...fixture, push, pushMatched, setTag, address, history, entries, latest }
}

onEveryDatabase(
  'history of findings',
  (cast) => {
    test('moves, advisories and VEX documents each add an entry, and nothing else does', async () => {
      const { importAll, owner, name, repoUid, push, latest, history, viewer } = await prepare(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const first = await push('1.0.0')
      const repo = await repoUid()
      await latest(repo, 'read 1 0 0 0 0 0')
      // An advisory about a package that the image has, and one about another.
      await importAll(npm('CVE-2024-0002', 'left-pad', '3.0.0'), npm('CVE-2024-0003', 'other', '3.0.0'))
      await latest(repo, 'read 1 0 0 0 0 1')
      const second = await push('2.0.0')
      await latest(repo, 'read 0 0 0 0 0 1')
      await attach(
        owner,
        name,
        second,
        VEX,
        openvex({
          vulnerability: { name: 'CVE-2024-0002' },
          status: 'not_affected',
          justification: 'vulnerable_code_not_in_execute_path',
        }),
      )
      await latest(repo, 'read 0 0 0 0 0 0')
      // The new severity shows at another tag before this one is moved back.
      await importAll(
        npm('CVE-2024-0002', 'left-pad', '3.0.0', { ...critical, modified: '2024-06-01T00:00:00Z' }),
      )
      await push('1.0.0', 'other')
      await latest(repo, 'read 2 0 0 0 0 0', 'tag=other')
      assert.equal((await putManifest(owner, name, 'v1', first)).status, 201)
      const all = await latest(repo, 'read 2 0 0 0 0 0')
      assert.deepEqual(
        all.map((entry) => `${shown(entry)} ${entry.digest === first.digest ? 'first' : 'second'}`),
        [
          'read 2 0 0 0 0 0 first',
          'read 0 0 0 0 0 0 second',
          'read 0 0 0 0 0 1 second',
          'read 1 0 0 0 0 1 first',
          'read 1 0 0 0 0 0 first',
        ],
      )
      const times = all.map(({ time }) => Date.parse(time))
      assert.deepEqual(
        times,
        times.toSorted((a, b) => b - a),
      )
      assert.equal((await history(repo)).totalCount, '5')
      const { tagFindingHistoryEntries, totalCount } = await cast().grpc.call(
        FindingSummariesService.method.listTagFindingHistory,
        { uid: repo, tag: 'v1', pageSize: 1 },
        { token: viewer.api.token },
      )
      assert.deepEqual([tagFindingHistoryEntries.map(shown), totalCount], [['read 2 0 0 0 0 0'], 5n])
    })

    test('an index counts each finding once, and what is not an image has no numbers', async () => {
      const { importAll, owner, name, repoUid, latest } = await prepare(cast())
      await importAll(npm('CVE-2024-0001', 'a', '2.0.0', critical), npm('CVE-2024-0002', 'b', '2.0.0'))
      const images = [
        await pushImage(owner, name, await imageWith({}, { a: '1.0.0' })),
        await pushImage(owner, name, await imageWith({}, { a: '1.0.0', b: '1.0.0' })),
      ]
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        manifests: images.map(({ descriptor }) => descriptor),
      })
      assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
      const repo = await repoUid()
      await latest(repo, 'read 1 0 0 0 0 1', 'tag=multi')
      await importAll(npm('CVE-2024-0003', 'b', '2.0.0'))
      await latest(repo, 'read 1 0 0 0 0 2', 'tag=multi')
      // The registry deletes a manifest of an index too. What is left has fewer findings.
      const [, second] = images
      assert.equal((await owner.request('DELETE', `${name}/manifests/${second?.digest}`)).status, 202)
      await latest(repo, 'read 1 0 0 0 0 0', 'tag=multi')
      const empty = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests: [] })
      assert.equal((await putManifest(owner, name, 'multi', empty)).status, 201)
      await latest(repo, 'none 0 0 0 0 0 0', 'tag=multi')
    })

    test('an image that could not be read again has an entry that says so, with the numbers of before', async () => {
      const { importAll, owner, name, repoUid, latest, entries, organization } = await prepare(cast())
      const { berth } = cast().berth
      await importAll(npm('CVE-2024-0001', 'erased', '2.0.0', critical))
      // No other image has this layer: the store keeps equal ones once.
      const image = await imageWith({}, { erased: '1.0.0' })
      await pushImage(owner, name, image, 'v1')
      const repo = await repoUid()
      await latest(repo, 'read 1 0 0 0 0 0')
      const [, layer] = image.blobs
      const blob = await findLinkedBlob(berth.installation.store.db, repo as Uid, digest(layer ?? ''))
      await berth.blobs.remove(blob?.location ?? '')
      const { api } = organization.owner
      const { status } = await api.post(`registry/repos/${repo}/manifests/v1/contents:readAgain`, {})
      assert.equal(status, 200)
      const { db, clock } = berth.installation.store
      const all = await eventually(
        async () => {
          // To the next attempt, and no further: tokens expire.
          const next = await db.kysely
            .selectFrom('manifest_contents')
            .select('due_ms')
            .where('repo', '=', repo)
            .where('state', '=', 'pending')
            .executeTakeFirst()
          cast().berth.advance(Math.max(0, Number(next?.due_ms ?? 0) - clock()))
          return entries(repo)
        },
        ([last]) => last?.contentsState !== 'read',
      )
      assert.deepEqual(all.map(shown), ['failed 1 0 0 0 0 0', 'read 1 0 0 0 0 0'])
    })

    test('entries come in pages; a deleted tag has none, and neither has its successor', async () => {
      const { importAll, owner, name, repoUid, push, latest, history, entries, address, viewer } =
        await prepare(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      await push('1.0.0')
      const repo = await repoUid()
      await latest(repo, 'read 1 0 0 0 0 0')
      await push('2.0.0')
      await latest(repo, 'read 0 0 0 0 0 0')
      await push('1.1.0')
      await latest(repo, 'read 1 0 0 0 0 0')
      const found: Json[] = []
      for (let token = ''; ; ) {
        const page = await history(repo, `tag=v1&page_size=1&page_token=${token}`)
        assert.equal(page.totalCount, '3')
        found.push(...page.tagFindingHistoryEntries)
        if (page.nextPageToken === '') break
        token = page.nextPageToken
      }
      assert.deepEqual(found, await entries(repo))
      assert.equal(found.length, 3)
      // A token of another tag.
      await push('2.0.0', 'v2')
      const { nextPageToken } = await history(repo, 'tag=v1&page_size=1')
      assertError(
        await read(viewer.api, address(repo, `tag=v2&page_token=${nextPageToken}`)),
        invalidFieldError('page_token'),
      )

      assert.equal((await owner.request('DELETE', `${name}/manifests/v1`)).status, 202)
      assert.equal((await read(viewer.api, address(repo))).status, 404)
      await push('2.0.0')
      await latest(repo, 'read 0 0 0 0 0 0')
      assert.equal((await entries(repo)).length, 1)
    })

    test('of an old day, the last entry is kept', async () => {
      const { importAll, repoUid, push, latest } = await prepare(cast())
      const { kysely } = cast().berth.berth.installation.store.db
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      await push('1.0.0')
      const repo = await repoUid()
      await latest(repo, 'read 1 0 0 0 0 0')
      await push('2.0.0')
      const entries = await latest(repo, 'read 0 0 0 0 0 0')
      const backdate = async (times: readonly number[]) => {
        for (const [at, { time }] of entries.entries())
          await kysely
            .updateTable('tag_findings')
            .set({ time_ms: times[at] ?? 0 })
            .where('tag', 'like', `${repo}/%`)
            .where('time_ms', '=', Date.parse(time))
            .execute()
      }
      const start = Math.floor(Date.now() / DAY_MS) * DAY_MS - 8 * DAY_MS
      await backdate([start + 2000, start + 1000])
      await push('1.1.0')
      assert.deepEqual((await latest(repo, 'read 1 0 0 0 0 0')).map(shown), [
        'read 1 0 0 0 0 0',
        'read 0 0 0 0 0 0',
      ])
    })

    test('the history is deleted with the image of the tag, before its repo and groups can be', async () => {
      const { importAll, owner, name, repoUid, push, latest, organization, root } = await prepare(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const { digest } = await push('1.0.0')
      const repo = await repoUid()
      await latest(repo, 'read 1 0 0 0 0 0')
      const { kysely } = cast().berth.berth.installation.store.db
      const rows = async () =>
        (await kysely.selectFrom('tag_findings').select('root').where('root', '=', root).execute()).length
      assert.equal(await rows(), 1)
      const { api } = organization.owner
      assert.equal((await owner.request('DELETE', `${name}/manifests/${digest}`)).status, 202)
      assert.equal((await api.delete(`registry/repos/${repo}`)).status, 200)
      assert.equal(await rows(), 0)
    })

    test('reads need both capabilities, and invalid values are named', async () => {
      const { repoUid, push, address, viewer, organization, root } = await prepare(cast())
      await push('1.0.0')
      const repo = await repoUid()
      const outsider = await organization.member('advisories.admin')
      assertError(await read(outsider.api, address(repo)), permissionDeniedError)
      assertError(await read(viewer.api, address(repo, '')), invalidFieldError('tag'))
      assertError(
        await read(viewer.api, address(repo, 'tag=v1&page_size=-1')),
        invalidFieldError('page_size'),
      )
      assertError(
        await read(viewer.api, address(repo, 'tag=v1&page_token=x')),
        invalidFieldError('page_token'),
      )
      assert.equal((await read(viewer.api, address(repo, 'tag=none'))).status, 404)
      assert.equal((await read(viewer.api, address(root))).status, 404)
    })
  },
  { ...imageJobs, findingHistoryDelayMs: 0 },
)

const shownSummary = ({ imageCount, unreadImageCount, ...counts }: Json) =>
  `${imageCount} ${unreadImageCount} ${shown({ ...counts, contentsState: ':' })}`

/** Two folders, one in the other with a repo, beside the repo of the fixture. */
const prepareScopes = async (cast: ApiFixture) => {
  const fixture = await prepare(cast)
  const { owner, root, organization, viewer } = fixture
  const { api } = organization.owner
  const names = [newName('outer'), newName('inner')]
  const folder: string = (await api.create(`iam/groups/${root}`, { name: names[0] })).uid
  const inner: string = (await api.create(`iam/groups/${folder}`, { name: names[1] })).uid
  const innerName = [root, ...names, 'app'].join('/')
  const address = (uid: string, query = '') =>
    `vulnerabilities/findingSummaries/${uid}:summaryHistory?${query}`
  const summaries = async (uid: string, query?: string, api: Api = viewer.api): Promise<Json> => {
    const { status, body, text } = await read(api, address(uid, query))
    assert.equal(status, 200, text)
    return body
  }
  const entriesOf = async (uid: string): Promise<Json[]> =>
    (await summaries(uid)).findingSummaryHistoryEntries
  const latestOf = (uid: string, numbers: string) =>
    eventually(
      () => entriesOf(uid),
      ([last]) => last !== undefined && shownSummary(last) === numbers,
    )
  const pushInner = async (version: string, tag: string) =>
    pushImage(owner, innerName, await imageWith({}, { 'left-pad': version }), tag)
  const innerRepo = async () => {
    const { body } = await read(viewer.api, `registry/repos?uidp.children_of=${inner}`)
    return body.repos[0].uid as string
  }
  return {
    ...{ ...fixture, folder, inner, summaryAddress: address, summaries, entriesOf, latestOf },
    ...{ pushInner, innerRepo, innerName },
  }
}

onEveryDatabase(
  'history of the summaries of findings',
  (cast) => {
    test('repos and all groups above them have the changes, and count each vulnerability once', async () => {
      const {
        importAll,
        owner,
        root,
        folder,
        inner,
        push,
        pushInner,
        repoUid,
        innerRepo,
        innerName,
        latestOf,
        entriesOf,
      } = await prepareScopes(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const first = await pushInner('1.0.0', 'v1')
      const scopes = [await innerRepo(), inner, folder, root]
      for (const scope of scopes) await latestOf(scope, '1 0 : 1 0 0 0 0 0')
      // Another image with the same vulnerability, and one without in another repo.
      const { digest } = await pushInner('1.1.0', 'v2')
      await push('2.0.0')
      const outer = await repoUid()
      for (const scope of [await innerRepo(), inner, folder]) await latestOf(scope, '2 0 : 1 0 0 0 0 0')
      await latestOf(root, '3 0 : 1 0 0 0 0 0')
      await latestOf(outer, '1 0 : 0 0 0 0 0 0')
      await importAll(npm('CVE-2024-0002', 'left-pad', '3.0.0'))
      await latestOf(outer, '1 0 : 0 0 0 0 0 1')
      await latestOf(folder, '2 0 : 1 0 0 0 0 1')
      await latestOf(root, '3 0 : 1 0 0 0 0 1')
      await importAll(npm('CVE-2024-0002', 'left-pad', '1.0.1'))
      await latestOf(outer, '1 0 : 0 0 0 0 0 0')
      await latestOf(root, '3 0 : 1 0 0 0 0 1')
      // Another tag of an image that is counted already changes no number.
      const { kysely } = cast().berth.berth.installation.store.db
      const queued = () =>
        kysely.selectFrom('finding_history_changes').select('kind').where('root', '=', root).execute()
      await eventually(queued, (rows) => rows.length === 0)
      const before = await entriesOf(root)
      await pushImage(owner, innerName, first, 'same')
      await eventually(queued, (rows) => rows.length === 0)
      assert.deepEqual(await entriesOf(root), before)
      assert.equal((await owner.request('DELETE', `${innerName}/manifests/same`)).status, 202)
      // What a deleted tag had is deleted from the numbers.
      assert.equal((await owner.request('DELETE', `${innerName}/manifests/${digest}`)).status, 202)
      assert.equal((await owner.request('DELETE', `${innerName}/manifests/v1`)).status, 202)
      for (const scope of [await innerRepo(), inner, folder]) await latestOf(scope, '0 0 : 0 0 0 0 0 0')
      await latestOf(root, '1 0 : 0 0 0 0 0 0')
    })

    test('of an hour and of an old day, the last entry is kept', async () => {
      const { importAll, push, repoUid, root, latestOf, entriesOf } = await prepareScopes(cast())
      const { clock, db } = cast().berth.berth.installation.store
      const { kysely } = db
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const { findingSummaryHistorySpacingMs: hour } = limits
      const leftOfHourMs = hour - (clock() % hour)
      // The test needs a part of one hour.
      if (leftOfHourMs < hour / 6) cast().berth.advance(leftOfHourMs)
      await push('1.0.0')
      const repo = await repoUid()
      for (const scope of [repo, root]) await latestOf(scope, '1 0 : 1 0 0 0 0 0')
      const startOfHour = Math.floor(clock() / hour) * hour
      const backdate = async (timeMs: number) => {
        for (const { time } of (await entriesOf(root)).slice(0, 1))
          await kysely
            .updateTable('scope_findings')
            .set({ time_ms: timeMs })
            .where('scope', '=', root)
            .where('time_ms', '=', Date.parse(time))
            .execute()
      }
      // Within the hour, a change replaces the one before.
      await backdate(startOfHour)
      await push('2.0.0')
      await latestOf(root, '1 0 : 0 0 0 0 0 0')
      assert.equal((await entriesOf(root)).length, 1)
      await backdate(startOfHour - 1)
      await push('1.1.0')
      await latestOf(root, '1 0 : 1 0 0 0 0 0')
      assert.equal((await entriesOf(root)).length, 2)
      // Two of one day that is not recent any more.
      const oldDay = Math.floor(clock() / DAY_MS) * DAY_MS - (limits.findingHistoryDetailDays + 1) * DAY_MS
      await backdate(oldDay + 2 * hour)
      await kysely
        .updateTable('scope_findings')
        .set({ time_ms: oldDay })
        .where('scope', '=', root)
        .where('time_ms', '=', startOfHour - 1)
        .execute()
      await push('2.1.0')
      assert.deepEqual(
        (await latestOf(root, '1 0 : 0 0 0 0 0 0')).map(({ time }) => Date.parse(time)).slice(1),
        [oldDay + 2 * hour],
      )
    })

    test('entries come in pages, by REST and gRPC', async () => {
      const { viewer, root, folder, summaries, summaryAddress } = await prepareScopes(cast())
      const { kysely } = cast().berth.berth.installation.store.db
      const start = Date.parse('2026-01-01T00:00:00Z')
      const counts = { critical: 1, high: 2, medium: 3, low: 4, none: 5, unknown: 6 }
      for (const [at, scope] of [root, root, root, folder].entries())
        await kysely
          .insertInto('scope_findings')
          .values({ root, scope, time_ms: start + at * DAY_MS, images: 7, unread_images: at, ...counts })
          .execute()
      const found: Json[] = []
      for (let token = ''; ; ) {
        const page = await summaries(root, `page_size=2&page_token=${token}`)
        assert.equal(page.totalCount, '3')
        found.push(...page.findingSummaryHistoryEntries)
        if (page.nextPageToken === '') break
        token = page.nextPageToken
      }
      assert.deepEqual(
        found.map((entry) => `${entry.time} ${shownSummary(entry)}`),
        [
          '2026-01-03T00:00:00.000Z 7 2 : 1 2 3 4 5 6',
          '2026-01-02T00:00:00.000Z 7 1 : 1 2 3 4 5 6',
          '2026-01-01T00:00:00.000Z 7 0 : 1 2 3 4 5 6',
        ],
      )
      const { token } = viewer.api
      const listed = await cast().grpc.call(
        FindingSummariesService.method.listFindingSummaryHistory,
        { uid: root },
        { token },
      )
      assert.deepEqual(
        listed.findingSummaryHistoryEntries.map(({ imageCount, unreadImageCount, unknown }) => [
          imageCount,
          unreadImageCount,
          unknown,
        ]),
        [
          [7n, 2n, 6n],
          [7n, 1n, 6n],
          [7n, 0n, 6n],
        ],
      )
      const { nextPageToken } = await summaries(root, 'page_size=1')
      assertError(
        await read(viewer.api, summaryAddress(folder, `page_token=${nextPageToken}`)),
        invalidFieldError('page_token'),
      )
      assertError(
        await read(viewer.api, summaryAddress(root, 'page_size=-1')),
        invalidFieldError('page_size'),
      )
      assert.equal((await read(viewer.api, summaryAddress(`${root}/0123456789abcdef`))).status, 404)
    })

    test('reads need both capabilities on the group or repo, and nothing of other groups', async () => {
      const {
        push,
        repoUid,
        pushInner,
        innerRepo,
        importAll,
        root,
        folder,
        inner,
        latestOf,
        summaryAddress,
      } = await prepareScopes(cast())
      const { organization } = await prepareScopes(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      await push('1.0.0')
      await pushInner('1.0.0', 'v1')
      await latestOf(root, '2 0 : 1 0 0 0 0 0')
      const repos = [await repoUid(), await innerRepo()] as const
      const { uid } = await cast().admin.create(`iam/identities/${root}`, {
        name: newName('member'),
        claimMatch,
      })
      await cast().admin.create(`iam/roleBindings/${inner}`, {
        identityUid: uid,
        roleUid: managedRole('viewer'),
      })
      const member = apiOf(cast().berth, await cast().berth.tokenOf(uid))
      for (const scope of [inner, repos[1]])
        assert.equal((await read(member, summaryAddress(scope))).status, 200, scope)
      for (const scope of [root, folder, repos[0]])
        assertError(await read(member, summaryAddress(scope)), permissionDeniedError)
      for (const scope of [root, inner, ...repos])
        assertError(await read(organization.owner.api, summaryAddress(scope)), permissionDeniedError)
      const { token } = member
      await assert.rejects(
        cast().grpc.call(
          FindingSummariesService.method.listFindingSummaryHistory,
          { uid: folder },
          { token },
        ),
        /permission/i,
      )
    })

    test('the history is deleted with the repo and the folder, and the folder above has what is left', async () => {
      const {
        importAll,
        owner,
        root,
        folder,
        inner,
        pushInner,
        innerRepo,
        innerName,
        latestOf,
        summaryAddress,
        organization,
      } = await prepareScopes(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const { digest } = await pushInner('1.0.0', 'v1')
      const repo = await innerRepo()
      for (const scope of [repo, inner, folder, root]) await latestOf(scope, '1 0 : 1 0 0 0 0 0')
      const { kysely } = cast().berth.berth.installation.store.db
      const subjects = async () => {
        const rows = await kysely
          .selectFrom('scope_findings')
          .select('scope')
          .distinct()
          .where('root', '=', root)
          .execute()
        return rows.map(({ scope }) => scope).sort()
      }
      const { api } = organization.owner
      assert.equal((await owner.request('DELETE', `${innerName}/manifests/${digest}`)).status, 202)
      assert.equal((await api.delete(`registry/repos/${repo}`)).status, 200)
      await latestOf(folder, '0 0 : 0 0 0 0 0 0')
      await latestOf(root, '0 0 : 0 0 0 0 0 0')
      assert.equal((await api.delete(`iam/groups/${inner}`)).status, 200)
      assert.deepEqual(await subjects(), [root, folder].sort())
      assert.equal((await read(api, summaryAddress(repo))).status, 404)
    })
  },
  { ...imageJobs, findingHistoryDelayMs: 0 },
)

onEveryDatabase(
  'delay of the history of findings',
  (cast) => {
    test('changes of a tag in a short time are one entry', async () => {
      const { importAll, repoUid, pushMatched, setTag, latest, entries } = await prepare(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const images = [await pushMatched('2.0.0'), await pushMatched('1.0.0')]
      const repo = await repoUid()
      for (const image of images) {
        await setTag(image)
        // Without a delay, the job would record each.
        await pause(10 * imageJobs.findingsPollMs)
      }
      assert.deepEqual(await entries(repo), [])
      cast().berth.advance(limits.findingHistoryDelayMs)
      assert.equal((await latest(repo, 'read 1 0 0 0 0 0')).length, 1)
    })

    test('repos are counted after their tags, and groups later', async () => {
      const { importAll, repoUid, pushMatched, setTag, root, latest, entriesOf, latestOf } =
        await prepareScopes(cast())
      const { findingHistoryDelayMs, findingHistoryGroupDelayMs } = limits
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      const image = await pushMatched('1.0.0')
      const repo = await repoUid()
      await setTag(image)
      cast().berth.advance(findingHistoryDelayMs)
      await latest(repo, 'read 1 0 0 0 0 0')
      assert.deepEqual(await entriesOf(repo), [])
      // The tag queues its repo after its own entry is written.
      await eventually(
        () => {
          cast().berth.advance(findingHistoryDelayMs)
          return entriesOf(repo)
        },
        ([last]) => last !== undefined,
        { pollMs: 500 },
      )
      assert.deepEqual(await entriesOf(root), [])
      cast().berth.advance(findingHistoryGroupDelayMs)
      await latestOf(root, '1 0 : 1 0 0 0 0 0')
    })
  },
  imageJobs,
)
