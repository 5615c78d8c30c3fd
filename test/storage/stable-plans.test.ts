import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { byImageText } from '@berth/server/findings/storage/affected-images.ts'
import { packagesOf } from '@berth/server/findings/storage/image-findings.ts'
import { openSqliteDb } from '@berth/server/storage/db.ts'
import { planStabilizer } from '@berth/server/storage/engines/sqlite/stable-plans.ts'
import { openSqlite } from '@berth/server/storage/engines/sqlite/statements.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import { sqlText } from '@berth/server/storage/sql-text.ts'
import Database from 'better-sqlite3'
import { grpcClient } from '../support/api/grpc.ts'
import { methods, requestAt } from '../support/api/methods.ts'
import { createTenant } from '../support/api/sample-requests.ts'
import { bindRole, createIdentity, createOrganization } from '../support/api/tenant.ts'
import { engineDatabases } from '../support/database/databases.ts'
import { temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

// SQLite would compile a statement again at every execution if its plan could depend on a value (ADR 88).

const HIDDEN = 'likely(?)'

/** A step that reads all rows of an organization from a table that may have very many. */
const LARGE_BY_ORGANIZATION =
  /^SEARCH (groups|identities|role_bindings|repos|tags|tag_digests|manifests|manifest_\w+|packages|package_\w+|vulnerability_ids|advisories|advisory_\w+|audit_events|repo_blobs|uploads) .*\(root=\?\)$/
/** Which roles the users of an issuer hold, when an identity provider is changed. */
const RARE = /select distinct "(b|role_bindings)"\."parent", "(b|role_bindings)"\."role_uid"/

describe('plans of SQLite', () => {
  test('hide values, except those that decide about a partial index, and patterns', () => {
    const database = new Database(':memory:')
    database.exec(`create table rows (a text, state text, n integer);
      create index pending on rows (a)
        WHERE state = 'pending' and n is not null`)
    const stabilize = planStabilizer(database)
    assert.equal(
      stabilize(`select '?', "a?" from rows where a >= ? and a in (?, 'it''s ?') limit ?`),
      `select '?', "a?" from rows where a >= likely(?) and a in (likely(?), 'it''s ?') limit likely(?)`,
    )
    for (const text of [
      'select a from rows where state = ? and a = ?',
      'select a from rows where "n" is not ?',
      'select a from rows where a like ?',
      'update rows set a = ? where a = ?',
    ])
      assert.equal(stabilize(text), text)
    // An index that was created later.
    const text = 'select n from rows where a > ?'
    assert.match(stabilize('select a from rows where a > ?'), /likely/)
    database.exec(`create index small on rows (a) where a < 'b'`)
    assert.equal(stabilize(text), text)
  })

  test('return the same rows', () => {
    const database = openSqlite(':memory:')
    database.exec('create table rows (a text, n integer)')
    const insert = database.prepare('insert into rows values (?, ?)')
    for (const [a, n] of [
      ['1', 1],
      ['10', 10],
      ['b', 2],
    ])
      insert.run(a, n)
    const stabilize = planStabilizer(database)
    // The column converts the value as before: a text to a number and a number to a text.
    for (const [text, ...values] of [
      ['select a from rows where n = ?', '10'],
      ['select a from rows where a = ?', 10],
      ['select a from rows where (a, n) > (?, ?) order by a limit ? offset ?', '1', 1, 1, 1],
      ['select ? as x, typeof(?) as t', 7, null],
    ] as const)
      assert.deepEqual(
        database.prepare(stabilize(text)).all(values),
        database.prepare(text).all(values),
        text,
      )
  })

  test('look up the packages of several images, and do not read those of all images in their order', async (t) => {
    const db = await openSqliteDb(join(temporaryDirectory(t), 'berth.db'))
    t.after(() => db.close())
    await migrate(db)
    const sql = sqlText(db.engine)
    const text = packagesOf(sql, 'r', [1, 2])
    const plan = await db.read<{ detail: string }>(`explain query plan ${text}`, sql.values)
    assert.match(plan[0]?.detail ?? '', /USING PRIMARY KEY \(root=\? AND contents=\?\)$/)
  })

  test('look up the vulnerabilities of each pair on a later page of images', async (t) => {
    const db = await openSqliteDb(join(temporaryDirectory(t), 'berth.db'))
    t.after(() => db.close())
    await migrate(db)
    const sql = sqlText(db.engine)
    const query = { scope: 'r', vulnerability: 'CVE-2024-0001', states: [], size: 50 }
    const text = byImageText(sql, { ...query, after: [1, 'CVE-2024-0001', 1, 'by-image'] })
    const plan = await db.read<{ detail: string }>(`explain query plan ${text}`, sql.values)
    const steps = plan.map(({ detail }) => detail).filter((step) => step.startsWith('SEARCH f '))
    assert.equal(steps.length, 2, steps.join('; '))
    for (const step of steps) assert.match(step, /root=\? AND vulnerability=\?/)
    assert.match(steps.join('; '), /vulnerability=\? AND package=\?/)
  })

  const sqlite = engineDatabases.filter(({ name }) => name === 'sqlite')
  test('are the same with and without values, for every method, and find rows by more than their organization', {
    skip: sqlite.length === 0,
  }, async (t) => {
    const found = new Map<string, { database: Database.Database; values: readonly unknown[] }>()
    const { prepare } = Database.prototype
    t.after(() => Object.assign(Database.prototype, { prepare }))
    Object.assign(Database.prototype, {
      prepare(this: Database.Database, text: string) {
        const statement = Reflect.apply(prepare, this, [text]) as Database.Statement
        if (!text.includes(HIDDEN)) return statement
        const { all } = statement
        statement.all = (values: readonly unknown[]) => {
          found.set(text, { database: this, values })
          return Reflect.apply(all, statement, [values])
        }
        return statement
      },
    })
    const [database] = sqlite
    assert.ok(database)
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const client = grpcClient(berth.url)
    t.after(() => client.close())
    const organization = await createOrganization(berth, 'plans.example')
    const tenant = await createTenant(berth, organization)
    const owner = await createIdentity(berth, organization)
    await bindRole(berth, organization, owner, 'owner')
    const token = await berth.tokenOf(owner)
    for (const method of methods) {
      const request = (await tenant.requestOf(method)) ?? requestAt(method, organization)
      // Some fail by design; their statements count as well.
      await client.call(method, request as never, { token, deadlineMs: 10_000 }).catch(() => undefined)
    }
    Object.assign(Database.prototype, { prepare })
    // Not those of the database that the server's is a copy of.
    const statements = [...found].filter(([, { database }]) => database.open)
    assert.ok(statements.length > 200, `${statements.length} statements`)
    for (const [text, { database, values }] of statements) {
      const planOf = (form: string) =>
        (database.prepare(`explain query plan ${form}`).all(values) as { detail: string }[]).map(
          ({ detail }) => detail,
        )
      const plan = planOf(text)
      assert.deepEqual(plan, planOf(text.replaceAll(HIDDEN, '?')), text)
      const isWhole = plan.some((step) => LARGE_BY_ORGANIZATION.test(step))
      const isPageOfOrganization = /order by .* limit /s.test(text) && !/"parent" =/.test(text)
      assert.ok(!isWhole || isPageOfOrganization || RARE.test(text), `${plan.join('\n')}\n${text}`)
    }
  })
})
