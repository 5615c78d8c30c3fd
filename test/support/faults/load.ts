import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { type GrpcClient, grpcClient } from '../api/grpc.ts'
import { digest, type TestImage, testImage, types } from '../registry/registry.ts'
import { toSearchParams } from '../tokens/exchange.ts'

/** A mixed load on the nodes of an installation that remembers what was acknowledged. */

export interface LoadTarget {
  /** Of the nodes. */
  readonly urls: readonly string[]
  /** uid of the organization that all happens in, and an identity in it that the issuer's tokens are exchanged for. */
  readonly organization: string
  readonly identity: string
  readonly audience: string
  readonly tokens: { readonly api: string; readonly registry: string }
  /** A token of the issuer. */
  readonly idToken: () => Promise<string>
}

/** What was acknowledged to clients as stored, and as deleted. */
export interface Acknowledged {
  /** Description by uid: null while an update of it has no known outcome. */
  readonly groups: Map<string, string | null>
  readonly deletedGroups: Set<string>
  readonly repos: Set<string>
  readonly images: { readonly name: string; readonly image: TestImage }[]
}

export interface Failure {
  /** Protocol and code: `rest 503/14`, `grpc 14`, `oci 500`, `rest ECONNRESET`, `oci no reply`. */
  readonly what: string
  readonly detail: string
  readonly node: number
  readonly atMs: number
}

export interface Load {
  readonly acknowledged: Acknowledged
  readonly failures: readonly Failure[]
  /** Requests that ended, by protocol. */
  readonly requests: Readonly<Record<Protocol, number>>
  /** Replies that contradict what was acknowledged before, e.g. an upload that forgot bytes. */
  readonly contradictions: readonly string[]
  /** Uploads that were acknowledged and are unknown, or lack bytes. */
  readonly lostWrites: readonly string[]
  /** Whether each client has finished a piece of work: each node knows what it fetches once, such as keys of the issuer. */
  isWarm(): boolean
  /** Clients of this node stop until it is back. */
  leave(node: number): void
  back(node: number): void
  /** Lets running work finish, for 45 s at most; names the work that did not. */
  stop(): Promise<readonly string[]>
}

export type Protocol = 'rest' | 'grpc' | 'oci' | 'exchange'

/** Longer than a node takes to give up (`handlerTimeoutMs`). */
const REPLY_MS_MAX = 40_000
const STOP_MS_MAX = 45_000
const RETRY_MS = 250

class RequestFailed extends Error {}

export interface LoadOptions {
  /** Average pause of a client between two pieces of work. */
  readonly pauseMs?: number
  /** Beyond so many groups, repos and images, each, the oldest are deleted. */
  readonly trackedMax?: number
}

export function startLoad(
  target: LoadTarget,
  { pauseMs = 60, trackedMax: keptMax = Number.POSITIVE_INFINITY }: LoadOptions = {},
): Load {
  const acknowledged: Acknowledged = {
    groups: new Map(),
    deletedGroups: new Set(),
    repos: new Set(),
    images: [],
  }
  const failures: Failure[] = []
  const contradictions: string[] = []
  const forgotten: string[] = []
  const requests: Record<Protocol, number> = { rest: 0, grpc: 0, oci: 0, exchange: 0 }
  const away = new Set<number>()
  const unfinished = new Set<string>()
  let cold = 0
  let isOver = false
  const halt = new AbortController()

  /** Counts a reply. Throws Refused where it is not one of `expected`. */
  const request = async (
    node: number,
    protocol: Protocol,
    path: string,
    { expected = [200], ...init }: RequestInit & { readonly expected?: readonly number[] } = {},
  ): Promise<{ readonly headers: Headers; readonly bytes: Buffer; readonly status: number }> => {
    const fail = (code: string, detail: string): never => {
      if (!away.has(node))
        failures.push({ what: `${protocol} ${code}`, detail, node, atMs: performance.now() })
      throw new RequestFailed(code)
    }
    let reply: Response
    let bytes: Buffer
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(REPLY_MS_MAX), halt.signal])
      reply = await fetch(`${target.urls[node]}${path}`, { ...init, signal })
      bytes = Buffer.from(await reply.arrayBuffer())
    } catch (error) {
      if (halt.signal.aborted) throw new RequestFailed('stopped')
      requests[protocol]++
      const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } }
      return fail(
        name === 'TimeoutError' ? 'no reply' : (cause?.code ?? 'connection'),
        `${init.method} ${path}`,
      )
    }
    requests[protocol]++
    if (expected.includes(reply.status)) return { headers: reply.headers, bytes, status: reply.status }
    const text = bytes.toString()
    const code = /^\{"code":\s*(\d+)/.exec(text)?.[1]
    const retryAfter =
      reply.status === 503 && reply.headers.get('retry-after') === null ? ' without Retry-After' : ''
    return fail(
      `${reply.status}${code === undefined ? '' : `/${code}`}${retryAfter}`,
      `${init.method ?? 'GET'} ${path.slice(0, 100)}: ${text.slice(0, 300)}`,
    )
  }
  const json = (method: string, body?: unknown): RequestInit => ({
    method,
    headers: {
      authorization: `Bearer ${target.tokens.api}`,
      'content-type': 'application/json',
      ...(method === 'POST' && { 'idempotency-key': randomBytes(8).toString('hex') }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const call = async (client: GrpcClient, node: number, work: (client: GrpcClient) => Promise<void>) => {
    try {
      await work(client)
      requests.grpc++
    } catch (error) {
      requests.grpc++
      const { code, message } = error as Error & { readonly code?: number }
      if (!away.has(node))
        failures.push({ what: `grpc ${code}`, detail: message, node, atMs: performance.now() })
      throw new RequestFailed(`grpc ${code}`)
    }
  }

  /** Does a step until it succeeds: a client that retries. */
  const insist = async <T>(node: number, step: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await step()
      } catch (error) {
        if (!(error instanceof RequestFailed) || halt.signal.aborted) throw error
        while (away.has(node) && !halt.signal.aborted) await sleep(RETRY_MS)
        await sleep(RETRY_MS)
      }
    }
  }

  const rest = async (node: number, n: number) => {
    const groups = '/iam/v2beta1/groups'
    const made = await request(
      node,
      'rest',
      `${groups}/${target.organization}`,
      json('POST', { name: newName('g') }),
    )
    const uid = JSON.parse(made.bytes.toString()).uid as string
    acknowledged.groups.set(uid, '')
    const description = newName('said')
    acknowledged.groups.set(uid, null)
    await request(node, 'rest', `${groups}/${uid}`, json('PATCH', { description }))
    acknowledged.groups.set(uid, description)
    const seen = await request(
      node,
      'rest',
      `${groups}?uidp.descendants_of=${target.organization}&pageSize=5`,
      json('GET'),
    )
    if (seen.bytes.length === 0) contradictions.push('an empty list of groups')
    const [oldest = uid] = acknowledged.groups.size > keptMax ? acknowledged.groups.keys() : []
    if (n % 4 !== 3 && acknowledged.groups.size <= keptMax) return
    acknowledged.groups.delete(oldest)
    await request(node, 'rest', `${groups}/${oldest}`, json('DELETE'))
    if (Number.isFinite(keptMax)) return
    acknowledged.deletedGroups.add(oldest)
  }

  const clients = target.urls.map((url) => grpcClient(url))

  const grpc = async (node: number) => {
    const client = clients[node] as GrpcClient
    const options = { token: target.tokens.api, deadlineMs: REPLY_MS_MAX }
    await call(client, node, async () => {
      const { uid } = await client.call(
        ReposService.method.createRepo,
        { parent: target.organization, repo: { name: newName('r') } },
        options,
      )
      acknowledged.repos.add(uid)
    })
    const [oldest] = acknowledged.repos.size > keptMax ? acknowledged.repos : []
    if (oldest !== undefined) {
      acknowledged.repos.delete(oldest)
      await call(client, node, async () => {
        await client.call(ReposService.method.deleteRepo, { uid: oldest }, options)
      })
    }
    await call(client, node, async () => {
      await client.call(GroupsService.method.getGroup, { uid: target.organization }, options)
    })
  }

  const oci = async (node: number, n: number) => {
    const name = `${target.organization}/images-${node}`
    const image = testImage({}, { layerBytes: 20_000 + randomInt(80_000) })
    const label = `push of ${name}@${image.digest}`
    unfinished.add(label)
    const ask = (method: string, path: string, status: number, init: RequestInit = {}) =>
      request(node, 'oci', path, {
        method,
        expected: [status],
        ...init,
        headers: {
          authorization: `Bearer ${target.tokens.registry}`,
          ...(init.headers as Record<string, string>),
        },
      })
    for (const [at, blob] of image.blobs.entries()) {
      if (at === 0)
        await insist(node, () =>
          ask('POST', `/v2/${name}/blobs/uploads/?digest=${digest(blob)}`, 201, {
            body: blob as Uint8Array<ArrayBuffer>,
          }),
        )
      else await insist(node, () => pushInParts(node, ask, name, blob))
    }
    const { manifest, mediaType } = image
    await insist(node, () =>
      ask('PUT', `/v2/${name}/manifests/tag-${n % 20}`, 201, {
        body: manifest as Uint8Array<ArrayBuffer>,
        headers: { 'content-type': mediaType },
      }),
    )
    acknowledged.images.push({ name, image })
    unfinished.delete(label)
    if (acknowledged.images.length > keptMax) {
      const [oldest] = acknowledged.images.splice(0, 1)
      if (oldest !== undefined)
        await ask('DELETE', `/v2/${oldest.name}/manifests/${oldest.image.digest}`, 202)
    }
    const pulled = acknowledged.images[randomInt(acknowledged.images.length)]
    if (pulled === undefined) return
    const got = await ask('GET', `/v2/${pulled.name}/manifests/${pulled.image.digest}`, 200, {
      headers: { accept: types.image },
    })
    if (!got.bytes.equals(pulled.image.manifest)) contradictions.push('a manifest with other bytes')
    const [, layer = Buffer.of()] = pulled.image.blobs
    const blob = await ask('GET', `/v2/${pulled.name}/blobs/${digest(layer)}`, 200)
    if (!blob.bytes.equals(layer)) contradictions.push('a blob with other bytes')
  }

  type Ask = (method: string, path: string, status: number, init?: RequestInit) => ReturnType<typeof request>

  /** In two parts. After a failure it asks how much is there, and continues from that byte. */
  const pushInParts = async (node: number, ask: Ask, name: string, blob: Buffer) => {
    const began = await ask('POST', `/v2/${name}/blobs/uploads/`, 202)
    let location = began.headers.get('location') ?? ''
    const half = Math.floor(blob.length / 2)
    let known = 0
    for (;;) {
      try {
        if (known < half) {
          const reply = await ask('PATCH', location, 202, {
            body: blob.subarray(known, half) as Uint8Array<ArrayBuffer>,
          })
          location = reply.headers.get('location') ?? location
          known = half
        }
        const end = `${location}${location.includes('?') ? '&' : '?'}digest=${digest(blob)}`
        await ask('PUT', end, 201, { body: blob.subarray(known) as Uint8Array<ArrayBuffer> })
        return
      } catch (error) {
        if (!(error instanceof RequestFailed) || halt.signal.aborted) throw error
        await sleep(RETRY_MS)
        // The digest may be stored although the reply was lost.
        const status = await insist(node, () =>
          request(node, 'oci', location, {
            expected: [204, 404],
            headers: { authorization: `Bearer ${target.tokens.registry}` },
          }),
        )
        if (status.status === 404) {
          const { status: stored } = await insist(node, () =>
            request(node, 'oci', `/v2/${name}/blobs/${digest(blob)}`, {
              method: 'HEAD',
              expected: [200, 404],
              headers: { authorization: `Bearer ${target.tokens.registry}` },
            }),
          )
          if (stored === 200) return
          forgotten.push(`an upload with ${known} acknowledged bytes is unknown`)
          throw error
        }
        const range = /-(\d+)$/.exec(status.headers.get('range') ?? '')?.[1]
        // "0-0" is said of an empty upload as well as of one byte.
        const there = range === undefined || range === '0' ? 0 : Number(range) + 1
        if (there < known) forgotten.push(`an upload has ${there} of ${known} acknowledged bytes`)
        known = there
      }
    }
  }

  const exchanged = async (node: number) => {
    const body = toSearchParams({ aud: target.audience, identity: target.identity }).toString()
    const token = await target.idToken()
    await request(node, 'exchange', '/sts/exchange', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
      body,
    })
  }

  const workers = target.urls.flatMap((_, node) =>
    [rest, grpc, oci, exchanged].map(async (work) => {
      let isCold = true
      cold++
      for (let n = 0; !isOver; n++) {
        if (away.has(node)) {
          await sleep(RETRY_MS)
          continue
        }
        try {
          await work(node, n)
          if (isCold) cold--
          isCold = false
        } catch (error) {
          if (!(error instanceof RequestFailed)) throw error
        }
        await sleep(pauseMs / 2 + randomInt(pauseMs))
      }
    }),
  )
  // A bug of the load itself is reported when it stops.
  const all = Promise.all(workers)
  all.catch(() => undefined)
  return {
    acknowledged,
    failures,
    requests,
    contradictions,
    lostWrites: forgotten,
    isWarm: () => cold === 0,
    leave: (node) => away.add(node),
    back(node) {
      // A channel that could not connect waits longer and longer before it tries again.
      clients[node]?.close()
      clients[node] = grpcClient(target.urls[node] ?? '')
      away.delete(node)
    },
    async stop() {
      isOver = true
      away.clear()
      const timer = setTimeout(() => halt.abort(), STOP_MS_MAX)
      await all
      clearTimeout(timer)
      for (const client of clients) client.close()
      return [...unfinished]
    },
  }
}

function newName(kind: string): string {
  return `${kind}-${randomBytes(8).toString('hex')}`
}
