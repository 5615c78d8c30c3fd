import { aborted, isOutcomeUnknown } from '../../api/errors.ts'
import { bestEffortWrite, storageFaultOf } from '../../api/storage-faults.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../../storage/db.ts'
import { prepared, preparedRead } from '../../storage/prepared.ts'
import type { BlobRow, RepoBlobRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import type { Digest } from '../manifests/digests.ts'
import type { OciServices } from '../oci/context.ts'
import { countBlobLink } from '../quota/usage.ts'
import { newLocation } from './blob-locations.ts'
import type { Upload } from './blob-store.ts'

/**
 * The stored blobs, and the repos that have them. Bytes are shared by all repos and can be reached through a link only (R31). A blob that
 * is stored again gets a new location, so that deleting the old bytes never affects the new ones.
 */

interface InRepo {
  readonly root: string
  readonly repo: string
  readonly digest: string
}

const readLinkedBlob = preparedRead((db, { root, repo, digest }: InRepo) =>
  db
    .selectFrom('repo_blobs as link')
    .innerJoin('blobs', 'blobs.digest', 'link.digest')
    .select(['blobs.size', 'blobs.location', 'link.linked_ms'])
    .where('link.root', '=', root)
    .where('link.repo', '=', repo)
    .where('link.digest', '=', digest),
)

const readStoredBlob = preparedRead((db, { digest }: { readonly digest: string }) =>
  db.selectFrom('blobs').select('size').where('digest', '=', digest),
)

/** Locks the row, whether it is new or not. */
const insertOrLockBlob = prepared((db, row: BlobRow) =>
  db
    .insertInto('blobs')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('digest').doUpdateSet((known) => ({ size: known.ref('blobs.size') })),
    )
    .returningAll(),
)

const insertLink = prepared((db, link: RepoBlobRow) =>
  db
    .insertInto('repo_blobs')
    .values(link)
    .onConflict((conflict) => conflict.columns(['root', 'repo', 'digest']).doNothing())
    .returning('digest'),
)

interface LinkedBlob {
  readonly size: number
  readonly location: string
  readonly linkedMs: number
}

/** Returns the blob of a repo; undefined if the repo has no link to it, even if others have. */
export async function findLinkedBlob(db: Db, repo: Uid, digest: string): Promise<LinkedBlob | undefined> {
  const [row] = await readLinkedBlob(db, { root: rootOf(repo), repo, digest })
  return row && { size: Number(row.size), location: row.location, linkedMs: Number(row.linked_ms) }
}

/** Returns whether a link is so new that a push need not refresh it. */
export function isLinkFresh({ linkedMs }: LinkedBlob, nowMs: number): boolean {
  return nowMs - linkedMs <= limits.linkRefreshMs
}

/** Returns whether a push of this blob to a repo has nothing to write. */
export async function hasFreshLink(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  repo: Uid,
  digest: string,
): Promise<boolean> {
  const blob = await findLinkedBlob(db, repo, digest)
  return blob !== undefined && isLinkFresh(blob, clock())
}

/**
 * Reads columns of stored bytes by their digests. Blobs belong to no organization: a database that is distributed by the root has them
 * elsewhere than the links, so statements about several blobs do not join them.
 */
export async function readStoredBlobs<K extends keyof BlobRow>(
  reader: Reader,
  columns: readonly K[],
  digests: readonly string[],
): Promise<ReadonlyMap<string, Pick<BlobRow, K | 'digest'>>> {
  if (digests.length === 0) return new Map()
  const rows = await reader
    .selectFrom('blobs')
    .select(['digest', ...(columns as readonly 'digest'[])])
    .where('digest', 'in', digests)
    .execute()
  return new Map(rows.map((row) => [row.digest, row as unknown as Pick<BlobRow, K | 'digest'>]))
}

/** Returns the row of stored bytes, locked (FOR SHARE) against deletion. */
export async function lockBlob({ rules, engine }: Db, tx: Tx, digest: string): Promise<BlobRow | undefined> {
  const sql = sqlText(engine)
  const text = `select * from blobs where digest = ${sql.bind(digest)}${rules.lockForShare}`
  const [row] = await runInTransaction<BlobRow>(tx, text, sql)
  return row
}

/** Links locked bytes to a locked repo. Throws code 8 if the organization's quota is exceeded. */
export async function linkBlob(db: Db, tx: Tx, repo: Uid, blob: BlobRow, nowMs: number): Promise<void> {
  const [digest, size] = [blob.digest, Number(blob.size)]
  const link = { root: rootOf(repo), repo, digest, size, linked_ms: nowMs }
  // Garbage collection may delete an existing link between the two statements: then it is created again.
  for (;;) {
    if ((await insertLink(tx, link)).length > 0) return countBlobLink(db, tx, link)
    if (await touchLink(tx, repo, digest, nowMs)) return
  }
}

/** Refreshes a link, so that a client that is about to push a manifest can rely on it. Returns false if the link is gone. */
export function refreshLink(db: Db, repo: Uid, digest: string, nowMs: number): Promise<boolean> {
  // A push fails if the blob is gone by then, so the read need not fail.
  return bestEffortWrite(
    inTransaction(db, (tx) => touchLink(tx, repo, digest, nowMs)),
    true,
  )
}

async function touchLink(tx: Tx, repo: Uid, digest: string, nowMs: number): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('repo_blobs')
    .set({ linked_ms: nowMs })
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export interface BlobTarget {
  readonly repo: Uid
  /** Rejects if another request writes the upload. */
  requireHeld?(): Promise<void>
  /** Whether the upload has a row: its bytes are kept until the blob has one. */
  readonly isResumable: boolean
  /** Creates the link, and makes other changes of the same transaction. */
  link(tx: Tx, blob: BlobRow): Promise<void>
  /** Makes the other changes alone: the repo has the blob already. Nothing is granted, so rights are not checked again. */
  end(): Promise<void>
}

/** Commits an upload with this digest as a blob of a repo: durable when it resolves. */
export async function commitUpload(
  { store, blobs }: Pick<OciServices, 'store' | 'blobs'>,
  upload: Upload,
  wanted: Digest,
  { repo, requireHeld, isResumable, link, end }: BlobTarget,
): Promise<void> {
  const { db, clock } = store
  const { text: digest } = wanted
  const [known] = await readStoredBlob(db, { digest })
  if (known !== undefined && (await hasFreshLink(store, repo, digest))) {
    await end()
    return blobs.discard(upload)
  }
  const isLinked =
    known !== undefined &&
    (await inTransaction(db, async (tx) => {
      const blob = await lockBlob(db, tx, digest)
      if (blob !== undefined) await link(tx, blob)
      return blob !== undefined
    }))
  if (isLinked) return blobs.discard(upload)

  const createdMs = clock()
  const location = newLocation(wanted, createdMs)
  await blobs.commit(upload, location, { keepsUpload: isResumable, ...(requireHeld && { requireHeld }) })
  let committedLocation = ''
  try {
    await inTransaction(db, async (tx) => {
      committedLocation = ''
      // Garbage collection either has deleted the row before, or cannot delete it now.
      const [blob] = await insertOrLockBlob(tx, {
        digest,
        size: upload.size,
        location,
        created_ms: createdMs,
      })
      if (blob === undefined) throw new Error(`the row of blob ${digest} was not returned`)
      // After this time, garbage collection may have deleted the bytes as untracked.
      if (clock() - createdMs > limits.blobCommitMsMax) throw aborted('storing the blob took too long; retry')
      await link(tx, blob)
      committedLocation = blob.location
    })
  } catch (error) {
    // Keep the upload so that it can be finished later. If the outcome of the commit is unknown, the row may exist and need the bytes.
    const isRolledBack = storageFaultOf(error) !== undefined && !isOutcomeUnknown(error)
    const keepsBlob = committedLocation === location && !isRolledBack
    // Report the first error; garbage collection deletes the bytes.
    if (isResumable) await ignoreFailure(blobs.revertCommit(upload, location, { keepsBlob }))
    else if (!keepsBlob) await ignoreFailure(blobs.remove(location))
    throw error
  }
  // The blob is committed, and garbage collection deletes what is left of the upload.
  if (isResumable) await ignoreFailure(blobs.discard(upload, { isCommitted: true }))
  // Another request stored the same bytes meanwhile.
  if (committedLocation !== location) await blobs.remove(location)
}

async function ignoreFailure(work: Promise<void>): Promise<void> {
  await work.catch(() => undefined)
}
