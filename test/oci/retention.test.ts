import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RepoPolicySchema, RetentionSchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { prepareRules } from '@berth/server/registry/retention/evaluation.ts'
import { manifestsToDelete } from '@berth/server/registry/retention/unreferenced-manifests.ts'
import { create } from '@bufbuild/protobuf'
import {
  assertError,
  failedPreconditionError,
  newName,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { eventually } from '../support/eventually.ts'
import {
  createRegistryFixture,
  imageFromManifest,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
  types,
} from '../support/registry/registry.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DAY = '86400s'

interface Verdict {
  readonly tag?: string
  readonly digest: string
  readonly deleted?: boolean
  readonly reason: string
}

onEveryDatabase(
  'registry: retention',
  (cast) => {
    /** A repo with a tag for each of these names, the oldest first. */
    const prepared = async (...tags: readonly string[]) => {
      const registry = await createRegistryFixture(cast())
      const { owner, name, organization, root } = registry
      const images: Record<string, TestImage> = {}
      for (const tag of tags) {
        images[tag] = await pushImage(owner, name, testImage(), tag)
        cast().berth.advance(10)
      }
      const { api } = organization.owner
      const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': root })).body.repos
      const path = `registry/repos/${repo}/policy`
      const left = async () => (await owner.request('GET', `${name}/tags/list`)).json.tags as string[]
      const set = async (policy: object) => {
        const reply = await api.patch(path, policy)
        assert.equal(reply.status, 200, reply.text)
      }
      const preview = async (request: object = {}) => {
        const verdicts: Verdict[] = []
        let pageToken = ''
        let counts = {}
        do {
          const { body, status, text } = await api.post(`${path}:preview`, { ...request, pageToken })
          assert.equal(status, 200, text)
          verdicts.push(...body.verdicts)
          counts = [body.deletedTags, body.deletedManifests]
          pageToken = body.nextPageToken
        } while (pageToken !== '')
        return { verdicts, counts }
      }
      /** What the next run came to. */
      const run = async () => {
        const asked = cast().berth.berth.installation.store.clock()
        const reply = await api.post(`${path}:apply`, {})
        assert.equal(reply.status, 200, reply.text)
        return ended(asked)
      }
      const ended = async (sinceMs: number) => {
        const { lastRun } = await eventually(
          async () => (await api.get(path)).body,
          ({ lastRun, nextRunTime }) =>
            lastRun?.endTime !== undefined &&
            Date.parse(nextRunTime) > sinceMs + 1000 &&
            Date.parse(lastRun.beginTime) >= sinceMs,
          { pollMs: 10 },
        )
        return lastRun
      }
      /** As if everything in the repo had been done so much earlier. */
      const age = async (ms: number) => {
        const { kysely } = cast().berth.berth.installation.store.db
        await kysely
          .updateTable('tags')
          .set((row) => ({ updated_ms: row('updated_ms', '-', ms) }))
          .where('parent', '=', repo)
          .execute()
        await kysely
          .updateTable('manifests')
          .set((row) => ({ touched_ms: row('touched_ms', '-', ms) }))
          .where('repo', '=', repo)
          .execute()
      }
      const clock = () => cast().berth.berth.installation.store.clock()
      return { ...registry, api, images, repo, path, left, set, preview, run, ended, clock, age }
    }
    const reasons = (verdicts: readonly Verdict[]) =>
      Object.fromEntries(verdicts.map(({ tag, digest, reason }) => [tag || digest, reason]))

    test('a preview lists what would be deleted and why the rest is kept, and changes nothing', async () => {
      const { preview, left, set, images, repo, api, path } = await prepared('a1', 'a2', 'a3', 'b1', 'v1')
      await set({
        immutableTags: { patterns: ['v*'] },
        retention: { rules: [{ patterns: ['a*'], newest: 2 }, { patterns: ['x*'] }] },
      })
      const { verdicts, counts } = await preview()
      assert.deepEqual(reasons(verdicts), {
        a1: 'no rule keeps it',
        a2: 'rule 1 keeps it',
        a3: 'rule 1 keeps it',
        b1: 'no rule keeps it',
        v1: 'immutable',
      })
      assert.deepEqual(counts, [2, 0])
      assert.equal(verdicts[0]?.digest, images['a1']?.digest)
      const small = await preview({ pageSize: 2, deletedOnly: true })
      assert.deepEqual(
        small.verdicts.map(({ tag }) => tag),
        ['a1', 'b1'],
      )
      const tried = await preview({ pageSize: 1, retention: { rules: [{ youngerThan: DAY }] } })
      assert.deepEqual(
        new Set(Object.values(reasons(tried.verdicts))),
        new Set(['rule 1 keeps it', 'immutable']),
      )
      assert.equal(tried.verdicts.length, 5)
      assert.deepEqual(await left(), ['a1', 'a2', 'a3', 'b1', 'v1'])
      assertError(await api.post(`${path}:apply`, {}), failedPreconditionError('RETENTION_DISABLED'))
      assert.equal((await cast().auditEventsOf(repo)).length, 2)
    })

    test('rules keep the newest, the recent and named tags; immutable tags are kept; audit and history record deletions', async () => {
      const { set, left, clock, ended, api, run, name, owner, images, path, root, age } = await prepared(
        'a1',
        'a2',
        'a3',
        'b1',
        'release',
        'v1',
      )
      const enabledMs = clock()
      await set({
        immutableTags: { patterns: ['v*'] },
        retention: {
          enabled: true,
          rules: [{ patterns: ['a*'], newest: 2 }, { patterns: ['release'] }, { youngerThan: DAY }],
        },
      })
      assert.equal((await ended(enabledMs)).deletedTags, 0)
      assert.equal((await left()).length, 6)
      await age(DAY_MS + 1000)
      await putManifest(owner, name, 'new', images['b1'] as TestImage)
      const before = (await api.get('registry/tags', { 'uidp.descendants_of': root })).body.totalCount
      assert.equal((await run()).deletedTags, 2)
      assert.deepEqual(await left(), ['a2', 'a3', 'new', 'release', 'v1'])
      const { body } = await api.get('registry/tags', { 'uidp.descendants_of': root })
      assert.deepEqual([before, body.totalCount], ['7', '5'])
      const events = `${cast().berth.url}/audit/v1/events?uidp.descendants_of=${root}`
      const { body: log } = await call('GET', events, { token: api.token })
      const deletes = log.events.filter(({ method }: { method: string }) => method.endsWith('/DeleteTag'))
      assert.deepEqual(
        deletes.map(({ actor }: { actor: string }) => actor),
        ['system', 'system'],
      )
      assert.equal((await owner.request('HEAD', `${name}/manifests/${images['a1']?.digest}`)).status, 200)
      const metrics = await (await fetch(`${cast().berth.url}/metrics`)).text()
      assert.match(metrics, /berth_retention_deleted_total\{kind="tags"\} [1-9]/)
      assert.ok(Date.parse((await api.get(path)).body.nextRunTime) > clock() + limits.retentionIntervalMs / 2)
    })

    test('unreferenced manifests are deleted, with what only they reference, and their signatures', async () => {
      const { set, run, owner, name, clock, ended, preview, images, age } = await prepared('latest', 'old')
      const put = async (reference: string, content: Parameters<typeof imageFromManifest>[0]) => {
        const made = imageFromManifest(content)
        const reply = await putManifest(owner, name, reference === '' ? made.digest : reference, made)
        assert.equal(reply.status, 201, reply.bytes.toString())
        return made
      }
      const index = (...manifests: object[]) => ({ schemaVersion: 2, mediaType: types.index, manifests })
      const [inOld, inNew, loose] = [testImage(), testImage(), testImage()]
      for (const image of [inOld, inNew, loose]) await pushImage(owner, name, image)
      const oldIndex = await put('', index(inOld.descriptor))
      await put('stays', index(inNew.descriptor))
      const [sbomOfOld, sbomOfNew] = [
        testImage({ subject: oldIndex.descriptor, artifactType: 'application/x.sbom' }),
        testImage({ subject: inNew.descriptor, artifactType: 'application/x.sbom' }),
      ]
      for (const image of [sbomOfOld, sbomOfNew]) await pushImage(owner, name, image)
      const signature = await pushImage(owner, name, testImage(), `sha256-${oldIndex.digest.slice(7)}.sig`)
      const kept = await pushImage(owner, name, testImage(), `sha256-${inNew.digest.slice(7)}.sig`)
      const enabledMs = clock()
      await set({
        retention: { enabled: true, untaggedAfter: DAY, rules: [{ patterns: ['latest', 'stays'] }] },
      })
      const first = await ended(enabledMs)
      assert.deepEqual([first.deletedTags, first.deletedManifests], [1, 0])
      const has = async ({ digest }: { digest: string }) =>
        (await owner.request('HEAD', `${name}/manifests/${digest}`)).status === 200
      assert.equal(await has(images['old'] as TestImage), true)
      await age(DAY_MS / 2)
      // A client that pushes it again wants to keep it.
      await putManifest(owner, name, loose.digest, loose)
      await age(DAY_MS / 2 + 1000)
      const expected = await preview({ deletedOnly: true })
      const gone = [images['old'] as TestImage, inOld, oldIndex, sbomOfOld].map(({ digest }) => digest).sort()
      assert.deepEqual(
        expected.verdicts.map(({ digest }) => digest),
        [signature.digest, ...gone],
      )
      assert.deepEqual(expected.counts, [1, 4])
      const why = reasons((await preview()).verdicts)
      assert.equal(why[inNew.digest], 'an index references it')
      assert.equal(why[sbomOfNew.digest], 'its subject exists')
      assert.equal(why[loose.digest], 'it was pushed or tagged recently')
      const second = await run()
      assert.deepEqual([second.deletedTags, second.deletedManifests], [1, 4])
      for (const image of [images['latest'] as TestImage, inNew, sbomOfNew, kept, loose])
        assert.equal(await has(image), true)
      for (const image of [inOld, oldIndex, sbomOfOld]) assert.equal(await has(image), false)
      assert.equal(await has(signature), true)
      await age(DAY_MS + 1000)
      assert.equal((await run()).deletedManifests, 2)
      assert.equal(await has(signature), false)
    })

    test('tags attached to a deleted manifest are previewed and deleted with it, similar names are kept', async () => {
      const { set, run, preview, left, owner, name, clock, ended, age } = await prepared('base')
      const loose = await pushImage(owner, name, testImage())
      const about = loose.digest.replace(':', '-')
      const names = [`${about}.sig`, `${about}ab-release`, `${about}.immutable`]
      for (const tag of names) await pushImage(owner, name, testImage(), tag)
      const enabledMs = clock()
      await set({
        immutableTags: { patterns: ['*.immutable'] },
        retention: { enabled: true, untaggedAfter: DAY, rules: [{ patterns: ['*'] }] },
      })
      await ended(enabledMs)
      await age(DAY_MS + 1000)
      const { verdicts, counts } = await preview()
      const why = reasons(verdicts)
      assert.deepEqual(
        names.map((tag) => why[tag]),
        ['it is attached to a manifest that is deleted', 'rule 1 keeps it', 'immutable'],
      )
      assert.deepEqual(counts, [1, 1])
      const { deletedTags, deletedManifests } = await run()
      assert.deepEqual([deletedTags, deletedManifests], counts)
      assert.deepEqual(await left(), ['base', ...names.slice(1).sort()])
    })

    test('manifests of a tagged index do not fill the page of manifests to delete', async () => {
      const { owner, name, repo, age, clock } = await prepared('base')
      const made = [testImage(), testImage(), testImage(), testImage()].sort((a, b) =>
        a.digest < b.digest ? -1 : 1,
      )
      for (const image of made) await pushImage(owner, name, image)
      const manifests = made.slice(0, 3).map(({ descriptor }) => descriptor)
      const index = imageFromManifest({ schemaVersion: 2, mediaType: types.index, manifests })
      assert.equal((await putManifest(owner, name, 'all', index)).status, 201)
      await age(DAY_MS)
      const { db } = cast().berth.berth.installation.store
      assert.deepEqual(await manifestsToDelete(db, repo, clock(), 1), [made[3]?.digest])
    })

    test('very many untagged manifests with one subject are evaluated, and all are deleted', async () => {
      const { owner, name, repo, age, clock } = await prepared('base')
      const subject = await pushImage(owner, name, testImage())
      await age(DAY_MS)
      const { db } = cast().berth.berth.installation.store
      const model = await db.kysely
        .selectFrom('manifests')
        .selectAll()
        .where('repo', '=', repo)
        .executeTakeFirstOrThrow()
      const digests = Array.from({ length: 12_000 }, (_, n) => `sha256:${String(n).padStart(64, '0')}`)
      for (let at = 0; at < digests.length; at += 1000)
        await db.kysely
          .insertInto('manifests')
          .values(
            digests.slice(at, at + 1000).map((digest) => ({ ...model, digest, subject: subject.digest })),
          )
          .execute()
      const going = await manifestsToDelete(db, repo, clock())
      assert.deepEqual([going.length, going[0]], [digests.length + 1, subject.digest])
    })

    test('a tag that moves after the newest tags were found is one of them', async () => {
      const { owner, name, repo, images, left } = await prepared('a', 'b', 'c')
      const { db, clock } = cast().berth.berth.installation.store
      const retention = create(RetentionSchema, { rules: [{ newest: 1 }] })
      const target = { repo, retention, immutable: create(RepoPolicySchema) }
      const rules = await prepareRules(db.kysely, target, clock())
      const deletedTags = async () => {
        const rows = await db.kysely.selectFrom('tags').selectAll().where('parent', '=', repo).execute()
        return rows.filter((tag) => rules.evaluate(tag).deleted).map((tag) => tag.name)
      }
      assert.deepEqual((await deletedTags()).sort(), ['a', 'b'])
      cast().berth.advance(10)
      assert.equal((await putManifest(owner, name, 'a', images['b'] as TestImage)).status, 201)
      assert.deepEqual(await deletedTags(), ['b'])
      assert.deepEqual(await left(), ['a', 'b', 'c'])
    })

    test('pushes and deletions continue during a run, and their changes are kept', async () => {
      const names = Array.from({ length: 70 }, (_, at) => `t${String(at).padStart(3, '0')}`)
      const { set, left, owner, name, run, ended, clock } = await prepared('t000')
      const image = await pushImage(owner, name, testImage(), 'base')
      for (const tag of names) await putManifest(owner, name, tag, image)
      const asked = clock()
      await set({ retention: { enabled: true, rules: [{ patterns: ['t*'], newest: 5 }] } })
      const moved = testImage()
      await pushImage(owner, name, moved)
      const busy = Promise.all(['t010', 't050', 't060'].map((tag) => putManifest(owner, name, tag, moved)))
      for (const reply of await busy) assert.equal(reply.status, 201)
      await ended(asked)
      await run()
      const tags = (await left()).filter((tag) => tag.startsWith('t'))
      assert.equal(tags.length, 5)
      for (const tag of ['t010', 't050', 't060']) assert.ok(tags.includes(tag), `${tag} of ${tags}`)
    })

    test('a caller who may not delete tags cannot have retention delete them', async () => {
      const { set, path, member, preview, organization } = await prepared('a')
      await set({ retention: { rules: [{ patterns: ['b'] }] } })
      const capabilities = ['CAP_REPO_LIST', 'CAP_REPO_POLICIES_UPDATE', 'CAP_TAG_LIST']
      const { api } = organization.owner
      const role = await api.create(`iam/roles/${organization.uid}`, {
        name: newName('keeper'),
        capabilities,
      })
      const keeper = await member(role.uid)
      assertError(await keeper.api.patch(path, { retention: { enabled: true } }), permissionDeniedError)
      assertError(await keeper.api.post(`${path}:apply`, {}), permissionDeniedError)
      assertError(await keeper.api.post(`${path}:preview`, {}), permissionDeniedError)
      assert.equal((await keeper.api.patch(path, { immutableTags: { patterns: ['*'] } })).status, 200)
      assert.deepEqual((await preview()).counts, [0, 0])
      await set({ retention: { enabled: true, rules: [{ patterns: ['b'] }] } })
      assertError(await keeper.api.patch(path, { immutableTags: {} }), permissionDeniedError)
      const tried = await preview({ immutableTags: {} })
      assert.deepEqual(tried.counts, [1, 0])
    })

    test('runs are listed with who requested them; scheduled runs that delete nothing are not', async () => {
      const { set, run, ended, clock, api, repo, root, organization } = await prepared('a', 'b', 'c')
      const runs = async (query: Readonly<Record<string, string>> = {}, as = api) =>
        (await as.get('registry/retentionRuns', { repoUid: repo, ...query })).body
      const enabledMs = clock()
      await set({ retention: { enabled: true, rules: [{ patterns: ['a', 'b'] }] } })
      await ended(enabledMs)
      const [first] = (await runs()).retentionRuns
      assert.deepEqual(
        [first.repoUid, first.state, first.deletedTags, first.deletedManifests, first.error],
        [repo, 'STATE_SUCCEEDED', 1, 0, ''],
      )
      assert.notEqual(first.actor, 'system')

      cast().berth.advance(1000)
      const dueMs = clock()
      await cast()
        .berth.berth.installation.store.db.kysely.updateTable('repo_policies')
        .set({ due_ms: dueMs })
        .where('uid', '=', repo)
        .execute()
      await ended(dueMs)
      assert.equal((await runs()).totalCount, '1', 'nothing was deleted')
      cast().berth.advance(1000)
      await run()
      const { retentionRuns: all, totalCount } = await runs()
      assert.deepEqual([totalCount, all[0].actor, all[0].deletedTags], ['2', first.actor, 0])
      assert.equal((await runs({ repoUid: '', 'uidp.descendantsOf': root })).totalCount, '2')
      assert.equal((await runs({ until: all[0].startTime })).totalCount, '1')
      assert.equal((await runs({ actor: 'system' })).totalCount, '0')
      const outside = await (await cast().organization()).member('viewer')
      assert.equal((await runs({}, outside.api)).totalCount, '0')
      const inside = await organization.member('viewer')
      assert.equal((await runs({}, inside.api)).totalCount, '2')
    })
  },
  { retention: { pollMs: 20 } },
)
