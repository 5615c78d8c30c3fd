import { type ClientHttp2Session, connect } from 'node:http2'
import { cycle, type Load, medianOf } from './http-load.ts'

/** Load over gRPC: unary calls as plain HTTP/2 streams, many concurrently on few connections. */

export interface GrpcTarget {
  readonly port: number
  readonly path: string
  readonly token: string | undefined
  /** Returns the frame to send next. */
  readonly next: () => Buffer
}

/** Returns a function that returns serialized request messages as frames, one after the other; after the last, the first again. */
export function createFrameSource(messages: readonly Uint8Array[]): () => Buffer {
  return cycle(messages.map(framed))
}

const SESSIONS = 4

/** One call; the reply's message without its frame. */
export async function grpcCall(target: GrpcTarget): Promise<Buffer> {
  const session = connect(`http://127.0.0.1:${target.port}`)
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      session.on('error', reject)
      call(session, headersOf(target), target.next(), (bytes) => resolve(bytes.subarray(5)), reject)
    })
  } finally {
    session.close()
  }
}

export async function grpcLoad(target: GrpcTarget, streams: number, seconds: number): Promise<Load> {
  const sessions = Array.from({ length: SESSIONS }, () => connect(`http://127.0.0.1:${target.port}`))
  for (const session of sessions) session.setMaxListeners(streams)
  const headers = headersOf(target)
  const latencies: number[] = []
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  let count = 0
  try {
    await Promise.all(
      Array.from(
        { length: streams },
        (_, index) =>
          new Promise<void>((resolve, reject) => {
            const session = sessions[index % SESSIONS] as ClientHttp2Session
            session.on('error', reject)
            const send = () => {
              const sentMs = performance.now()
              const answered = () => {
                const nowMs = performance.now()
                count++
                if ((count & 15) === 0 || latencies.length < 1000) latencies.push(nowMs - sentMs)
                if (nowMs < endMs) send()
                else resolve()
              }
              call(session, headers, target.next(), answered, reject)
            }
            send()
          }),
      ),
    )
  } finally {
    for (const session of sessions) session.destroy()
  }
  return { count, seconds: (performance.now() - startMs) / 1000, latencyMs: medianOf(latencies) }
}

function headersOf({ port, path, token }: GrpcTarget): Record<string, string> {
  return {
    ':method': 'POST',
    ':path': path,
    ':authority': `127.0.0.1:${port}`,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + message.length)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, 5)
  return frame
}

function call(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body: Buffer,
  answered: (bytes: Buffer) => void,
  failed: (error: Error) => void,
): void {
  const stream = session.request(headers)
  let bytes: Buffer | undefined
  let status: unknown
  stream.on('response', (head) => {
    status = head['grpc-status']
  })
  stream.on('trailers', (trailers) => {
    status = trailers['grpc-status']
  })
  stream.on('data', (chunk: Buffer) => {
    bytes = bytes === undefined ? chunk : Buffer.concat([bytes, chunk])
  })
  stream.on('error', failed)
  stream.on('end', () => {
    if (String(status) === '0' && bytes !== undefined) answered(bytes)
    else failed(new Error(`the call ended with grpc-status ${String(status)}`))
  })
  stream.end(body)
}
