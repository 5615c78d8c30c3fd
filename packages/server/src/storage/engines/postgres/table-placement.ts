import { sql } from 'kysely'
import { migratorTables } from '../../schema/catalog.ts'
import { type TableHome, tableHomes } from '../../schema/table-homes.ts'
import type { EngineRules, TablePlacement } from '../engine.ts'
import { lockMigrations, withShortLocks } from './migration-lock.ts'

/** Tables on the servers of a Citus cluster. Only the coordinator can place them. */

interface PlacedTable {
  readonly name: string
  readonly home: keyof TablePlacement
  /** `pg_dist_partition` has a row for it: it exists on every server. One of the coordinator then keeps its rows there. */
  readonly isKnownEverywhere: boolean
}

export const placeTables: EngineRules['placeTables'] = async ({ kysely }) => {
  const placed = await readPlacement(kysely)
  if (placed === undefined) return
  for (const name of misplacedTables(placed)) await place(kysely, name)
  // The last one that enabling makes known: what was interrupted is continued only by the operator.
  const isEnabled = placed.some(({ name, isKnownEverywhere }) => name === 'migrations' && isKnownEverywhere)
  if (isEnabled) await enable(kysely, placed)
}

export const enableQueryFromAnyNode: EngineRules['enableQueryFromAnyNode'] = async ({ kysely }) => {
  await enable(kysely, (await readPlacement(kysely)) ?? [])
}

export const findClusterServer: EngineRules['findClusterServer'] = async ({ kysely }) => {
  if (!(await findExtension(kysely))) return undefined
  const { rows } = await sql<{ isWorker: boolean; address: string | null }>`
    select l.groupid <> 0 as "isWorker",
      (select n.nodename || ':' || n.nodeport from pg_dist_node as n
        where n.groupid = l.groupid and n.noderole = 'primary' limit 1) as address
    from pg_dist_local_group as l`.execute(kysely)
  const { isWorker = false, address = null } = rows[0] ?? {}
  const placed = (await readPlacement(kysely)) ?? []
  const known = new Set(placed.flatMap(({ name, isKnownEverywhere }) => (isKnownEverywhere ? [name] : [])))
  const names = [...Object.keys(tableHomes), ...migratorTables]
  return { isWorker, address: address ?? undefined, absentTables: names.filter((name) => !known.has(name)) }
}

export const countPlacedTables: EngineRules['countPlacedTables'] = async ({ kysely }) => {
  const placed = await readPlacement(kysely)
  if (placed === undefined) return undefined
  const count = (home: keyof TablePlacement) =>
    placed.filter((table) => table.home === home && !migratorTables.has(table.name)).length
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

export const listSessions: EngineRules['listSessions'] = async ({ kysely }, exceptProgram) => {
  const source = (await findExtension(kysely))
    ? // Without the connections between the servers.
      sql`citus_stat_activity where global_pid is distinct from citus_backend_gpid() and is_worker_query is not true and application_name not like 'citus\\_%'`
    : sql`pg_stat_activity where pid <> pg_backend_pid()`
  const { rows } = await sql<{ who: string }>`
    select concat_ws(' ', coalesce(nullif(application_name, ''), 'unnamed'), client_addr, 'pid', pid) as who
    from ${source} and datname = current_database() and backend_type = 'client backend'
      and application_name not like ${`${exceptProgram} %`}`.execute(kysely)
  return rows.map(({ who }) => who)
}

/** Lists the tables of the schema; undefined without the extension. */
async function readPlacement(kysely: Kysely): Promise<readonly PlacedTable[] | undefined> {
  if (!(await findExtension(kysely))) return undefined
  const placed = await sql<PlacedTable>`
    select t.relname as name,
      case when p.partmethod = 'h' then 'distributed' when p.repmodel = 't' then 'reference' else 'local' end as home,
      p.logicalrelid is not null as "isKnownEverywhere"
    from pg_class as t left join pg_dist_partition as p on p.logicalrelid = t.oid
    where t.relnamespace = current_schema()::regnamespace and t.relkind = 'r'`.execute(kysely)
  return placed.rows.filter(({ name }) => Object.hasOwn(tableHomes, name) || migratorTables.has(name))
}

/** Lists in the order of `tableHomes`. */
function misplacedTables(placed: readonly PlacedTable[]): string[] {
  const homes = new Map(placed.map(({ name, home }) => [name, home]))
  return Object.entries<TableHome>(tableHomes)
    .filter(([name, home]) => home !== 'local' && homes.get(name) === 'local')
    .map(([name]) => name)
}

/** Makes the tables of the coordinator known on every server; `migrations` last, by which nodes see that all of them are. */
async function enable(kysely: Kysely, placed: readonly PlacedTable[]): Promise<void> {
  const last = (name: string) => [...migratorTables].indexOf(name)
  const names = unknownTables(placed).toSorted((a, b) => last(a) - last(b))
  for (const name of names)
    await inPlacement(kysely, async (tx) => {
      if (!unknownTables((await readPlacement(tx)) ?? []).includes(name)) return
      await sql`select citus_add_local_table_to_metadata(${name})`.execute(tx)
    })
}

function unknownTables(placed: readonly PlacedTable[]): string[] {
  return placed
    .filter(({ name, isKnownEverywhere }) => !isKnownEverywhere && homeOf(name) === 'local')
    .map(({ name }) => name)
}

function homeOf(name: string): TableHome {
  return migratorTables.has(name) ? 'local' : tableHomes[name as keyof typeof tableHomes]
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
  // Addresses are compared by their bytes, so only ASCII letters are folded.
  invited_organizations: (kysely) =>
    sql`insert into invited_organizations (root, organization, invited_ms)
      select substr(encode(sha256(convert_to(lower(email), 'UTF8')), 'hex'), 1, 40), root, max(created_ms)
      from group_invites where email <> '' group by 1, 2
      on conflict do nothing`.execute(kysely),
  copying_organizations: (kysely) =>
    sql`insert into copying_organizations (root, source, organization)
      select distinct substr(source, 1, 40), source, root from repos where source <> '' and root <> substr(source, 1, 40)
      on conflict do nothing`.execute(kysely),
}

async function place(kysely: Kysely, name: string): Promise<void> {
  await inPlacement(kysely, async (tx) => {
    // Another node may have placed it.
    const placed = (await readPlacement(tx)) ?? []
    if (!misplacedTables(placed).includes(name)) return
    await completeRows[name]?.(tx)
    const home = homeOf(name)
    if (typeof home === 'string') {
      await sql`select create_reference_table(${name})`.execute(tx)
    } else {
      await sql`select create_distributed_table(${name}, ${home.distributedBy}, colocate_with => ${name === FIRST ? 'none' : FIRST})`.execute(
        tx,
      )
    }
    // It has copied the rows to the shards, and hides those of before, which stay on the disk of the coordinator.
    await sql`select truncate_local_data_after_distributing_table(${name})`.execute(tx)
  })
}

/**
 * Runs work on one table in a transaction of its own: the locks on all shards of all tables would exceed the default of
 * `max_locks_per_transaction`.
 */
async function inPlacement(kysely: Kysely, work: (tx: Kysely) => Promise<void>): Promise<void> {
  await withShortLocks(() =>
    kysely.transaction().execute(async (tx) => {
      await lockMigrations(tx)
      await work(tx)
    }),
  )
}
