/** Yields the headers of an rpm database in the ndb format (`Packages.db`, of SUSE): little-endian pages of slots, each with a block of 16-byte units. */

const MAGIC = 0x506d7052 // RpmP
const SLOT_MAGIC = 0x746f6c53 // Slot
const BLOB_MAGIC = 0x53626c42 // BlbS
const PAGE_BYTES = 4096
const UNIT_BYTES = 16

export function isNdb(file: Buffer): boolean {
  return file.length >= PAGE_BYTES && file.readUInt32LE(0) === MAGIC
}

export function* readNdbBlobs(file: Buffer): Generator<Buffer> {
  const slotsEnd = Math.min(file.readUInt32LE(12) * PAGE_BYTES, file.length)
  // The header of the file takes the place of two slots.
  for (let at = 2 * UNIT_BYTES; at + UNIT_BYTES <= slotsEnd; at += UNIT_BYTES) {
    if (file.readUInt32LE(at) !== SLOT_MAGIC) throw new RangeError('a slot of the database is damaged')
    if (file.readUInt32LE(at + 4) === 0) continue
    const blob = file.readUInt32LE(at + 8) * UNIT_BYTES
    if (file.readUInt32LE(blob) !== BLOB_MAGIC) throw new RangeError('a record of the database is damaged')
    const start = blob + UNIT_BYTES
    const bytes = file.readUInt32LE(blob + 12)
    if (start + bytes > file.length) throw new RangeError('a record of the database is longer than the file')
    yield file.subarray(start, start + bytes)
  }
}
