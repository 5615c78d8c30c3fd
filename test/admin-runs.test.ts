import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runBerth, temporaryDirectory } from './support/server/process.ts'

test('admin runs lists what ran in the installation', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const admin = (...args: string[]) => runBerth(t, ['admin', ...args], env)
  await admin('bootstrap', '--json')
  assert.match((await admin('runs')).stderr, /no runs recorded/)
  assert.equal((await admin('scrub')).code, 0)
  const [run, ...others] = JSON.parse((await admin('runs', '--json')).stdout).items
  assert.deepEqual(others, [])
  assert.deepEqual([run.kind, run.state, run.organization], ['scrub', 'succeeded', ''])
  assert.ok(Date.parse(run.endTime) >= Date.parse(run.startTime))
  assert.match(
    (await admin('runs', '--kind', 'scrub', '--since', '1h')).stdout,
    /^STARTED.*\n.* scrub +succeeded /,
  )
  assert.match((await admin('runs', '--kind', 'retention')).stderr, /no runs recorded/)
  // A scrub belongs to no organization.
  const [{ name, uid }] = JSON.parse((await admin('organizations', 'list', '--json')).stdout).items
  for (const organization of [name, uid]) {
    const none = await admin('runs', '--organization', organization)
    assert.deepEqual([none.code, none.stdout], [0, ''])
    assert.match(none.stderr, /no runs recorded/)
  }
  const unknown = await admin('runs', '--organization', 'none')
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /organization none does not exist/)
  const wrong = await admin('runs', '--state', 'lost')
  assert.deepEqual([wrong.code, wrong.stdout], [2, ''])
})
