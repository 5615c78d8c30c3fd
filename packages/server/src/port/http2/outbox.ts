import type { Socket } from 'node:net'
import { afterIteration } from '../../runtime/after-iteration.ts'
import { type PeerTimeout, startPeerTimeout } from '../peer-timeout.ts'
import { FrameWriter } from './frame-writer.ts'
import { FRAME_BYTES_DEFAULT, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_LARGEST } from './frames.ts'
import type { Http2Stream, Piece } from './stream.ts'
import { flowControlError } from './violations.ts'

/** Who sends by an outbox. */
export interface OutboxOwner {
  /** The last frame of a reply is on its way. */
  onReplySent(stream: Http2Stream): void
  /** The system has the whole reply. */
  onReplyTaken(stream: Http2Stream): void
  /** What was there when the iteration of the event loop ended has been sent, as far as possible. */
  onFlushed(): void
  /** A listener of a stream has failed. */
  onFault(failure: unknown): void
}

/** What the system gets of a stream with a write. */
interface Taken {
  readonly stream: Http2Stream
  readonly bytes: number
  readonly isEnd: boolean
  readonly onTaken: (() => void) | undefined
}

/** Bytes that are given to the socket before it has passed on those before. */
const SOCKET_BYTES_MAX = 256 * 1024
/** Nothing is read from a client while so much waits for it to read: its requests would only add to it. */
const PAUSE_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

const writer = new FrameWriter()

/**
 * The sending half of a connection: control frames, and the replies of all streams in turn, frame by frame, within the windows of the
 * client. What is added in an iteration of the event loop is sent together when it ends.
 */
export class Outbox {
  /** The window of a new stream, and the longest frame, as the client has set them. */
  initialWindow = WINDOW_BYTES_DEFAULT
  frameBytesMax = FRAME_BYTES_DEFAULT
  /** Whether the next header block starts with the size of the dynamic table: first, and after the client has changed its limit. */
  mustSayTableSize = true
  readonly #socket: Socket
  readonly #stalledMs: number
  readonly #owner: OutboxOwner
  #control: Buffer[] = []
  readonly #sendable = new Set<Http2Stream>()
  /** Streams that wait for the window of the connection. */
  readonly #blocked = new Set<Http2Stream>()
  #window = WINDOW_BYTES_DEFAULT
  /** For each write that the system has not completed. */
  readonly #writes: Taken[][] = []
  #isScheduled = false
  #isClosed = false
  /** While the client has something to read. */
  #stalled: PeerTimeout | undefined = undefined

  /** `stalledMs`: a client that takes nothing for so long, besides what the system buffers, is disconnected. */
  constructor(socket: Socket, stalledMs: number, owner: OutboxOwner) {
    this.#socket = socket
    this.#stalledMs = stalledMs
    this.#owner = owner
    socket.on('close', () => this.#stalled?.clear())
  }

  addControl(frame: Buffer): void {
    this.#control.push(frame)
    this.#scheduleFlush()
  }

  /** The stream has something to send. */
  schedule(stream: Http2Stream): void {
    this.#sendable.add(stream)
    this.#scheduleFlush()
  }

  /** The stream has nothing to send any more. */
  remove(stream: Http2Stream): void {
    this.#sendable.delete(stream)
    this.#blocked.delete(stream)
  }

  /** The client lets the connection send so many bytes more. */
  growWindow(bytes: number): void {
    this.#window += bytes
    if (this.#window > WINDOW_BYTES_LARGEST) throw flowControlError()
    for (const stream of this.#blocked) this.schedule(stream)
    this.#blocked.clear()
  }

  /** Sends what waits, as far as the windows and the socket allow, and nothing after it. */
  close(): void {
    this.#flush()
    this.#isClosed = true
  }

  #scheduleFlush(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterIteration(this.#flush)
  }

  readonly #flush = (): void => {
    this.#isScheduled = false
    if (this.#isClosed || this.#socket.destroyed) return
    try {
      for (const frame of this.#control) writer.add(frame)
      this.#control = []
      const room = SOCKET_BYTES_MAX - this.#socket.writableLength
      const taken: Taken[] = []
      // A stream that has more is added again, so it comes after the others.
      for (const stream of this.#sendable) {
        if (writer.bytes >= room) break
        this.#sendable.delete(stream)
        if (!stream.closed) this.#send(stream, taken)
      }
      this.#write(taken)
      this.#owner.onFlushed()
    } catch (failure) {
      // Of a defect: what was written so far must not reach the client of another connection.
      writer.take()
      this.#owner.onFault(failure)
    }
  }

  /** Sends the head of a reply and one frame of its body, or the end. */
  #send(stream: Http2Stream, taken: Taken[]): void {
    const head = stream.takeHead()
    if (head !== undefined) {
      const isEnd = stream.isEndNext
      writer.addHeaders(stream.id, head, isEnd, this)
      this.mustSayTableSize = false
      if (isEnd) {
        this.#onSent(stream, taken)
        return
      }
    }
    const { piece } = stream
    if (piece !== undefined && !this.#sendPiece(stream, piece, taken)) return
    if (!stream.writableEnded || stream.isSentCompletely || stream.piece !== undefined) return
    const trailers = stream.takeTrailers()
    if (trailers === undefined) writer.addData(stream.id, NOTHING, true)
    else writer.addHeaders(stream.id, trailers, true, this)
    this.#onSent(stream, taken)
  }

  /** Returns false if the stream has to wait, or has ended. */
  #sendPiece(stream: Http2Stream, piece: Piece, taken: Taken[]): boolean {
    const sent = stream.pieceBytesSent
    const left = piece.bytes.length - sent
    const length = Math.max(0, Math.min(left, stream.sendWindow, this.#window, this.frameBytesMax))
    if (length === 0 && left > 0) {
      // A stream without a window of its own is scheduled when it gets one.
      if (stream.sendWindow > 0) this.#blocked.add(stream)
      return false
    }
    const isWhole = length === left
    const payload = isWhole && sent === 0 ? piece.bytes : piece.bytes.subarray(sent, sent + length)
    stream.sendWindow -= length
    this.#window -= length
    if (isWhole) stream.nextPiece()
    else stream.pieceBytesSent += length
    const isEnd = stream.isEndNext
    if (length > 0 || isEnd) writer.addData(stream.id, payload, isEnd)
    taken.push({ stream, bytes: length, isEnd: false, onTaken: isWhole ? piece.onTaken : undefined })
    if (isEnd) this.#onSent(stream, taken)
    else if (stream.piece !== undefined) this.#sendable.add(stream)
    else return true
    return false
  }

  #onSent(stream: Http2Stream, taken: Taken[]): void {
    stream.isSentCompletely = true
    taken.push({ stream, bytes: 0, isEnd: true, onTaken: undefined })
    this.#owner.onReplySent(stream)
  }

  #write(taken: Taken[]): void {
    const parts = writer.take()
    const last = parts.pop()
    if (last === undefined) {
      this.#onTaken(taken)
      return
    }
    const socket = this.#socket
    this.#writes.push(taken)
    if (parts.length > 0) {
      socket.cork()
      for (const part of parts) socket.write(part)
    }
    socket.write(last, this.#onWritten)
    if (parts.length > 0) socket.uncork()
    // Without TLS the system nearly always takes all of it immediately. `#onTaken` empties the list, so the callback finds nothing then.
    if (socket.writableLength === 0) this.#onTaken(taken)
    else {
      if (socket.writableLength > PAUSE_BYTES) socket.pause()
      // A socket of TLS takes it a little later.
      afterIteration(this.#watch)
    }
  }

  readonly #onWritten = (failure?: Error | null): void => {
    const taken = this.#writes.shift()
    // After a failure the connection closes, and its streams.
    if (failure != null) return
    this.#onProgress()
    try {
      if (taken !== undefined) this.#onTaken(taken)
    } catch (fault) {
      this.#owner.onFault(fault)
    }
    if (this.#sendable.size > 0) this.#scheduleFlush()
  }

  readonly #watch = (): void => {
    const socket = this.#socket
    if (socket.writableLength === 0 || socket.destroyed) return
    this.#stalled ??= startPeerTimeout(this.#stalledMs, () => socket.destroy())
  }

  /** The client has read something. */
  #onProgress(): void {
    const socket = this.#socket
    if (socket.writableLength <= PAUSE_BYTES && socket.isPaused()) socket.resume()
    if (socket.writableLength > 0) this.#stalled?.refresh()
    else {
      this.#stalled?.clear()
      this.#stalled = undefined
    }
  }

  #onTaken(taken: Taken[]): void {
    for (const { stream, bytes, isEnd, onTaken } of taken.splice(0)) {
      onTaken?.()
      if (bytes > 0) stream.onTaken(bytes)
      if (isEnd) this.#owner.onReplyTaken(stream)
    }
  }
}
