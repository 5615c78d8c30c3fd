import { createReadStream } from 'node:fs'
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { imageMediaTypes, isManifest } from '@berth/contract/image-media-types.ts'
import type { BlobReader } from './blob-reader.ts'
import {
  computeDigest,
  createDigestHash,
  type Descriptor,
  isDigest,
  MANIFEST_BYTES_MAX,
  type Manifest,
  parseDescriptor,
  parseJsonObject,
  parseManifest,
  toDescriptor,
  verifyDigest,
} from './descriptors.ts'
import { isTag } from './image-name.ts'
import { findManifest, type ImageStore, referrersTag } from './image-store.ts'
import { isMissingError, TransferError } from './transfer-error.ts'

/** A directory in the OCI image layout: `oci-layout`, `index.json` and `blobs`. Files are replaced atomically. */

const TAG = 'org.opencontainers.image.ref.name'
const LAYOUT = `${JSON.stringify({ imageLayoutVersion: '1.0.0' })}\n`
/** Read chunk size. */
const READ_BYTES = 256 * 1024

export class LayoutDirectory implements ImageStore {
  readonly name: string
  readonly #directory: string
  /** Serializes changes of the index. */
  #writing: Promise<void> = Promise.resolve()

  constructor(directory: string) {
    this.#directory = directory
    this.name = `oci:${directory}`
  }

  /** Reads `index.json`; undefined if it does not exist. */
  async #indexBytes(): Promise<Buffer | undefined> {
    try {
      return await readFile(join(this.#directory, 'index.json'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  async #entries(): Promise<{ readonly bytes: Buffer; readonly entries: readonly Descriptor[] }> {
    const bytes = await this.#indexBytes()
    if (bytes === undefined)
      throw new TransferError(
        'missing',
        this.name,
        `${this.#directory} is not an OCI layout: it has no index.json`,
      )
    return { bytes, entries: parseEntries(this.name, bytes) }
  }

  async #entry(reference: string): Promise<Descriptor | undefined> {
    const { entries } = await this.#entries()
    return isDigest(reference)
      ? entries.find(({ digest }) => digest === reference)
      : entries.find((entry) => tagName(entry) === reference)
  }

  async getManifest(reference: string): Promise<Manifest> {
    if (reference === '') return this.#only()
    const entry = await this.#entry(reference)
    const digest = entry?.digest ?? reference
    if (!isDigest(digest)) throw await this.#noTag(reference)
    return this.#read(digest, entry?.mediaType)
  }

  /** Returns the only image, or all as one index if each is for a different platform. */
  async #only(): Promise<Manifest> {
    const { bytes, entries } = await this.#entries()
    const images = await this.#images(entries)
    const [only, ...more] = images
    if (only === undefined) throw new TransferError('missing', this.name, `${this.name} has no image`)
    if (more.length === 0) return this.#read(only.digest, only.mediaType)
    const platforms = new Set(images.map(({ platform }) => JSON.stringify(platform)))
    if (images.some(({ platform }) => platform === undefined) || platforms.size < images.length)
      throw await this.#noTag('')
    return parseManifest(this.name, computeDigest(bytes), bytes, imageMediaTypes.index)
  }

  /** Returns each image once, however many names it has; of several, without those that refer to another one. */
  async #images(entries: readonly Descriptor[]): Promise<readonly Descriptor[]> {
    const all = [...new Map(entries.filter(isManifest).map((entry) => [entry.digest, entry])).values()]
    if (all.length < 2) return all
    const images: Descriptor[] = []
    for (const entry of all)
      if ((await this.#read(entry.digest, entry.mediaType)).subject === undefined) images.push(entry)
    return images
  }

  async #noTag(reference: string): Promise<TransferError> {
    const tags: string[] = []
    for await (const tag of this.listTags()) tags.push(tag)
    const has =
      tags.length === 0 ? 'images without tags: name one by its digest' : `the tags ${tags.join(', ')}`
    const wanted = reference === '' ? 'several images' : `no tag ${JSON.stringify(reference)}`
    return new TransferError('missing', this.name, `${this.name} has ${wanted}; it has ${has}`)
  }

  async #read(digest: string, mediaType: string | undefined): Promise<Manifest> {
    const path = this.#path(digest)
    const { size = 0 } = (await stat(path).catch(() => undefined)) ?? this.#missing(digest)
    if (size > MANIFEST_BYTES_MAX)
      throw new TransferError('refused', this.name, `manifest ${digest} of ${this.name} is too large`)
    const bytes = await readFile(path)
    verifyDigest(this.name, digest, bytes)
    return parseManifest(this.name, digest, bytes, mediaType)
  }

  #missing(digest: string): never {
    throw new TransferError('missing', this.name, `${this.name} has no ${digest}`)
  }

  async resolveDigest(reference: string): Promise<string | undefined> {
    return (await findManifest(this, reference))?.digest
  }

  async *listTags(): AsyncGenerator<string> {
    for (const entry of (await this.#entries()).entries) {
      const tag = tagName(entry)
      // Some tools store complete image names there.
      if (tag !== undefined && isTag(tag)) yield tag
    }
  }

  async listReferrers(subject: string): Promise<readonly Descriptor[]> {
    const { entries } = await this.#entries()
    const found = new Map<string, Descriptor>()
    for (const entry of entries) {
      if (tagName(entry) === referrersTag(subject)) {
        for (const one of (await this.#read(entry.digest, entry.mediaType)).manifests)
          found.set(one.digest, one)
      } else if (isManifest(entry)) {
        const manifest = await this.#read(entry.digest, entry.mediaType).catch((error: unknown) => {
          if (isMissingError(error)) return undefined
          throw error
        })
        if (manifest?.subject?.digest !== subject) continue
        const { artifactType, annotations } = manifest
        found.set(manifest.digest, { ...toDescriptor(manifest), artifactType, annotations })
      }
    }
    return [...found.values()]
  }

  async openBlob({ digest }: Descriptor, from: number): Promise<AsyncIterable<Buffer>> {
    const path = this.#path(digest)
    if ((await fileSize(path)) === undefined) this.#missing(digest)
    return createReadStream(path, { start: from, highWaterMark: READ_BYTES })
  }

  /** Checks the content: its size alone does not prove that a file was not changed. */
  async hasBlob({ digest, size }: Descriptor): Promise<boolean> {
    const path = this.#path(digest)
    if ((await fileSize(path)) !== size) return false
    const hash = createDigestHash(digest)
    for await (const bytes of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(bytes)
    return digest.endsWith(`:${hash.digest('hex')}`)
  }

  async mountBlob(): Promise<boolean> {
    return false
  }

  async putBlob(reader: BlobReader): Promise<void> {
    await this.#write(reader.blob.digest, reader.readFrom(0))
  }

  async putManifest(manifest: Manifest, reference: string): Promise<void> {
    await this.#write(manifest.digest, [manifest.bytes])
    if (!isDigest(reference)) await this.#addEntry(manifest, reference)
    else if (manifest.subject !== undefined) await this.addToIndex(manifest)
  }

  async addToIndex(manifest: Manifest): Promise<void> {
    await this.#addEntry(manifest, undefined)
  }

  async #addEntry(manifest: Manifest, tag: string | undefined): Promise<void> {
    const change = this.#writing.then(() => this.#changeIndex(manifest, tag))
    this.#writing = change.catch(() => undefined)
    await change
  }

  async #changeIndex(manifest: Manifest, tag: string | undefined): Promise<void> {
    const bytes = await this.#indexBytes()
    const content = bytes === undefined ? {} : parseIndex(this.name, bytes)
    const { manifests } = content
    const entries: readonly unknown[] = Array.isArray(manifests) ? manifests : []
    if (tag === undefined && entries.some((entry) => parseDescriptor(entry)?.digest === manifest.digest))
      return
    const others = entries.filter((entry) => {
      const known = parseDescriptor(entry)
      return known === undefined || tag === undefined || tagName(known) !== tag
    })
    const { artifactType, subject } = manifest
    const entry = {
      ...toDescriptor(manifest),
      ...(subject !== undefined && { artifactType }),
      ...(tag !== undefined && { annotations: { [TAG]: tag } }),
    }
    const index = {
      schemaVersion: 2,
      mediaType: imageMediaTypes.index,
      ...content,
      manifests: [...others, entry],
    }
    await this.#replace('oci-layout', LAYOUT)
    await this.#replace('index.json', `${JSON.stringify(index)}\n`)
  }

  async #replace(name: string, text: string): Promise<void> {
    await mkdir(this.#directory, { recursive: true })
    const path = join(this.#directory, name)
    const draft = `${path}.${process.pid}`
    await writeFile(draft, text)
    await rename(draft, path)
  }

  async #write(digest: string, parts: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void> {
    const path = this.#path(digest)
    const draft = `${path}.${process.pid}`
    await mkdir(join(path, '..'), { recursive: true })
    const file = await open(draft, 'w')
    try {
      for await (const bytes of parts) await file.write(bytes)
      await file.sync()
      await file.close()
      await rename(draft, path)
    } catch (error) {
      await file.close().catch(() => undefined)
      await rm(draft, { force: true })
      throw error
    }
  }

  /** The digest was validated, so it contains no path traversal. */
  #path(digest: string): string {
    const [algorithm = '', hex = ''] = digest.split(':')
    return join(this.#directory, 'blobs', algorithm, hex)
  }
}

function parseIndex(name: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  const index = parseJsonObject(bytes)
  if (index !== undefined) return index
  throw new TransferError('refused', name, `the index.json of ${name} is not a valid image index`)
}

function parseEntries(name: string, bytes: Buffer): Descriptor[] {
  const { manifests } = parseIndex(name, bytes)
  return (Array.isArray(manifests) ? manifests : []).flatMap((entry) => parseDescriptor(entry) ?? [])
}

function tagName({ annotations }: Descriptor): string | undefined {
  return annotations?.[TAG]
}

async function fileSize(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}
