import { test } from 'node:test'
import { advisoryCrashRounds } from './support/advisories/advisory-crash.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { temporaryDirectory } from './support/server/process.ts'

const ROUNDS = 2

test('a killed import leaves each document whole or absent on SQLite, and the next run completes it', async (t) => {
  await advisoryCrashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t) }, ROUNDS)
})

test('a killed import leaves each document whole or absent on PostgreSQL, and the next run completes it', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  await advisoryCrashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url }, ROUNDS)
})
