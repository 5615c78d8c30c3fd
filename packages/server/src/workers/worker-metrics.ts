import type { ChildProcess } from 'node:child_process'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { limits } from '../config/limits.ts'
import { coalesceCalls } from '../runtime/coalesce-calls.ts'
import type { MetricsSnapshot, MetricsTexts } from '../telemetry/workers/metrics-snapshot.ts'
import { createMetricsSum } from '../telemetry/workers/metrics-sum.ts'
import { send } from './messages.ts'

/** Adds up the metrics of the workers for the one that a scraper has reached. */
export interface WorkerMetrics {
  /** A worker asks for the metrics of all. */
  request(worker: ChildProcess, id: number): void
  /** A worker has sent its metrics. `round`: the one that asked for them; undefined for the last ones of a worker that stops. */
  receive(worker: ChildProcess, snapshot: MetricsSnapshot, round: number | undefined): void
  /** The worker has ended: what it counted stays in the sums, as of its last metrics. */
  forget(worker: ChildProcess): void
}

/**
 * `workers` returns those to ask. `own` returns the metrics of the supervisor. A worker that does not reply within
 * `limits.workerMetricsMs` counts with its last metrics. Requests share one round at a time: without a token, a scraper could keep all
 * workers busy otherwise.
 */
export function createWorkerMetrics(
  workers: () => readonly ChildProcess[],
  own: () => Promise<MetricsSnapshot>,
  onError: (error: unknown) => void,
): WorkerMetrics {
  const last = new Map<ChildProcess, MetricsSnapshot>()
  const ended = createMetricsSum()
  const missing = new Set<ChildProcess>()
  /** Sent their last metrics, and respond no more. */
  const stopped = new WeakSet<ChildProcess>()
  let round = 0
  let finishRound: () => void = () => undefined
  const stopWaitingFor = (worker: ChildProcess) => {
    if (missing.delete(worker) && missing.size === 0) finishRound()
  }
  const collect = async () => {
    round++
    for (const worker of workers()) if (!stopped.has(worker)) missing.add(worker)
    if (missing.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    finishRound = resolve
    const timer = setTimeout(resolve, limits.workerMetricsMs)
    for (const worker of missing) send(worker, { type: 'collect', round })
    await promise
    clearTimeout(timer)
    missing.clear()
  }
  const addUp = coalesceCalls(async () => {
    const [ownSnapshot] = await Promise.all([own(), collect()])
    // Those of the same moment: a worker that ends meanwhile must not count twice.
    const snapshots = [ownSnapshot, ...last.values()]
    const sum = ended.copy()
    for (const snapshot of snapshots) {
      await nextIteration()
      sum.add(snapshot)
    }
    return sum.render()
  })
  let replies: Promise<void> = Promise.resolve()
  /** One after the other: many workers can share a round, and sending a text takes about a millisecond. */
  const reply = (worker: ChildProcess, id: number, texts?: MetricsTexts) => {
    replies = replies.then(() => {
      send(worker, { type: 'metrics', id, ...(texts && { texts }) })
      return nextIteration()
    })
  }

  return {
    request(worker, id) {
      addUp().then(
        (texts) => reply(worker, id, texts),
        (error: unknown) => {
          onError(error)
          reply(worker, id)
        },
      )
    },
    receive(worker, snapshot, of) {
      last.set(worker, snapshot)
      if (of === undefined) stopped.add(worker)
      if (of === undefined || of === round) stopWaitingFor(worker)
    },
    forget(worker) {
      const snapshot = last.get(worker)
      if (snapshot !== undefined) ended.addCounts(snapshot)
      last.delete(worker)
      stopWaitingFor(worker)
    },
  }
}
