import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from '../server/process.ts'

/** A way to an S3 server on which answers get lost, come late or are others. */
export interface FaultyS3Proxy {
  readonly url: string
  /** Asked for each request; nothing goes wrong where it answers undefined. */
  fault: (asked: { readonly method: string; readonly url: string }) => Fault | undefined
  /** How many requests came. */
  readonly requests: readonly string[]
  /** Their trace headers. */
  readonly traceparents: readonly string[]
}

/**
 * The server is too busy, or full; the connection breaks before the request arrives, or in the middle of its answer; the first byte that is sent
 * is another.
 */
type Fault = 'SlowDown' | 'XMinioStorageFull' | 'cut' | 'cut answer' | 'damage'

const CUT_AFTER_BYTES = 300_000

export async function startFaultyS3Proxy(t: Cleanup, target: string): Promise<FaultyS3Proxy> {
  const requests: string[] = []
  const traceparents: string[] = []
  const server = createServer((incoming, response) => {
    const { method = '', url = '' } = incoming
    requests.push(`${method} ${url}`)
    traceparents.push(String(incoming.headers['traceparent']))
    const fault = proxy.fault({ method, url })
    if (fault === 'cut') {
      incoming.socket.destroy()
      return
    }
    if (fault === 'SlowDown' || fault === 'XMinioStorageFull') {
      incoming.resume()
      incoming.on('end', () => {
        response.writeHead(fault === 'SlowDown' ? 503 : 507, { 'content-type': 'application/xml' })
        response.end(
          `<Error><Code>${fault}</Code><Message>Please reduce your request rate.</Message></Error>`,
        )
      })
      return
    }
    const { hostname, port } = new URL(target)
    const passed = request({ hostname, port, method, path: url, headers: incoming.headers }, (got) => {
      response.writeHead(got.statusCode ?? 500, got.headers)
      if (fault === 'cut answer') cutResponse(got, incoming)
      got.pipe(response)
    })
    passed.on('error', () => incoming.socket.destroy())
    if (fault === 'damage') {
      incoming.once('data', (piece: Buffer) => {
        piece[0] = 255 - (piece[0] ?? 0)
      })
    }
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy: FaultyS3Proxy = { url, fault: () => undefined, requests, traceparents }
  return proxy
}

function cutResponse(answer: IncomingMessage, { socket }: IncomingMessage): void {
  let bytes = 0
  answer.on('data', (piece: Uint8Array) => {
    bytes += piece.length
    if (bytes > CUT_AFTER_BYTES) socket.destroy()
  })
}
