import { fromBinary } from '@bufbuild/protobuf'
import { RepoPolicySchema } from '#gen/berth/registry/v1/repo_policies_pb.js'
import { TagsService } from '#gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { limits } from '../core/limits.ts'
import { durationMs } from '../core/message.ts'
import { fullNameOf } from '../core/method-name.ts'
import { rootOf } from '../core/uid.ts'
import { recordEvent } from '../storage/audit-events.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import { deleteManifests, holdPartsOfManifests } from '../storage/registry-usage.ts'
import { lockResource } from '../storage/rows.ts'
import { runInTransaction, sqlText } from '../storage/sql-text.ts'
import type { Store } from '../storage/store.ts'
import { keepPolicy, type TakenPolicy } from './retention-rows.ts'
import {
  type JudgedTag,
  judgedTags,
  manifestsAmong,
  type Newest,
  type RulesOf,
  rulesOf,
  subjectOfTag,
  tagsAbout,
} from './retention-rules.ts'
import { removeTag } from './tags.ts'
import { keepers, manifestsToDelete } from './untagged-manifests.ts'

/**
 * One run of retention in a repo: tags and manifests are looked for without holding anything, and deleted a few at a time, each judged
 * again in the transaction that deletes it. What somebody pushes or moves meanwhile stays.
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
  /** Grows as the run goes on. */
  readonly counts: RetentionCounts
}

/** The run is to end where it is: it was stopped, or its policy is not what it was. */
export class RetentionEnded extends Error {}

/** A tag of the newest went away: others may be among them now. */
class NewestChanged extends Error {}

/** Somebody who deletes tags all the time holds up a run so often; the next one goes on. */
const JUDGED_AGAIN_MAX = 10

export async function runRetention(policy: TakenPolicy, options: RetentionRunOptions): Promise<void> {
  const { store } = options
  const { retention, ...immutable } = fromBinary(RepoPolicySchema, policy.policy)
  if (retention === undefined) return
  const of: RulesOf = { repo: policy.uid, retention, immutable }
  if (retention.rules.length > 0) await deleteTags(policy, of, options)
  if (retention.untaggedAfter !== undefined) {
    const until = store.clock() - (durationMs(retention.untaggedAfter) ?? 0)
    const digests = await manifestsToDelete(store.db, policy.uid, until)
    for (const some of batches(digests)) await deleteSomeManifests(policy, of, some, until, options)
  }
}

async function deleteTags(policy: TakenPolicy, of: RulesOf, options: RetentionRunOptions): Promise<void> {
  const { db, clock } = options.store
  for (let times = 1; ; times++) {
    const rules = await rulesOf(db.kysely, of, clock())
    try {
      for await (const judged of judgedTags(db.kysely, of, rules)) {
        const doomed = judged.filter(({ deleted }) => deleted).map(({ tag }) => tag)
        for (const some of batches(doomed)) await deleteSomeTags(policy, some, rules.newest, options)
      }
      return
    } catch (error) {
      if (!(error instanceof NewestChanged) || times === JUDGED_AGAIN_MAX) throw error
    }
  }
}

async function deleteSomeTags(
  policy: TakenPolicy,
  doomed: readonly JudgedTag[],
  newest: readonly Newest[],
  options: RetentionRunOptions,
): Promise<void> {
  const { store, counts } = options
  const { db } = store
  const deleted = await inHeldRepo(policy, options, async (tx) => {
    for (const one of newest) await requireStillThere(db, tx, policy.uid, one)
    const subjects = doomed.map(({ name }) => subjectOfTag(name)).filter((digest) => digest !== undefined)
    const there = await manifestsAmong(tx, policy.uid, subjects)
    let n = 0
    for (const { uid, name, digest, updated_ms } of doomed) {
      const tag = await lockResource(db, tx, 'tags', uid, 'update')
      const isSame = tag?.digest === digest && Number(tag.updated_ms) === updated_ms
      if (tag === undefined || !isSame || there.has(subjectOfTag(name) ?? '')) continue
      await removeTag(store, tx, tag)
      await record(tx, options, fullNameOf(TagsService.method.deleteTag), uid)
      n++
    }
    return n
  })
  counts.tags += deleted
}

const NAMES_AT_ONCE = 200

/** Throws where not all of the newest are there any more, or are not as new. */
async function requireStillThere(
  db: Store['db'],
  tx: Tx,
  repo: string,
  { names, sinceMs }: Newest,
): Promise<void> {
  const all = [...names]
  for (let at = 0; at < all.length; at += NAMES_AT_ONCE) {
    const some = all.slice(at, at + NAMES_AT_ONCE)
    const sql = sqlText(db.engine)
    const text = `select count(*) as n from tags where root = ${sql.bind(rootOf(repo))} and parent = ${sql.bind(repo)}
      and name in (${sql.bindAll(some)}) and updated_ms >= ${sql.bind(sinceMs)}`
    const [row] = await runInTransaction<{ n: number }>(tx, text, sql)
    if (Number(row?.n ?? 0) !== some.length) throw new NewestChanged()
  }
}

async function deleteSomeManifests(
  policy: TakenPolicy,
  of: RulesOf,
  digests: readonly string[],
  until: number,
  options: RetentionRunOptions,
): Promise<void> {
  const { store, counts } = options
  const { db } = store
  const { repo } = of
  const deleted = await inHeldRepo(policy, options, async (tx) => {
    const n = { tags: 0, manifests: 0 }
    await holdPartsOfManifests(db, tx, repo, digests)
    // One after the other: what kept the next may be the one before.
    for (const digest of digests) {
      const sql = sqlText(db.engine)
      const text = `select digest from manifests m where root = ${sql.bind(rootOf(repo))} and repo = ${sql.bind(repo)}
        and digest = ${sql.bind(digest)} and touched_ms <= ${sql.bind(until)}
        and not ${keepers.tag} and not ${keepers.index} and not ${keepers.subject}`
      if ((await runInTransaction(tx, text, sql)).length === 0) continue
      await deleteManifests(db, tx, repo, [digest])
      await record(tx, options, 'berth.registry.v1.Distribution/DeleteManifest', repo)
      n.tags += await removeTagsAbout(tx, of, digest, options)
      n.manifests++
    }
    return n
  })
  counts.tags += deleted.tags
  counts.manifests += deleted.manifests
}

/** Tags of signatures, and of what else is attached to a manifest that is gone. */
async function removeTagsAbout(
  tx: Tx,
  of: RulesOf,
  digest: string,
  options: RetentionRunOptions,
): Promise<number> {
  const doomed = await tagsAbout(tx, of, digest)
  for (const tag of doomed) {
    await removeTag(options.store, tx, tag)
    await record(tx, options, fullNameOf(TagsService.method.deleteTag), tag.uid)
  }
  return doomed.length
}

/** A transaction in which nobody else writes a tag of the repo, and the run still has its policy. */
function inHeldRepo<T>(
  policy: TakenPolicy,
  { store, leaseMs, signal }: RetentionRunOptions,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { db, clock } = store
  if (signal.aborted) throw new RetentionEnded('the server stops')
  return inTransaction(db, async (tx) => {
    const repo = await lockResource(db, tx, 'repos', policy.uid, 'update')
    if (repo === undefined || !(await keepPolicy(tx, policy, clock() + leaseMs)))
      throw new RetentionEnded('the policy was changed')
    return work(tx)
  })
}

async function record(
  tx: Tx,
  { store, requestId }: RetentionRunOptions,
  method: string,
  uid: string,
): Promise<void> {
  await recordEvent(tx, { timeMs: store.clock(), actor: 'system', method, uid, requestId, address: '' })
}

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += limits.retentionRowsAtOnce)
    yield all.slice(at, at + limits.retentionRowsAtOnce)
}
