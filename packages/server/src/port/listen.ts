import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setImmediate as nextIteration, setTimeout as pause } from 'node:timers/promises'
import { createServer as createTlsServer, Server as TlsServer } from 'node:tls'
import { limits as productLimits } from '../config/limits.ts'
import type { ClientAddressOf } from '../pipeline/limits/client-address.ts'
import { clientAddressResolver } from '../pipeline/limits/client-address.ts'
import { createRequestIds } from '../pipeline/request/request-ids.ts'
import { type BodyBudget, createServerBodyBudget } from './bodies/body-budget.ts'
import { createReplyBatch } from './bodies/reply-batch.ts'
import { createUnreadReplies, type UnreadReplies } from './bodies/unread-replies.ts'
import { createConnectionAdmission } from './connections.ts'
import type { HttpHandler } from './http.ts'
import { createHttp1Server } from './http1.ts'
import { createHttp2Adapter } from './http2/adapter.ts'
import { preface } from './http2/frames.ts'
import { type PeerTimeout, startPeerTimeout } from './peer-timeout.ts'
import type { GrpcHandler, PortContext, PortLimits, PortTraffic } from './port-context.ts'
import type { RequestObserver } from './request-observer.ts'
import { createRunningRequests, type RunningRequests } from './running-requests.ts'
import type { TransportLog } from './transport-errors.ts'

export interface ListenOptions {
  /** Address or host name to bind to. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** PEM texts. With them the port speaks TLS only, and ALPN distinguishes HTTP/2 from HTTP/1.1. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  readonly http: HttpHandler
  readonly grpc: GrpcHandler
  /** `domain` of the ErrorInfo in errors that the port itself answers with. */
  readonly errorDomain: string
  readonly log: TransportLog
  /** Default: no proxy is trusted. */
  readonly addressOf?: ClientAddressOf | undefined
  /** Whether an address stands for many clients; default: none does. */
  readonly isTrustedProxy?: ((address: string | undefined) => boolean) | undefined
  /** Counts buffered request bodies; default: a budget of its own. */
  readonly budget?: BodyBudget | undefined
  /** Counts whole replies until their clients have taken them; default: a count of its own. */
  readonly unread?: UnreadReplies | undefined
  /** Records requests; default: none are recorded. */
  readonly observer?: RequestObserver | undefined
  /** Replaces single limits of config/limits.ts. */
  readonly limits?: Partial<PortLimits> | undefined
  /** Accepts the connections instead of this process, which then binds nothing. */
  readonly source?: ConnectionSource | undefined
}

/** A listener in another process, which passes its connections on. */
export interface ConnectionSource {
  readonly address: BoundAddress
  /** Keys of TLS session tickets, so that every process that serves the listener can resume a session of the others. */
  readonly ticketKeys: Buffer
  /** `accept` receives connections until `close`. */
  open(accept: (socket: Socket) => void): void
  /** Resolves when no more connections come. */
  close(): Promise<void>
}

/** An address as the system reports it. */
export type BoundAddress = Pick<AddressInfo, 'address' | 'family' | 'port'>

export interface Listener {
  /** As the system reports it: a numeric address. */
  readonly address: string
  readonly port: number
  /** `http://` or `https://`, address and port, no slash at the end. */
  readonly url: string
  /** Requests whose replies have not started, also of clients that have disconnected. */
  readonly requests: Pick<RunningRequests, 'whenIdle' | 'describe'>
  traffic(): PortTraffic
  /**
   * Serves for `delayMs` (default 0) while replies of HTTP/1.1 ask for their connections to be closed. Then accepts nothing more, closes
   * idle connections, lets running requests finish for at most `stopGraceMs`, and cuts off the rest. Resolves when every connection is
   * closed; a second call waits for the first.
   */
  stop(delayMs?: number): Promise<void>
  /** Uses this certificate for new connections; open ones continue. For a port that speaks TLS. */
  setTls(tls: NonNullable<ListenOptions['tls']>): void
}

/**
 * Serves HTTP/1.1, HTTP/2 and gRPC on one port. Without TLS the first bytes of a connection tell the versions apart
 * (prior knowledge, RFC 9113, section 3.3). Rejects when the address cannot be bound.
 */
export async function listen(options: ListenOptions): Promise<Listener> {
  const limits: PortLimits = { ...productLimits, ...options.limits }
  const admission = createConnectionAdmission(limits, options.isTrustedProxy ?? (() => false))
  const requests = createRunningRequests()
  const context: PortContext = {
    http: requests.track(options.http),
    grpc: options.grpc,
    errorDomain: options.errorDomain,
    log: options.log,
    addressOf: options.addressOf ?? clientAddressResolver([]),
    limits,
    reportAbuse: (address) => admission.reportAbuse(address),
    bodyBudget: options.budget ?? createServerBodyBudget(options.limits, options.isTrustedProxy),
    unreadReplies: options.unread ?? createUnreadReplies(),
    replyBatch: createReplyBatch(productLimits),
    requestIdOf: createRequestIds(),
    observer: options.observer,
    isTls: options.tls !== undefined,
    inFlight: { http: 0, grpc: 0 },
    stopping: false,
  }
  const http1 = createHttp1Server(context)
  const http2 = createHttp2Adapter(context)
  const sockets = new Set<Socket>()
  /** Bytes of connections that are closed. */
  const closed = { received: 0, sent: 0 }
  /** Those without TLS, which can be reset. */
  const http1Sockets = new WeakSet<Socket>()

  // A TLS socket is another one than the connection that it arrived on.
  const byPeer = new Map<string, Socket>()
  const handshakes = new WeakMap<Socket, PeerTimeout>()
  const onConnection = (socket: Socket, isHttp2: boolean) => {
    const connection = byPeer.get(peerOf(socket))
    if (connection !== undefined) {
      admission.markDecided(connection)
      handshakes.get(connection)?.clear()
    }
    if (isHttp2) {
      // HTTP/1 clients may close their sending half and wait for the reply; a half-closed HTTP/2 session is a dead one.
      socket.allowHalfOpen = false
      http2.accept(socket)
    } else {
      if (options.tls === undefined) http1Sockets.add(socket)
      http1.emit('connection', socket)
    }
  }
  const server = createListeningServer(options, context, onConnection)
  server.prependListener('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    if (admission.add(socket)) byPeer.set(peer, socket)
    else setImmediate(() => socket.destroy())
    if (options.tls !== undefined)
      handshakes.set(
        socket,
        startPeerTimeout(limits.protocolTimeoutMs, () => socket.destroy()),
      )
    sockets.add(socket)
    socket.on('close', () => {
      handshakes.get(socket)?.clear()
      sockets.delete(socket)
      closed.received += socket.bytesRead
      closed.sent += socket.bytesWritten
      admission.remove(socket)
      if (byPeer.get(peer) === socket) byPeer.delete(peer)
    })
    socket.on('error', (failure) => options.log.debug({ err: failure }, 'connection failed'))
  })
  const { source } = options
  if (source === undefined) {
    try {
      await bind(server, options)
    } catch (failure) {
      http1.close()
      http2.destroy()
      throw failure
    }
  } else
    source.open((socket) => {
      socket.allowHalfOpen = true
      server.emit('connection', socket)
    })
  server.on('error', (failure) => options.log.error({ err: failure }, 'accepting connections failed'))
  const stopAccepting = async (): Promise<{ readonly closed: Promise<unknown> }> => {
    if (source === undefined) return { closed: new Promise<void>((resolve) => server.close(() => resolve())) }
    await source.close()
    return { closed: Promise.all([...sockets].map(untilClosed)) }
  }

  const stopNow = async (delayMs: number) => {
    context.stopping = true
    if (delayMs > 0) await pause(delayMs)
    // What has arrived by now is accepted and read first: it would be reset otherwise.
    for (let count = 0; count < EVENT_LOOP_ITERATIONS; count++) await nextIteration()
    const { closed } = await stopAccepting()
    options.grpc.stop()
    const undecided = setTimeout(() => admission.dropUndecided(), context.limits.undecidedGraceMs)
    http1.close()
    http2.stop()
    // A reply that was being written when the stop began could not ask for a close any more: its connection turns idle.
    const idle = setInterval(() => http1.closeIdleConnections(), 50)
    const grace = setTimeout(() => void abortConnections(), context.limits.stopGraceMs)
    await closed
    clearInterval(idle)
    clearTimeout(undecided)
    clearTimeout(grace)
    http2.destroy()
  }
  /** Ends everything in such a way that no client takes a part of a reply for the whole. */
  const abortConnections = async () => {
    options.grpc.abort()
    http2.abort()
    // The failures leave first.
    for (let count = 0; count < EVENT_LOOP_ITERATIONS; count++) await nextIteration()
    http2.destroy()
    for (const socket of sockets) {
      if (http1Sockets.has(socket)) socket.resetAndDestroy()
      else socket.destroy()
    }
  }
  let stopped: Promise<void> | undefined
  const { address, family, port } = source?.address ?? (server.address() as AddressInfo)
  const host = family === 'IPv6' ? `[${address}]` : address
  return {
    address,
    port,
    setTls: ({ cert, key }) => {
      if (!(server instanceof TlsServer)) return
      server.setSecureContext({ cert, key, ...(source !== undefined && { ticketKeys: source.ticketKeys }) })
    },
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    requests,
    traffic() {
      const bytes = { ...closed }
      for (const { bytesRead, bytesWritten } of sockets) {
        bytes.received += bytesRead
        bytes.sent += bytesWritten
      }
      return { inFlight: context.inFlight, bytes }
    },
    stop(delayMs = 0) {
      stopped ??= stopNow(delayMs)
      return stopped
    },
  }
}

/** Enough for a connection that waits to be accepted, and for what it has sent. */
export const EVENT_LOOP_ITERATIONS = 3

/** Options of the sockets of clients. */
export const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  // Dead peers are found this way: nothing else ends a stream that waits for news.
  keepAlive: true,
  keepAliveInitialDelay: productLimits.tcpKeepAliveDelayMs,
}

/** Rejects with the error of the system if the address cannot be bound. */
export async function bind(
  server: Server,
  { host, port }: Pick<ListenOptions, 'host' | 'port'>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, host, resolve)
  try {
    await promise
  } finally {
    server.off('error', reject)
    server.off('listening', resolve)
  }
}

type ConnectionHandler = (socket: Socket, isHttp2: boolean) => void

async function untilClosed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** The maximum delay of a timer of Node: disables the timeout of node:tls, which may expire before data of the client is read. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

function createListeningServer(
  { tls, source }: ListenOptions,
  context: PortContext,
  onConnection: ConnectionHandler,
): Server {
  if (tls === undefined) {
    const { protocolTimeoutMs } = context.limits
    return createServer(socketOptions, (socket) => detectProtocol(socket, protocolTimeoutMs, onConnection))
  }
  const server = createTlsServer({
    ...socketOptions,
    cert: tls.cert,
    key: tls.key,
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(source !== undefined && { ticketKeys: source.ticketKeys }),
    handshakeTimeout: NO_TIMEOUT_MS,
  })
  server.on('secureConnection', (socket) => {
    socket.on('error', (failure) => context.log.debug({ err: failure }, 'connection failed'))
    onConnection(socket, socket.alpnProtocol === 'h2')
  })
  server.on('tlsClientError', (failure, socket) => {
    context.log.debug({ err: failure }, 'TLS handshake failed')
    socket.destroy()
  })
  return server
}

/** `PRI`: no method of HTTP/1 starts like this. */
const http2Start = preface.subarray(0, 3)

/** Waits for as many bytes as it takes to know the version; a network may deliver them one by one. */
function detectProtocol(socket: Socket, timeoutMs: number, onConnection: ConnectionHandler): void {
  let seen: Buffer = Buffer.alloc(0)
  const timeout = startPeerTimeout(timeoutMs, () => socket.destroy())
  const onEnd = () => {
    cleanUp()
    socket.destroy()
  }
  const cleanUp = () => {
    timeout.clear()
    socket.off('data', onData)
    socket.off('end', onEnd)
    socket.off('close', cleanUp)
  }
  const onData = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const known = Math.min(seen.length, http2Start.length)
    const isPrefix = seen.compare(http2Start, 0, known, 0, known) === 0
    if (isPrefix && known < http2Start.length) return
    cleanUp()
    socket.pause()
    socket.unshift(seen)
    onConnection(socket, isPrefix)
    socket.resume()
  }
  socket.on('data', onData)
  socket.on('end', onEnd)
  socket.on('close', cleanUp)
}
