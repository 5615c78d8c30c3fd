import type { StoredBytes } from '../../blobs/store.ts'
import { limits } from '../../core/limits.ts'
import { rowsOf } from '../known-bytes.ts'
import type { ScrubOptions } from './run.ts'

/**
 * Whether a repair may forget what is missing: a disk that is not mounted, or the bucket of somebody else, has nothing of it, and is no
 * reason to forget all. Answers how many blobs are known, and how many missing ones may be forgotten.
 */
export async function trustIn(options: ScrubOptions): Promise<Trust> {
  const { store, force } = options
  // Counted first: what is pushed meanwhile is not missing.
  const { all } = await store.db.kysely
    .selectFrom('blobs')
    .select((row) => row.fn.countAll().as('all'))
    .executeTakeFirstOrThrow()
  const known = Number(all)
  if (force) return { known, missingMax: Number.POSITIVE_INFINITY }
  const missing = Math.max(known - (await thereOf(options)), 0)
  const isTrusted = missing <= limits.missingTrustedMax || missing <= known * SHARE
  if (missing > 0 && (missing === known || !isTrusted)) throw new EmptyStore(missing, known)
  return { known, missingMax: missing + limits.missingTrustedMax }
}

export interface Trust {
  readonly known: number
  readonly missingMax: number
}

const SHARE = 0.1
const AT_ONCE = 500

/** How many blobs that the database knows the store has. */
async function thereOf({ store, blobs, signal }: ScrubOptions): Promise<number> {
  let there = 0
  const some: StoredBytes[] = []
  const count = async () => {
    signal?.throwIfAborted()
    const found = some.splice(0)
    const rows = await rowsOf(store, found)
    for (const { location, size } of found) {
      const row = rows.get(location)
      // Files that were cut to nothing are missing, too.
      if (row !== undefined && (size > 0 || Number(row.size) === 0)) there++
    }
  }
  for await (const stored of blobs.blobs()) {
    some.push(stored)
    if (some.length >= AT_ONCE) await count()
  }
  await count()
  return there
}

export class EmptyStore extends Error {
  override readonly name = 'EmptyStore'

  constructor(missing: number, known: number) {
    super(
      `the store does not have ${missing} of ${known} blobs that the database knows, and no more of them were forgotten: is the disk mounted, are BERTH_DATA_DIR or the bucket and its prefix the right ones? berth admin scrub --repair --force forgets them`,
    )
  }
}
