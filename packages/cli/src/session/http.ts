import { version } from '@berth/server/config/version.ts'

/** Requests of the command line: they say who asks, end in time, follow nobody elsewhere, and can be watched. */

const TIMEOUT_MS = 60_000

let requestLogger: ((line: string) => void) | undefined

/** Shows every request from now on: method, address without its query, status and time. Never a token. */
export function setRequestLogger(tell: (line: string) => void): void {
  requestLogger = tell
}

/** Who watches; undefined when nobody does. For clients that do not ask by `request`. */
export function getRequestLogger(): typeof requestLogger {
  return requestLogger
}

/** As `fetch`, with a time for the whole answer. Redirects are errors: whoever is elsewhere must get no token (R34). */
export async function request(
  url: string | URL,
  init: RequestInit = {},
  timeoutMs = TIMEOUT_MS,
): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.set('user-agent', userAgent())
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout
  const startedMs = performance.now()
  const logOutcome = (outcome: string) => {
    const { origin, pathname } = new URL(url)
    requestLogger?.(
      `${init.method ?? 'GET'} ${origin}${pathname} ${outcome} ${Math.round(performance.now() - startedMs)} ms`,
    )
  }
  try {
    const response = await fetch(url, { ...init, headers, signal, redirect: 'error' })
    logOutcome(String(response.status))
    return response
  } catch (error) {
    logOutcome(failureReason(error))
    throw error
  }
}

/** Why there was no answer. */
export function failureReason(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(inner instanceof Error)) return String(inner)
  return inner.message || String((inner as NodeJS.ErrnoException).code)
}

let cachedUserAgent: string | undefined

export function userAgent(): string {
  cachedUserAgent ??= `berth/${version()} ${process.platform}/${process.arch}`
  return cachedUserAgent
}
