import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { limits as productLimits } from './core/limits.ts'
import type { TransportLog } from './gateway/status.ts'
import type { AddressOf, HttpHandler } from './http.ts'
import { http1Server } from './http1.ts'
import { http2Side } from './http2.ts'
import { clientAddresses } from './limits/client-address.ts'
import { type GrpcHandler, type PortContext, type PortLimits, requestIds } from './port.ts'

export interface ListenOptions {
  /** Address or host name to bind to. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** PEM texts. With them the port speaks TLS only, and ALPN tells HTTP/2 from HTTP/1.1. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  readonly http: HttpHandler
  readonly grpc: GrpcHandler
  /** `domain` of the ErrorInfo in errors that the port itself answers with. */
  readonly errorDomain: string
  readonly log: TransportLog
  /** Default: no proxy is trusted. */
  readonly addressOf?: AddressOf | undefined
  /** Replaces single limits of core/limits.ts. */
  readonly limits?: Partial<PortLimits> | undefined
}

export interface Listening {
  /** As the system reports it: a numeric address. */
  readonly address: string
  readonly port: number
  /** `http://` or `https://`, address and port, no slash at the end. */
  readonly url: string
  /**
   * Accepts nothing more, closes idle connections, lets running requests finish for at most `stopGraceMs`, then closes
   * everything. Resolves when every connection is closed; a second call waits for the first.
   */
  stop(): Promise<void>
}

/**
 * Serves HTTP/1.1, HTTP/2 and gRPC on one port. Without TLS the first bytes of a connection tell the versions apart
 * (prior knowledge, RFC 9113, section 3.3). Rejects when the address cannot be bound.
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const context: PortContext = {
    http: options.http,
    grpc: options.grpc,
    errorDomain: options.errorDomain,
    log: options.log,
    addressOf: options.addressOf ?? clientAddresses([]),
    limits: { ...productLimits, ...options.limits },
    nextRequestId: requestIds(),
    stopping: false,
  }
  const http1 = http1Server(context)
  const http2 = http2Side(context)
  const sockets = new Set<Socket>()
  const undecided = new Set<Socket>()

  const hand = (socket: Socket, isHttp2: boolean) => {
    if (isHttp2) {
      // HTTP/1 clients may close their sending half and wait for the reply; a half-closed HTTP/2 session is a dead one.
      socket.allowHalfOpen = false
      http2.accept(socket)
    } else {
      http1.emit('connection', socket)
    }
  }
  const server = open(options, context, hand, undecided)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', (failure) => options.log.debug({ err: failure }, 'connection failed'))
  })
  await new Promise<void>((resolve, reject) => {
    const fail = (failure: Error) => {
      http1.close()
      http2.destroy()
      reject(failure)
    }
    server.once('error', fail)
    server.listen(options.port, options.host, () => {
      server.off('error', fail)
      resolve()
    })
  })
  server.on('error', (failure) => options.log.error({ err: failure }, 'accepting connections failed'))

  const stopNow = async () => {
    context.stopping = true
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    options.grpc.stop()
    for (const socket of undecided) socket.destroy()
    http1.close()
    http2.stop()
    // A reply that was being written when the stop began could not ask for a close any more: its connection turns idle.
    const idle = setInterval(() => http1.closeIdleConnections(), 50)
    const grace = setTimeout(() => {
      http2.destroy()
      for (const socket of sockets) socket.destroy()
    }, context.limits.stopGraceMs)
    await closed
    clearInterval(idle)
    clearTimeout(grace)
    http2.destroy()
  }
  let stopped: Promise<void> | undefined
  const { address, family, port } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return {
    address,
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`,
    stop() {
      stopped ??= stopNow()
      return stopped
    },
  }
}

type Hand = (socket: Socket, isHttp2: boolean) => void

function open({ tls }: ListenOptions, context: PortContext, hand: Hand, undecided: Set<Socket>): Server {
  const { protocolTimeoutMs } = context.limits
  const socketOptions = {
    allowHalfOpen: true,
    noDelay: true,
    // Dead peers are found this way: nothing else ends a stream that waits for news.
    keepAlive: true,
    keepAliveInitialDelay: productLimits.tcpKeepAliveDelayMs,
  }
  if (tls === undefined) {
    return createServer(socketOptions, (socket) => decide(socket, protocolTimeoutMs, undecided, hand))
  }
  const server = createTlsServer({
    ...socketOptions,
    cert: tls.cert,
    key: tls.key,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: protocolTimeoutMs,
  })
  server.on('secureConnection', (socket) => {
    socket.on('error', (failure) => context.log.debug({ err: failure }, 'connection failed'))
    hand(socket, socket.alpnProtocol === 'h2')
  })
  server.on('tlsClientError', (failure, socket) => {
    context.log.debug({ err: failure }, 'TLS handshake failed')
    socket.destroy()
  })
  return server
}

/** `PRI * HTTP/2.0`: no HTTP/1 method begins like this. */
const preface = Buffer.from('PRI')

/** Waits for as many bytes as it takes to know the version; a network may deliver them one by one. */
function decide(socket: Socket, timeoutMs: number, undecided: Set<Socket>, hand: Hand): void {
  let seen: Buffer = Buffer.alloc(0)
  undecided.add(socket)
  const timer = setTimeout(() => socket.destroy(), timeoutMs)
  const giveUp = () => {
    settle()
    socket.destroy()
  }
  const settle = () => {
    clearTimeout(timer)
    undecided.delete(socket)
    socket.off('data', look)
    socket.off('end', giveUp)
    socket.off('close', settle)
  }
  const look = (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk])
    const known = Math.min(seen.length, preface.length)
    const isPrefix = seen.compare(preface, 0, known, 0, known) === 0
    if (isPrefix && known < preface.length) return
    settle()
    socket.pause()
    socket.unshift(seen)
    hand(socket, isPrefix)
    // An HTTP/2 session fetches what is buffered by itself, later; flowing now, it would be lost.
    if (!isPrefix) socket.resume()
  }
  socket.on('data', look)
  socket.on('end', giveUp)
  socket.on('close', settle)
}
