import { setTimeout as sleep } from 'node:timers/promises'
import type { TransferError } from './transfer-error.ts'

/** Retries transient failures: an interrupted connection, a busy server. */

/** Consecutive attempts without progress. */
const ATTEMPTS = 6
const FIRST_WAIT_MS = 200
const WAIT_MS_MAX = 20_000

/** A failure after which the same request may succeed. */
export class TransientError extends Error {
  override readonly name = 'Passing'
  readonly retryAfterMs: number | undefined
  /** The error to report if retries do not help. */
  readonly finalError: TransferError

  constructor(finalError: TransferError, retryAfterMs?: number) {
    super(finalError.message, { cause: finalError })
    this.finalError = finalError
    this.retryAfterMs = retryAfterMs
  }
}

/** Counts consecutive failures. Throws the last one after too many, and otherwise waits before the next attempt. */
export class RetryBackoff {
  #failures = 0

  /** Forgets earlier failures after progress. */
  reset(): void {
    this.#failures = 0
  }

  /** Throws errors that are not transient, and those that persist. */
  async waitForRetry(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!(error instanceof TransientError)) throw error
    this.#failures += 1
    if (this.#failures >= ATTEMPTS) throw error.finalError
    const backoffMs = FIRST_WAIT_MS * 2 ** (this.#failures - 1) * (0.75 + Math.random() / 2)
    await sleep(Math.min(error.retryAfterMs ?? backoffMs, WAIT_MS_MAX), undefined, { signal })
  }
}

export async function withRetries<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const patience = new RetryBackoff()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      await patience.waitForRetry(error, signal)
    }
  }
}

/** Parses `Retry-After` to milliseconds. */
export function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header)
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}
