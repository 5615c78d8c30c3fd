import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Uid } from '@berth/server/api/uid.ts'
import type { Db } from '@berth/server/storage/db.ts'
import { CompiledQuery, sql } from 'kysely'
import { loadDocuments } from '../bench/advisories/load.ts'
import { onEveryDatabase } from './support/api/api-fixture.ts'

// How the databases answer the filters of advisories: by what is looked for, and never by a look at every advisory.

const DOCUMENTS = 12
const FEW_VALUES = 100

const filters: readonly (readonly [name: string, values: readonly string[]])[] = [
  ['advisory_ids', ['CGA-2222-3333-4444']],
  ['legacy_advisory_ids', ['CVE-2024-1', 'CVE-2024-2']],
  ['artifact_names', ['argo-cli']],
  ['artifact_types', ['apk', 'image']],
  ['artifact_architectures', ['x86_64']],
  ['component_names', ['stdlib']],
  ['component_types', ['go-module']],
  ['component_locations', ['/usr/bin/argo-cli']],
  ['aliases', ['CVE-2024-10006']],
  ['origin', ['argo-cli']],
  ['event_review_states', ['REVIEW_STATE_APPROVED']],
  ['event_authors', ['Ada']],
  ['exclude_event_authors', ['Ada']],
  ['event_reviewers', ['Ada']],
  ['event_types', ['EVENT_TYPE_FILTER_FIXED']],
  ['event_types', ['EVENT_TYPE_FILTER_FIXED', 'EVENT_TYPE_FILTER_DETECTION']],
  ['event_authors', ['Ada', 'Grace']],
  ['latest_event_type', ['EVENT_TYPE_FILTER_FIXED']],
  ['query', ['cve-2024']],
]

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Remembers the reads of advisories from now on. */
function recorded(db: Db): Statement[] {
  const statements: Statement[] = []
  const { read, longRead } = db
  const record = (text: string, values: readonly unknown[]) => {
    if (/\badvisor(?:ies|y_\w+)\b/.test(text)) statements.push({ text, values })
  }
  Object.assign(db, {
    read: (text: string, values: readonly unknown[]) => {
      record(text, values)
      return read(text, values)
    },
    longRead: (text: string, values: readonly unknown[]) => {
      record(text, values)
      return longRead(text, values)
    },
  })
  return statements
}

/** How a table is read: by which columns' values, and '' for all of it. */
interface Access {
  readonly table: string
  readonly by: string
}

async function accessesOf(db: Db, statement: Statement): Promise<Access[]> {
  return db.engine === 'sqlite' ? accessesOfSqlite(db, statement) : accessesOfPostgres(db, statement)
}

/** The table that a statement gives a short name. */
function tableOf(text: string, name: string): string {
  return new RegExp(`(\\w+) as ${name}\\b`).exec(text)?.[1] ?? name
}

async function accessesOfSqlite(db: Db, { text, values }: Statement): Promise<Access[]> {
  const explain = CompiledQuery.raw(`explain query plan ${text}`, [...values])
  const { rows } = await db.kysely.executeQuery<{ detail: string }>(explain)
  return rows.flatMap(({ detail }) => {
    const [, name = '', by = ''] = /^(?:SCAN|SEARCH) (\w+)[^(]*(?:\((.*)\))?$/.exec(detail) ?? []
    return name === '' ? [] : [{ table: tableOf(text, name), by }]
  })
}

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

async function accessesOfPostgres(db: Db, { text, values }: Statement): Promise<Access[]> {
  const plans = await db.kysely.transaction().execute(async (tx) => {
    // Few rows are read faster than looked for. What is asked here is whether they can be looked for.
    await sql`set local enable_seqscan = off`.execute(tx)
    const explain = CompiledQuery.raw(`explain (format json) ${text}`, [...values])
    const { rows } = await tx.executeQuery<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(explain)
    return rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan))
  })
  const all: Access[] = []
  const visit = (node: PlanNode, table: string | undefined) => {
    const relation = node['Relation Name'] ?? table
    const conditioned = node['Index Name'] !== undefined || node['Relation Name'] !== undefined
    // A bitmap of rows is made by the nodes below it.
    const isBitmap = node['Index Name'] === undefined && node.Plans !== undefined
    if (relation !== undefined && conditioned && !isBitmap)
      all.push({ table: relation, by: node['Index Cond'] ?? '' })
    for (const below of node.Plans ?? []) visit(below, node['Relation Name'])
  }
  for (const plan of plans) visit(plan, undefined)
  return all
}

for (const sizes of [undefined, { bucketRowsMax: 4, rowsInlineMax: 3, branchesMax: 2 }])
  onEveryDatabase(
    `plans of advisories${sizes === undefined ? '' : ', with the ways of many rows'}`,
    (cast) => {
      test('no filter scans all advisories or index entries', async () => {
        const { store } = cast().berth.berth.installation
        const { db } = store
        const organization = await cast().organization()
        const { api } = await organization.member('advisories.admin')
        await loadDocuments(store, organization.uid as Uid, DOCUMENTS)
        if (db.engine === 'postgres') await sql`analyze`.execute(db.kysely)
        const statements = recorded(db)
        const orders = ['uid', 'uid desc', 'artifact_name', 'updated_at desc']
        for (const [name, values] of filters) {
          for (const order of orders) {
            statements.length = 0
            const query = { [name]: values, order_by: order, page_size: '5' }
            const { status, body, text } = await api.get('vulnerabilities/advisories', query)
            assert.equal(status, 200, text)
            const { nextPageToken } = body
            if (nextPageToken !== '')
              await api.get('vulnerabilities/advisories', { ...query, page_token: nextPageToken })
            assert.ok(statements.length > 0)
            for (const statement of [...statements]) await assertLookedUp(db, statement, name)
          }
        }
      })
    },
    sizes && { sizes },
  )

async function assertLookedUp(db: Db, statement: Statement, filter: string): Promise<void> {
  const isPage = /\blimit\b[^)]*$/.test(statement.text)
  for (const { table, by } of await accessesOf(db, statement)) {
    const what = `${filter}: ${table} by (${by}) in ${statement.text}`
    // Every posting is found by its value, every end of a text by how it begins.
    if (table === 'advisory_postings') assert.match(by, /value/, what)
    if (table === 'advisory_suffixes') assert.match(by, /suffix/, what)
    // A number by its value or part, of the groups that are asked about.
    // Hundreds of values that there may be are more than the numbers of these few documents: PostgreSQL reads those of the groups.
    const isFew = statement.values.length <= FEW_VALUES
    if (table === 'advisory_posting_counts') assert.match(by, isFew ? /value/ : /value|root.*parent/, what)
    if (table === 'advisory_part_counts') assert.match(by, /part|number/, what)
    if (table === 'advisory_groups') assert.match(by, /uid/, what)
    // A page goes along an index from one advisory to the next, and ends when it is full. Whatever counts does not.
    if (table === 'advisories') assert.match(by, isPage ? /root|uid/ : /uid\s*=/, what)
  }
}
