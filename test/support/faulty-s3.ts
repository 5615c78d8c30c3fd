import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Cleanup } from './process.ts'

/** A way to an S3 server on which answers get lost, come late or are others. */
export interface FaultyWay {
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

export async function faultyWay(t: Cleanup, target: string): Promise<FaultyWay> {
  const requests: string[] = []
  const traceparents: string[] = []
  const server = createServer((asked, answer) => {
    const { method = '', url = '' } = asked
    requests.push(`${method} ${url}`)
    traceparents.push(String(asked.headers['traceparent']))
    const fault = way.fault({ method, url })
    if (fault === 'cut') {
      asked.socket.destroy()
      return
    }
    if (fault === 'SlowDown' || fault === 'XMinioStorageFull') {
      asked.resume()
      asked.on('end', () => {
        answer.writeHead(fault === 'SlowDown' ? 503 : 507, { 'content-type': 'application/xml' })
        answer.end(`<Error><Code>${fault}</Code><Message>Please reduce your request rate.</Message></Error>`)
      })
      return
    }
    const { hostname, port } = new URL(target)
    const passed = request({ hostname, port, method, path: url, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode ?? 500, got.headers)
      if (fault === 'cut answer') cutLate(got, asked)
      got.pipe(answer)
    })
    passed.on('error', () => asked.socket.destroy())
    if (fault === 'damage') {
      asked.once('data', (piece: Buffer) => {
        piece[0] = 255 - (piece[0] ?? 0)
      })
    }
    asked.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const way: FaultyWay = { url, fault: () => undefined, requests, traceparents }
  return way
}

function cutLate(answer: IncomingMessage, { socket }: IncomingMessage): void {
  let bytes = 0
  answer.on('data', (piece: Uint8Array) => {
    bytes += piece.length
    if (bytes > CUT_AFTER_BYTES) socket.destroy()
  })
}
