import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '../server/process.ts'

/** Stands before a real registry and does to its answers what networks and other registries do. */

export interface ProxiedRequest {
  readonly request: IncomingMessage
  readonly reply: ServerResponse
  /** Lets the request through. Bytes of both bodies may be changed or broken off. */
  pass(through?: {
    /** What the client sends, piece by piece; undefined breaks the connection. */
    readonly sent?: (bytes: Buffer, at: number) => Buffer | undefined
    readonly answered?: (bytes: Buffer, at: number) => Buffer | undefined
    readonly headers?: (headers: Record<string, string | string[] | undefined>) => void
  }): void
}

export interface RegistryProxy {
  readonly host: string
  /** Method and path of each request, with the range that it asked for, and whether it showed who asks. */
  readonly seen: {
    readonly line: string
    readonly range: string | undefined
    readonly contentRange: string | undefined
    readonly isKnown: boolean
  }[]
}

export async function startRegistryProxy(
  t: Cleanup,
  target: string,
  handle: (passing: ProxiedRequest) => void = ({ pass }) => pass(),
): Promise<RegistryProxy> {
  const seen: RegistryProxy['seen'] = []
  const server = createServer((incoming, reply) => {
    const { method = '', url = '', headers } = incoming
    seen.push({
      line: `${method} ${url}`,
      range: headers.range,
      contentRange: headers['content-range'],
      isKnown: headers.authorization !== undefined,
    })
    const pass: ProxiedRequest['pass'] = ({ sent, answered, headers: change } = {}) => {
      const breakOff = () => {
        incoming.socket.destroy()
        outgoing.destroy()
      }
      const outgoing = request(`${target}${url}`, { method, headers }, (answer) => {
        change?.(answer.headers)
        reply.writeHead(answer.statusCode ?? 500, answer.headers)
        let at = 0
        answer.on('data', (bytes: Buffer) => {
          const changed = answered === undefined ? bytes : answered(bytes, at)
          at += bytes.length
          if (changed === undefined) return breakOff()
          if (!reply.write(changed)) {
            answer.pause()
            reply.once('drain', () => answer.resume())
          }
        })
        answer.on('end', () => reply.end())
        answer.on('error', () => reply.destroy())
      })
      outgoing.on('error', () => incoming.socket.destroy())
      let at = 0
      incoming.on('data', (bytes: Buffer) => {
        const changed = sent === undefined ? bytes : sent(bytes, at)
        at += bytes.length
        if (changed === undefined) return breakOff()
        if (!outgoing.write(changed)) {
          incoming.pause()
          outgoing.once('drain', () => incoming.resume())
        }
      })
      incoming.on('end', () => outgoing.end())
      incoming.on('error', () => outgoing.destroy())
    }
    handle({ request: incoming, reply, pass })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { host: `127.0.0.1:${port}`, seen }
}
