import { IdentitySchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { fromBinary } from '@bufbuild/protobuf'
import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'
import type { Tables } from '../schema/tables.ts'

const STATIC = 2
const LIFETIME_MS_MAX = 365 * 24 * 60 * 60 * 1000
const PAGE = 1000

/**
 * When the static keys of identities expire, for lists (ADR 48). A node of the previous version that writes an identity while the nodes
 * are replaced leaves the column as it is; the exchange does not read it.
 *
 * Requests wait for the table until all migrations have ended: pages are read by the primary key, and written in one statement each. The
 * index has all identities, because lists of all of them can be ordered by the expiry.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { integer } = sqlRules[engine].columnTypes
  await db.schema
    .alterTable('identities')
    .addColumn('keys_expire_ms', integer, (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('identities_by_keys_expiry')
    .on('identities')
    .columns(['root', 'keys_expire_ms', 'uid'])
    .execute()
  const tables = db as Kysely<Tables>
  for (let last = { root: '', uid: '' }; ; ) {
    const rows = await tables
      .selectFrom('identities')
      .select(['root', 'uid', 'created_ms', 'relationship_data'])
      .where('relationship', '=', STATIC)
      .where(sql<boolean>`(root, uid) > (${last.root}, ${last.uid})`)
      .orderBy('root')
      .orderBy('uid')
      .limit(PAGE)
      .execute()
    const end = rows.at(-1)
    if (end === undefined) return
    await setExpiries(tables, rows)
    last = end
  }
}

type Row = Pick<Tables['identities'], 'root' | 'uid' | 'created_ms' | 'relationship_data'>

async function setExpiries(tables: Kysely<Tables>, rows: readonly Row[]): Promise<void> {
  const expiries = rows.flatMap(({ root, uid, created_ms, relationship_data }) => {
    const { relationship } = fromBinary(IdentitySchema, relationship_data)
    if (relationship.case !== 'staticKeys') return []
    const { expirationTime } = relationship.value
    const expires =
      expirationTime === undefined ? Number(created_ms) + LIFETIME_MS_MAX : timestampMs(expirationTime)
    return [sql`(${root}, ${uid}, cast(${expires} as bigint))`]
  })
  if (expiries.length === 0) return
  await sql`with found (root, uid, expires) as (values ${sql.join(expiries)})
    update identities set keys_expire_ms = found.expires from found
    where identities.root = found.root and identities.uid = found.uid`.execute(tables)
}
