import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Engine } from '@berth/server/storage/db.ts'
import { migrations } from '@berth/server/storage/schema/migrate.ts'
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { previousRelease } from './support/server/previous-release.ts'

/**
 * The previous release runs on the schema of this version (ADR 24), so migrations that it does not have only expand: they add tables,
 * columns with a default, and indexes, and write nothing but what they added.
 */

/** Statements of new migrations that do something else, and why the previous release does not notice. */
const exceptions: Readonly<Record<string, readonly (readonly [statement: RegExp, reason: string])[]>> = {
  '0012-deep-groups': [
    [
      /^drop index \w+_(?:by_parent|taken|by_origin)$/,
      'another index, created before, serves the same conditions',
    ],
    [
      /^create unique index (?:role_bindings_taken|advisory_sources|advisory_scores)_once /,
      'takes over from the unique index or primary key that is dropped',
    ],
    [/^alter table advisory_(?:sources|scores) drop constraint \w+_pk$/, 'a unique index has the same key'],
    [/^alter table advisory_\w+ replica identity full$/, 'for logical replication only'],
  ],
  '0035-cve-facts': [
    [
      /^update "advisory_feeds" set "etag" = \S+, "last_modified" = \S+$/,
      'feeds download their files once more, as after a sync with --full',
    ],
  ],
  '0043-counts-by-key': [
    [
      /^(?:drop table "counts"|alter table "counts_by_key" rename to "counts")$/,
      'on SQLite only, which has one node',
    ],
  ],
}

type Migration = (typeof migrations)[keyof typeof migrations]

const engines: readonly Engine[] = ['sqlite', 'postgres']

test('migrations after those of the previous release only expand the schema', async () => {
  const names = Object.keys(migrations) as (keyof typeof migrations)[]
  assert.ok(names.includes(previousRelease.migration))
  const added = names.filter((name) => name > previousRelease.migration)
  for (const name of added) {
    const [sqlite = [], postgres = []] = await Promise.all(
      engines.map((engine) => statementsOf(migrations[name], engine)),
    )
    assert.ok(sqlite.length + postgres.length > 0, name)
  }
  for (const engine of engines) {
    const [tables, columns] = [new Set<string>(), new Set<string>()]
    for (const name of added) {
      const wrong = (await statementsOf(migrations[name], engine)).filter(
        (statement) =>
          !onlyExpands(statement, tables, columns) &&
          !exceptions[name]?.some(([excepted]) => excepted.test(statement)),
      )
      assert.deepEqual(wrong, [], `${name} on ${engine}`)
    }
  }
})

test('a migration builds every index before it takes locks that block reads', async () => {
  for (const name of Object.keys(migrations) as (keyof typeof migrations)[]) {
    if (name <= previousRelease.migration) continue
    const statements = await statementsOf(migrations[name], 'postgres')
    const created = statements.findLastIndex((statement) => isIndexOfOlderTable(statement, statements))
    const locked = statements.findIndex((statement) =>
      /^(?:drop|alter table \S+ (?:drop|replica))/.test(statement),
    )
    const order = `${name}: ${statements[locked]} before ${statements[created]}`
    assert.ok(locked === -1 || created < locked, order)
  }
})

test('what is not an expansion is found', () => {
  const [tables, columns] = [new Set(['added']), new Set(['groups.added'])]
  for (const statement of [
    'create table "more" ("uid" text not null)',
    'create index "more_index" on "groups" ("name")',
    'create unique index "own" on "added" ("uid")',
    'alter table "groups" add column "number" bigint default 0 not null',
    'alter table "groups" add column "number" bigint not null default 0',
    'alter table "groups" add column "number" bigint',
    'update "groups" set "added" = $1',
    'insert into "added" ("uid") values ($1)',
    'select "uid" from "groups"',
  ])
    assert.equal(onlyExpands(statement, tables, columns), true, statement)
  for (const statement of [
    'drop table "groups"',
    'drop index "groups_name"',
    'alter table "groups" drop column "name"',
    'alter table "groups" rename to "folders"',
    'alter table "groups" rename column "name" to "title"',
    'alter table "groups" add column "number" bigint not null',
    'alter table "groups" add column "number" bigint default 0, drop column "name"',
    'alter table "groups" add column "number" bigint unique',
    'alter table "groups" add column "number" bigint references "tags"',
    'alter table "groups" alter column "name" type bytea',
    'alter table "groups" alter column "name" set not null',
    'alter table "groups" add constraint "named" check (name <> $1)',
    'create unique index "own" on "groups" ("name")',
    'create trigger "kept" before delete on "groups"',
    'update "groups" set "name" = $1',
    'update "groups" set "added" = $1, "name" = $2',
    'delete from "groups"',
    'insert into "groups" ("uid") values ($1)',
  ])
    assert.equal(onlyExpands(statement, tables, columns), false, statement)
})

/** `tables` and `columns` (`table.column`) are those that new migrations added; the ones that the statement adds are put in. */
function onlyExpands(statement: string, tables: Set<string>, columns: Set<string>): boolean {
  const text = statement
    .replaceAll(/["\s]+/g, ' ')
    .trim()
    .toLowerCase()
  const [, created] = /^create table (?:if not exists )?(\w+)/.exec(text) ?? []
  if (created !== undefined) {
    tables.add(created)
    return true
  }
  const [, unique, indexed = ''] = /^create (unique )?index (?:if not exists )?\w+ on (\w+)/.exec(text) ?? []
  if (indexed !== '') return unique === undefined || tables.has(indexed)
  const [, altered, column, definition = ''] = /^alter table (\w+) add column (\w+) (.+)$/.exec(text) ?? []
  if (altered !== undefined) {
    columns.add(`${altered}.${column}`)
    const refuses = /\bnot null\b/.test(definition) && !/\bdefault\b/.test(definition)
    return !refuses && !/,|\b(unique|references|check|primary|drop)\b/.test(definition)
  }
  const [, updated = '', set = ''] = /^update (\w+) set (.+?)(?: where .*)?$/.exec(text) ?? []
  if (updated !== '') {
    const written = [...set.matchAll(/(?:^|, ?)(\w+) =/g)].map(([, name]) => `${updated}.${name}`)
    return tables.has(updated) || (written.length > 0 && written.every((name) => columns.has(name)))
  }
  const [, filled] = /^(?:insert into|delete from) (\w+)/.exec(text) ?? []
  return filled === undefined ? /^select\b/.test(text) : tables.has(filled)
}

/** Whether a statement builds an index of a table that the same migration did not create, and that can be large. */
function isIndexOfOlderTable(statement: string, all: readonly string[]): boolean {
  const [, table] = /^create (?:unique )?index \S+ on "?(\w+)/.exec(statement) ?? []
  return table !== undefined && !all.some((one) => one.startsWith(`create table "${table}"`))
}

/** What a migration sends to an empty database. */
async function statementsOf(migration: Migration, engine: Engine): Promise<string[]> {
  const statements: string[] = []
  const isSqlite = engine === 'sqlite'
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => (isSqlite ? new SqliteAdapter() : new PostgresAdapter()),
      createDriver: () => new DummyDriver(),
      createIntrospector: (one) => (isSqlite ? new SqliteIntrospector(one) : new PostgresIntrospector(one)),
      createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
    },
    log: ({ query }) => void statements.push(query.sql),
  })
  await migration.up(db, engine)
  return statements
}
