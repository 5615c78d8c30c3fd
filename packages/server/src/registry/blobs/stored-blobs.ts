import { aborted, isOutcomeUnknown } from '../../api/errors.ts'
import { bestEffortWrite, storageFaultOf } from '../../api/storage-faults.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { preparedRead } from '../../storage/prepared.ts'
import type { BlobRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Digest } from '../manifests/digests.ts'
import type { OciServices } from '../oci/context.ts'
import { countBlobLink } from '../quota/usage.ts'
import { newLocation } from './blob-locations.ts'
import type { Upload } from './blob-store.ts'

/**
 * Which bytes are stored, and which repos have them. Bytes are shared by all repos and reached through a link alone (R31). A blob is
 * stored anew under a new location, so that whoever takes away the old bytes never meets the new ones.
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

interface LinkedBlob {
  readonly size: number
  readonly location: string
  readonly linkedMs: number
}

/** The blob of a repo; undefined where the repo has no link to it, whoever else has one. */
export async function findLinkedBlob(db: Db, repo: Uid, digest: string): Promise<LinkedBlob | undefined> {
  const [row] = await readLinkedBlob(db, { root: rootOf(repo), repo, digest })
  return row && { size: Number(row.size), location: row.location, linkedMs: Number(row.linked_ms) }
}

/** The row of stored bytes, kept from being taken away until the transaction ends. */
export async function lockBlob({ rules, engine }: Db, tx: Tx, digest: string): Promise<BlobRow | undefined> {
  const sql = sqlText(engine)
  const text = `select * from blobs where digest = ${sql.bind(digest)}${rules.lockForShare}`
  const [row] = await runInTransaction<BlobRow>(tx, text, sql)
  return row
}

/** Gives a repo, which is held, a link to bytes that are held. Throws code 8 where its organization may not store them. */
export async function linkBlob(db: Db, tx: Tx, repo: Uid, blob: BlobRow, nowMs: number): Promise<void> {
  const [digest, size] = [blob.digest, Number(blob.size)]
  const link = { root: rootOf(repo), repo, digest, size, linked_ms: nowMs }
  // Collection may take the link that is there between the two statements: then it is made anew.
  for (;;) {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('repo_blobs')
      .values(link)
      .onConflict((conflict) => conflict.columns(['root', 'repo', 'digest']).doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 1n) return countBlobLink(db, tx, link)
    if (await touchLink(tx, repo, digest, nowMs)) return
  }
}

/** Who is shown a blob and is about to push a manifest may count on it from now on. False when the link is gone. */
export function refreshLink(db: Db, repo: Uid, digest: string, nowMs: number): Promise<boolean> {
  // The manifest is refused if the blob is gone by then, so the read need not fail.
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

/**
 * Makes an upload, whose bytes have this digest, a blob of a repo: durable when it fulfils. `link` makes the link, with whatever belongs
 * into the same transaction.
 */
export async function commitUpload(
  { store, blobs }: Pick<OciServices, 'store' | 'blobs'>,
  upload: Upload,
  wanted: Digest,
  link: (tx: Tx, blob: BlobRow) => Promise<void>,
): Promise<void> {
  const { db, clock } = store
  const { text: digest } = wanted
  const [known] = await readStoredBlob(db, { digest })
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
  await blobs.commit(upload, location)
  let committedLocation = ''
  try {
    await inTransaction(db, async (tx) => {
      committedLocation = ''
      // Holds the row, whoever has made it: collection takes it before, and it is made anew, or not at all.
      const blob = await tx
        .insertInto('blobs')
        .values({ digest, size: upload.size, location, created_ms: createdMs })
        .onConflict((conflict) =>
          conflict.column('digest').doUpdateSet((row) => ({ size: row.ref('blobs.size') })),
        )
        .returningAll()
        .executeTakeFirstOrThrow()
      // After so long collection may have taken the bytes for nobody's.
      if (clock() - createdMs > limits.blobCommitMsMax)
        throw aborted('storing the blob took too long; try again')
      await link(tx, blob)
      committedLocation = blob.location
    })
  } catch (error) {
    // The upload can be finished later. After a commit of unknown outcome the row may be there, and needs the bytes.
    const isRolledBack = storageFaultOf(error) !== undefined && !isOutcomeUnknown(error)
    if (committedLocation !== location || isRolledBack) await restoreUpload()
    throw error
  }
  // Another request has stored the same bytes meanwhile.
  if (committedLocation !== location) await blobs.remove(location)

  async function restoreUpload() {
    try {
      await blobs.revertCommit(upload, location)
    } catch {
      // The first error counts; garbage collection finds the bytes.
    }
  }
}
