import { RetentionRunSchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Tracer, traceJob } from '../../runtime/tracer.ts'
import type { Store } from '../../storage/store.ts'
import { leasePolicy, readDuePolicies, releasePolicy } from './policy-leases.ts'
import { type RetentionCounts, RetentionInterrupted, runRetention } from './run.ts'

/** Runs retention when it is due, on whichever node leases it first, one repo at a time, until it is stopped. */

export interface RetentionScheduler {
  /** Ends a run after its current transaction; another node starts it again. */
  stop(): Promise<void>
}

export interface RetentionOptions {
  readonly store: Store
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Called with the result of every run that was not stopped. */
  readonly onRun: (run: {
    readonly repo: string
    readonly outcome: 'succeeded' | 'failed'
    readonly counts: RetentionCounts
  }) => void
  readonly onError: (error: unknown, repo?: string) => void
}

export function retentionScheduler(options: RetentionOptions): RetentionScheduler {
  const { store, onRun, onError } = options
  const { pollMs = limits.retentionPollMs, leaseMs = limits.retentionLeaseMs } = options
  const { db, clock } = store
  const stopping = new AbortController()

  const poll = async () => {
    for (;;) {
      const [repo] = await readDuePolicies(db, clock(), 1)
      if (repo === undefined || stopping.signal.aborted) return
      await run(repo)
    }
  }

  const run = async (repo: string) => {
    const start = { beginTime: timestampOf(clock()) }
    const encodeRun = (rest: object) =>
      toBinary(RetentionRunSchema, create(RetentionRunSchema, { ...start, ...rest }))
    const policy = await leasePolicy(db, repo, { now: clock(), leaseMs, run: encodeRun({}) })
    if (policy === undefined) return
    const counts: RetentionCounts = { tags: 0, manifests: 0 }
    const encodeEnd = (error: string) =>
      encodeRun({
        endTime: timestampOf(clock()),
        deletedTags: counts.tags,
        deletedManifests: counts.manifests,
        error,
      })
    try {
      await traceJob(options.tracer, 'job retention', () =>
        runRetention(policy, {
          store,
          leaseMs,
          requestId: crypto.randomUUID(),
          signal: stopping.signal,
          counts,
        }),
      )
      await releasePolicy(db, policy, { dueMs: clock() + limits.retentionIntervalMs, run: encodeEnd('') })
      onRun({ repo, outcome: 'succeeded', counts })
    } catch (error) {
      const isStopped = error instanceof RetentionInterrupted
      // An interrupted run is still due, and starts again on whichever node leases it first.
      const dueMs = isStopped ? Number(policy.due_ms) : clock() + limits.retentionRetryMs
      const why = isStopped ? error.message : 'internal error; see the server log'
      await releasePolicy(db, policy, { dueMs, run: encodeEnd(why) })
      if (isStopped) return
      onError(error, repo)
      onRun({ repo, outcome: 'failed', counts })
    }
  }

  const poller = startPeriodicTask(pollMs, poll, (error) => onError(error))

  return {
    async stop() {
      stopping.abort()
      await poller.stop()
    },
  }
}
