import { crc32, deflateRawSync } from 'node:zlib'

/**
 * Writes a zip file as a stream (APPNOTE.TXT 6.3.10) of any number of small files. Libraries keep too much in memory for half a
 * million files; this one keeps 80 bytes of each, for the central directory. It compresses synchronously, so it needs a process of its own. The
 * same files produce the same bytes.
 */

export interface ZipEntry {
  readonly name: string
  readonly content: Buffer
  readonly modifiedMs: number
}

const ZIP64_MARKER = 0xffffffff
const UTF8_NAMES = 0x0800
const DEFLATED = 8
/** Versions of the format that a reader must know: 2.0, and 4.5 for files beyond 4 GiB or 65,535 entries. */
const VERSION = 20
const VERSION_64 = 45
const CHUNK_BYTES = 64 * 1024

export async function* writeZip(
  entries: AsyncIterable<ZipEntry> | Iterable<ZipEntry>,
): AsyncGenerator<Buffer> {
  const list = new Blocks()
  let piece: Buffer[] = []
  let pieceBytes = 0
  let offset = 0
  let count = 0
  for await (const entry of entries) {
    const { local, data, central } = fileRecords(entry, offset)
    const bytes = local.length + data.length
    offset += bytes
    count++
    list.add(central)
    piece.push(local, data)
    pieceBytes += bytes
    if (pieceBytes < CHUNK_BYTES) continue
    yield Buffer.concat(piece)
    piece = []
    pieceBytes = 0
  }
  yield Buffer.concat(piece)
  yield* list.filled()
  yield endRecord({ entries: count, offset, size: list.size })
}

const BLOCK_BYTES = 1024 * 1024

/** Collects small buffers in a few large ones: slices would keep their source buffers alive. */
class Blocks {
  size = 0
  readonly #full: Buffer[] = []
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #used = 0

  add(bytes: Buffer): void {
    if (this.#used + bytes.length > this.#block.length) {
      this.#full.push(this.#block.subarray(0, this.#used))
      this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes.length))
      this.#used = 0
    }
    this.#used += bytes.copy(this.#block, this.#used)
    this.size += bytes.length
  }

  *filled(): Generator<Buffer> {
    yield* this.#full
    yield this.#block.subarray(0, this.#used)
  }
}

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50

/** Returns a file's local header, its data, and its entry in the central directory. */
function fileRecords({ name, content, modifiedMs }: ZipEntry, offset: number) {
  const data = deflateContent(content)
  const path = Buffer.from(name)
  const needsZip64 = offset >= ZIP64_MARKER
  const common = (bytes: Buffer, at: number) => {
    bytes.writeUInt16LE(VERSION, at)
    bytes.writeUInt16LE(UTF8_NAMES, at + 2)
    bytes.writeUInt16LE(DEFLATED, at + 4)
    bytes.writeUInt32LE(dosTime(modifiedMs), at + 6)
    bytes.writeUInt32LE(crc32(content), at + 10)
    bytes.writeUInt32LE(data.length, at + 14)
    bytes.writeUInt32LE(content.length, at + 18)
    bytes.writeUInt16LE(path.length, at + 22)
  }
  const local = Buffer.alloc(30 + path.length)
  local.writeUInt32LE(LOCAL, 0)
  common(local, 4)
  path.copy(local, 30)

  const central = Buffer.alloc(46 + path.length + (needsZip64 ? 12 : 0))
  central.writeUInt32LE(CENTRAL, 0)
  central.writeUInt16LE(needsZip64 ? VERSION_64 : VERSION, 4)
  common(central, 6)
  central.writeUInt32LE(needsZip64 ? ZIP64_MARKER : offset, 42)
  path.copy(central, 46)
  if (needsZip64) {
    central.writeUInt16LE(12, 30)
    const extra = 46 + path.length
    central.writeUInt16LE(1, extra)
    central.writeUInt16LE(8, extra + 2)
    central.writeBigUInt64LE(BigInt(offset), extra + 4)
  }
  return { local, data, central }
}

/** Uses compression tables as small as the file: clearing the default 256 KiB takes longer than compressing a record. */
function deflateContent(content: Buffer): Buffer {
  const windowBits = Math.min(15, Math.max(9, Math.ceil(Math.log2(content.length + 1))))
  const memLevel = Math.min(8, windowBits - 7)
  return deflateRawSync(content, { windowBits, memLevel, chunkSize: Math.max(64, content.length) })
}

/** MS-DOS time in UTC: two-second units since 1980. */
function dosTime(ms: number): number {
  const time = new Date(Math.max(ms, Date.UTC(1980, 0)))
  const day = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate()
  const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)
  return ((day << 16) | clock) >>> 0
}

interface CentralDirectory {
  readonly entries: number
  readonly offset: number
  readonly size: number
}

function endRecord({ entries, offset, size }: CentralDirectory): Buffer {
  const isLarge = entries >= 0xffff || offset >= ZIP64_MARKER || size >= ZIP64_MARKER
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  for (const at of [8, 10]) end.writeUInt16LE(Math.min(entries, 0xffff), at)
  end.writeUInt32LE(Math.min(size, ZIP64_MARKER), 12)
  end.writeUInt32LE(Math.min(offset, ZIP64_MARKER), 16)
  if (!isLarge) return end
  const large = Buffer.alloc(56)
  large.writeUInt32LE(0x06064b50, 0)
  large.writeBigUInt64LE(44n, 4)
  for (const at of [12, 14]) large.writeUInt16LE(VERSION_64, at)
  for (const at of [24, 32]) large.writeBigUInt64LE(BigInt(entries), at)
  large.writeBigUInt64LE(BigInt(size), 40)
  large.writeBigUInt64LE(BigInt(offset), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(BigInt(offset + size), 8)
  locator.writeUInt32LE(1, 16)
  return Buffer.concat([large, locator, end])
}
