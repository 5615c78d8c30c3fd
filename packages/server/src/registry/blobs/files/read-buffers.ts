import type { FileHandle } from 'node:fs/promises'
import { limits } from '../../../config/limits.ts'

/**
 * Memory for reads of files: allocating it costs more than reading. A few concurrent reads get large pieces, since large chunks are cheap
 * to send; many get small ones, which limits their total. Larger ones than these do not stay in the caches of a processor until they
 * are sent. A large piece keeps its bytes until its memory is needed, so clients that pull the same blob together read it once.
 */
export interface ReadBuffers {
  /** Reads the bytes at `position`, `bytes` at most. A piece without bytes is the end of the file. */
  read(source: ReadSource, position: number, bytes: number): Promise<Piece>
}

export interface ReadSource {
  readonly file: FileHandle
  /** Names content that never changes. Undefined: the file is read in any case. */
  readonly content: string | undefined
}

/** Nobody may change its bytes: others may have the same piece. */
export interface Piece {
  readonly bytes: Uint8Array
  /** Its memory is no longer used. */
  release(): void
  /** Its memory may still be used by a connection, so it is left to the garbage collector. */
  abandon(): void
}

const KIB = 1024
const LARGE_BYTES = 512 * KIB
const LARGE_PIECES_MAX = limits.blobPiecesBytesMax / LARGE_BYTES
const SMALL_BYTES = 64 * KIB
const SMALL_KEPT_MAX = 64

export function createReadBuffers(): ReadBuffers {
  const pool = new LargePieces()
  const small: Buffer[] = []

  const readSmall = async ({ file }: ReadSource, position: number, bytes: number): Promise<Piece> => {
    const buffer = small.pop() ?? Buffer.allocUnsafeSlow(SMALL_BYTES)
    const release = () => {
      if (small.length < SMALL_KEPT_MAX) small.push(buffer)
    }
    const { bytesRead } = await file.read(buffer, 0, Math.min(bytes, SMALL_BYTES), position)
    return { bytes: buffer.subarray(0, bytesRead), release, abandon() {} }
  }

  return {
    async read(source, position, bytes) {
      if (bytes <= SMALL_BYTES) return readSmall(source, position, bytes)
      const length = Math.min(bytes, LARGE_BYTES)
      const key = source.content === undefined ? undefined : `${position}+${length} ${source.content}`
      const piece = pool.take(key)
      if (piece === undefined) return readSmall(source, position, bytes)
      await piece.read(source.file, position, length)
      return piece
    },
  }
}

class LargePieces {
  /** By what they hold. */
  readonly #held = new Map<string, LargePiece>()
  /** Those without users; first the one that was used least recently. */
  readonly #unused = new Set<LargePiece>()
  #made = 0

  /** Returns the piece that holds `key`, or one to read into; undefined if all are in use. */
  take(key: string | undefined): LargePiece | undefined {
    const known = key === undefined ? undefined : this.#held.get(key)
    const piece = known ?? this.#make() ?? first(this.#unused)
    if (piece === undefined) return undefined
    this.#unused.delete(piece)
    piece.users++
    if (piece === known) return piece
    this.forget(piece)
    piece.key = key
    if (key !== undefined) this.#held.set(key, piece)
    return piece
  }

  #make(): LargePiece | undefined {
    if (this.#made === LARGE_PIECES_MAX) return undefined
    this.#made++
    return new LargePiece(this)
  }

  release(piece: LargePiece): void {
    piece.users--
    if (piece.users === 0 && !piece.isAbandoned) this.#unused.add(piece)
  }

  abandon(piece: LargePiece): void {
    if (!piece.isAbandoned) this.#made--
    piece.isAbandoned = true
    this.forget(piece)
    this.release(piece)
  }

  /** The next read of what it holds reads the file. */
  forget(piece: LargePiece): void {
    if (piece.key !== undefined && this.#held.get(piece.key) === piece) this.#held.delete(piece.key)
    piece.key = undefined
    piece.reading = undefined
  }
}

class LargePiece implements Piece {
  readonly #pool: LargePieces
  readonly #buffer = Buffer.allocUnsafeSlow(LARGE_BYTES)
  bytes: Uint8Array = this.#buffer.subarray(0, 0)
  key: string | undefined = undefined
  users = 0
  isAbandoned = false
  reading: Promise<void> | undefined = undefined

  constructor(pool: LargePieces) {
    this.#pool = pool
  }

  /** Reads unless another user has. */
  async read(file: FileHandle, position: number, length: number): Promise<void> {
    this.reading ??= this.#fill(file, position, length)
    try {
      await this.reading
    } catch (error) {
      this.#pool.forget(this)
      this.release()
      throw error
    }
  }

  async #fill(file: FileHandle, position: number, length: number): Promise<void> {
    const { bytesRead } = await file.read(this.#buffer, 0, length, position)
    this.bytes = this.#buffer.subarray(0, bytesRead)
    // A file that lost bytes may be restored.
    if (bytesRead < length) this.#pool.forget(this)
  }

  release(): void {
    this.#pool.release(this)
  }

  abandon(): void {
    this.#pool.abandon(this)
  }
}

function first<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value
  return undefined
}
