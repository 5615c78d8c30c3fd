import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { type InterruptedWork, registryCrashRounds } from '../support/registry/registry-crash.ts'
import { temporaryDirectory } from '../support/server/process.ts'

/** `BERTH_TEST_CRASH_ROUNDS` sets another number. */
const ROUNDS = Number(process.env['BERTH_TEST_CRASH_ROUNDS'] ?? 50)

for (const interrupted of ['pushes', 'deletes', 'collections'] satisfies InterruptedWork[]) {
  test(`${ROUNDS} kills during ${interrupted} on SQLite lose no blob that a manifest needs`, async (t) => {
    const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
    const result = await registryCrashRounds(t, env, ROUNDS, interrupted)
    t.diagnostic(JSON.stringify(result))
    assert.ok(result.pushed > ROUNDS)
  })

  test(`${ROUNDS} kills during ${interrupted} on PostgreSQL lose no blob that a manifest needs`, {
    skip: withoutPostgres,
  }, async (t) => {
    const { url } = await startPostgres(t)
    const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url }
    const result = await registryCrashRounds(t, env, ROUNDS, interrupted)
    t.diagnostic(JSON.stringify(result))
    assert.ok(result.pushed > ROUNDS)
  })
}
