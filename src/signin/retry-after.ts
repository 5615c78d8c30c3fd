import type { Context } from 'hono'
import type { ApiError } from '../core/errors.ts'
import { retryAfter } from '../gateway/error-body.ts'

/** Sets `retry-after` if the error says when to try again. */
export function setRetryAfter(c: Context, error: Pick<ApiError, 'details'>): void {
  c.header('retry-after', retryAfter(error)['retry-after'])
}
