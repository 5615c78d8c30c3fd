import type { AdvisoryRecord } from '@berth/advisory-formats/advisory-record.ts'
import { PackageURL } from 'packageurl-js'
import { descendantRange, rootOf, type Uid } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db, Tx } from '../../storage/db.ts'
import type { AdvisoryRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { StoredDocument } from '../documents/stored-documents.ts'
import { facets, indexKey } from '../search/facets.ts'
import { postingsSql } from '../search/inverted-index.ts'
import { toAdvisory } from '../storage/stored-advisory.ts'
import { readInBatches } from './advisory-rows.ts'

/**
 * A security database has the least detail: which version fixed what. Its entry is superseded, and creates no advisory, as long as
 * another document of the group has an advisory for the same vulnerability and package.
 */

/** The fields of a record or row that decide about supersession. */
export type AdvisorySubject = Pick<
  AdvisoryRecord,
  'key' | 'artifactName' | 'artifactType' | 'origin' | 'product' | 'aliases'
>

export function subjectOf(row: AdvisoryRow): AdvisorySubject {
  const { artifactName, artifactType, aliases } = toAdvisory(row)
  return { key: row.key, artifactName, artifactType, origin: row.origin, product: row.product, aliases }
}

export function isSecdbRecord({ key }: Pick<AdvisorySubject, 'key'>): boolean {
  return key.startsWith('secdb:')
}

/** The distributors of the packages that are covered, by `package alias`. */
export type Coverage = ReadonlyMap<string, ReadonlySet<string>>

/** Returns what advisories from other formats cover among apk packages. */
export function coverageBy(subjects: readonly AdvisorySubject[]): Coverage {
  const coverage = new Map<string, Set<string>>()
  for (const subject of subjects) {
    if (isSecdbRecord(subject) || subject.artifactType !== 'apk') continue
    const distributor = distributorOf(subject)
    for (const coverageKey of coverageKeys(subject)) {
      const known = coverage.get(coverageKey)
      if (known === undefined) coverage.set(coverageKey, new Set([distributor]))
      else known.add(distributor)
    }
  }
  return coverage
}

function coverageKeys({ artifactName, origin, aliases }: AdvisorySubject): string[] {
  return aliases.flatMap((alias) => [`${artifactName} ${alias}`, `${origin} ${alias}`])
}

/** Whether another document has an advisory for an entry of a security database. */
export function isSuperseded(entry: AdvisorySubject, coverage: Coverage): boolean {
  const distributor = distributorOf(entry)
  return entry.aliases.some((alias) =>
    [...(coverage.get(`${entry.artifactName} ${alias}`) ?? [])].some((other) =>
      isSameDistributor(distributor, other),
    ),
  )
}

/** Returns what was covered before and is not covered now. */
export function removedCoverage(before: Coverage, now: Coverage): Coverage {
  return new Map(
    [...before].flatMap(([coverageKey, distributors]) => {
      const left = [...distributors].filter((one) => !now.get(coverageKey)?.has(one))
      return left.length === 0 ? [] : [[coverageKey, new Set(left)] as const]
    }),
  )
}

const ALPINE = 'alpine'

/** Returns the distributor of a package: `wolfi`. '' if it is unknown, as in documents in Wolfi's format. */
function distributorOf(subject: AdvisorySubject): string {
  if (isSecdbRecord(subject)) {
    // The key starts with the name of the database.
    const database = subject.key.slice(0, subject.key.indexOf(`:${subject.artifactName}:`))
    return /\b(?:alpine|wolfi|chainguard)/.exec(database)?.[0] ?? ''
  }
  try {
    return subject.product.startsWith('pkg:apk/')
      ? (PackageURL.fromString(subject.product).namespace ?? '')
      : ''
  } catch {
    return ''
  }
}

/** An unknown distributor can be any but Alpine, which publishes no documents in Wolfi's format. */
function isSameDistributor(a: string, b: string): boolean {
  return a === b || ((a === '' || b === '') && a !== ALPINE && b !== ALPINE)
}

/** Returns the security databases of a group. */
export async function readSecdbDocuments(tx: Tx, parent: Uid): Promise<StoredDocument[]> {
  return tx
    .selectFrom('advisory_documents')
    .select(['format', 'id', 'content_hash', 'revision_ms', 'imported_ms'])
    .where('root', '=', rootOf(parent))
    .where('parent', '=', parent)
    .where('format', '=', 'secdb')
    .execute()
}

/** Returns the advisories of packages and of artifacts that were built from them. */
export async function readRelatedAdvisories(
  db: Db,
  tx: Tx,
  parent: Uid,
  names: Iterable<string>,
): Promise<readonly AdvisorySubject[]> {
  const rows = await readInBatches([...new Set(names)], (batch) => {
    const sql = sqlText(db.engine)
    const keys = [facets.artifactName, facets.origin].flatMap((facet) =>
      batch.map((name) => indexKey(facet, name).toString('hex')),
    )
    const matching = postingsSql(sql, { keys }, { range: descendantRange(parent) })
    const text = `select * from advisories where (root, uid) in (${matching})
      and root = ${sql.bind(rootOf(parent))} and parent = ${sql.bind(parent)}`
    return runInTransaction<AdvisoryRow>(tx, text, sql)
  })
  const subjects: AdvisorySubject[] = []
  for (const row of rows) {
    await yieldToEventLoop()
    subjects.push(subjectOf(row))
  }
  return subjects
}
