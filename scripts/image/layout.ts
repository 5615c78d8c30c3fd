import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Changes of an image in an OCI layout that buildah cannot make. */

const IMAGE = 'application/vnd.oci.image.manifest.v1+json'
const EMPTY = { mediaType: 'application/vnd.oci.empty.v1+json', content: '{}' }
const MIB = 1024 ** 2

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

interface Index {
  manifests: (Descriptor & {
    readonly artifactType?: string
    readonly annotations?: Readonly<Record<string, string>>
  })[]
}

export interface FinishedImage extends Descriptor {
  /** Size of the layers and the configuration. */
  readonly compressedMib: number
}

/**
 * Adds fields to the configuration of the only image of the layout. The OCI specification has no health check, so buildah drops it; container
 * engines read it in OCI images as well.
 */
export function finishImage(layout: string, fields: Readonly<Record<string, unknown>>): FinishedImage {
  const index = readIndex(layout)
  const [entry] = index.manifests
  if (entry === undefined || index.manifests.length > 1) throw new Error(`${layout} does not have one image`)
  const manifest = JSON.parse(readBlob(layout, entry))
  const config = JSON.parse(readBlob(layout, manifest.config))
  rmSync(pathOf(layout, entry.digest))
  rmSync(pathOf(layout, manifest.config.digest))
  manifest.mediaType = IMAGE
  manifest.config = {
    ...manifest.config,
    ...writeBlob(layout, JSON.stringify({ ...config, config: { ...config.config, ...fields } })),
  }
  const image = { mediaType: IMAGE, ...writeBlob(layout, JSON.stringify(manifest)) }
  index.manifests = [{ ...entry, ...image }]
  writeIndex(layout, index)
  const bytes = [manifest.config, ...manifest.layers].reduce(
    (sum: number, { size }: Descriptor) => sum + size,
    0,
  )
  return { ...image, compressedMib: bytes / MIB }
}

/** Adds an artifact that refers to the image. */
export function addReferrer(
  layout: string,
  { mediaType, digest, size }: Descriptor,
  artifactType: string,
  content: string,
): void {
  const manifest = {
    schemaVersion: 2,
    mediaType: IMAGE,
    artifactType,
    config: { mediaType: EMPTY.mediaType, ...writeBlob(layout, EMPTY.content) },
    layers: [{ mediaType: artifactType, ...writeBlob(layout, content) }],
    subject: { mediaType, digest, size },
  }
  const index = readIndex(layout)
  index.manifests.push({ mediaType: IMAGE, artifactType, ...writeBlob(layout, JSON.stringify(manifest)) })
  writeIndex(layout, index)
}

function readIndex(layout: string): Index {
  return JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))
}

function writeIndex(layout: string, index: Index): void {
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index))
}

function pathOf(layout: string, digest: string): string {
  return join(layout, 'blobs', digest.replace(':', '/'))
}

function readBlob(layout: string, { digest }: Descriptor): string {
  return readFileSync(pathOf(layout, digest), 'utf8')
}

function writeBlob(layout: string, content: string): Pick<Descriptor, 'digest' | 'size'> {
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`
  writeFileSync(pathOf(layout, digest), content)
  return { digest, size: Buffer.byteLength(content) }
}
