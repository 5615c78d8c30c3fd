import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import { limits } from '@berth/server/config/limits.ts'
import { type Api, apiOf } from '../support/api/api-fixture.ts'
import { hostileSboms } from '../support/contents/hostile-sboms.ts'
import { hostileText } from '../support/contents/hostile-text.ts'
import { databases } from '../support/database/databases.ts'
import { hostileLayer, hostileLayers } from '../support/images/hostile-layers.ts'
import { rawEntry } from '../support/images/raw-tar.ts'
import {
  attach,
  type ContentsBody,
  imageOfFiles,
  imageOfLayers,
  repoUid,
  waitForContents,
} from '../support/images/readable-image.ts'
import { bearerOf, type OciClient, ociClient, pushImage } from '../support/registry/registry.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'

/**
 * Hostile layers and SBOMs, pushed to a server with its own limits. Each push succeeds; each image ends read with a problem, or with why it
 * could not be read, and the next one is read.
 */

const GIB = 1024 ** 3
const BLOCK = Buffer.alloc(512)

/** Equal bytes many times: frames of zstd are unpacked one after the other. */
function repeated(part: Buffer, count: number): Buffer {
  const frame = zstdCompressSync(part)
  return Buffer.concat(Array(count).fill(frame))
}

/** A file of some GiB in a layer of some KiB. */
function hugeFile(name: string, start: string, gib: number): Buffer {
  const header = rawEntry({ name, size: BigInt(gib) * BigInt(GIB) })
  const first = Buffer.concat([header, Buffer.from(start), Buffer.alloc(GIB / 16 - start.length, 'a')])
  const rest = repeated(Buffer.alloc(GIB / 16, 'a'), 16 * gib - 1)
  return Buffer.concat([zstdCompressSync(first), rest, zstdCompressSync(Buffer.concat([BLOCK, BLOCK]))])
}

interface LargeLayer {
  readonly name: string
  readonly layer: () => Buffer
  readonly problem: RegExp
}

/** Beyond limits that are too large for a unit test. Reading them may take longer than the time for an image, on a busy machine. */
const largeLayers: readonly LargeLayer[] = [
  {
    name: 'an apk database with one package name of 1 GiB',
    layer: () => hugeFile('lib/apk/db/installed', 'P:', 1),
    problem: /has more than 67108864 bytes/,
  },
  {
    name: 'a dpkg database with one package name of 1 GiB',
    layer: () => hugeFile('var/lib/dpkg/status', 'Package: ', 1),
    problem: /has more than 67108864 bytes/,
  },
  {
    name: 'a package.json with one package name of 1 GiB',
    layer: () => hugeFile('app/package.json', '{"name":"', 1),
    problem: /has more than 4194304 bytes/,
  },
  {
    name: 'a Go program of 1 GiB',
    layer: () => hugeFile('bin/a', '\x7fELF', 1),
    problem: /has more than 536870912 bytes/,
  },
  {
    name: 'a SBOM of 1 GiB among the files',
    layer: () => hugeFile('var/lib/db/sbom/a.spdx.json', '{"name":"', 1),
    problem: /has more than 67108864 bytes/,
  },
  {
    name: 'a file of 33 GiB',
    layer: () => hugeFile('data', '', 33),
    problem: /unpack to more than 34359738368 bytes/,
  },
  {
    name: 'six million files',
    layer: () => repeated(Buffer.concat(Array(60_000).fill(rawEntry({ name: 'f' }))), 100),
    problem: /have more than 5000000 files/,
  },
  {
    name: 'two million links',
    layer: () =>
      Buffer.concat(
        Array.from({ length: 20 }, (_, part) =>
          zstdCompressSync(
            Buffer.concat(
              Array.from({ length: 100_000 }, (_, at) =>
                rawEntry({ name: `${part}/${at}`, type: '2', target: 'x' }),
              ),
            ),
          ),
        ),
      ),
    problem: /more than 1000000 links/,
  },
]

describe('hostile images, through the registry', () => {
  let berth: TestBerth
  let [client, api] = [{} as OciClient, {} as Api]
  before(async () => {
    const [database] = databases
    assert.ok(database)
    berth = await startTestBerth(database, { contents: { pollMs: 20 } })
    client = ociClient(berth, await bearerOf(berth, berth.owner))
    api = apiOf(berth, berth.token)
  })
  after(() => berth.stop())

  let count = 0
  /** Pushes an image, waits until it is not pending any more, and returns what is recorded. */
  const readPushed = async (
    layer: Buffer,
    isDone: (contents: ContentsBody) => boolean = ({ state }) => state !== 'CONTENTS_STATE_PENDING',
    push?: (name: string, image: ReturnType<typeof imageOfLayers>) => Promise<unknown>,
  ) => {
    count++
    const name = `${berth.organization}/hostile`
    // Images of their own, also with the same layer.
    const image = imageOfLayers([layer], `a${count}`)
    await pushImage(client, name, image, `v${count}`)
    await push?.(name, image)
    const repo = await repoUid(api, name)
    return waitForContents(api, repo, `v${count}`, isDone, { patienceMs: 2 * limits.contentsReadMsMax })
  }
  const reasonsOf = ({ state, reason, problems }: ContentsBody) =>
    state === 'CONTENTS_STATE_FAILED' ? [reason] : problems.map((problem) => problem.reason)

  const check = (name: string, contents: ContentsBody, problem: RegExp | undefined) => {
    const reasons = reasonsOf(contents)
    assert.ok(
      ['CONTENTS_STATE_READ', 'CONTENTS_STATE_FAILED'].includes(contents.state),
      `${name}: ${contents.state}`,
    )
    assert.ok(reasons.length <= 201)
    for (const reason of reasons) assert.ok(reason.length <= 1000, name)
    if (problem !== undefined)
      assert.ok(
        reasons.some((reason) => problem.test(reason)),
        `${name}: ${reasons.slice(0, 5).join('; ')}`,
      )
  }

  test('layers', async () => {
    // Limits of a test are not those of the server.
    for (const one of hostileLayers.filter(({ limits }) => limits === undefined))
      check(one.name, await readPushed(hostileLayer(one)), one.problem)
  })

  test('attached SBOMs', async () => {
    const [layer] = (await imageOfFiles([{ 'etc/os-release': 'ID=alpine\n' }])).blobs.slice(1)
    assert.ok(layer)
    for (const document of [...hostileText, ...hostileSboms]) {
      const bytes = Buffer.from(document.build())
      if (bytes.length === 0) continue
      // Read once with the document, or at first without it.
      const isRead = ({ state, problems, source }: ContentsBody) =>
        state === 'CONTENTS_STATE_FAILED' ||
        (state === 'CONTENTS_STATE_READ' &&
          (source.includes('SBOM') || problems.length > 0 || document.reason === undefined))
      const contents = await readPushed(layer, isRead, (name, image) =>
        attach(client, name, image, 'application/spdx+json', bytes),
      )
      check(document.name, contents, document.reason && /./)
    }
  })

  for (const { name, layer, problem } of largeLayers)
    test(`large: ${name}`, async () => {
      const bytes = layer()
      // Building it took longer than idle connections stay open: the client notices the closed ones in the next turn.
      await nextIteration()
      const contents = await readPushed(bytes)
      check(name, contents, new RegExp(`${problem.source}|takes longer than`))
    })

  test('an image is read after all of them', async (t) => {
    t.diagnostic(`${count} hostile images`)
    assert.ok(count >= 150)
    const name = `${berth.organization}/good`
    const files = { 'app/package.json': '{"name":"good","version":"1.0.0"}' }
    await pushImage(client, name, await imageOfFiles([files]), 'v1')
    const { state, packageCount, problems } = await waitForContents(api, await repoUid(api, name), 'v1')
    assert.deepEqual([state, packageCount, problems], ['CONTENTS_STATE_READ', 1, []])
    assert.deepEqual(berth.errors, [])
  })
})
