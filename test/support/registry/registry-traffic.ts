import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { digest, imageFromManifest, type OciClient, type OciReply, types } from './registry.ts'

/** Clients that push, mount and delete concurrently, with layers that their images share. */

export interface Traffic {
  /** Manifests that the server has acknowledged and whose deletion has not started, by the name of their repo. */
  readonly acknowledged: Map<string, Acknowledged>
  pushed: number
  deleted: number
  /** Manifests that were refused because collection had taken what they need: never with a grace. */
  refused: number
}

export interface Acknowledged {
  readonly name: string
  readonly digest: string
  readonly manifest: Buffer
  readonly blobs: readonly Buffer[]
}

export interface TrafficOptions {
  readonly client: OciClient
  /** Repos that all clients share. */
  readonly names: readonly string[]
  /** Of all that a client does, how much is deleting: 0 to 1. */
  readonly deletes: number
  readonly isStopped: () => boolean
  /** Whether collection may take what is about to be needed. */
  readonly withoutGrace: boolean
}

export function newTraffic(): Traffic {
  return { acknowledged: new Map(), pushed: 0, deleted: 0, refused: 0 }
}

const SHARED_LAYERS = 6
/** So many manifests stay, for a server to lose a blob of. */
const KEPT_MIN = 8

/** As `client` does until it is over, or the server is gone. */
export async function runClients(traffic: Traffic, clients: number, options: TrafficOptions): Promise<void> {
  const layers = Array.from({ length: SHARED_LAYERS }, (_, n) => randomBytes(500 + 20_000 * n))
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (!options.isStopped()) {
        try {
          if (traffic.acknowledged.size > KEPT_MIN && Math.random() < options.deletes)
            await deleteSome(traffic, options)
          else await pushSome(traffic, options, layers)
        } catch (error) {
          // Connections break when the server dies; an answer that is not the right one is a finding.
          if (error instanceof assert.AssertionError) throw error
          return
        }
      }
    }),
  )
}

async function pushSome(traffic: Traffic, options: TrafficOptions, layers: readonly Buffer[]): Promise<void> {
  const { client, names } = options
  const name = pickRandom(names)
  const config = Buffer.from(JSON.stringify({ architecture: 'amd64', nonce: randomBytes(8).toString('hex') }))
  const shared = layers.filter(() => Math.random() < 0.4)
  const blobs = [config, ...shared, ...(Math.random() < 0.3 ? [randomBytes(randomInt(1, 50_000))] : [])]
  for (const blob of blobs) await pushByRandomMethod(options, name, blob)
  const image = imageFromManifest({
    schemaVersion: 2,
    mediaType: types.image,
    config: { mediaType: types.config, digest: digest(config), size: config.length },
    layers: blobs
      .slice(1)
      .map((blob) => ({ mediaType: types.layer, digest: digest(blob), size: blob.length })),
  })
  // A blob that no manifest will need, as a push leaves it that is given up.
  if (Math.random() < 0.2) await pushByRandomMethod(options, name, randomBytes(1000))
  const reference = Math.random() < 0.5 ? image.digest : `tag-${randomInt(20)}`
  const reply = await client.request('PUT', `${name}/manifests/${reference}`, {
    body: image.manifest,
    headers: { 'content-type': image.mediaType },
  })
  if (options.withoutGrace && reply.codes.includes('MANIFEST_BLOB_UNKNOWN')) traffic.refused++
  else {
    assertStatus(reply, 201, `PUT ${name} ${reference}`)
    traffic.pushed++
    const { manifest, digest: own } = image
    traffic.acknowledged.set(`${name}@${own}`, { name, digest: own, manifest, blobs })
  }
}

/** Looks first, or mounts, or sends it in one request or several. */
async function pushByRandomMethod(
  { client, names }: TrafficOptions,
  name: string,
  blob: Buffer,
): Promise<void> {
  const way = Math.random()
  const its = digest(blob)
  if (way < 0.3 && (await client.request('HEAD', `${name}/blobs/${its}`)).status === 200) return
  if (way < 0.5) {
    const reply = await client.request(
      'POST',
      `${name}/blobs/uploads/?mount=${its}&from=${pickRandom(names)}`,
    )
    if (reply.status === 201) return
    assertStatus(reply, 202, 'mount')
    return sendRemaining(client, reply, blob)
  }
  // Some uploads are begun and left.
  if (way > 0.97) assertStatus(await client.request('POST', `${name}/blobs/uploads/`), 202, 'begin')
  if (way < 0.75 || way > 0.97) {
    const reply = await client.request('POST', `${name}/blobs/uploads/?digest=${its}`, { body: blob })
    return assertStatus(reply, 201, 'concurrent push')
  }
  const begun = await client.request('POST', `${name}/blobs/uploads/`)
  assertStatus(begun, 202, 'begin')
  const half = Math.floor(blob.length / 2)
  const reply = await client.request('PATCH', pathOf(begun), { body: blob.subarray(0, half) })
  assertStatus(reply, 202, 'chunk')
  await sendRemaining(client, reply, blob, half)
}

async function sendRemaining(client: OciClient, begun: OciReply, blob: Buffer, from = 0): Promise<void> {
  const path = `${pathOf(begun)}?digest=${digest(blob)}`
  assertStatus(await client.request('PUT', path, { body: blob.subarray(from) }), 201, 'finish')
}

function pathOf({ headers }: OciReply): string {
  return (headers.get('location') ?? '').slice('/v2/'.length)
}

async function deleteSome(traffic: Traffic, { client }: TrafficOptions): Promise<void> {
  const [key, chosen] = pickRandom([...traffic.acknowledged].slice(0, 50)) ?? []
  if (key === undefined || chosen === undefined) return
  // From now on its state is unknown, until the response.
  traffic.acknowledged.delete(key)
  const reply = await client.request('DELETE', `${chosen.name}/manifests/${chosen.digest}`)
  assertStatus(reply, 202, `DELETE ${key}`)
  traffic.deleted++
  // Another manifest may need it.
  const [blob] = chosen.blobs
  if (blob === undefined || Math.random() < 0.5) return
  const { status } = await client.request('DELETE', `${chosen.name}/blobs/${digest(blob)}`)
  assert.ok([202, 404].includes(status), `DELETE of a blob: ${status}`)
}

function pickRandom<T>(all: readonly T[]): T {
  return all[randomInt(Math.max(all.length, 1))] as T
}

function assertStatus(reply: OciReply, status: number, what: string): void {
  assert.equal(reply.status, status, `${what}: ${reply.bytes}`)
}
