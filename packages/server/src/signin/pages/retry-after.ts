import type { Context } from 'hono'
import { retryAfter } from '../../api/error-body.ts'
import type { ApiError } from '../../api/errors.ts'

/** Sets `retry-after` if the error says when to try again. */
export function setRetryAfter(c: Context, error: Pick<ApiError, 'details'>): void {
  c.header('retry-after', retryAfter(error)['retry-after'])
}
