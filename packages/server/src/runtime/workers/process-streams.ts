import type { ChildProcess, Serializable } from 'node:child_process'
import { createReadStream } from 'node:fs'

/**
 * Streams of bytes from a process to a worker process that it started. The worker reads files itself. Of other streams it asks for each
 * chunk, so no more than one chunk per stream is on its way.
 */

/** Opens what a worker asks for by name. */
export type OpenStream = (name: string) => Promise<StreamSource>

export interface StreamSource {
  /** A chunk is valid until the next one is requested. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** A file with the same bytes. */
  readonly file?: StreamFile | undefined
}

export interface StreamFile {
  readonly path: string
  readonly size: number
}

/** Of a worker: the next chunk of a stream, which the first request opens, or its end. */
export interface StreamRequest {
  readonly stream: number
  readonly name: string
  readonly action: 'next' | 'close'
}

/** A file to read, or a chunk; the end without either. */
export interface StreamReply {
  readonly stream: number
  readonly file?: StreamFile
  readonly chunk?: Uint8Array
  readonly failure?: string
}

export function isStreamMessage(message: unknown): message is { readonly stream: number } {
  return typeof message === 'object' && message !== null && 'stream' in message
}

/** Answers the stream requests of one request to a worker; the returned function closes what is still open. */
export function serveStreams(child: ChildProcess, open: OpenStream): () => void {
  const streams = new Map<number, AsyncIterator<Uint8Array>>()
  let isClosed = false
  const close = (stream: number) => {
    void streams
      .get(stream)
      ?.return?.()
      ?.catch(() => undefined)
    streams.delete(stream)
  }
  const reply = (message: StreamReply) => {
    if (child.connected) child.send(message as unknown as Serializable, () => undefined)
  }
  const sendNext = async ({ stream, name }: StreamRequest) => {
    try {
      let chunks = streams.get(stream)
      if (chunks === undefined) {
        const { bytes, file } = await open(name)
        // The request ended meanwhile.
        if (isClosed) return
        chunks = bytes[Symbol.asyncIterator]()
        streams.set(stream, chunks)
        if (file !== undefined) return reply({ stream, file })
      }
      const { done, value } = await chunks.next()
      if (done !== true) return reply({ stream, chunk: value })
      streams.delete(stream)
      reply({ stream })
    } catch (error) {
      streams.delete(stream)
      reply({ stream, failure: error instanceof Error ? error.message : String(error) })
    }
  }
  const listener = (message: unknown) => {
    if (!isStreamMessage(message)) return
    const request = message as StreamRequest
    if (request.action === 'close') close(request.stream)
    else void sendNext(request)
  }
  child.on('message', listener)
  return () => {
    isClosed = true
    child.off('message', listener)
    for (const stream of streams.keys()) close(stream)
  }
}

let lastStream = 0
const waiting = new Map<number, PromiseWithResolvers<StreamReply>>()

/** Called by a worker for each reply. */
export function receiveStreamReply(reply: StreamReply): void {
  waiting.get(reply.stream)?.resolve(reply)
  waiting.delete(reply.stream)
}

/** Called by a worker: reads a stream of the process that started it. Throws if that one cannot read it. */
export async function* readParentStream(name: string): AsyncGenerator<Uint8Array> {
  lastStream++
  const stream = lastStream
  let isOpen = true
  const send = (action: StreamRequest['action']) =>
    process.send?.({ stream, name, action } satisfies StreamRequest)
  const next = async () => {
    const reply = Promise.withResolvers<StreamReply>()
    waiting.set(stream, reply)
    send('next')
    const { file, chunk, failure } = await reply.promise
    isOpen = file !== undefined || chunk !== undefined
    if (failure !== undefined) throw new Error(failure)
    return { file, chunk }
  }
  try {
    let { file, chunk } = await next()
    let bytesRead = 0
    if (file !== undefined) {
      for await (const piece of readUntilFailure(file)) {
        bytesRead += piece.length
        yield piece
      }
      if (bytesRead === file.size) return
      // The process that started this one continues, or knows why it cannot.
      chunk = (await next()).chunk
    }
    for (; chunk !== undefined; chunk = (await next()).chunk) {
      const rest = chunk.subarray(bytesRead)
      bytesRead = Math.max(0, bytesRead - chunk.length)
      if (rest.length > 0) yield rest
    }
  } finally {
    if (isOpen) send('close')
  }
}

const FILE_CHUNK_BYTES = 256 * 1024

/** Reads a file; ends early if it cannot be read. */
async function* readUntilFailure({ path, size }: StreamFile): AsyncGenerator<Uint8Array> {
  if (size === 0) return
  const file = createReadStream(path, { end: size - 1, highWaterMark: FILE_CHUNK_BYTES })
  try {
    yield* file
  } catch {}
}
