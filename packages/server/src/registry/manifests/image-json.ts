import { limits } from '../../config/limits.ts'
import { scanJson } from '../../runtime/json/json-scan.ts'

/** What stored manifests and image configurations say of images, read from their bytes within limits. Pure. */

export interface ImageManifest {
  readonly config: ManifestDescriptor | undefined
  /** Bytes of all layers, as they are transferred. */
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
  /** Undefined where the index names no platform. */
  readonly platform: Platform | undefined
}

/** `amd64`, or `arm/v7`; undefined for what has none, such as an attestation. */
export interface Platform {
  readonly architecture: string | undefined
}

export interface ImageConfiguration extends Platform {
  /** How the image runs, whatever is in it. */
  readonly config: Readonly<Record<string, unknown>>
}

/** A manifest that was checked when it was pushed. Undefined for one beyond the limits, as an earlier release accepted it. */
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

/** Undefined for what is no JSON object, as that of an artifact may be, and for one beyond the limits. */
export function parseImageConfig(bytes: Uint8Array): ImageConfiguration | undefined {
  const { manifestDepthMax: depthMax, imageConfigElementsMax: elementsMax } = limits
  const parsed = parseObject(bytes, { depthMax, elementsMax })
  return parsed && { architecture: architectureOf(parsed), config: members(parsed['config']) }
}

type Members = Readonly<Record<string, unknown>>

function parseObject(bytes: Uint8Array, bounds: Parameters<typeof scanJson>[1]): Members | undefined {
  if (scanJson(bytes, bounds).exceeded !== undefined) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return typeof value === 'object' && value !== null ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

function architectureOf({ architecture, variant }: Members): string | undefined {
  if (typeof architecture !== 'string' || architecture === '' || architecture === 'unknown') return undefined
  return typeof variant === 'string' && variant !== '' ? `${architecture}/${variant}` : architecture
}
