import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageService } from '@berth/contract/gen/berth/registry/v1/usage_pb.js'
import { organizationSettings } from '@berth/server/operator/organization-settings.ts'
import { currentUsageReader } from '@berth/server/registry/usage/current-usage.ts'
import { createTransferCounter } from '@berth/server/registry/usage/transfer-counter.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { databaseFailure } from '@berth/server/storage/engines/postgres/errors.ts'
import {
  type Api,
  assertError,
  invalidFieldError,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import { createRegistryFixture, pushImage, testImage } from '../support/registry/registry.ts'

/** What organizations, folders and repos use, now and over time. */

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

onEveryDatabase(
  'usage',
  (cast) => {
    const now = () => cast().berth.berth.installation.store.clock()
    const used = async (api: Api, uid: string) => {
      const { status, body, text } = await api.get(`registry/usage/${uid}`)
      assert.equal(status, 200, text)
      const resources = Object.fromEntries(
        body.resources.map(({ kind, ...rest }: { kind: string }) => [kind, rest]),
      )
      return { ...body, resources }
    }
    const history = async (api: Api, path: string, query = {}) => {
      const { status, body, text } = await api.get(path, query)
      assert.equal(status, 200, text)
      return body.days
    }

    test('an organization and its folders have numbers of resources, stored bytes once each, and limits', async () => {
      const { organization, root, owner } = await createRegistryFixture(cast())
      const { api } = organization.owner
      const team = await api.create(`iam/groups/${root}`, { name: 'team' })
      await organizationSettings(cast().berth.berth.installation, root, {
        limits: new Map([
          ['repos', 7],
          ['storage_mib', 3],
        ]),
      })
      const shared = testImage()
      await pushImage(owner, `${root}/one`, shared, 'v1')
      await pushImage(owner, `${organization.name}/team/two`, shared, 'v1')
      await pushImage(owner, `${organization.name}/team/three`, shared, 'v1')
      const bytes = shared.blobs.reduce((sum, blob) => sum + blob.length, 0)

      const all = await used(api, root)
      assert.equal(all.uid, root)
      assert.deepEqual(all.resources.repos, { used: '3', limit: '7', missing: 'UNKNOWN' })
      assert.deepEqual(all.resources.manifests, { used: '3', missing: 'UNKNOWN' })
      assert.deepEqual(
        [all.resources.tags.used, all.resources.groups.used, all.storedBytes, all.storedBytesLimit],
        ['3', '1', String(bytes), String(3 * 1024 * 1024)],
      )
      const folder = await used(api, team.uid)
      assert.deepEqual(folder.resources.repos, { used: '2', limit: '7', missing: 'UNKNOWN' })
      assert.deepEqual(
        [folder.resources.manifests.used, folder.resources.groups.used, folder.storedBytes],
        ['2', '0', String(bytes)],
      )
      const { storedBytes, resources } = await cast().grpc.call(
        UsageService.method.getUsage,
        { uid: team.uid },
        { token: api.token },
      )
      assert.equal(storedBytes, BigInt(bytes))
      assert.equal(resources.find(({ kind }) => kind === 'tags')?.used, 2n)
    })

    test('a member of a folder sees what lists would show, and no limits of the organization', async () => {
      const organization = await cast().organization()
      const team = await organization.owner.api.create(`iam/groups/${organization.uid}`, { name: 'team' })
      await organizationSettings(cast().berth.berth.installation, organization.uid, {
        limits: new Map([['storage_mib', 3]]),
      })
      const role = await organization.owner.api.create(`iam/roles/${organization.uid}`, {
        name: newName('reader'),
        capabilities: ['CAP_IAM_GROUPS_LIST', 'CAP_REPO_LIST'],
      })
      const member = await organization.member('viewer', team.uid)
      const seen = await used(member.api, team.uid)
      assert.deepEqual(seen.resources.repos, { used: '0', missing: 'UNKNOWN' })
      assert.deepEqual([seen.storedBytes, seen.storedBytesLimit], ['0', undefined])
      assert.equal((await member.api.get(`registry/usage/${organization.uid}`)).status, 403)

      const { uid, api } = await organization.member('viewer', team.uid)
      const [binding] = (
        await organization.owner.api.get('iam/roleBindings', { group: team.uid })
      ).body.roleBindings.filter(({ identityUid }: { identityUid: string }) => identityUid === uid)
      await organization.owner.api.patch(`iam/roleBindings/${binding.uid}`, {
        identityUid: uid,
        roleUid: role.uid,
      })
      const narrow = await used(api, team.uid)
      assert.deepEqual(narrow.resources.repos, { used: '0', missing: 'UNKNOWN' })
      assert.deepEqual(narrow.resources.identities, { missing: 'CAP_IAM_IDENTITY_LIST' })
      assert.equal(narrow.storedBytes, undefined)
      assert.equal((await api.get(`registry/usage/${team.uid}/history`)).status, 403)
    })

    test('pulls are GETs of manifests, pushes their uploads; HEAD and a version that the client has do not count', async () => {
      const leftOfDayMs = DAY_MS - (now() % DAY_MS)
      // The test needs a part of one day.
      if (leftOfDayMs < HOUR_MS / 6) cast().berth.advance(leftOfDayMs)
      const { organization, root, owner } = await createRegistryFixture(cast())
      const { api } = organization.owner
      const image = testImage()
      await pushImage(owner, `${root}/web`, image, 'v1')
      await pushImage(owner, `${root}/idle`, image, 'v1')
      const get = (method: string, reference: string, headers = {}) =>
        owner.request(method, `${root}/web/manifests/${reference}`, { headers })
      assert.equal((await get('GET', 'v1')).status, 200)
      assert.equal((await get('GET', image.digest)).status, 200)
      assert.equal((await get('HEAD', 'v1')).status, 200)
      assert.equal((await get('GET', 'v1', { 'if-none-match': `"${image.digest}"` })).status, 304)
      assert.equal((await get('GET', 'none')).status, 404)

      const { repos } = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body
      const uidOf = (name: string) => repos.find((repo: { name: string }) => repo.name === name).uid
      const date = dateOf(now())
      const path = `registry/repos/${uidOf('web')}/usageHistory`
      assert.deepEqual(
        await eventually(
          () => history(api, path),
          (days) => days[0]?.pulls === '2' && days[0]?.pushes === '1',
        ),
        [{ date, pulls: '2', pushes: '1' }],
      )
      const [day] = await eventually(
        () => history(api, `registry/usage/${root}/history`),
        (days) => days[0]?.pushes === '2',
      )
      assert.deepEqual([day.date, day.pulls, day.pushes], [date, '2', '2'])
      assert.deepEqual((await api.get(`registry/usage/${root}/topRepos`)).body.repos, [
        { uid: uidOf('web'), path: 'web', pulls: '2', pushes: '1' },
      ])
      const byPushes = await api.get(`registry/usage/${root}/topRepos`, { orderBy: 'pushes', pageSize: '1' })
      assert.equal(byPushes.body.repos.length, 1)

      // The organization keeps the pulls of a deleted repo.
      assert.equal((await owner.request('DELETE', `${root}/web/manifests/${image.digest}`)).status, 202)
      assert.equal((await api.delete(`registry/repos/${uidOf('web')}`)).status, 200)
      assert.equal((await api.get(path)).status, 404)
      assert.deepEqual((await api.get(`registry/usage/${root}/topRepos`)).body.repos, [])
      assert.equal((await history(api, `registry/usage/${root}/history`))[0].pulls, '2')
    })

    test('a job records levels each day, which are read by period and page, and deleted after 400 days', async () => {
      const { organization, root, owner } = await createRegistryFixture(cast())
      const { api } = organization.owner
      const image = await pushImage(owner, `${root}/web`, testImage(), 'v1')
      const bytes = String(image.blobs.reduce((sum, blob) => sum + blob.length, 0))
      const path = `registry/usage/${root}/history`
      const today = Math.floor(now() / DAY_MS)
      const db = () => cast().berth.berth.installation.store.db
      const insert = (days: readonly number[]) =>
        inTransaction(db(), async (tx) => {
          for (const day of days)
            await tx
              .insertInto('usage_days')
              .values({ root, day, stored_bytes: day, manifests: 1, tags: 2, repos: 3, pulls: 4, pushes: 5 })
              .execute()
        })
      await insert([today - 401, today - 400, today - 399, today - 2, today - 1])
      const days = await eventually(
        () => history(api, path),
        (found) => found.length === 4 && found.at(-1).tags === '1',
      )
      const dates = [399, 2, 1, 0].map((ago) => dateOf((today - ago) * DAY_MS))
      assert.deepEqual(
        days.map(({ date }: { date: string }) => date),
        dates,
      )
      const { manifests, tags, repos, storedBytes } = days.at(-1)
      assert.deepEqual([manifests, tags, repos, storedBytes], ['1', '1', '1', bytes])

      const [, second = '', third = ''] = dates
      assert.deepEqual(
        (await history(api, path, { startDate: second, endDate: third })).map(
          ({ date }: { date: string }) => date,
        ),
        [second, third],
      )
      const first = (await api.get(path, { pageSize: '3' })).body
      assert.deepEqual([first.days.length, first.days.at(-1).date], [3, third])
      const rest = (await api.get(path, { pageSize: '3', pageToken: first.nextPageToken })).body
      assert.deepEqual([rest.days.length, rest.nextPageToken], [1, ''])
      const { days: sent } = await cast().grpc.call(
        UsageService.method.getUsageHistory,
        { uid: root, pageSize: 1 },
        { token: api.token },
      )
      assert.equal(sent[0]?.storedBytes, BigInt(today - 399))
    })

    test('pulls that are written after the repo or the organization was deleted are not kept', async () => {
      const { db } = cast().berth.berth.installation.store
      const organization = await cast().organization()
      const gone = '9'.repeat(40)
      const repos = [`${organization.uid}/${'0'.repeat(16)}`, `${gone}/${'0'.repeat(16)}`]
      const counter = createTransferCounter({
        db,
        clock: now,
        onError: (error) => assert.fail(String(error)),
        onDropped: (transfers) => assert.fail(`${transfers} are not counted`),
      })
      for (const repo of repos) counter.countPull(repo)
      await counter.stop()
      const rows = await db.kysely
        .selectFrom('repo_usage_days')
        .selectAll()
        .where('repo', 'in', repos)
        .execute()
      assert.deepEqual(rows, [])
      const days = await db.kysely
        .selectFrom('usage_days')
        .select('root')
        .where('root', 'in', [organization.uid, gone])
        .where('pulls', '=', 1)
        .execute()
      assert.deepEqual(days, [{ root: organization.uid }])
    })

    test('a commit whose outcome is unknown counts no pull twice, and later ones are counted', async () => {
      const { db } = cast().berth.berth.installation.store
      const { organization, root, owner } = await createRegistryFixture(cast())
      await pushImage(owner, `${root}/web`, testImage(), 'v1')
      const { repos } = (await organization.owner.api.get('registry/repos', { 'uidp.descendants_of': root }))
        .body
      let unconfirmed = 1
      let errors = 0
      const counter = createTransferCounter({
        db: {
          ...db,
          async transaction(work, options) {
            const result = await db.transaction(work, options)
            if (unconfirmed-- <= 0) return result
            throw databaseFailure(Object.assign(new Error('reset'), { code: 'ECONNRESET' }), 'commit')
          },
        },
        clock: now,
        flushMs: 5,
        onError: () => {
          errors++
        },
        onDropped: (transfers) => assert.fail(`${transfers} are not counted`),
      })
      for (let n = 0; n < 3; n++) counter.countPull(repos[0].uid)
      await eventually(() => errors === 1)
      counter.countPull(repos[0].uid)
      await counter.stop()
      for (const table of ['repo_usage_days', 'usage_days'] as const) {
        const { pulls } = await db.kysely
          .selectFrom(table)
          .select('pulls')
          .where('root', '=', root)
          .executeTakeFirstOrThrow()
        assert.equal(Number(pulls), 4)
      }
    })

    test('old days are deleted after the organization, too', async () => {
      const { db } = cast().berth.berth.installation.store
      const gone = '8'.repeat(40)
      const day = Math.floor(now() / DAY_MS) - 401
      const left = () =>
        db.kysely.selectFrom('repo_usage_days').select('root').where('root', '=', gone).execute()
      await inTransaction(db, async (tx) => {
        await tx
          .insertInto('repo_usage_days')
          .values({ root: gone, repo: `${gone}/${'0'.repeat(16)}`, day, pulls: 1, pushes: 0 })
          .execute()
      })
      assert.deepEqual(await eventually(left, (rows) => rows.length === 0), [])
    })

    test('the usage of a folder reads what the caller may see, once for callers at the same time', async () => {
      const { db } = cast().berth.berth.installation.store
      const organization = await cast().organization()
      const team = await organization.owner.api.create(`iam/groups/${organization.uid}`, { name: 'team' })
      const read = currentUsageReader(db)
      const parts = { kinds: new Set(['groups'] as const), bytes: false }
      const [first, second] = [read(team.uid, parts), read(team.uid, parts)]
      assert.equal(first, second)
      assert.deepEqual(await first, { counts: new Map([['groups', 0]]), bytes: undefined })
      const more = await read(team.uid, { kinds: new Set(['groups', 'manifests'] as const), bytes: true })
      assert.deepEqual([more.counts.get('manifests'), more.bytes], [0, 0])
      assert.notEqual(read(team.uid, parts), first)
    })

    test('a day without a run of the job has pulls and no levels', async () => {
      const organization = await cast().organization()
      const day = Math.floor(now() / DAY_MS) - 5
      const { db } = cast().berth.berth.installation.store
      await inTransaction(db, async (tx) => {
        const levels = { stored_bytes: -1, manifests: -1, tags: -1, repos: -1 }
        await tx
          .insertInto('usage_days')
          .values({ root: organization.uid, day, ...levels, pulls: 4, pushes: 0 })
          .execute()
      })
      const [old] = await history(organization.owner.api, `registry/usage/${organization.uid}/history`)
      assert.deepEqual(old, { date: dateOf(day * DAY_MS), pulls: '4', pushes: '0' })
    })

    test('invalid fields, and uids of other things', async () => {
      const { organization, root } = await createRegistryFixture(cast())
      const { api } = organization.owner
      const team = await api.create(`iam/groups/${root}`, { name: 'team' })
      for (const [path, query, field] of [
        [`registry/usage/${team.uid}/history`, {}, 'uid'],
        [`registry/usage/${root}/history`, { startDate: '2026-02-30' }, 'start_date'],
        [`registry/usage/${root}/history`, { startDate: 'yesterday' }, 'start_date'],
        [`registry/usage/${root}/history`, { endDate: '2026-1-1' }, 'end_date'],
        [`registry/usage/${root}/history`, { startDate: '2026-01-02', endDate: '2026-01-01' }, 'end_date'],
        [`registry/usage/${root}/history`, { pageSize: '-1' }, 'page_size'],
        [`registry/usage/${root}/history`, { pageToken: 'forged' }, 'page_token'],
        [`registry/usage/${root}/topRepos`, { orderBy: 'bytes' }, 'order_by'],
        [`registry/usage/${root}/topRepos`, { pageSize: '-1' }, 'page_size'],
      ] as const)
        assertError(await api.get(path, query), invalidFieldError(field))
      const none = `${root}/${'0'.repeat(16)}`
      for (const path of [`usage/${none}`, `usage/${none}/topRepos`, `repos/${none}/usageHistory`])
        assert.equal((await api.get(`registry/${path}`)).status, 404)
    })

    test('the rows of an organization are deleted with it', async () => {
      const { organization, root, owner } = await createRegistryFixture(cast())
      const image = await pushImage(owner, `${root}/web`, testImage(), 'v1')
      const { api } = organization.owner
      await eventually(
        () => history(api, `registry/usage/${root}/history`),
        (days) => days.length > 0,
      )
      const [repo] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
      assert.equal((await owner.request('DELETE', `${root}/web/manifests/${image.digest}`)).status, 202)
      assert.equal((await api.delete(`registry/repos/${repo.uid}`)).status, 200)
      const { db } = cast().berth.berth.installation.store
      const rows = async () => [
        ...(await db.kysely.selectFrom('repo_usage_days').select('root').where('root', '=', root).execute()),
        ...(await db.kysely.selectFrom('usage_days').select('root').where('root', '=', root).execute()),
      ]
      assert.equal((await rows()).length, 1)
      const { roleBindings } = (await cast().admin.get('iam/roleBindings', { group: root })).body
      for (const { uid } of roleBindings) await cast().admin.delete(`iam/roleBindings/${uid}`)
      await cast().admin.delete(`iam/identities/${organization.owner.uid}`)
      const deleted = await cast().admin.delete(`iam/groups/${root}`)
      assert.equal(deleted.status, 200, deleted.text)
      assert.deepEqual(await rows(), [])
    })
  },
  { transferFlushMs: 20, usageIntervalMs: 100 },
)
