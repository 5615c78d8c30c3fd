import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Cleanup } from '../server/process.ts'

/** A TCP proxy of loopback that injects faults of a network path. It knows no protocol. */

/**
 * What the proxy does with bytes.
 *
 * - `pass`: forwards them.
 * - `stall`: holds them back both ways, and accepts new connections without forwarding; `pass` delivers everything, as TCP does after
 *   a short partition, or as a process does after SIGCONT.
 * - `drop`: swallows them both ways without any sign to either side, and accepts new connections without forwarding. A connection that was
 *   in this state stays so for good: the bytes are lost.
 * - `drop replies`: forwards requests and swallows replies (half-open). Such connections stay so, too.
 * - `delay`: forwards each piece after `ms`.
 * - `cut`: forwards `replyBytes` bytes of replies of each connection, counted from now, then resets the connection.
 * - `refuse`: new connections get ECONNREFUSED; open ones are forwarded.
 */
export type Fault =
  | { readonly kind: 'pass' | 'stall' | 'drop' | 'drop replies' | 'refuse' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'cut'; readonly replyBytes: number }

export interface FaultProxy {
  readonly port: number
  /** `target` with this proxy in place of its host and port. */
  through(target: string): string
  /** Applies a fault to open connections (those that `drop` lost stay lost) and to new ones. */
  apply(fault: Fault): Promise<void>
  /** Loses all open connections without a sign, as a NAT gateway that forgets them; new ones are forwarded. Returns how many. */
  loseOpen(): number
  /** Resets (RST) all open connections. Returns how many. */
  resetOpen(): number
  /** Ends (FIN) all open connections. Returns how many. */
  endOpen(): number
  /** Open connections of clients, lost ones included. */
  open(): number
  /** Connections that were accepted since the start. */
  accepted(): number
}

interface ProxiedConnection {
  readonly client: Socket
  /** Undefined as long as nothing is forwarded. */
  server: Socket | undefined
  lost: 'both' | 'replies' | undefined
  replyBytesLeft: number
}

/** Starts a proxy before `target`, an address such as `postgres://user@127.0.0.1:5432/db`, or a port of loopback. */
export async function startFaultProxy(t: Cleanup, target: string | number): Promise<FaultProxy> {
  const to = typeof target === 'number' ? { host: '127.0.0.1', port: target } : addressOf(new URL(target))
  const links = new Set<ProxiedConnection>()
  let fault: Fault = { kind: 'pass' }
  let accepted = 0

  const isStalled = (link: ProxiedConnection) => fault.kind === 'stall' && link.lost === undefined
  const forward = (
    link: ProxiedConnection,
    from: Socket,
    dataTo: () => Socket | undefined,
    isReply: boolean,
  ) => {
    from.on('data', (bytes: Buffer) => {
      if (link.lost === 'both' || (isReply && link.lost === 'replies')) return
      const deliver = () => {
        const receiver = dataTo()
        if (receiver === undefined || receiver.destroyed) return
        if (!receiver.write(bytes)) {
          from.pause()
          receiver.once('drain', () => void (isStalled(link) || from.resume()))
        }
      }
      if (fault.kind === 'delay') setTimeout(deliver, fault.ms)
      else if (fault.kind === 'cut' && isReply) {
        link.replyBytesLeft -= bytes.length
        if (link.replyBytesLeft > 0) return deliver()
        const rest = bytes.subarray(0, bytes.length + link.replyBytesLeft)
        dataTo()?.write(rest, () => reset(link))
      } else deliver()
    })
    from.on('end', () => {
      if (link.lost === undefined) dataTo()?.end()
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      // A path that loses bytes cannot report to one side that the other has gone.
      if (link.lost === undefined) dataTo()?.destroy()
      if (from === link.client) {
        links.delete(link)
        link.server?.destroy()
      }
    })
  }

  const attach = (link: ProxiedConnection) => {
    const upstream = connect(to.port, to.host)
    link.server = upstream
    forward(link, upstream, () => link.client, true)
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted++
    const link: ProxiedConnection = {
      client,
      server: undefined,
      lost: undefined,
      replyBytesLeft: Number.POSITIVE_INFINITY,
    }
    links.add(link)
    forward(link, client, () => link.server, false)
    impose(link)
  })

  const impose = (link: ProxiedConnection) => {
    if (fault.kind === 'drop') link.lost = 'both'
    if (fault.kind === 'drop replies' && link.lost === undefined) link.lost = 'replies'
    if (fault.kind === 'cut') link.replyBytesLeft = fault.replyBytes
    if (isStalled(link)) {
      link.client.pause()
      link.server?.pause()
      return
    }
    if (link.server === undefined && link.lost !== 'both') attach(link)
    link.client.resume()
    link.server?.resume()
  }

  const ofAll = (work: (link: ProxiedConnection) => void) => () => {
    const all = [...links]
    for (const link of all) work(link)
    return all.length
  }

  const listenOn = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listenOn(0)
  const { port } = server.address() as AddressInfo
  t.after(() => {
    if (server.listening) server.close()
    for (const { client, server: upstream } of links) {
      client.destroy()
      upstream?.destroy()
    }
  })

  return {
    port,
    through(address) {
      const url = new URL(address)
      url.hostname = '127.0.0.1'
      url.port = String(port)
      return url.href
    },
    async apply(next) {
      fault = next
      if (next.kind === 'refuse') server.close()
      else if (!server.listening) await listenOn(port)
      for (const link of links) impose(link)
    },
    loseOpen: ofAll((link) => {
      link.lost = 'both'
    }),
    resetOpen: ofAll(reset),
    endOpen: ofAll(({ client, server: upstream }) => {
      client.end()
      upstream?.end()
    }),
    open: () => links.size,
    accepted: () => accepted,
  }
}

function reset({ client, server }: ProxiedConnection): void {
  client.resetAndDestroy()
  server?.resetAndDestroy()
}

function addressOf({ hostname, port }: URL): { readonly host: string; readonly port: number } {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
}
