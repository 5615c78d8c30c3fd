import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
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

test('reads reuse buffers, and never while a reader may still use them', async () => {
  const { blobs } = store()
  const contents = Array.from({ length: 40 }, () => randomBytes(2_500_000))
  for (const [at, bytes] of contents.entries())
    await blobs.commit(await blobs.append(begun(), pieces(bytes)), `sha256/00/many.${at}`)
  const range = { start: 0, end: 2_500_000 }
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
