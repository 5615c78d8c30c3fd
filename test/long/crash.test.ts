import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crashRounds } from '../support/database/crash.ts'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { temporaryDirectory } from '../support/server/process.ts'

/** `BERTH_TEST_CRASH_ROUNDS` sets another number. */
const ROUNDS = Number(process.env['BERTH_TEST_CRASH_ROUNDS'] ?? 100)

test(`${ROUNDS} kills during concurrent writes on SQLite lose nothing that was acknowledged`, async (t) => {
  const acknowledged = await crashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t) }, ROUNDS)
  t.diagnostic(`${acknowledged} acknowledged writes`)
  assert.ok(acknowledged > ROUNDS)
})

test(`${ROUNDS} kills during concurrent writes on PostgreSQL lose nothing that was acknowledged`, {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  const acknowledged = await crashRounds(
    t,
    { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url },
    ROUNDS,
  )
  t.diagnostic(`${acknowledged} acknowledged writes`)
  assert.ok(acknowledged > ROUNDS)
})
