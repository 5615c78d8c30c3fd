import type { BlobStore } from '../../blobs/store.ts'
import { every } from '../../core/every.ts'
import { limits } from '../../core/limits.ts'
import { type Tracer, traceJob } from '../../core/tracer.ts'
import { type Ballast, noBallast } from '../../storage/ballast.ts'
import type { Store } from '../../storage/store.ts'
import { planWork, takeWork, WorkLost } from '../run-rows.ts'
import { collect } from './collect.ts'
import type { CollectionReport } from './run.ts'

/** Collects when it is due, whichever node comes first, until it is stopped. */

export interface CollectionScheduler {
  /** Ends a run after the batch that it is at; the next start, or another node, begins again. */
  stop(): Promise<void>
}

export interface CollectionSchedulerOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: BlobStore
  /** Space that a full disk has for collecting. */
  readonly ballast?: Ballast
  /** undefined: never. */
  readonly intervalMs: number | undefined
  readonly graceMs: number
  readonly pollMs?: number | undefined
  readonly leaseMs?: number | undefined
  readonly tracer?: Tracer | undefined
  readonly onRun: (run: EndedCollection) => void
  readonly onError: (error: unknown) => void
}

export type EndedCollection = {
  readonly durationMs: number
} & (
  | { readonly outcome: 'succeeded'; readonly report: CollectionReport }
  | { readonly outcome: 'failed'; readonly error: unknown }
)

/** Nodes do not begin at the same moment every day. */
const JITTER = 0.05

export function collectionScheduler(options: CollectionSchedulerOptions): CollectionScheduler {
  const {
    store,
    intervalMs,
    leaseMs,
    onError,
    pollMs = limits.collectionPollMs,
    ballast = noBallast,
  } = options
  if (intervalMs === undefined) return { stop: async () => {} }
  const { db, clock } = store
  const stopping = new AbortController()
  const dueNext = () => Math.round(clock() + intervalMs * (1 - JITTER * Math.random()))
  let planned = false

  const look = async () => {
    const work = await ballast.run(async () => {
      if (!planned) await planWork(db, 'collection', dueNext())
      planned = true
      return takeWork({ db, clock, onError, leaseMs }, 'collection', { dueBy: clock() })
    })
    if (work === undefined) return
    const startMs = performance.now()
    try {
      const signal = AbortSignal.any([stopping.signal, work.signal])
      const report = await traceJob(options.tracer, 'job garbage-collection', () =>
        ballast.run(() => collect({ ...options, dryRun: false, mistrust: true, signal })),
      )
      await work.giveBack({ due_ms: dueNext(), succeeded_ms: clock() })
      options.onRun({ outcome: 'succeeded', report, durationMs: performance.now() - startMs })
    } catch (error) {
      const isCut = stopping.signal.aborted || error instanceof WorkLost
      // What was cut short is still due; what failed is tried again after a while.
      const retryMs = clock() + Math.min(intervalMs, limits.collectionRetryMs)
      await work.giveBack(isCut ? {} : { due_ms: retryMs })
      if (!isCut) options.onRun({ outcome: 'failed', error, durationMs: performance.now() - startMs })
    }
  }

  const looking = every(pollMs, look, onError)

  return {
    async stop() {
      stopping.abort(new Error('the server stops'))
      await looking.stop()
    },
  }
}
