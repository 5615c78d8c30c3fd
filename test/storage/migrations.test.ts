import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { RepoSchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { type Db, openSqliteDb } from '@berth/server/storage/db.ts'
import * as first from '@berth/server/storage/migrations/0001-init.ts'
import * as second from '@berth/server/storage/migrations/0002-management-api.ts'
import * as third from '@berth/server/storage/migrations/0003-sign-in.ts'
import * as fourth from '@berth/server/storage/migrations/0004-repo-sources.ts'
import * as fifth from '@berth/server/storage/migrations/0005-advisories.ts'
import * as sixth from '@berth/server/storage/migrations/0006-v1.ts'
import * as seventh from '@berth/server/storage/migrations/0007-registry.ts'
import * as providerCallbacks from '@berth/server/storage/migrations/0009-provider-callbacks.ts'
import { migrate, migrations, NewerDatabase } from '@berth/server/storage/schema/migrate.ts'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { type Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { apiOf, managedRole } from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { engineDatabases } from '../support/database/databases.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/** A database that the first release filled, under the present one. */

/** Of any schema: what the first one had is no type any more. */
// biome-ignore lint/suspicious/noExplicitAny: tables of another time
type AnyTables = any
type Row = Readonly<Record<string, unknown>>

const root = 'a'.repeat(40)
const owner = 'b'.repeat(40)
const uidOf = (end: string) => `${root}/${end.padStart(16, '0')}`
const group = uidOf('1')
const bornMs = 1_763_000_000_000

const resource = (uid: string) => ({
  root: uid.slice(0, 40),
  uid,
  parent: uid.includes('/') ? root : '',
  created_ms: bornMs,
  updated_ms: bornMs + 1,
})
const named = (uid: string, name: string) => ({ ...resource(uid), name, description: `${name}, é` })
const identity = (uid: string, name: string) => ({
  ...named(uid, name),
  email: '',
  email_unverified: '',
  company: '',
  relationship: 0,
  relationship_data: Buffer.alloc(0),
  issuer: '',
  subject: '',
  last_seen_ms: bornMs,
})
const binding = (uid: string, identityUid: string, role: string) => ({
  ...resource(uid),
  identity_uid: identityUid,
  role_uid: role,
  automatic: 0,
})
const configured = (repo: MessageInitShape<typeof RepoSchema>) =>
  Buffer.from(toBinary(RepoSchema, create(RepoSchema, repo)))
const counted = (collection: string, n: number, of = root) => ({ root: of, collection, start: of, n })
const ids = ['0000019a7a3dc00abcd0', '0000019a7a3dc01abcd1', '0000019a7a3dc02abcd2']

/** What the first release may have left, a table each. */
const filled: Readonly<Record<string, readonly Row[]>> = {
  groups: [
    { ...named(root, 'first'), verified: 0, kind: 0, status: 2 },
    { ...named(group, 'team'), verified: 1, kind: 0, status: 2 },
  ],
  organization_names: [{ name: 'first', uid: root }],
  identities: [identity(owner, 'owner'), identity(uidOf('2'), 'robot')],
  roles: [{ ...named(uidOf('3'), 'reader'), capabilities: '[103]' }],
  role_bindings: [
    binding(uidOf('4'), owner, managedRole('owner')),
    binding(uidOf('5'), uidOf('2'), uidOf('3')),
  ],
  platform_bindings: [{ identity_uid: owner, role_uid: managedRole('owner') }],
  repos: [
    {
      ...named(uidOf('6'), 'nginx'),
      catalog_tier: 0,
      configuration: configured({ aliases: ['web'] }),
    },
    {
      ...named(uidOf('7'), 'copy'),
      catalog_tier: 0,
      configuration: configured({ syncConfig: { source: uidOf('6') } }),
    },
  ],
  counts: [
    ...[counted('groups', 2), counted('identities', 1), counted('identities', 1, owner)],
    ...[counted('roles', 1), counted('role_bindings', 2), counted('repos', 2)],
  ],
  tombstones: [{ root, uid: uidOf('9') }],
  settings: [
    {
      name: 'first_organization',
      value: JSON.stringify({ organization: root, identity: owner, named: false }),
    },
  ],
  audit_events: ids.map((id, n) => ({
    root,
    id,
    time_ms: bornMs + n,
    actor: n === 0 ? 'system' : owner,
    method: '/chainguard.platform.iam.v2beta1.GroupsService/CreateGroup',
    uid: n === 0 ? root : group,
    outcome: 0,
    request_id: `request ${n}`,
  })),
}

/** Those of version 0.6. */
const ofSixth = {
  '0001-init': first,
  '0002-management-api': second,
  '0003-sign-in': third,
  '0004-repo-sources': fourth,
  '0005-advisories': fifth,
  '0006-v1': sixth,
  '0007-registry': seventh,
}

async function fill(
  db: Db,
  migrations: Partial<typeof ofSixth> = { '0001-init': first },
): Promise<Kysely<AnyTables>> {
  const kysely = db.kysely as unknown as Kysely<AnyTables>
  const { error } = await new Migrator({
    db: kysely,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(
          Object.entries(migrations).map(([name, { up }]) => [name, { up: (tx) => up(tx, db.engine) }]),
        ),
    },
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  }).migrateToLatest()
  assert.equal(error, undefined)
  return kysely
}

async function fillFirst(db: Db): Promise<Kysely<AnyTables>> {
  const kysely = await fill(db)
  for (const [table, rows] of Object.entries(filled)) await kysely.insertInto(table).values(rows).execute()
  return kysely
}

/** Rows without their order, and whatever the driver makes of bytes. */
function texts(rows: readonly Row[]): string[] {
  const text = (row: Row) =>
    Object.entries(row)
      .map(([name, value]) => [
        name,
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ])
      .sort()
  return rows.map((row) => JSON.stringify(text(row))).sort()
}

for (const database of engineDatabases) {
  test(`a database of the first release is served unchanged (${database.name})`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const db = await (database.openEmpty ?? (() => openSqliteDb(join(dataDir, 'berth.db'))))()
    const kysely = await fillFirst(db)
    assert.equal((await migrate(db))[0], '0002-management-api')
    assert.deepEqual(await migrate(db), [])
    const { audit_events: events = [], ...others } = filled
    for (const [table, rows] of Object.entries(others)) {
      const columns = Object.keys(rows[0] ?? {})
      const kept = await kysely.selectFrom(table).select(columns).execute()
      assert.deepEqual(texts(kept), texts(rows), table)
    }

    const berth = await startTestBerth({ name: database.name, open: async () => db })
    try {
      assert.deepEqual([berth.organization, berth.owner], [root, owner])
      const { get, post } = apiOf(berth, berth.token)
      const uids = async (path: string, key: string): Promise<string[]> => {
        const { body } = await get(path, { 'uidp.descendants_of': root })
        assert.equal(Number(body.totalCount), body[key].length, path)
        return body[key].map(({ uid }: { uid: string }) => uid)
      }
      assert.deepEqual(await uids('iam/groups', 'groups'), [group])
      assert.deepEqual(await uids('iam/identities', 'identities'), [uidOf('2')])
      assert.deepEqual(await uids('iam/roleBindings', 'roleBindings'), [uidOf('4'), uidOf('5')])
      assert.deepEqual(await uids('registry/repos', 'repos'), [uidOf('6'), uidOf('7')])
      assert.deepEqual((await get(`registry/repos/${uidOf('6')}`)).body.aliases, ['web'])
      assert.equal((await get(`registry/repos/${uidOf('7')}`)).body.sync_config.source, uidOf('6'))
      const copies = await kysely.selectFrom('repos').select('uid').where('source', '=', uidOf('6')).execute()
      assert.deepEqual(copies, [{ uid: uidOf('7') }])
      assert.equal((await get(`iam/groups/${group}`)).body.description, 'team, é')

      const log = `${berth.url}/audit/v1/events?order_by=created_at%20asc&uidp.descendants_of=${root}`
      const { body } = await call('GET', log, { token: berth.token })
      assert.deepEqual(
        body.events.map((event: Row) => [event['resourceUid'], event['actor'], event['requestId']]),
        events.map(({ uid, actor, request_id }) => [uid, actor, request_id]),
      )
      assert.deepEqual(
        body.events.map(({ createTime }: { createTime: string }) => Date.parse(createTime)),
        events.map(({ time_ms }) => time_ms),
      )
      assert.equal((await post(`iam/groups/${root}`, { name: 'later' })).status, 200)
    } finally {
      await berth.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  test(`ADR 13: sessions of version 0.6 stay valid, and its bindings have no recorded voucher (${database.name})`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const db = await (database.openEmpty ?? (() => openSqliteDb(join(dataDir, 'berth.db'))))()
    const kysely = await fill(db, ofSixth)
    const other = 'c'.repeat(40)
    const person = 'd'.repeat(40)
    const provider = uidOf('8')
    const { audit_events: _, repos: __, counts: ___, ...kept } = filled
    for (const [table, rows] of Object.entries(kept)) await kysely.insertInto(table).values(rows).execute()
    const group = { ...named(other, 'second'), verified: 0, kind: 0, status: 2 }
    await kysely.insertInto('groups').values(group).execute()
    const ada = { ...identity(person, 'ada'), issuer: 'https://login.example', subject: 'ada' }
    await kysely.insertInto('identities').values(ada).execute()
    await kysely
      .insertInto('role_bindings')
      .values([
        binding(uidOf('b'), person, managedRole('viewer')),
        {
          ...binding(`${other}/${'0'.repeat(16)}`, person, managedRole('viewer')),
          root: other,
          parent: other,
        },
      ])
      .execute()
    await kysely
      .insertInto('identity_providers')
      .values({
        ...named(provider, 'login'),
        default_role: managedRole('viewer'),
        issuer: 'https://login.example',
        client_id: 'berth',
        configuration: Buffer.alloc(0),
        client_secret: Buffer.alloc(0),
      })
      .execute()
    const session = (id: string, method: string, provider_uid: string) => ({
      id: id.repeat(32),
      kind: 'client',
      identity_uid: person,
      provider_uid,
      method,
      client: 'berth-cli',
      audiences: '[]',
      secret_hash: Buffer.from(id),
      address: '',
      user_agent: '',
      created_ms: bornMs,
      last_used_ms: bornMs,
      expires_ms: 9_000_000_000_000,
    })
    await kysely
      .insertInto('sessions')
      .values([
        session('1', 'password', ''),
        session('2', 'passkey', ''),
        session('3', 'provider', ''),
        session('4', 'provider', provider),
      ])
      .execute()
    assert.deepEqual(
      await migrate(db),
      Object.keys(migrations).filter((name) => name >= '0008'),
    )

    const berth = await startTestBerth({ name: database.name, open: async () => db })
    try {
      // What a node of version 0.6 starts after the migration.
      await kysely
        .insertInto('sessions')
        .values(session('5', 'password', ''))
        .execute()
      const statuses = async (id: string) => {
        const { get } = apiOf(berth, await berth.tokenOf(person, { session: id.repeat(32) }))
        const paths = [root, other].map((uid) => `iam/groups/${uid}`)
        return (await Promise.all(paths.map((path) => get(path)))).map(({ status }) => status)
      }
      for (const id of ['1', '2', '3']) assert.deepEqual(await statuses(id), [200, 200], id)
      assert.deepEqual(await statuses('4'), [200, 403])
      assert.deepEqual(await statuses('5'), [401, 401])
      const gone = await call('DELETE', `${berth.url}/auth/v1/delete/${person}`, {
        token: await berth.tokenOf(person, { session: '4'.repeat(32) }),
      })
      assert.equal(gone.status, 403, 'it is not on record who registered the person')
    } finally {
      await berth.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  test(`R40: identity providers from before own redirect URIs keep the shared one (${database.name})`, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const db = await (database.openEmpty ?? (() => openSqliteDb(join(dataDir, 'berth.db'))))()
    try {
      await migrate(db)
      const kysely = db.kysely as unknown as Kysely<AnyTables>
      await kysely.schema.alterTable('identity_providers').dropColumn('shared_callback').execute()
      const provider = (uid: string) => ({
        ...named(uid, 'okta'),
        default_role: managedRole('viewer'),
        issuer: 'https://login.example',
        client_id: 'berth',
        configuration: Buffer.alloc(0),
        client_secret: Buffer.alloc(0),
      })
      await kysely
        .insertInto('identity_providers')
        .values(provider(uidOf('a')))
        .execute()
      await providerCallbacks.up(kysely, db.engine)
      // As a node of the version before does during a rolling upgrade.
      await kysely
        .insertInto('identity_providers')
        .values(provider(uidOf('b')))
        .execute()
      const rows = await kysely.selectFrom('identity_providers').select('shared_callback').execute()
      assert.deepEqual(
        rows.map((row: Row) => Number(row['shared_callback'])),
        [1, 1],
      )
    } finally {
      await db.close()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
}

for (const database of engineDatabases) {
  test(`a node that waits for the migration by a newer one rejects the schema (${database.name})`, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    const db = await (database.openEmpty ?? (() => openSqliteDb(join(dataDir, 'berth.db'))))()
    t.after(async () => {
      await db.close()
      rmSync(dataDir, { recursive: true })
    })
    await migrate(db)
    const { background } = db
    const rules = {
      ...background.rules,
      // The newer node has the lock first.
      async withMigrationLock(...args: Parameters<typeof background.rules.withMigrationLock>) {
        await sql`insert into migrations (name, timestamp) values ('9999-newer', '')`.execute(
          background.kysely,
        )
        return background.rules.withMigrationLock(...args)
      },
    }
    await assert.rejects(migrate({ ...db, background: { ...background, rules } }), NewerDatabase)
  })
}
