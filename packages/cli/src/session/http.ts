import { sanitizeText } from '../output/text-width.ts'
import { version } from '../version.ts'

/** HTTP requests of the command line, with a user agent, a timeout, no redirects, and optional logging. */

const TIMEOUT_MS = 60_000

let requestLogger: ((line: string) => void) | undefined

/** Logs every request: method, URL without query, status and duration. Never a token. */
export function setRequestLogger(log: (line: string) => void): void {
  requestLogger = log
}

/** Returns the logger, for clients that do not use `request`; undefined if logging is off. */
export function getRequestLogger(): typeof requestLogger {
  return requestLogger
}

/**
 * As `fetch`, with a timeout for the whole response. Redirects are never followed: another server must not receive the token (R34). They
 * are errors, or returned with `redirect: 'manual'`.
 */
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
    const redirect = init.redirect === 'manual' ? 'manual' : 'error'
    const response = await fetch(url, { ...init, headers, signal, redirect })
    logOutcome(String(response.status))
    return response
  } catch (error) {
    logOutcome(failureReason(error))
    throw error
  }
}

/** Returns the texts of the Warning headers of a response: `299 - "text"`. */
export function readWarnings(headers: Headers): string[] {
  return [...(headers.get('warning') ?? '').matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    sanitizeText(text),
  )
}

/** Describes why a request failed. */
export function failureReason(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(inner instanceof Error)) return String(inner)
  if ((inner as NodeJS.ErrnoException).code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'it does not use TLS: its URL starts with http://'
  return inner.message || String((inner as NodeJS.ErrnoException).code)
}

let cachedUserAgent: string | undefined

export function userAgent(): string {
  cachedUserAgent ??= `berth/${version()} ${process.platform}/${process.arch}`
  return cachedUserAgent
}
