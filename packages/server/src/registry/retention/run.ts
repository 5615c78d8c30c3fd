import { RepoPolicySchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { durationMs } from '../../api/messages.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { rootOf } from '../../api/uid.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { JobInterrupted, type JobLease } from '../../storage/jobs/job-leases.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { RepoPolicyRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { removeTag } from '../resources/tags.ts'
import {
  evaluateTags,
  existingManifests,
  type NewestTags,
  prepareRules,
  type RetentionTarget,
  subjectOfTag,
  type TagCandidate,
} from './evaluation.ts'
import { batches, deleteUnreferencedManifests } from './manifest-deletion.ts'
import { manifestsToDelete } from './unreferenced-manifests.ts'

/**
 * One run of retention in a repo. It searches for tags and manifests without locks and deletes them in small batches; the transaction that
 * deletes one evaluates it again, so tags that are pushed or moved meanwhile stay.
 */

export interface RetentionCounts {
  tags: number
  manifests: number
}

export interface RetentionRunOptions {
  readonly store: Store
  readonly requestId: string
  /** Updated during the run. */
  readonly counts: RetentionCounts
  /** Called in each transaction that deletes something. */
  readonly onDeletion: (tx: Tx) => Promise<void>
}

/** One of the newest tags was deleted or moved: the newest tags must be determined again. */
class NewestTagsChanged extends Error {}

/** Limits how often concurrent deletions of tags restart a run; the next run continues. */
const EVALUATIONS_MAX = 10

export async function runRetention(
  policy: RepoPolicyRow,
  lease: JobLease,
  options: RetentionRunOptions,
): Promise<void> {
  const { store } = options
  const { retention, ...immutable } = fromBinary(RepoPolicySchema, policy.policy)
  if (retention === undefined) return
  const target: RetentionTarget = { repo: policy.uid, retention, immutable }
  if (retention.rules.length > 0) await deleteTags(lease, target, options)
  if (retention.untaggedAfter !== undefined) {
    const untilMs = store.clock() - (durationMs(retention.untaggedAfter) ?? 0)
    const digests = await manifestsToDelete(store.db, policy.uid, untilMs)
    for (const batch of batches(digests)) await deleteManifestBatch(lease, target, batch, untilMs, options)
  }
}

async function deleteTags(
  lease: JobLease,
  target: RetentionTarget,
  options: RetentionRunOptions,
): Promise<void> {
  const { db, clock } = options.store
  for (let times = 1; ; times++) {
    const rules = await prepareRules(db.kysely, target, clock())
    try {
      for await (const verdicts of evaluateTags(db.kysely, target, rules)) {
        const tags = verdicts.filter(({ deleted }) => deleted).map(({ tag }) => tag)
        for (const batch of batches(tags)) await deleteTagBatch(lease, batch, rules.newest, options)
      }
      return
    } catch (error) {
      if (!(error instanceof NewestTagsChanged) || times === EVALUATIONS_MAX) throw error
    }
  }
}

async function deleteTagBatch(
  lease: JobLease,
  tags: readonly TagCandidate[],
  newest: readonly NewestTags[],
  options: RetentionRunOptions,
): Promise<void> {
  const { store, counts } = options
  const { db } = store
  const deleted = await inLockedRepo(lease, options, async (tx) => {
    for (const one of newest) await requireTagsUnchanged(db, tx, lease.key, one)
    const subjects = tags.map(({ name }) => subjectOfTag(name)).filter((digest) => digest !== undefined)
    const existing = await existingManifests(tx, lease.key, subjects)
    let n = 0
    for (const { uid, name, digest, updated_ms } of tags) {
      const tag = await lockResource(db, tx, 'tags', uid, 'update')
      const isSame = tag?.digest === digest && Number(tag.updated_ms) === updated_ms
      if (tag === undefined || !isSame || existing.has(subjectOfTag(name) ?? '')) continue
      await removeTag(store, tx, tag)
      await recordDeletion(tx, options, fullMethodName(TagsService.method.deleteTag), uid)
      n++
    }
    if (n > 0) await options.onDeletion(tx)
    return n
  })
  counts.tags += deleted
}

const NAMES_PER_STATEMENT = 200

/** Throws NewestTagsChanged if one of the newest tags was deleted or is older than it was. */
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
  lease: JobLease,
  target: RetentionTarget,
  digests: readonly string[],
  untilMs: number,
  options: RetentionRunOptions,
): Promise<void> {
  const { store, counts } = options
  const deleted = await inLockedRepo(lease, options, async (tx) => {
    const deleted = await deleteUnreferencedManifests(store, tx, target, {
      digests,
      untilMs,
      record: (method, uid) => recordDeletion(tx, options, method, uid),
    })
    if (deleted.tags + deleted.manifests > 0) await options.onDeletion(tx)
    return deleted
  })
  counts.tags += deleted.tags
  counts.manifests += deleted.manifests
}

/** Runs a transaction in which no other one writes tags of the repo, and in which the lease is held. */
function inLockedRepo<T>(
  lease: JobLease,
  { store: { db } }: RetentionRunOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return inTransaction(db, async (tx) => {
    const repo = await lockResource(db, tx, 'repos', lease.key, 'update')
    if (repo === undefined) throw new JobInterrupted('the repo was deleted')
    await lease.renew(tx)
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
