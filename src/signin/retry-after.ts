import type { Context } from 'hono'
import type { ApiError } from '../core/errors.ts'

/** Says in a header when to come again (RFC 9110 section 10.2.3), where the error says so. */
export function tellWhen(c: Context, { details }: Pick<ApiError, 'details'>): void {
  const retry = details.find((detail) => detail.kind === 'RetryInfo')
  if (retry !== undefined) c.header('retry-after', String(Math.ceil(retry.retryDelayMs / 1000)))
}
