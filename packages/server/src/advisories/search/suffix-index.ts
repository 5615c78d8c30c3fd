import type { Advisory } from '@berth/contract/gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import { existingKeys, insertRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { type SearchableText, searchableTexts, suffixesOf } from './facets.ts'

/**
 * Adds the suffixes of texts to the index of free-text queries, once for all advisories with the same text. The suffixes of a text are
 * written together, so the longest one shows whether the others exist: most advisories have vulnerabilities and components in common
 * with others. Suffixes of unused texts stay; they match no entry.
 */
export async function addSearchableTexts(
  db: Db,
  tx: Tx,
  root: string,
  advisories: readonly Advisory[],
): Promise<void> {
  const texts = new Map<string, SearchableText>()
  for (const text of advisories.flatMap(searchableTexts)) texts.set(text.value.toString('hex'), text)
  const all = [...texts.values()]
  for (let at = 0; at < all.length; at += TEXT_BATCH_SIZE)
    await addSuffixes(db, tx, root, all.slice(at, at + TEXT_BATCH_SIZE))
}

/** Texts whose suffixes are in memory at a time. */
const TEXT_BATCH_SIZE = 500

async function addSuffixes(db: Db, tx: Tx, root: string, texts: readonly SearchableText[]): Promise<void> {
  const suffixes = texts.map(({ text, value }) => suffixesOf(text).map((suffix) => ({ root, suffix, value })))
  const longestSuffixes = suffixes.flatMap((textSuffixes) => textSuffixes.slice(0, 1))
  const present = await existingKeys(db, tx, 'advisory_suffixes', longestSuffixes)
  const presentValues = new Set(present.map(({ value }) => Buffer.from(value).toString('hex')))
  const added = suffixes
    .flat()
    .filter(({ value }) => !presentValues.has(value.toString('hex')))
    .sort(({ suffix: a }, { suffix: b }) => (a < b ? -1 : a > b ? 1 : 0))
  // A concurrent import may write the same suffixes.
  await insertRows(db, tx, 'advisory_suffixes', added, { ifAbsent: true })
}
