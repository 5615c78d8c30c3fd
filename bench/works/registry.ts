import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Bench, Result } from '../bench.ts'
import type { ProgramReady } from '../children/program.ts'
import { ORGANIZATION } from '../dataset.ts'
import { goals } from '../goals.ts'
import { httpClient } from '../http-load.ts'
import { type RegistryClient, registryClient } from '../registry/client.ts'
import {
  blobOf,
  descriptorOf,
  imageOf,
  type Manifest,
  manifestOf,
  mediaTypes,
  newBlobs,
} from '../registry/content.ts'
import { distribution } from '../registry/distribution.ts'
import { makePublic, type Registry, registrySide, registryToken } from '../registry/registries.ts'
import { inTurn, type Measured, rateRatio } from '../rounds.ts'

/**
 * The registry beside Debian's docker-registry: the same requests by the same client to both, each on a directory of the same disk.
 * Berth looks at a token and at rights, and has a blob on the disk before it says so; docker-registry does neither.
 */

const BINARY = 'docker-registry'
const MB = 1_000_000
const REPO = 'bench/speed'
const TAGGED = 'bench/tags'
const SIGNED = 'bench/signed'
const REPOS = [REPO, TAGGED, SIGNED]
const CONCURRENT = 16
/** Clients that fill the registries: what many push together is synced together. */
const FILLERS = 32

export async function measureRegistry(bench: Bench): Promise<Result[]> {
  const place = bench.copyOf(await bench.dataSet({ groups: 1000, shape: 'tree' }))
  const dir = bench.scratch()
  const berth = await bench.startBerth(place)
  const { port, token } = berth.ready
  await makePublic(port, token, ORGANIZATION)
  const authorization = await registryToken(port, token, REPOS)
  const ours: Registry = { name: 'Berth', child: berth, port, authorization }
  const publicly: Registry = { ...ours, name: 'Berth, no token', authorization: undefined }
  const unsynced = await bench.startBerth({ ...bench.copyOf(place), unsynced: true })
  const careless: Registry = {
    name: 'Berth, not synced',
    child: unsynced,
    port: unsynced.ready.port,
    authorization: await registryToken(unsynced.ready.port, unsynced.ready.token, REPOS),
  }
  const theirs = await dockerRegistry(bench, dir)
  const registries = theirs === undefined ? [ours] : [ours, theirs]

  bench.say('  filling the registries')
  const filled = await fill(bench, registries)
  const results: Result[] = []
  /** One flow, at each number of clients; the note reports `others`. */
  const compare = async (
    title: string,
    flow: (client: RegistryClient, registry: Registry) => Promise<void>,
    {
      repo = REPO,
      others = [],
      bytes,
      writes = false,
      note = '',
    }: {
      readonly repo?: string
      readonly others?: readonly Registry[]
      readonly bytes?: number
      readonly writes?: boolean
      readonly note?: string
    } = {},
  ) => {
    for (const connections of [1, CONCURRENT]) {
      const sideOf = (registry: Registry) =>
        registrySide(registry, {
          ...{ title, repo, connections, flow },
          // What one side has left to be written would slow the next one down.
          before: () => void (writes && spawnSync('sync', ['-f', dir])),
        })
      const sides = [...registries, ...others]
      const measured = await inTurn(bench, sides.map(sideOf))
      const besides = measured.slice(registries.length)
      results.push(
        resultOf(`${title}, ${connections} at a time`, measured[0] as Measured, theirs && measured[1], [
          bytes === undefined ? '' : throughputOf(measured.slice(0, registries.length), bytes),
          ...besides.map((one, at) => besideOf(others[at] as Registry, one, theirs && measured[1])),
          note,
        ]),
      )
    }
  }

  const pull = { others: [publicly] }
  await compare('manifest by tag', (client) => client.skim(`manifests/latest`), pull)
  await compare('manifest by digest', (client) => client.skim(`manifests/${filled.image.digest}`))
  await compare(
    `blob of ${filled.large.size / MB} MB`,
    (client) => client.skim(`blobs/${filled.large.digest}`),
    {
      ...pull,
      bytes: filled.large.size,
    },
  )
  await compare(`list of ${filled.tags} tags`, (client) => client.skim('tags/list'), { repo: TAGGED })
  await compare(
    `${filled.referrers} referrers`,
    (client, { name }) =>
      client.skim(
        name === BINARY
          ? `manifests/${fallbackTag(filled.signed.digest)}`
          : `referrers/${filled.signed.digest}`,
      ),
    { repo: SIGNED, note: `${BINARY} answers the index that clients keep under a tag` },
  )
  const push = { writes: true, others: [careless] }
  const megabytes = newBlobs(MB)
  await compare('push of 1 MB, POST and PUT', (client) => client.pushAtOnce(megabytes()), push)
  await compare('push of 1 MB in two chunks', (client) => client.pushInParts(megabytes(), 2), push)
  await compare('push of an image of 5 layers', (client) => pushImage(client, megabytes), push)
  await compare('pull of an image of 5 layers', (client) => pullImage(client), { bytes: 5 * MB })
  return results
}

function resultOf(
  title: string,
  ours: Measured,
  theirs: Measured | undefined,
  notes: readonly string[],
): Result {
  if (theirs !== undefined)
    return { work: 'registry', title, goal: goals.registry, ...rateRatio(ours, theirs, notes) }
  const note = notes.filter((one) => one !== '').join('; ')
  return { work: 'registry', title, value: ours.perSecond, unit: '/s', ours, note }
}

function throughputOf(measured: readonly Measured[], bytes: number): string {
  return `${measured.map(({ perSecond }) => ((perSecond * bytes) / MB).toFixed(0)).join(' and ')} MB/s`
}

function besideOf({ name }: Registry, measured: Measured, theirs: Measured | undefined): string {
  const rate =
    theirs === undefined ? measured.perSecond.toFixed(0) : (measured.perSecond / theirs.perSecond).toFixed(2)
  return `${name}: ${rate}`
}

/** Undefined where it is not installed. */
async function dockerRegistry(bench: Bench, dir: string): Promise<Registry | undefined> {
  const binary = `/usr/bin/${BINARY}`
  if (spawnSync(binary, ['--version']).status !== 0) {
    bench.say(`  ${BINARY} is not here (apt-get install ${BINARY}): nothing to compare with, only rates`)
    return undefined
  }
  const child = await bench.start<ProgramReady>('program', distribution(binary, dir))
  return { name: BINARY, child, port: child.ready.port, authorization: undefined }
}

interface Filled {
  readonly image: Manifest
  readonly large: { readonly digest: string; readonly size: number }
  readonly tags: number
  readonly signed: Manifest
  readonly referrers: number
}

/** The same into every registry: an image, a large blob, a repo of many tags, and one of many referrers. */
async function fill(bench: Bench, registries: readonly Registry[]): Promise<Filled> {
  const [tags, referrers, largeBytes] = bench.options.quick ? [500, 50, 10 * MB] : [10_000, 1000, 100 * MB]
  const config = blobOf(Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: {} })))
  const newLayer = newBlobs(MB)
  const layers = Array.from({ length: 5 }, newLayer)
  const image = imageOf(config, layers)
  const large = blobOf(randomBytes(largeBytes))
  const signatures = Array.from({ length: referrers }, (_, at) =>
    imageOf(config, [config], {
      artifactType: 'application/vnd.example.signature',
      subject: descriptorOf(image.mediaType, { digest: image.digest, size: image.bytes.length }),
      annotations: { 'org.example.number': String(at) },
    }),
  )
  const index = manifestOf(mediaTypes.index, {
    manifests: signatures.map(({ mediaType, digest, bytes }, at) => ({
      ...descriptorOf(mediaType, { digest, size: bytes.length }),
      artifactType: 'application/vnd.example.signature',
      annotations: { 'org.example.number': String(at) },
    })),
  })
  const startMs = performance.now()
  for (const { name, port, authorization } of registries) {
    const clients = await Promise.all(Array.from({ length: FILLERS }, () => httpClient(port)))
    const [http] = clients as [(typeof clients)[number]]
    const at = (repo: string, connection = http) => registryClient(connection, repo, authorization)
    const each = (
      count: number,
      repo: string,
      work: (client: RegistryClient, at: number) => Promise<void>,
    ) => {
      let next = 0
      return Promise.all(
        clients.map(async (connection) => {
          while (next < count) await work(at(repo, connection), next++)
        }),
      )
    }
    for (const repo of REPOS) {
      for (const blob of [config, ...layers]) await at(repo).pushAtOnce(blob)
      await at(repo).putManifest(image, 'latest')
    }
    await at(REPO).pushAtOnce(large)
    await each(tags - 1, TAGGED, (client, number) => client.putManifest(image, `v${number}`))
    await each(referrers, SIGNED, (client, number) =>
      client.putManifest(signatures[number] as Manifest, (signatures[number] as Manifest).digest),
    )
    if (name === BINARY) await at(SIGNED).putManifest(index, fallbackTag(image.digest))
    for (const client of clients) client.close()
  }
  bench.say(`  filled in ${((performance.now() - startMs) / 1000).toFixed(0)} s`)
  return { image, large, tags, signed: image, referrers }
}

/** Where clients keep the referrers of a manifest in a registry that does not list them. */
function fallbackTag(digest: string): string {
  return digest.replace(':', '-')
}

let pushed = 0

async function pushImage(client: RegistryClient, newLayer: () => ReturnType<typeof blobOf>): Promise<void> {
  const number = ++pushed
  const layers = Array.from({ length: 5 }, newLayer)
  const config = blobOf(Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', number })))
  for (const blob of [...layers, config]) await client.pushMissing(blob)
  await client.putManifest(imageOf(config, layers), `pushed-${number}`)
}

async function pullImage(client: RegistryClient): Promise<void> {
  const { body } = await client.get('manifests/latest')
  const { config, layers } = JSON.parse(body) as {
    config: { digest: string }
    layers: readonly { digest: string }[]
  }
  for (const { digest } of [config, ...layers]) await client.skim(`blobs/${digest}`)
}
