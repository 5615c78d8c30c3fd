import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'

/** Reached only if something is wrong: a busy machine takes long. */
export const PATIENCE_MS = 60_000
const POLL_MS = 20

/**
 * Reads until `isSo` holds of what was read, by default until it is truthy, and returns that: for what happens in the background.
 * A state that is soon over needs a shorter `pollMs`.
 */
export async function eventually<T>(
  read: () => T | Promise<T>,
  isSo: (value: T) => boolean = Boolean,
  { pollMs = POLL_MS, patienceMs = PATIENCE_MS } = {},
): Promise<NonNullable<T>> {
  for (const endMs = performance.now() + patienceMs; ; await pause(pollMs)) {
    const value = await read()
    if (isSo(value)) return value as NonNullable<T>
    assert.ok(performance.now() < endMs, `not in ${patienceMs} ms: ${inspect(value)}`)
  }
}
