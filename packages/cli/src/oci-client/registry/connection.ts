import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici-7'
import { asObject } from '../descriptors.ts'
import { apiHost, isLoopback, trustedTokenHosts } from '../image-name.ts'
import { retryAfterMs, TransientError, withRetries } from '../retries.ts'
import { TransferError } from '../transfer-error.ts'
import { type Challenge, parseChallenge } from './challenge.ts'
import { basicAuthorization, type Credentials, fetchToken, type RegistryToken } from './token.ts'

/**
 * Sends requests to one registry: authenticates with tokens or credentials as it demands, follows redirects (without credentials to other
 * hosts), and retries transient failures.
 */

export interface ConnectionOptions {
  readonly host: string
  /** Called when the registry demands credentials. */
  readonly credentials: () => Promise<Credentials | undefined>
  /** Further hosts whose token services are trusted. */
  readonly tokenHosts?: readonly string[]
  /** Default: https; on localhost, whichever responds. */
  readonly scheme?: 'http' | 'https'
  readonly userAgent: string
  readonly signal: AbortSignal
  /** Called with a log line for each request, without its content. */
  readonly logRequest?: (line: string) => void
}

export interface RegistryRequest {
  readonly method?: Dispatcher.HttpMethod
  /** Scopes of the token: `repository:acme/app:pull`. */
  readonly scopes: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | Readable
  /** Statuses that are returned; others are thrown. */
  readonly expectedStatuses: readonly number[]
  /** Instead of the connection's signal. */
  readonly signal?: AbortSignal
}

export interface RegistryResponse {
  readonly status: number
  readonly url: URL
  readonly header: (name: string) => string | undefined
  /** Must be read or destroyed. */
  readonly body: Readable & { text(): Promise<string>; dump(): Promise<void> }
}

const REDIRECTS_MAX = 5
const HEADERS_TIMEOUT_MS = 60_000
/** A registry may verify all bytes of a layer before it responds. */
const UPLOAD_TIMEOUT_MS = 600_000
const BODY_TIMEOUT_MS = 60_000
const ERROR_BYTES_MAX = 64 * 1024

export class Connection {
  readonly host: string
  readonly #options: ConnectionOptions
  #base: Promise<string> | undefined
  #challenge: Challenge | undefined
  #credentials: Promise<Credentials | undefined> | undefined
  /** Whether the server has ever responded: a restarting server refuses connections for a while. */
  #answered = false
  readonly #tokens = new Map<string, Promise<RegistryToken>>()

  constructor(options: ConnectionOptions) {
    this.host = options.host
    this.#options = options
  }

  get signal(): AbortSignal {
    return this.#options.signal
  }

  /** Sends a request until it gets a final response. `body` is a buffer; for streams, which can be sent once only, use `requestOnce`. */
  request(
    target: string | URL,
    asked: RegistryRequest & { readonly body?: Buffer },
  ): Promise<RegistryResponse> {
    return withRetries(this.signal, () => this.requestOnce(target, asked))
  }

  /** Sends a request once, and again with a token if needed. Throws TransientError for failures that may pass. */
  async requestOnce(target: string | URL, asked: RegistryRequest): Promise<RegistryResponse> {
    const url = await this.#urlOf(target)
    let reply = await this.#follow(url, asked)
    if (reply.status === 401 && !asked.expectedStatuses.includes(401)) {
      await reply.body.dump()
      const isNew = this.#challenged(reply)
      if (asked.body !== undefined && !Buffer.isBuffer(asked.body))
        throw new TransientError(this.#denied(reply.status, await this.#known()))
      if (isNew || this.#forget(asked.scopes)) reply = await this.#follow(url, asked)
    }
    if (asked.expectedStatuses.includes(reply.status)) return reply
    throw await this.#failure(reply, asked)
  }

  async #urlOf(target: string | URL): Promise<URL> {
    this.#base ??= this.#findBase()
    const base = new URL(await this.#base)
    const url = new URL(target, base)
    // A registry behind a proxy may not know that the client uses TLS.
    if (url.host === base.host) url.protocol = base.protocol
    if (url.protocol === 'http:' && base.protocol === 'https:' && !isLoopback(url.host))
      throw new TransferError('unsafe', this.host, `${this.host} redirects to ${url.host} over plain http`)
    return url
  }

  async #findBase(): Promise<string> {
    const host = apiHost(this.host)
    const { scheme } = this.#options
    if (scheme !== undefined) return `${scheme}://${host}/`
    if (!isLoopback(host)) return `https://${host}/`
    try {
      await (await this.#send(new URL(`https://${host}/v2/`), {})).body.dump()
      return `https://${host}/`
    } catch (error) {
      const isCertificate = /certificate|CERT/i.test(String((error as Error).message))
      return `${isCertificate ? 'https' : 'http'}://${host}/`
    }
  }

  /** Sends a request and follows redirects. Only the registry itself gets the token. */
  async #follow(url: URL, { method = 'GET', scopes, headers = {}, body, signal }: RegistryRequest) {
    const origin = new URL((await this.#base) ?? url).origin
    let at = url
    for (let hops = 0; ; hops += 1) {
      const authorization = at.origin === origin ? await this.#authorization(scopes) : undefined
      const reply = await this.#send(at, {
        method,
        headers: { ...headers, ...(authorization !== undefined && { authorization }) },
        ...(body !== undefined && { body }),
        ...(signal !== undefined && { signal }),
      })
      const location = reply.header('location')
      const isRead = method === 'GET' || method === 'HEAD'
      if (![301, 302, 303, 307, 308].includes(reply.status) || location === undefined || !isRead) return reply
      await reply.body.dump()
      if (hops === REDIRECTS_MAX || !URL.canParse(location, at.href))
        throw new TransferError(
          'refused',
          this.host,
          `${this.host} sent too many redirects, or one without a location`,
        )
      const next = new URL(location, at)
      if (next.protocol !== 'https:' && !(next.protocol === 'http:' && isLoopback(next.host)))
        if (next.protocol !== at.protocol)
          throw new TransferError('unsafe', this.host, `${this.host} redirects to ${next.host} without TLS`)
      at = next
    }
  }

  async #send(
    url: URL,
    {
      method = 'GET',
      headers = {},
      body,
      signal = this.signal,
    }: {
      readonly method?: Dispatcher.HttpMethod
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: Buffer | Readable | string
      readonly signal?: AbortSignal
    },
  ): Promise<RegistryResponse> {
    const { userAgent, logRequest: watch } = this.#options
    const startedMs = performance.now()
    const say = (outcome: string) =>
      watch?.(
        `${method} ${url.origin}${url.pathname} ${outcome} ${Math.round(performance.now() - startedMs)} ms`,
      )
    try {
      // Loaded with the first request: most commands send none.
      const { request } = await import('undici-7')
      const reply = await request(url, {
        method,
        headers: { 'user-agent': userAgent, ...headers },
        signal,
        headersTimeout: method === 'PUT' || method === 'PATCH' ? UPLOAD_TIMEOUT_MS : HEADERS_TIMEOUT_MS,
        bodyTimeout: BODY_TIMEOUT_MS,
        ...(body !== undefined && { body }),
      })
      say(String(reply.statusCode))
      this.#answered = true
      // Readers of the body get the error from the stream.
      reply.body.on('error', () => undefined)
      return {
        status: reply.statusCode,
        url,
        header: (name) => [reply.headers[name] ?? []].flat()[0],
        body: reply.body,
      }
    } catch (error) {
      say((error as Error).message)
      throw this.#unreachable(url, error)
    }
  }

  #unreachable(url: URL, error: unknown): unknown {
    if (this.signal.aborted) return this.signal.reason
    // Reading the request body may have failed.
    if (error instanceof TransferError || error instanceof TransientError) return error
    const { message, code, cause } = error as NodeJS.ErrnoException
    const why = message || code || String((cause as Error | undefined)?.message ?? error)
    const hint = /certificate/i.test(why)
      ? '; set NODE_EXTRA_CA_CERTS to a file with the certificate to trust'
      : ''
    const failure = new TransferError(
      'unreachable',
      this.host,
      `cannot connect to ${url.host} (${why})${hint}`,
      {
        cause: error,
      },
    )
    return isPermanent(error) || (code === 'ECONNREFUSED' && !this.#answered)
      ? failure
      : new TransientError(failure)
  }

  /** Whether the response has a new challenge. */
  #challenged(reply: RegistryResponse): boolean {
    const known = this.#challenge
    this.#challenge = parseChallenge(reply.header('www-authenticate') ?? '') ?? known
    return known === undefined && this.#challenge !== undefined
  }

  #known(): Promise<Credentials | undefined> {
    this.#credentials ??= this.#options.credentials()
    return this.#credentials
  }

  async #authorization(scopes: readonly string[]): Promise<string | undefined> {
    const challenge = this.#challenge
    if (challenge === undefined) return undefined
    const credentials = await this.#known()
    const base = new URL((await this.#base) ?? '')
    if (credentials !== undefined && base.protocol === 'http:' && !isLoopback(base.host))
      throw new TransferError(
        'unsafe',
        this.host,
        `credentials are not sent to ${this.host} over plain http: use https`,
      )
    if (challenge.scheme === 'basic')
      return credentials !== undefined && 'user' in credentials ? basicAuthorization(credentials) : undefined
    const wanted = scopes.length === 0 && challenge.scope !== '' ? [challenge.scope] : scopes
    const key = wanted.join(' ')
    const known = await this.#tokens.get(key)?.catch(() => undefined)
    if (known !== undefined && known.refreshAtMs > Date.now()) return `Bearer ${known.token}`
    const token = this.#fetchToken(challenge, wanted, credentials)
    this.#tokens.set(key, token)
    return `Bearer ${(await token).token}`
  }

  #fetchToken(
    challenge: Extract<Challenge, { scheme: 'bearer' }>,
    scopes: readonly string[],
    credentials: Credentials | undefined,
  ): Promise<RegistryToken> {
    const { host } = this
    const { tokenHosts = [] } = this.#options
    return withRetries(this.signal, () =>
      fetchToken({
        host,
        tokenHosts: [...trustedTokenHosts(host), ...tokenHosts],
        challenge,
        scopes,
        credentials,
        send: async (url, request) => {
          const reply = await this.#send(url, request)
          return { status: reply.status, text: await readBoundedText(reply, ERROR_BYTES_MAX * 2) }
        },
      }),
    )
  }

  /** Removes a rejected token; returns false if there was none. */
  #forget(scopes: readonly string[]): boolean {
    return this.#challenge?.scheme === 'bearer' && this.#tokens.delete(scopes.join(' '))
  }

  async #failure(reply: RegistryResponse, { method = 'GET' }: RegistryRequest): Promise<unknown> {
    const { status, url } = reply
    const text = await readBoundedText(reply, ERROR_BYTES_MAX).catch(() => '')
    const reason = registryErrorMessage(text)
    // A rule of the repo, such as an immutable tag: other credentials do not help.
    const isRule = status === 403 && reason.startsWith('Precondition failed: ')
    if (status === 401 || (status === 403 && !isRule))
      return this.#denied(status, await this.#known(), reason)
    const failure = new TransferError(
      status === 404 ? 'missing' : status >= 500 || status === 429 ? 'unreachable' : 'refused',
      this.host,
      `${this.host} responded to ${method} ${url.pathname} with status ${status}${reason === '' ? '' : `: ${reason}`}`,
    )
    const mayPass = status === 408 || status === 429 || (status >= 500 && status !== 501)
    return mayPass ? new TransientError(failure, retryAfterMs(reply.header('retry-after'))) : failure
  }

  #denied(status: number, credentials: Credentials | undefined, reason = ''): TransferError {
    const who = credentials === undefined ? 'without credentials' : 'with its credentials'
    const why = reason === '' ? '' : `: ${reason}`
    return new TransferError(
      'denied',
      this.host,
      `${this.host} denied the request ${who} (status ${status})${why}`,
    )
  }
}

/** Whether a retry cannot help. */
function isPermanent(error: unknown): boolean {
  const { code = '', message } = error as NodeJS.ErrnoException
  return (
    code === 'ENOTFOUND' ||
    code === 'UND_ERR_INVALID_ARG' ||
    /certificate|CERT|ERR_SSL|EPROTO/.test(`${code} ${message}`)
  )
}

/** Returns the error message of the registry (`{errors: [{code, message}]}`). */
function registryErrorMessage(text: string): string {
  try {
    const { errors: list } = asObject(JSON.parse(text)) ?? {}
    if (!Array.isArray(list)) return ''
    return list
      .map((one) => asObject(one) ?? {})
      .map(({ code, message }) => String(message || code || ''))
      .join('; ')
      .slice(0, 500)
  } catch {
    return ''
  }
}

/** Reads the body as text, up to a limit. */
async function readBoundedText(reply: RegistryResponse, bytesMax: number): Promise<string> {
  return (await readBoundedBytes(reply, bytesMax)).toString('utf8')
}

/** Throws if the body is larger. */
export async function readBoundedBytes({ body, url }: RegistryResponse, bytesMax: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of body) {
      size += (part as Buffer).length
      if (size > bytesMax)
        throw new TransferError(
          'refused',
          url.host,
          `the response of ${url.host} has more than ${bytesMax} bytes`,
        )
      parts.push(part as Buffer)
    }
  } catch (error) {
    if (error instanceof TransferError) throw error
    throw new TransientError(
      new TransferError('unreachable', url.host, `the connection to ${url.host} was interrupted`, {
        cause: error,
      }),
    )
  }
  return Buffer.concat(parts)
}
