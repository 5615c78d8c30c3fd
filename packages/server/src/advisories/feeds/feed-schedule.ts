import { limits } from '../../config/limits.ts'

/** When a feed is due next. Jitter spreads feeds that were created together. */

const JITTER = 0.05

export interface SuccessTiming {
  readonly now: number
  readonly intervalMs: number
  /** In [0, 1). */
  readonly random: number
}

export function dueAfterSuccess({ now, intervalMs, random }: SuccessTiming): number {
  return Math.round(now + intervalMs * (1 - JITTER + 2 * JITTER * random))
}

export interface FailureTiming extends Omit<SuccessTiming, 'intervalMs'> {
  /** Includes this one. */
  readonly failures: number
  /** When the server allows a retry; 0 if it did not say. */
  readonly retryAfterMs: number
}

export function dueAfterFailure({ now, failures, retryAfterMs, random }: FailureTiming): number {
  const { feedBackoffMsMin, feedBackoffMsMax, feedRetryAfterMsMax } = limits
  const backoffMs = Math.min(feedBackoffMsMin * 2 ** Math.min(failures - 1, 30), feedBackoffMsMax)
  const requestedMs = Math.min(retryAfterMs, feedRetryAfterMsMax)
  return Math.round(now + Math.max((backoffMs * (1 + random)) / 2, requestedMs))
}
