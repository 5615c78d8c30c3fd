import { connect, type Socket } from 'node:net'

/** Load over HTTP/1.1: keep-alive connections with one request under way on each. Small, so that the server is the bound. */

export interface Load {
  readonly count: number
  readonly seconds: number
  /** Median time of one request. */
  readonly latencyMs: number
}

export interface HttpTarget {
  readonly port: number
  /** The next request to send, whole. */
  next(): Buffer
}

export interface HttpReply {
  readonly status: number
  readonly body: string
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *([0-9]+)/i

export function request(
  method: string,
  path: string,
  { token, body }: { readonly token?: string | undefined; readonly body?: string | undefined } = {},
): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'accept: application/json']
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`)
  if (body !== undefined)
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

/** The requests over and over. */
export function cycle(requests: readonly Buffer[]): () => Buffer {
  let at = 0
  return () => requests[at++ % requests.length] as Buffer
}

/** One connection, one request at a time. */
export interface HttpClient {
  send(request: Buffer): Promise<HttpReply>
  close(): void
}

export async function httpClient(port: number): Promise<HttpClient> {
  const connection = await open(port)
  return {
    send: (bytes) =>
      new Promise((resolve, reject) => {
        connection.send(bytes, { reply: resolve, failed: reject })
      }),
    close: () => connection.socket.destroy(),
  }
}

/** Makes a resource; returns its uid. */
export async function createResource(
  port: number,
  token: string,
  path: string,
  resource: object,
): Promise<string> {
  const client = await httpClient(port)
  try {
    const reply = await client.send(request('POST', path, { token, body: JSON.stringify(resource) }))
    if (reply.status !== 200) throw new Error(`nothing could be made at ${path}: ${reply.body}`)
    return (JSON.parse(reply.body) as { uid: string }).uid
  } finally {
    client.close()
  }
}

/** Keeps `connections` busy for `seconds`. Rejects when an answer is not a success. */
export async function httpLoad(target: HttpTarget, connections: number, seconds: number): Promise<Load> {
  const connected = await Promise.all(Array.from({ length: connections }, () => open(target.port)))
  const latencies: number[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  let count = 0
  try {
    await Promise.all(
      connected.map(
        (connection) =>
          new Promise<void>((resolve, reject) => {
            let sentMs = 0
            const send = () => {
              sentMs = performance.now()
              connection.send(target.next(), { status: answered, failed: reject })
            }
            const answered = (status: number) => {
              if (status < 200 || status > 299) {
                reject(new Error(`the server answered ${status} under load`))
                return
              }
              const nowMs = performance.now()
              count++
              if ((count & 15) === 0 || latencies.length < 1000) latencies.push(nowMs - sentMs)
              if (nowMs < endMs) send()
              else resolve()
            }
            send()
          }),
      ),
    )
  } finally {
    for (const { socket } of connected) socket.destroy()
  }
  return { count, seconds: (performance.now() - startMs) / 1000, latencyMs: medianOf(latencies) }
}

interface Waiter {
  readonly status?: (status: number) => void
  readonly reply?: (reply: HttpReply) => void
  readonly failed: (error: Error) => void
}

interface Connection {
  readonly socket: Socket
  send(bytes: Buffer, waiter: Waiter): void
}

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let waiter: Waiter | undefined
    let rest: Buffer | undefined
    let missing = 0
    const done = (bytes: Buffer) => {
      const { status, reply } = waiter as Waiter
      waiter = undefined
      rest = undefined
      missing = 0
      const code = Number(bytes.toString('latin1', 9, 12))
      status?.(code)
      reply?.({ status: code, body: bytes.subarray(bytes.indexOf(HEAD_END) + 4).toString() })
    }
    socket.on('data', (chunk: Buffer) => {
      const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk])
      if (missing > bytes.length) {
        rest = bytes
        return
      }
      const head = bytes.indexOf(HEAD_END)
      if (head >= 0) {
        const length = LENGTH.exec(bytes.toString('latin1', 0, head))?.[1]
        missing = head + 4 + Number(length ?? 0)
        if (bytes.length >= missing) {
          done(bytes)
          return
        }
      }
      rest = bytes
    })
    const fail = (error: Error) => {
      reject(error)
      waiter?.failed(error)
    }
    socket.on('error', fail)
    socket.on('close', () => fail(new Error('the server closed the connection')))
    socket.on('connect', () =>
      resolve({
        socket,
        send(bytes, next) {
          waiter = next
          socket.write(bytes)
        },
      }),
    )
  })
}

export function medianOf(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}
