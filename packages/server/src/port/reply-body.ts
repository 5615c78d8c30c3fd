import { afterIteration } from '../runtime/after-iteration.ts'
import type { UnreadReplies } from './bodies/unread-replies.ts'
import type { BodyStream, HttpReply } from './http.ts'
import { type PeerTimeout, startPeerTimeout } from './peer-timeout.ts'
import type { PortContext } from './port-context.ts'

/** Where the body of a reply goes: what a Writable of Node and a stream of HTTP/2 have in common. */
export interface ReplyTarget {
  readonly destroyed: boolean
  readonly writableFinished: boolean
  /** Bytes that the system does not have. */
  readonly writableLength: number
  write(bytes: Uint8Array, onTaken?: () => void): unknown
  end(body?: string | Uint8Array): unknown
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** Where a streamed body goes. */
export interface StreamTarget {
  readonly out: ReplyTarget
  readonly requestId: string
  /** Counts bytes that were handed to `out`. */
  readonly written?: ((bytes: number) => void) | undefined
  /** Ends the reply as a whole one. */
  readonly end: () => void
  /** Ends it so that the client detects that it is incomplete. */
  readonly abort: () => void
}

export function isStream(body: HttpReply['body']): body is BodyStream {
  return typeof body === 'object' && !(body instanceof Uint8Array)
}

/** Ends a body that will not be read; it may have started. */
export function cancelStream(body: HttpReply['body']): void {
  if (isStream(body))
    body[Symbol.asyncIterator]()
      .return?.()
      .catch(() => undefined)
}

/** What sending a reply whose bytes are in memory needs to know. */
export interface UnreadContext {
  readonly limits: Readonly<Record<'stalledReplyMs', number>>
  readonly unreadReplies: UnreadReplies
}

const WHOLE_PIECE_BYTES = 64 * 1024

/** Ends a reply with a whole body. A client that takes nothing of it for `stalledReplyMs`, or is one of too many, is cut off by `cut`. */
export function sendWhole(
  out: ReplyTarget,
  body: Exclude<HttpReply['body'], BodyStream>,
  context: UnreadContext,
  cut: () => void,
): void {
  if (body !== undefined && body.length > WHOLE_PIECE_BYTES) {
    writePieces(out, body)
    out.end()
  } else {
    out.end(body)
  }
  watchAfterIteration(out, context, cut)
}

/** Writes a whole body as `sendWhole` does, and leaves the reply open: its caller ends it later. */
export function writeWhole(
  out: ReplyTarget,
  body: string | Uint8Array,
  context: UnreadContext,
  cut: () => void,
): void {
  writePieces(out, body)
  watchAfterIteration(out, context, cut)
}

/** Writes a body in pieces, so that `writableLength` shows progress. */
function writePieces(out: ReplyTarget, body: string | Uint8Array): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  for (let at = 0; at < bytes.length; at += WHOLE_PIECE_BYTES)
    out.write(bytes.subarray(at, at + WHOLE_PIECE_BYTES))
}

function watchAfterIteration(out: ReplyTarget, context: UnreadContext, cut: () => void): void {
  // A session of HTTP/2 writes the replies of its connection when the iteration has ended.
  if (out.writableLength > 0) afterIteration(() => watchUnread(out, context, cut))
}

function watchUnread(
  out: ReplyTarget,
  { limits: { stalledReplyMs }, unreadReplies }: UnreadContext,
  cut: () => void,
): void {
  const left = out.writableLength
  // The system has all of it: there is nothing to wait for or to count.
  if (left === 0 || out.destroyed) return
  const removeFromUnread = unreadReplies.add(left, cut)
  const stalled = startStallTimeout(out, stalledReplyMs, () => left, cut)
  const done = () => {
    stalled.clear()
    removeFromUnread()
  }
  out.on('finish', done)
  out.on('close', done)
}

/** Calls `cut` each time that the system has taken nothing for `stalledMs`. `writtenBytes` returns the bytes written to `out` so far. */
function startStallTimeout(
  out: ReplyTarget,
  stalledMs: number,
  writtenBytes: () => number,
  cut: () => void,
): PeerTimeout {
  const takenBytes = () => writtenBytes() - out.writableLength
  let lastTakenBytes = takenBytes()
  return startPeerTimeout(stalledMs, () => {
    if (takenBytes() <= lastTakenBytes) cut()
    lastTakenBytes = takenBytes()
  })
}

/**
 * Returns a function that adds a message to a reply, which may stay open between two of them. A client that takes nothing of a message for
 * `stalledReplyMs`, or has one of too many that wait, is cut off by `cut`.
 */
export function createMessageSender(
  out: ReplyTarget,
  { limits: { stalledReplyMs }, unreadReplies }: UnreadContext,
  cut: () => void,
): (message: Uint8Array) => void {
  let writtenBytes = 0
  /** Messages that the system does not have, and how to stop counting each. */
  const unread = new Map<Uint8Array, () => void>()
  let stalled: PeerTimeout | undefined
  const clearTimeoutIfNoneUnread = () => {
    if (unread.size > 0) return
    stalled?.clear()
    stalled = undefined
  }
  out.on('close', () => {
    for (const removeFromUnread of unread.values()) removeFromUnread()
    unread.clear()
    clearTimeoutIfNoneUnread()
  })
  return (message) => {
    unread.set(message, () => undefined)
    writtenBytes += message.length
    out.write(message, () => {
      unread.get(message)?.()
      unread.delete(message)
      clearTimeoutIfNoneUnread()
    })
    // As for a whole reply: what the system takes immediately needs no timer.
    afterIteration(() => {
      if (!unread.has(message) || out.destroyed) return
      const removeFromUnread = unreadReplies.add(message.length, cut)
      // Adding a message may cut off this reply for its earlier messages.
      if (out.destroyed) {
        removeFromUnread()
        return
      }
      unread.set(message, removeFromUnread)
      stalled ??= startStallTimeout(out, stalledReplyMs, () => writtenBytes, cut)
    })
  }
}

/** A client has to take so much within `stalledReplyMs`, besides what the system buffers. */
const PIECE_BYTES = 256 * 1024
/** Two pieces are written together, so that the system gets one while it still has some of the other. More would be one write to it. */
const WRITE_BYTES = 2 * PIECE_BYTES

/** Sends a body whose headers are on their way. Resolves when the reply has ended, in whichever way. */
export async function sendStream(
  { log, limits }: Pick<PortContext, 'log' | 'limits'>,
  body: BodyStream,
  { out, requestId, written, end, abort: cut }: StreamTarget,
): Promise<void> {
  const iterator = body[Symbol.asyncIterator]()
  let state: 'open' | 'ended' | 'gone' = 'open'
  let wake = () => {}

  /** The client has disconnected. The iterator is ended immediately: it may be waiting for something. */
  const onClientGone = () => {
    if (state === 'open') {
      state = 'gone'
      Promise.resolve(iterator.return?.()).catch((err: unknown) =>
        log.error({ requestId, err }, 'a streamed reply failed after its client went away'),
      )
    }
    wake()
  }
  const resume = () => wake()
  const cutOff = () => {
    log.debug({ requestId }, 'a client that does not read its streamed reply is cut off')
    cut()
    onClientGone()
  }
  let stalled: PeerTimeout | undefined
  /** Resolves when everything written has been sent, or the client has disconnected. */
  const waitUntilTaken = () =>
    new Promise<void>((resolve) => {
      stalled = startPeerTimeout(limits.stalledReplyMs, cutOff)
      wake = () => {
        stalled?.clear()
        resolve()
      }
    })
  /** The same for up to `WRITE_BYTES`. */
  const send = (bytes: Uint8Array) => {
    const taken = waitUntilTaken()
    let left = Math.ceil(bytes.length / PIECE_BYTES)
    const onTaken = () => {
      left--
      if (left === 0) wake()
      else if (isOpen()) stalled?.refresh()
    }
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      out.write(bytes.subarray(at, at + PIECE_BYTES), onTaken)
    written?.(bytes.length)
    return taken
  }

  out.on('finish', resume)
  out.on('close', onClientGone)
  try {
    while (state === 'open') {
      const { done, value } = await iterator.next()
      if (done === true || state !== 'open') break
      const bytes = typeof value === 'string' ? Buffer.from(value) : value
      for (let at = 0; at < bytes.length && isOpen(); at += WRITE_BYTES)
        await send(bytes.subarray(at, at + WRITE_BYTES))
      // Neither a fast body nor a fast client may keep the others waiting.
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (isOpen()) {
      state = 'ended'
      end()
      if (!out.writableFinished && !out.destroyed) await waitUntilTaken()
    }
  } catch (err) {
    if (isOpen()) {
      state = 'ended'
      log.error({ requestId, err }, 'a streamed reply failed and was cut off')
      cut()
    } else {
      log.debug({ requestId, err }, 'a streamed reply failed after its client went away')
    }
  } finally {
    out.off('finish', resume)
    out.off('close', onClientGone)
  }

  function isOpen(): boolean {
    return state === 'open'
  }
}
