import { isOutcomeUnknown } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { existingKeys, incrementRows } from '../../storage/bulk-rows.ts'
import { createDropCount } from '../../storage/changes/drop-count.ts'
import { createServerQueues } from '../../storage/changes/server-queues.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import { dayOf } from './days.ts'

/**
 * Counts pulls and pushes of repos by day (ADR 44). A pull reads one row; to write one for each would multiply its cost. So counts wait in
 * memory for a few seconds, and are added to the rows of all repos together. A crash loses them, and so does a commit whose outcome is
 * unknown: no pull is counted twice.
 */
export interface TransferCounter {
  countPull(repo: string): void
  countPush(repo: string): void
  /** Writes the pending counts, and stops. */
  stop(): Promise<void>
}

export interface TransferCounterOptions {
  readonly db: Db
  readonly clock: () => number
  readonly flushMs?: number | undefined
  readonly onError: (error: unknown) => void
  /** Receives the number of pulls and pushes that are not counted because too many repos waited. */
  readonly onDropped: (transfers: number) => void
}

interface Transfers {
  readonly day: number
  readonly repo: string
  pulls: number
  pushes: number
}

export function createTransferCounter({
  db,
  clock,
  flushMs = limits.transferFlushMs,
  onError,
  onDropped,
}: TransferCounterOptions): TransferCounter {
  const dropped = createDropCount(onDropped)
  /** Returns the counts that wait for the locks of other transactions. */
  const write = (counts: readonly Transfers[]): Promise<readonly Transfers[]> =>
    inTransaction(db, async (tx) => {
      const { existing, locked } = await readExisting(db, tx, counts)
      const isLocked = ({ repo }: Transfers) => locked.has(repo) || locked.has(rootOf(repo))
      const free = counts.filter((one) => !isLocked(one))
      const inRepos = repoRows(free).filter(({ repo }) => existing.has(repo))
      const inOrganizations = organizationRows(free).filter(({ root }) => existing.has(root))
      const numbers = ['pulls', 'pushes']
      await incrementRows(db, tx, 'repo_usage_days', inRepos, { key: ['root', 'repo', 'day'], numbers })
      await incrementRows(db, tx, 'usage_days', inOrganizations, { key: ['root', 'day'], numbers })
      return counts.filter(isLocked)
    })
  const queues = createServerQueues<Transfers>({
    db,
    max: limits.pendingTransfersMax,
    intervalMs: flushMs,
    rootOf: organizationOf,
    merge: { keyOf: ({ day, repo }) => `${day} ${repo}`, add: addTransfers },
    async write(counts) {
      dropped.report()
      try {
        const delayed = await write(counts)
        return { rows: delayed, hasFailed: delayed.length === counts.length }
      } catch (error) {
        onError(error)
        return { rows: isOutcomeUnknown(error) ? [] : counts, hasFailed: true }
      }
    },
    onDropped,
  })
  const count = (repo: string, pulls: number, pushes: number) => {
    if (!queues.add({ day: dayOf(clock()), repo, pulls, pushes })) dropped.add()
  }

  return {
    countPull: (repo) => count(repo, 1, 0),
    countPush: (repo) => count(repo, 0, 1),
    async stop() {
      await queues.stop()
      dropped.report()
    },
  }
}

const organizationOf = ({ repo }: Transfers) => rootOf(repo)

type Counts = Pick<Transfers, 'pulls' | 'pushes'>

function addTransfers(sum: Counts, { pulls, pushes }: Counts): void {
  sum.pulls += pulls
  sum.pushes += pushes
}

interface Existing {
  /** Exist until the transaction ends: what is counted for others would stay for ever. */
  readonly existing: ReadonlySet<string>
  /** Are locked by other transactions. Their counts wait, so that one repo does not delay those of all others. */
  readonly locked: ReadonlySet<string>
}

/** Reads which repos and organizations of transfers exist. */
async function readExisting(db: Db, tx: Tx, transfers: readonly Transfers[]): Promise<Existing> {
  const repos = [...new Set(transfers.map(({ repo }) => repo))]
  const organizations = [...new Set(repos.map(rootOf))]
  const existing = new Set<string>()
  const locked = new Set<string>()
  for (const [table, uids] of [
    ['repos', repos],
    ['groups', organizations],
  ] as const) {
    const keys = uids.map((uid) => ({ root: rootOf(uid), uid }))
    for (const { uid } of await existingKeys(db, tx, table, keys, { lock: true })) existing.add(uid)
    const others = keys.filter(({ uid }) => !existing.has(uid))
    for (const { uid } of await existingKeys(db, tx, table, others)) locked.add(uid)
  }
  return { existing, locked }
}

/** Sums by key, in the order of keys: nodes that write the same rows do not wait for each other in a circle. */
function sumBy<T>(
  transfers: readonly Transfers[],
  keyOf: (one: Transfers) => string,
  rowOf: (one: Transfers) => T & { pulls: number; pushes: number },
): T[] {
  const sums = new Map<string, ReturnType<typeof rowOf>>()
  for (const one of transfers) {
    const key = `${keyOf(one)} ${one.day}`
    const sum = sums.get(key)
    if (sum === undefined) sums.set(key, rowOf(one))
    else addTransfers(sum, one)
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function repoRows(transfers: readonly Transfers[]) {
  return sumBy(
    transfers,
    ({ repo }) => repo,
    ({ repo, day, pulls, pushes }) => ({ root: rootOf(repo), repo, day, pulls, pushes }),
  )
}

function organizationRows(transfers: readonly Transfers[]) {
  return sumBy(
    transfers,
    ({ repo }) => rootOf(repo),
    ({ repo, day, pulls, pushes }) => ({ root: rootOf(repo), day, ...unrecordedLevels, pulls, pushes }),
  )
}

/** Levels of a day that the job has not recorded yet. */
export const unrecordedLevels = { stored_bytes: -1, manifests: -1, tags: -1, repos: -1 } as const
