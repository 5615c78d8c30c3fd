import { createHash, timingSafeEqual } from 'node:crypto'
import { imageMediaTypes, isIndex, manifestMediaTypes } from '@berth/contract/image-media-types.ts'
import { TransferError } from './transfer-error.ts'

/** Descriptors and manifests as the OCI image specification has them, read from bytes of somebody else. Pure. */

/** As large as registries take manifests. */
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

/** A manifest with the bytes that its digest is of. */
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

/** The hash that a digest names. */
export function createDigestHash(digest: string) {
  return createHash(digest.startsWith('sha512:') ? 'sha512' : 'sha256')
}

export function computeDigest(bytes: Uint8Array, algorithm = 'sha256'): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`
}

/** Throws for bytes that are not those of the digest. */
export function verifyDigest(source: string, digest: string, bytes: Uint8Array): void {
  const [algorithm = ''] = digest.split(':')
  const actual = computeDigest(bytes, algorithm)
  if (actual.length !== digest.length || !timingSafeEqual(Buffer.from(actual), Buffer.from(digest)))
    throw new TransferError(
      'corrupt',
      source,
      `what ${source} gives for ${digest} has the digest ${actual}: it is damaged, or not what was asked for`,
    )
}

type Members = Readonly<Record<string, unknown>>

/** Reads a manifest; `mediaType` is what its sender calls it. Throws for what is none that this client knows. */
export function parseManifest(
  source: string,
  digest: string,
  bytes: Buffer,
  mediaType: string | undefined,
): Manifest {
  const fail = (why: string): never => {
    throw new TransferError('refused', source, `the manifest ${digest} of ${source} cannot be used: ${why}`)
  }
  let content: Members
  try {
    content = asObject(JSON.parse(bytes.toString('utf8'))) ?? fail('it is not a JSON object')
  } catch (error) {
    if (error instanceof TransferError) throw error
    return fail('it is not JSON')
  }
  if (content['schemaVersion'] === 1) return fail('it is of the format before 2017 (schema 1)')
  const inside = content['mediaType']
  const declaredType = mediaType?.split(';')[0]?.trim().toLowerCase()
  const type =
    typeof inside === 'string' && inside !== ''
      ? inside
      : declaredType !== undefined && manifestMediaTypes.includes(declaredType)
        ? declaredType
        : inferMediaType(content)
  if (!manifestMediaTypes.includes(type)) return fail(`its media type is ${JSON.stringify(type)}`)
  // Two readers must not take it for two things.
  if (content['manifests'] !== undefined && content['layers'] !== undefined)
    return fail('it is an image and an index')
  const descriptors = (name: string) => {
    const list = content[name] ?? []
    if (!Array.isArray(list)) return fail(`${name} is not a list`)
    return list.map((entry) => parseDescriptor(entry) ?? fail(`${name} has an entry that is no descriptor`))
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

/** Members of a JSON object; undefined for bytes that are none. */
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
