import { failedPrecondition } from '../../api/errors.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { type Mutator, requireUnchangedRights } from '../../storage/changes/mutation.ts'
import { type Db, inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { linkBlob, lockBlob } from '../blobs/stored-blobs.ts'
import type { ManifestDependencies } from '../manifests/manifest-parser.ts'
import { lockRepoForShare } from '../resources/parent-repo.ts'

/** Links the blobs of a manifest to another repo, as a client does that mounts each of them. */

export interface MountedBlobs {
  readonly mounted: number
  /** Of the mounted blobs. */
  readonly bytes: number
  readonly existing: number
}

/** Per transaction, so that other writers wait for a short time only. */
const BLOBS_PER_TRANSACTION = 50

/** Where the hex digits of a digest start. */
const HEX_AT = 7

/**
 * Links what the source has. Throws code 9, type BLOB_MISSING, if it lacks a blob that is not optional, and code 8 if the quota of the
 * destination is exceeded.
 */
export async function mountBlobs(
  store: Store,
  mutator: Mutator,
  { source, repo }: { readonly source: Uid; readonly repo: Uid },
  { blobs, optional }: Pick<ManifestDependencies, 'blobs' | 'optional'>,
): Promise<MountedBlobs> {
  const { db, clock } = store
  const { authorizedMs = performance.now() } = mutator
  const required = new Set(blobs.filter((blob) => !optional.has(blob)).map(({ digest }) => digest))
  // The counters of the quota are locked by the first digit: in one order, so that copies do not wait for each other in a circle.
  const wanted = [...new Set(blobs.map(({ digest }) => digest))].sort((a, b) =>
    a.slice(HEX_AT) < b.slice(HEX_AT) ? -1 : 1,
  )
  let [mounted, bytes, existing] = [0, 0, 0]
  for (let at = 0; at < wanted.length; at += BLOBS_PER_TRANSACTION) {
    await yieldToEventLoop()
    const batch = wanted.slice(at, at + BLOBS_PER_TRANSACTION)
    const [inSource, inRepo] = [await linkedOf(db, source, batch), await linkedOf(db, repo, batch)]
    const missing = (digest: string) =>
      failedPrecondition(
        'BLOB_MISSING',
        `the source lacks blob ${digest} of the image; push it again`,
        source,
      )
    const counts = await inTransaction(db, async (tx) => {
      const counted = { mounted: 0, bytes: 0, existing: 0 }
      await lockRepoForShare(db, tx, repo)
      for (const digest of batch) {
        const blob = inSource.has(digest) ? await lockBlob(db, tx, digest) : undefined
        if (blob === undefined) {
          if (required.has(digest)) throw missing(digest)
          continue
        }
        await linkBlob(db, tx, repo, blob, clock())
        if (inRepo.has(digest)) counted.existing += 1
        else {
          counted.mounted += 1
          counted.bytes += Number(blob.size)
        }
      }
      await requireUnchangedRights(store, tx, { ...mutator, authorizedMs })
      return counted
    })
    mounted += counts.mounted
    bytes += counts.bytes
    existing += counts.existing
  }
  return { mounted, bytes, existing }
}

async function linkedOf(db: Db, repo: Uid, digests: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.kysely
    .selectFrom('repo_blobs')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .execute()
  return new Set(rows.map(({ digest }) => digest))
}
