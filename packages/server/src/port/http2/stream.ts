import { EventEmitter } from 'node:events'
import { limits } from '../../config/limits.ts'
import { detach } from '../../runtime/byte-collector.ts'
import type { ReplyTarget } from '../reply-body.ts'
import type { BodySource } from '../request-body.ts'
import { isFieldName, isFieldValue } from './fields.ts'
import { errorCodes } from './frames.ts'

/** Header fields of a reply by name, pseudo-header fields first; those with several values have a line for each. */
export type ReplyHeaders = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** What a stream needs of its connection. */
export interface StreamConnection {
  /** Address of the peer; undefined if the connection was closed before it was read. */
  readonly remoteAddress: string | undefined
  /** What has arrived on its streams and waits to be read. */
  unreadBytes: number
  /** The stream has something to send, or has ended. */
  schedule(stream: Http2Stream): void
  /** Bytes that the client has sent were read: it may send as many again. */
  onRead(stream: Http2Stream, bytes: number): void
  /** The stream is reset by the server. */
  onReset(stream: Http2Stream): void
  /** A listener has failed. */
  onFault(failure: unknown): void
}

/** A piece of a body that waits to be sent. */
export interface Piece {
  readonly bytes: Uint8Array
  /** Called when the system has all of it, or the stream is closed. */
  readonly onTaken: (() => void) | undefined
}

/** Pieces of a request that wait to be read before they are joined. */
const PIECES_MAX = 256

/** What a reply may have waiting before its sender should wait for `drain`. */
const HIGH_WATER_BYTES = 64 * 1024

/**
 * A request of HTTP/2 and its reply, as far as the port needs it: it has the names and events of a Duplex of Node, and costs a fraction
 * of one (ADR 113). Events: `data`, `end` (the client has sent all of its request, and it was read), `finish` (the system has the whole
 * reply), `drain`, and `close`, which comes last and always.
 */
export class Http2Stream extends EventEmitter implements BodySource, ReplyTarget {
  readonly id: number
  readonly connection: StreamConnection
  headersSent = false
  /** `:status` that was sent. */
  status: number | undefined = undefined
  /** `grpc-status` that was sent. */
  grpcStatus: number | undefined = undefined
  /** Neither side sends any more. */
  closed = false
  /** The error code that ended the stream. */
  rstCode: number = errorCodes.noError
  /** The client has sent all of its request. */
  hasReceivedAll = false
  /** The request was cut off. */
  aborted = false
  readableEnded = false
  writableEnded = false
  writableFinished = false
  /** Bytes of the reply that the system does not have. */
  writableLength = 0
  /** Bytes that the server may send, and that the client may send. */
  sendWindow: number
  receiveWindow: number
  /** Bytes that were read and not given back to the client's window. */
  readBytes = 0
  /** Of the body that is missing, by the Content-Length; undefined without one. */
  missingBytes: number | undefined = undefined
  /** Bytes of `piece` that were sent. */
  pieceBytesSent = 0
  /** The last frame of the reply is on its way. */
  isSentCompletely = false
  /** Whether it counts for the limit of concurrent streams. */
  isActive = true

  /** Undefined until there is a reader. */
  #isFlowing: boolean | undefined = undefined
  /** What has arrived and waits to be read. */
  readonly #received: Buffer[] = []
  #receivedBytes = 0
  #head: string[] | undefined = undefined
  #pieces: Piece[] = []
  #trailers: string[] | undefined = undefined
  #needsDrain = false

  constructor(connection: StreamConnection, id: number, sendWindow: number, receiveWindow: number) {
    super()
    this.connection = connection
    this.id = id
    this.sendWindow = sendWindow
    this.receiveWindow = receiveWindow
  }

  get destroyed(): boolean {
    return this.closed
  }

  get readableAborted(): boolean {
    return this.aborted
  }

  get writableNeedDrain(): boolean {
    return this.#needsDrain && !this.closed
  }

  /** A listener of `data` starts reading, unless the stream is paused. */
  override on(event: string, listener: (chunk: Buffer) => void): this {
    super.on(event, listener)
    if (event === 'data' && this.#isFlowing !== false) this.resume()
    return this
  }

  pause(): void {
    this.#isFlowing = false
  }

  resume(): void {
    if (this.#isFlowing === true) return
    this.#isFlowing = true
    if (this.#received.length > 0 || this.hasReceivedAll) process.nextTick(flow, this)
  }

  /** A piece of what has arrived and was not read, or null. */
  read(): Buffer | null {
    const bytes = this.#received.shift()
    if (bytes === undefined) return null
    this.#receivedBytes -= bytes.length
    if (!this.closed) this.connection.unreadBytes -= bytes.length
    this.connection.onRead(this, bytes.length)
    return bytes
  }

  /** Sends an interim response. */
  sendContinue(): void {
    if (this.headersSent || this.closed) return
    this.#head = [':status', '100']
    this.connection.schedule(this)
  }

  /** Sends the head of the reply. Throws for header fields that HTTP does not allow. */
  respond(headers: ReplyHeaders, { endStream = false }: { readonly endStream?: boolean } = {}): void {
    if (this.headersSent || this.closed) throw new Error('the reply has started, or the stream is closed')
    const fields = replyFields(headers)
    // RFC 9110, section 6.6.1.
    if (headers['date'] === undefined) fields.push('date', currentDate())
    this.headersSent = true
    this.status = Number(headers[':status'])
    this.#takeGrpcStatus(headers)
    // An interim response that has not left is not needed any more.
    this.#head = fields
    this.writableEnded = endStream
    this.connection.schedule(this)
  }

  /** Adds to the body. Returns false if the client takes it slower than it comes. */
  write(chunk: string | Uint8Array, onTaken?: () => void): boolean {
    if (this.closed || this.writableEnded) {
      if (onTaken !== undefined) process.nextTick(onTaken)
      return false
    }
    this.#push(chunk, onTaken)
    this.connection.schedule(this)
    return !this.#needsDrain
  }

  /** Sets what is sent after the body when the reply ends. */
  setTrailers(trailers: ReplyHeaders): void {
    this.#trailers = replyFields(trailers)
    this.#takeGrpcStatus(trailers)
  }

  /** Ends the reply. */
  end(chunk?: string | Uint8Array): void {
    if (this.closed || this.writableEnded) return
    if (chunk !== undefined && chunk.length > 0) this.#push(chunk, undefined)
    this.writableEnded = true
    this.connection.schedule(this)
  }

  /** Resets the stream; what was not sent is dropped. */
  close(code: number = errorCodes.noError): void {
    if (this.closed) return
    this.#markClosed(code)
    this.connection.onReset(this)
  }

  /** Resets the stream, so that the client detects that the reply is incomplete. */
  destroy(): void {
    this.close(errorCodes.internalError)
  }

  // For the connection.

  /** A part of the body has arrived. */
  receive(bytes: Buffer): void {
    if (this.#isFlowing !== true || this.#received.length > 0) {
      this.#received.push(detach(bytes))
      this.#receivedBytes += bytes.length
      if (this.#received.length > PIECES_MAX) this.#joinReceived()
      this.connection.unreadBytes += bytes.length
      return
    }
    this.emit('data', bytes)
    this.connection.onRead(this, bytes.length)
  }

  /** The client has sent all. */
  receiveEnd(): void {
    this.hasReceivedAll = true
    this.#endIfRead()
  }

  /** Takes the header fields that have not been sent. */
  takeHead(): readonly string[] | undefined {
    const head = this.#head
    this.#head = undefined
    return head
  }

  /** The first piece of the body that was not sent completely. */
  get piece(): Piece | undefined {
    return this.#pieces[0]
  }

  nextPiece(): void {
    this.#pieces.shift()
    this.pieceBytesSent = 0
  }

  takeTrailers(): readonly string[] | undefined {
    const trailers = this.#trailers
    this.#trailers = undefined
    return trailers
  }

  /** Whether the next frame ends the reply. */
  get isEndNext(): boolean {
    return this.writableEnded && this.#pieces.length === 0 && this.#trailers === undefined
  }

  /** The system has taken bytes of the body. */
  onTaken(bytes: number): void {
    this.writableLength -= bytes
    if (this.writableLength > 0 || !this.#needsDrain || this.closed) return
    this.#needsDrain = false
    this.emit('drain')
  }

  /** The system has the whole reply. */
  onFinished(): void {
    if (this.closed) return
    this.writableFinished = true
    this.emit('finish')
  }

  /** Both sides have ended, or the client has reset the stream, or the connection has ended. */
  onClosed(code: number): void {
    if (!this.closed) this.#markClosed(code)
    const pieces = this.#pieces
    this.#pieces = []
    for (const { onTaken } of pieces) onTaken?.()
    this.emit('close')
  }

  /** Reads on after a pause; for `resume`. */
  flow(): void {
    if (this.#isFlowing !== true || this.closed) return
    try {
      while (this.#isFlowing && !this.closed) {
        const bytes = this.read()
        if (bytes === null) break
        this.emit('data', bytes)
      }
      this.#endIfRead()
    } catch (failure) {
      this.connection.onFault(failure)
    }
  }

  /** Also while the stream is paused, because nothing is left that could wait. */
  #endIfRead(): void {
    if (this.readableEnded || this.closed || this.#isFlowing === undefined || this.#received.length > 0)
      return
    if (!this.hasReceivedAll) return
    this.readableEnded = true
    this.emit('end')
  }

  /** Small pieces take more memory than their bytes. */
  #joinReceived(): void {
    const joined = Buffer.allocUnsafeSlow(this.#receivedBytes)
    let at = 0
    for (const piece of this.#received.splice(0)) at += piece.copy(joined, at)
    this.#received.push(joined)
  }

  #push(chunk: string | Uint8Array, onTaken: (() => void) | undefined): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    this.#pieces.push({ bytes, onTaken })
    this.writableLength += bytes.length
    if (this.writableLength >= HIGH_WATER_BYTES) this.#needsDrain = true
  }

  #takeGrpcStatus(headers: ReplyHeaders): void {
    const status = headers['grpc-status']
    if (status !== undefined) this.grpcStatus = Number(status)
  }

  #markClosed(code: number): void {
    this.closed = true
    this.rstCode = code
    this.connection.unreadBytes -= this.#receivedBytes
    this.aborted = !this.hasReceivedAll
  }
}

function flow(stream: Http2Stream): void {
  stream.flow()
}

/**
 * RFC 9113, section 8.1: after a whole reply, NO_ERROR asks the client to send no more of its request. On a stream whose request has
 * ended this does nothing. A reset can overtake the reply that says why, so what the client still sends is swallowed for a moment.
 */
export function discardRequestBody(stream: Http2Stream): void {
  if (stream.hasReceivedAll || stream.closed) return
  stream.resume()
  const close = () => {
    if (!stream.hasReceivedAll) stream.close()
  }
  const timer = setTimeout(() => {
    if (stream.writableFinished) close()
    else stream.once('finish', close)
  }, limits.lingerMs)
  stream.once('close', () => clearTimeout(timer))
}

let dateSecond = 0
let date = ''

/** The time as HTTP writes it; to the second. */
function currentDate(): string {
  const second = Math.floor(Date.now() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    date = new Date(second * 1000).toUTCString()
  }
  return date
}

function replyFields(headers: ReplyHeaders): string[] {
  const fields: string[] = []
  for (const key in headers) {
    const value = headers[key]
    if (value === undefined) continue
    const name = key.toLowerCase()
    if (name !== ':status' && !isFieldName(name))
      throw new TypeError(`${JSON.stringify(key)} is not the name of a header field of HTTP/2`)
    if (typeof value === 'object') for (const one of value) addField(fields, name, one)
    else addField(fields, name, String(value))
  }
  return fields
}

function addField(fields: string[], name: string, value: string): void {
  if (!isFieldValue(value))
    throw new TypeError(`the header field ${name} has a value that HTTP does not allow`)
  fields.push(name, value)
}
