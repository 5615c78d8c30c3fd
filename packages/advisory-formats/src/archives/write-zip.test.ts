import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { writeZip, type ZipEntry } from './write-zip.ts'

async function zipped(entries: Iterable<ZipEntry>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of writeZip(entries)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Reads a file by its central directory (APPNOTE.TXT), and checks each entry against its local header. */
function read(zip: Buffer): { name: string; content: Buffer }[] {
  const end = zip.length - 22
  assert.equal(zip.readUInt32LE(end), 0x06054b50)
  let count = zip.readUInt16LE(end + 10)
  let at = zip.readUInt32LE(end + 16)
  if (count === 0xffff) {
    assert.equal(zip.readUInt32LE(end - 20), 0x07064b50)
    const large = Number(zip.readBigUInt64LE(end - 12))
    assert.equal(zip.readUInt32LE(large), 0x06064b50)
    count = Number(zip.readBigUInt64LE(large + 32))
    at = Number(zip.readBigUInt64LE(large + 48))
  }
  return Array.from({ length: count }, () => {
    assert.equal(zip.readUInt32LE(at), 0x02014b50)
    const [packed, size, pathLength] = [
      zip.readUInt32LE(at + 20),
      zip.readUInt32LE(at + 24),
      zip.readUInt16LE(at + 28),
    ]
    const local = zip.readUInt32LE(at + 42)
    assert.equal(zip.readUInt32LE(local), 0x04034b50)
    assert.ok(zip.subarray(local + 4, local + 28).equals(zip.subarray(at + 6, at + 30)), 'both headers agree')
    const data = local + 30 + pathLength
    const content = inflateRawSync(zip.subarray(data, data + packed))
    assert.equal(content.length, size)
    assert.equal(crc32(content), zip.readUInt32LE(at + 16))
    const name = zip.subarray(at + 46, at + 46 + pathLength).toString()
    at += 46 + pathLength + zip.readUInt16LE(at + 30)
    return { name, content }
  })
}

test('any files can be read back', async () => {
  const entry = fc.record({
    name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    content: fc.uint8Array({ maxLength: 5000 }).map((bytes) => Buffer.from(bytes)),
    modifiedMs: fc.integer({ min: -1, max: Date.UTC(2107, 0) }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 20 }), async (entries) => {
      const zip = await zipped(entries)
      assert.deepEqual(
        read(zip),
        entries.map(({ name, content }) => ({ name: Buffer.from(name).toString(), content })),
      )
      assert.ok(zip.equals(await zipped(entries)), 'equal files make equal bytes')
    }),
    { numRuns: 50 },
  )
})

test('more files than the 16-bit count of the original format', async () => {
  const content = Buffer.from('{}')
  const entries = Array.from({ length: 70_000 }, (_, at) => ({ name: `${at}.json`, content, modifiedMs: 0 }))
  const files = read(await zipped(entries))
  assert.equal(files.length, 70_000)
  assert.equal(files.at(-1)?.name, '69999.json')
})

test('a large file after small ones, and the time of each', async () => {
  const large = Buffer.alloc(300_000, 'abc')
  const modifiedMs = Date.UTC(2025, 4, 7, 12, 34, 56)
  const zip = await zipped([
    { name: 'a', content: Buffer.alloc(0), modifiedMs },
    { name: 'b', content: large, modifiedMs },
  ])
  assert.deepEqual(
    read(zip).map(({ content }) => content.length),
    [0, 300_000],
  )
  assert.equal(zip.readUInt16LE(10), (12 << 11) | (34 << 5) | 28)
  assert.equal(zip.readUInt16LE(12), (45 << 9) | (5 << 5) | 7)
})
