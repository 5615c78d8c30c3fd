import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Cleanup } from '../server/process.ts'

/** A TCP proxy whose connections, old and new, stop passing bytes on. */
export interface FreezingProxy {
  readonly port: number
  freeze(): void
}

export async function startFreezingProxy(
  t: Cleanup,
  target: { readonly host: string; readonly port: number },
): Promise<FreezingProxy> {
  const sockets = new Set<Socket>()
  let isFrozen = false
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('data', (bytes) => void (isFrozen || to.write(bytes)))
      from.on('close', () => void (isFrozen || to.destroy()))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => {
      isFrozen = true
    },
  }
}
