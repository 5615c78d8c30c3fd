import type { ChildProcess, Serializable } from 'node:child_process'

/**
 * Streams of bytes from a process to a worker process that it started. The worker asks for each chunk, so no more than one chunk per stream
 * is on its way.
 */

/** Opens what a worker asks for by name. A chunk is valid until the next one is requested. */
export type OpenStream = (name: string) => AsyncIterable<Uint8Array>

/** Of a worker: the next chunk of a stream, which the first request opens, or its end. */
export interface StreamRequest {
  readonly stream: number
  readonly name: string
  readonly action: 'next' | 'close'
}

/** A chunk; the end without one. */
export interface StreamReply {
  readonly stream: number
  readonly chunk?: Uint8Array
  readonly failure?: string
}

export function isStreamMessage(message: unknown): message is { readonly stream: number } {
  return typeof message === 'object' && message !== null && 'stream' in message
}

/** Answers the stream requests of one request to a worker; the returned function closes what is still open. */
export function serveStreams(child: ChildProcess, open: OpenStream): () => void {
  const streams = new Map<number, AsyncIterator<Uint8Array>>()
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
      const source = streams.get(stream) ?? open(name)[Symbol.asyncIterator]()
      streams.set(stream, source)
      const { done, value } = await source.next()
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
  try {
    for (;;) {
      const reply = Promise.withResolvers<StreamReply>()
      waiting.set(stream, reply)
      send('next')
      const { chunk, failure } = await reply.promise
      isOpen = chunk !== undefined
      if (failure !== undefined) throw new Error(failure)
      if (chunk === undefined) return
      yield chunk
    }
  } finally {
    if (isOpen) send('close')
  }
}
