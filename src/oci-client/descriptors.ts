import { createHash, timingSafeEqual } from 'node:crypto'
import { isIndex, manifestTypes, mediaTypes } from '../core/image-types.ts'
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
export function hashOf(digest: string) {
  return createHash(digest.startsWith('sha512:') ? 'sha512' : 'sha256')
}

export function digestOf(bytes: Uint8Array, algorithm = 'sha256'): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`
}

/** Throws for bytes that are not those of the digest. */
export function checkBytes(place: string, digest: string, bytes: Uint8Array): void {
  const [algorithm = ''] = digest.split(':')
  const actual = digestOf(bytes, algorithm)
  if (actual.length !== digest.length || !timingSafeEqual(Buffer.from(actual), Buffer.from(digest)))
    throw new TransferError(
      'corrupt',
      place,
      `what ${place} gives for ${digest} has the digest ${actual}: it is damaged, or not what was asked for`,
    )
}

type Members = Readonly<Record<string, unknown>>

/** Reads a manifest; `mediaType` is what its sender calls it. Throws for what is none that this client knows. */
export function readManifest(
  place: string,
  digest: string,
  bytes: Buffer,
  mediaType: string | undefined,
): Manifest {
  const fail = (why: string): never => {
    throw new TransferError('refused', place, `the manifest ${digest} of ${place} cannot be used: ${why}`)
  }
  let content: Members
  try {
    content = membersOf(JSON.parse(bytes.toString('utf8'))) ?? fail('it is not a JSON object')
  } catch (error) {
    if (error instanceof TransferError) throw error
    return fail('it is not JSON')
  }
  if (content['schemaVersion'] === 1) return fail('it is of the format before 2017 (schema 1)')
  const inside = content['mediaType']
  const told = mediaType?.split(';')[0]?.trim().toLowerCase()
  const type =
    typeof inside === 'string' && inside !== ''
      ? inside
      : told !== undefined && manifestTypes.includes(told)
        ? told
        : guessed(content)
  if (!manifestTypes.includes(type)) return fail(`its media type is ${JSON.stringify(type)}`)
  // Two readers must not take it for two things.
  if (content['manifests'] !== undefined && content['layers'] !== undefined)
    return fail('it is an image and an index')
  const descriptors = (name: string) => {
    const list = content[name] ?? []
    if (!Array.isArray(list)) return fail(`${name} is not a list`)
    return list.map((entry) => descriptorOf(entry) ?? fail(`${name} has an entry that is no descriptor`))
  }
  const one = (name: string) =>
    content[name] === undefined
      ? undefined
      : (descriptorOf(content[name]) ?? fail(`${name} is not a descriptor`))
  const isList = isIndex({ mediaType: type })
  const config = isList ? undefined : one('config')
  if (!isList && config === undefined) return fail('it has no config')
  const artifactType = content['artifactType']
  return {
    mediaType: type,
    digest,
    bytes,
    artifactType: typeof artifactType === 'string' ? artifactType : (config?.mediaType ?? ''),
    annotations: textsOf(content['annotations']) ?? {},
    subject: one('subject'),
    config,
    layers: isList ? [] : descriptors('layers'),
    manifests: isList ? descriptors('manifests') : [],
  }
}

function guessed(content: Members): string {
  return content['manifests'] === undefined ? mediaTypes.image : mediaTypes.index
}

export function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** Members of a JSON object; undefined for bytes that are none. */
export function jsonMembers(bytes: Buffer): Members | undefined {
  try {
    return membersOf(JSON.parse(bytes.toString('utf8')))
  } catch {
    return undefined
  }
}

function textsOf(value: unknown): Record<string, string> | undefined {
  const members = membersOf(value)
  if (members === undefined) return undefined
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

export function descriptorOf(value: unknown): Descriptor | undefined {
  const members = membersOf(value)
  if (members === undefined) return undefined
  const { mediaType = '', digest, size, platform, annotations, artifactType, urls } = members
  if (typeof mediaType !== 'string' || typeof digest !== 'string' || !isDigest(digest)) return undefined
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return undefined
  const known = platformOf(platform)
  const texts = textsOf(annotations)
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

function platformOf(value: unknown): Platform | undefined {
  const { os, architecture, variant } = membersOf(value) ?? {}
  if (typeof os !== 'string' || typeof architecture !== 'string') return undefined
  return { os, architecture, ...(typeof variant === 'string' && variant !== '' && { variant }) }
}

export function descriptorTo({ mediaType, digest, bytes }: Manifest): Descriptor {
  return { mediaType, digest, size: bytes.length }
}
