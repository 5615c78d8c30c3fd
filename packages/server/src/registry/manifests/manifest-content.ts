import { isIndex } from '@berth/contract/image-media-types.ts'
import { limits } from '../../config/limits.ts'
import { architectureOf, type ManifestDescriptor, members, parseObject } from './image-json.ts'

/** Parses a stored manifest for people: its entries or layers, with what they are. Pure. */

export interface ContentDescriptor extends ManifestDescriptor {
  readonly mediaType: string
}

export interface ContentLayer extends ContentDescriptor {
  /** File name of an artifact; '' for none. */
  readonly title: string
}

export interface ContentEntry extends ContentDescriptor {
  /** `os/architecture`, with a variant if there is one; '' for none. */
  readonly platform: string
  /** Digest of the entry that this one describes; '' for none. */
  readonly describes: string
}

export interface StoredManifest {
  readonly config: ContentDescriptor | undefined
  readonly layers: readonly ContentLayer[]
  /** Of an index. */
  readonly entries: readonly ContentEntry[]
}

export type ManifestKindName = 'image' | 'index' | 'artifact'

/** Parses a manifest that was validated when it was pushed. Returns undefined for one beyond the limits, from an earlier release. */
export function parseStoredManifest(bytes: Uint8Array): StoredManifest | undefined {
  const { manifestDepthMax: depthMax, manifestElementsMax: elementsMax } = limits
  const manifest = parseObject(bytes, { depthMax, elementsMax })
  if (manifest === undefined) return undefined
  const { config, layers, manifests } = manifest as Partial<{
    config: ContentDescriptor
    layers: (ContentDescriptor & { annotations?: unknown })[]
    manifests: (ContentDescriptor & { annotations?: unknown; platform?: unknown })[]
  }>
  return {
    config: config && descriptorOf(config),
    layers: (layers ?? []).map((layer) => ({
      ...descriptorOf(layer),
      title: textOf(members(layer.annotations)['org.opencontainers.image.title']),
    })),
    entries: (manifests ?? []).map((entry) => ({
      ...descriptorOf(entry),
      platform: platformOf(members(entry.platform)),
      describes: textOf(members(entry.annotations)['vnd.docker.reference.digest']),
    })),
  }
}

function descriptorOf({ mediaType, digest, size }: ContentDescriptor): ContentDescriptor {
  return { mediaType, digest, size }
}

/** Returns text that every encoding can carry. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}

/** Returns `os/architecture`, with a variant if there is one; '' if it is unknown, as for an attestation. */
export function platformOf(platform: Readonly<Record<string, unknown>>): string {
  const architecture = architectureOf(platform)
  const os = textOf(platform['os'])
  return architecture === undefined || os === '' || os === 'unknown'
    ? ''
    : `${os}/${architecture.toWellFormed()}`
}

const imageConfigTypes: readonly string[] = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
]

const imageLayerPattern = /^application\/vnd\.(?:oci\.image\.layer|docker\.image\.rootfs)\./

/** Artifact types of the manifests that can be images. */
export const imageArtifactTypes = imageConfigTypes

/**
 * Returns the kind of a manifest. Signatures and attestations of some tools have the configuration of an image, but layers of another type.
 * `layers`: undefined if they are not known.
 */
export function manifestKind(
  { mediaType, artifactType }: { readonly mediaType: string; readonly artifactType: string },
  layers: readonly { readonly mediaType: string }[] | undefined,
): ManifestKindName {
  if (isIndex({ mediaType })) return 'index'
  if (!imageConfigTypes.includes(artifactType)) return 'artifact'
  const hasImageLayers =
    layers === undefined ||
    layers.length === 0 ||
    layers.some((layer) => imageLayerPattern.test(layer.mediaType))
  return hasImageLayers ? 'image' : 'artifact'
}

/** Returns the compressed size of the configuration and the layers; undefined if it is too large to be true. */
export function contentSize({ config, layers }: StoredManifest): number | undefined {
  const size = [...(config === undefined ? [] : [config]), ...layers].reduce(
    (sum, blob) => sum + blob.size,
    0,
  )
  return Number.isSafeInteger(size) ? size : undefined
}
