import type { Socket } from 'node:net'
import { ByteCollector } from '../../runtime/byte-collector.ts'
import type { PortLimits } from '../port-context.ts'
import { FrameReader } from './frame-reader.ts'
import {
  encodeControlFrame,
  encodeNumberFrame,
  errorCodes,
  FRAME_BYTES_DEFAULT,
  FRAME_BYTES_LARGEST,
  frameFlags,
  frameTypes,
  STREAM_ID_LARGEST,
  settingIds,
  WINDOW_BYTES_DEFAULT,
  WINDOW_BYTES_LARGEST,
  writeUint32,
} from './frames.ts'
import { HpackDecoder, HpackError } from './hpack/decoder.ts'
import { Outbox, type OutboxOwner } from './outbox.ts'
import { areTrailers, type RequestHeaders, requestHeaders } from './request-headers.ts'
import { Http2Stream, type StreamConnection } from './stream.ts'
import { TokenBucket } from './token-bucket.ts'
import {
  ConnectionError,
  flowControlError,
  frameSizeError,
  protocolError,
  requireConnection,
  requireLength,
  requireOtherStream,
  requireStream,
  tooMuch,
  withoutPadding,
} from './violations.ts'

/** Who serves the streams of a session. */
export interface Http2SessionHandler {
  /** A request. `endOfStream`: it has no body. */
  onStream(stream: Http2Stream, headers: RequestHeaders, endOfStream: boolean): void
  /** The client broke or flooded the protocol, so the connection ends. */
  onViolation(session: Http2Session, failure: Error): void
  /** A defect of the server, which ends the connection. */
  onFault(session: Http2Session, failure: unknown): void
  /** The connection is closed, and so are its streams. */
  onClosed(session: Http2Session): void
}

/** How long a connection that ends after a violation may take to pass on its last frames, and a client that is asked to leave to respond. */
const CLOSE_MS = 1000
/** The client learns that the server reads more when so much of a window was read. */
const WINDOW_UPDATE_FROM = 1 / 2
const SETTING_BYTES = 6
/** Longer frames would make the frames of other streams wait. */
const SENT_FRAME_BYTES_MAX = 64 * 1024
/** A stream whose reply is not taken is reset first; the connection is closed after so many times its limit. */
const STALLED_REPLIES = 2
/** Ids of streams whose late frames are ignored. */
const RESET_IDS_MAX = 1000
/** Of HEADERS with a priority. */
const PRIORITY_BYTES = 5

/** A header block that is being received. */
interface OpenBlock {
  readonly streamId: number
  readonly endStream: boolean
  readonly bytes: ByteCollector
  continuations: number
}

/**
 * The server side of a connection of HTTP/2 (RFC 9113): its streams, header tables, flow control, and limits. It offers no server push, no
 * priorities and no extension. A violation ends the connection, except in the header fields, the length and the window of a request, which
 * reset its stream.
 */
export class Http2Session implements StreamConnection, OutboxOwner {
  readonly remoteAddress: string | undefined
  /** When the last stream ended, or the connection began; milliseconds since the epoch. */
  idleSince = Date.now()
  unreadBytes = 0
  readonly #socket: Socket
  readonly #limits: PortLimits
  readonly #handler: Http2SessionHandler
  readonly #reader = new FrameReader((type, flags, streamId, payload) => {
    this.#onFrame(type, flags, streamId, payload)
    return !this.#isEnding
  })
  readonly #decoder: HpackDecoder
  readonly #outbox: Outbox

  /** Until they have ended on both sides, and the system has their replies. */
  readonly #streams = new Map<number, Http2Stream>()
  /** Streams that count for the limit of concurrent ones. */
  #activeStreams = 0
  /** The highest id of a stream that the client has opened. */
  #lastStreamId = 0
  /** Streams above it are not served. */
  #lastServedId = STREAM_ID_LARGEST
  /** Streams that the server has reset: what the client sent before it knew is ignored. */
  readonly #resetIds = new Set<number>()
  /** Those of the current iteration of the event loop. */
  #resetStreams: Http2Stream[] = []

  #hasSettings = false
  #openBlock: OpenBlock | undefined = undefined
  #lastFields: readonly string[] = []
  #lastHeaders: RequestHeaders | undefined = undefined
  /** Bytes that the client may send on a new stream. */
  #initialReceiveWindow: number
  /** Bytes that were received and not given back to the client's window. */
  #receivedBytes = 0

  #isLeaving = false
  #leavesAfterNext = false
  #isEnding = false
  #onPong: (() => void) | undefined = undefined
  readonly #controlFrames: TokenBucket
  readonly #resets: TokenBucket
  readonly #malformed: TokenBucket
  readonly #rejected: TokenBucket

  constructor(socket: Socket, limits: PortLimits, handler: Http2SessionHandler, standstillMs: () => number) {
    this.#socket = socket
    this.remoteAddress = socket.remoteAddress
    this.#limits = limits
    this.#handler = handler
    this.#decoder = new HpackDecoder(limits)
    this.#outbox = new Outbox(socket, STALLED_REPLIES * limits.stalledReplyMs, this)
    // Until the client has acknowledged a smaller one.
    this.#initialReceiveWindow = Math.max(limits.streamWindowBytes, WINDOW_BYTES_DEFAULT)
    const bucket = (burst: number) =>
      new TokenBucket(burst, (burst / limits.http2ControlWindowMs) * 1000, standstillMs)
    this.#controlFrames = bucket(limits.http2ControlFramesMax)
    this.#malformed = bucket(limits.http2MalformedRequestsMax)
    this.#rejected = bucket(limits.http2RejectedStreamsMax)
    this.#resets = new TokenBucket(limits.http2ResetsBurst, limits.http2ResetsPerSecond, standstillMs)
    this.#sendSettings()
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('close', () => this.#onSocketClosed())
  }

  get hasStreams(): boolean {
    return this.#streams.size > 0
  }

  get streams(): Iterable<Http2Stream> {
    return this.#streams.values()
  }

  /**
   * RFC 9113, section 6.8: first a GOAWAY that refuses nothing, then, one round trip later, the one that names the last stream. Requests that
   * were on their way when the server decided to stop are still answered. A session without streams ends immediately.
   */
  leave(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    if (!this.hasStreams) {
      this.end()
      return
    }
    this.#sendGoaway(STREAM_ID_LARGEST, errorCodes.noError)
    this.#onPong = () => {
      this.#lastServedId = this.#lastStreamId
      if (this.hasStreams) this.#sendGoaway(this.#lastServedId, errorCodes.noError)
      else this.end()
    }
    this.#outbox.addControl(encodeControlFrame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
  }

  /** Leaves when the client has opened its first stream. */
  leaveAfterNext(): void {
    this.#leavesAfterNext = true
  }

  /** Whether `end` was called, or the connection is closed. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Ends the connection; streams that are open are cut off. Without an error, it is closed when the client closes its side. */
  end(code: number = errorCodes.noError): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#sendGoaway(Math.min(this.#lastStreamId, this.#lastServedId), code)
    this.#outbox.close()
    // A client may still read its last reply. What it sends meanwhile is read and dropped: closed with unread bytes, the connection would be
    // reset.
    if (code === errorCodes.noError) {
      this.#socket.end()
      return
    }
    this.#socket.destroySoon()
    const closing = setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref()
    this.#socket.once('close', () => clearTimeout(closing))
  }

  destroy(): void {
    this.#socket.destroy()
  }

  // For streams.

  schedule(stream: Http2Stream): void {
    this.#outbox.schedule(stream)
  }

  onRead(stream: Http2Stream, bytes: number): void {
    if (stream.hasReceivedAll || stream.closed) return
    stream.readBytes += bytes
    this.#announceRead(stream)
  }

  /** Lets the client send as much again as was read, if it is much. */
  #announceRead(stream: Http2Stream): void {
    const isMuch = stream.readBytes >= this.#initialReceiveWindow * WINDOW_UPDATE_FROM
    if (!isMuch || stream.readBytes === 0) return
    this.#outbox.addControl(encodeNumberFrame(frameTypes.windowUpdate, stream.id, stream.readBytes))
    stream.receiveWindow += stream.readBytes
    stream.readBytes = 0
  }

  onReset(stream: Http2Stream): void {
    this.#sendReset(stream.id, stream.rstCode)
    this.#deactivate(stream)
    this.#resetStreams.push(stream)
  }

  // For the outbox.

  onReplySent(stream: Http2Stream): void {
    if (stream.hasReceivedAll) this.#deactivate(stream)
  }

  onReplyTaken(stream: Http2Stream): void {
    if (stream.closed) return
    stream.onFinished()
    if (stream.hasReceivedAll) this.#close(stream, errorCodes.noError)
  }

  onFlushed(): void {
    const streams = this.#resetStreams
    this.#resetStreams = []
    for (const stream of streams) this.#close(stream, stream.rstCode)
  }

  onFault(failure: unknown): void {
    // Each of its streams may fail for the same reason.
    if (this.#socket.destroyed) return
    this.#isEnding = true
    this.#handler.onFault(this, failure)
    this.destroy()
  }

  #receive(chunk: Buffer): void {
    if (this.#isEnding) return
    try {
      this.#reader.push(chunk)
    } catch (failure) {
      this.#fail(failure)
    }
  }

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#hasSettings) {
      if (type !== frameTypes.settings || (flags & frameFlags.ack) !== 0)
        throw protocolError('the first frame is not SETTINGS')
      this.#hasSettings = true
    }
    const block = this.#openBlock
    if (block !== undefined && (type !== frameTypes.continuation || streamId !== block.streamId))
      throw protocolError('a header block is interrupted')
    switch (type) {
      case frameTypes.data:
        this.#onData(flags, streamId, payload)
        break
      case frameTypes.headers:
        this.#onHeaders(flags, streamId, payload)
        break
      case frameTypes.continuation:
        this.#onContinuation(flags, payload)
        break
      case frameTypes.windowUpdate:
        this.#onWindowUpdate(streamId, payload)
        break
      case frameTypes.resetStream:
        this.#onResetStream(streamId, payload)
        break
      case frameTypes.settings:
        this.#countControlFrame()
        this.#onSettings(flags, streamId, payload)
        break
      case frameTypes.ping:
        this.#countControlFrame()
        this.#onPing(flags, streamId, payload)
        break
      case frameTypes.pushPromise:
        throw protocolError('a client cannot push')
      case frameTypes.priority:
        this.#countControlFrame()
        requireStream(streamId)
        requireLength(payload, PRIORITY_BYTES)
        requireOtherStream(streamId, payload)
        break
      case frameTypes.goaway:
        this.#countControlFrame()
        requireConnection(streamId)
        if (payload.length < 8) throw frameSizeError('GOAWAY has fewer than 8 bytes')
        break
      default:
        // Section 4.1: frames of unknown types are ignored.
        this.#countControlFrame()
    }
  }

  #onData(flags: number, streamId: number, payload: Buffer): void {
    requireStream(streamId)
    this.#requireOpened(streamId)
    const endStream = (flags & frameFlags.endStream) !== 0
    this.#giveBack(payload.length)
    const data = withoutPadding(flags, payload)
    if (data.length === 0 && !endStream) this.#countControlFrame()
    const stream = this.#streams.get(streamId)
    if (stream === undefined || stream.closed) {
      this.#onLateFrame(streamId, 'DATA')
      return
    }
    if (stream.hasReceivedAll) throw streamClosed('DATA follows the end of a request')
    stream.receiveWindow -= payload.length
    if (stream.receiveWindow < 0) throw flowControlError()
    if (stream.missingBytes !== undefined) {
      stream.missingBytes -= data.length
      if (stream.missingBytes < 0 || (endStream && stream.missingBytes > 0)) {
        this.#onMalformed(stream, errorCodes.protocolError)
        return
      }
    }
    if (payload.length > data.length) this.onRead(stream, payload.length - data.length)
    if (data.length > 0) stream.receive(data)
    if (endStream) this.#onRequestEnd(stream)
  }

  /** The window of the connection is given back when bytes arrive: what waits to be read is limited by the window of each stream. */
  #giveBack(bytes: number): void {
    this.#receivedBytes += bytes
    if (this.#receivedBytes < WINDOW_BYTES_DEFAULT * WINDOW_UPDATE_FROM) return
    this.#outbox.addControl(encodeNumberFrame(frameTypes.windowUpdate, 0, this.#receivedBytes))
    this.#receivedBytes = 0
  }

  #onHeaders(flags: number, streamId: number, payload: Buffer): void {
    requireStream(streamId)
    let block = withoutPadding(flags, payload)
    if ((flags & frameFlags.priority) !== 0) {
      if (block.length < PRIORITY_BYTES) throw frameSizeError('HEADERS have no room for their priority')
      requireOtherStream(streamId, block)
      block = block.subarray(PRIORITY_BYTES)
    }
    const endStream = (flags & frameFlags.endStream) !== 0
    if ((flags & frameFlags.endHeaders) !== 0) {
      this.#onHeaderBlock(streamId, endStream, block)
      return
    }
    const bytes = new ByteCollector()
    bytes.push(block)
    this.#openBlock = { streamId, endStream, bytes, continuations: 0 }
  }

  #onContinuation(flags: number, payload: Buffer): void {
    const block = this.#openBlock
    if (block === undefined) throw protocolError('CONTINUATION follows no HEADERS')
    block.continuations += 1
    block.bytes.push(payload)
    // A block is about as long as its list. The decoder counts the list; this only limits what waits for the end of the block.
    const isTooLong = block.bytes.length > 2 * this.#limits.headerBytesMax
    if (isTooLong || block.continuations > this.#limits.http2ContinuationsMax)
      throw tooMuch('a header block is too long')
    if ((flags & frameFlags.endHeaders) === 0) return
    this.#openBlock = undefined
    this.#onHeaderBlock(block.streamId, block.endStream, block.bytes.take())
  }

  #onHeaderBlock(streamId: number, endStream: boolean, block: Buffer): void {
    // Also of a stream that is not served: the table is that of the connection.
    const fields = this.#decoder.decode(block)
    if (streamId % 2 === 0) throw protocolError('a client opens odd streams')
    if (streamId <= this.#lastStreamId) {
      this.#onTrailers(streamId, endStream, fields)
      return
    }
    this.#lastStreamId = streamId
    if (streamId > this.#lastServedId) return
    if (this.#activeStreams >= this.#limits.concurrentStreamsMax || this.#isFull()) {
      if (!this.#rejected.take()) throw tooMuch('too many streams were opened beyond the limit')
      this.#sendReset(streamId, errorCodes.refusedStream)
      return
    }
    const headers = fields === undefined ? undefined : this.#headersOf(fields)
    const length = headers?.['content-length']
    if (headers === undefined || (endStream && length !== undefined && Number(length) !== 0)) {
      this.#countMalformed()
      this.#sendReset(streamId, fields === undefined ? errorCodes.enhanceYourCalm : errorCodes.protocolError)
      return
    }
    const stream = new Http2Stream(this, streamId, this.#outbox.initialWindow, this.#initialReceiveWindow)
    if (length !== undefined) stream.missingBytes = Number(length)
    this.#streams.set(streamId, stream)
    this.#activeStreams += 1
    if (endStream) stream.receiveEnd()
    if (this.#leavesAfterNext) this.leave()
    this.#handler.onStream(stream, headers, endStream)
  }

  /** Clients send the same header fields again and again. */
  #headersOf(fields: readonly string[]): RequestHeaders | undefined {
    if (!areEqual(fields, this.#lastFields)) {
      this.#lastHeaders = requestHeaders(fields)
      this.#lastFields = fields
    }
    return this.#lastHeaders
  }

  /** The fields themselves are of no use to any request. */
  #onTrailers(streamId: number, endStream: boolean, fields: readonly string[] | undefined): void {
    const stream = this.#streams.get(streamId)
    if (stream === undefined || stream.closed) {
      this.#onLateFrame(streamId, 'HEADERS')
      return
    }
    if (stream.hasReceivedAll) throw streamClosed('HEADERS follow the end of a request')
    const isValid = endStream && fields !== undefined && areTrailers(fields)
    if (isValid && (stream.missingBytes ?? 0) === 0) this.#onRequestEnd(stream)
    else this.#onMalformed(stream, errorCodes.protocolError)
  }

  #onRequestEnd(stream: Http2Stream): void {
    stream.receiveEnd()
    if (stream.isSentCompletely) this.#deactivate(stream)
    if (stream.writableFinished && !stream.closed) this.#close(stream, errorCodes.noError)
  }

  #onResetStream(streamId: number, payload: Buffer): void {
    requireStream(streamId)
    requireLength(payload, 4)
    this.#requireOpened(streamId)
    if (!this.#resets.take()) throw tooMuch('too many streams were reset')
    const stream = this.#streams.get(streamId)
    if (stream !== undefined && !stream.closed) this.#close(stream, payload.readUInt32BE(0))
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    requireLength(payload, 4)
    const bytes = payload.readUInt32BE(0) & WINDOW_BYTES_LARGEST
    if (bytes === 0) throw protocolError('a window grows by 0')
    if (streamId === 0) {
      this.#outbox.growWindow(bytes)
      return
    }
    this.#requireOpened(streamId)
    const stream = this.#streams.get(streamId)
    if (stream === undefined || stream.closed) return
    const isBlocked = stream.sendWindow <= 0
    stream.sendWindow += bytes
    if (stream.sendWindow > WINDOW_BYTES_LARGEST) this.#onMalformed(stream, errorCodes.flowControlError)
    else if (isBlocked && stream.piece !== undefined) this.#outbox.schedule(stream)
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    requireConnection(streamId)
    if ((flags & frameFlags.ack) !== 0) {
      requireLength(payload, 0)
      this.#useReceiveWindow(this.#limits.streamWindowBytes)
      return
    }
    if (payload.length % SETTING_BYTES !== 0) throw frameSizeError('SETTINGS have a part of an entry')
    if (payload.length > this.#limits.http2SettingsMax * SETTING_BYTES)
      throw tooMuch('SETTINGS have too many entries')
    const initialWindow = this.#outbox.initialWindow
    for (let at = 0; at < payload.length; at += SETTING_BYTES)
      this.#applySetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    this.#changeSendWindows(this.#outbox.initialWindow - initialWindow)
    this.#outbox.addControl(encodeControlFrame(frameTypes.settings, frameFlags.ack, 0, Buffer.alloc(0)))
  }

  #applySetting(id: number, value: number): void {
    if (id === settingIds.headerTableSize) this.#outbox.mustSayTableSize = true
    else if (id === settingIds.enablePush && value > 1) throw protocolError('ENABLE_PUSH is not 0 or 1')
    else if (id === settingIds.initialWindowSize) {
      if (value > WINDOW_BYTES_LARGEST) throw flowControlError()
      this.#outbox.initialWindow = value
    } else if (id === settingIds.maxFrameSize) {
      if (value < FRAME_BYTES_DEFAULT || value > FRAME_BYTES_LARGEST)
        throw protocolError('MAX_FRAME_SIZE is out of range')
      this.#outbox.frameBytesMax = Math.min(value, SENT_FRAME_BYTES_MAX)
    }
  }

  /** The client reads so much more, or less, ahead of each open stream. */
  #changeSendWindows(bytes: number): void {
    if (bytes === 0) return
    for (const stream of this.#streams.values()) {
      stream.sendWindow += bytes
      if (stream.sendWindow > WINDOW_BYTES_LARGEST) throw flowControlError()
      if (stream.piece !== undefined) this.#outbox.schedule(stream)
    }
  }

  /** The client knows the window of its streams from now on. */
  #useReceiveWindow(bytes: number): void {
    const change = bytes - this.#initialReceiveWindow
    this.#initialReceiveWindow = bytes
    if (change === 0) return
    for (const stream of this.#streams.values()) {
      stream.receiveWindow += change
      // By a smaller window it may be much: the client may not be able to send what would make it more.
      if (!stream.hasReceivedAll && !stream.closed) this.#announceRead(stream)
    }
  }

  #onPing(flags: number, streamId: number, payload: Buffer): void {
    requireConnection(streamId)
    requireLength(payload, 8)
    if ((flags & frameFlags.ack) === 0) {
      this.#outbox.addControl(encodeControlFrame(frameTypes.ping, frameFlags.ack, 0, payload))
      return
    }
    const onPong = this.#onPong
    this.#onPong = undefined
    onPong?.()
  }

  /** A frame of a stream that is over. What a client sent before it knew of a reset is ignored. */
  #onLateFrame(streamId: number, type: string): void {
    if (!this.#resetIds.has(streamId) && streamId <= this.#lastServedId)
      throw streamClosed(`${type} follows the end of a stream`)
  }

  #onMalformed(stream: Http2Stream, code: number): void {
    this.#countMalformed()
    stream.close(code)
  }

  #countMalformed(): void {
    if (!this.#malformed.take()) throw tooMuch('too many requests are malformed')
  }

  #countControlFrame(): void {
    if (!this.#controlFrames.take()) throw tooMuch('too many control frames')
  }

  #requireOpened(streamId: number): void {
    if (streamId > this.#lastStreamId || streamId % 2 === 0)
      throw protocolError(`stream ${streamId} was not opened`)
  }

  /** Whether the connection has so much to read, or so many replies that the system has not taken, that it gets no new streams. */
  #isFull(): boolean {
    const { concurrentStreamsMax, http2UnreadBytesMax } = this.#limits
    return this.#streams.size >= 2 * concurrentStreamsMax || this.unreadBytes > http2UnreadBytesMax
  }

  #deactivate(stream: Http2Stream): void {
    if (!stream.isActive) return
    stream.isActive = false
    this.#activeStreams -= 1
  }

  /** The stream has ended; a listener of its last events may have reset it meanwhile. */
  #close(stream: Http2Stream, code: number): void {
    if (!this.#streams.delete(stream.id)) return
    this.#deactivate(stream)
    this.#outbox.remove(stream)
    if (!this.hasStreams) this.idleSince = Date.now()
    stream.onClosed(code)
    if (this.#isLeaving) this.#endIfDone()
  }

  /** A client that is asked to leave may have opened a stream before it knew, which arrives before its answer to the PING. */
  #endIfDone(): void {
    if (this.hasStreams) return
    if (this.#onPong === undefined) this.end()
    else
      setTimeout(() => {
        if (!this.hasStreams) this.end()
      }, CLOSE_MS).unref()
  }

  #fail(failure: unknown): void {
    const code =
      failure instanceof ConnectionError
        ? failure.code
        : failure instanceof HpackError
          ? errorCodes.compressionError
          : undefined
    if (code === undefined) {
      this.onFault(failure)
      return
    }
    this.#handler.onViolation(this, failure as Error)
    this.end(code)
  }

  #onSocketClosed(): void {
    this.#isEnding = true
    for (const stream of [...this.#streams.values()]) {
      try {
        this.#close(stream, errorCodes.cancel)
      } catch (failure) {
        this.#handler.onFault(this, failure)
      }
    }
    this.#handler.onClosed(this)
  }

  #sendReset(streamId: number, code: number): void {
    this.#outbox.addControl(encodeNumberFrame(frameTypes.resetStream, streamId, code))
    this.#resetIds.add(streamId)
    if (this.#resetIds.size <= RESET_IDS_MAX) return
    const [oldest] = this.#resetIds
    this.#resetIds.delete(oldest as number)
  }

  #sendSettings(): void {
    const { concurrentStreamsMax, streamWindowBytes, headerBytesMax } = this.#limits
    const settings: readonly (readonly [number, number])[] = [
      [settingIds.maxConcurrentStreams, concurrentStreamsMax],
      [settingIds.initialWindowSize, streamWindowBytes],
      [settingIds.maxHeaderListSize, headerBytesMax],
    ]
    const payload = Buffer.alloc(settings.length * SETTING_BYTES)
    for (const [index, [id, value]] of settings.entries()) {
      payload.writeUInt16BE(id, index * SETTING_BYTES)
      writeUint32(payload, index * SETTING_BYTES + 2, value)
    }
    this.#outbox.addControl(encodeControlFrame(frameTypes.settings, 0, 0, payload))
  }

  #sendGoaway(lastStreamId: number, code: number): void {
    const payload = Buffer.alloc(8)
    writeUint32(payload, writeUint32(payload, 0, lastStreamId), code)
    this.#outbox.addControl(encodeControlFrame(frameTypes.goaway, 0, 0, payload))
  }
}

function streamClosed(message: string): ConnectionError {
  return new ConnectionError(errorCodes.streamClosed, message)
}

function areEqual(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false
  return true
}
