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
  /** Status line and headers. */
  readonly head: string
  readonly body: string
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH = /\r\ncontent-length: *([0-9]+)/i
const CLOSES = /\r\nconnection: *close/i
const CHUNKED = /\r\ntransfer-encoding: *chunked/i
/** No JSON has this in it, and one request is under way at a time. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

export function request(
  method: string,
  path: string,
  { token, body }: { readonly token?: string | undefined; readonly body?: string | undefined } = {},
): Buffer {
  const lines = ['accept: application/json']
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`)
  if (body !== undefined)
    lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return Buffer.concat([requestHead(method, path, lines), Buffer.from(body ?? '')])
}

/** A request up to its body. */
export function requestHead(method: string, path: string, headers: readonly string[]): Buffer {
  return Buffer.from([`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', ...headers, '', ''].join('\r\n'))
}

/** Returns a function that returns the requests one after the other; after the last, the first again. */
export function cycle(requests: readonly Buffer[]): () => Buffer {
  let at = 0
  return () => requests[at++ % requests.length] as Buffer
}

/** One connection, one request at a time. It connects again if the server closes the connection with a reply. */
export interface HttpClient {
  send(...request: readonly Buffer[]): Promise<HttpReply>
  /** The same for an answer whose body is thrown away as it comes. */
  skim(...request: readonly Buffer[]): Promise<HttpReply>
  close(): void
}

export async function httpClient(port: number): Promise<HttpClient> {
  let connection = await open(port)
  let closes = false
  const ask = async (bytes: readonly Buffer[], keeps: boolean) => {
    if (closes) connection = await open(port)
    const reply = await new Promise<HttpReply>((resolve, reject) => {
      connection.send(bytes, { answered: resolve, failed: reject, keeps })
    })
    closes = CLOSES.test(reply.head)
    return reply
  }
  return {
    send: (...bytes) => ask(bytes, true),
    skim: (...bytes) => ask(bytes, false),
    close: () => connection.socket.destroy(),
  }
}

/** Creates a resource; returns its uid. */
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
  const opened = Array.from({ length: connections }, () => open(target.port))
  const connected = await Promise.all(opened)
  const one = (connection: Connection) => (done: () => void, failed: (error: Error) => void) =>
    connection.send([target.next()], {
      answered({ status }) {
        if (status >= 200 && status <= 299) done()
        else failed(new Error(`the server answered ${status} under load`))
      },
      failed,
      keeps: false,
    })
  try {
    return await busy(connected.map(one), seconds)
  } finally {
    for (const { socket } of connected) socket.destroy()
  }
}

/** Keeps `connections` busy with one `flow` of requests after another, which counts as one. */
export async function flowLoad(
  port: number,
  connections: number,
  seconds: number,
  flow: (client: HttpClient) => Promise<void>,
): Promise<Load> {
  const clients = await Promise.all(Array.from({ length: connections }, () => httpClient(port)))
  const one = (client: HttpClient) => (done: () => void, failed: (error: Error) => void) =>
    void flow(client).then(done, failed)
  try {
    return await busy(clients.map(one), seconds)
  } finally {
    for (const client of clients) client.close()
  }
}

type Work = (done: () => void, failed: (error: Error) => void) => void

async function busy(works: readonly Work[], seconds: number): Promise<Load> {
  const latencies: number[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  let count = 0
  const again = (work: Work) =>
    new Promise<void>((resolve, reject) => {
      let sentMs = 0
      const send = () => {
        sentMs = performance.now()
        work(done, reject)
      }
      const done = () => {
        const nowMs = performance.now()
        count++
        if ((count & 15) === 0 || latencies.length < 1000) latencies.push(nowMs - sentMs)
        if (nowMs < endMs) send()
        else resolve()
      }
      send()
    })
  await Promise.all(works.map(again))
  return { count, seconds: (performance.now() - startMs) / 1000, latencyMs: medianOf(latencies) }
}

interface Waiter {
  readonly answered: (reply: HttpReply) => void
  readonly failed: (error: Error) => void
  /** Whether the body is wanted. */
  readonly keeps: boolean
}

interface Connection {
  readonly socket: Socket
  send(bytes: readonly Buffer[], waiter: Waiter): void
}

/** What is being read, of any connection: new memory for each read would cost the load generator more than the server spends. */
const received = Buffer.allocUnsafeSlow(256 * 1024)

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const onread = {
      buffer: received,
      callback: (length: number, buffer: Uint8Array) => {
        onData(Buffer.from(buffer.buffer, buffer.byteOffset, length))
        return true
      },
    }
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
    let waiter: Waiter | undefined
    let isHead = false
    /** The beginning of a head, then the pieces of a body. */
    let kept: Buffer[] = []
    let head: string | undefined
    /** Bytes of the body that have not come; infinite where only the last chunk will tell. */
    let missing = 0
    let tail = Buffer.alloc(0)

    const beginBody = (bytes: Buffer, headBytes: number): Buffer => {
      head = bytes.toString('latin1', 0, headBytes)
      const length = LENGTH.exec(head)?.[1]
      missing = isHead ? 0 : length === undefined && CHUNKED.test(head) ? Infinity : Number(length ?? 0)
      kept = []
      return bytes.subarray(headBytes + HEAD_END.length)
    }
    const onData = (chunk: Buffer) => {
      let bytes = chunk
      if (head === undefined) {
        if (kept.length > 0) bytes = Buffer.concat([...kept, chunk])
        const headBytes = bytes.indexOf(HEAD_END)
        if (headBytes < 0) {
          kept = [Buffer.from(bytes)]
          return
        }
        bytes = beginBody(bytes, headBytes)
      }
      if (waiter?.keeps === true) kept.push(Buffer.from(bytes))
      const isChunked = missing === Infinity
      if (isChunked) {
        tail = Buffer.concat([tail, bytes.subarray(-LAST_CHUNK.length)]).subarray(-LAST_CHUNK.length)
        if (!tail.equals(LAST_CHUNK)) return
      } else {
        missing -= bytes.length
        if (missing > 0) return
      }
      const { answered, keeps } = waiter as Waiter
      const reply = {
        status: Number(head?.slice(9, 12)),
        head: head ?? '',
        body: keeps ? textOf(Buffer.concat(kept), isChunked) : '',
      }
      waiter = undefined
      head = undefined
      kept = []
      answered(reply)
    }
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
          isHead = bytes[0]?.[0] === 'H'.charCodeAt(0)
          if (bytes.length > 1) socket.cork()
          for (const piece of bytes) socket.write(piece)
          if (bytes.length > 1) socket.uncork()
        },
      }),
    )
  })
}

function textOf(body: Buffer, isChunked: boolean): string {
  if (!isChunked) return body.toString()
  const chunks: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const line = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.toString('latin1', at, line), 16)
    if (!(length > 0)) break
    chunks.push(body.subarray(line + 2, line + 2 + length))
    at = line + 2 + length + 2
  }
  return Buffer.concat(chunks).toString()
}

export function medianOf(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}
