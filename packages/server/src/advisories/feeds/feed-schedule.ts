import { limits } from '../../config/limits.ts'

/** When a feed is read the next time. Chance spreads feeds that began together. */

const JITTER = 0.05

export interface SuccessTiming {
  readonly now: number
  readonly intervalMs: number
  /** From 0 up to 1. */
  readonly random: number
}

export function dueAfterSuccess({ now, intervalMs, random }: SuccessTiming): number {
  return Math.round(now + intervalMs * (1 - JITTER + 2 * JITTER * random))
}

export interface FailureTiming extends Omit<SuccessTiming, 'intervalMs'> {
  /** This one included. */
  readonly failures: number
  /** How long the server wants to be left alone; 0: it did not say. */
  readonly retryAfterMs: number
}

export function dueAfterFailure({ now, failures, retryAfterMs, random }: FailureTiming): number {
  const { feedBackoffMsMin, feedBackoffMsMax, feedRetryAfterMsMax } = limits
  const backoffMs = Math.min(feedBackoffMsMin * 2 ** Math.min(failures - 1, 30), feedBackoffMsMax)
  const requestedMs = Math.min(retryAfterMs, feedRetryAfterMsMax)
  return Math.round(now + Math.max((backoffMs * (1 + random)) / 2, requestedMs))
}
