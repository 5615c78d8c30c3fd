import { every } from '../core/every.ts'
import { limits } from '../core/limits.ts'

/**
 * Finds connections that died without a sign: their statement waits, and the server does not work on it. A slow statement looks the same from
 * here, so another connection asks the server.
 */

export interface Silent {
  readonly traceId: string
  readonly isTraceable: boolean
  readonly waitingSinceMs: number | undefined
  /** Bytes that have arrived so far. */
  readonly bytesRead: number
}

interface Look {
  readonly waitingSinceMs: number
  readonly bytesRead: number
}

/** After a death the server frees locks, so that sessions which waited for them show within moments whether they are dead, too. */
const LOOKS_AFTER_DEATH = 4
const LOOK_AFTER_DEATH_MS = 100

/**
 * Looks at `busy` connections every `limits.databaseLookMs`. `sessionsAtWork` returns those of the trace ids whose session runs a statement;
 * undefined if the server cannot be reached. `onSilent`: two looks have found these connections dead. `onUnreachable`: these have not answered,
 * and the server could not be reached otherwise for `limits.databaseConnectMs`.
 */
export function watchSilence<C extends Silent>(
  busy: ReadonlySet<C>,
  {
    sessionsAtWork,
    onSilent,
    onUnreachable,
  }: {
    readonly sessionsAtWork: (traceIds: readonly string[]) => Promise<ReadonlySet<string> | undefined>
    readonly onSilent: (dead: readonly C[]) => Promise<void>
    readonly onUnreachable: (silent: readonly C[]) => void
  },
): { stop(): void } {
  let suspects = new Map<C, Look>()
  let unreachableSinceMs: number | undefined
  /** Returns whether connections have died. */
  const look = async (): Promise<boolean> => {
    const beforeMs = performance.now() - limits.databaseSilenceMs
    const seen = new Map<C, Look>()
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
    const atWork = await sessionsAtWork([...seen.keys()].map(({ traceId }) => traceId))
    // What has arrived meanwhile is read before this goes on.
    await new Promise((resolve) => setImmediate(resolve))
    const isStill = ([connection, at]: readonly [C, Look]) =>
      connection.waitingSinceMs === at.waitingSinceMs && connection.bytesRead === at.bytesRead
    if (atWork === undefined) {
      unreachableSinceMs ??= startMs
      if (performance.now() - unreachableSinceMs >= limits.databaseConnectMs)
        onUnreachable([...seen].filter(isStill).map(([connection]) => connection))
      return false
    }
    unreachableSinceMs = undefined
    const isSame = (one: Look | undefined, other: Look) =>
      one?.waitingSinceMs === other.waitingSinceMs && one.bytesRead === other.bytesRead
    suspects = new Map([...seen].filter((one) => !atWork.has(one[0].traceId) && isStill(one)))
    const dead = [...suspects].filter(([connection, at]) => isSame(before.get(connection), at))
    for (const [connection] of dead) suspects.delete(connection)
    if (dead.length === 0) return false
    await onSilent(dead.map(([connection]) => connection))
    return true
  }
  const lookOften = async () => {
    for (let left = (await look()) ? LOOKS_AFTER_DEATH : 0; left > 0; left--) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AFTER_DEATH_MS))
      if (await look()) left = LOOKS_AFTER_DEATH
    }
  }
  const rounds = every(limits.databaseLookMs, lookOften, () => undefined)
  return { stop: () => void rounds.stop() }
}
