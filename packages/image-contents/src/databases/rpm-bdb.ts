/** Yields the headers of an rpm database in the hash format of Berkeley DB (`Packages`): of RHEL up to 8, and Amazon Linux 2. */

const HASH_MAGIC = 0x061561
const MAGIC_AT = 12
const PAGE_HEADER_BYTES = 26
const hashPages = new Set([2, 13])
const OVERFLOW_PAGE = 7
const KEY_DATA = 1
const OFF_PAGE = 3
/** Number of entries and size of the data: the shortest header. */
const HEADER_BYTES_MIN = 8

export function isBerkeleyDb(file: Buffer): boolean {
  return (
    file.length >= 512 &&
    (file.readUInt32LE(MAGIC_AT) === HASH_MAGIC || file.readUInt32BE(MAGIC_AT) === HASH_MAGIC)
  )
}

export function* readBerkeleyDbBlobs(file: Buffer): Generator<Buffer> {
  if (file.readUInt32LE(MAGIC_AT) !== HASH_MAGIC) throw new RangeError('the database is big-endian')
  const pageBytes = file.readUInt32LE(20)
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0)
    throw new RangeError('the database has an invalid page size')
  const pages = Math.floor(file.length / pageBytes)
  const page = (number: number) => {
    if (number >= pages) throw new RangeError('the database refers to a page beyond its end')
    return file.subarray(number * pageBytes, (number + 1) * pageBytes)
  }
  // Each page is part of one value, so that all values together are no larger than the file.
  const read = new Set<number>()
  const overflow = (first: number, bytes: number) => {
    const parts: Buffer[] = []
    let missing = bytes
    for (let number = first; missing > 0; ) {
      const current = page(number)
      if (read.has(number) || current[25] !== OVERFLOW_PAGE)
        throw new RangeError('a record of the database is damaged')
      read.add(number)
      const part = current.subarray(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + missing)
      parts.push(part)
      missing -= part.length
      number = current.readUInt32LE(16)
    }
    return Buffer.concat(parts)
  }
  for (let number = 1; number < pages; number++) {
    const current = page(number)
    if (!hashPages.has(current[25] ?? 0)) continue
    const entries = current.readUInt16LE(20)
    // Keys and values take turns.
    for (let entry = 1; entry < entries; entry += 2) {
      const at = current.readUInt16LE(PAGE_HEADER_BYTES + 2 * entry)
      if (current[at] === OFF_PAGE) yield overflow(current.readUInt32LE(at + 4), current.readUInt32LE(at + 8))
      else if (current[at] === KEY_DATA) {
        const end = current.readUInt16LE(PAGE_HEADER_BYTES + 2 * (entry - 1))
        const value = current.subarray(at + 1, end)
        // The record with key 0 is a counter.
        if (value.length > HEADER_BYTES_MIN) yield value
      }
    }
  }
}
