import { LRUCache } from 'lru-cache'
import { rootOf, type Uid } from '../../api/uid.ts'
import { runShared } from '../../pipeline/request/request-context.ts'
import { createFairSemaphore } from '../../runtime/fair-semaphore.ts'
import { withTimeout } from '../../runtime/timeout.ts'
import type { Store } from '../../storage/store.ts'
import type { PublicationState } from '../publish/publication-state.ts'
import { type CountedSeverities, countSeverities } from './severity-counts.ts'

/**
 * Counts by severity of the groups that callers asked for. A count is shared by all callers and repeated after a change. A large group
 * takes seconds: callers get the previous count meanwhile.
 */

export interface SeveritySummary extends CountedSeverities {
  readonly startMs: number
  /** Whether advisories changed since then. */
  readonly isOutdated: boolean
}

export interface SeveritySummaries {
  /** Returns the last complete count; undefined if the first one is in progress. */
  read(group: Uid, state: PublicationState): Promise<SeveritySummary | undefined>
}

/** How long a caller waits for a count. */
const WAIT_MS = 1000
/** After a count, the next one of the group starts no sooner than this many times its duration. */
const PAUSE_FACTOR = 10
const GROUPS_MAX = 1000
/** Counts at a time, one for each organization: a large one leaves room for the others. */
const COUNTS_MAX = 2
/** How long a count waits for its turn. Later the next caller starts it. */
const QUEUE_MS_MAX = 60_000

interface Entry {
  counted: (CountedSeverities & { readonly startMs: number; readonly version: string }) | undefined
  running: Promise<void> | undefined
  /** When the next count can start. */
  nextMs: number
}

interface SeveritySummariesOptions {
  readonly queueMs?: number
  readonly countGroup?: typeof countSeverities
}

export function createSeveritySummaries(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  { queueMs = QUEUE_MS_MAX, countGroup = countSeverities }: SeveritySummariesOptions = {},
): SeveritySummaries {
  const entries = new LRUCache<Uid, Entry>({ max: GROUPS_MAX })
  const semaphore = createFairSemaphore(COUNTS_MAX, 1)

  async function count(group: Uid, version: string, entry: Entry): Promise<void> {
    let release: (() => void) | undefined
    try {
      release = await semaphore.acquire(AbortSignal.timeout(queueMs), rootOf(group))
      const [startMs, startedMs] = [clock(), performance.now()]
      const counted = await countGroup(db, group)
      entry.counted = { ...counted, startMs, version }
      entry.nextMs = performance.now() + (performance.now() - startedMs) * PAUSE_FACTOR
    } finally {
      release?.()
      entry.running = undefined
    }
  }

  return {
    async read(group, { revision, groups }) {
      const version = `${groups} ${revision}`
      const entry: Entry = entries.get(group) ?? { counted: undefined, running: undefined, nextMs: 0 }
      entries.set(group, entry)
      if (entry.counted?.version !== version && entry.nextMs <= performance.now())
        entry.running ??= runShared(() => count(group, version, entry), rootOf(group))
      if (entry.counted?.version !== version && entry.running !== undefined)
        await withTimeout(WAIT_MS, entry.running).catch((error: unknown) => {
          if (!(error instanceof DOMException && error.name === 'TimeoutError')) throw error
        })
      if (entry.counted === undefined) return undefined
      const { version: counted, ...summary } = entry.counted
      return { ...summary, isOutdated: counted !== version }
    },
  }
}
