import { RetentionRunSchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { JobInterrupted, type JobLease } from '../../storage/jobs/job-leases.ts'
import { createJobRun, interruptJobRuns, type JobRun } from '../../storage/jobs/job-runs.ts'
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
  let record: JobRun | undefined
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
        record = undefined
        const started = await startRun(store, lease, encodeRun({}), startMs)
        record = started.record
        await runRetention(started.policy, lease, {
          store,
          requestId: crypto.randomUUID(),
          counts,
          onDeletion: started.record.start,
        })
        const run = encodeEnd('')
        return {
          dueMs: clock() + limits.retentionIntervalMs,
          async write(tx, { isRescheduled }) {
            await writeRun(tx, repo, { run, ...(!isRescheduled && { requested_by: '' }) })
            await started.record.end(tx, { state: 'succeeded', counts: { ...counts } })
          },
          afterRelease: () => onRun({ repo, outcome: 'succeeded', counts }),
        }
      },
      async onFailure(error, { key: repo }, { isInterrupted }) {
        // Users of the API read the reason. Any other error of an interrupted run belongs in the log.
        const isExplained = error instanceof JobInterrupted
        const reason = isExplained ? error.message : 'internal error; the server log has the details'
        const run = encodeEnd(reason)
        if (isInterrupted) {
          if (!isExplained) onError(error, repo)
          // A run that lost its lease records its end, too.
          await inTransaction(db, async (tx) =>
            record?.end(tx, { state: 'interrupted', counts: { ...counts } }),
          )
          return { write: (tx) => writeRun(tx, repo, { run }) }
        }
        return {
          dueMs: clock() + limits.retentionRetryMs,
          async write(tx, { isRescheduled }) {
            await writeRun(tx, repo, { run, ...(!isRescheduled && { requested_by: '' }) })
            await record?.end(tx, { state: 'failed', counts: { ...counts }, error: reason })
          },
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
  store: Pick<Store, 'db' | 'clock' | 'uids'>,
  lease: JobLease,
  run: Uint8Array,
  startedMs: number,
): Promise<{ readonly policy: RepoPolicyRow; readonly record: JobRun }> {
  const { key } = lease
  return inTransaction(store.db, async (tx) => {
    await lease.renew(tx)
    const policy = await tx
      .updateTable('repo_policies')
      .set({ run })
      .where('root', '=', rootOf(key))
      .where('uid', '=', key)
      .returningAll()
      .executeTakeFirstOrThrow()
    await interruptJobRuns(tx, retentionJob, lease, startedMs)
    const record = createJobRun(store, retentionJob, lease, { requestedBy: policy.requested_by, startedMs })
    // The others are recorded when they delete something.
    if (policy.requested_by !== '') await record.start(tx)
    return { policy, record }
  })
}

async function writeRun(
  tx: Tx,
  repo: string,
  changed: Partial<Pick<RepoPolicyRow, 'run' | 'requested_by'>>,
): Promise<void> {
  await tx
    .updateTable('repo_policies')
    .set(changed)
    .where('root', '=', rootOf(repo))
    .where('uid', '=', repo)
    .execute()
}
