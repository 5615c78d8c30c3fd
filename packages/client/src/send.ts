import { BerthError, errorOf, parse, unreachable } from './error.ts'
import type { CallOptions, Operation, WithResponse } from './operation.ts'

/** One call over HTTP: send, retry if that is useful and safe, and read the response. */

export interface ClientOptions {
  /** URL of the API, for example `https://berth.example.com`. */
  readonly baseUrl: string
  /** Platform token, or a function that returns one. It is called before each attempt, so it can return a newer token. */
  readonly token?: string | (() => string | Promise<string>) | undefined
  /** `fetch` to use instead of the platform's. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Maximum number of retries of a call; default 3, 0 means none. */
  readonly retries?: number | undefined
  /** Aborts all calls of the client. */
  readonly signal?: AbortSignal | undefined
}

/** A call to send; `url` is relative to the base URL. */
export interface Message {
  readonly operation: Operation
  readonly url: string
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | undefined>>
}

export type Send = <T>(message: Message, options: CallOptions) => Promise<WithResponse<T>>

const RETRIES = 3
/** Maximum random pause, which doubles with each attempt, so that clients do not retry at the same time. */
const FIRST_PAUSE_MS = 200
const PAUSE_MS_MAX = 10_000
/** Maximum wait that the client accepts; if the server asks for more, the call fails immediately. */
const ASKED_PAUSE_MS_MAX = 60_000

const TOO_MANY_REQUESTS = 429
const UNAVAILABLE = 503
const NOT_FOUND = 404

export function sender(client: ClientOptions): Send {
  const { retries = RETRIES } = client
  const base = client.baseUrl.replace(/\/+$/, '')

  const attempt = async (message: Message, options: CallOptions, signal: AbortSignal | undefined) => {
    const url = base + message.url
    const headers: Record<string, string> = { accept: 'application/json' }
    const token = options.token ?? (typeof client.token === 'function' ? await client.token() : client.token)
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`
    if (message.body !== undefined) headers['content-type'] = 'application/json'
    for (const [name, value] of Object.entries(message.headers))
      if (value !== undefined) headers[name] = value
    const init: RequestInit = {
      method: message.operation.verb,
      headers,
      // The API does not redirect, and another server must not get the token.
      redirect: 'error',
      credentials: 'omit',
      ...(message.body === undefined ? {} : { body: JSON.stringify(message.body) }),
      ...(signal === undefined ? {} : { signal }),
    }
    try {
      const response = await (client.fetch ?? fetch)(url, init)
      return { response, text: await response.text() }
    } catch (cause) {
      signal?.throwIfAborted()
      throw unreachable(url, cause)
    }
  }

  return async <T>(message: Message, options: CallOptions) => {
    const signal = joined(client.signal, options.signal)
    // Whether an earlier attempt without a response may have succeeded.
    let unknown = false
    for (let sent = 0; ; sent++) {
      signal?.throwIfAborted()
      let failure: BerthError
      try {
        const { response, text } = await attempt(message, options, signal)
        const gone = message.operation.kind === 'delete' && response.status === NOT_FOUND && unknown
        if (response.ok || gone) return toResult<T>(response, gone ? '' : text)
        failure = errorOf(response, text)
      } catch (error) {
        if (!(error instanceof BerthError)) throw error
        failure = error
      }
      const pauseMs = sent < retries && isRepeatable(message) ? pauseAfter(failure, sent) : undefined
      if (pauseMs === undefined) throw failure
      unknown ||= failure.status !== TOO_MANY_REQUESTS
      await pause(pauseMs, signal)
    }
  }
}

function isRepeatable({ operation, headers }: Message): boolean {
  switch (operation.repeat) {
    case 'always':
      return true
    case 'with-key':
      return headers['idempotency-key'] !== undefined
    case 'with-match':
      return headers['if-match'] !== undefined
    case 'never':
      return false
  }
}

/** Returns milliseconds until the next attempt; undefined if there is none. */
function pauseAfter({ status, retryDelayMs }: BerthError, sent: number): number | undefined {
  const mayHelp = status === 0 || status === UNAVAILABLE
  // Without a retry time, the quota is exhausted permanently.
  if (!mayHelp && (status !== TOO_MANY_REQUESTS || retryDelayMs === undefined)) return undefined
  const asked = retryDelayMs ?? 0
  if (asked > ASKED_PAUSE_MS_MAX) return undefined
  return asked + Math.random() * Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** sent)
}

function toResult<T>(response: Response, text: string): WithResponse<T> {
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? undefined
  const value = text === '' ? undefined : parse(text)
  if (text !== '' && value === undefined)
    throw new BerthError(`The response is not from the API: HTTP status ${status} without JSON`, {
      status,
      requestId,
    })
  return { value: value as T, status, etag: headers.get('etag') ?? undefined, requestId, headers }
}

function joined(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined)
  return given.length > 1 ? AbortSignal.any(given) : given[0]
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
    const stop = () => {
      end()
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      end()
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop)
  })
}
