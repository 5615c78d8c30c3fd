import { PackageURL } from 'packageurl-js'
import { giveTurn } from '../core/turns.ts'
import { rangeBelow, rootOf, type Uid } from '../core/uid.ts'
import type { Db, Tx } from '../storage/db.ts'
import { postedIn } from '../storage/postings.ts'
import { runInTransaction, sqlText } from '../storage/sql-text.ts'
import type { AdvisoryRow } from '../storage/tables.ts'
import type { AdvisoryRecord } from './advisory-record.ts'
import { inParts } from './advisory-rows.ts'
import { facets, postingKey } from './facets.ts'
import type { KeptDocument } from './kept-documents.ts'
import { toAdvisory } from './stored-advisory.ts'

/**
 * A security database tells least: which version fixed what. Where another document of the group tells of the same vulnerability in
 * the same package, nothing is made of its entry, for as long as that other one tells of it.
 */

/** What of a record or a row decides about covers. */
export type Teller = Pick<
  AdvisoryRecord,
  'key' | 'artifactName' | 'artifactType' | 'origin' | 'product' | 'aliases'
>

export function tellerOf(row: AdvisoryRow): Teller {
  const { artifactName, artifactType, aliases } = toAdvisory(row)
  return { key: row.key, artifactName, artifactType, origin: row.origin, product: row.product, aliases }
}

export function isOfSecdb({ key }: Pick<Teller, 'key'>): boolean {
  return key.startsWith('secdb:')
}

/** Where something is told: `package alias`, and by whom the packages are distributed. */
export type Told = ReadonlyMap<string, ReadonlySet<string>>

/** Where some that are of no security database tell of apk packages. */
export function toldBy(tellers: readonly Teller[]): Told {
  const told = new Map<string, Set<string>>()
  for (const teller of tellers) {
    if (isOfSecdb(teller) || teller.artifactType !== 'apk') continue
    const distributor = distributorOf(teller)
    for (const place of placesOf(teller)) {
      const known = told.get(place)
      if (known === undefined) told.set(place, new Set([distributor]))
      else known.add(distributor)
    }
  }
  return told
}

function placesOf({ artifactName, origin, aliases }: Teller): string[] {
  return aliases.flatMap((alias) => [`${artifactName} ${alias}`, `${origin} ${alias}`])
}

/** Whether an entry of a security database is told somewhere. */
export function isTold(entry: Teller, told: Told): boolean {
  const own = distributorOf(entry)
  return entry.aliases.some((alias) =>
    [...(told.get(`${entry.artifactName} ${alias}`) ?? [])].some((other) => isSame(own, other)),
  )
}

/** What was told before and is not told now. */
export function lost(before: Told, now: Told): Told {
  return new Map(
    [...before].flatMap(([place, distributors]) => {
      const left = [...distributors].filter((one) => !now.get(place)?.has(one))
      return left.length === 0 ? [] : [[place, new Set(left)] as const]
    }),
  )
}

const ALPINE = 'alpine'

/** Who distributes a package: `wolfi`. '' where that is not said, as in the documents of Wolfi and those like it. */
function distributorOf(teller: Teller): string {
  if (isOfSecdb(teller)) {
    // The key begins with the name of the database.
    const database = teller.key.slice(0, teller.key.indexOf(`:${teller.artifactName}:`))
    return /\b(?:alpine|wolfi|chainguard)/.exec(database)?.[0] ?? ''
  }
  try {
    return teller.product.startsWith('pkg:apk/')
      ? (PackageURL.fromString(teller.product).namespace ?? '')
      : ''
  } catch {
    return ''
  }
}

/** Whoever does not say it may be anybody but Alpine, whose advisories are in no documents of Wolfi's form. */
function isSame(a: string, b: string): boolean {
  return a === b || ((a === '' || b === '') && a !== ALPINE && b !== ALPINE)
}

/** The security databases of a group. */
export async function secdbsOf(tx: Tx, parent: Uid): Promise<KeptDocument[]> {
  return tx
    .selectFrom('advisory_documents')
    .select(['format', 'id', 'content_hash', 'revision_ms', 'imported_ms'])
    .where('root', '=', rootOf(parent))
    .where('parent', '=', parent)
    .where('format', '=', 'secdb')
    .execute()
}

/** The advisories of packages and of what was built from them. */
export async function relatives(
  db: Db,
  tx: Tx,
  parent: Uid,
  names: Iterable<string>,
): Promise<readonly Teller[]> {
  const rows = await inParts([...new Set(names)], (some) => {
    const sql = sqlText(db.engine)
    const keys = [facets.artifactName, facets.origin].flatMap((facet) =>
      some.map((name) => postingKey(facet, name).toString('hex')),
    )
    const posted = postedIn(sql, { keys }, { range: rangeBelow(parent) })
    const text = `select * from advisories where (root, uid) in (${posted}) and parent = ${sql.bind(parent)}`
    return runInTransaction<AdvisoryRow>(tx, text, sql)
  })
  const tellers: Teller[] = []
  for (const row of rows) {
    await giveTurn()
    tellers.push(tellerOf(row))
  }
  return tellers
}
