import { deflateSync } from 'node:zlib'
import { documentHash } from '@berth/server/advisories/import/import-documents.ts'
import { countedIndexKeysOf, indexKeysOf } from '@berth/server/advisories/search/facets.ts'
import { addSearchableTexts } from '@berth/server/advisories/search/suffix-index.ts'
import { updateValueCounts } from '@berth/server/advisories/search/value-counts.ts'
import { lockAdvisories, markAdvisoriesChanged } from '@berth/server/advisories/storage/advisory-groups.ts'
import { hashRecord, toAdvisory, toAdvisoryRow } from '@berth/server/advisories/storage/stored-advisory.ts'
import { pathBelowRoot, rootOf, type Uid, type UidGenerator } from '@berth/server/api/uid.ts'
import { insertRows } from '@berth/server/storage/bulk-rows.ts'
import { recount } from '@berth/server/storage/counts/row-counts.ts'
import { type Db, inTransaction, type Tx } from '@berth/server/storage/db.ts'
import type { AdvisoryDocumentRow, AdvisoryRow } from '@berth/server/storage/schema/tables.ts'
import type { Store } from '@berth/server/storage/store.ts'
import { sql } from 'kysely'
import { advisoriesIn, documentOf } from './documents.ts'
import { recordsOf } from './records.ts'
import { yamlOf } from './yaml.ts'

/** Documents as rows, past the API: the rows that their import writes, many documents in one transaction. */

/** Documents in one transaction. */
const BATCH = 500
const PROGRESS = 100_000
const CACHE_KIB = 1_500_000

/** How many documents have so many advisories together. */
export function documentsFor(advisories: number): number {
  let document = 0
  for (let count = 0; count < advisories; document++) count += advisoriesIn(document)
  return document
}

/**
 * Loads the first `documents` documents into a group; returns how many advisories they have. `hasIndex`: with the index of their lists, which
 * takes most of the time.
 */
export async function loadDocuments(
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  parent: Uid,
  documents: number,
  say: (text: string) => void = () => {},
  { hasIndex = true }: { readonly hasIndex?: boolean } = {},
): Promise<number> {
  const { db } = store
  // Postings are written all over their table.
  if (db.engine === 'sqlite') await sql`pragma cache_size = ${sql.lit(-CACHE_KIB)}`.execute(db.kysely)
  if (db.engine === 'sqlite') await sql`pragma synchronous = off`.execute(db.kysely)
  let count = 0
  for (let at = 0; at < documents; at += BATCH) {
    const before = count
    await inTransaction(db, async (tx) => {
      await lockAdvisories(tx, parent)
      const numbers = Array.from({ length: Math.min(BATCH, documents - at) }, (_, index) => at + index)
      count += await loadSome(store, tx, parent, numbers, hasIndex)
      for (const _ of numbers) await markAdvisoriesChanged(tx, parent, store.clock())
    })
    if (Math.floor(before / PROGRESS) !== Math.floor(count / PROGRESS)) say(`  ${count} advisories`)
  }
  await recount(db, 'advisories')
  if (db.engine === 'sqlite') await sql`pragma synchronous = full`.execute(db.kysely)
  return count
}

async function loadSome(
  { db, clock, uids }: { readonly db: Db; readonly clock: () => number; readonly uids: UidGenerator },
  tx: Tx,
  parent: Uid,
  documents: readonly number[],
  hasIndex: boolean,
): Promise<number> {
  const root = rootOf(parent)
  const now = clock()
  const texts = documents.map(documentOf)
  const all = texts.map((document) => ({ document, records: recordsOf(document) }))
  const rows = all.flatMap(({ records }) =>
    records.map((record) =>
      toAdvisoryRow(uids.timeOrderedChild(parent, now), record, hashRecord(record), {
        now,
        before: undefined,
      }),
    ),
  )
  await insertRows(db, tx, 'advisories', rows)
  if (hasIndex) await indexAdvisories(db, tx, root, rows)
  await insertRows(
    db,
    tx,
    'advisory_sources',
    all.flatMap(({ document, records }) =>
      records.map(({ key }) => ({ root, parent, key, format: 'wolfi', id: document.package })),
    ),
  )
  const documentRows = all.map(({ document, records }): AdvisoryDocumentRow => {
    const content = yamlOf(document)
    return {
      root,
      parent,
      format: 'wolfi',
      id: document.package,
      name: nameOf(document.package),
      content_hash: documentHash(content),
      revision_ms: 0,
      imported_ms: now,
      keys: deflateSync(JSON.stringify(records.map(({ key }) => key))),
      unmapped: '[]',
      content: deflateSync(content),
    }
  })
  await insertRows(db, tx, 'advisory_documents', documentRows)
  return rows.length
}

/** What lists of advisories look up. */
async function indexAdvisories(db: Db, tx: Tx, root: string, rows: readonly AdvisoryRow[]): Promise<void> {
  await insertRows(
    db,
    tx,
    'advisory_postings',
    rows.flatMap((row) =>
      indexKeysOf(toAdvisory(row), row.origin).map((value) => ({
        root,
        value,
        path: pathBelowRoot(row.uid),
      })),
    ),
  )
  const counted = rows.flatMap((row) =>
    countedIndexKeysOf(toAdvisory(row), row.origin).map((value) => ({ uid: row.uid, value, by: 1 as const })),
  )
  await updateValueCounts(db, tx, counted)
  await addSearchableTexts(db, tx, root, rows.map(toAdvisory))
}

export function nameOf(name: string): string {
  return `${name}.advisories.yaml`
}
