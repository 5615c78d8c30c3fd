import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { type Ownership, tableOwnership } from '@berth/server/storage/schema/table-ownership.ts'
import { sql } from 'kysely'
import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { createRegistryFixture, pushImage, testImage } from '../support/registry/registry.ts'

/** Rows of resources that a node of the previous version deleted without the tables that it does not know. */

const parts = Object.entries(tableOwnership).filter(
  (entry): entry is [string, Ownership] => typeof entry[1] !== 'string',
)

onEveryDatabase('rows of deleted resources', (cast) => {
  const collected = async (dryRun: boolean) => {
    const { installation, blobs } = cast().berth.berth
    const { store } = installation
    return (await collectGarbage({ store, blobs, graceMs: 0, dryRun, requireKnownStore: true })).orphans.count
  }

  test('of every dependent table are deleted, and no others', async () => {
    await collected(false)
    const { kysely } = cast().berth.berth.installation.store.db
    const { owner, name, root } = await createRegistryFixture(cast())
    await pushImage(owner, name, testImage(), 'v1')
    const gone = `${root}/${'0'.repeat(16)}`
    const columnsOf = async (table: string) => {
      const tables = await kysely.introspection.getTables()
      return tables.find((one) => one.name === table)?.columns ?? []
    }
    const rowsOf = async (table: string, by: string) => {
      // The server counts the usage of the organization itself meanwhile, and corrects it by images that were never counted for it.
      const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}
        where root <> ${root} or ${sql.ref(by)} = ${gone} or ${table} not in ('registry_usage', 'usage_days', 'repo_usage_days')`.execute(
        kysely,
      )
      return Number(rows[0]?.n)
    }
    const add = async ([table, { column: by }]: (typeof parts)[number]) => {
      // An organization of which nothing else is left.
      const missing = by === 'root' ? '0'.repeat(40) : gone
      const values = (await columnsOf(table)).map(({ name: column, dataType }) => {
        if (column === by) return missing
        if (column === 'root') return missing.slice(0, 40)
        if (/blob|bytea/i.test(dataType)) return Buffer.from('')
        if (/int/i.test(dataType)) return 1
        return column === 'digest' || column === 'manifest' ? `sha256:${'0'.repeat(64)}` : 'x'
      })
      const columns = (await columnsOf(table)).map(({ name: column }) => sql.ref(column))
      await sql`insert into ${sql.table(table)} (${sql.join(columns)}) values (${sql.join(values)})`.execute(
        kysely,
      )
    }
    const before = new Map<string, number>()
    for (const [table, { column: by }] of parts) before.set(table, await rowsOf(table, by))
    const assertDeleted = async (some: typeof parts) => {
      for (const [table, { column: by }] of some)
        assert.equal(await rowsOf(table, by), before.get(table), table)
    }
    const { queues = [], others = [] } = Object.groupBy(parts, ([table]) =>
      table.endsWith('_changes') ? 'queues' : 'others',
    )
    for (const part of others) await add(part)
    const preview = await collected(true)
    assert.equal(await collected(true), preview, 'a dry run deleted something')
    assert.equal(await collected(false), preview)
    await assertDeleted(others)
    // Of a repo of which one table alone has rows.
    for (const part of parts.filter(([, { ownerTable }]) => ownerTable === 'repos')) {
      await add(part)
      await collected(false)
      await assertDeleted([part])
    }
    // Jobs may take meanwhile what is queued for them, so these rows are not counted.
    for (const part of queues) await add(part)
    await collected(false)
    await assertDeleted(queues)
    assert.equal(await collected(false), 0)
    assert.equal((await owner.request('GET', `${name}/manifests/v1`)).status, 200)
  })
})
