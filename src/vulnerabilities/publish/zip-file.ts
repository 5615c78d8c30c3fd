import { crc32, deflateRawSync } from 'node:zlib'

/**
 * A zip file as a stream (APPNOTE.TXT 6.3.10), of any number of small files: what libraries keep of each one, and look through
 * for the next, is too much for half a million. Here that is its 80 bytes in the list at the end. For a thread of its own: it
 * compresses synchronously. Equal files make equal bytes.
 */

export interface ZipEntry {
  readonly name: string
  readonly content: Buffer
  readonly modifiedMs: number
}

const STORED_IN_64 = 0xffffffff
const UTF8_NAMES = 0x0800
const DEFLATED = 8
/** Versions of the format that a reader must know: 2.0, and 4.5 for files beyond 4 GiB or 65,535 entries. */
const VERSION = 20
const VERSION_64 = 45

export async function* zipOf(entries: AsyncIterable<ZipEntry> | Iterable<ZipEntry>): AsyncGenerator<Buffer> {
  const list: Buffer[] = []
  let offset = 0
  for await (const entry of entries) {
    const { local, central } = partsOf(entry, offset)
    yield local
    offset += local.length
    list.push(central)
  }
  yield* list
  const size = list.reduce((sum, { length }) => sum + length, 0)
  yield endOf({ entries: list.length, offset, size })
}

function partsOf({ name, content, modifiedMs }: ZipEntry, offset: number) {
  const data = deflateRawSync(content)
  const path = Buffer.from(name)
  const common = Buffer.alloc(26)
  common.writeUInt16LE(VERSION, 0)
  common.writeUInt16LE(UTF8_NAMES, 2)
  common.writeUInt16LE(DEFLATED, 4)
  common.writeUInt32LE(dosTime(modifiedMs), 6)
  common.writeUInt32LE(crc32(content), 10)
  common.writeUInt32LE(data.length, 14)
  common.writeUInt32LE(content.length, 18)
  common.writeUInt16LE(path.length, 22)

  const isFar = offset >= STORED_IN_64
  const far = Buffer.alloc(isFar ? 12 : 0)
  if (isFar) {
    far.writeUInt16LE(1, 0)
    far.writeUInt16LE(8, 2)
    far.writeBigUInt64LE(BigInt(offset), 4)
  }
  const head = Buffer.alloc(6)
  head.writeUInt32LE(0x02014b50, 0)
  head.writeUInt16LE(isFar ? VERSION_64 : VERSION, 4)
  const listed = Buffer.from(common)
  listed.writeUInt16LE(far.length, 24)
  const tail = Buffer.alloc(14)
  tail.writeUInt32LE(isFar ? STORED_IN_64 : offset, 10)
  return {
    local: Buffer.concat([signature(0x04034b50), common, path, data]),
    central: Buffer.concat([head, listed, tail, path, far]),
  }
}

function signature(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number)
  return bytes
}

/** Seconds in twos since 1980, in UTC. */
function dosTime(ms: number): number {
  const time = new Date(Math.max(ms, Date.UTC(1980, 0)))
  const day = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate()
  const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)
  return ((day << 16) | clock) >>> 0
}

interface List {
  readonly entries: number
  readonly offset: number
  readonly size: number
}

function endOf({ entries, offset, size }: List): Buffer {
  const isLarge = entries >= 0xffff || offset >= STORED_IN_64 || size >= STORED_IN_64
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  for (const at of [8, 10]) end.writeUInt16LE(Math.min(entries, 0xffff), at)
  end.writeUInt32LE(Math.min(size, STORED_IN_64), 12)
  end.writeUInt32LE(Math.min(offset, STORED_IN_64), 16)
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
