import type { Socket } from 'node:net'
import { afterIteration } from '../../runtime/after-iteration.ts'
import { ByteCollector } from '../../runtime/byte-collector.ts'
import type { PortLimits } from '../port-context.ts'
import { FrameWriter } from './frame-writer.ts'
import {
  encodeControlFrame,
  encodeNumberFrame,
  errorCodes,
  FRAME_BYTES_DEFAULT,
  FRAME_BYTES_LARGEST,
  FRAME_HEAD_BYTES,
  frameFlags,
  frameTypes,
  preface,
  STREAM_ID_LARGEST,
  settingIds,
  WINDOW_BYTES_DEFAULT,
  WINDOW_BYTES_LARGEST,
  writeUint32,
} from './frames.ts'
import { HpackDecoder, HpackError } from './hpack/decoder.ts'
import { areTrailers, type RequestHeaders, requestHeaders } from './request-headers.ts'
import { Http2Stream, type Piece, type StreamConnection } from './stream.ts'
import { TokenBucket } from './token-bucket.ts'

/** Who serves the streams of a session. */
export interface Http2SessionHandler {
  /** A request. `endOfStream`: it has no body. Must not throw. */
  onStream(stream: Http2Stream, headers: RequestHeaders, endOfStream: boolean): void
  /** The client broke or flooded the protocol, so the connection ends. */
  onViolation(session: Http2Session, failure: Error): void
  /** A defect of the server, which ends the connection. */
  onFault(session: Http2Session, failure: unknown): void
  /** The connection is closed, and so are its streams. */
  onClosed(session: Http2Session): void
}

/** Bytes that are given to the socket before it has passed on those before. */
const SOCKET_BYTES_MAX = 512 * 1024
/** How long an ended connection may take to pass on its last frames. */
const CLOSE_MS = 1000
/** The server announces that it reads as much again when so much of a window was read. */
const WINDOW_UPDATE_FROM = 1 / 2
const EMPTY = Buffer.alloc(0)

/** The client broke the protocol in a way that ends the connection (RFC 9113, section 5.4.1). */
class ConnectionError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The header block of a request that is being received. */
interface OpenBlock {
  readonly streamId: number
  readonly endStream: boolean
  readonly bytes: ByteCollector
  continuations: number
}

/** What the system gets of the streams with one write. */
interface Taken {
  readonly stream: Http2Stream
  readonly bytes: number
  readonly isEnd: boolean
  readonly onTaken: (() => void) | undefined
}

const writer = new FrameWriter()

/**
 * The server side of a connection of HTTP/2 (RFC 9113): frames, header tables, flow control, and the limits of config/limits.ts for all of
 * them. It offers no server push, no priorities and no extension. A violation ends the connection, except in the header fields and the
 * length of a request, which reset its stream.
 */
export class Http2Session implements StreamConnection {
  readonly remoteAddress: string | undefined
  /** When the last stream ended; milliseconds since the epoch. */
  idleSince = Date.now()
  readonly #socket: Socket
  readonly #limits: PortLimits
  readonly #handler: Http2SessionHandler
  readonly #decoder: HpackDecoder
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

  // What arrives.
  readonly #partial = new ByteCollector()
  /** Bytes of the next frame, as far as they are known. */
  #needed = preface.length
  #hasPreface = false
  #hasSettings = false
  #openBlock: OpenBlock | undefined = undefined
  #lastFields: readonly string[] = []
  #lastHeaders: RequestHeaders | undefined = undefined
  #receiveWindow = WINDOW_BYTES_DEFAULT
  #initialReceiveWindow: number
  #readBytes = 0
  unreadBytes = 0

  // What is sent.
  #control: Buffer[] = []
  #mustSayTableSize = true
  readonly #sendable = new Set<Http2Stream>()
  /** Streams that wait for the window of the connection. */
  readonly #blocked = new Set<Http2Stream>()
  #closing: Http2Stream[] = []
  /** For each write that the system has not completed. */
  readonly #writes: Taken[][] = []
  #sendWindow = WINDOW_BYTES_DEFAULT
  #initialSendWindow = WINDOW_BYTES_DEFAULT
  #frameBytesMax = FRAME_BYTES_DEFAULT
  #isScheduled = false

  #isLeaving = false
  #leavesAfterNext = false
  #isEnding = false
  #isClosed = false
  #onPing: (() => void) | undefined = undefined
  readonly #controlFrames: TokenBucket
  readonly #resets: TokenBucket
  #malformedRequests = 0
  #rejectedStreams = 0

  constructor(socket: Socket, limits: PortLimits, handler: Http2SessionHandler) {
    this.#socket = socket
    this.remoteAddress = socket.remoteAddress
    this.#limits = limits
    this.#handler = handler
    this.#decoder = new HpackDecoder(limits)
    // Until the client has acknowledged a smaller one.
    this.#initialReceiveWindow = Math.max(limits.streamWindowBytes, WINDOW_BYTES_DEFAULT)
    this.#controlFrames = new TokenBucket(
      limits.http2ControlFramesMax,
      (limits.http2ControlFramesMax / limits.http2ControlWindowMs) * 1000,
    )
    this.#resets = new TokenBucket(limits.http2ResetsBurst, limits.http2ResetsPerSecond)
    this.#sendSettings()
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('close', () => this.#onSocketClosed())
  }

  get hasStreams(): boolean {
    return this.#streams.size > 0
  }

  /** Whether the client was told to open no more streams. */
  get isLeaving(): boolean {
    return this.#isLeaving
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
    this.#onPing = () => {
      this.#lastServedId = this.#lastStreamId
      this.#sendGoaway(this.#lastServedId, errorCodes.noError)
      this.#endIfDone()
    }
    this.#addControl(encodeControlFrame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
  }

  /** Leaves when the client has opened its first stream. */
  leaveAfterNext(): void {
    this.#leavesAfterNext = true
  }

  /** Ends the connection; streams that are open are cut off. */
  end(code: number = errorCodes.noError): void {
    if (this.#isEnding || this.#isClosed) return
    this.#sendGoaway(this.#lastStreamId, code)
    this.#flush()
    this.#isEnding = true
    // The frames of a client that has not read the GOAWAY are read and dropped: closed with unread bytes, the connection would be reset.
    if (code === errorCodes.noError) this.#socket.end()
    else this.#socket.destroySoon()
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  schedule(stream: Http2Stream): void {
    this.#sendable.add(stream)
    this.#scheduleFlush()
  }

  onRead(stream: Http2Stream, bytes: number): void {
    if (stream.hasReceivedAll || stream.closed) return
    stream.readBytes += bytes
    if (stream.readBytes < this.#initialReceiveWindow * WINDOW_UPDATE_FROM) return
    this.#addControl(encodeNumberFrame(frameTypes.windowUpdate, stream.id, stream.readBytes))
    stream.receiveWindow += stream.readBytes
    stream.readBytes = 0
  }

  onReset(stream: Http2Stream): void {
    this.#sendReset(stream.id, stream.rstCode)
    this.#deactivate(stream)
    this.#closing.push(stream)
  }

  #receive(chunk: Buffer): void {
    if (this.#isEnding || this.#isClosed) return
    let bytes = chunk
    if (this.#partial.length > 0) {
      this.#partial.push(chunk)
      if (this.#partial.length < this.#needed) return
      bytes = this.#partial.take()
    }
    try {
      const at = this.#readFrames(bytes)
      if (at < bytes.length && !this.#isEnding) this.#partial.push(bytes.subarray(at))
    } catch (failure) {
      this.#fail(failure)
    }
  }

  /** Reads whole frames; returns where the first incomplete one starts. */
  #readFrames(bytes: Buffer): number {
    let at = 0
    if (!this.#hasPreface) {
      if (bytes.length < preface.length) return 0
      if (bytes.compare(preface, 0, preface.length, 0, preface.length) !== 0)
        throw new ConnectionError(errorCodes.protocolError, 'the preface is missing')
      this.#hasPreface = true
      at = preface.length
    }
    for (;;) {
      this.#needed = FRAME_HEAD_BYTES
      if (bytes.length - at < FRAME_HEAD_BYTES) return at
      const length =
        ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
      if (length > FRAME_BYTES_DEFAULT)
        throw new ConnectionError(errorCodes.frameSizeError, `a frame has ${length} bytes`)
      this.#needed = FRAME_HEAD_BYTES + length
      const end = at + this.#needed
      if (bytes.length < end) return at
      const type = bytes[at + 3] as number
      const flags = bytes[at + 4] as number
      const streamId = bytes.readUInt32BE(at + 5) & STREAM_ID_LARGEST
      this.#readFrame(type, flags, streamId, bytes.subarray(at + FRAME_HEAD_BYTES, end))
      if (this.#isEnding || this.#isClosed) return bytes.length
      at = end
    }
  }

  #readFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#hasSettings) {
      if (type !== frameTypes.settings || (flags & frameFlags.ack) !== 0)
        throw new ConnectionError(errorCodes.protocolError, 'the first frame is not SETTINGS')
      this.#hasSettings = true
    }
    if (
      this.#openBlock !== undefined &&
      (type !== frameTypes.continuation || streamId !== this.#openBlock.streamId)
    )
      throw new ConnectionError(errorCodes.protocolError, 'a header block is interrupted')
    switch (type) {
      case frameTypes.data:
        return this.#onData(flags, streamId, payload)
      case frameTypes.headers:
        return this.#onHeaders(flags, streamId, payload)
      case frameTypes.continuation:
        return this.#onContinuation(flags, payload)
      case frameTypes.windowUpdate:
        return this.#onWindowUpdate(streamId, payload)
      case frameTypes.resetStream:
        return this.#onResetStream(streamId, payload)
      case frameTypes.settings:
        this.#countControlFrame()
        return this.#onSettings(flags, streamId, payload)
      case frameTypes.ping:
        this.#countControlFrame()
        return this.#onPingFrame(flags, streamId, payload)
      case frameTypes.pushPromise:
        throw new ConnectionError(errorCodes.protocolError, 'a client cannot push')
      case frameTypes.priority:
        this.#countControlFrame()
        requireStream(streamId)
        requireLength(payload, 5)
        return requireOtherStream(streamId, payload)
      case frameTypes.goaway:
        this.#countControlFrame()
        requireConnection(streamId)
        if (payload.length < 8) throw frameSizeError()
        return
      default:
        // Section 4.1: frames of unknown types are ignored.
        this.#countControlFrame()
    }
  }

  #onData(flags: number, streamId: number, payload: Buffer): void {
    requireStream(streamId)
    this.#requireOpened(streamId)
    const endStream = (flags & frameFlags.endStream) !== 0
    if (payload.length === 0 && !endStream) this.#countControlFrame()
    // Of the connection: what each stream has is limited by its own window.
    this.#receiveWindow -= payload.length
    if (this.#receiveWindow < 0) throw flowControlError()
    this.#readBytes += payload.length
    if (this.#readBytes >= WINDOW_BYTES_DEFAULT * WINDOW_UPDATE_FROM) {
      this.#addControl(encodeNumberFrame(frameTypes.windowUpdate, 0, this.#readBytes))
      this.#receiveWindow += this.#readBytes
      this.#readBytes = 0
    }
    const data = withoutPadding(flags, payload)
    const stream = this.#streams.get(streamId)
    if (stream === undefined || stream.closed) return this.#onLateFrame(streamId, 'DATA')
    if (stream.hasReceivedAll)
      throw new ConnectionError(errorCodes.streamClosed, 'DATA follows the end of a request')
    stream.receiveWindow -= payload.length
    if (stream.receiveWindow < 0) throw flowControlError()
    if (stream.missingBytes !== undefined) {
      stream.missingBytes -= data.length
      if (stream.missingBytes < 0 || (endStream && stream.missingBytes > 0)) return this.#onMalformed(stream)
    }
    if (payload.length > data.length) this.onRead(stream, payload.length - data.length)
    if (data.length > 0) stream.receive(data)
    if (endStream) this.#onRequestEnd(stream)
  }

  #onHeaders(flags: number, streamId: number, payload: Buffer): void {
    requireStream(streamId)
    let block = withoutPadding(flags, payload)
    if ((flags & frameFlags.priority) !== 0) {
      if (block.length < 5) throw frameSizeError()
      requireOtherStream(streamId, block)
      block = block.subarray(5)
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
    if (block === undefined)
      throw new ConnectionError(errorCodes.protocolError, 'CONTINUATION follows no HEADERS')
    block.continuations += 1
    if (block.continuations > this.#limits.http2ContinuationsMax)
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'a header block has too many frames')
    block.bytes.push(payload)
    if (block.bytes.length > 2 * this.#limits.headerBytesMax)
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'a header block is too long')
    if ((flags & frameFlags.endHeaders) === 0) return
    this.#openBlock = undefined
    this.#onHeaderBlock(block.streamId, block.endStream, block.bytes.take())
  }

  #onHeaderBlock(streamId: number, endStream: boolean, block: Buffer): void {
    // Also of a stream that is not served: the table is that of the connection.
    const fields = this.#decoder.decode(block)
    if (streamId <= this.#lastStreamId) {
      this.#onTrailers(streamId, endStream, fields)
      return
    }
    if (streamId % 2 === 0) throw new ConnectionError(errorCodes.protocolError, 'a client opens odd streams')
    this.#lastStreamId = streamId
    if (streamId > this.#lastServedId) return
    if (this.#activeStreams >= this.#limits.concurrentStreamsMax || this.#isFull()) {
      this.#rejectedStreams += 1
      if (this.#rejectedStreams > this.#limits.http2RejectedStreamsMax)
        throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many streams were opened beyond the limit')
      this.#sendReset(streamId, errorCodes.refusedStream)
      return
    }
    if (fields === undefined) {
      this.#countMalformed()
      this.#sendReset(streamId, errorCodes.enhanceYourCalm)
      return
    }
    const headers = this.#headersOf(fields)
    const length = headers?.['content-length']
    if (headers === undefined || (endStream && length !== undefined && Number(length) !== 0)) {
      this.#countMalformed()
      this.#sendReset(streamId, errorCodes.protocolError)
      return
    }
    const stream = new Http2Stream(this, streamId, this.#initialSendWindow, this.#initialReceiveWindow)
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
    if (stream === undefined || stream.closed) return this.#onLateFrame(streamId, 'HEADERS')
    if (stream.hasReceivedAll)
      throw new ConnectionError(errorCodes.streamClosed, 'HEADERS follow the end of a request')
    const isValid = endStream && fields !== undefined && areTrailers(fields)
    if (!isValid || (stream.missingBytes ?? 0) > 0) return this.#onMalformed(stream)
    this.#onRequestEnd(stream)
  }

  #onRequestEnd(stream: Http2Stream): void {
    stream.receiveEnd()
    if (stream.isSentCompletely) this.#deactivate(stream)
    if (stream.writableFinished) this.#close(stream, errorCodes.noError)
  }

  #onResetStream(streamId: number, payload: Buffer): void {
    requireStream(streamId)
    requireLength(payload, 4)
    this.#requireOpened(streamId)
    if (!this.#resets.take())
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many streams were reset')
    const stream = this.#streams.get(streamId)
    if (stream !== undefined && !stream.closed) this.#close(stream, payload.readUInt32BE(0))
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    requireLength(payload, 4)
    const bytes = payload.readUInt32BE(0) & WINDOW_BYTES_LARGEST
    if (bytes === 0) throw new ConnectionError(errorCodes.protocolError, 'a window grows by 0')
    if (streamId === 0) {
      this.#sendWindow += bytes
      if (this.#sendWindow > WINDOW_BYTES_LARGEST) throw flowControlError()
      if (this.#blocked.size === 0) return
      for (const stream of this.#blocked) this.#sendable.add(stream)
      this.#blocked.clear()
      this.#scheduleFlush()
      return
    }
    this.#requireOpened(streamId)
    const stream = this.#streams.get(streamId)
    if (stream === undefined || stream.closed) return
    stream.sendWindow += bytes
    if (stream.sendWindow > WINDOW_BYTES_LARGEST)
      return this.#onMalformed(stream, errorCodes.flowControlError)
    if (stream.piece !== undefined) this.schedule(stream)
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    requireConnection(streamId)
    if ((flags & frameFlags.ack) !== 0) {
      requireLength(payload, 0)
      this.#useReceiveWindow(this.#limits.streamWindowBytes)
      return
    }
    if (payload.length % SETTING_BYTES !== 0) throw frameSizeError()
    if (payload.length > this.#limits.http2SettingsMax * SETTING_BYTES)
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many settings')
    for (let at = 0; at < payload.length; at += SETTING_BYTES)
      this.#applySetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    this.#addControl(encodeControlFrame(frameTypes.settings, frameFlags.ack, 0, EMPTY))
  }

  #applySetting(id: number, value: number): void {
    switch (id) {
      case settingIds.headerTableSize:
        this.#mustSayTableSize = true
        return
      case settingIds.enablePush:
        if (value > 1) throw new ConnectionError(errorCodes.protocolError, 'ENABLE_PUSH is not 0 or 1')
        return
      case settingIds.initialWindowSize: {
        if (value > WINDOW_BYTES_LARGEST) throw flowControlError()
        const change = value - this.#initialSendWindow
        this.#initialSendWindow = value
        for (const stream of this.#streams.values()) {
          stream.sendWindow += change
          if (stream.sendWindow > WINDOW_BYTES_LARGEST) throw flowControlError()
          if (stream.piece !== undefined) this.schedule(stream)
        }
        return
      }
      case settingIds.maxFrameSize:
        if (value < FRAME_BYTES_DEFAULT || value > FRAME_BYTES_LARGEST)
          throw new ConnectionError(errorCodes.protocolError, 'MAX_FRAME_SIZE is out of range')
        this.#frameBytesMax = Math.min(value, SENT_FRAME_BYTES_MAX)
    }
  }

  /** The client knows the window of its streams from now on. */
  #useReceiveWindow(bytes: number): void {
    const change = bytes - this.#initialReceiveWindow
    if (change === 0) return
    this.#initialReceiveWindow = bytes
    for (const stream of this.#streams.values()) stream.receiveWindow += change
  }

  #onPingFrame(flags: number, streamId: number, payload: Buffer): void {
    requireConnection(streamId)
    requireLength(payload, 8)
    if ((flags & frameFlags.ack) === 0) {
      this.#addControl(encodeControlFrame(frameTypes.ping, frameFlags.ack, 0, payload))
      return
    }
    const onPing = this.#onPing
    this.#onPing = undefined
    onPing?.()
  }

  /** A frame of a stream that is over. What a client sent before it knew of a reset is ignored. */
  #onLateFrame(streamId: number, type: string): void {
    if (this.#resetIds.has(streamId) || streamId > this.#lastServedId) return
    throw new ConnectionError(errorCodes.streamClosed, `${type} follows the end of a stream`)
  }

  #onMalformed(stream: Http2Stream, code: number = errorCodes.protocolError): void {
    this.#countMalformed()
    stream.close(code)
  }

  #countMalformed(): void {
    this.#malformedRequests += 1
    if (this.#malformedRequests > this.#limits.http2MalformedRequestsMax)
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many requests are malformed')
  }

  #countControlFrame(): void {
    if (!this.#controlFrames.take())
      throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many control frames')
  }

  #requireOpened(streamId: number): void {
    const isIdle = streamId > this.#lastStreamId || (streamId % 2 === 0 && streamId !== 0)
    if (isIdle) throw new ConnectionError(errorCodes.protocolError, `stream ${streamId} was not opened`)
  }

  /** Whether the connection holds so much that it gets no new streams. */
  #isFull(): boolean {
    return this.unreadBytes > this.#limits.http2UnreadBytesMax
  }

  #sendReset(streamId: number, code: number): void {
    this.#addControl(encodeNumberFrame(frameTypes.resetStream, streamId, code))
    this.#resetIds.add(streamId)
    if (this.#resetIds.size <= this.#limits.concurrentStreamsMax) return
    const [oldest] = this.#resetIds
    this.#resetIds.delete(oldest as number)
  }

  #deactivate(stream: Http2Stream): void {
    if (!stream.isActive) return
    stream.isActive = false
    this.#activeStreams -= 1
  }

  /** The stream has ended, and its `close` is emitted. */
  #close(stream: Http2Stream, code: number): void {
    this.#deactivate(stream)
    this.#streams.delete(stream.id)
    this.#sendable.delete(stream)
    this.#blocked.delete(stream)
    if (this.#streams.size === 0) this.idleSince = Date.now()
    stream.onClosed(code)
    if (this.#isLeaving) this.#endIfDone()
  }

  #endIfDone(): void {
    if (!this.hasStreams) this.end()
  }

  #fail(failure: unknown): void {
    const code =
      failure instanceof ConnectionError
        ? failure.code
        : failure instanceof HpackError
          ? errorCodes.compressionError
          : undefined
    if (code === undefined) this.#handler.onFault(this, failure)
    else this.#handler.onViolation(this, failure as Error)
    this.end(code ?? errorCodes.internalError)
  }

  #onSocketClosed(): void {
    this.#isClosed = true
    for (const stream of [...this.#streams.values()]) this.#close(stream, errorCodes.cancel)
    this.#handler.onClosed(this)
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
    this.#addControl(encodeControlFrame(frameTypes.settings, 0, 0, payload))
  }

  #sendGoaway(lastStreamId: number, code: number): void {
    const payload = Buffer.alloc(8)
    writeUint32(payload, writeUint32(payload, 0, lastStreamId), code)
    this.#addControl(encodeControlFrame(frameTypes.goaway, 0, 0, payload))
  }

  #addControl(frame: Buffer): void {
    this.#control.push(frame)
    this.#scheduleFlush()
  }

  #scheduleFlush(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterIteration(this.#flush)
  }

  /** Sends what waits, as far as the windows and the socket allow. */
  readonly #flush = (): void => {
    this.#isScheduled = false
    if (this.#isEnding || this.#isClosed) return
    for (const frame of this.#control) writer.add(frame)
    this.#control = []
    const taken: Taken[] = []
    const room = SOCKET_BYTES_MAX - this.#socket.writableLength
    for (const stream of this.#sendable) {
      if (writer.bytes >= room) break
      this.#sendable.delete(stream)
      if (!stream.closed) this.#send(stream, taken)
    }
    this.#write(taken)
    const closing = this.#closing
    this.#closing = []
    for (const stream of closing) this.#close(stream, stream.rstCode)
  }

  /** Sends the head of a stream and one frame of its body; with what is left the stream waits again. */
  #send(stream: Http2Stream, taken: Taken[]): void {
    const head = stream.takeHead()
    if (head !== undefined) {
      const isEnd = stream.writableEnded && stream.piece === undefined && !stream.hasTrailers
      writer.addHeaders(stream.id, head, isEnd, {
        frameBytesMax: this.#frameBytesMax,
        saysTableSize: this.#mustSayTableSize,
      })
      this.#mustSayTableSize = false
      if (isEnd) return this.#onSent(stream, taken)
    }
    const { piece } = stream
    if (piece !== undefined && !this.#sendPiece(stream, piece, taken)) return
    if (!stream.writableEnded || stream.isSentCompletely || stream.piece !== undefined) return
    const trailers = stream.takeTrailers()
    if (trailers === undefined) writer.addData(stream.id, EMPTY, true)
    else
      writer.addHeaders(stream.id, trailers, true, {
        frameBytesMax: this.#frameBytesMax,
        saysTableSize: false,
      })
    this.#onSent(stream, taken)
  }

  /** Returns false if the stream has to wait, or has ended. */
  #sendPiece(stream: Http2Stream, piece: Piece, taken: Taken[]): boolean {
    const left = piece.bytes.length - stream.pieceBytesSent
    const window = Math.min(stream.sendWindow, this.#sendWindow)
    const length = Math.min(left, window, this.#frameBytesMax)
    if (length <= 0 && left > 0) {
      // A stream without a window of its own is scheduled when it gets one.
      if (stream.sendWindow > 0) this.#blocked.add(stream)
      return false
    }
    const isWhole = length === left
    const payload =
      isWhole && stream.pieceBytesSent === 0
        ? piece.bytes
        : piece.bytes.subarray(stream.pieceBytesSent, stream.pieceBytesSent + length)
    stream.sendWindow -= length
    this.#sendWindow -= length
    if (isWhole) stream.nextPiece()
    else stream.pieceBytesSent += length
    const isEnd = stream.writableEnded && stream.piece === undefined && !stream.hasTrailers
    if (length > 0 || isEnd) writer.addData(stream.id, payload, isEnd)
    taken.push({ stream, bytes: length, isEnd: false, onTaken: isWhole ? piece.onTaken : undefined })
    if (isEnd) {
      this.#onSent(stream, taken)
      return false
    }
    if (stream.piece === undefined) return true
    this.#sendable.add(stream)
    return false
  }

  /** The last frame of a stream is on its way. */
  #onSent(stream: Http2Stream, taken: Taken[]): void {
    stream.isSentCompletely = true
    if (stream.hasReceivedAll) this.#deactivate(stream)
    taken.push({ stream, bytes: 0, isEnd: true, onTaken: undefined })
  }

  #write(taken: Taken[]): void {
    const parts = writer.take()
    const last = parts.pop()
    if (last === undefined) return this.#onTaken(taken)
    const socket = this.#socket
    if (socket.destroyed) return
    this.#writes.push(taken)
    if (parts.length > 0) {
      socket.cork()
      for (const part of parts) socket.write(part)
    }
    socket.write(last, this.#onWritten)
    if (parts.length > 0) socket.uncork()
    // Nearly always the system takes all of it immediately. The callback finds nothing left to do then.
    if (socket.writableLength === 0) this.#onTaken(taken)
    else if (socket.writableLength > SOCKET_BYTES_MAX + this.#limits.http2UnsentControlBytesMax) {
      this.#handler.onViolation(this, new Error('the client does not read the replies to its control frames'))
      this.destroy()
    }
  }

  readonly #onWritten = (failure?: Error | null): void => {
    const taken = this.#writes.shift()
    // After a failure the connection closes, and its streams.
    if (failure != null) return
    if (taken !== undefined) this.#onTaken(taken)
    if (this.#sendable.size > 0) this.#scheduleFlush()
  }

  #onTaken(taken: Taken[]): void {
    for (const { stream, bytes, isEnd, onTaken } of taken.splice(0)) {
      onTaken?.()
      if (bytes > 0) stream.onTaken(bytes)
      if (!isEnd || stream.closed) continue
      stream.onFinished()
      if (stream.hasReceivedAll) this.#close(stream, errorCodes.noError)
    }
  }
}

const SETTING_BYTES = 6
/** Longer frames would make the frames of other streams wait. */
const SENT_FRAME_BYTES_MAX = 64 * 1024

function areEqual(some: readonly string[], others: readonly string[]): boolean {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false
  return true
}

/** The payload of DATA or HEADERS without its padding. */
function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & frameFlags.padded) === 0) return payload
  if (payload.length === 0) throw frameSizeError()
  const padding = payload[0] as number
  if (padding >= payload.length)
    throw new ConnectionError(errorCodes.protocolError, 'a frame has too much padding')
  return payload.subarray(1, payload.length - padding)
}

function requireStream(streamId: number): void {
  if (streamId === 0) throw new ConnectionError(errorCodes.protocolError, 'a frame of a stream has no stream')
}

function requireConnection(streamId: number): void {
  if (streamId !== 0)
    throw new ConnectionError(errorCodes.protocolError, 'a frame of the connection has a stream')
}

function requireLength(payload: Buffer, length: number): void {
  if (payload.length !== length) throw frameSizeError()
}

/** Section 5.3.1 of RFC 7540: no stream depends on itself. */
function requireOtherStream(streamId: number, priority: Buffer): void {
  if ((priority.readUInt32BE(0) & STREAM_ID_LARGEST) === streamId)
    throw new ConnectionError(errorCodes.protocolError, 'a stream depends on itself')
}

function frameSizeError(): ConnectionError {
  return new ConnectionError(errorCodes.frameSizeError, 'a frame has the wrong length')
}

function flowControlError(): ConnectionError {
  return new ConnectionError(errorCodes.flowControlError, 'a window was exceeded')
}
