/** A piece is kept as it is if the memory behind it, which it keeps alive, is no larger than this or this many times its length. */
const SPARE_BYTES = 4096
const SPARE_RATIO = 4

function mayKeep({ buffer, length }: Uint8Array): boolean {
  return buffer.byteLength <= SPARE_BYTES || buffer.byteLength <= length * SPARE_RATIO
}

/** Returns bytes that may wait in memory: the same, or a copy if they are a small part of the memory behind them. */
export function detach(piece: Buffer): Buffer {
  if (mayKeep(piece)) return piece
  // Not of the pool, which the copy would keep alive.
  const copy = Buffer.allocUnsafeSlow(piece.length)
  piece.copy(copy)
  return copy
}

/** Others are copied into blocks: as large as what came before, between these sizes. */
const BLOCK_BYTES_MIN = 1024
const BLOCK_BYTES_MAX = 64 * 1024

/**
 * The memory for an announced length is reserved when this part of it is there: a client that announces much and sends little reserves
 * little, and only this part is held twice and copied.
 */
const RESERVED_FROM = 1 / 4

/**
 * Joins bytes that arrive in pieces. Holds at most about twice their memory, however small the pieces are: a piece of one byte can
 * keep the 64 KiB alive that the system received with it, and an object for each piece takes more than a small piece itself. Blocks
 * stay where they are: with one buffer that doubles, many bodies that grow side by side move all their bytes in one turn.
 */
export class ByteCollector {
  #blocks: Uint8Array[] = []
  /** Bytes of the last block that are in use; those before it are full. */
  #used = 0
  #length = 0
  readonly #announced: number

  /** `announced`: the expected length in bytes, such as a Content-Length; 0 where it is not known. More or fewer may come. */
  constructor(announced = 0) {
    this.#announced = announced
  }

  get length(): number {
    return this.#length
  }

  /** Adds a piece, which must not change afterwards. */
  push(piece: Uint8Array): void {
    if (this.#length === 0 && mayKeep(piece)) {
      this.#blocks = [piece]
      this.#used = piece.length
      this.#length = piece.length
      return
    }
    for (let at = 0; at < piece.length; ) {
      const block = this.#freeBlock()
      const part = piece.subarray(at, at + block.length - this.#used)
      block.set(part, this.#used)
      this.#used += part.length
      this.#length += part.length
      at += part.length
    }
  }

  /** Returns everything that was pushed, in one piece, and resets the collector. */
  take(): Buffer {
    const all = joined(this.#blocks, this.#length)
    this.#blocks = []
    this.#used = 0
    this.#length = 0
    return all
  }

  #freeBlock(): Uint8Array {
    const last = this.#blocks.at(-1)
    if (last !== undefined && this.#used < last.length) return last
    if (this.#length < this.#announced && this.#length >= this.#announced * RESERVED_FROM)
      return this.#reserve()
    const bytes = Math.min(Math.max(this.#length, BLOCK_BYTES_MIN), BLOCK_BYTES_MAX)
    const block = Buffer.allocUnsafeSlow(bytes)
    this.#blocks.push(block)
    this.#used = 0
    return block
  }

  /** Moves everything into one block of the announced length. */
  #reserve(): Uint8Array {
    const whole = Buffer.allocUnsafeSlow(this.#announced)
    copyBlocks(this.#blocks, this.#length, whole)
    this.#blocks = [whole]
    this.#used = this.#length
    return whole
  }
}

function joined(blocks: readonly Uint8Array[], length: number): Buffer {
  const [first] = blocks
  if (first !== undefined && blocks.length === 1) return Buffer.from(first.buffer, first.byteOffset, length)
  const all = Buffer.allocUnsafeSlow(length)
  copyBlocks(blocks, length, all)
  return all
}

function copyBlocks(blocks: readonly Uint8Array[], length: number, into: Uint8Array): void {
  let at = 0
  for (const block of blocks) {
    into.set(block.subarray(0, length - at), at)
    at += block.length
  }
}
