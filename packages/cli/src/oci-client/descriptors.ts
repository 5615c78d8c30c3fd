import { createHash, timingSafeEqual } from 'node:crypto'
import { imageMediaTypes, isIndex, manifestMediaTypes } from '@berth/contract/image-media-types.ts'
import { TransferError } from './transfer-error.ts'

/** Parses descriptors and manifests (OCI image specification) from untrusted bytes. Pure. */

/** The size that registries accept. */
export const MANIFEST_BYTES_MAX = 4 * 1024 * 1024

export interface Platform {
  readonly os: string
  readonly architecture: string
  readonly variant?: string
}

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: Platform
  readonly annotations?: Readonly<Record<string, string>>
  readonly artifactType?: string
  readonly urls?: readonly string[]
}

/** A manifest with the bytes of its digest. */
export interface Manifest {
  readonly mediaType: string
  readonly digest: string
  readonly bytes: Buffer
  readonly artifactType: string
  readonly annotations: Readonly<Record<string, string>>
  readonly subject: Descriptor | undefined
  /** Of an image. */
  readonly config: Descriptor | undefined
  readonly layers: readonly Descriptor[]
  /** Of an index. */
  readonly manifests: readonly Descriptor[]
}

const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/

export function isDigest(text: string): boolean {
  return DIGEST.test(text)
}

/** Creates the hash of a digest's algorithm. */
export function createDigestHash(digest: string) {
  return createHash(digest.startsWith('sha512:') ? 'sha512' : 'sha256')
}

export function computeDigest(bytes: Uint8Array, algorithm = 'sha256'): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`
}

/** Throws unless the bytes match the digest. */
export function verifyDigest(source: string, digest: string, bytes: Uint8Array): void {
  const [algorithm = ''] = digest.split(':')
  const actual = computeDigest(bytes, algorithm)
  if (actual.length !== digest.length || !timingSafeEqual(Buffer.from(actual), Buffer.from(digest)))
    throw new TransferError(
      'corrupt',
      source,
      `the content of ${digest} from ${source} has digest ${actual}: it is damaged or was replaced`,
    )
}

type Members = Readonly<Record<string, unknown>>

/** Parses a manifest; `mediaType` is the one its sender states. Throws for unsupported manifests. */
export function parseManifest(
  source: string,
  digest: string,
  bytes: Buffer,
  mediaType: string | undefined,
): Manifest {
  const fail = (why: string): never => {
    throw new TransferError('refused', source, `manifest ${digest} of ${source} is unsupported: ${why}`)
  }
  let content: Members
  try {
    content = asObject(JSON.parse(bytes.toString('utf8'))) ?? fail('it is not a JSON object')
  } catch (error) {
    if (error instanceof TransferError) throw error
    return fail('it is not JSON')
  }
  if (content['schemaVersion'] === 1) return fail('it has schema version 1, which is obsolete since 2017')
  const inside = content['mediaType']
  const declaredType = mediaType?.split(';')[0]?.trim().toLowerCase()
  const type =
    typeof inside === 'string' && inside !== ''
      ? inside
      : declaredType !== undefined && manifestMediaTypes.includes(declaredType)
        ? declaredType
        : inferMediaType(content)
  if (!manifestMediaTypes.includes(type)) return fail(`its media type is ${JSON.stringify(type)}`)
  // Two clients must not interpret it differently.
  if (content['manifests'] !== undefined && content['layers'] !== undefined)
    return fail('it is both an image and an index')
  const descriptors = (name: string) => {
    const list = content[name] ?? []
    if (!Array.isArray(list)) return fail(`${name} is not a list`)
    return list.map(
      (entry) => parseDescriptor(entry) ?? fail(`${name} has an entry that is not a descriptor`),
    )
  }
  const one = (name: string) =>
    content[name] === undefined
      ? undefined
      : (parseDescriptor(content[name]) ?? fail(`${name} is not a descriptor`))
  const isList = isIndex({ mediaType: type })
  const config = isList ? undefined : one('config')
  if (!isList && config === undefined) return fail('it has no config')
  const artifactType = content['artifactType']
  return {
    mediaType: type,
    digest,
    bytes,
    artifactType: typeof artifactType === 'string' ? artifactType : (config?.mediaType ?? ''),
    annotations: stringMembers(content['annotations']) ?? {},
    subject: one('subject'),
    config,
    layers: isList ? [] : descriptors('layers'),
    manifests: isList ? descriptors('manifests') : [],
  }
}

function inferMediaType(content: Members): string {
  return content['manifests'] === undefined ? imageMediaTypes.image : imageMediaTypes.index
}

export function asObject(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** Parses a JSON object; undefined if it is not one. */
export function parseJsonObject(bytes: Buffer): Members | undefined {
  try {
    return asObject(JSON.parse(bytes.toString('utf8')))
  } catch {
    return undefined
  }
}

function stringMembers(value: unknown): Record<string, string> | undefined {
  const members = asObject(value)
  if (members === undefined) return undefined
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

export function parseDescriptor(value: unknown): Descriptor | undefined {
  const members = asObject(value)
  if (members === undefined) return undefined
  const { mediaType = '', digest, size, platform, annotations, artifactType, urls } = members
  if (typeof mediaType !== 'string' || typeof digest !== 'string' || !isDigest(digest)) return undefined
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return undefined
  const known = toPlatform(platform)
  const texts = stringMembers(annotations)
  return {
    mediaType,
    digest,
    size,
    ...(known !== undefined && { platform: known }),
    ...(texts !== undefined && { annotations: texts }),
    ...(typeof artifactType === 'string' && { artifactType }),
    ...(Array.isArray(urls) && { urls: urls.filter((url) => typeof url === 'string') }),
  }
}

function toPlatform(value: unknown): Platform | undefined {
  const { os, architecture, variant } = asObject(value) ?? {}
  if (typeof os !== 'string' || typeof architecture !== 'string') return undefined
  return { os, architecture, ...(typeof variant === 'string' && variant !== '' && { variant }) }
}

export function toDescriptor({ mediaType, digest, bytes }: Manifest): Descriptor {
  return { mediaType, digest, size: bytes.length }
}
