import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import fs, {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { fileHandlePrototype } from '../../../../../../test/support/registry/file-handle.ts'
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

/** Runs work as on a file system that does not support hard links. */
async function withoutHardLinks<T>(work: () => Promise<T>): Promise<T> {
  const rejecting = mock.method(fs.promises, 'link', () =>
    Promise.reject(Object.assign(new Error('not supported'), { code: 'EPERM' })),
  )
  syncBuiltinESMExports()
  try {
    return await work()
  } finally {
    rejecting.mock.restore()
    syncBuiltinESMExports()
  }
}

for (const hasLinks of [true, false])
  test(`an upload whose blob is kept is written without changing the blob, and is not replaced later (hard links: ${hasLinks})`, async () => {
    const { blobs, directory } = store()
    const [bytes, location] = [randomBytes(1000), 'sha256/ab/abcd.1']
    const upload = await blobs.append(begun(), pieces(bytes))
    const commit = () => blobs.commit(upload, location, { keepsUpload: true })
    await (hasLinks ? commit() : withoutHardLinks(commit))
    assert.equal(existsSync(join(directory, 'uploads', upload.id)), hasLinks)
    await blobs.revertCommit(upload, location, { keepsBlob: true })
    // Not taken over: the request that committed it has released its claim.
    const end = await blobs.append({ ...upload, size: 10 }, pieces(Buffer.from('other')))
    assert.ok(readFileSync(join(directory, location)).equals(bytes))
    await blobs.revertCommit(upload, location, { keepsBlob: true })
    const expected = Buffer.concat([bytes.subarray(0, 10), Buffer.from('other')])
    assert.ok((await read(blobs.readUpload(end))).equals(expected))
    assert.deepEqual(readdirSync(join(directory, 'uploads')), [upload.id])
  })

test('a commit is reverted on a file system without hard links', async () => {
  const { blobs, directory } = store()
  const upload = await blobs.append(begun(), pieces(Buffer.from('abc')))
  await withoutHardLinks(() => blobs.commit(upload, 'sha256/ab/abcd.1', { keepsUpload: true }))
  await blobs.revertCommit(upload, 'sha256/ab/abcd.1')
  assert.equal((await read(blobs.readUpload(upload))).toString(), 'abc')
  assert.deepEqual(readdirSync(join(directory, 'sha256', 'ab')), [])
})

test('a writer that lost an upload does not replace its file', async () => {
  const { blobs, directory } = store()
  const upload = await blobs.append(begun(), pieces(Buffer.from('abc')))
  await blobs.commit(upload, 'sha256/ab/abcd.1', { keepsUpload: true })
  const isLost = new Error('another writer has the upload')
  const requireHeld = () => Promise.reject(isLost)
  const inodeOf = (path: string) => statSync(join(directory, path)).ino
  await assert.rejects(blobs.append(upload, pieces(Buffer.from('d')), { requireHeld }), isLost)
  assert.equal(inodeOf(`uploads/${upload.id}`), inodeOf('sha256/ab/abcd.1'))
})

for (const method of ['datasync', 'sync'])
  for (const code of ['EIO', 'ENOSPC'])
    for (const keepsUpload of [true, false])
      test(`an upload whose bytes the disk may have lost takes no space (${method}: ${code}, keepsUpload: ${keepsUpload})`, async (t) => {
        const { blobs, directory } = store()
        await blobs.commit(begun(), 'sha256/ab/empty.1')
        const upload = await blobs.append(begun(), pieces(Buffer.from('abc')))
        const handles = await fileHandlePrototype(join(directory, 'uploads', upload.id))
        t.mock.method(handles, method, () => Promise.reject(Object.assign(new Error('failed'), { code })))
        await assert.rejects(blobs.commit(upload, 'sha256/ab/abcd.1', { keepsUpload }), { code })
        assert.deepEqual(readdirSync(join(directory, 'sha256', 'ab')), ['empty.1'])
        assert.deepEqual(readdirSync(join(directory, 'uploads')), [])
        await assert.rejects(blobs.append(upload, pieces()), MissingBytes)
      })

test('an upload is kept if the server has too many open files to commit it', async () => {
  const { blobs, directory } = store()
  const folder = join(directory, 'sha256', 'ab')
  await blobs.commit(begun(), 'sha256/ab/empty.1')
  const upload = await blobs.append(begun(), pieces(Buffer.from('abc')))
  const { open: openFile } = fs.promises
  const opening = mock.method(fs.promises, 'open', (path: string, flags: string, mode: number) =>
    path === folder
      ? Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
      : openFile(path, flags, mode),
  )
  syncBuiltinESMExports()
  try {
    await assert.rejects(blobs.commit(upload, 'sha256/ab/abcd.1', { keepsUpload: true }), { code: 'EMFILE' })
  } finally {
    opening.mock.restore()
    syncBuiltinESMExports()
  }
  assert.deepEqual(readdirSync(folder), ['empty.1'])
  await blobs.commit(upload, 'sha256/ab/abcd.2', { keepsUpload: true })
  assert.equal(readFileSync(join(folder, 'abcd.2'), 'utf8'), 'abc')
})

test('taking over an upload ends, although its former writer makes the file shorter meanwhile', async () => {
  const { blobs, directory } = store()
  const upload = { ...(await blobs.append(begun(), pieces(Buffer.from('abc')))), size: 64 * 1024 ** 2 }
  const uploads = join(directory, 'uploads')
  truncateSync(join(uploads, upload.id), upload.size)
  const taking = blobs.append(upload, pieces(), { isTakenOver: true })
  const isMissing = assert.rejects(taking, MissingBytes)
  while (readdirSync(uploads).length === 1) await setImmediate()
  truncateSync(join(uploads, upload.id))
  await isMissing
  assert.equal(readdirSync(uploads).length, 1)
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

for (const mayBeCached of [false, true])
  test(`reads reuse memory, and never while a reader may still use it (mayBeCached: ${mayBeCached})`, async () => {
    const { blobs } = store()
    const contents = Array.from({ length: 40 }, () => randomBytes(2_500_000))
    for (const [at, bytes] of contents.entries())
      await blobs.commit(await blobs.append(begun(), pieces(bytes)), `sha256/00/many.${at}`)
    const range = { start: 0, end: 2_500_000, mayBeCached }
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

test('readers of the same blobs at the same time get their bytes, also after others stopped early', async () => {
  const { blobs } = store()
  // More pieces than are kept.
  const contents = Array.from({ length: 5 }, () => randomBytes(4_000_000))
  for (const [at, bytes] of contents.entries())
    await blobs.commit(await blobs.append(begun(), pieces(bytes)), `sha256/00/any.${at}`)
  const reader = fc.record({
    blob: fc.nat(contents.length - 1),
    start: fc.constantFrom(0, 0, 1, 3_000_000),
    mayBeCached: fc.constantFrom(true, true, false),
    /** How many chunks it reads before it stops. */
    chunks: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(reader, { minLength: 10, maxLength: 50 }), async (readers) => {
      await Promise.all(
        readers.map(async ({ blob, start, mayBeCached, chunks }) => {
          const content = contents[blob] as Buffer
          let [position, left] = [start, chunks]
          const range = { start, end: content.length, mayBeCached }
          for await (const chunk of blobs.read(`sha256/00/any.${blob}`, range)) {
            // Others go on meanwhile.
            for (let wait = 0; wait < 3; wait++) {
              assert.ok(content.subarray(position, position + chunk.length).equals(chunk))
              await setImmediate()
            }
            position += chunk.length
            if (--left === 0) return
          }
          assert.equal(position, content.length)
        }),
      )
    }),
    { numRuns: 10 },
  )
})

const LARGE = 512 * 1024
const SMALL = 64 * 1024
const LARGE_MAX = limits.blobPiecesBytesMax / LARGE

/** Blobs whose reads begin with a large chunk, as long as there is memory for it. */
async function largeReads() {
  const { blobs } = store()
  const bytes = randomBytes(700_000)
  await blobs.commit(await blobs.append(begun(), pieces(bytes)), 'sha256/00/large.1')
  return async (start: number, mayBeCached: boolean) => {
    const range = { start, end: bytes.length, mayBeCached }
    const reading = blobs.read('sha256/00/large.1', range)[Symbol.asyncIterator]()
    const { value } = await reading.next()
    return { length: value?.length, stop: () => reading.return?.() }
  }
}

const many = <T>(count: number, begin: (at: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, at) => begin(at)))

test('reads beyond blobPiecesBytesMax get small chunks until others end', async () => {
  const begin = await largeReads()
  const large = await many(LARGE_MAX, (at) => begin(at, true))
  assert.deepEqual(new Set(large.map(({ length }) => length)), new Set([LARGE]))
  const small = await begin(LARGE_MAX, true)
  assert.equal(small.length, SMALL)
  for (const { stop } of [...large, small]) await stop()
  for (let again = 0; again < 3; again++) await (await begin(0, true)).stop()
  // They open the file in any order: any of them can be the one too many.
  const next = await many(LARGE_MAX + 1, (at) => begin(at, false))
  const lengths = next.map(({ length }) => length)
  assert.equal(lengths.filter((length) => length === LARGE).length, LARGE_MAX, String(lengths))
  assert.equal(lengths.filter((length) => length === SMALL).length, 1, String(lengths))
  for (const { stop } of next) await stop()
})

test('memory that one reader still uses counts, also when others of the same piece stopped', async () => {
  const begin = await largeReads()
  const slow = []
  for (let at = 0; at < 2 * LARGE_MAX; at++) {
    slow.push(await begin(at, true))
    await (await begin(at, true)).stop()
  }
  assert.equal(slow.filter(({ length }) => length === LARGE).length, LARGE_MAX)
  for (const { stop } of slow) await stop()
})

test('cached bytes are returned only to readers that allow it, and not after the file was replaced', async () => {
  const { blobs, directory } = store()
  const path = join(directory, 'sha256/00/held.1')
  const [stored, damaged] = [Buffer.alloc(LARGE, 1), Buffer.alloc(LARGE, 2)]
  await blobs.commit(await blobs.append(begun(), pieces(stored)), 'sha256/00/held.1')
  const range = { start: 0, end: LARGE }
  const firstByte = async (mayBeCached: boolean) =>
    (await read(blobs.read('sha256/00/held.1', { ...range, mayBeCached })))[0]
  const time = new Date(0)
  utimesSync(path, time, time)
  assert.equal(await firstByte(true), 1)
  // Bytes that change on the disk, and nothing else of the file.
  writeFileSync(path, damaged)
  utimesSync(path, time, time)
  assert.deepEqual([await firstByte(true), await firstByte(false)], [1, 2])
  writeFileSync(`${path}.restored`, Buffer.alloc(LARGE, 3))
  renameSync(`${path}.restored`, path)
  assert.deepEqual([await firstByte(true), await firstByte(false)], [3, 3])
})

test('a blob that was truncated is read again when it is restored', async () => {
  const { blobs, directory } = store()
  const bytes = randomBytes(500_000)
  await blobs.commit(await blobs.append(begun(), pieces(bytes)), 'sha256/00/restored.1')
  const range = { start: 0, end: 500_000, mayBeCached: true }
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
