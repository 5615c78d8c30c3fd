import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { everyCapability } from '@berth/contract/capabilities.ts'
import {
  GroupsService,
  ListGroupsRequestSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { UIDPFilterSchema } from '@berth/contract/gen/platform/common/v1/uidp.platform_pb.js'
import { timeSortFields } from '@berth/server/api/order-by.ts'
import { createPageTokens } from '@berth/server/api/page-tokens.ts'
import { authorizeVisible } from '@berth/server/pipeline/authorization.ts'
import type { Call } from '@berth/server/pipeline/call.ts'
import { type Db, type Engine, openSqliteDb, postgresLikeDb } from '@berth/server/storage/db.ts'
import { sqlRules } from '@berth/server/storage/engines/engine.ts'
import { rules } from '@berth/server/storage/engines/postgres/driver.ts'
import { type ListRequest, type ListSpec, listPage } from '@berth/server/storage/list/list.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import { create } from '@bufbuild/protobuf'
import {
  CompiledQuery,
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { assertGolden } from '../support/golden.ts'

// The statements of the list queries, as each engine gets them, and how SQLite goes about them.

const root = 'aa'.repeat(20)
const other = 'bb'.repeat(20)
const group = `${root}/0123456789abcdef`
const sibling = `${root}/1123456789abcdef`

interface Statement {
  readonly text: string
  readonly parameters: readonly unknown[]
  readonly long: boolean
}

/** A database that only writes down what it is asked. Every range has `held` rows, and each page gets one more than fits. */
function recorder(engine: Engine, held: number): { readonly db: Db; readonly statements: Statement[] } {
  const statements: Statement[] = []
  const answer = (text: string) => {
    if (/^select .* as n$/s.test(text)) return [{ n: held }]
    if (text.startsWith('select start, n'))
      return [1, 2, 3].map((at) => ({ start: `${root}/${at}`, n: held / 4 }))
    return [1, 2].map((at) => ({
      id: `${at}`,
      uid: `${root}/000000000000000${at}`,
      name: `name ${at}`,
      created_ms: at,
    }))
  }
  const connection = {
    async executeQuery<R>({ sql, parameters }: CompiledQuery) {
      statements.push({ text: sql, parameters, long: false })
      return { rows: answer(sql) as R[] }
    },
    // biome-ignore lint/correctness/useYield: nothing streams
    async *streamQuery() {
      throw new Error('nothing streams')
    },
  }
  const dialect: Dialect = {
    createAdapter: () => (engine === 'sqlite' ? new SqliteAdapter() : new PostgresAdapter()),
    createIntrospector: (db) =>
      engine === 'sqlite' ? new SqliteIntrospector(db) : new PostgresIntrospector(db),
    createQueryCompiler: () =>
      engine === 'sqlite' ? new SqliteQueryCompiler() : new PostgresQueryCompiler(),
    createDriver: () => ({
      async init() {},
      acquireConnection: async () => connection,
      async releaseConnection() {},
      async beginTransaction() {},
      async commitTransaction() {},
      async rollbackTransaction() {},
      async destroy() {},
    }),
  }
  const db: Db = {
    ...postgresLikeDb(dialect, { ...rules, ...sqlRules[engine], isDistributed: () => false }),
    engine,
    longRead: async (text, parameters) => {
      statements.push({ text, parameters, long: true })
      return answer(text)
    },
  }
  return { db, statements }
}

interface Case {
  readonly title: string
  /** By default groups. */
  readonly table?: 'groups' | 'audit_events'
  readonly request?: Partial<Omit<ListRequest, 'uidp'>> & {
    readonly uidp?: { descendantsOf?: string; childrenOf?: string }
  }
  readonly name?: string
  readonly scopes?: readonly string[]
  readonly branchesMax?: number
  /** The number of rows: many by default. */
  readonly held?: number
  /** Whether it is asked for the page after the first one. */
  readonly next?: true
  /** How SQLite may sort for it: little only. */
  readonly sorts?: RegExp
}

const few = 100
/** Rows of one name, which the index has in the other direction. */
const lastTerms = /LAST/
/** A page of rows that were found, or few rows altogether. */
const anything = /./
const cases: readonly Case[] = [
  { title: 'an organization' },
  { title: 'an organization, next page', next: true },
  { title: 'an organization, downwards, next page', request: { orderBy: 'uid desc' }, next: true },
  { title: 'descendants of a group', request: { uidp: { descendantsOf: group } } },
  { title: 'descendants of a group, next page', request: { uidp: { descendantsOf: group } }, next: true },
  { title: 'children of a group', request: { uidp: { childrenOf: group } } },
  { title: 'by name', name: 'n' },
  { title: 'by name, next page', name: 'n', next: true },
  { title: 'ordered by name, downwards', request: { orderBy: 'name desc' }, sorts: lastTerms },
  {
    title: 'ordered by name, downwards, next page',
    request: { orderBy: 'name desc' },
    next: true,
    sorts: lastTerms,
  },
  { title: 'ordered by creation', request: { orderBy: 'created_at' } },
  { title: 'ordered by creation, next page', request: { orderBy: 'created_at' }, next: true },
  { title: 'ordered by name, among few', request: { orderBy: 'name' }, held: few, sorts: anything },
  { title: 'a short skip', request: { skip: 20 } },
  { title: 'a deep skip', request: { skip: 500_000 }, sorts: anything },
  { title: 'a deep skip, downwards', request: { skip: 500_000, orderBy: 'uid desc' }, sorts: anything },
  {
    title: 'a deep skip in the order of names',
    request: { skip: 500_000, orderBy: 'name desc' },
    sorts: anything,
  },
  { title: 'two scopes', scopes: [group, other], sorts: anything },
  {
    title: 'events of two folders of an organization',
    table: 'audit_events',
    scopes: [group, sibling],
    sorts: lastTerms,
  },
  {
    title: 'events of two folders of an organization, next page',
    table: 'audit_events',
    scopes: [group, sibling],
    next: true,
    sorts: lastTerms,
  },
  {
    title: 'events of folders of two organizations',
    table: 'audit_events',
    scopes: [group, sibling, other],
    sorts: anything,
  },
  {
    title: 'more scopes than branchesMax: the first ones fill the page',
    scopes: [group, sibling, other],
    branchesMax: 1,
  },
  {
    title: 'more scopes than branchesMax, ordered by name',
    request: { orderBy: 'name' },
    scopes: [group, sibling, other],
    branchesMax: 1,
    sorts: anything,
  },
  {
    title: 'more scopes than branchesMax in one organization, ordered by name',
    request: { orderBy: 'name' },
    scopes: [group, sibling],
    branchesMax: 1,
    sorts: anything,
  },
  { title: 'the whole platform', scopes: [''] },
  { title: 'the whole platform, next page', scopes: [''], next: true },
]

async function statementsOf(
  engine: Engine,
  { table = 'groups', request = {}, name, scopes = [root], branchesMax, held = 1_000_000, next }: Case,
) {
  const recorded = recorder(engine, held)
  const { statements } = recorded
  const sizes = branchesMax === undefined ? recorded.db.sizes : { ...recorded.db.sizes, branchesMax }
  const db = { ...recorded.db, sizes }
  const access = authorizeVisible(
    { identity: root, scopes: undefined, capabilities: undefined, session: undefined },
    {
      voucher: { kind: 'direct' },
      hasUserAuthority: true,
      capabilitiesByScope: new Map(),
      readableScopes: [],
      at: () => assert.fail('lists do not ask'),
      grantableAt: () => {
        throw new Error('not asked for')
      },
      isHeldAnywhere: () => true,
      scopesHolding: () => scopes,
    },
    everyCapability,
  )
  const call: Call = {
    protocol: 'grpc',
    requestId: 'r',
    authorizationHeader: undefined,
    address: '',
    ifMatch: undefined,
    idempotencyKey: undefined,
    method: GroupsService.method.listGroups,
    requestedMethod: GroupsService.method.listGroups,
    request: create(ListGroupsRequestSchema),
    authorization: access,
  }
  const { uidp, ...rest } = request
  const asked = {
    pageSize: 1,
    pageToken: '',
    orderBy: '',
    skip: 0,
    ...rest,
    ...(uidp && { uidp: create(UIDPFilterSchema, uidp) }),
  }
  const spec: ListSpec<'groups'> | ListSpec<'audit_events'> =
    table === 'groups'
      ? {
          table,
          sortFields: { uid: 'uid', name: 'name', ...timeSortFields },
          defaultOrder: 'uid',
          equals: { name },
        }
      : { table, sortFields: { created_at: 'id' }, defaultOrder: 'created_at desc' }
  const store = { db, pageTokens: createPageTokens(createSecretKey(new Uint8Array(32)), () => 0) }
  const first = await listPage(store, call, asked, spec)
  if (next) {
    statements.length = 0
    await listPage(store, call, { ...asked, pageToken: first.nextPageToken }, spec)
  }
  return statements
}

/** Shortens long names of the tree, and writes one clause per line. */
function readable({ text, parameters, long }: Statement): string {
  const short = (value: unknown) => String(value).replaceAll(root, '<root>').replaceAll(other, '<other>')
  const lines = text.replaceAll(/ (?=from |where |order by |limit |union all |join )/g, '\n  ')
  return `${long ? '-- in a reader thread on SQLite\n' : ''}${lines};\n-- ${parameters.map(short).join(', ')}\n`
}

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`the list statements for ${engine} are the reviewed ones`, async () => {
    const texts: string[] = []
    for (const one of cases) {
      const statements = await statementsOf(engine, one)
      assert.ok(statements.length <= (one.request?.skip ? 4 : 3), one.title)
      texts.push(`-- ${one.title}\n\n${statements.map(readable).join('\n')}`)
    }
    assertGolden(`list-${engine}.sql`, texts.join('\n\n'))
  })
}

test('SQLite finds every row by an index, and sorts only where that is cheaper', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const db = await openSqliteDb(join(dataDir, 'berth.db'))
  t.after(async () => {
    await db.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  await migrate(db)
  for (const one of cases) {
    for (const { text, parameters } of await statementsOf('sqlite', one)) {
      const plan = CompiledQuery.raw(`explain query plan ${text}`, [...parameters])
      const { rows } = await db.kysely.executeQuery<{ detail: string }>(plan)
      const steps = rows.map(({ detail }) => detail)
      const scans = steps.filter((step) => /^SCAN (?:groups|audit_events)$/.test(step))
      assert.deepEqual(scans, [], `${one.title}\n${text}\n${steps.join('\n')}`)
      const sorts = steps.filter((step) => step.includes('TEMP B-TREE') && !one.sorts?.test(step))
      assert.deepEqual(sorts, [], `${one.title}\n${text}\n${steps.join('\n')}`)
    }
  }
})
