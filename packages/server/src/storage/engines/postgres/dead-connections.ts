import { limits } from '../../../config/limits.ts'
import { startPeriodicTask } from '../../../runtime/periodic-task.ts'

/**
 * Finds connections that died without a sign: their statement waits, and the server does not work on it. A slow statement looks the same from
 * here, so another connection asks the server.
 */

export interface MonitoredConnection {
  readonly traceId: string
  readonly isTraceable: boolean
  readonly waitingSinceMs: number | undefined
  /** Bytes that have arrived so far. */
  readonly bytesRead: number
}

interface Observation {
  readonly waitingSinceMs: number
  readonly bytesRead: number
}

/** After a death the server frees locks, so that sessions which waited for them show within moments whether they are dead, too. */
const CHECKS_AFTER_DEATH = 4
const CHECK_AFTER_DEATH_MS = 100

/**
 * Checks `busy` connections every `limits.databaseDeadCheckMs`. `sessionsAtWork` returns those of the trace ids whose session runs a
 * statement; undefined if the server cannot be reached. `onSilent`: two checks have found these connections dead. `onUnreachable`: these
 * have not responded, and the server could not be reached otherwise for `limits.databaseConnectMs`.
 */
export function detectDeadConnections<C extends MonitoredConnection>(
  busy: ReadonlySet<C>,
  {
    activeSessions,
    onDead,
    onUnreachable,
  }: {
    readonly activeSessions: (traceIds: readonly string[]) => Promise<ReadonlySet<string> | undefined>
    readonly onDead: (dead: readonly C[]) => Promise<void>
    readonly onUnreachable: (silent: readonly C[]) => void
  },
): { stop(): void } {
  let suspects = new Map<C, Observation>()
  let unreachableSinceMs: number | undefined
  /** Returns whether connections have died. */
  const check = async (): Promise<boolean> => {
    const beforeMs = performance.now() - limits.databaseDeadAfterMs
    const seen = new Map<C, Observation>()
    for (const connection of busy) {
      const { waitingSinceMs, bytesRead, isTraceable } = connection
      if (isTraceable && waitingSinceMs !== undefined && waitingSinceMs < beforeMs)
        seen.set(connection, { waitingSinceMs, bytesRead })
    }
    const before = suspects
    suspects = new Map()
    if (seen.size === 0) {
      unreachableSinceMs = undefined
      return false
    }
    const startMs = performance.now()
    const active = await activeSessions([...seen.keys()].map(({ traceId }) => traceId))
    // What has arrived meanwhile is read before this goes on.
    await new Promise((resolve) => setImmediate(resolve))
    const isUnchanged = ([connection, at]: readonly [C, Observation]) =>
      connection.waitingSinceMs === at.waitingSinceMs && connection.bytesRead === at.bytesRead
    if (active === undefined) {
      unreachableSinceMs ??= startMs
      if (performance.now() - unreachableSinceMs >= limits.databaseConnectMs)
        onUnreachable([...seen].filter(isUnchanged).map(([connection]) => connection))
      return false
    }
    unreachableSinceMs = undefined
    const isSame = (one: Observation | undefined, other: Observation) =>
      one?.waitingSinceMs === other.waitingSinceMs && one.bytesRead === other.bytesRead
    suspects = new Map([...seen].filter((one) => !active.has(one[0].traceId) && isUnchanged(one)))
    const dead = [...suspects].filter(([connection, at]) => isSame(before.get(connection), at))
    for (const [connection] of dead) suspects.delete(connection)
    if (dead.length === 0) return false
    await onDead(dead.map(([connection]) => connection))
    return true
  }
  const checkRepeatedly = async () => {
    for (let left = (await check()) ? CHECKS_AFTER_DEATH : 0; left > 0; left--) {
      await new Promise((resolve) => setTimeout(resolve, CHECK_AFTER_DEATH_MS))
      if (await check()) left = CHECKS_AFTER_DEATH
    }
  }
  const polling = startPeriodicTask(limits.databaseDeadCheckMs, checkRepeatedly, () => undefined)
  return { stop: () => void polling.stop() }
}
