import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { IdentitySchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { openSqliteDb } from '@berth/server/storage/db.ts'
import { migrate, migrations } from '@berth/server/storage/schema/migrate.ts'
import type { Tables } from '@berth/server/storage/schema/tables.ts'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Kysely } from 'kysely'
import { Migrator } from 'kysely/migration'
import { engineDatabases } from '../support/database/databases.ts'

/** Identities of older versions get the expiry of their static keys. */

const MIGRATION = '0019-key-expiry'
const YEAR_MS = 365 * 24 * 60 * 60 * 1000
const root = 'a'.repeat(40)
const bornMs = 1_763_000_000_000
const STATIC = 2

const row = (end: string, relationship: number, rule: MessageInitShape<typeof IdentitySchema>) => ({
  root,
  uid: `${root}/${end.padStart(16, '0')}`,
  parent: root,
  name: `robot ${end}`,
  description: '',
  email: '',
  email_unverified: '',
  company: '',
  relationship,
  relationship_data: Buffer.from(toBinary(IdentitySchema, create(IdentitySchema, rule))),
  issuer: '',
  subject: '',
  registered_through: '',
  last_seen_ms: bornMs,
  created_ms: bornMs,
  updated_ms: bornMs,
})

for (const database of engineDatabases)
  test(`static keys that exist have an expiry after the migration (${database.name})`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const db = await (database.openEmpty ?? (() => openSqliteDb(join(dataDir, 'berth.db'))))()
    try {
      const { error } = await new Migrator({
        db: db.kysely,
        provider: {
          getMigrations: async () =>
            Object.fromEntries(
              Object.entries(migrations)
                .filter(([name]) => name < MIGRATION)
                .map(([name, { up }]) => [name, { up: (tx) => up(tx, db.engine) }]),
            ),
        },
        migrationTableName: 'migrations',
        migrationLockTableName: 'migrations_lock',
      }).migrateToLatest()
      assert.equal(error, undefined)
      const staticKeys = { issuer: 'https://robots.example', subject: 'r', issuerKeys: '{}' }
      const expirationTime = timestampFromMs(bornMs + 1000)
      const older = db.kysely as unknown as Kysely<{
        identities: Omit<Tables['identities'], 'keys_expire_ms'>
      }>
      await older
        .insertInto('identities')
        .values([
          row('1', STATIC, {
            relationship: { case: 'staticKeys', value: { ...staticKeys, expirationTime } },
          }),
          row('2', STATIC, { relationship: { case: 'staticKeys', value: staticKeys } }),
          row('3', 0, {}),
        ])
        .execute()
      // More than a page, in organizations whose uids are in another order than their rows.
      const many = Array.from({ length: 1200 }, (_, n) => {
        const other = String(n % 3).repeat(40)
        const one = row(String(n), STATIC, { relationship: { case: 'staticKeys', value: staticKeys } })
        return { ...one, root: other, uid: `${other}/${String(n).padStart(16, '0')}`, parent: other }
      })
      for (let at = 0; at < many.length; at += 300)
        await older
          .insertInto('identities')
          .values(many.slice(at, at + 300))
          .execute()
      assert.ok((await migrate(db)).includes(MIGRATION))
      const rows = await db.kysely
        .selectFrom('identities')
        .select('keys_expire_ms')
        .where('root', '=', root)
        .orderBy('uid')
        .execute()
      assert.deepEqual(
        rows.map(({ keys_expire_ms }) => keys_expire_ms),
        [bornMs + 1000, bornMs + YEAR_MS, 0],
      )
      const { missed } = await db.kysely
        .selectFrom('identities')
        .select((row) => row.fn.countAll().as('missed'))
        .where('root', '<>', root)
        .where('keys_expire_ms', '<>', bornMs + YEAR_MS)
        .executeTakeFirstOrThrow()
      assert.equal(Number(missed), 0)
    } finally {
      await db.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
