import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startNodes } from './support/advisories/feed-nodes.ts'
import { type Api, apiOf } from './support/api/api-fixture.ts'
import { withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { runBerth } from './support/server/process.ts'

/** One of several nodes applies retention to a repo, and another continues when that one ends or dies. */

/** As many as take a run longer than it takes to notice it. */
const tagsOf = { sqlite: 2500, postgres: 600 } as const
/** Deleted before the node ends. */
const DELETED_MIN = 20
const CREATED_AT_ONCE = 20
const LONG_LEASE_MS = 10 * 60 * 1000

interface Run {
  readonly state: string
  readonly actor: string
  readonly deletedTags: number
  readonly startTime: string
  readonly endTime?: string
}

async function createTags(api: Api, repo: string, count: number): Promise<void> {
  const names = ['keep', ...Array.from({ length: count }, (_, at) => `t${at}`)]
  for (let at = 0; at < names.length; at += CREATED_AT_ONCE)
    await Promise.all(
      names
        .slice(at, at + CREATED_AT_ONCE)
        .map((name) => api.create(`registry/tags/${repo}`, { name, digest: `sha256:${'a'.repeat(64)}` })),
    )
}

for (const [engine, how, signal, leaseMs] of [
  ['sqlite', 'is killed', 'SIGKILL', 3000],
  ['postgres', 'is killed', 'SIGKILL', 3000],
  ['sqlite', 'is stopped', 'SIGTERM', LONG_LEASE_MS],
] as const)
  test(`retention is applied by one node, and by another when that one ${how} (${engine})`, {
    skip: engine === 'postgres' && withoutPostgres,
  }, async (t) => {
    const { start, organization, token, env } = await startNodes(t, engine, [String(leaseMs)])
    const first = await start()
    const here = apiOf(first, token)
    const { uid: repo } = await here.create(`registry/repos/${organization}`, { name: 'app' })
    const tags = tagsOf[engine]
    await createTags(here, repo, tags)
    const countTags = async (api: Api) =>
      Number((await api.get(`registry/repoSummaries/${repo}`)).body.tagCount)
    const path = `registry/repos/${repo}/policy`
    const policy = { retention: { enabled: true, rules: [{ patterns: ['keep'] }] } }
    assert.equal((await here.patch(path, policy)).status, 200)
    const runsOf = async (api: Api): Promise<readonly Run[]> =>
      (await api.get('registry/retentionRuns', { repoUid: repo })).body.retentionRuns
    await eventually(
      () => countTags(here),
      (count) => count <= tags - DELETED_MIN,
      { pollMs: 0 },
    )
    first.child.kill(signal)
    await first.finished

    const there = apiOf(await start(), token)
    const runs = await eventually(
      () => runsOf(there),
      ([last]) => last?.state === 'STATE_SUCCEEDED',
    )
    assert.deepEqual(
      runs.map(({ state }) => state),
      ['STATE_SUCCEEDED', 'STATE_INTERRUPTED'],
    )
    const [last, interrupted] = runs as [Run, Run]
    assert.equal(await countTags(there), 1, 'the tag that a rule keeps')
    assert.ok(last.deletedTags > 0 && last.deletedTags <= tags - DELETED_MIN, String(last.deletedTags))
    // A killed node could not record how many it deleted.
    if (signal === 'SIGTERM') assert.equal(interrupted.deletedTags + last.deletedTags, tags)
    assert.equal(last.actor, interrupted.actor, 'the run continues what a person requested')
    assert.notEqual(last.actor, 'system')
    assert.ok((interrupted.endTime ?? '') <= last.startTime)
    assert.equal((await there.get(path)).body.lastRun.deletedTags, last.deletedTags)

    const { name } = (await there.get(`iam/groups/${organization}`)).body
    for (const given of [name, organization]) {
      const listed = await runBerth(t, ['admin', 'runs', '--organization', given, '--json'], env)
      assert.deepEqual(
        JSON.parse(listed.stdout).items.map((run: { state: string; resourceUid: string }) => [
          run.state,
          run.resourceUid,
        ]),
        [
          ['succeeded', repo],
          ['interrupted', repo],
        ],
      )
    }
  })
