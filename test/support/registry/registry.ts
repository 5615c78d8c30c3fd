import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { ApiFixture } from '../api/api-fixture.ts'
import { newName } from '../api/api-fixture.ts'
import { eventually } from '../eventually.ts'
import { type ReceivedResponse, type SentRequest, send } from '../http/send.ts'
import type { TestBerth } from '../server/test-berth.ts'

/** The registry as a client of the distribution protocol sees it. */

export interface OciReply {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: assertions on JSON read better without a type for every shape
  readonly json: any
  /** Codes of the errors. */
  readonly codes: readonly string[]
}

export interface OciRequest {
  readonly body?: Uint8Array | string | ReadableStream
  readonly headers?: Readonly<Record<string, string>>
}

export interface OciClient {
  /** Paths are those below /v2/. */
  request(method: string, path: string, request?: OciRequest): Promise<OciReply>
}

/** `authorization`: undefined sends none. */
export function ociClient({ url }: Pick<TestBerth, 'url'>, authorization?: string): OciClient {
  return {
    request: (method, path, request) => requestAt(`${url}/v2/${path}`, method, request, authorization),
  }
}

export async function requestAt(
  url: string,
  method = 'GET',
  { body, headers }: OciRequest = {},
  authorization?: string,
): Promise<OciReply> {
  const sent = { ...(authorization !== undefined && { authorization }), ...headers }
  const {
    status,
    headers: received,
    bytes,
  } = body instanceof ReadableStream
    ? await stream(url, method, sent, body)
    : await followRedirect(url, { method, headers: sent, ...(body !== undefined && { body }) })
  const isJson = /json/.test(received.get('content-type') ?? '') && bytes.length > 0
  const json = isJson ? JSON.parse(bytes.toString()) : undefined
  const codes = (json?.errors ?? []).map(({ code }: { code: string }) => code)
  return { status, headers: received, bytes, json, codes }
}

/** Sends a request, and for the bytes that a redirect names, follows it. */
async function followRedirect(url: string, request: SentRequest): Promise<ReceivedResponse> {
  const reply = await send(url, request)
  const isRedirect = [301, 302, 303, 307, 308].includes(reply.status) && reply.headers.has('location')
  if (!isRedirect) return reply
  const { method, headers } = request
  return read(await fetch(url, { method, headers }))
}

async function stream(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: ReadableStream,
): Promise<ReceivedResponse> {
  return read(await fetch(url, { method, headers, body, duplex: 'half' } as RequestInit))
}

async function read(response: Response): Promise<ReceivedResponse> {
  const { status, headers } = response
  return { status, headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

export function hostOf({ url }: Pick<TestBerth, 'url'>): string {
  return new URL(url).host
}

/** What an identity sends with a token of its own for the registry. */
export async function bearerOf(
  berth: TestBerth,
  identity: string,
  options: Omit<NonNullable<Parameters<TestBerth['tokenOf']>[1]>, 'audiences'> = {},
): Promise<string> {
  return `Bearer ${await berth.tokenOf(identity, { ...options, audiences: [hostOf(berth)] })}`
}

export function basicAuth(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

export function digest(bytes: Uint8Array | string, algorithm = 'sha256'): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`
}

export const types = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  dockerImage: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
} as const

export function descriptor(mediaType: string, bytes: Uint8Array | string, more: object = {}) {
  return { mediaType, digest: digest(bytes), size: Buffer.byteLength(bytes), ...more }
}

/** An image that no other test has. */
export interface TestImage {
  readonly blobs: readonly Buffer[]
  readonly manifest: Buffer
  readonly mediaType: string
  readonly digest: string
  readonly descriptor: { readonly mediaType: string; readonly digest: string; readonly size: number }
}

export function testImage(
  more: object = {},
  {
    architecture = 'amd64',
    layerBytes = 100,
    mediaType = types.image as string,
  }: { architecture?: string; layerBytes?: number; mediaType?: string } = {},
): TestImage {
  const config = Buffer.from(JSON.stringify({ architecture, os: 'linux', nonce: newName('n') }))
  const layer = randomBytes(layerBytes)
  const content = {
    schemaVersion: 2,
    mediaType,
    config: descriptor(types.config, config),
    layers: [descriptor(types.layer, layer)],
    ...more,
  }
  return { blobs: [config, layer], ...imageFromManifest(content) }
}

/** A manifest as it is pushed, whatever is in it. */
export function imageFromManifest(
  content: Readonly<Record<string, unknown>> & { readonly mediaType?: string },
) {
  const manifest = Buffer.from(JSON.stringify(content))
  const { mediaType = types.image } = content
  return { manifest, mediaType, digest: digest(manifest), descriptor: descriptor(mediaType, manifest) }
}

export async function pushBlob(client: OciClient, name: string, bytes: Uint8Array): Promise<string> {
  const reply = await client.request('POST', `${name}/blobs/uploads/?digest=${digest(bytes)}`, {
    body: bytes,
  })
  assert.equal(reply.status, 201, reply.bytes.toString())
  return digest(bytes)
}

/** Waits until a request has claimed an upload for writing. `path` is that of the upload, below /v2/. */
export async function waitForWriter({ berth }: TestBerth, path: string): Promise<void> {
  const { kysely } = berth.installation.store.db
  const rows = () =>
    kysely
      .selectFrom('uploads')
      .select('id')
      .where('id', '=', path.split('/').at(-1) ?? '')
      .where('writer', '<>', '')
      .execute()
  await eventually(rows, ({ length }) => length > 0)
}

export function putManifest(
  client: OciClient,
  name: string,
  reference: string,
  { manifest, mediaType }: Pick<TestImage, 'manifest' | 'mediaType'>,
): Promise<OciReply> {
  return client.request('PUT', `${name}/manifests/${reference}`, {
    body: manifest,
    headers: { 'content-type': mediaType },
  })
}

/** By its digest where no tag is named. */
export async function pushImage(
  client: OciClient,
  name: string,
  image: TestImage = testImage(),
  tag: string = image.digest,
): Promise<TestImage> {
  for (const blob of image.blobs) await pushBlob(client, name, blob)
  const reply = await putManifest(client, name, tag, image)
  assert.equal(reply.status, 201, reply.bytes.toString())
  return image
}

/** An organization for one test, with a client for its owner and an unused repo name. */
export async function createRegistryFixture(cast: ApiFixture) {
  const organization = await cast.organization()
  const { berth } = cast
  const clientOf = async (identity: string) => ociClient(berth, await bearerOf(berth, identity))
  return {
    organization,
    root: organization.uid,
    name: `${organization.uid}/${newName('repo')}`,
    owner: await clientOf(organization.owner.uid),
    clientOf,
    /** A client for a new identity that holds a role. */
    async member(role: string, group?: string) {
      const { uid, api } = await organization.member(role, group)
      return { uid, api, ...(await clientOf(uid)) }
    },
  }
}

export function assertOciError(reply: OciReply, status: number, code: string, why = ''): void {
  assert.deepEqual([reply.status, reply.codes], [status, [code]], `${why} ${reply.bytes}`)
}
