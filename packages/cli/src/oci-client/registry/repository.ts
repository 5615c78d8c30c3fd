import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { imageMediaTypes, manifestMediaTypes } from '@berth/contract/image-media-types.ts'
import type { BlobReader } from '../blob-reader.ts'
import {
  computeDigest,
  type Descriptor,
  isDigest,
  MANIFEST_BYTES_MAX,
  type Manifest,
  parseDescriptor,
  parseJsonObject,
  parseManifest,
  toDescriptor,
  verifyDigest,
} from '../descriptors.ts'
import { isTag } from '../image-name.ts'
import { findManifest, type ImageStore, referrersTag } from '../image-store.ts'
import { TransientError, withRetries } from '../retries.ts'
import { isMissingError, TransferError } from '../transfer-error.ts'
import {
  type Connection,
  type RegistryRequest,
  type RegistryResponse,
  readBoundedBytes,
} from './connection.ts'
import { uploadBlob, uploadLocation } from './uploads.ts'

/** A repository of a registry (OCI distribution 1.1, and registries that support 1.0 only). */

const PAGE_BYTES_MAX = 16 * 1024 * 1024
/** Limits of all pages of a list together: some registries return a hundred tags per page. */
const LIST_PAGES_MAX = 2000
const LIST_ENTRIES_MAX = 200_000
const LIST_BYTES_MAX = 64 * 1024 * 1024
/** Status of a registry that is still processing an upload, and the delay before the next attempt. */
const BUSY = 409
const BUSY_MS = 100
const CANCEL_MS = 3000

export class RegistryRepository implements ImageStore {
  readonly name: string
  readonly connection: Connection
  readonly repository: string
  readonly #pull: readonly string[]
  readonly #push: readonly string[]

  constructor(connection: Connection, repository: string) {
    this.connection = connection
    this.repository = repository
    this.name = `${connection.host}/${repository}`
    this.#pull = [`repository:${repository}:pull`]
    this.#push = [`repository:${repository}:pull,push`]
  }

  async getManifest(reference: string): Promise<Manifest> {
    const { bytes, reply } = await this.#read(`manifests/${reference}`, MANIFEST_BYTES_MAX, {
      accept: [...manifestMediaTypes, '*/*'].join(', '),
    }).catch((error: unknown) => {
      if (!isMissingError(error)) throw error
      const what = isDigest(reference) ? 'manifest' : 'tag'
      throw new TransferError(
        'missing',
        this.connection.host,
        `${what} ${reference} not found in ${this.name}`,
      )
    })
    const digestHeader = reply.header('docker-content-digest')
    const digest = isDigest(reference)
      ? reference
      : digestHeader !== undefined && isDigest(digestHeader)
        ? digestHeader
        : computeDigest(bytes)
    verifyDigest(this.name, digest, bytes)
    return parseManifest(this.name, digest, bytes, reply.header('content-type'))
  }

  async resolveDigest(reference: string): Promise<string | undefined> {
    const reply = await this.#ask(`manifests/${reference}`, {
      method: 'HEAD',
      scopes: this.#pull,
      headers: { accept: manifestMediaTypes.join(', ') },
      expectedStatuses: [200, 403, 404],
    })
    await reply.body.dump()
    if (reply.status === 404) return undefined
    // A response to HEAD has no reason: the GET below does.
    const digest = reply.header('docker-content-digest')
    if (reply.status === 200 && digest !== undefined && isDigest(digest)) return digest
    return (await this.getManifest(reference)).digest
  }

  async *listTags(): AsyncGenerator<string> {
    for await (const tags of this.#pages('tags/list', 'tags'))
      for (const tag of tags) if (typeof tag === 'string' && isTag(tag)) yield tag
  }

  async listReferrers(digest: string): Promise<readonly Descriptor[]> {
    const found: Descriptor[] = []
    try {
      for await (const page of this.#pages(`referrers/${digest}`, 'manifests'))
        for (const entry of page)
          found.push(parseDescriptor(entry) ?? this.#refuse('lists an invalid referrer'))
      return found
    } catch (error) {
      if (!isMissingError(error)) throw error
      // Registries without the referrers API store the list under a tag.
      return (await findManifest(this, referrersTag(digest)))?.manifests ?? []
    }
  }

  async openBlob({ digest }: Descriptor, from: number): Promise<AsyncIterable<Buffer>> {
    const reply = await this.connection.requestOnce(this.path(`blobs/${digest}`), {
      scopes: this.#pull,
      headers: from > 0 ? { range: `bytes=${from}-` } : {},
      expectedStatuses: from > 0 ? [200, 206] : [200],
    })
    return streamBody(reply, reply.status === 206 ? 0 : from)
  }

  async hasBlob({ digest, size }: Descriptor): Promise<boolean> {
    const reply = await this.#ask(`blobs/${digest}`, {
      method: 'HEAD',
      scopes: this.#push,
      // The upload returns the reason.
      expectedStatuses: [200, 403, 404],
    })
    await reply.body.dump()
    const length = reply.header('content-length')
    return reply.status === 200 && (length === undefined || Number(length) === size)
  }

  async mountBlob({ digest }: Descriptor, from: ImageStore): Promise<boolean> {
    if (!(from instanceof RegistryRepository) || from.connection.host !== this.connection.host) return false
    const query = new URLSearchParams({ mount: digest, from: from.repository })
    const reply = await this.#ask(`blobs/uploads/?${query}`, {
      method: 'POST',
      scopes: [...this.#push, ...from.#pull],
      headers: { 'content-length': '0' },
      // A registry that does not mount the blob starts an upload or rejects the request; the bytes are then copied.
      expectedStatuses: [201, 202, 400, 404, 405],
    }).catch((error: unknown) => {
      if (error instanceof TransferError && error.problem === 'denied') return undefined
      throw error
    })
    if (reply === undefined) return false
    await reply.body.dump()
    const begun = uploadLocation(reply)
    if (reply.status === 202 && begun !== undefined) await this.cancelUpload(begun)
    return reply.status === 201
  }

  putBlob(blob: BlobReader): Promise<void> {
    return uploadBlob(this, blob)
  }

  async putManifest(manifest: Manifest, reference: string): Promise<void> {
    const reply = await this.#ask(`manifests/${reference}`, {
      method: 'PUT',
      scopes: this.#push,
      headers: { 'content-type': manifest.mediaType },
      body: manifest.bytes,
      expectedStatuses: [200, 201, 202],
    })
    await reply.body.dump()
    const { subject } = manifest
    if (subject !== undefined && reply.header('oci-subject') === undefined)
      await this.#listReferrer(subject.digest, manifest)
  }

  /** Registries need no index: each manifest can be found by its digest. */
  async addToIndex(): Promise<void> {}

  /** Maintains the referrers tag for registries without the referrers API. */
  async #listReferrer(subject: string, manifest: Manifest): Promise<void> {
    const current = (await findManifest(this, referrersTag(subject)))?.manifests ?? []
    if (current.some(({ digest }) => digest === manifest.digest)) return
    const { artifactType, annotations } = manifest
    const entry = { ...toDescriptor(manifest), artifactType, annotations }
    const bytes = Buffer.from(
      JSON.stringify({ schemaVersion: 2, mediaType: imageMediaTypes.index, manifests: [...current, entry] }),
    )
    const index = parseManifest(this.name, computeDigest(bytes), bytes, imageMediaTypes.index)
    await this.putManifest(index, referrersTag(subject))
  }

  /** Returns false if it does not exist. */
  async delete(reference: string): Promise<boolean> {
    const reply = await this.#ask(`manifests/${reference}`, {
      method: 'DELETE',
      scopes: [`repository:${this.repository}:delete,pull`],
      expectedStatuses: [200, 202, 204, 404],
    })
    await reply.body.dump()
    return reply.status !== 404
  }

  /** Sends a request of an upload, whose body may be a stream. */
  requestUpload(target: string | URL, request: Omit<RegistryRequest, 'scopes'>): Promise<RegistryResponse> {
    return this.connection.requestOnce(target, { ...request, scopes: this.#push })
  }

  /** Cancels an upload, also after Ctrl-C, with a short timeout: registries expire uploads themselves. */
  async cancelUpload(upload: URL): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_MS)
    const request = { method: 'DELETE', expectedStatuses: [200, 202, 204, 404, BUSY], signal } as const
    for (;;) {
      const reply = await this.requestUpload(upload, request).catch(() => undefined)
      await reply?.body.dump().catch(() => undefined)
      // The registry may not have noticed yet that the connection was closed.
      if (reply?.status !== BUSY) return
      await pause(BUSY_MS)
    }
  }

  path(rest: string): string {
    return `/v2/${this.repository}/${rest}`
  }

  #ask(rest: string, request: RegistryRequest & { readonly body?: Buffer }): Promise<RegistryResponse> {
    return this.connection.request(this.path(rest), request)
  }

  #read(target: string | URL, bytesMax: number, headers: Readonly<Record<string, string>> = {}) {
    return withRetries(this.connection.signal, async () => {
      const reply = await this.connection.requestOnce(
        typeof target === 'string' ? this.path(target) : target,
        {
          scopes: this.#pull,
          headers,
          expectedStatuses: [200],
        },
      )
      return { reply, bytes: await readBoundedBytes(reply, bytesMax) }
    })
  }

  /** Yields the entries of a list that is linked page by page. */
  async *#pages(first: string, member: string): AsyncGenerator<readonly unknown[]> {
    const seen = new Set<string>()
    let [entries, size] = [0, 0]
    let next: string | URL | undefined = first
    while (next !== undefined) {
      if (seen.has(String(next))) this.#refuse('links the next page of a list to an earlier page')
      seen.add(String(next))
      if (seen.size > LIST_PAGES_MAX) this.#refuse(`returned a list of more than ${LIST_PAGES_MAX} pages`)
      const { bytes, reply } = await this.#read(next, PAGE_BYTES_MAX)
      size += bytes.length
      if (size > LIST_BYTES_MAX) this.#refuse(`returned a list of more than ${LIST_BYTES_MAX} bytes`)
      const list =
        parseJsonObject(bytes) ?? this.#refuse(`responded to ${reply.url.pathname} with an invalid list`)
      // Some registries return null for an empty list.
      const page = list[member]
      if (Array.isArray(page)) {
        entries += page.length
        if (entries > LIST_ENTRIES_MAX)
          this.#refuse(`returned a list of more than ${LIST_ENTRIES_MAX} entries`)
        yield page
      }
      const link = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(reply.header('link') ?? '')?.[1]
      if (link !== undefined && !URL.canParse(link, reply.url.href))
        this.#refuse('links the next page of a list to an invalid URL')
      next = link === undefined ? undefined : new URL(link, reply.url)
    }
  }

  #refuse(what: string): never {
    const { host } = this.connection
    throw new TransferError('refused', host, `${host} ${what}`)
  }
}

/** Yields the body after the skipped bytes; an interrupted connection is a transient error. */
async function* streamBody({ body, url }: RegistryResponse, skipped: number): AsyncGenerator<Buffer> {
  let skip = skipped
  try {
    for await (const part of body as Readable & AsyncIterable<Buffer>) {
      const rest = skip > 0 ? part.subarray(skip) : part
      skip -= part.length - rest.length
      if (rest.length > 0) yield rest
    }
  } catch (error) {
    if (error instanceof TransferError || error instanceof TransientError) throw error
    throw new TransientError(
      new TransferError('unreachable', url.host, `the connection to ${url.host} was interrupted repeatedly`, {
        cause: error,
      }),
    )
  }
}
