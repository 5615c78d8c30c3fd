import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { createImageReader, UnreadableImage } from '@berth/server/contents/reading/image-reader.ts'
import { blobStream } from '@berth/server/contents/reading/reading.ts'
import type { OpenStream } from '@berth/server/runtime/workers/process-streams.ts'
import { apiOf, createApiFixture } from '../support/api/api-fixture.ts'
import { serverDatabases } from '../support/database/databases.ts'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { contentsCrashRounds } from '../support/images/contents-crash.ts'
import { alpineFiles, imageOfFiles, repoUid, waitForContents } from '../support/images/readable-image.ts'
import { bearerOf, digest, ociClient, pushImage } from '../support/registry/registry.ts'
import { startNodes } from '../support/server/nodes.ts'
import { temporaryDirectory } from '../support/server/process.ts'

/** What is left of a reading that ends early: of its process, or of its server. */

const never = new AbortController().signal

async function readableImage() {
  const image = await imageOfFiles([alpineFiles('musl 1.2.5-r0')])
  const blobs = new Map(image.blobs.map((blob) => [blobStream(digest(blob)), blob]))
  const request = { digest: image.digest, manifest: image.manifest, artifacts: [], indexes: [] }
  return {
    request,
    blobs,
    open: streams(async function* (name) {
      yield blobs.get(name) ?? Buffer.alloc(0)
    }),
  }
}

function streams(read: (name: string) => AsyncIterable<Uint8Array>): OpenStream {
  return async (name) => ({ bytes: read(name) })
}

/** Processes that this one started and that run a module. */
function childrenRunning(module: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return Number(parent) === process.pid && command.includes(module) ? [Number(pid)] : []
      } catch {
        return []
      }
    })
}

test('a process that is killed is a temporary failure, and the next image gets a new one', async (t) => {
  const reader = createImageReader()
  t.after(() => reader.close())
  const { request, open } = await readableImage()
  const opened = Promise.withResolvers<void>()
  const reading = reader.read(
    request,
    streams(async function* () {
      opened.resolve()
      await new Promise(() => undefined)
      yield new Uint8Array()
    }),
    never,
  )
  await opened.promise
  for (const pid of childrenRunning('image-reader-process')) process.kill(pid, 'SIGKILL')
  await assert.rejects(
    reading,
    (error) => error instanceof UnreadableImage && error.isTemporary && /SIGKILL/.test(error.message),
  )
  const next = await reader.read(request, open, never)
  assert.equal(next.kind === 'image' && next.contents.packages.length, 1)
})

test('requests to the server come before images that are read', async (t) => {
  const reader = createImageReader()
  t.after(() => reader.close())
  const { request, open } = await readableImage()
  await reader.read(request, open, never)
  const priorities = childrenRunning('image-reader-process').map(getPriority)
  assert.deepEqual(priorities, [getPriority() + 5])
})

test('an image that takes too long is a failure that names the limit', async (t) => {
  const reader = createImageReader({ ...limits, contentsReadMsMax: 300 })
  t.after(() => reader.close())
  const { request } = await readableImage()
  await assert.rejects(
    reader.read(
      request,
      streams(async function* () {
        await new Promise(() => undefined)
        yield new Uint8Array()
      }),
      never,
    ),
    (error) =>
      error instanceof UnreadableImage && !error.isTemporary && /contentsReadMsMax/.test(error.message),
  )
})

for (const [what, stored, isRequested] of [
  ['a blob in a file is read without the server', (blob: Buffer) => blob, false],
  ['a file that is missing is read through the server', undefined, true],
  ['a file that ends early is continued through the server', (blob: Buffer) => blob.subarray(0, -1), true],
] as const)
  test(what, async (t) => {
    const reader = createImageReader()
    t.after(() => reader.close())
    const { request, open, blobs } = await readableImage()
    const directory = temporaryDirectory(t)
    const requested: string[] = []
    const reading = await reader.read(
      request,
      async (name) => {
        const blob = blobs.get(name) as Buffer
        const path = join(directory, name)
        if (stored !== undefined) writeFileSync(path, stored(blob))
        const { bytes } = await open(name)
        return { bytes: recordRead(bytes, () => requested.push(name)), file: { path, size: blob.length } }
      },
      never,
    )
    assert.equal(reading.kind === 'image' && reading.contents.packages.length, 1)
    assert.equal(requested.length > 0, isRequested)
  })

async function* recordRead<T>(items: AsyncIterable<T>, onRead: () => void): AsyncGenerator<T> {
  onRead()
  yield* items
}

test('a store that fails is not a problem of the image', async (t) => {
  const reader = createImageReader()
  t.after(() => reader.close())
  const { request } = await readableImage()
  await assert.rejects(
    reader.read(
      request,
      // biome-ignore lint/correctness/useYield: it fails before
      streams(async function* () {
        throw new Error('the bucket is gone')
      }),
      never,
    ),
    /the bucket is gone/,
  )
})

test('a reading ends with its signal', async (t) => {
  const reader = createImageReader()
  t.after(() => reader.close())
  const { request } = await readableImage()
  const stop = new AbortController()
  await assert.rejects(
    reader.read(
      request,
      streams(async function* () {
        stop.abort(new Error('the server stops'))
        await new Promise(() => undefined)
        yield new Uint8Array()
      }),
      stop.signal,
    ),
    /the server stops/,
  )
})

for (const engine of ['SQLite', 'PostgreSQL'])
  test(`no image is stuck, half read or half matched after its server was killed, on ${engine}`, {
    skip: engine === 'PostgreSQL' && withoutPostgres,
  }, async (t) => {
    const database = engine === 'PostgreSQL' ? { BERTH_DATABASE_URL: (await startPostgres(t)).url } : {}
    await contentsCrashRounds(t, { BERTH_DATA_DIR: temporaryDirectory(t), ...database }, 2)
  })

for (const database of serverDatabases)
  test('two nodes share the images, each is read once, and those of before are read too', async (t) => {
    const nodes = await startNodes(t, database, 2, { contents: { pollMs: 20, sweepIntervalMs: 300 } })
    const [first] = nodes.all
    assert.ok(first)
    const cast = createApiFixture({ ...first.berth, url: first.origin })
    t.after(() => cast.grpc.close())
    const organization = await cast.organization()
    const { kysely } = first.berth.berth.installation.store.db
    const api = apiOf({ url: first.origin }, organization.owner.api.token)
    const bearer = await bearerOf(first.berth, organization.owner.uid)
    const owner = ociClient({ url: first.origin }, bearer)
    const name = `${organization.uid}/app`
    const digests: string[] = []
    for (let at = 0; at < 8; at++) {
      const image = await imageOfFiles([alpineFiles(`a ${at}-r0`)])
      digests.push((await pushImage(owner, name, image)).digest)
    }
    const repo = await repoUid(api, name)
    for (const one of digests) await waitForContents(api, repo, one)
    const results = await kysely
      .selectFrom('packages')
      .select('version')
      .where('root', '=', organization.uid)
      .execute()
    assert.equal(results.length, digests.length)
    // As a node of the previous release leaves it.
    await kysely.deleteFrom('manifest_contents').where('root', '=', organization.uid).execute()
    const [one = ''] = digests
    const { packageCount } = await waitForContents(
      api,
      repo,
      one,
      ({ state }) => state === 'CONTENTS_STATE_READ',
    )
    assert.equal(packageCount, 1)
  })
