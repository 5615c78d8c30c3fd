import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { Agent, request } from 'undici'
import { grpcClient } from '../api/grpc.ts'
import { digest, testImage, types } from '../registry/registry.ts'
import type { Cluster } from './cluster.ts'

/** Clients of every protocol that send one request after the other and never repeat one. */

export type LoadKind = 'rest' | 'rest over HTTP/2' | 'grpc' | 'push' | 'pull'

export interface LoadResult {
  /** Requests that were sent, by kind. */
  readonly requests: Readonly<Record<LoadKind, number>>
  readonly total: number
  /** What went wrong, a line for each failed request. */
  readonly failures: readonly string[]
  /** Groups and images that were acknowledged. */
  readonly groups: readonly string[]
  readonly images: readonly string[]
}

export interface Load {
  readonly result: LoadResult
  /** Ends after the requests that run. */
  stop(): Promise<LoadResult>
  /** Reads everything that was acknowledged; what is missing is a failure. */
  verify(): Promise<void>
}

type Target = Pick<Cluster, 'url' | 'organization' | 'token' | 'registryToken'>

/** @param clientsOfEach clients of each kind */
export function startLoad(target: Target, clientsOfEach = 2): Load {
  const { url, organization, token } = target
  const agent = new Agent({ connections: 8 })
  const registry = { authorization: `Bearer ${target.registryToken}` }
  const api = { authorization: `Bearer ${token}` }
  const requests: Record<LoadKind, number> = { rest: 0, 'rest over HTTP/2': 0, grpc: 0, push: 0, pull: 0 }
  const failures: string[] = []
  const groups: string[] = []
  const images: string[] = []
  const repo = `${organization}/rolling`
  let isOver = false

  /** Sends one request. */
  const ask = async (
    kind: LoadKind,
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    expected: number,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string | Buffer } = {},
  ) => {
    requests[kind]++
    const reply = await request(new URL(path, url), {
      dispatcher: agent,
      method,
      headers,
      ...(body !== undefined && { body }),
    })
    const bytes = Buffer.from(await reply.body.arrayBuffer())
    assert.equal(reply.statusCode, expected, `${method} ${path}: ${bytes.subarray(0, 300)}`)
    return { bytes, headers: reply.headers }
  }

  const rest = async () => {
    const name = `rest-${randomUUID()}`
    const { bytes } = await ask('rest', 'POST', `/iam/v2beta1/groups/${organization}`, 200, {
      headers: { ...api, 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    })
    const { uid } = JSON.parse(bytes.toString())
    groups.push(uid)
    const read = await ask('rest', 'GET', `/iam/v2beta1/groups/${uid}`, 200, { headers: api })
    assert.equal(JSON.parse(read.bytes.toString()).name, name)
    await ask('rest', 'GET', `/iam/v2beta1/groups?page_size=5`, 200, { headers: api })
  }

  const overHttp2 = () => {
    let session: ReturnType<typeof connectHttp2> | undefined
    return {
      close: () => session?.close(),
      async run() {
        if (session === undefined || session.closed || session.destroyed) {
          session = connectHttp2(url)
          session.on('error', () => undefined)
        }
        requests['rest over HTTP/2']++
        const stream = session.request({ ':path': '/iam/v2beta1/groups?page_size=5', ...api })
        const [head] = (await once(stream, 'response')) as [Record<string, unknown>]
        let text = ''
        for await (const chunk of stream.setEncoding('utf8')) text += chunk
        assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR)
        assert.equal(head[':status'], 200, text)
        JSON.parse(text)
      },
    }
  }

  const overGrpc = () => {
    const client = grpcClient(url)
    return {
      close: () => client.close(),
      async run() {
        requests.grpc++
        const { uid } = await client.call(
          GroupsService.method.createGroup,
          { parent: organization, group: { name: `grpc-${randomUUID()}` } } as never,
          { token },
        )
        groups.push(uid)
        requests.grpc++
        await client.call(GroupsService.method.listGroups, { pageSize: 5 }, { token })
      },
    }
  }

  const push = async () => {
    const image = testImage({}, { layerBytes: randomInt(1000, 300_000) })
    for (const blob of image.blobs) {
      const begun = await ask('push', 'POST', `/v2/${repo}/blobs/uploads/`, 202, { headers: registry })
      let location = String(begun.headers['location'])
      // Chunks of one upload go to any node.
      const half = Math.ceil(blob.length / 2)
      for (const [from, to] of [
        [0, half],
        [half, blob.length],
      ] as const) {
        const reply = await ask('push', 'PATCH', location, 202, {
          headers: { ...registry, 'content-range': `${from}-${to - 1}` },
          body: blob.subarray(from, to),
        })
        location = String(reply.headers['location'])
      }
      await ask('push', 'PUT', `${location}?digest=${digest(blob)}`, 201, { headers: registry })
    }
    await ask('push', 'PUT', `/v2/${repo}/manifests/${image.digest}`, 201, {
      headers: { ...registry, 'content-type': types.image },
      body: image.manifest,
    })
    images.push(image.digest)
  }

  const pullOf = async (image: string) => {
    const { bytes } = await ask('pull', 'GET', `/v2/${repo}/manifests/${image}`, 200, { headers: registry })
    assert.equal(digest(bytes), image)
    const { config, layers } = JSON.parse(bytes.toString())
    for (const { digest: wanted } of [config, ...layers]) {
      const blob = await ask('pull', 'GET', `/v2/${repo}/blobs/${wanted}`, 200, { headers: registry })
      assert.equal(digest(blob.bytes), wanted)
    }
  }

  const pull = async () => {
    const image = images[randomInt(Math.max(images.length, 1))]
    if (image !== undefined) return pullOf(image)
    await ask('pull', 'GET', '/v2/', 200, { headers: registry })
  }

  const client = async (kind: LoadKind, run: () => Promise<void>, close = () => {}) => {
    while (!isOver) {
      try {
        await run()
      } catch (error) {
        failures.push(`${new Date().toISOString()} ${kind}: ${describe(error)}`)
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    close()
  }
  const clients = Array.from({ length: clientsOfEach }, () => {
    const [http2, grpc] = [overHttp2(), overGrpc()]
    return [
      client('rest', rest),
      client('rest over HTTP/2', http2.run, http2.close),
      client('grpc', grpc.run, grpc.close),
      client('push', push),
      client('pull', pull),
    ]
  }).flat()
  const result: LoadResult = {
    requests,
    failures,
    groups,
    images,
    get total() {
      return Object.values(requests).reduce((sum, count) => sum + count, 0)
    },
  }
  return {
    result,
    async stop() {
      isOver = true
      await Promise.all(clients)
      return result
    },
    async verify() {
      for (const uid of groups) await ask('rest', 'GET', `/iam/v2beta1/groups/${uid}`, 200, { headers: api })
      for (const image of images) await pullOf(image)
    },
  }
}

function describe(error: unknown): string {
  const { code, message, cause } = error as { code?: unknown; message?: string; cause?: { message?: string } }
  return [code, message, cause?.message]
    .filter((part) => part !== undefined)
    .join(' ')
    .slice(0, 400)
}
