import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FindingSummariesService } from '@berth/contract/gen/berth/vulnerabilities/v1/finding_summaries_pb.js'
import type { Uid } from '@berth/server/api/uid.ts'
import { limits } from '@berth/server/config/limits.ts'
import { findLinkedBlob } from '@berth/server/registry/blobs/stored-blobs.ts'
import {
  type ApiFixture,
  assertError,
  invalidFieldError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import {
  CRITICAL,
  imageWith,
  type Json,
  openvex,
  osv,
  read,
  setUp,
  until,
  VEX,
} from '../support/findings/image-findings.ts'
import { attach } from '../support/images/readable-image.ts'
import { digest, imageFromManifest, pushImage, putManifest, types } from '../support/registry/registry.ts'

/** How many findings tags had over time. */

const DAY_MS = 24 * 60 * 60 * 1000
const npm = (id: string, name: string, fixed: string, more: object = {}) => osv(id, 'npm', name, fixed, more)
const critical = { severity: [{ type: 'CVSS_V3', score: CRITICAL }] }

const shown = ({ contentsState, critical, high, medium, low, none, unknown }: Json) =>
  `${contentsState} ${[critical, high, medium, low, none, unknown].join(' ')}`

const prepare = async (cast: ApiFixture) => {
  const fixture = await setUp(cast)
  const { owner, name, viewer } = fixture
  const push = async (version: string, tag = 'v1') =>
    pushImage(owner, name, await imageWith({}, { 'left-pad': version }), tag)
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
    until(
      () => entries(repo, query),
      ([last]) => last !== undefined && shown(last) === numbers,
    )
  return { ...fixture, push, address, history, entries, latest }
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
      const { contentsAttemptsMax, contentsRetryMs } = limits
      const all = await until(
        () => {
          cast().berth.advance(contentsRetryMs * 2 ** contentsAttemptsMax)
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
  { findingsPollMs: 10, findingHistoryDelayMs: 0, contents: { pollMs: 10 } },
)

onEveryDatabase(
  'delay of the history of findings',
  (cast) => {
    test('changes of a tag in a short time are one entry', async () => {
      const { importAll, repoUid, push, latest, entries, matched } = await prepare(cast())
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0', critical))
      await push('2.0.0')
      const repo = await repoUid()
      await matched(repo, 'tag=v1')
      await push('1.0.0')
      await matched(repo, 'tag=v1')
      assert.deepEqual(await entries(repo), [])
      cast().berth.advance(limits.findingHistoryDelayMs)
      assert.equal((await latest(repo, 'read 1 0 0 0 0 0')).length, 1)
    })
  },
  { findingsPollMs: 10, contents: { pollMs: 10 } },
)
