import { sql } from 'kysely'
import { type TableHome, tableHomes } from '../../schema/table-homes.ts'
import type { EngineRules, TablePlacement } from '../engine.ts'
import { lockMigrations, withShortLocks } from './migration-lock.ts'

/** Tables on the servers of a Citus cluster. The coordinator is the server of the address. */

interface PlacedTable {
  readonly name: string
  /** As `pg_dist_partition` has it, which has no row for tables of the coordinator alone. */
  readonly home: keyof TablePlacement
}

export const placeTables: EngineRules['placeTables'] = async ({ kysely }) => {
  const placed = await readPlacement(kysely)
  if (placed === undefined) return
  for (const name of misplacedTables(placed)) await place(kysely, name)
}

export const findClusterServer: EngineRules['findClusterServer'] = async ({ kysely }) => {
  if (!(await findExtension(kysely))) return undefined
  const { rows } = await sql<{ isWorker: boolean; address: string | null }>`
    select l.groupid <> 0 as "isWorker",
      (select n.nodename || ':' || n.nodeport from pg_dist_node as n
        where n.groupid = l.groupid and n.noderole = 'primary' limit 1) as address
    from pg_dist_local_group as l`.execute(kysely)
  const { isWorker = false, address = null } = rows[0] ?? {}
  return { isWorker, address: address ?? undefined }
}

export const countPlacedTables: EngineRules['countPlacedTables'] = async ({ kysely }) => {
  const placed = await readPlacement(kysely)
  if (placed === undefined) return undefined
  const count = (home: keyof TablePlacement) => placed.filter((table) => table.home === home).length
  return { distributed: count('distributed'), reference: count('reference'), local: count('local') }
}

type Kysely = Parameters<EngineRules['placeTables']>[0]['kysely']

const distributed = new WeakMap<Kysely, boolean>()

export const isDistributed: EngineRules['isDistributed'] = ({ kysely }) =>
  distributed.get(kysely) ?? findExtension(kysely)

async function findExtension(kysely: Kysely): Promise<boolean> {
  const { rows } = await sql`select from pg_extension where extname = 'citus'`.execute(kysely)
  const isFound = rows.length > 0
  distributed.set(kysely, isFound)
  return isFound
}

export const groupByServer: EngineRules['groupByServer'] = async ({ kysely }, organizations) => {
  const { rows } = await sql<{ organization: string; server: number }>`
    select requested.value as organization, p.groupid as server
    from jsonb_array_elements_text(${JSON.stringify(organizations)}::jsonb) as requested
      join pg_dist_placement as p on p.shardid = get_shard_id_for_distribution_column(${FIRST}::regclass, requested.value)`.execute(
    kysely,
  )
  const servers = Map.groupBy(rows, ({ server }) => server).values()
  return [...servers].map((of) => of.map(({ organization }) => organization))
}

/** Lists the tables of the schema; undefined without the extension. */
async function readPlacement(kysely: Kysely): Promise<readonly PlacedTable[] | undefined> {
  if (!(await findExtension(kysely))) return undefined
  const placed = await sql<PlacedTable>`
    select t.relname as name,
      case when p.partmethod = 'h' then 'distributed' when p.repmodel = 't' then 'reference' else 'local' end as home
    from pg_class as t left join pg_dist_partition as p on p.logicalrelid = t.oid
    where t.relnamespace = current_schema()::regnamespace and t.relkind = 'r'`.execute(kysely)
  return placed.rows.filter(({ name }) => Object.hasOwn(tableHomes, name))
}

/** Lists in the order of `tableHomes`. */
function misplacedTables(placed: readonly PlacedTable[]): string[] {
  const homes = new Map(placed.map(({ name, home }) => [name, home]))
  return Object.entries<TableHome>(tableHomes)
    .filter(([name, home]) => home !== 'local' && homes.get(name) === 'local')
    .map(([name]) => name)
}

/** Placed first; tables that are distributed by the root are on the same servers as it. */
const FIRST = 'groups'

/**
 * Rows that a node of an earlier version did not write, added before their table is read: only a distributed database reads it, and there all
 * nodes write it.
 */
const completeRows: Readonly<Record<string, (kysely: Kysely) => Promise<unknown>>> = {
  identity_organizations: (kysely) =>
    sql`insert into identity_organizations (root, identity_uid, organization)
      select distinct substr(identity_uid, 1, 40), identity_uid, root from role_bindings where root <> substr(identity_uid, 1, 40)
      on conflict do nothing`.execute(kysely),
}

/**
 * Places one table in a transaction of its own: the locks on all shards of all tables would exceed the default of
 * `max_locks_per_transaction`.
 */
async function place(kysely: Kysely, name: string): Promise<void> {
  await withShortLocks(() =>
    kysely.transaction().execute(async (tx) => {
      await lockMigrations(tx)
      // Another node may have placed it.
      const placed = (await readPlacement(tx)) ?? []
      if (!misplacedTables(placed).includes(name)) return
      await completeRows[name]?.(tx)
      const home: TableHome = tableHomes[name as keyof typeof tableHomes]
      if (typeof home === 'string') {
        await sql`select create_reference_table(${name})`.execute(tx)
      } else {
        await sql`select create_distributed_table(${name}, ${home.distributedBy}, colocate_with => ${name === FIRST ? 'none' : FIRST})`.execute(
          tx,
        )
      }
      // It has copied the rows to the shards, and hides those of before, which stay on the disk of the coordinator.
      await sql`select truncate_local_data_after_distributing_table(${name})`.execute(tx)
    }),
  )
}
