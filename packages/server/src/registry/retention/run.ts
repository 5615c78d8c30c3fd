import { RepoPolicySchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { durationMs } from '../../api/messages.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { deleteManifests, lockManifestParts } from '../quota/usage.ts'
import { removeTag } from '../resources/tags.ts'
import {
  evaluateTags,
  existingManifests,
  listAttachedTags,
  type NewestTags,
  prepareRules,
  type RetentionTarget,
  subjectOfTag,
  type TagCandidate,
} from './evaluation.ts'
import { type LeasedPolicy, renewPolicyLease } from './policy-leases.ts'
import { manifestsToDelete, manifestUses } from './unreferenced-manifests.ts'

/**
 * One retention run in a repo: searches tags and manifests without locks, and deletes a few at a time, each checked again in the
 * transaction that deletes it. Tags that are pushed or moved meanwhile are kept.
 */

export interface RetentionCounts {
  tags: number
  manifests: number
}

export interface RetentionRunOptions {
  readonly store: Store
  readonly leaseMs: number
  readonly requestId: string
  readonly signal: AbortSignal
  /** Increases during the run. */
  readonly counts: RetentionCounts
}

/** The run must end: it was stopped, or its policy changed. */
export class RetentionInterrupted extends Error {}

/** One of the newest tags was deleted, so other tags may now be among them. */
class NewestTagsChanged extends Error {}

/** Limits repeated evaluations while tags keep being deleted; the next run continues. */
const EVALUATIONS_MAX = 10

export async function runRetention(policy: LeasedPolicy, options: RetentionRunOptions): Promise<void> {
  const { store } = options
  const { retention, ...immutable } = fromBinary(RepoPolicySchema, policy.policy)
  if (retention === undefined) return
  const target: RetentionTarget = { repo: policy.uid, retention, immutable }
  if (retention.rules.length > 0) await deleteTags(policy, target, options)
  if (retention.untaggedAfter !== undefined) {
    const untilMs = store.clock() - (durationMs(retention.untaggedAfter) ?? 0)
    const digests = await manifestsToDelete(store.db, policy.uid, untilMs)
    for (const batch of batches(digests)) await deleteManifestBatch(policy, target, batch, untilMs, options)
  }
}

async function deleteTags(
  policy: LeasedPolicy,
  target: RetentionTarget,
  options: RetentionRunOptions,
): Promise<void> {
  const { db, clock } = options.store
  for (let times = 1; ; times++) {
    const rules = await prepareRules(db.kysely, target, clock())
    try {
      for await (const verdicts of evaluateTags(db.kysely, target, rules)) {
        const tags = verdicts.filter(({ deleted }) => deleted).map(({ tag }) => tag)
        for (const batch of batches(tags)) await deleteTagBatch(policy, batch, rules.newest, options)
      }
      return
    } catch (error) {
      if (!(error instanceof NewestTagsChanged) || times === EVALUATIONS_MAX) throw error
    }
  }
}

async function deleteTagBatch(
  policy: LeasedPolicy,
  tags: readonly TagCandidate[],
  newest: readonly NewestTags[],
  options: RetentionRunOptions,
): Promise<void> {
  const { store, counts } = options
  const { db } = store
  const deleted = await inLockedRepo(policy, options, async (tx) => {
    for (const one of newest) await requireTagsUnchanged(db, tx, policy.uid, one)
    const subjects = tags.map(({ name }) => subjectOfTag(name)).filter((digest) => digest !== undefined)
    const existing = await existingManifests(tx, policy.uid, subjects)
    let n = 0
    for (const { uid, name, digest, updated_ms } of tags) {
      const tag = await lockResource(db, tx, 'tags', uid, 'update')
      const isSame = tag?.digest === digest && Number(tag.updated_ms) === updated_ms
      if (tag === undefined || !isSame || existing.has(subjectOfTag(name) ?? '')) continue
      await removeTag(store, tx, tag)
      await recordDeletion(tx, options, fullMethodName(TagsService.method.deleteTag), uid)
      n++
    }
    return n
  })
  counts.tags += deleted
}

const NAMES_PER_STATEMENT = 200

/** Throws unless all of the newest tags still exist with the same times. */
async function requireTagsUnchanged(
  db: Store['db'],
  tx: Tx,
  repo: string,
  { names, sinceMs }: NewestTags,
): Promise<void> {
  const all = [...names]
  for (let at = 0; at < all.length; at += NAMES_PER_STATEMENT) {
    const batch = all.slice(at, at + NAMES_PER_STATEMENT)
    const sql = sqlText(db.engine)
    const text = `select count(*) as n from tags where root = ${sql.bind(rootOf(repo))} and parent = ${sql.bind(repo)}
      and name in (${sql.bindAll(batch)}) and updated_ms >= ${sql.bind(sinceMs)}`
    const [row] = await runInTransaction<{ n: number }>(tx, text, sql)
    if (Number(row?.n ?? 0) !== batch.length) throw new NewestTagsChanged()
  }
}

async function deleteManifestBatch(
  policy: LeasedPolicy,
  target: RetentionTarget,
  digests: readonly string[],
  untilMs: number,
  options: RetentionRunOptions,
): Promise<void> {
  const { store, counts } = options
  const { db } = store
  const { repo } = target
  const deleted = await inLockedRepo(policy, options, async (tx) => {
    const n = { tags: 0, manifests: 0 }
    await lockManifestParts(db, tx, repo, digests)
    // One by one: a deleted manifest may have been what kept the next one.
    for (const digest of digests) {
      const sql = sqlText(db.engine)
      const text = `select digest from manifests m where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)}
        and digest = ${sql.bind(digest)} and touched_ms <= ${sql.bind(untilMs)}
        and not ${manifestUses.tag} and not ${manifestUses.index} and not ${manifestUses.subject}`
      if ((await runInTransaction(tx, text, sql)).length === 0) continue
      await deleteManifests(db, tx, repo, [digest])
      await recordDeletion(tx, options, 'berth.registry.v1.Distribution/DeleteManifest', repo)
      n.tags += await removeAttachedTags(tx, target, digest, options)
      n.manifests++
    }
    return n
  })
  counts.tags += deleted.tags
  counts.manifests += deleted.manifests
}

/** Deletes the tags of signatures and attachments of a deleted manifest. */
async function removeAttachedTags(
  tx: Tx,
  target: RetentionTarget,
  digest: string,
  options: RetentionRunOptions,
): Promise<number> {
  const tags = await listAttachedTags(tx, target, digest)
  for (const tag of tags) {
    await removeTag(options.store, tx, tag)
    await recordDeletion(tx, options, fullMethodName(TagsService.method.deleteTag), tag.uid)
  }
  return tags.length
}

/** Runs a transaction in which no other writes a tag of the repo and the run still has its lease. */
function inLockedRepo<T>(
  policy: LeasedPolicy,
  { store, leaseMs, signal }: RetentionRunOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { db, clock } = store
  if (signal.aborted) throw new RetentionInterrupted('the server is stopping')
  return inTransaction(db, async (tx) => {
    const repo = await lockResource(db, tx, 'repos', policy.uid, 'update')
    if (repo === undefined || !(await renewPolicyLease(tx, policy, clock() + leaseMs)))
      throw new RetentionInterrupted('the policy was changed')
    return work(tx)
  })
}

async function recordDeletion(
  tx: Tx,
  { store, requestId }: RetentionRunOptions,
  method: string,
  uid: string,
): Promise<void> {
  await recordEvent(tx, { timeMs: store.clock(), actor: 'system', method, uid, requestId, address: '' })
}

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += limits.retentionBatchRows)
    yield all.slice(at, at + limits.retentionBatchRows)
}
