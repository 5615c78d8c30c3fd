import { RetentionRunSchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { JobInterrupted, type JobLease } from '../../storage/jobs/job-leases.ts'
import { type JobScheduler, startJobScheduler } from '../../storage/jobs/job-scheduler.ts'
import type { RepoPolicyRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { retentionJob } from '../jobs.ts'
import { type RetentionCounts, runRetention } from './run.ts'

export interface RetentionOptions {
  readonly store: Store
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Receives the result of each run that was not interrupted. */
  readonly onRun: (run: {
    readonly repo: string
    readonly outcome: 'succeeded' | 'failed'
    readonly counts: RetentionCounts
  }) => void
  readonly onError: (error: unknown, repo?: string) => void
}

/** Runs retention in the repos where it is due, on each node in one repo at a time. */
export function retentionScheduler(options: RetentionOptions): JobScheduler {
  const { store, tracer, onRun, onError } = options
  const { pollMs = limits.retentionPollMs, leaseMs = limits.retentionLeaseMs } = options
  const { db, clock } = store
  let counts: RetentionCounts = { tags: 0, manifests: 0 }
  let startMs = 0
  const encodeRun = (rest: object) =>
    toBinary(RetentionRunSchema, create(RetentionRunSchema, { beginTime: timestampOf(startMs), ...rest }))
  const encodeEnd = (error: string) =>
    encodeRun({
      endTime: timestampOf(clock()),
      deletedTags: counts.tags,
      deletedManifests: counts.manifests,
      error,
    })

  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: retentionJob,
      span: 'job retention',
      pollMs,
      leaseMs,
      async run(lease) {
        const repo = lease.key
        counts = { tags: 0, manifests: 0 }
        startMs = clock()
        const policy = await startRun(db, lease, encodeRun({}))
        await runRetention(policy, lease, { store, requestId: crypto.randomUUID(), counts })
        const run = encodeEnd('')
        return {
          dueMs: clock() + limits.retentionIntervalMs,
          write: (tx) => writeRun(tx, repo, run),
          afterRelease: () => onRun({ repo, outcome: 'succeeded', counts }),
        }
      },
      onFailure(error, { key: repo }, { isInterrupted }) {
        // Users of the API read the reason. Any other error of an interrupted run belongs in the log.
        const isExplained = error instanceof JobInterrupted
        const run = encodeEnd(isExplained ? error.message : 'internal error; the server log has the details')
        const write = (tx: Tx) => writeRun(tx, repo, run)
        if (isInterrupted) {
          if (!isExplained) onError(error, repo)
          return { write }
        }
        return {
          dueMs: clock() + limits.retentionRetryMs,
          write,
          afterRelease() {
            onError(error, repo)
            onRun({ repo, outcome: 'failed', counts })
          },
        }
      },
    },
  )
}

/** Records the start of a run and returns the policy that it enforces. */
async function startRun(
  db: Db,
  { key, renew }: Pick<JobLease, 'key' | 'renew'>,
  run: Uint8Array,
): Promise<RepoPolicyRow> {
  return inTransaction(db, async (tx) => {
    await renew(tx)
    return tx
      .updateTable('repo_policies')
      .set({ run })
      .where('root', '=', rootOf(key))
      .where('uid', '=', key)
      .returningAll()
      .executeTakeFirstOrThrow()
  })
}

async function writeRun(tx: Tx, repo: string, run: Uint8Array): Promise<void> {
  await tx
    .updateTable('repo_policies')
    .set({ run })
    .where('root', '=', rootOf(repo))
    .where('uid', '=', repo)
    .execute()
}
