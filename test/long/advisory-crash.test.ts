import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advisoryCrashRounds } from '../support/advisories/advisory-crash.ts'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { temporaryDirectory } from '../support/server/process.ts'

/** `BERTH_TEST_CRASH_ROUNDS` sets another number. */
const ROUNDS = Number(process.env['BERTH_TEST_CRASH_ROUNDS'] ?? 30)

test(`${ROUNDS} kills during imports on SQLite leave each document whole or absent`, async (t) => {
  const written = await advisoryCrashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t) }, ROUNDS)
  t.diagnostic(`${written} documents written by imports that were cut off`)
  assert.ok(written > ROUNDS)
})

test(`${ROUNDS} kills during imports on PostgreSQL leave each document whole or absent`, {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url }
  const written = await advisoryCrashRounds(t, env, ROUNDS)
  t.diagnostic(`${written} documents written by imports that were cut off`)
  assert.ok(written > ROUNDS)
})
