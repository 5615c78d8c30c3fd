import {
  blockOf,
  type CatalogFormat,
  type CveFacts,
  factsIn,
} from '@berth/advisory-formats/exploitation/cve-facts.ts'
import { CATALOGS } from '../../advisories/packages/advisory-packages.ts'
import { deleteRows, insertRows } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { CveBlockRow, VulnerabilityFactsRow } from '../../storage/schema/tables.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'

/**
 * What catalogs (KEV, EPSS) state about the vulnerabilities that were found. Catalogs list all CVEs; only those that occur in packages have
 * a row here, so that lists can filter and sort by it.
 */

/** Vulnerabilities in one step. */
const BATCH = 500

/** Writes the facts of all vulnerabilities that were found in an organization. `check`: as of `MatchOptions`. */
export async function refreshCatalogFacts(
  db: Db,
  root: string,
  check: (tx: Tx) => Promise<void>,
): Promise<void> {
  let after = ''
  for (;;) {
    const sql = sqlText(db.engine)
    const text = `select distinct vulnerability from vulnerability_ids
      where root = ${sql.bind(root)} and vulnerability > ${sql.bind(after)} order by vulnerability limit ${BATCH}`
    const rows = await runText<{ readonly vulnerability: string }>(db, text, sql)
    const last = rows.at(-1)
    if (last === undefined) return
    const vulnerabilities = rows.map(({ vulnerability }) => vulnerability)
    const facts = await readCatalogFacts(db, root, vulnerabilities)
    await inTransaction(db, async (tx) => {
      await check(tx)
      await writeCatalogFacts(db, tx, root, vulnerabilities, facts)
    })
    after = last.vulnerability
  }
}

/** Replaces the facts of some vulnerabilities. Only differences are written. */
export async function writeCatalogFacts(
  db: Db,
  tx: Tx,
  root: string,
  vulnerabilities: readonly string[],
  facts: readonly VulnerabilityFactsRow[],
): Promise<void> {
  if (vulnerabilities.length === 0) return
  const before = await tx
    .selectFrom('vulnerability_facts')
    .selectAll()
    .where('root', '=', root)
    .where('vulnerability', 'in', [...vulnerabilities])
    .execute()
  const textOf = ({ vulnerability, epss, percentile, exploited, exploitation }: VulnerabilityFactsRow) =>
    JSON.stringify([vulnerability, Number(epss), Number(percentile), Number(exploited), exploitation])
  const [previous, current] = [new Set(before.map(textOf)), new Set(facts.map(textOf))]
  const removed = before.filter((row) => !current.has(textOf(row)))
  await deleteRows(
    db,
    tx,
    'vulnerability_facts',
    removed.map(({ vulnerability }) => ({ root, vulnerability })),
  )
  const added = facts.filter((row) => !previous.has(textOf(row)))
  await insertRows(db, tx, 'vulnerability_facts', added)
}

/** A condition: whether the vulnerability of a finding `f` is known to be exploited. There are few such vulnerabilities. */
export function isExploitedSql(sql: SqlText, root: string): string {
  return `f.vulnerability in (select x.vulnerability from vulnerability_facts as x where x.root = ${sql.bind(root)} and x.exploited = 1)`
}

/** Parts of a probability in one. */
export const EPSS_PARTS = 100_000

/** Reads the facts of vulnerabilities; those without any are left out. */
export async function readCatalogFacts(
  db: Db,
  root: string,
  vulnerabilities: readonly string[],
): Promise<readonly VulnerabilityFactsRow[]> {
  const stated = await readStatedFacts(db, root, new Set(vulnerabilities))
  return [...stated].map(([vulnerability, { kev, epss }]) => ({
    root,
    vulnerability,
    epss: epss === undefined ? -1 : Math.round(epss[0] * EPSS_PARTS),
    percentile: epss === undefined ? -1 : Math.round(epss[1] * EPSS_PARTS),
    exploited: kev === undefined ? 0 : 1,
    exploitation: kev === undefined ? '' : JSON.stringify(kev),
  }))
}

async function readStatedFacts(
  db: Db,
  root: string,
  cves: ReadonlySet<string>,
): Promise<ReadonlyMap<string, CveFacts>> {
  const facts = new Map<string, CveFacts>()
  const blocks = new Set([...cves].flatMap((cve) => blockOf(cve) ?? []))
  // A block has a thousand entries: one at a time.
  for (const block of blocks) {
    const sql = sqlText(db.engine)
    const text = `select format, lines from cve_blocks where root = ${sql.bind(root)} and block = ${sql.bind(block)} order by parent, format, id`
    const rows = await runText<Pick<CveBlockRow, 'format' | 'lines'>>(db, text, sql)
    for (const { format, lines } of rows)
      for (const [cve, fact] of factsIn(lines, cves))
        facts.set(cve, addFact(facts.get(cve) ?? {}, format as CatalogFormat, fact))
  }
  return facts
}

/** Of several catalogs, the first day of exploitation counts, and the highest probability. */
function addFact(known: CveFacts, format: CatalogFormat, fact: unknown): CveFacts {
  if (format === 'kev') {
    const kev = fact as NonNullable<CveFacts['kev']>
    return known.kev !== undefined && known.kev.added <= kev.added ? known : { ...known, kev }
  }
  const epss = fact as NonNullable<CveFacts['epss']>
  return known.epss !== undefined && known.epss[0] >= epss[0] ? known : { ...known, epss }
}

export interface Catalog {
  readonly format: CatalogFormat
  /** When its latest version was published. */
  readonly publishedMs: number
}

/** Returns the catalogs of an organization, ordered by format. */
export async function readCatalogs(db: Db, root: string): Promise<readonly Catalog[]> {
  const sql = sqlText(db.engine)
  const text = `select d.format, max(d.revision_ms) as ms from advisory_groups as g cross join advisory_documents as d
    where g.root = ${sql.bind(root)} and d.root = ${sql.bind(root)} and d.parent = g.uid and d.format in ('epss', 'kev')
    group by d.format order by d.format`
  const rows = await runText<{ readonly format: CatalogFormat; readonly ms: number }>(db, text, sql)
  return rows.map(({ format, ms }) => ({ format, publishedMs: Number(ms) }))
}

/** Whether a catalog has changed and is not applied to the vulnerabilities of an organization yet. */
export async function areCatalogsPending(db: Db, root: string): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n from finding_changes where root = ${sql.bind(root)} and subject = ${sql.bind(CATALOGS)} limit 1`
  return (await runText(db, text, sql)).length > 0
}
