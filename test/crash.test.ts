import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { crashRounds } from './support/database/crash.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { runBerth, spawnBerth, temporaryDirectory } from './support/server/process.ts'

const ROUNDS = 3

test('what SQLite acknowledged survives a killed server, and nothing is there by half', async (t) => {
  assert.ok((await crashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t) }, ROUNDS)) > ROUNDS)
})

test('what PostgreSQL acknowledged survives a killed server, and nothing is there by half', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  assert.ok(
    (await crashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url }, ROUNDS)) >
      ROUNDS,
  )
})

test('a first start that is killed at any moment leaves something that the next start completes', async (t) => {
  const moments = Array.from({ length: 8 }, (_, at) => 150 + at * 60)
  await Promise.all(
    moments.map(async (ms) => {
      const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LISTEN: '127.0.0.1:0' }
      const first = spawnBerth(t, ['serve'], env)
      await new Promise((resolve) => setTimeout(resolve, ms))
      first.child.kill('SIGKILL')
      await first.finished
      const { code, stderr } = await runBerth(t, ['admin', 'bootstrap', '--json'], env)
      assert.equal(code, 0, `killed after ${ms} ms: ${stderr}`)
    }),
  )
})

test('concurrent first starts on one data directory share the master key that one of them creates', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const finished = await Promise.all(
    [1, 2, 3, 4].map(() => runBerth(t, ['admin', 'bootstrap', '--json'], env)),
  )
  for (const { code, stderr } of finished) assert.equal(code, 0, stderr)
  const organizations = finished.map(({ stdout }) => JSON.parse(stdout).organization.uid)
  assert.equal(new Set(organizations).size, 1)
  assert.deepEqual(
    readdirSync(env.BERTH_DATA_DIR).filter((name) => name.startsWith('master.key')),
    ['master.key'],
  )
})
