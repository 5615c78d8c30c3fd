import type { Advisory } from '#gen/chainguard/platform/vulnerabilities/v2beta1/advisories_pb.js'
import type { Db, Tx } from '../storage/db.ts'
import { insertRows, presentKeys } from '../storage/rows-at-once.ts'
import { endsOf, type SearchedText, searchedTexts } from './facets.ts'

/**
 * Lets free-text queries find the texts of advisories: every end of each, once however many advisories have it. The ends of a text are
 * written together, so that the longest tells whether the others are there: most advisories are of vulnerabilities and components
 * that others have too. Those of a text that nothing has any more stay; they lead to no posting.
 */
export async function addSearchedTexts(
  db: Db,
  tx: Tx,
  root: string,
  advisories: readonly Advisory[],
): Promise<void> {
  const texts = new Map<string, SearchedText>()
  for (const text of advisories.flatMap(searchedTexts)) texts.set(text.value.toString('hex'), text)
  const all = [...texts.values()]
  for (let at = 0; at < all.length; at += TEXTS_AT_ONCE)
    await addTexts(db, tx, root, all.slice(at, at + TEXTS_AT_ONCE))
}

/** The ends of so many are in memory at a time. */
const TEXTS_AT_ONCE = 500

async function addTexts(db: Db, tx: Tx, root: string, texts: readonly SearchedText[]): Promise<void> {
  const ends = texts.map(({ text, value }) => endsOf(text).map((suffix) => ({ root, suffix, value })))
  const longest = ends.flatMap((its) => its.slice(0, 1))
  const present = await presentKeys(db, tx, 'advisory_suffixes', longest)
  const there = new Set(present.map(({ value }) => Buffer.from(value).toString('hex')))
  const added = ends
    .flat()
    .filter(({ value }) => !there.has(value.toString('hex')))
    .sort(({ suffix: a }, { suffix: b }) => (a < b ? -1 : a > b ? 1 : 0))
  // Another import may write the same ones.
  await insertRows(db, tx, 'advisory_suffixes', added, { ifAbsent: true })
}
