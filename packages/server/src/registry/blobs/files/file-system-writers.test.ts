import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MissingBytes } from '../blob-store.ts'
import { fileBlobs } from './file-system.ts'

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
