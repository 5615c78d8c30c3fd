import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { defaultPublicationSettings } from '@berth/advisory-formats/publishing/publication-settings.ts'
import { artifactOfFileName, documentFileName } from '@berth/server/advisories/publish/build-feed.ts'
import { createFeedBuilder } from '@berth/server/advisories/publish/feed-builder.ts'
import { createFeedCache } from '@berth/server/advisories/publish/feed-cache.ts'
import {
  createPublishedFeeds,
  type PublishedFeedRequest,
} from '@berth/server/advisories/publish/published-feeds.ts'
import type { Uid } from '@berth/server/api/uid.ts'
import type { BodyStream } from '@berth/server/port/http.ts'
import fc from 'fast-check'
import { importParsed, parsedDocument } from './support/advisories/random-documents.ts'
import { databases } from './support/database/databases.ts'
import { temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Building and caching published feeds. */

describe('files of published feeds', () => {
  const keep = async (files: ReturnType<typeof createFeedCache>, name: string, bytes: number) => {
    const drafts = await files.createDrafts(name, true)
    writeFileSync(drafts.file, Buffer.alloc(bytes))
    writeFileSync(String(drafts.compressed), Buffer.alloc(1))
    await files.commit(name, drafts)
  }

  test('are limited in number and size: the least recently used are deleted', async (t) => {
    const directory = temporaryDirectory(t)
    // Ahead of the times of the files, so that only the uses below decide.
    let now = Date.now() + 30_000
    const clock = () => ++now
    const files = createFeedCache({ directory, clock, filesMax: 3, bytesMax: 100 })
    for (const name of ['a', 'b', 'c']) await keep(files, name, 10)
    assert.equal((await files.find('a'))?.bytes, 10)
    await keep(files, 'd', 10)
    assert.deepEqual(readdirSync(directory).sort(), ['a', 'a.gz', 'c', 'c.gz', 'd', 'd.gz'])
    await keep(files, 'e', 85)
    assert.deepEqual(readdirSync(directory).sort(), ['d', 'd.gz', 'e', 'e.gz'])
    await keep(files, 'f', 1000)
    assert.deepEqual(readdirSync(directory).sort(), ['f', 'f.gz'], 'the newest stays, whatever its size')
    // limits.feedFilesMax, limits.feedBytesMax and limits.feedIdleMsMax are the real bounds.
    now += 8 * 24 * 60 * 60 * 1000
    await keep(files, 'g', 1)
    assert.deepEqual(readdirSync(directory).sort(), ['g', 'g.gz'])
  })

  test('of other processes count for the limits', async (t) => {
    const directory = temporaryDirectory(t)
    let now = Date.now()
    const options = { directory, clock: () => ++now, filesMax: 3 }
    const [one, other] = [createFeedCache(options), createFeedCache(options)]
    await keep(one, 'a', 10)
    await keep(other, 'b', 10)
    for (const [name, second] of [
      ['a', 1],
      ['b', 2],
    ] as const)
      for (const file of [name, `${name}.gz`])
        utimesSync(join(directory, file), second, now / 1000 - 10 + second)
    await keep(one, 'c', 10)
    assert.equal((await one.find('a'))?.bytes, 10)
    await keep(one, 'd', 10)
    assert.deepEqual(readdirSync(directory).sort(), ['a', 'a.gz', 'c', 'c.gz', 'd', 'd.gz'])
    now += 2 * 60 * 1000
    assert.equal((await one.find('a'))?.bytes, 10)
    await keep(other, 'e', 10)
    const kept = readdirSync(directory).filter((file) => !file.endsWith('.gz'))
    assert.equal(kept.length, 3)
    assert.ok(kept.includes('a'), 'what another process uses stays')
  })

  test('are used after a restart; temporary files of a crash are deleted', async (t) => {
    const directory = temporaryDirectory(t)
    await keep(createFeedCache({ directory, clock: Date.now }), 'a', 10)
    const old = join(directory, 'b.123.part')
    writeFileSync(old, 'half')
    const hourAgo = Date.now() / 1000 - 60 * 60
    utimesSync(old, hourAgo, hourAgo)
    writeFileSync(join(directory, 'c.456.part'), 'of another process')
    const again = createFeedCache({ directory, clock: Date.now })
    assert.deepEqual(await again.find('a'), {
      file: join(directory, 'a'),
      bytes: 10,
      compressed: { file: join(directory, 'a.gz'), bytes: 1 },
    })
    assert.deepEqual(readdirSync(directory).sort(), ['a', 'a.gz', 'c.456.part'])
    rmSync(join(directory, 'a'))
    assert.equal(await again.find('a'), undefined)
  })

  test('of artifacts have unique names', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, other) => {
        for (const artifact of [one, `~${one}`, 'index']) {
          assert.notEqual(documentFileName(artifact), 'index.json')
          assert.match(documentFileName(artifact), /^[\w.!~*'()%-]*\.json$/)
          assert.equal(artifactOfFileName(documentFileName(artifact)), artifact.toWellFormed())
        }
        assert.equal(
          documentFileName(one) === documentFileName(other),
          one.toWellFormed() === other.toWellFormed(),
        )
      }),
    )
    assert.equal(artifactOfFileName('index.json'), undefined)
    assert.equal(artifactOfFileName('%E0%A4%A.json'), undefined)
  })
})

const [database] = databases

describe('feeds', () => {
  let berth: TestBerth
  const group = () => berth.organization as Uid
  before(async () => {
    if (database === undefined) throw new Error('there is no database')
    berth = await startTestBerth(database)
    const records = Array.from({ length: 3000 }, (_, at) => ({
      advisoryId: '',
      legacyAdvisoryId: '',
      author: '',
      artifactName: `package-${at % 50}`,
      artifactType: 'apk',
      artifactArchitecture: '',
      componentName: '',
      componentLocation: '',
      componentType: '',
      origin: '',
      product: '',
      aliases: [`CVE-2024-${10000 + at}`],
      events: [],
      severities: [],
      createdMs: 0,
      updatedMs: at,
      withdrawnMs: undefined,
    }))
    await importParsed(berth.berth.installation.store, group(), parsedDocument('many', records))
  })
  after(() => berth.stop())

  const request = (): PublishedFeedRequest => ({
    group: group(),
    feed: 'osv/all.zip',
    settings: defaultPublicationSettings,
    feedsUrl: 'https://berth.example/vulnerabilities/feeds',
    publisher: 'https://berth.example',
    revision: 1,
    changedMs: 0,
  })
  const read = async (body: BodyStream | undefined) => {
    const pieces: Uint8Array[] = []
    for await (const piece of body ?? []) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces)
  }
  const setUp = (directory: string, waitMs: number) => {
    const processes = createFeedBuilder(berth.berth.installation.store.db)
    let builds = 0
    const counted = {
      ...processes,
      build: (job: Parameters<typeof processes.build>[0]) => {
        builds++
        return processes.build(job)
      },
    }
    const files = createFeedCache({ directory, clock: Date.now })
    return {
      processes,
      buildCount: () => builds,
      ...createPublishedFeeds({ cache: files, builder: counted, waitMs }),
    }
  }

  test('are built once for concurrent requests, and sent while they are built', async (t) => {
    const directory = temporaryDirectory(t)
    const { serve, buildCount, processes } = setUp(directory, 0)
    const served = await Promise.all(
      Array.from({ length: 10 }, () => serve('a', request(), { compressed: false })),
    )
    assert.ok(
      served.some((one) => one?.bytes === undefined),
      'it begins before it is whole',
    )
    const bodies = await Promise.all(served.map((one) => read(one?.body)))
    const whole = readFileSync(join(directory, 'a'))
    assert.ok(whole.length > 100_000)
    for (const body of bodies) assert.ok(whole.equals(body))
    assert.equal((await serve('a', request(), { compressed: false }))?.bytes, whole.length)
    assert.equal(buildCount(), 1)
    await processes.close()
  })

  test('equal advisories result in equal files', async (t) => {
    const [one, other] = [temporaryDirectory(t), temporaryDirectory(t)]
    for (const directory of [one, other]) {
      const { serve, processes } = setUp(directory, 60_000)
      for (const feed of [
        'osv/all.zip',
        'osv/modified_id.csv',
        'secdb/security.json',
        'openvex/all.zip',
      ] as const)
        await read((await serve(feed.replace('/', '-'), { ...request(), feed }, { compressed: false }))?.body)
      await processes.close()
    }
    assert.equal(readdirSync(one).length, 6)
    for (const name of readdirSync(one))
      assert.ok(readFileSync(join(one, name)).equals(readFileSync(join(other, name))), name)
  })

  test('a file that is deleted before it is sent is built again', async (t) => {
    const directory = temporaryDirectory(t)
    const { serve, buildCount, processes } = setUp(directory, 60_000)
    const served = await serve('a', request(), { compressed: false })
    assert.equal(buildCount(), 1)
    rmSync(join(directory, 'a'))
    assert.equal((await read(served?.body)).length, served?.bytes)
    assert.equal(buildCount(), 2)
    await processes.close()
  })

  test('a failed build is reported, leaves nothing behind, and is retried', async (t) => {
    const directory = temporaryDirectory(t)
    const { serve, processes } = setUp(directory, 60_000)
    const bad = { ...request(), settings: undefined as never }
    await assert.rejects(serve('a', bad, { compressed: false }))
    assert.deepEqual(readdirSync(directory), [])
    assert.ok(await serve('a', request(), { compressed: false }))
    await processes.close()
    // limits.feedBuildsQueuedMax may wait; each has limits.feedBuildMsMax and limits.feedBuildMemoryMib.
    await assert.rejects(serve('b', request(), { compressed: false }), /stopping/)
  })

  test('an artifact without statements has no document', async (t) => {
    const { serve, processes } = setUp(temporaryDirectory(t), 60_000)
    const feed = { artifact: 'package-1' }
    assert.equal(await serve('a', { ...request(), feed }, { compressed: true }), undefined)
    await processes.close()
  })
})
