import { rootOf } from '../../api/uid.ts'
import { startPeriodicTask } from '../../runtime/periodic-task.ts'
import { type Tracer, traceJob } from '../../runtime/tracer.ts'
import type { Db } from '../db.ts'
import {
  acquireJob,
  findDueJobs,
  JobInterrupted,
  type JobKind,
  type JobLease,
  type JobOutcome,
  scheduleJob,
} from './job-leases.ts'
import { recordJobResult } from './job-results.ts'

/** Runs the jobs of a kind when they are due, each on the node that leases it first, until it is stopped. */
export interface JobScheduler {
  /** Interrupts the running jobs, which other nodes then continue, and waits for them. */
  stop(): Promise<void>
}

export interface JobDefinition {
  readonly kind: JobKind
  /** Name of the trace of a run. */
  readonly span: string
  /** Between two looks for jobs that are due. */
  readonly pollMs: number
  readonly leaseMs?: number | undefined
  /** Runs on this node at the same time; 1 by default. */
  readonly concurrency?: number
  readonly concurrencyPerOrganization?: number
  /** For kinds with a single job: the time between two runs, of which up to 5 % is left out at random. */
  readonly intervalMs?: number
  run(lease: JobLease): Promise<JobOutcome>
  /** Receives what `run` throws. `isInterrupted`: the scheduler stops or the lease is lost; otherwise the run failed. */
  onFailure(
    error: unknown,
    lease: JobLease,
    failure: { readonly isInterrupted: boolean },
  ): JobOutcome | Promise<JobOutcome>
  /** Wraps the writes that lease a job. */
  readonly leasing?: <T>(lease: () => Promise<T>) => Promise<T>
}

export interface JobContext {
  readonly db: Db
  readonly clock: () => number
  readonly tracer?: Tracer | undefined
  /** Receives failures of the scheduler itself, mostly of the database. */
  readonly onError: (error: unknown, key?: string) => void
}

/** Nodes that start together, and jobs that were created together, do not run together for ever. */
const JITTER = 0.05

/** A time about `intervalMs` from now. */
export function jitteredDueMs(now: number, intervalMs: number): number {
  return Math.round(now + intervalMs * (1 - JITTER * Math.random()))
}

export function startJobScheduler(context: JobContext, definition: JobDefinition): JobScheduler {
  const { db, clock, tracer, onError } = context
  const { kind, concurrency = 1, concurrencyPerOrganization, intervalMs } = definition
  const { leasing = (lease) => lease() } = definition
  const stopping = new AbortController()
  /** The key of each run. */
  const running = new Map<Promise<void>, string>()
  const countRuns = (root: string) => [...running.values()].filter((key) => rootOf(key) === root).length
  const isAtLimit = (root: string) =>
    concurrencyPerOrganization !== undefined && countRuns(root) >= concurrencyPerOrganization
  let isScheduled = intervalMs === undefined

  const leaseDueJobs = async () => {
    if (!isScheduled && intervalMs !== undefined)
      await leasing(() => scheduleJob(db, kind, jitteredDueMs(clock(), intervalMs)))
    isScheduled = true
    const max = concurrency - running.size
    if (max <= 0) return
    const exceptRoots = [...new Set([...running.values()].map(rootOf))].filter(isAtLimit)
    for (const key of await findDueJobs(db, kind, clock(), { max, exceptRoots })) {
      if (stopping.signal.aborted) return
      if (isAtLimit(rootOf(key))) continue
      const lease = await leasing(() =>
        acquireJob(
          {
            db,
            clock,
            leaseMs: definition.leaseMs,
            signal: stopping.signal,
            onError: (error) => onError(error, key),
          },
          kind,
          { key, dueBy: clock() },
        ),
      )
      if (lease !== undefined) start(lease)
    }
  }

  const start = (lease: JobLease) => {
    const work = runToEnd(lease).then(
      // More jobs may have waited for this one.
      () => void (stopping.signal.aborted || setImmediate(poll)),
      (error: unknown) => onError(error, lease.key),
    )
    running.set(work, lease.key)
    void work.finally(() => running.delete(work))
  }

  const runToEnd = async (lease: JobLease) => {
    let outcome: JobOutcome = {}
    const startedMs = clock()
    let finished: { readonly error: unknown } | undefined
    try {
      outcome = await traceJob(tracer, definition.span, () => definition.run(lease))
      finished = { error: undefined }
    } catch (error) {
      const isInterrupted = lease.signal.aborted || error instanceof JobInterrupted
      if (!isInterrupted) finished = { error }
      try {
        outcome = await definition.onFailure(error, lease, { isInterrupted })
      } catch (failure) {
        // The lease must end, or its renewal keeps all nodes from the job.
        onError(failure, lease.key)
      }
    }
    await lease.release({
      ...(intervalMs !== undefined && outcome.succeededMs !== undefined
        ? { dueMs: jitteredDueMs(clock(), intervalMs) }
        : {}),
      ...outcome,
      async write(tx, state) {
        await outcome.write?.(tx, state)
        if (finished === undefined) return
        const { error = outcome.failure } = finished
        await recordJobResult(tx, { kind, key: lease.key, node: db.node, startedMs, endedMs: clock(), error })
      },
    })
  }

  let polling: Promise<void> | undefined
  const poll = () => {
    if (stopping.signal.aborted) return Promise.resolve()
    polling ??= leaseDueJobs()
      .catch((error: unknown) => onError(error))
      .finally(() => {
        polling = undefined
      })
    return polling
  }
  const poller = startPeriodicTask(definition.pollMs, poll, onError)

  return {
    async stop() {
      stopping.abort(new JobInterrupted('the server stops'))
      await poller.stop()
      await polling
      await Promise.all(running.keys())
    },
  }
}
