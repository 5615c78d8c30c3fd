import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { contentsCrashRounds } from '../support/images/contents-crash.ts'
import { temporaryDirectory } from '../support/server/process.ts'

/** `BERTH_TEST_CRASH_ROUNDS` sets another number. */
const ROUNDS = Number(process.env['BERTH_TEST_CRASH_ROUNDS'] ?? 50)

for (const engine of ['SQLite', 'PostgreSQL'])
  test(`${ROUNDS} kills during reading and matching leave no image stuck or half done, on ${engine}`, {
    skip: engine === 'PostgreSQL' && withoutPostgres,
  }, async (t) => {
    const database = engine === 'PostgreSQL' ? { BERTH_DATABASE_URL: (await startPostgres(t)).url } : {}
    const env = { BERTH_DATA_DIR: temporaryDirectory(t), ...database }
    const result = await contentsCrashRounds(t, env, ROUNDS)
    t.diagnostic(JSON.stringify(result))
    assert.ok(result.unread > 0 && result.unmatched > 0, 'no kill hit the reading, or none the matching')
  })
