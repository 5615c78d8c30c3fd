import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import { limits } from '../../config/limits.ts'
import { createFairSemaphore } from '../fair-semaphore.ts'
import { parseUntrustedJson } from '../json/untrusted-json.ts'
import type { Tracer } from '../tracer.ts'
import { type AddressGuard, createAddressGuard } from './address-guard.ts'

export type OutboundFailure =
  | 'refused'
  | 'timeout'
  | 'too_large'
  | 'bad_status'
  | 'bad_body'
  | 'network'
  | 'redirect'

/**
 * A fetch that did not give a document. The message is a fixed text per case: nothing of the URL, of the
 * headers or of the body is in it, because it may end up in a response to the caller who chose the URL.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly kind: OutboundFailure
  /** HTTP status of a `bad_status`, for the log. */
  readonly status: number | undefined

  constructor(kind: OutboundFailure, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    this.status = options.status
  }
}

/** The addresses of a host name, as IP literals. Rejects when there are none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

export type OutboundLimits = Record<
  | 'outboundBodyBytesMax'
  | 'outboundTimeoutMs'
  | 'outboundRedirectsMax'
  | 'outboundConcurrencyMax'
  | 'outboundConcurrencyPerOrganizationMax',
  number
>

/** A request as a library makes it, and what came back: any status but a redirect. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  /** '' for none. */
  readonly body: string
  readonly signal?: AbortSignal | undefined
}

export interface OutboundResponse {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

export interface StreamRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Between two pieces of the body. */
  readonly idleTimeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface StreamedResponse {
  readonly status: number
  /** '' where there is none. */
  header(name: string): string
  readonly body: AsyncIterable<Uint8Array>
}

/** Fetches documents from servers that callers named. Rejects only with an OutboundError. */
export interface OutboundRequests {
  /**
   * The JSON value at `url`. A caller's abort counts as a timeout. The body is parsed only with status 200.
   */
  getJson(url: string, signal?: AbortSignal): Promise<unknown>
  /**
   * Sends a form to `url`; an answer of any status is one. Redirects are refused: what a form holds is for the
   * server that was named, and for no other.
   */
  postForm(
    url: string,
    form: Readonly<Record<string, string>>,
    options: { readonly accept: string; readonly signal?: AbortSignal | undefined },
  ): Promise<OutboundResponse>
  /**
   * Sends a request that a library made. Redirects are refused: it may hold a secret that is for the server that was named, and
   * for no other.
   */
  send(url: string, request: OutboundRequest): Promise<OutboundResponse>
  /**
   * Fetches something large: `use` gets the answer, of any status but a redirect, and reads its body as it comes, for as long as
   * `timeoutMs` allows from the start. Errors of `use` are passed on unchanged.
   */
  getStream<T>(url: string, request: StreamRequest, use: (answer: StreamedResponse) => Promise<T>): Promise<T>
  /** Runs `work`, whose requests follow each other, as one: it waits for the concurrency limit once. */
  batch<T>(work: (requests: Pick<OutboundRequests, 'getJson'>) => Promise<T>): Promise<T>
}

export interface Outbound extends OutboundRequests {
  /**
   * Requests that count for the share of an organization, by the uid of the organization; of a provider of the operator, by its name.
   * Servers that hang can use up the share of the organization that named them, and no more.
   */
  share(name: string): OutboundRequests
  /** Ends running fetches and closes all connections. */
  close(): Promise<void>
}

export interface OutboundOptions {
  /**
   * Networks in CIDR notation that may be fetched from although they are not public, also over plain http.
   */
  readonly privateNetworks: readonly string[]
  readonly limits?: OutboundLimits
  /** Requests are sent in spans; trace headers only to origins that the operator lists. */
  readonly tracer?: Tracer | undefined
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve
}

/** Idle connections live just long enough for discovery to be followed by the fetch of the keys. */
const KEEP_ALIVE_MS = 2000
const HEADER_BYTES_MAX = 16 * 1024

/**
 * A client for requests whose every connection is checked at the moment it is made: the address that
 * passed the check is the address connected to, so neither a redirect nor a second DNS answer leads
 * elsewhere. Environment proxies are not used: a proxy would resolve names out of our sight.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const bounds = options.limits ?? limits
  const guard = createAddressGuard(options.privateNetworks)
  const semaphore = createFairSemaphore(
    bounds.outboundConcurrencyMax,
    bounds.outboundConcurrencyPerOrganizationMax,
  )
  const closing = new AbortController()
  let agent: Promise<Dispatcher> | undefined

  /** Runs `work` with a signal that aborts after `timeoutMs`. */
  async function runWithTimeout<T>(
    signal: AbortSignal | undefined,
    timeoutMs: number,
    work: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), timeoutMs)
    const signals = [timeout.signal, closing.signal, ...(signal === undefined ? [] : [signal])]
    const stop = AbortSignal.any(signals)
    try {
      return await work(stop)
    } catch (error) {
      if (error instanceof ConsumerError) throw error.cause
      throw toOutboundError(error, stop.aborted)
    } finally {
      clearTimeout(timer)
    }
  }

  type Run = <T>(signal: AbortSignal | undefined, timeoutMs: number, work: Work<T>) => Promise<T>

  const run: Run = (signal, timeoutMs, work) =>
    runWithTimeout(signal, timeoutMs, async (stop) => {
      agent ??= loadAgent(guard, options.resolve ?? resolveBySystem, bounds.outboundTimeoutMs, options.tracer)
      return work(await agent, stop)
    })

  /** As `run`, once the share has a turn, for which the request waits as long as it may take. */
  const runWithPermit =
    (share: string | undefined): Run =>
    async (signal, timeoutMs, work) => {
      const release = await runWithTimeout(signal, timeoutMs, (stop) => semaphore.acquire(stop, share))
      try {
        return await run(signal, timeoutMs, work)
      } finally {
        release()
      }
    }

  const { outboundTimeoutMs: timeoutMs } = bounds

  const getJson =
    (run: Run): OutboundRequests['getJson'] =>
    (url, signal) =>
      run(signal, timeoutMs, (agent, stop) => fetchJson(agent, url, bounds, stop))

  function requestsOf(share: string | undefined): OutboundRequests {
    const runLimited = runWithPermit(share)
    return {
      getJson: getJson(runLimited),
      postForm: (url, form, { accept, signal }) =>
        runLimited(signal, timeoutMs, (agent, stop) =>
          sendOnce(agent, url, bounds, stop, {
            method: 'POST',
            headers: { accept, 'content-type': 'application/x-www-form-urlencoded' },
            body: new URLSearchParams(form).toString(),
          }),
        ),
      send: (url, { signal, ...request }) =>
        runLimited(signal, timeoutMs, (agent, stop) => sendOnce(agent, url, bounds, stop, request)),
      getStream: (url, { signal, timeoutMs, ...request }, use) =>
        runLimited(signal, timeoutMs, (agent, stop) =>
          useStream(agent, url, bounds, stop, { ...request, use }),
        ),
      async batch(work) {
        const release = await runWithTimeout(undefined, timeoutMs, (stop) => semaphore.acquire(stop, share))
        try {
          return await work({ getJson: getJson(run) })
        } finally {
          release()
        }
      },
    }
  }

  return {
    ...requestsOf(undefined),
    share: requestsOf,
    async close() {
      closing.abort()
      await (await agent)?.destroy()
    },
  }
}

type Work<T> = (agent: Dispatcher, stop: AbortSignal) => Promise<T>

/**
 * The next URL to fetch, or a reason against it: absolute, http or https, no credentials, and never from
 * https to http. The address of the host is not checked here, but when the connection is opened.
 */
export function checkTarget(location: string, from?: URL): URL | { readonly error: string } {
  const url = URL.parse(location, from?.href)
  if (url === null) return { error: 'not a URL' }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { error: 'neither https nor http' }
  if (from?.protocol === 'https:' && url.protocol !== 'https:') return { error: 'leads from https to http' }
  if (url.username !== '' || url.password !== '') return { error: 'credentials in the URL' }
  return url
}

async function fetchJson(agent: Dispatcher, start: string, bounds: OutboundLimits, signal: AbortSignal) {
  const response = await follow(agent, start, bounds, { headers: { accept: 'application/json' }, signal })
  const { statusCode: status, body } = response
  if (status === 200) {
    requireUncompressed(response)
    return await readJson(body, bounds.outboundBodyBytesMax)
  }
  discard(body)
  throw new OutboundError('bad_status', 'the server did not return status 200', { status })
}

async function useStream<T>(
  agent: Dispatcher,
  start: string,
  bounds: OutboundLimits,
  signal: AbortSignal,
  {
    headers,
    idleTimeoutMs,
    use,
  }: Pick<StreamRequest, 'headers' | 'idleTimeoutMs'> & {
    readonly use: (answer: StreamedResponse) => Promise<T>
  },
): Promise<T> {
  const response = await follow(agent, start, bounds, {
    headers,
    signal,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
  })
  const { statusCode: status, body } = response
  try {
    requireUncompressed(response)
    const header = (name: string) => [response.headers[name] ?? ''].flat()[0] ?? ''
    return await use({ status, header, body: withOutboundErrors(body, signal) }).catch((cause: unknown) => {
      throw new ConsumerError('', { cause })
    })
  } finally {
    discard(body)
  }
}

/** Passes errors of the caller through unchanged. */
class ConsumerError extends Error {}

/** The body, with its failures as OutboundErrors. */
async function* withOutboundErrors(body: Body, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>
  } catch (error) {
    throw toOutboundError(error, signal.aborted)
  }
}

/** Follows redirects; returns the first response that is not one. */
async function follow(
  agent: Dispatcher,
  start: string,
  bounds: OutboundLimits,
  {
    headers: asked,
    ...options
  }: Pick<Dispatcher.RequestOptions, 'bodyTimeout' | 'headersTimeout'> & {
    readonly headers: Readonly<Record<string, string>>
    readonly signal: AbortSignal
  },
): Promise<Dispatcher.ResponseData> {
  let url = checkTarget(start)
  if ('error' in url) throw new OutboundError('refused', `URL rejected: ${url.error}`)
  for (let redirects = 0; ; redirects++) {
    const response = await agent.request({
      ...options,
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: { ...asked, 'accept-encoding': 'identity', 'user-agent': 'berth' },
    })
    const { statusCode: status, headers, body } = response
    if (!redirectStatuses.includes(status)) return response
    discard(body)
    if (redirects === bounds.outboundRedirectsMax) throw new OutboundError('redirect', 'too many redirects')
    const { location } = headers
    if (typeof location !== 'string') throw new OutboundError('redirect', 'a redirect without one target')
    const next = checkTarget(location, url)
    if ('error' in next) throw new OutboundError('redirect', `redirect rejected: ${next.error}`)
    url = next
  }
}

const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308]

/** Sends one request, whose response may have any status but a redirect. */
async function sendOnce(
  agent: Dispatcher,
  target: string,
  bounds: OutboundLimits,
  signal: AbortSignal,
  { method, headers, body: sent }: OutboundRequest,
): Promise<OutboundResponse> {
  const url = checkTarget(target)
  if ('error' in url) throw new OutboundError('refused', `URL rejected: ${url.error}`)
  const response = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method,
    headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': 'berth' },
    body: sent === '' ? null : sent,
    signal,
  })
  const { statusCode: status, body } = response
  if (redirectStatuses.includes(status)) {
    discard(body)
    throw new OutboundError('redirect', 'a request is not sent on to where a redirect leads')
  }
  requireUncompressed(response)
  const bytes = await readBytes(body, bounds.outboundBodyBytesMax)
  const contentType = response.headers['content-type']
  try {
    return { status, contentType: typeof contentType === 'string' ? contentType : '', text: decode(bytes) }
  } catch {
    throw new OutboundError('bad_body', 'the response is not text in UTF-8')
  }
}

type Body = Dispatcher.ResponseData['body']

/** Rejects a compressed response, whose unpacked size is unknown. */
function requireUncompressed({ headers, body }: Dispatcher.ResponseData): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding === 'identity') return
  discard(body)
  throw new OutboundError('bad_body', 'the response is compressed although this was not requested')
}

/** Throws a TypeError on bytes that are not UTF-8. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

async function readBytes(body: Body, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) throw new OutboundError('too_large', 'the response is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function readJson(body: Body, bytesMax: number): Promise<unknown> {
  const bytes = await readBytes(body, bytesMax)
  try {
    return parseUntrustedJson(decode(bytes))
  } catch {
    // The parser's own error quotes the text, so it is not passed on as the cause.
    throw new OutboundError('bad_body', 'the response is not JSON')
  }
}

/**
 * Drops an unread body together with its connection: the other side decides how long reading it to the end
 * would take.
 */
function discard(body: Body): void {
  body.on('error', () => {}).destroy()
}

function toOutboundError(error: unknown, stopped: boolean): OutboundError {
  if (error instanceof OutboundError) return error
  if (stopped) return new OutboundError('timeout', 'the server did not respond in time')
  return new OutboundError('network', 'no connection to the server, or it broke', { cause: error })
}

/**
 * Loaded with the first fetch: undici is the slowest module to load, and many servers never fetch anything.
 */
async function loadAgent(
  guard: AddressGuard,
  resolve: Resolve,
  timeoutMs: number,
  tracer: Tracer | undefined,
): Promise<Dispatcher> {
  const undici = await import('undici')
  const connectors = {
    plain: undici.buildConnector({ timeout: timeoutMs, allowH2: false, lookup: lookup('plain') }),
    encrypted: undici.buildConnector({ timeout: timeoutMs, allowH2: false, lookup: lookup('encrypted') }),
  }

  function lookup(transport: 'plain' | 'encrypted'): LookupFunction {
    return (hostname, options, done) => {
      resolveAllowed(hostname, transport).then(
        (addresses) => {
          if (options.all) done(null, addresses)
          else done(null, addresses[0]?.address ?? '', addresses[0]?.family)
        },
        (error: OutboundError) => done(error, ''),
      )
    }
  }

  async function resolveAllowed(
    hostname: string,
    transport: 'plain' | 'encrypted',
  ): Promise<LookupAddress[]> {
    const addresses = await resolve(hostname).catch((error: unknown) => {
      throw new OutboundError('network', 'the host name does not resolve', { cause: error })
    })
    const allowed = addresses.filter((address) => guard.allows(address, transport))
    if (allowed.length === 0) throw addressNotAllowed()
    return allowed.map((address) => ({ address, family: isIP(address) }))
  }

  function connect(options: buildConnector.Options, done: buildConnector.Callback): void {
    const transport = options.protocol === 'https:' ? 'encrypted' : 'plain'
    // An address written in the URL never reaches the lookup.
    const literal = options.hostname.replace(/^\[(.*)\]$/, '$1')
    if (isIP(literal) !== 0 && !guard.allows(literal, transport)) done(addressNotAllowed(), null)
    else connectors[transport](options, done)
  }

  const agent = new undici.Agent({
    connect,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxHeaderSize: HEADER_BYTES_MAX,
  })
  return tracer === undefined ? agent : tracedAgent(agent, tracer)
}

/** Spans last until the headers of the response. They name the server, never the path or query, which may hold secrets. */
function tracedAgent(agent: Dispatcher, tracer: Tracer): Dispatcher {
  const send = agent.request.bind(agent) as (options: Dispatcher.RequestOptions) => RequestPromise
  const request = (options: Dispatcher.RequestOptions): RequestPromise => {
    const { origin, protocol, hostname, port } = new URL(String(options.origin))
    const attributes = {
      'http.request.method': options.method,
      'url.scheme': protocol.slice(0, -1),
      'server.address': hostname,
      'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    }
    return tracer.span(options.method, { kind: 'client', attributes }, async (span) => {
      const headers = { ...(options.headers as Record<string, string>), ...span.headersFor(origin) }
      const response = await send({ ...options, headers })
      span.set({ 'http.response.status_code': response.statusCode })
      return response
    })
  }
  return Object.assign(agent, { request })
}

type RequestPromise = Promise<Dispatcher.ResponseData>

function addressNotAllowed(): OutboundError {
  return new OutboundError('refused', 'the host is in a network that must not be fetched from')
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await systemLookup(hostname, { all: true })
  return found.map(({ address }) => address)
}
