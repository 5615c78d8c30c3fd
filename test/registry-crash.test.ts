import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { type InterruptedWork, registryCrashRounds } from './support/registry/registry-crash.ts'
import { temporaryDirectory } from './support/server/process.ts'

const ROUNDS = 1

for (const interrupted of ['pushes', 'deletes', 'collections'] satisfies InterruptedWork[]) {
  test(`a server that is killed during ${interrupted} loses no blob that a manifest needs, on SQLite`, async (t) => {
    const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
    assert.ok((await registryCrashRounds(t, env, ROUNDS, interrupted)).pushed > 0)
  })
}

test('a server that is killed during collections loses no blob that a manifest needs, on PostgreSQL', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url }
  assert.ok((await registryCrashRounds(t, env, ROUNDS, 'collections')).pushed > 0)
})
