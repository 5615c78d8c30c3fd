import type { FileHandle } from 'node:fs/promises'
import { limits } from '../../../config/limits.ts'

/**
 * Memory for reads of files: allocating it costs more than reading. A few concurrent reads get large pieces, since large chunks are cheap
 * to send; many get small ones, which limits their total. A large piece that is sent right after it was read is still in the caches of the
 * processor. It keeps its bytes until its memory is needed, so clients that pull the same blob within a short time read it once (ADR 107).
 */
export interface ReadBuffers {
  /** Reads the bytes at `position`, `bytes` at most. A piece without bytes is the end of the file. */
  read(source: ReadSource, position: number, bytes: number): Promise<Piece>
}

export interface ReadSource {
  readonly file: FileHandle
  /** The same for the same content only. Undefined: the file is read in any case. */
  readonly cacheKey: string | undefined
}

/** Read-only: several readers may share it. */
export interface Piece {
  readonly bytes: Uint8Array
  /** Its memory is no longer used. */
  release(): void
  /** Its memory may still be used by a connection, so it is left to the garbage collector. */
  abandon(): void
}

const KIB = 1024
const LARGE_BYTES = 512 * KIB
const LARGE_PIECES_MAX = Math.floor(limits.blobPiecesBytesMax / LARGE_BYTES)
/** Reads of at most this size are not cached. */
export const SMALL_BYTES = 64 * KIB
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
      const { file, cacheKey } = source
      const piece = pool.take(cacheKey === undefined ? undefined : `${position}+${length} ${cacheKey}`)
      if (piece === undefined) return readSmall(source, position, bytes)
      const isReadByOther = piece.reading !== undefined
      piece.reading ??= piece.fill(file, position, length)
      try {
        await piece.reading
        return piece
      } catch (error) {
        pool.forget(piece)
        piece.release()
        // The file handle of another reader failed; this one may be good.
        if (isReadByOther) return readSmall(source, position, bytes)
        throw error
      }
    },
  }
}

class LargePieces {
  readonly #byKey = new Map<string, LargePiece>()
  /** Without users, in the order of their last use. */
  readonly #unused = new Set<LargePiece>()
  /** Without users, and without bytes that are worth keeping. */
  readonly #empty: LargePiece[] = []
  #created = 0

  /** Returns the piece that has `key`, or one to fill; undefined if all are in use. */
  take(key: string | undefined): LargePiece | undefined {
    const known = key === undefined ? undefined : this.#byKey.get(key)
    const piece = known ?? this.#empty.pop() ?? this.#create() ?? first(this.#unused)
    if (piece === undefined) return undefined
    this.#unused.delete(piece)
    piece.users++
    if (piece === known) return piece
    this.forget(piece)
    piece.key = key
    if (key !== undefined) this.#byKey.set(key, piece)
    return piece
  }

  #create(): LargePiece | undefined {
    if (this.#created >= LARGE_PIECES_MAX) return undefined
    this.#created++
    return new LargePiece(this)
  }

  release(piece: LargePiece): void {
    piece.users--
    if (piece.users > 0) return
    if (piece.isAbandoned) this.#created--
    else if (piece.key === undefined) this.#empty.push(piece)
    else this.#unused.add(piece)
  }

  abandon(piece: LargePiece): void {
    piece.isAbandoned = true
    this.forget(piece)
    this.release(piece)
  }

  /** The next read of its bytes reads the file. */
  forget(piece: LargePiece): void {
    if (piece.key !== undefined) this.#byKey.delete(piece.key)
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

  async fill(file: FileHandle, position: number, length: number): Promise<void> {
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
