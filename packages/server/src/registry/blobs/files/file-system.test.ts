import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { limits } from '../../../config/limits.ts'
import { MissingBytes, type Upload } from '../blob-store.ts'
import { fileBlobs } from './file-system.ts'

const root = mkdtempSync(join(tmpdir(), 'berth-blobs-'))
after(() => rmSync(root, { recursive: true }))

function store() {
  const directory = join(root, randomBytes(4).toString('hex'), 'blobs')
  return { blobs: fileBlobs(directory), directory }
}

const begun = (id = randomBytes(8).toString('hex')): Upload => ({ id, size: 0, state: '' })

async function* pieces(...all: readonly Uint8Array[]) {
  yield* all
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of bytes) all.push(Buffer.from(piece))
  return Buffer.concat(all)
}

test('an upload grows by appending, and is visible as a blob only after it is committed', async () => {
  const { blobs, directory } = store()
  const bytes = randomBytes(3_000_000)
  let upload = begun()
  for (const [from, to] of [
    [0, 10],
    [10, 2_500_000],
    [2_500_000, 3_000_000],
  ] as const)
    upload = await blobs.append(upload, pieces(bytes.subarray(from, to)))
  assert.equal(upload.size, bytes.length)
  assert.ok((await read(blobs.readUpload(upload))).equals(bytes))
  const location = 'sha256/ab/abcd.1'
  assert.equal(existsSync(join(directory, location)), false)
  await blobs.commit(upload, location)
  assert.ok(readFileSync(join(directory, location)).equals(bytes))
  assert.deepEqual(readdirSync(join(directory, 'uploads')), [])
  for (const [start, end] of [
    [0, 3_000_000],
    [0, 1],
    [1_000_000, 2_000_001],
    [2_999_999, 3_000_000],
    [5, 5],
  ] as const)
    assert.ok((await read(blobs.read(location, { start, end }))).equals(bytes.subarray(start, end)))
})

test('chunks are released once, when their bytes are stored', async () => {
  const { blobs } = store()
  const chunks = Array.from({ length: 40 }, () => Buffer.from(randomBytes(65_536)))
  const bytes = Buffer.concat(chunks)
  const released: Uint8Array[] = []
  const release = (chunk: Uint8Array) => {
    released.push(chunk)
    chunk.fill(0)
  }
  const upload = await blobs.append(begun(), pieces(...chunks), { release })
  assert.deepEqual(
    released.map((chunk) => chunks.indexOf(chunk as Buffer<ArrayBuffer>)),
    [...chunks.keys()],
  )
  assert.ok((await read(blobs.readUpload(upload))).equals(bytes))
})

test('a failed append leaves the upload unchanged, and the next one continues there', async () => {
  const { blobs } = store()
  const first = await blobs.append(begun(), pieces(Buffer.from('abc')))
  async function* broken() {
    yield Buffer.alloc(2_000_000)
    throw new Error('gone')
  }
  await assert.rejects(blobs.append(first, broken()), /gone/)
  assert.equal((await read(blobs.readUpload(first))).toString(), 'abc')
  const second = await blobs.append(first, pieces(Buffer.from('def')))
  await blobs.commit(second, 'sha256/00/a.1')
  assert.equal((await read(blobs.read('sha256/00/a.1', { start: 0, end: 6 }))).toString(), 'abcdef')
})

test('bytes that are stored again have another location, and survive the removal of the old ones', async () => {
  const { blobs } = store()
  const keep = async (location: string) =>
    blobs.commit(await blobs.append(begun(), pieces(Buffer.from('same'))), location)
  await keep('sha256/00/same.1')
  await keep('sha256/00/same.2')
  await blobs.remove('sha256/00/same.1')
  await blobs.remove('sha256/00/same.1')
  assert.equal((await read(blobs.read('sha256/00/same.2', { start: 0, end: 4 }))).toString(), 'same')
  await assert.rejects(read(blobs.read('sha256/00/same.1', { start: 0, end: 4 })), /is missing/)
})

test('a discarded upload leaves nothing, and an empty one can be a blob', async () => {
  const { blobs, directory } = store()
  const upload = await blobs.append(begun(), pieces(Buffer.from('abc')))
  await blobs.discard(upload)
  await blobs.discard(upload)
  assert.deepEqual(readdirSync(join(directory, 'uploads')), [])
  await blobs.commit(begun(), 'sha256/e3/empty.1')
  assert.equal((await read(blobs.read('sha256/e3/empty.1', { start: 0, end: 0 }))).length, 0)
})

for (const mayBeInMemory of [false, true])
  test(`reads reuse memory, and never while a reader may still use it (mayBeInMemory: ${mayBeInMemory})`, async () => {
    const { blobs } = store()
    const contents = Array.from({ length: 40 }, () => randomBytes(2_500_000))
    for (const [at, bytes] of contents.entries())
      await blobs.commit(await blobs.append(begun(), pieces(bytes)), `sha256/00/many.${at}`)
    const range = { start: 0, end: 2_500_000, mayBeInMemory }
    const left = []
    for (const [at, bytes] of contents.entries()) {
      const reading = blobs.read(`sha256/00/many.${at}`, range)[Symbol.asyncIterator]()
      const { value } = await reading.next()
      left.push({ piece: value as Uint8Array, bytes, reading })
      if (at % 2 === 0) await reading.return?.()
    }
    const whole = await Promise.all(contents.map((_, at) => read(blobs.read(`sha256/00/many.${at}`, range))))
    for (const [at, bytes] of contents.entries()) assert.ok(whole[at]?.equals(bytes))
    for (const { piece, bytes, reading } of left) {
      assert.ok(bytes.subarray(0, piece.length).equals(piece))
      await reading.return?.()
    }
  })

test('any readers of the same blobs at the same time get their bytes, also after others stopped early', async () => {
  const { blobs } = store()
  const contents = [randomBytes(1_300_000), randomBytes(700_000)]
  for (const [at, bytes] of contents.entries())
    await blobs.commit(await blobs.append(begun(), pieces(bytes)), `sha256/00/any.${at}`)
  const reader = fc.record({
    blob: fc.nat(1),
    start: fc.constantFrom(0, 1, 524_288, 600_000),
    /** How many chunks it reads before it stops. */
    chunks: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(reader, { minLength: 2, maxLength: 50 }), async (readers) => {
      await Promise.all(
        readers.map(async ({ blob, start, chunks }) => {
          const content = contents[blob] as Buffer
          let [position, left] = [start, chunks]
          for await (const chunk of blobs.read(`sha256/00/any.${blob}`, {
            ...{ start, end: content.length },
            mayBeInMemory: true,
          })) {
            // Others go on meanwhile.
            await setImmediate()
            assert.ok(content.subarray(position, position + chunk.length).equals(chunk))
            position += chunk.length
            if (--left === 0) return
          }
          assert.equal(position, content.length)
        }),
      )
    }),
    { numRuns: 50 },
  )
})

test('reads beyond blobPiecesBytesMax get small pieces until others end', async () => {
  const { blobs } = store()
  const bytes = randomBytes(600_000)
  await blobs.commit(await blobs.append(begun(), pieces(bytes)), 'sha256/00/limit.1')
  const begin = async () => {
    const reading = blobs.read('sha256/00/limit.1', { start: 0, end: bytes.length })[Symbol.asyncIterator]()
    return { reading, length: (await reading.next()).value?.length }
  }
  const lengths = (begun: readonly { readonly length: number | undefined }[]) =>
    begun.map(({ length }) => length)
  const large = await Promise.all(
    Array.from({ length: limits.blobPiecesBytesMax / (512 * 1024) }, () => begin()),
  )
  assert.deepEqual(new Set(lengths(large)), new Set([512 * 1024]))
  const small = await begin()
  assert.equal(small.length, 64 * 1024)
  for (const { reading } of [...large, small]) while ((await reading.next()).done !== true);
  assert.equal((await begin()).length, 512 * 1024)
})

test('bytes in memory are returned to readers that allow it, and only to them', async () => {
  const { blobs, directory } = store()
  const [stored, changed] = [randomBytes(600_000), randomBytes(600_000)]
  await blobs.commit(await blobs.append(begun(), pieces(stored)), 'sha256/00/held.1')
  const range = { start: 0, end: 600_000 }
  const ofAnotherRead = { ...range, mayBeInMemory: true }
  assert.ok((await read(blobs.read('sha256/00/held.1', ofAnotherRead))).equals(stored))
  writeFileSync(join(directory, 'sha256/00/held.1'), changed)
  const pulled = await read(blobs.read('sha256/00/held.1', ofAnotherRead))
  // The last piece is small, so it is not kept.
  assert.ok(pulled.subarray(0, 524_288).equals(stored.subarray(0, 524_288)))
  assert.ok((await read(blobs.read('sha256/00/held.1', range))).equals(changed))
})

test('a blob that was truncated is read again when it is restored', async () => {
  const { blobs, directory } = store()
  const bytes = randomBytes(500_000)
  await blobs.commit(await blobs.append(begun(), pieces(bytes)), 'sha256/00/restored.1')
  const range = { start: 0, end: 500_000, mayBeInMemory: true }
  writeFileSync(join(directory, 'sha256/00/restored.1'), bytes.subarray(0, 300_000))
  for (let attempt = 0; attempt < 2; attempt++)
    await assert.rejects(read(blobs.read('sha256/00/restored.1', range)), MissingBytes)
  writeFileSync(join(directory, 'sha256/00/restored.1'), bytes)
  assert.ok((await read(blobs.read('sha256/00/restored.1', range))).equals(bytes))
})

test('a truncated blob is an error, not a short read', async () => {
  const { blobs } = store()
  await blobs.commit(await blobs.append(begun(), pieces(Buffer.from('abc'))), 'sha256/00/short.1')
  await assert.rejects(
    read(blobs.read('sha256/00/short.1', { start: 0, end: 5 })),
    /ends at byte 3 instead of 5/,
  )
})

test('stored files are readable by the user of the server only', async () => {
  const { blobs, directory } = store()
  await blobs.commit(await blobs.append(begun(), pieces(Buffer.from('abc'))), 'sha256/00/mode.1')
  const modeOf = (path: string) => statSync(join(directory, path)).mode & 0o777
  assert.equal(modeOf('sha256/00/mode.1'), 0o600)
  for (const path of ['.', 'uploads', 'sha256', 'sha256/00']) assert.equal(modeOf(path), 0o700)
})

test('blobs are listed, and uploads separately', async () => {
  const { blobs, directory } = store()
  const all = async <T>(found: AsyncIterable<T>) => {
    const items: T[] = []
    for await (const item of found) items.push(item)
    return items
  }
  assert.deepEqual(await all(blobs.listBlobs()), [])
  assert.deepEqual(await all(blobs.listUploads()), [])
  const locations = ['sha256/00/a.1', 'sha256/00/b.1', 'sha256/ff/c.1', 'sha512/ff/c.1']
  for (const [size, location] of locations.entries())
    await blobs.commit(await blobs.append(begun(), pieces(Buffer.alloc(size))), location)
  const upload = await blobs.append(begun(), pieces(Buffer.from('abc')))
  const seen = await all(blobs.listBlobs())
  assert.deepEqual(
    seen.map(({ location, size }) => ({ location, size })).sort((a, b) => a.size - b.size),
    locations.map((location, size) => ({ location, size })),
  )
  for (const { modifiedMs } of [...seen, ...(await all(blobs.listUploads()))])
    assert.ok(Math.abs(Date.now() - modifiedMs) < 60_000)
  assert.deepEqual(
    (await all(blobs.listUploads())).map(({ id, state }) => ({ id, state })),
    [{ id: upload.id, state: '' }],
  )
  assert.deepEqual(readdirSync(directory).sort(), ['sha256', 'sha512', 'uploads'])
})

test('a missing file is distinguished from an unreadable one', async () => {
  const { blobs } = store()
  await assert.rejects(read(blobs.read('sha256/00/none.1', { start: 0, end: 3 })), (error) => {
    return error instanceof MissingBytes && error.foundBytes === 0
  })
  await blobs.commit(await blobs.append(begun(), pieces(Buffer.from('abc'))), 'sha256/00/short.1')
  await assert.rejects(read(blobs.read('sha256/00/short.1', { start: 0, end: 5 })), (error) => {
    return error instanceof MissingBytes && error.foundBytes === 3
  })
})
