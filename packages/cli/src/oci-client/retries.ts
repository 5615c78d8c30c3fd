import { setTimeout as sleep } from 'node:timers/promises'
import type { TransferError } from './transfer-error.ts'

/** Tries again what failed in a way that may pass: a broken connection, a server that is busy. */

/** In a row, without a byte between them. */
const ATTEMPTS = 6
const FIRST_WAIT_MS = 200
const WAIT_MS_MAX = 20_000

/** An answer, or none, after which the same may well succeed. */
export class TransientError extends Error {
  override readonly name = 'Passing'
  readonly retryAfterMs: number | undefined
  /** What it is when it does not pass. */
  readonly finalError: TransferError

  constructor(finalError: TransferError, retryAfterMs?: number) {
    super(finalError.message, { cause: finalError })
    this.finalError = finalError
    this.retryAfterMs = retryAfterMs
  }
}

/** Counts failures in a row; throws the last one when there were too many of them, and waits before the next attempt otherwise. */
export class RetryBackoff {
  #failures = 0

  /** It went on: what failed before does not count. */
  reset(): void {
    this.#failures = 0
  }

  /** Throws what cannot pass, and what did not. */
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

/** `Retry-After` in milliseconds. */
export function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header)
  return header !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}
