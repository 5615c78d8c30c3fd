import { limits } from '../../config/limits.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Tracer, traceJob } from '../../runtime/tracer.ts'
import { type Db, repeatableWork } from '../db.ts'
import { acquireJob, JobInterrupted, type JobKind, type JobLease } from './job-leases.ts'
import { recordJobResult } from './job-results.ts'
import type { JobScheduler } from './job-scheduler.ts'

/** Runs a job whenever its queue has rows: on one node at a time, until the queue is empty. */

/** What a job gets from the server. */
export interface QueueJobSettings {
  readonly db: Db
  readonly clock: () => number
  /** Between two looks for work. */
  readonly pollMs?: number | undefined
  /** After which another node continues the work of a node that died. */
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  readonly onRun: (outcome: 'succeeded' | 'failed', error?: unknown) => void
}

export interface QueueJobOptions extends QueueJobSettings {
  readonly kind: JobKind
  /** Name of the trace of a run. */
  readonly span: string
  readonly pollMs: number
  /** Looks for work without a lease, because mostly there is none. */
  hasWork(): Promise<boolean>
  /** Must be repeatable: after a crash another node runs it again. */
  run(lease: JobLease): Promise<void>
}

export function startQueueJob(options: QueueJobOptions): JobScheduler {
  const {
    db,
    clock,
    kind,
    span,
    pollMs,
    leaseMs = limits.queueLeaseMs,
    tracer,
    hasWork,
    run,
    onRun,
  } = options
  const stopping = new AbortController()
  // If a crash of the database loses a lease, the next renewal ends the run, and another run repeats its work.
  const leases = repeatableWork(db)
  const poll = async () => {
    if (stopping.signal.aborted || !(await hasWork())) return
    const onError = (error: unknown) => onRun('failed', error)
    const lease = await acquireJob({ db: leases, clock, leaseMs, signal: stopping.signal, onError }, kind)
    if (lease === undefined) return
    const startedMs = clock()
    let failure: unknown
    try {
      await traceJob(tracer, span, () => run(lease))
      onRun('succeeded')
    } catch (error) {
      failure = error
      if (!(error instanceof JobInterrupted) && !lease.signal.aborted) onRun('failed', error)
    }
    await lease.release({
      ...(failure === undefined && { succeededMs: clock() }),
      write: async (tx) => {
        if (failure instanceof JobInterrupted || lease.signal.aborted) return
        const result = { kind, key: '', node: db.node, startedMs, endedMs: clock() }
        await recordJobResult(tx, { ...result, error: failure })
      },
    })
  }
  const poller = startPeriodicTask(pollMs, poll, (error) => onRun('failed', error))
  return {
    async stop() {
      stopping.abort(new JobInterrupted('the server stops'))
      await poller.stop()
    },
  }
}
