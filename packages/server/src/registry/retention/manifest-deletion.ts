import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { fullMethodName } from '../../api/method-name.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Tx } from '../../storage/db.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { deleteManifests, lockManifestParts } from '../quota/usage.ts'
import { removeTag } from '../resources/tags.ts'
import { listAttachedTags, type RetentionTarget } from './evaluation.ts'
import { manifestUses } from './unreferenced-manifests.ts'

/** Deletes manifests that were found without locks, as far as they are still unreferenced. */

export interface ManifestDeletion {
  /** In the order of `manifestsToDelete`: a manifest can be the last use of the next one. */
  readonly digests: readonly string[]
  /** They must have been untouched since then. */
  readonly untilMs: number
  /** Records the audit event of a deletion. */
  readonly record: (method: string, uid: string) => Promise<void>
}

export interface DeletionCounts {
  readonly tags: number
  readonly manifests: number
}

/** The repo is locked (FOR UPDATE): no push stores a manifest or moves a tag meanwhile. */
export async function deleteUnreferencedManifests(
  store: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  target: Pick<RetentionTarget, 'repo' | 'immutable'>,
  { digests, untilMs, record }: ManifestDeletion,
): Promise<DeletionCounts> {
  const { db } = store
  const { repo } = target
  const n = { tags: 0, manifests: 0 }
  await lockManifestParts(db, tx, repo, digests)
  for (const digest of digests) {
    const sql = sqlText(db.engine)
    const root = () => sql.bind(rootOf(repo))
    const text = `select digest from manifests m where root = ${root()} and repo = ${sql.bind(repo)}
      and digest = ${sql.bind(digest)} and touched_ms <= ${sql.bind(untilMs)}
      and not ${manifestUses.tag(root())} and not ${manifestUses.index(root())} and not ${manifestUses.subject(root())}`
    if ((await runInTransaction(tx, text, sql)).length === 0) continue
    await deleteManifests(store, tx, repo, [digest])
    await record('berth.registry.v1.Distribution/DeleteManifest', repo)
    n.manifests++
    // Tags of signatures and other attachments.
    for (const tag of await listAttachedTags(tx, target, digest)) {
      await removeTag(store, tx, tag)
      await record(fullMethodName(TagsService.method.deleteTag), tag.uid)
      n.tags++
    }
  }
  return n
}

/** What one transaction deletes. */
export function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += limits.retentionBatchRows)
    yield all.slice(at, at + limits.retentionBatchRows)
}
