import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'

/** Reached only if something is wrong: a busy machine takes long. */
export const PATIENCE_MS = 60_000
const POLL_MS = 20

/**
 * Reads until `isSo` holds of what was read, by default until it is truthy, and returns that: for what happens in the background.
 * A state that is soon over needs a shorter `pollMs`. Gives up after `patienceMs`, by default when what was read has not changed for
 * PATIENCE_MS: long work that proceeds may take longer on a busy machine.
 */
export async function eventually<T>(
  read: () => T | Promise<T>,
  isSo: (value: T) => boolean = Boolean,
  { pollMs = POLL_MS, patienceMs }: { readonly pollMs?: number; readonly patienceMs?: number } = {},
): Promise<NonNullable<T>> {
  let last: T | undefined
  for (let sinceMs = performance.now(); ; await pause(pollMs)) {
    const value = await read()
    if (isSo(value)) return value as NonNullable<T>
    if (patienceMs === undefined && !isDeepStrictEqual(value, last)) sinceMs = performance.now()
    last = value
    const waitedMs = performance.now() - sinceMs
    assert.ok(waitedMs < (patienceMs ?? PATIENCE_MS), `not in ${Math.round(waitedMs)} ms: ${inspect(value)}`)
  }
}
