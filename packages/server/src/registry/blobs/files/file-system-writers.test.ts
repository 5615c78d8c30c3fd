import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fileHandlePrototype } from '../../../../../../test/support/registry/file-handle.ts'
import { type BlobStore, MissingBytes, type Upload } from '../blob-store.ts'
import { fileBlobs } from './file-system.ts'

/** The store writes what it has when it has so many bytes. */
const PIECE_BYTES = 256 * 1024

const root = mkdtempSync(join(tmpdir(), 'berth-blobs-'))
after(() => rmSync(root, { recursive: true }))

async function textAt(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = []
  for await (const piece of bytes) all.push(Buffer.from(piece))
  return Buffer.concat(all).toString()
}

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text)
}

for (const before of ['', 'before'])
  test(`a writer that lost its upload no longer affects it (after '${before}')`, async () => {
    const directory = join(root, `taken${before}`)
    const blobs = fileBlobs(directory)
    const goOn = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    async function* late() {
      begun.resolve()
      yield Buffer.from('late')
      await goOn.promise
    }
    const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces(before))
    const lost = blobs.append(upload, late())
    await begun.promise
    const taken = await blobs.append(upload, pieces('mine'), { isTakenOver: true })
    await blobs.commit(taken, 'sha256/00/a.1')
    goOn.resolve()
    await lost
    assert.equal(await textAt(blobs.read('sha256/00/a.1', { start: 0, end: taken.size })), `${before}mine`)
    assert.deepEqual(readdirSync(join(directory, 'uploads')), [])
  })

for (const stored of ['', 'before'])
  test(`a writer that is suspended before its first write discards nothing of the next one (after '${stored}')`, async () => {
    const directory = join(root, `suspended${stored}`)
    const blobs = fileBlobs(directory)
    const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces(stored))
    const next = Promise.withResolvers<Upload>()
    const isLost = new Error('another writer has the upload')
    /** The next writer takes the upload over and stores some bytes while the first one asks whether it still has it. */
    const requireHeld = async () => {
      const hasStored = Promise.withResolvers<void>()
      async function* bytes() {
        yield Buffer.alloc(2 * PIECE_BYTES, 'm')
        hasStored.resolve()
        await wasSuspended.promise
        yield Buffer.from('end')
      }
      next.resolve(blobs.append(upload, bytes(), { isTakenOver: true }))
      await hasStored.promise
    }
    const wasSuspended = Promise.withResolvers<void>()
    // The answer was true when it was given.
    await blobs.append(upload, pieces(), { requireHeld })
    await assert.rejects(
      blobs.append(upload, pieces('late'), { requireHeld: () => Promise.reject(isLost) }),
      isLost,
    )
    await assert.rejects(
      blobs.commit(upload, 'sha256/00/late.1', { requireHeld: () => Promise.reject(isLost) }),
      isLost,
    )
    wasSuspended.resolve()
    const taken = await next.promise
    await blobs.commit(taken, 'sha256/00/a.1')
    const whole = `${stored}${'m'.repeat(2 * PIECE_BYTES)}end`
    assert.ok((await textAt(blobs.read('sha256/00/a.1', { start: 0, end: taken.size }))) === whole)
  })

/** A claim that another writer can take. */
function claim() {
  const lost = new Error('another writer has the upload')
  let isHeld = true
  return {
    lost,
    lose: () => {
      isHeld = false
    },
    requireHeld: async () => {
      if (!isHeld) throw lost
    },
  }
}

/** Appends to an upload whose file was not replaced, and commits it. */
async function commitWith(blobs: BlobStore, upload: Upload, text: string): Promise<void> {
  const complete = await blobs.append(upload, pieces(text))
  await blobs.commit(complete, LOCATION, { keepsUpload: true })
  await blobs.discard(complete, { isCommitted: true })
}

const LOCATION = 'sha256/00/a.1'

test('a writer that lost its upload does not store the bytes that it has in memory', async () => {
  const directory = join(root, 'memory')
  const blobs = fileBlobs(directory)
  const { lose, lost, requireHeld } = claim()
  const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces('before'))
  const goOn = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  async function* late() {
    yield Buffer.from('late')
    begun.resolve()
    await goOn.promise
  }
  const losing = blobs.append(upload, late(), { requireHeld })
  await begun.promise
  lose()
  await commitWith(blobs, upload, 'mine')
  goOn.resolve()
  await assert.rejects(losing, lost)
  assert.equal(readFileSync(join(directory, LOCATION), 'utf8'), 'beforemine')
})

test('a writer that loses its upload while the disk is full does not truncate it', async (t) => {
  const directory = join(root, 'full')
  const blobs = fileBlobs(directory)
  const { lose, requireHeld } = claim()
  const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces('before'))
  const handles = await fileHandlePrototype(join(directory, 'uploads', 'a'))
  const writes = t.mock.method(handles, 'writev')
  writes.mock.mockImplementationOnce(async () => {
    lose()
    await commitWith(blobs, upload, 'mine')
    throw Object.assign(new Error('full'), { code: 'ENOSPC' })
  })
  await assert.rejects(blobs.append(upload, pieces('late'), { requireHeld }), { code: 'ENOSPC' })
  assert.equal(readFileSync(join(directory, LOCATION), 'utf8'), 'beforemine')
})

test('a writer that loses its upload while it copies the file does not replace the file of the next one', async () => {
  const directory = join(root, 'copying')
  const blobs = fileBlobs(directory)
  const { lose, lost, requireHeld } = claim()
  const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces('before'))
  const inode = () => statSync(join(directory, 'uploads', 'a')).ino
  const before = inode()
  const size = 64 * 1024 ** 2
  truncateSync(join(directory, 'uploads', 'a'), size)
  const how = { isTakenOver: true, requireHeld }
  const isLost = assert.rejects(blobs.append({ ...upload, size }, pieces('late'), how), lost)
  while (readdirSync(join(directory, 'uploads')).length === 1) await setImmediate()
  lose()
  await isLost
  assert.equal(inode(), before)
  assert.deepEqual(readdirSync(join(directory, 'uploads')), ['a'])
})

test('a writer that loses its upload while the sync of its blob fails does not delete the file of the next one', async (t) => {
  const directory = join(root, 'syncing')
  const blobs = fileBlobs(directory)
  const { lose, requireHeld } = claim()
  const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces('before'))
  const handles = await fileHandlePrototype(join(directory, 'uploads', 'a'))
  let next: Upload | undefined
  t.mock.method(handles, 'datasync', async () => {
    lose()
    next = await blobs.append(upload, pieces('mine'), { isTakenOver: true })
    throw Object.assign(new Error('failing'), { code: 'EIO' })
  })
  await assert.rejects(blobs.commit(upload, LOCATION, { requireHeld, keepsUpload: true }), { code: 'EIO' })
  assert.ok(next !== undefined)
  assert.equal(await textAt(blobs.readUpload(next)), 'beforemine')
  assert.deepEqual(readdirSync(join(directory, 'sha256', '00')), [])
})

test('an upload whose bytes the disk may have lost is not kept while it is unknown who holds it', async (t) => {
  const directory = join(root, 'unknown')
  const blobs = fileBlobs(directory)
  const { lose, requireHeld } = claim()
  const upload = await blobs.append({ id: 'a', size: 0, state: '' }, pieces('before'))
  const handles = await fileHandlePrototype(join(directory, 'uploads', 'a'))
  t.mock.method(handles, 'datasync', () => {
    lose()
    return Promise.reject(Object.assign(new Error('failing'), { code: 'EIO' }))
  })
  await assert.rejects(blobs.commit(upload, LOCATION, { requireHeld, keepsUpload: true }), { code: 'EIO' })
  await assert.rejects(blobs.append(upload, pieces()), MissingBytes)
  assert.deepEqual(readdirSync(join(directory, 'sha256', '00')), [])
})

test('an upload that has fewer bytes than were acknowledged is lost', async () => {
  const blobs = fileBlobs(root)
  const upload = await blobs.append({ id: 'b', size: 0, state: '' }, pieces('abc'))
  truncateSync(join(root, 'uploads', 'b'), 2)
  await assert.rejects(blobs.append(upload, pieces('d')), MissingBytes)
  rmSync(join(root, 'uploads', 'b'))
  await assert.rejects(blobs.append(upload, pieces('d')), MissingBytes)
  await assert.rejects(blobs.append(upload, pieces('d'), { isTakenOver: true }), MissingBytes)
})

test('an upload that arrives byte by byte is complete', async () => {
  const blobs = fileBlobs(root)
  const bytes = Array.from({ length: 5000 }, (_, at) => String(at % 10))
  const upload = await blobs.append({ id: 'c', size: 0, state: '' }, pieces(...bytes))
  assert.equal(await textAt(blobs.readUpload(upload)), bytes.join(''))
})
