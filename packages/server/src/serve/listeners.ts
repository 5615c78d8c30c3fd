import { errorBody } from '../api/error-body.ts'
import { unavailable } from '../api/errors.ts'
import { bindOrFail } from '../config/bind-or-fail.ts'
import type { Config } from '../installation/config.ts'
import type { UntrustedProxyDetector } from '../installation/untrusted-proxies.ts'
import type { HttpHandler } from '../port/http.ts'
import { errorCodes } from '../port/http2/frames.ts'
import { type ConnectionSource, type ListenOptions, listen } from '../port/listen.ts'
import type { GrpcHandler } from '../port/port-context.ts'
import type { Log } from '../runtime/log.ts'

/** The listeners of the server: the public port, and the operator's own. */

const SECOND_MS = 1000

/** The handlers of a server that has started. */
export interface ServingHandlers {
  readonly http: HttpHandler
  readonly operator: HttpHandler
  readonly grpc: GrpcHandler
}

/** Binds the public port. Until the server is ready, requests get UNAVAILABLE. */
export async function listenPublic(
  config: Config,
  log: Log,
  server: () => ServingHandlers | undefined,
  {
    proxies,
    ...options
  }: Pick<
    ListenOptions,
    'tls' | 'addressOf' | 'isTrustedProxy' | 'budget' | 'unread' | 'observer' | 'limits' | 'source'
  > & {
    readonly proxies: UntrustedProxyDetector
  },
) {
  const errorDomain = errorDomainAtStart(config)
  return bindOrFail('BERTH_LISTEN', config.listen, () =>
    listen({
      ...config.listen,
      http: (request) => {
        proxies.inspect(request.headers, () => request.address)
        return (server()?.http ?? startingHandler(errorDomain))(request)
      },
      grpc: {
        handle(stream, headers, ...rest) {
          proxies.inspect(headers, () => stream.connection.remoteAddress ?? '')
          const ready = server()
          if (ready === undefined) stream.close(REFUSED_STREAM)
          else ready.grpc.handle(stream, headers, ...rest)
        },
        stop: () => server()?.grpc.stop(),
        abort: () => server()?.grpc.abort(),
      },
      errorDomain,
      log,
      ...options,
    }),
  )
}

/** Binds the operator's own listener, for plain HTTP; undefined if the configuration has none. */
export async function listenForMetrics(
  config: Config,
  log: Log,
  server: () => ServingHandlers | undefined,
  source: ConnectionSource | undefined,
) {
  const { metricsListen } = config
  if (metricsListen === undefined) return undefined
  const errorDomain = errorDomainAtStart(config)
  const port = await bindOrFail('BERTH_METRICS_LISTEN', metricsListen, () =>
    listen({
      ...metricsListen,
      http: (request) => (server()?.operator ?? startingHandler(errorDomain))(request),
      grpc: { handle: (stream) => stream.close(REFUSED_STREAM), stop() {}, abort() {} },
      errorDomain,
      log,
      source,
    }),
  )
  log.info({ url: port.url }, 'serving metrics')
  return port
}

/** "Not processed, try again" (RFC 9113 section 8.7). */
const REFUSED_STREAM = errorCodes.refusedStream

/** The domain of errors before the external addresses are known. */
function errorDomainAtStart({ errorDomain, listen }: Config): string {
  return errorDomain ?? listen.host
}

function startingHandler(errorDomain: string): HttpHandler {
  return () => ({
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: errorBody(unavailable('the server is starting', SECOND_MS), errorDomain),
  })
}
