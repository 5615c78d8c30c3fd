import { createHash } from 'node:crypto'

/** What is pushed: blobs that no registry has yet, and manifests of them. */

export interface Blob {
  readonly digest: string
  readonly pieces: readonly Buffer[]
  readonly size: number
}

export const mediaTypes = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

function sha256(bytes: Buffer | string): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

export function blobOf(bytes: Buffer): Blob {
  return { digest: sha256(bytes), pieces: [bytes], size: bytes.length }
}

const TAIL_BYTES = 16

/**
 * Blobs of one size that differ in their last bytes only, so that making one costs the load generator next to nothing: the hash of what
 * they share is made once.
 */
export function newBlobs(size: number): () => Blob {
  const shared = Buffer.alloc(size - TAIL_BYTES, 'layer ')
  const sharedHash = createHash('sha256').update(shared)
  return () => {
    const tail = Buffer.from(String(++blobs).padStart(TAIL_BYTES, '0'))
    return { digest: `sha256:${sharedHash.copy().update(tail).digest('hex')}`, pieces: [shared, tail], size }
  }
}

let blobs = 0

export interface Manifest {
  readonly digest: string
  readonly bytes: Buffer
  readonly mediaType: string
}

/** `more`: fields beside those of every manifest. */
export function manifestOf(mediaType: string, more: object): Manifest {
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...more }))
  return { digest: sha256(bytes), bytes, mediaType }
}

export function descriptorOf(mediaType: string, { digest, size }: Pick<Blob, 'digest' | 'size'>) {
  return { mediaType, digest, size }
}

export function imageOf(config: Blob, layers: readonly Blob[], more: object = {}): Manifest {
  return manifestOf(mediaTypes.image, {
    config: descriptorOf(mediaTypes.config, config),
    layers: layers.map((layer) => descriptorOf(mediaTypes.layer, layer)),
    ...more,
  })
}
