import type { ChildProcess } from 'node:child_process'
import { limits } from '../config/limits.ts'
import type { MetricsSnapshot } from '../telemetry/metrics-snapshot.ts'
import { send } from './messages.ts'

/** Collects the metrics of the workers for the one that a scraper has reached. */
export interface WorkerMetrics {
  /** A worker asks for the metrics of the others; its own are kept for later. */
  request(worker: ChildProcess, id: number, own: MetricsSnapshot): void
  /** A worker has sent its metrics. */
  receive(worker: ChildProcess, id: number, snapshot: MetricsSnapshot): void
  /** The worker has ended: what it has counted stays in the sums, as of the last time that it was asked. */
  forget(worker: ChildProcess): void
}

interface Round {
  readonly missing: Set<ChildProcess>
  readonly finish: () => void
}

/**
 * `workers` returns those to ask. `own` returns the metrics of the supervisor. A worker that does not reply within
 * `limits.workerMetricsMs` counts with its last metrics.
 */
export function createWorkerMetrics(
  workers: () => readonly ChildProcess[],
  own: () => MetricsSnapshot,
  onError: (error: unknown) => void,
): WorkerMetrics {
  const last = new Map<ChildProcess, MetricsSnapshot>()
  const pending = new Map<number, Round>()
  let ended: Promise<readonly MetricsSnapshot[]> = Promise.resolve([])
  let lastId = 0
  const stopWaitingFor = (worker: ChildProcess, { missing, finish }: Round) => {
    if (missing.delete(worker) && missing.size === 0) finish()
  }

  return {
    request(worker, id, snapshot) {
      last.set(worker, snapshot)
      const others = workers().filter((other) => other !== worker)
      const round = ++lastId
      const finish = async () => {
        clearTimeout(timer)
        if (!pending.delete(round)) return
        const current = [...last].flatMap(([other, known]) => (other === worker ? [] : [known]))
        send(worker, { type: 'metrics', id, others: [own(), ...current, ...(await ended)] })
      }
      const timer = setTimeout(finish, limits.workerMetricsMs)
      pending.set(round, { missing: new Set(others), finish })
      for (const other of others) send(other, { type: 'collect', id: round })
      if (others.length === 0) void finish()
    },
    receive(worker, round, snapshot) {
      last.set(worker, snapshot)
      const waiting = pending.get(round)
      if (waiting !== undefined) stopWaitingFor(worker, waiting)
    },
    forget(worker) {
      const snapshot = last.get(worker)
      last.delete(worker)
      if (snapshot !== undefined)
        ended = ended.then(async (before) => {
          try {
            // Loaded with the first worker that ends.
            const { countsOf } = await import('../telemetry/metrics-snapshot.ts')
            return [await countsOf([snapshot, ...before])]
          } catch (error) {
            onError(error)
            return before
          }
        })
      for (const round of pending.values()) stopWaitingFor(worker, round)
    },
  }
}
