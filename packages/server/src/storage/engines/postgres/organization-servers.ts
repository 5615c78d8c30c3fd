import { limits } from '../../../config/limits.ts'
import type { PostgresConnections } from './connection.ts'
import type { ServerOf } from './connection-permits.ts'

/**
 * Computes which server of a distributed database has the rows of an organization, without a statement for each organization: the
 * permits for connections need it before the first one.
 */

interface ShardRow {
  /** Least hash of the shard. */
  readonly from: number
  readonly server: number
}

/** Shards of the table that is placed first: those of other tables are on the same servers (ADR 79). */
const shardsSql = `
  select s.shardminvalue::int as "from", p.groupid as server
  from pg_dist_shard as s join pg_dist_placement as p on p.shardid = s.shardid
    join pg_dist_partition as t on t.logicalrelid = s.logicalrelid
  where s.logicalrelid = to_regclass('groups') and t.partmethod = 'h'
  order by 1`

const extensionSql = `select from pg_extension where extname = 'citus'`

/** Reads the placement when it is first needed and, while it is used, again after `databasePlacementMaxAgeMs`: shards move. */
export function organizationServers({
  hasCitus,
  readApart,
}: Pick<PostgresConnections, 'hasCitus' | 'readApart'>): ServerOf {
  let shards: readonly ShardRow[] = []
  let nextMs = Number.NEGATIVE_INFINITY
  const reload = async () => {
    try {
      if ((await readApart(extensionSql)).length === 0) return
      const rows = (await readApart(shardsSql)) as readonly ShardRow[]
      // On one server there is nothing to divide.
      shards = new Set(rows.map(({ server }) => server)).size > 1 ? rows : []
      if (rows.length > 0) return
    } catch {
      // The last known placement stays in use: requests report why the database fails.
    }
    nextMs = performance.now() + limits.databaseLostServerMs
  }
  return (root) => {
    const nowMs = performance.now()
    if (nowMs >= nextMs && hasCitus()) {
      nextMs = nowMs + limits.databasePlacementMaxAgeMs
      void reload()
    }
    return shards.length === 0 || !isRoot(root) ? undefined : serverOf(shards, hashText(root))
  }
}

const isRoot = (text: string) => /^[0-9a-f]{40}$/.test(text)

/** The shard with the greatest least hash that is not above this one. */
function serverOf(shards: readonly ShardRow[], hash: number): number | undefined {
  let [low, high] = [0, shards.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (shards[middle]!.from <= hash) low = middle + 1
    else high = middle
  }
  return shards[low - 1]?.server
}

/**
 * Returns `hashtext(text)` of PostgreSQL for ASCII text, by which Citus distributes rows: hash_bytes in src/common/hashfn.c, which is Bob
 * Jenkins' lookup3. It cannot change while rows are placed by it.
 */
export function hashText(text: string): number {
  const bytes = Buffer.from(text, 'latin1')
  const start = (0x9e3779b9 + bytes.length + 3923095) | 0
  let [a, b, c] = [start, start, start]
  let at = 0
  for (; bytes.length - at >= 12; at += 12) {
    a = (a + bytes.readInt32LE(at)) | 0
    b = (b + bytes.readInt32LE(at + 4)) | 0
    c = (c + bytes.readInt32LE(at + 8)) | 0
    a = ((a - c) ^ rotate(c, 4)) | 0
    c = (c + b) | 0
    b = ((b - a) ^ rotate(a, 6)) | 0
    a = (a + c) | 0
    c = ((c - b) ^ rotate(b, 8)) | 0
    b = (b + a) | 0
    a = ((a - c) ^ rotate(c, 16)) | 0
    c = (c + b) | 0
    b = ((b - a) ^ rotate(a, 19)) | 0
    a = (a + c) | 0
    c = ((c - b) ^ rotate(b, 4)) | 0
    b = (b + a) | 0
  }
  // The lowest byte of c is left out: the length is in it already.
  for (let n = 0; at + n < bytes.length; n++) {
    const byte = bytes[at + n]!
    if (n < 4) a = (a + (byte << (8 * n))) | 0
    else if (n < 8) b = (b + (byte << (8 * (n - 4)))) | 0
    else c = (c + (byte << (8 * (n - 7)))) | 0
  }
  c = ((c ^ b) - rotate(b, 14)) | 0
  a = ((a ^ c) - rotate(c, 11)) | 0
  b = ((b ^ a) - rotate(a, 25)) | 0
  c = ((c ^ b) - rotate(b, 16)) | 0
  a = ((a ^ c) - rotate(c, 4)) | 0
  b = ((b ^ a) - rotate(a, 14)) | 0
  return ((c ^ b) - rotate(b, 24)) | 0
}

const rotate = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits))
