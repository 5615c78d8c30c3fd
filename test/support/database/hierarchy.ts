import { randomBytes } from 'node:crypto'
import { parentOf, rootOf } from '@berth/server/api/uid.ts'
import { insertRows } from '@berth/server/storage/bulk-rows.ts'
import { countAllInserted } from '@berth/server/storage/counts/row-counts.ts'
import { type Db, inTransaction } from '@berth/server/storage/db.ts'
import { deleteResource, insertResource } from '@berth/server/storage/resource-rows.ts'
import { type ResourceTable, resourceTables, type Tables } from '@berth/server/storage/schema/tables.ts'
import fc from 'fast-check'
import { zeroRow } from './columns.ts'

/** Random trees of groups with resources in them, written straight into the database: thousands of rows in a second. */

/** A group: where it hangs (the how-manieth of those before it; undefined: an organization) and how many rows it gets. */
export interface GroupNode {
  readonly parentIndex: number | undefined
  readonly rows: readonly { readonly created: number; readonly updated: number }[]
}

const row = fc.record({ created: fc.nat(3), updated: fc.nat(3) })

/** Several organizations, uneven in depth and width. */
export function hierarchies(size: {
  readonly groups: number
  readonly rows: number
}): fc.Arbitrary<GroupNode[]> {
  const node = fc.record({
    parentIndex: fc.option(fc.nat(100), { nil: undefined, freq: 5 }),
    rows: fc.array(row, { maxLength: size.rows }),
  })
  return fc.array(node, { minLength: 1, maxLength: size.groups })
}

const below = (parent: string) => `${parent}/${randomBytes(8).toString('hex')}`

/** Columns that must not have their zero value. */
const values: Readonly<
  Partial<Record<ResourceTable, (at: { uid: string; name: string; updated: number }) => object>>
> = {
  groups: () => ({ status: 2 }),
  identities: () => ({ relationship: 4, last_seen_ms: BASE_MS }),
  roles: () => ({ capabilities: '[103]' }),
  // Of other identities, so that it grants nothing to the caller.
  role_bindings: () => ({
    identity_uid: randomBytes(20).toString('hex'),
    role_uid: randomBytes(20).toString('hex'),
  }),
  external_group_role_mappings: ({ name }) => ({ external_group_id: name }),
  group_invites: () => ({
    expires_ms: BASE_MS,
    key_id: randomBytes(8).toString('hex'),
    role_uid: randomBytes(20).toString('hex'),
  }),
  tags: () => ({ bundles: '[]' }),
  advisories: ({ uid, name, updated }) => ({
    advisory_id: name,
    artifact_name: name,
    component_name: `${updated}`,
    key: uid,
    search: name,
  }),
  advisory_feeds: ({ name }) => ({
    url: `https://example.com/${name}`,
    interval_ms: 3_600_000,
    paused: 1,
    due_ms: BASE_MS,
  }),
}

const BASE_MS = 1_700_000_000_000

/** Returns any row of a table; times are in one second, so that many are equal. */
export function rowOf(
  collection: ResourceTable,
  uid: string,
  { created = 0, updated = 0, name }: { created?: number; updated?: number; name: string },
): Tables[ResourceTable] & { uid: string; root: string } {
  const zero = zeroRow(collection)
  return {
    ...zero,
    ...('name' in zero && { name }),
    root: rootOf(uid),
    uid,
    parent: parentOf(uid),
    created_ms: BASE_MS + created,
    updated_ms: BASE_MS + updated,
    ...values[collection]?.({ uid, name, updated }),
  } as unknown as Tables[ResourceTable]
}

/** Writes a tree; the uids of its groups come back. Names repeat between groups and never within one. */
export async function insertHierarchy(
  db: Db,
  collection: ResourceTable,
  nodes: readonly GroupNode[],
): Promise<string[]> {
  const groups: string[] = []
  await inTransaction(db, async (tx) => {
    for (const [at, { parentIndex: under, rows }] of nodes.entries()) {
      const parent = under === undefined || at === 0 ? undefined : groups[under % at]
      const uid = parent === undefined ? randomBytes(20).toString('hex') : below(parent)
      groups.push(uid)
      const first = rows[0] ?? {}
      await insertResource(
        db,
        tx,
        'groups',
        rowOf('groups', uid, { ...first, name: `g${at % 3}.${at}` }) as Tables['groups'],
      )
      if (collection === 'groups') continue
      for (const [index, times] of rows.entries()) {
        await insertResource(
          db,
          tx,
          collection,
          rowOf(collection, below(uid), { ...times, name: `n${index}` }) as Tables[typeof collection],
        )
      }
    }
  })
  return groups
}

/** One more row of a collection somewhere in a group. */
export async function insertOne(db: Db, collection: ResourceTable, group: string): Promise<string> {
  const uid = below(group)
  const added = rowOf(collection, uid, { created: 1, updated: 2, name: randomBytes(3).toString('hex') })
  await inTransaction(db, (tx) => insertResource(db, tx, collection, added))
  return uid
}

/** Many more rows of a collection, written together, spread over some groups of one organization. */
export async function insertMany(
  db: Db,
  collection: ResourceTable,
  groups: readonly string[],
  count: number,
  name: string,
): Promise<void> {
  const rows = Array.from({ length: count }, (_, at) =>
    rowOf(collection, below(groups[at % groups.length] as string), { name: `${name}.${at}` }),
  )
  await inTransaction(db, async (tx) => {
    await insertRows(db, tx, collection, rows as Tables[typeof collection][])
    await countAllInserted(
      db,
      tx,
      collection,
      rows.map(({ uid }) => uid),
    )
  })
}

export async function deleteRow(db: Db, collection: ResourceTable, uid: string): Promise<void> {
  await inTransaction(db, (tx) => deleteResource(db, tx, collection, uid))
}

/** Deletes everything in these organizations. */
export async function deleteAll(db: Db, groups: readonly string[]): Promise<void> {
  const roots = [...new Set(groups.map(rootOf))]
  for (const table of [...resourceTables, 'counts', 'tombstones'] as const) {
    await db.kysely.deleteFrom(table).where('root', 'in', roots).execute()
  }
}
