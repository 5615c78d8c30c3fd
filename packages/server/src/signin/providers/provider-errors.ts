import { ApiError, Code } from '../../api/errors.ts'
import type { SignInContext } from '../context.ts'
import type { Provider } from './providers.ts'
import { UpstreamError } from './upstream.ts'

/** Runs work that asks a provider. Its failures are logged, and users see those that they can understand. */
export async function withProviderErrors<T>(
  { log }: SignInContext,
  requestId: string,
  { id, label }: Provider,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    log.warn(
      { requestId, provider: id, why: error.message, ...loggableCause(error) },
      'sign-in with a provider failed',
    )
    if (error.kind === 'setup') throw new ApiError(Code.FAILED_PRECONDITION, error.message, { cause: error })
    const code = error.kind === 'unavailable' ? Code.UNAVAILABLE : Code.PERMISSION_DENIED
    const text =
      error.kind === 'unavailable'
        ? 'try again in a minute'
        : 'the operator of this server can find details in the log'
    throw new ApiError(code, `${label} cannot sign you in: ${error.message}; ${text}`, { cause: error })
  }
}

/** Fields of an error's cause for the log, without the response itself, which can contain tokens. */
function loggableCause({ cause }: UpstreamError): object {
  if (!(cause instanceof Error)) return {}
  const { code, error } = cause as { readonly code?: unknown; readonly error?: unknown }
  // An OAuth error code, such as invalid_client.
  const named = typeof error === 'string' && /^[a-z_]{1,60}$/.test(error) ? { error } : {}
  return { cause: cause.message, ...(typeof code === 'string' ? { code } : {}), ...named }
}
