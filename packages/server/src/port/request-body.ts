import { ByteCollector } from '../runtime/byte-collector.ts'
import type { BufferedBody } from './bodies/body-budget.ts'
import { afterPendingReads, PEER_TIMEOUT_PARTS } from './peer-timeout.ts'
import type { PortLimits } from './port-context.ts'
import { bodyTooLarge, clientDisconnected, requestTimedOut } from './transport-errors.ts'

/** A body that arrives: what a Readable of Node and a stream of HTTP/2 have in common. */
export interface BodySource {
  readonly closed: boolean
  readonly destroyed: boolean
  readonly readableEnded: boolean
  readonly readableAborted: boolean
  pause(): unknown
  resume(): unknown
  read(): Uint8Array | null
  on(event: string, listener: (chunk: Uint8Array) => void): unknown
  once(event: string, listener: () => void): unknown
  off(event: string, listener: (chunk: Uint8Array) => void): unknown
}

/** A body that is being received as a whole. */
interface PendingBody {
  readonly body: Promise<Uint8Array>
  /** Ends it with an error, unless it has arrived. The error is made only then, because most bodies have arrived when their reply is sent. */
  fail(errorOf: () => unknown): void
}

interface WholeBodyBounds {
  readonly bytesMax: number
  /** The Content-Length, 0 without one. */
  readonly contentLength: number
  readonly buffered: BufferedBody
}

/**
 * Receives a body of at most `bytesMax` bytes, which `buffered` counts. Fails with code 3 (HTTP 413) if it is larger, and as the
 * budget says, and with code 1 if the client is gone already. What arrives after a failure is dropped.
 */
export function readWholeBody(
  source: BodySource,
  { bytesMax, contentLength: announced, buffered }: WholeBodyBounds,
): PendingBody {
  const received = new ByteCollector(announced)
  const { promise: body, resolve, reject } = Promise.withResolvers<Uint8Array>()
  let settled = false
  const fail = (errorOf: () => unknown) => {
    if (settled) return
    settled = true
    received.take()
    buffered.release()
    reject(errorOf())
  }
  source.on('data', (chunk: Uint8Array) => {
    if (settled) return
    try {
      if (received.length + chunk.length > bytesMax) throw bodyTooLarge(bytesMax)
      buffered.grow(chunk.length)
      received.push(chunk)
    } catch (error) {
      fail(() => error)
    }
  })
  source.on('end', () => {
    if (isCutOff(source)) fail(clientDisconnected)
    if (settled) return
    settled = true
    resolve(received.take())
  })
  // The client disconnected before this call: its events were emitted already.
  if (source.destroyed && !source.readableEnded) fail(clientDisconnected)
  return { body, fail }
}

/** Whether a body that ends was cut off by its client; asked while it ends. */
function isCutOff(source: BodySource): boolean {
  return source.closed || source.destroyed || source.readableAborted
}

/**
 * Reads a body as fast as it is consumed. A slow client is detected by its progress: only the time counts in
 * which nothing of its body was available.
 */
export async function* readBodyStream(
  source: BodySource,
  {
    streamedBodyWindowMs: windowMs,
    streamedBodyWindowBytesMin: bytesMin,
  }: Pick<PortLimits, 'streamedBodyWindowMs' | 'streamedBodyWindowBytesMin'>,
): AsyncGenerator<Uint8Array> {
  let wake = () => {}
  const resume = () => wake()
  const events = ['end', 'error', 'close'] as const
  for (const event of events) source.on(event, resume)
  // Flowing, a chunk at a time: `read` of a paused stream would copy all that it has into one chunk.
  let received: Uint8Array | undefined
  /** Received in this window. */
  let bytes = 0
  const onData = (chunk: Uint8Array) => {
    source.pause()
    received = chunk
    bytes += chunk.length
    wake()
  }
  source.on('data', onData)
  let cutOff = false
  source.once('end', () => {
    cutOff = isCutOff(source)
  })
  // Time counts in parts, as in `startPeerTimeout`. A part that is late by more than a part does not count: this process stood still.
  const partMs = windowMs / PEER_TIMEOUT_PARTS
  let waitedMs = 0
  try {
    for (;;) {
      if (received !== undefined) {
        const chunk = received
        received = undefined
        yield chunk
        continue
      }
      if (cutOff) throw clientDisconnected()
      if (source.readableEnded) return
      if (source.destroyed) {
        source.off('data', onData)
        // What arrived before the client disconnected.
        for (let rest = source.read(); rest !== null; rest = source.read()) yield rest
        throw clientDisconnected()
      }
      const sinceMs = performance.now()
      const waitMs = Math.min(partMs, windowMs - waitedMs)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => afterPendingReads(resolve), waitMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        source.resume()
      })
      const elapsedMs = performance.now() - sinceMs
      if (elapsedMs - waitMs <= partMs) waitedMs += Math.min(waitMs, elapsedMs)
      if (waitedMs < windowMs) continue
      if (bytes < bytesMin) throw requestTimedOut()
      waitedMs = 0
      bytes = 0
    }
  } finally {
    for (const event of events) source.off(event, resume)
    source.off('data', onData)
  }
}
