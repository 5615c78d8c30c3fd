import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { sql } from 'kysely'
import { call } from './support/api/rest.ts'
import { openDatabase } from './support/database/open-database.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import {
  type Environment,
  runBerth,
  serveBerth,
  spawnBerth,
  temporaryDirectory,
} from './support/server/process.ts'

/** One server for each SQLite database, and none on the database of a newer version. */

async function changeDatabase(env: Environment, statement: string): Promise<void> {
  const db = await openDatabase(env)
  await sql.raw(statement).execute(db.kysely)
  await db.close()
}

test('a second server on a SQLite database is rejected and changes nothing, and one starts right after a crash', async (t) => {
  assert.equal(limits.serverLockWaitMs, 5000)
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const first = await serveBerth(t, env)
  const settings = async () => {
    const db = await openDatabase(env)
    const rows = await db.kysely.selectFrom('settings').selectAll().orderBy('name').execute()
    await db.close()
    return rows
  }
  const before = await settings()
  const { stdout: token } = await runBerth(t, ['admin', 'token'], env)
  const second = await runBerth(t, ['serve'], {
    ...env,
    BERTH_BASE_URL: 'http://other.example',
    BERTH_LISTEN: '127.0.0.1:0',
  })
  assert.deepEqual([second.code, second.stdout], [1, ''])
  assert.match(
    second.stderr,
    new RegExp(
      `^berth: another server uses the data directory ${env.BERTH_DATA_DIR}: .*BERTH_DATA_DIR.*BERTH_DATABASE_URL`,
    ),
  )
  assert.deepEqual(await settings(), before)
  assert.equal((await call('GET', `${first.url}/iam/v2beta1/groups`, { token })).status, 200)

  first.child.kill('SIGKILL')
  await first.finished
  await serveBerth(t, env)
})

test('a start waits for a server that is about to end', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_LISTEN: '127.0.0.1:0' }
  const first = await serveBerth(t, env)
  const second = spawnBerth(t, ['serve'], env)
  first.child.kill('SIGTERM')
  await first.finished
  second.child.stdout?.once('data', () => second.child.kill('SIGTERM'))
  assert.equal((await second.finished).code, 0)
})

test('a command that has to migrate a SQLite database is rejected while a server runs, and others are not', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  await serveBerth(t, env)
  const beside = [['migrate'], ['admin', 'token'], ['admin', 'scrub']]
  for (const { code, stderr } of await Promise.all(beside.map((args) => runBerth(t, args, env))))
    assert.equal(code, 0, stderr)
  await changeDatabase(env, "delete from migrations where name >= '0009'")
  const migrating = [['migrate'], ['admin', 'token']]
  for (const refused of await Promise.all(migrating.map((args) => runBerth(t, args, env)))) {
    assert.deepEqual([refused.code, refused.stdout], [1, ''])
    assert.match(refused.stderr, /^berth: another server uses the data directory /)
  }
})

for (const engine of ['sqlite', 'postgres'] as const)
  test(`serve, migrate and admin reject a database that a newer version migrated, with exit code 6 (${engine})`, {
    skip: engine === 'postgres' && withoutPostgres,
  }, async (t) => {
    const env = {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_LISTEN: '127.0.0.1:0',
      ...(engine === 'postgres' ? { BERTH_DATABASE_URL: (await startPostgres(t)).url } : {}),
    }
    assert.equal((await runBerth(t, ['migrate'], env)).code, 0)
    await changeDatabase(env, "insert into migrations (name, timestamp) values ('9999-future', 'now')")
    const commands = [['serve'], ['migrate'], ['admin', 'token'], ['admin', 'collect']]
    for (const refused of await Promise.all(commands.map((args) => runBerth(t, args, env)))) {
      assert.deepEqual([refused.code, refused.stdout], [6, ''])
      assert.match(
        refused.stderr,
        /^berth: a newer version of Berth migrated the database: this version does not know 9999-future\. Start that version/,
      )
    }
  })
