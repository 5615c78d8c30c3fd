import { limits } from '../../config/limits.ts'
import { scanJson } from '../../runtime/json/json-scan.ts'

/** Parses stored manifests and image configurations within limits. Pure. */

export interface ImageManifest {
  readonly config: ManifestDescriptor | undefined
  /** Compressed size of all layers. */
  readonly layersSize: number
  /** Of an index. */
  readonly manifests: readonly IndexEntry[] | undefined
}

export interface ManifestDescriptor {
  readonly digest: string
  readonly size: number
}

export interface IndexEntry {
  readonly digest: string
  /** Undefined if the index names no platform. */
  readonly platform: Platform | undefined
}

/** `amd64`, or `arm/v7`; undefined if there is none, as for an attestation. */
export interface Platform {
  readonly architecture: string | undefined
}

export interface ImageConfiguration extends Platform {
  /** Configuration for running the image. */
  readonly config: Readonly<Record<string, unknown>>
}

/** Parses a manifest that was validated when it was pushed. Returns undefined for one beyond the limits, from an earlier release. */
export function parseImageManifest(bytes: Uint8Array): ImageManifest | undefined {
  const { manifestDepthMax: depthMax, manifestElementsMax: elementsMax } = limits
  const manifest = parseObject(bytes, { depthMax, elementsMax })
  if (manifest === undefined) return undefined
  const { config, layers, manifests } = manifest as Partial<{
    config: ManifestDescriptor
    layers: ManifestDescriptor[]
    manifests: (ManifestDescriptor & { platform?: unknown })[]
  }>
  return {
    config: config && { digest: config.digest, size: config.size },
    layersSize: layers?.reduce((sum, { size }) => sum + size, 0) ?? 0,
    manifests: manifests?.map(({ digest, platform }) => ({
      digest,
      platform: platform === undefined ? undefined : { architecture: architectureOf(members(platform)) },
    })),
  }
}

/** Returns undefined for content that is not a JSON object, as of some artifacts, and beyond the limits. */
export function parseImageConfig(bytes: Uint8Array): ImageConfiguration | undefined {
  const { manifestDepthMax: depthMax, imageConfigElementsMax: elementsMax } = limits
  const parsed = parseObject(bytes, { depthMax, elementsMax })
  return parsed && { architecture: architectureOf(parsed), config: members(parsed['config']) }
}

export type Members = Readonly<Record<string, unknown>>

/** Returns undefined for content that is not a JSON object, and beyond the limits. */
export function parseObject(bytes: Uint8Array, bounds: Parameters<typeof scanJson>[1]): Members | undefined {
  if (scanJson(bytes, bounds).exceeded !== undefined) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** Returns the members of an object; none for any other value. */
export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

/** Returns `amd64`, or `arm/v7`; undefined if there is none. */
export function architectureOf({ architecture, variant }: Members): string | undefined {
  if (typeof architecture !== 'string' || architecture === '' || architecture === 'unknown') return undefined
  return typeof variant === 'string' && variant !== '' ? `${architecture}/${variant}` : architecture
}
