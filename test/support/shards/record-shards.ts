import { currentContext } from '@berth/server/pipeline/request/request-context.ts'
import type { Db } from '@berth/server/storage/db.ts'
import { sql } from 'kysely'
import pg from 'pg'

/** Records which shards of a Citus cluster the statements of requests touch, as the coordinator reports it while it executes them. */

export interface StatementShards {
  /** Without its values. */
  readonly text: string
  readonly values: readonly unknown[]
  /** Of the tables that are distributed by the same column, the most: where their shards start. */
  readonly shards: ReadonlySet<string>
}

/** Makes the coordinator report, on connections that are opened from then on. */
export async function reportShards({ kysely }: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(kysely)
  await sql`alter database ${sql.id(rows[0]?.name ?? '')} set citus.log_remote_commands = on`.execute(kysely)
}

interface Shard {
  readonly id: string
  readonly colocation: string
  readonly start: string | null
}

/** Records until `stop`. Statements of background jobs are left out. */
export async function recordShards(
  { kysely }: Db,
  receive: (statement: StatementShards) => void,
): Promise<{ readonly shardCount: number; stop(): void }> {
  const { rows } = await sql<Shard>`
    select s.shardid::text as id, p.colocationid::text as colocation, s.shardminvalue as start
    from pg_dist_shard as s join pg_dist_partition as p on p.logicalrelid = s.logicalrelid`.execute(kysely)
  const shards = new Map(rows.map((row) => [row.id, row]))
  const { prototype } = pg.Client
  const original = prototype.query
  prototype.query = async function query(this: pg.Client, ...args: unknown[]) {
    const [config] = args as [pg.QueryConfig | string]
    const run = () => (original as (...all: unknown[]) => Promise<unknown>).apply(this, args)
    if (currentContext() === undefined || typeof config === 'string') return run()
    const touched: Shard[] = []
    const onNotice = ({ message = '' }: { readonly message?: string | undefined }) => {
      for (const [, id = ''] of message.matchAll(/\b\w+_(\d+)\b/g)) {
        const shard = shards.get(id)
        if (shard !== undefined) touched.push(shard)
      }
    }
    this.on('notice', onNotice)
    try {
      return await run()
    } finally {
      this.off('notice', onNotice)
      receive({ text: config.text, values: config.values ?? [], shards: shardsOf(touched) })
    }
  } as typeof original
  return {
    shardCount: new Set(rows.flatMap(({ start }) => start ?? [])).size,
    stop() {
      prototype.query = original
    },
  }
}

/** Every server has the tables with a single shard. */
function shardsOf(touched: readonly Shard[]): ReadonlySet<string> {
  const distributed = touched.flatMap(({ start, colocation }) =>
    start === null ? [] : [{ start, colocation }],
  )
  const groups = [...Map.groupBy(distributed, ({ colocation }) => colocation).values()]
  const sets = groups.map((group) => new Set(group.map(({ start }) => start)))
  return sets.reduce((most, one) => (one.size > most.size ? one : most), new Set<string>())
}

/** Returns where the shard of each organization starts. */
export async function findShards(
  { kysely }: Db,
  roots: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const shards = new Map<string, string>()
  for (const root of roots) {
    const { rows } = await sql<{ start: string }>`
      select shardminvalue as start from pg_dist_shard
        where shardid = get_shard_id_for_distribution_column('groups', ${root}::text)`.execute(kysely)
    const [row] = rows
    if (row !== undefined) shards.set(root, row.start)
  }
  return shards
}
