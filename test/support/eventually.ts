import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect, isDeepStrictEqual } from 'node:util'

/** Reached only if something is wrong: a busy machine takes long. */
export const PATIENCE_MS = 60_000
/** Reached only if what is read changes, and never becomes what it should be. */
const PATIENCE_IN_ALL_MS = 5 * PATIENCE_MS
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
  const unchangedMsMax = patienceMs ?? PATIENCE_MS
  const msMax = patienceMs ?? PATIENCE_IN_ALL_MS
  const startMs = performance.now()
  let last: T | undefined
  for (let changedMs = startMs; ; await pause(pollMs)) {
    const value = await read()
    if (isSo(value)) return value as NonNullable<T>
    const nowMs = performance.now()
    if (!isDeepStrictEqual(value, last)) changedMs = nowMs
    last = value
    const hasPatience = nowMs - changedMs < unchangedMsMax && nowMs - startMs < msMax
    assert.ok(hasPatience, `not in ${Math.round(nowMs - startMs)} ms: ${inspect(value)}`)
  }
}
