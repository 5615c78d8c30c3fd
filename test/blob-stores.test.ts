import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@berth/server/config/limits.ts'
import { type BlobStore, MissingBytes, type Upload } from '@berth/server/registry/blobs/blob-store.ts'
import { type BlobSettings, openBlobs } from '@berth/server/registry/blobs/open.ts'
import { type S3Server, startS3, withoutS3 } from './support/registry/s3.ts'

/** The contract of every blob store. */

const { s3PartBytes: PART } = limits

const stores: Readonly<
  Record<string, { readonly skip: string | false; open(): Promise<() => Promise<BlobStore>>; end(): void }>
> = {
  files: storesOfFiles(),
  s3: storesOfS3(),
}

function storesOfFiles() {
  const root = mkdtempSync(join(tmpdir(), 'berth-blobs-'))
  return {
    skip: false as const,
    open: async () => {
      const dataDir = join(root, randomBytes(4).toString('hex'))
      return () => openBlobs({ dataDir, blobs: undefined }, { warn() {} })
    },
    end: () => rmSync(root, { recursive: true, force: true }),
  }
}

function storesOfS3() {
  let server: S3Server | undefined
  return {
    skip: withoutS3,
    open: async () => {
      server ??= await startS3()
      const { settings } = await server.bucket()
      return () => openBlobs({ dataDir: '', blobs: settings satisfies BlobSettings }, { warn() {} })
    },
    end: () => void server?.stop(),
  }
}

const begun = (id = randomBytes(16).toString('hex')): Upload => ({ id, size: 0, state: '' })

async function* pieces(...all: readonly Uint8Array[]) {
  yield* all
}

/** As a network brings them. */
async function* inChunks(bytes: Buffer, step = 65_000) {
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step)
}

async function* breaking(bytes: Buffer) {
  yield* inChunks(bytes)
  throw new Error('gone')
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  // A piece holds until the next one is asked for.
  for await (const piece of bytes) all.push(Buffer.from(piece))
  return Buffer.concat(all)
}

async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

let locations = 0
const newLocation = () => `sha256/ab/${(locations++).toString(16).padStart(64, '0')}.1`

for (const [name, { skip, open, end }] of Object.entries(stores)) {
  describe(`blobs in ${name}`, { skip }, () => {
    let reopen: () => Promise<BlobStore>
    let blobs: BlobStore
    before(async () => {
      reopen = await open()
      blobs = await reopen()
    })
    after(() => {
      blobs?.close()
      end()
    })

    const whole = (location: string, bytes: Buffer) =>
      read(blobs.read(location, { start: 0, end: bytes.length }))
    const pending = async () => (await listed(blobs.listUploads())).map(({ id }) => id)
    const kept = async (bytes: Buffer, options?: { isLast?: boolean }) => {
      const location = newLocation()
      await blobs.commit(await blobs.append(begun(), inChunks(bytes), options), location)
      return location
    }

    for (const [what, size] of [
      ['no byte', 0],
      ['one byte', 1],
      ['one less than a part', PART - 1],
      ['a part', PART],
      ['one more than a part', PART + 1],
      ['two parts', 2 * PART],
      ['two parts and one byte', 2 * PART + 1],
      ['20 MiB', 20 * 1024 * 1024],
    ] as const)
      test(`a blob of ${what} has the appended bytes, and leaves no upload`, async () => {
        const bytes = randomBytes(size)
        for (const isLast of [true, false]) {
          const upload = await blobs.append(begun(), inChunks(bytes), { isLast })
          assert.equal(upload.size, size)
          assert.deepEqual(
            (await listed(blobs.listBlobs())).filter(({ location }) => location.includes(upload.id)),
            [],
          )
          const location = newLocation()
          await blobs.commit(upload, location)
          assert.ok((await whole(location, bytes)).equals(bytes))
          assert.ok(!(await pending()).includes(upload.id))
          const stored = (await listed(blobs.listBlobs())).find((blob) => blob.location === location)
          assert.equal(stored?.size, size)
          assert.ok(Math.abs(Date.now() - stored.modifiedMs) < 60_000)
        }
      })

    test('an upload is continued, also by another process, and read completely', async () => {
      const bytes = randomBytes(3 * PART + 1234)
      let upload = begun()
      let from = 0
      for (const to of [10, 11, PART - 5, PART + 3, 2 * PART, 3 * PART + 1, bytes.length]) {
        const other = await reopen()
        upload = await other.append(upload, pieces(bytes.subarray(from, to)))
        assert.equal(upload.size, to)
        assert.deepEqual(await other.append(upload, pieces()), upload)
        other.close()
        from = to
      }
      assert.ok((await pending()).includes(upload.id))
      assert.ok((await read(blobs.readUpload(upload))).equals(bytes))
      const location = newLocation()
      await blobs.commit(upload, location)
      assert.ok((await whole(location, bytes)).equals(bytes))
    })

    for (const size of [1, 10, PART, 2 * PART + 10])
      test(`an upload of ${size} bytes whose commit may be valid can be committed again, and the first blob keeps its bytes`, async () => {
        const bytes = randomBytes(size)
        const upload = await blobs.append(begun(), inChunks(bytes))
        const [first, second] = [newLocation(), newLocation()]
        await blobs.commit(upload, first, { keepsUpload: true })
        await blobs.revertCommit(upload, first, { keepsBlob: true })
        await blobs.commit(await blobs.append(upload, pieces()), second)
        for (const location of [first, second]) assert.ok((await whole(location, bytes)).equals(bytes))
        assert.ok(!(await pending()).includes(upload.id))
      })

    for (const size of [0, 10, 2 * PART + 10])
      test(`an upload of ${size} bytes whose commit is reverted can be committed again, and leaves nothing else`, async () => {
        const bytes = randomBytes(size)
        const upload = await blobs.append(begun(), inChunks(bytes))
        const [first, second] = [newLocation(), newLocation()]
        await blobs.commit(upload, first, { keepsUpload: true })
        await blobs.revertCommit(upload, first)
        await blobs.commit(upload, second)
        assert.ok((await whole(second, bytes)).equals(bytes))
        const stored = (await listed(blobs.listBlobs())).map(({ location }) => location)
        assert.deepEqual([stored.includes(first), stored.includes(second)], [false, true])
        assert.ok(!(await pending()).includes(upload.id))
      })

    for (const [confirmed, last] of [
      [10, 0],
      [10, 5],
      [10, 2 * PART],
      [PART, 1],
      [2 * PART + 10, 0],
      [2 * PART + 10, PART],
    ] as const)
      test(`an upload of ${confirmed} and ${last} bytes whose process dies after the commit is continued, and the blob keeps its bytes`, async () => {
        const bytes = randomBytes(confirmed + last)
        const more = randomBytes(PART)
        const known = await blobs.append(begun(), inChunks(bytes.subarray(0, confirmed)))
        const [first, second] = [newLocation(), newLocation()]
        const complete = await blobs.append(known, inChunks(bytes.subarray(confirmed)))
        await blobs.commit(complete, first, { keepsUpload: true })
        // Only the size and the state from before the last request are in the database.
        const other = await reopen()
        const stored = await other.readProgress(known)
        assert.ok(stored.size >= confirmed && stored.size <= bytes.length, `${stored.size} bytes`)
        const rest = Buffer.concat([bytes.subarray(stored.size), more])
        const continued = await other.append(stored, inChunks(rest), { isTakenOver: true })
        assert.ok((await whole(first, bytes)).equals(bytes))
        const all = Buffer.concat([bytes, more])
        assert.ok((await read(other.readUpload(continued))).equals(all))
        await other.commit(continued, second, { keepsUpload: true })
        await other.discard(continued, { isCommitted: true })
        await blobs.remove(first)
        assert.ok((await whole(second, all)).equals(all))
        await other.discard(known)
        assert.ok(!(await pending()).includes(known.id))
        other.close()
      })

    for (const size of [0, 10, PART, 2 * PART + 10])
      test(`an upload of ${size} bytes is kept until it is discarded as committed`, async () => {
        const bytes = randomBytes(size)
        const upload = await blobs.append(begun(), inChunks(bytes))
        const location = newLocation()
        await blobs.commit(upload, location, { keepsUpload: true })
        if (size > 0) assert.ok((await read(blobs.readUpload(upload))).equals(bytes))
        await blobs.discard(upload, { isCommitted: true })
        assert.ok(!(await pending()).includes(upload.id))
        assert.ok((await whole(location, bytes)).equals(bytes))
      })

    for (const size of [0, 10, PART + 10])
      test(`a writer that lost an upload of ${size} bytes stores nothing when its source ends`, async () => {
        const upload = await blobs.append(begun(), inChunks(randomBytes(size)))
        const [begins, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
        const lost = new Error('another writer has the upload')
        let isHeld = true
        const requireHeld = async () => {
          if (!isHeld) throw lost
        }
        const late = async function* () {
          yield randomBytes(1000)
          begins.resolve()
          await ends.promise
        }
        const losing = blobs.append(upload, late(), { requireHeld })
        await begins.promise
        isHeld = false
        const bytes = randomBytes(2000)
        const next = await blobs.append(upload, pieces(bytes))
        const location = newLocation()
        await blobs.commit(next, location, { keepsUpload: true })
        await blobs.discard(next, { isCommitted: true })
        ends.resolve()
        await assert.rejects(losing, lost)
        const blob = await read(blobs.read(location, { start: 0, end: next.size }))
        assert.ok(blob.subarray(size).equals(bytes))
        assert.ok(!(await pending()).includes(upload.id))
      })

    test('a writer that lost an upload fails without discarding what the next one continues', async () => {
      const upload = begun()
      const bytes = randomBytes(3 * PART + 10)
      const [begins, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let isHeld = true
      const requireHeld = async () => {
        if (!isHeld) throw new Error('another writer has the upload')
      }
      const late = async function* () {
        yield* inChunks(bytes.subarray(0, 2 * PART + 10))
        begins.resolve()
        await ends.promise
        throw new Error('gone')
      }
      const losing = blobs.append(upload, late(), { requireHeld })
      await begins.promise
      let stored = upload
      for (const endMs = Date.now() + 20_000; stored.size < PART && Date.now() < endMs; await pause(20))
        stored = await blobs.readProgress(upload)
      assert.ok(stored.size >= PART)
      isHeld = false
      const next = await blobs.append(stored, inChunks(bytes.subarray(stored.size)), { isTakenOver: true })
      ends.resolve()
      await assert.rejects(losing, /gone/)
      const location = newLocation()
      await blobs.commit(next, location)
      assert.ok((await whole(location, bytes)).equals(bytes))
    })

    test('bytes beyond the size of an upload are discarded', async () => {
      const bytes = randomBytes(2 * PART + 100)
      const first = await blobs.append(begun(), inChunks(bytes.subarray(0, PART + 50)))
      await blobs.append(first, inChunks(randomBytes(2 * PART)))
      await assert.rejects(blobs.append(first, breaking(randomBytes(PART + 9))), /gone/)
      const second = await blobs.append(first, inChunks(bytes.subarray(PART + 50)))
      await assert.rejects(blobs.append(second, breaking(randomBytes(10))), /gone/)
      const location = newLocation()
      await blobs.commit(second, location)
      assert.ok((await whole(location, bytes)).equals(bytes))
    })

    test('an upload that fails at its start is started again', async () => {
      const upload = begun()
      await assert.rejects(blobs.append(upload, breaking(randomBytes(2 * PART))), /gone/)
      const bytes = randomBytes(100)
      const location = newLocation()
      await blobs.commit(await blobs.append(upload, pieces(bytes)), location)
      assert.ok((await whole(location, bytes)).equals(bytes))
    })

    test('a discarded upload leaves nothing, whatever is known of it', async () => {
      const large = await blobs.append(begun(), inChunks(randomBytes(PART + 10)))
      const later = await blobs.append(large, pieces(randomBytes(10)))
      const small = await blobs.append(begun(), pieces(randomBytes(10)))
      const unknown = await blobs.append(begun(), inChunks(randomBytes(PART + 10)))
      const last = await blobs.append(begun(), pieces(randomBytes(10)), { isLast: true })
      for (const upload of [large, small, unknown]) assert.ok((await pending()).includes(upload.id))
      for (const upload of [later, later, small, { ...unknown, state: '' }, last, begun()])
        await blobs.discard(upload)
      const left = await pending()
      for (const { id } of [large, small, unknown, last]) assert.ok(!left.includes(id))
    })

    test('a listed upload can be discarded as listed', async () => {
      for (const size of [10, PART + 10]) await blobs.append(begun(), inChunks(randomBytes(size)))
      const ids = await pending()
      assert.equal(new Set(ids).size, ids.length)
      for await (const upload of blobs.listUploads()) {
        assert.ok(Math.abs(Date.now() - upload.modifiedMs) < 60_000)
        assert.match(upload.id, /^[0-9a-z]+$/)
        await blobs.discard(upload)
      }
      assert.deepEqual(await listed(blobs.listUploads()), [])
    })

    test('ranges are read, and nothing of missing blobs', async () => {
      const bytes = randomBytes(PART + 1000)
      const location = await kept(bytes)
      for (const [start, end] of [
        [0, 1],
        [5, 5],
        [PART - 1, PART + 1],
        [PART + 999, PART + 1000],
        [17, PART + 1000],
      ] as const)
        assert.ok((await read(blobs.read(location, { start, end }))).equals(bytes.subarray(start, end)))
      await assert.rejects(read(blobs.read(location, { start: 0, end: PART + 1001 })), MissingBytes)
      await assert.rejects(read(blobs.read(newLocation(), { start: 0, end: 1 })), MissingBytes)
      const beyond = blobs.read(location, { start: PART + 2000, end: PART + 2001 })
      await assert.rejects(read(beyond), MissingBytes)
      const empty = await kept(Buffer.of())
      await assert.rejects(
        read(blobs.read(empty, { start: 0, end: 5 })),
        (error) => error instanceof MissingBytes && error.foundBytes === 0,
      )
    })

    test('a reader that stops, even while waiting, ends the read', async () => {
      const bytes = randomBytes(PART)
      const location = await kept(bytes)
      for await (const piece of blobs.read(location, { start: 0, end: PART })) {
        assert.ok(piece.length > 0)
        break
      }
      const reading = blobs.read(location, { start: 0, end: PART })[Symbol.asyncIterator]()
      const waited = reading.next().catch(() => undefined)
      await reading.return?.()
      await waited
      assert.ok((await whole(location, bytes)).equals(bytes))
    })

    test('the same bytes committed concurrently are separate blobs', async () => {
      const bytes = randomBytes(PART + 1)
      const all = await Promise.all(Array.from({ length: 5 }, () => kept(bytes)))
      const [first = '', ...rest] = all
      await blobs.remove(first)
      await blobs.remove(first)
      await assert.rejects(whole(first, bytes), MissingBytes)
      for (const location of rest) assert.ok((await whole(location, bytes)).equals(bytes))
    })

    test('a slow sender does not block others, nor they it', async () => {
      const slow = (async function* () {
        for (let at = 0; at < 10; at++) {
          yield randomBytes(10)
          await pause(20)
        }
      })()
      const [upload] = await Promise.all([blobs.append(begun(), slow), kept(randomBytes(PART + 1))])
      assert.equal(upload.size, 100)
      await blobs.discard(upload)
    })
  })
}
