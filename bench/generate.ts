import { parentOf, rootOf, type Uid } from '@berth/server/api/uid.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { databaseFile, type Installation, openInstallation } from '@berth/server/installation/installation.ts'
import { recount } from '@berth/server/storage/counts/row-counts.ts'
import type { GroupRow, Tables } from '@berth/server/storage/schema/tables.ts'
import Database from 'better-sqlite3'
import { type Kysely, sql } from 'kysely'
import { documentsFor, loadDocuments } from './advisories/load.ts'
import { configurationOf, log, type Place } from './configuration.ts'
import { loadImages } from './contents/load.ts'
import { imageModelOf } from './contents/model.ts'
import { CALLER, type DataSet, groupUid, ORGANIZATION, parentsOf, whatIsIn } from './dataset.ts'

/** Fills an empty database with a data set, past the API: rows straight into the tables, indexes and counters afterwards. */

const columns = [
  'root',
  'uid',
  'parent',
  'name',
  'description',
  'created_ms',
  'updated_ms',
  'verified',
  'kind',
  'status',
] as const satisfies readonly (keyof GroupRow)[]

const BATCH = 10_000
const PROGRESS = 250_000
/** OrgStatus.READY of the schema. */
const READY = 1
const EPOCH_MS = Date.UTC(2026, 0, 1)

export async function generate(place: Place, set: DataSet, say: (text: string) => void): Promise<void> {
  const startMs = performance.now()
  const opened = await openInstallation(configurationOf(place), log)
  try {
    await insertOwner(opened, ['owner', 'advisories.admin'])
    if (opened.store.db.engine === 'postgres') await loadPostgres(opened.store.db.kysely, set, say)
  } finally {
    if (opened.store.db.engine === 'sqlite') await opened.close()
  }
  if (opened.store.db.engine === 'sqlite') loadSqlite(databaseFile(place.dataDir), set, say)
  const installation =
    opened.store.db.engine === 'sqlite' ? await openInstallation(configurationOf(place), log) : opened
  try {
    // Statements over a whole data set take longer than those of requests may.
    const db = installation.store.db.background
    const store = { ...installation.store, db }
    for (const collection of ['groups', 'identities', 'role_bindings'] as const) await recount(db, collection)
    if (set.advisories !== undefined) {
      const [group] = parentsOf(set)
      // Packages are not matched by the index of lists of advisories.
      const hasIndex = set.images === undefined
      await loadDocuments(store, group as Uid, documentsFor(set.advisories), say, { hasIndex })
    }
    if (set.images !== undefined) await loadImages(store, imageModelOf(set.images), say)
    if (db.engine === 'postgres') await sql`vacuum analyze`.execute(db.kysely)
  } finally {
    await installation.close()
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  say(`  generated ${whatIsIn(set)} in ${seconds} s`)
}

async function insertOwner({ store }: Installation, roles: readonly string[]): Promise<void> {
  const { kysely } = store.db
  const times = { created_ms: EPOCH_MS, updated_ms: EPOCH_MS }
  await kysely.insertInto('organization_names').values({ name: 'bench', uid: ORGANIZATION }).execute()
  await kysely
    .insertInto('identities')
    .values({
      root: CALLER,
      uid: CALLER,
      parent: '',
      name: 'bench',
      description: '',
      email: '',
      email_unverified: '',
      company: '',
      relationship: 0,
      relationship_data: new Uint8Array(0),
      issuer: '',
      subject: '',
      registered_through: '',
      keys_expire_ms: 0,
      last_seen_ms: EPOCH_MS,
      ...times,
    })
    .execute()
  const bindings = roles.map((name, at) => {
    const role = managedRoleByName.get(name)
    if (role === undefined) throw new Error(`there is no role ${name}`)
    return {
      root: ORGANIZATION,
      uid: `${ORGANIZATION}/${String(at).padStart(16, '0')}`,
      parent: ORGANIZATION,
      identity_uid: CALLER,
      role_uid: role.uid,
      automatic: 0,
      accepted_through: '',
      ...times,
    }
  })
  await kysely.insertInto('role_bindings').values(bindings).execute()
  await kysely
    .insertInto('identity_organizations')
    .values({ root: CALLER, identity_uid: CALLER, organization: ORGANIZATION })
    .execute()
}

/** In uid order, which is the order of the widest index. */
function* rowsOf(set: DataSet): Generator<GroupRow> {
  yield rowFor(ORGANIZATION, 'bench', 0)
  const parents = parentsOf(set)
  for (const [index, parent] of parents.entries()) yield rowFor(parent, `team-${index}`, index)
  const indexes = Array.from({ length: set.groups }, (_, index) => index)
  const uids = indexes.map((index) => groupUid(set, parents, index))
  indexes.sort((a, b) => ((uids[a] as string) < (uids[b] as string) ? -1 : 1))
  for (const index of indexes) yield rowFor(uids[index] as string, `group-${index}`, index)
}

function rowFor(uid: string, name: string, index: number): GroupRow {
  return {
    root: rootOf(uid),
    uid,
    parent: parentOf(uid),
    name,
    description: `Group number ${index} of the benchmark`,
    created_ms: EPOCH_MS + index,
    updated_ms: EPOCH_MS + index,
    verified: 0,
    kind: 0,
    status: READY,
  }
}

function loadSqlite(file: string, set: DataSet, say: (text: string) => void): void {
  const database = new Database(file)
  try {
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = OFF')
    database.pragma('cache_size = -262144') // KiB
    database.pragma('temp_store = MEMORY')
    const indexes = database
      .prepare<[], { name: string; sql: string }>(
        `select name, sql from sqlite_master where type = 'index' and tbl_name = 'groups' and sql is not null`,
      )
      .all()
    for (const { name } of indexes) database.exec(`drop index "${name}"`)
    const insert = database.prepare(
      `insert into groups (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    )
    database.exec('begin')
    let count = 0
    for (const row of rowsOf(set)) {
      insert.run(columns.map((column) => row[column]))
      if (++count % PROGRESS === 0) say(`  ${count} rows`)
    }
    database.exec('commit')
    for (const { sql: text } of indexes) database.exec(text)
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

async function loadPostgres(
  kysely: Kysely<Tables>,
  set: DataSet,
  say: (text: string) => void,
): Promise<void> {
  const { rows: indexes } = await sql<{ indexname: string; indexdef: string }>`
    select indexname, indexdef from pg_indexes
    where schemaname = current_schema() and tablename = 'groups' and indexname <> 'groups_pk'`.execute(kysely)
  for (const { indexname } of indexes) await sql`drop index ${sql.id(indexname)}`.execute(kysely)
  const typeOf = (column: string) => (/_ms$|verified|kind|status/.test(column) ? 'bigint' : 'text')
  const names = sql.raw(columns.join(', '))
  let count = 0
  const write = async (batch: readonly GroupRow[]) => {
    const lists = columns.map(
      (column) => sql`${batch.map((row) => row[column])}::${sql.raw(typeOf(column))}[]`,
    )
    await sql`insert into groups (${names}) select * from unnest(${sql.join(lists)})`.execute(kysely)
    const before = count
    count += batch.length
    if (Math.floor(before / PROGRESS) !== Math.floor(count / PROGRESS)) say(`  ${count} rows`)
  }
  let batch: GroupRow[] = []
  for (const row of rowsOf(set)) {
    batch.push(row)
    if (batch.length < BATCH) continue
    await write(batch)
    batch = []
  }
  if (batch.length > 0) await write(batch)
  for (const { indexdef } of indexes) await sql.raw(indexdef).execute(kysely)
}
