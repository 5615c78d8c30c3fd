import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { rootOf } from '@berth/server/api/uid.ts'
import { recordCopyingOrganization } from '@berth/server/registry/resources/sources/copying-organizations.ts'
import { type Db, inTransaction, type Tx } from '@berth/server/storage/db.ts'
import * as migration from '@berth/server/storage/migrations/0042-copying-organizations.ts'
import { type Api, apiOf, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { databases } from '../support/database/databases.ts'
import { collectBeforeCommit, collectNow } from '../support/registry/collection-run.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'

/** The other organizations that have copies of a repo, where a distributed database finds them. */

/** Until a change waits for a transaction, also on a busy machine. */
const WAITING_MS = 1500

const tiers = ['CATALOG_TIER_BASE', 'CATALOG_TIER_APPLICATION', 'CATALOG_TIER_FIPS'] as const

const dbOf = (berth: TestBerth) => berth.berth.installation.store.db

async function createOrganization(admin: Api): Promise<string> {
  return (await admin.create('iam/groups', { name: newName('org') })).uid
}

async function createSource(admin: Api, group: string): Promise<string> {
  return (await admin.create(`registry/repos/${group}`, { name: newName('source') })).uid
}

async function createCopy(admin: Api, group: string, source: string): Promise<string> {
  return (await admin.create(`registry/repos/${group}`, { name: newName('copy'), syncConfig: { source } }))
    .uid
}

/** The organizations with copies of a repo, as stored on its server. */
async function storedOf(berth: TestBerth, source: string): Promise<string[]> {
  const rows = await dbOf(berth)
    .kysely.selectFrom('copying_organizations')
    .select('organization')
    .where('root', '=', rootOf(source))
    .where('source', '=', source)
    .orderBy('organization')
    .execute()
  return rows.map(({ organization }) => organization)
}

async function collect(berth: TestBerth, dryRun = false): Promise<number> {
  return (await collectNow(berth, dryRun)).orphans.count
}

onEveryDatabase('organizations with copies of repos', (cast) => {
  const tierOf = async (repo: string) => (await cast().admin.get(`registry/repos/${repo}`)).body.catalogTier

  test('are added with a copy or a new source, and deleted by garbage collection after the last copy', async () => {
    const { admin, berth } = cast()
    const [root, first, second] = [
      await createOrganization(admin),
      await createOrganization(admin),
      await createOrganization(admin),
    ]
    const [source, other] = [await createSource(admin, root), await createSource(admin, second)]
    await createCopy(admin, root, source)
    assert.deepEqual(await storedOf(berth, source), [], 'its own organization needs no row')
    const { uid: folder } = await admin.create(`iam/groups/${first}`, { name: 'folder' })
    const copies = [await createCopy(admin, folder, source), await createCopy(admin, first, source)]
    assert.deepEqual(await storedOf(berth, source), [first])
    const moved = await createCopy(admin, second, other)
    const change = (to: string) => admin.patch(`registry/repos/${moved}`, { syncConfig: { source: to } })
    assert.equal((await change(source)).status, 200)
    assert.deepEqual(await storedOf(berth, source), [first, second].toSorted())
    await collect(berth)
    assert.deepEqual(await storedOf(berth, source), [first, second].toSorted())

    assert.equal((await change(other)).status, 200)
    assert.equal(await collect(berth, true), 1, 'a dry run')
    assert.deepEqual(await storedOf(berth, source), [first, second].toSorted())
    assert.equal(await collect(berth), 1)
    assert.deepEqual(await storedOf(berth, source), [first])
    for (const copy of copies) {
      assert.deepEqual(await storedOf(berth, source), [first])
      assert.equal((await admin.delete(`registry/repos/${copy}`)).status, 200)
      await collect(berth)
    }
    assert.deepEqual(await storedOf(berth, source), [])
  })

  test('a change of a source reaches copies that are added at the same time, while garbage is collected', async () => {
    const { admin, berth } = cast()
    const root = await createOrganization(admin)
    const groups = [await createOrganization(admin), await createOrganization(admin)]
    const source = await createSource(admin, root)
    const copies: string[] = []
    for (const catalogTier of tiers) {
      const replies = await Promise.all([
        admin.patch(`registry/repos/${source}`, { catalogTier }),
        ...groups.map((group) =>
          admin.post(`registry/repos/${group}`, { name: newName('copy'), syncConfig: { source } }),
        ),
        collect(berth),
      ])
      for (const reply of replies) {
        if (typeof reply === 'number') continue
        assert.equal(reply.status, 200, reply.text)
        if (reply.body.uid !== source) copies.push(reply.body.uid)
      }
      const tier = await tierOf(source)
      for (const copy of copies) assert.equal(await tierOf(copy), tier, copy)
      const stored = new Set(await storedOf(berth, source))
      for (const copy of copies) assert.ok(stored.has(rootOf(copy)), copy)
    }
    assert.equal(copies.length, tiers.length * groups.length)
  })
})

for (const database of databases) {
  test(`the migration adds the organizations of existing copies (${database.name})`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const db = dbOf(berth)
    const admin = apiOf(berth, berth.token)
    const source = await createSource(admin, berth.organization)
    const organization = await createOrganization(admin)
    for (const group of [organization, organization, berth.organization])
      await createCopy(admin, group, source)
    await db.kysely.schema.dropTable('copying_organizations').execute()
    await migration.up(db.kysely as never, db.engine)
    assert.deepEqual(await storedOf(berth, source), [organization])
    // What a node of 0.6 did not write is added before the table is distributed.
    await db.kysely.deleteFrom('copying_organizations').execute()
    await db.rules.placeTables(db)
    if (await db.rules.isDistributed(db)) assert.deepEqual(await storedOf(berth, source), [organization])
  })
}

/** PGlite and SQLite have one transaction at a time. */
for (const database of databases.filter(({ name }) => ['postgres', 'citus'].includes(name))) {
  /** Adds a copy to another organization as a request does, but without a lock of the source, whose server has committed. */
  const addCopy = async (db: Db, tx: Tx, source: string, organization: string, uid: string) => {
    await recordCopyingOrganization(db, tx, uid, source)
    const row = await tx
      .selectFrom('repos')
      .selectAll()
      .where('root', '=', rootOf(source))
      .where('uid', '=', source)
      .executeTakeFirstOrThrow()
    await tx
      .insertInto('repos')
      .values({ ...row, root: organization, parent: organization, uid, name: newName('copy'), source })
      .execute()
  }

  test(`the organization of a copy that becomes visible later is not deleted (${database.name})`, async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const admin = apiOf(berth, berth.token)
    const source = await createSource(admin, berth.organization)
    const organization = await createOrganization(admin)
    const first = await createCopy(admin, organization, source)
    assert.equal((await admin.delete(`registry/repos/${first}`)).status, 200)
    await collectBeforeCommit(berth, (tx) =>
      addCopy(dbOf(berth), tx, source, organization, `${organization}/${'0'.repeat(16)}`),
    )
    assert.deepEqual(await storedOf(berth, source), [organization])
  })

  // On one server, all of a transaction becomes visible together.
  if (database.name !== 'citus') continue
  test('a change of a source waits for a copy that becomes visible later (citus)', async (t) => {
    const berth = await startTestBerth(database)
    t.after(() => berth.stop())
    const admin = apiOf(berth, berth.token)
    const source = await createSource(admin, berth.organization)
    const organization = await createOrganization(admin)
    await createCopy(admin, organization, source)
    const late = `${organization}/${'0'.repeat(16)}`
    const [isWritten, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const db = dbOf(berth)
    const adding = inTransaction(db, async (tx) => {
      await addCopy(db, tx, source, organization, late)
      isWritten.resolve()
      await end.promise
    })
    await isWritten.promise
    const [catalogTier] = tiers
    const changing = admin.patch(`registry/repos/${source}`, { catalogTier })
    await Promise.race([changing, setTimeout(WAITING_MS)])
    end.resolve()
    await adding
    const { status, text } = await changing
    assert.equal(status, 200, text)
    assert.equal((await admin.get(`registry/repos/${late}`)).body.catalogTier, catalogTier)
  })
}
