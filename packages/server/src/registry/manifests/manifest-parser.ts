import {
  isDistributable,
  isIndex,
  isManifest,
  manifestMediaTypes,
} from '@berth/contract/image-media-types.ts'
import { limits } from '../../config/limits.ts'
import { hasDuplicateMember, scanJson } from '../../runtime/json/json-scan.ts'
import { ociError } from '../oci/errors.ts'
import { checkDigest } from '../resources/tag-names.ts'

/** What a manifest is and needs, read from its bytes. Pure. */

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

export interface ParsedManifest {
  readonly mediaType: string
  /** Digest of the manifest that it refers to; '' for none. */
  readonly subject: string
  /** As lists of referrers have it: an image without one is of the type of its configuration. */
  readonly artifactType: string
  /** JSON of an object; '' for none. */
  readonly annotations: string
  readonly config: Descriptor | undefined
  readonly layers: readonly Descriptor[]
  /** Of an index. */
  readonly manifests: readonly Descriptor[]
}

/** What a manifest may have; see core/limits.ts. */
export type ManifestBounds = Readonly<
  Record<
    keyof typeof limits &
      (
        | 'manifestDepthMax'
        | 'manifestElementsMax'
        | 'manifestDescriptorsMax'
        | 'manifestAnnotationsMax'
        | 'manifestAnnotationsBytesMax'
        | 'mediaTypeCharsMax'
      ),
    number
  >
>

/** For manifests that are stored: an earlier release may have accepted more. */
export const unlimitedBounds: ManifestBounds = {
  manifestDepthMax: Number.POSITIVE_INFINITY,
  manifestElementsMax: Number.POSITIVE_INFINITY,
  manifestDescriptorsMax: Number.POSITIVE_INFINITY,
  manifestAnnotationsMax: Number.POSITIVE_INFINITY,
  manifestAnnotationsBytesMax: Number.POSITIVE_INFINITY,
  mediaTypeCharsMax: Number.POSITIVE_INFINITY,
}

/**
 * Reads a manifest. Throws MANIFEST_INVALID for what is none, for one that says another media type than its request, for one that
 * two readers could take for two things (R32), and for one beyond a limit. Nothing is built from the bytes before they are counted.
 */
export function parseManifest(
  bytes: Uint8Array,
  contentType: string | undefined,
  bounds: ManifestBounds = limits,
): ParsedManifest {
  const { annotations, descriptor, descriptors, typeText } = boundedReaders(bounds)
  const manifest = parseObject(bytes, bounds)
  const ownMediaType = manifest['mediaType']
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? ownMediaType
  if (ownMediaType !== undefined && ownMediaType !== mediaType)
    throw invalid(`its mediaType is ${String(ownMediaType)}, and its Content-Type ${String(mediaType)}`)
  if (typeof mediaType !== 'string' || !isManifest({ mediaType }))
    throw invalid(
      `its media type must be one of ${manifestMediaTypes.join(', ')}, in Content-Type or mediaType`,
    )
  const isList = isIndex({ mediaType })
  if (manifest['schemaVersion'] !== 2) throw invalid('its schemaVersion must be 2')
  const unexpected = (
    isList ? ['config', 'layers', 'fsLayers', 'blobs'] : ['manifests', 'fsLayers', 'blobs']
  ).find((member) => manifest[member] !== undefined)
  if (unexpected !== undefined) throw invalid(`${isList ? 'an index' : 'an image'} has no ${unexpected}`)

  const config = isList ? undefined : descriptor(manifest['config'], 'config')
  const layers = isList ? [] : descriptors(manifest['layers'], 'layers')
  // Those of layers that need not be here are whatever somebody wrote.
  if (!Number.isSafeInteger(layers.reduce((sum, { size }) => sum + size, 0)))
    throw invalid('its layers are too large in all')
  const { artifactType: ownType = '' } = manifest
  const artifactType = typeText(ownType, 'artifactType')
  return {
    mediaType,
    subject: manifest['subject'] === undefined ? '' : descriptor(manifest['subject'], 'subject').digest,
    artifactType: artifactType === '' ? (config?.mediaType ?? '') : artifactType,
    annotations: annotations(manifest['annotations']),
    config,
    layers,
    manifests: isList ? descriptors(manifest['manifests'], 'manifests') : [],
  }
}

/** What the repo of a manifest has for it: `optional` those of its blobs that need not be here, and are kept where they are. */
export interface ManifestDependencies {
  readonly blobs: readonly Descriptor[]
  readonly optional: ReadonlySet<Descriptor>
  readonly manifests: readonly Descriptor[]
}

export function dependenciesOf({ config, layers, manifests }: ParsedManifest): ManifestDependencies {
  return {
    blobs: [
      ...(config === undefined ? [] : [config]),
      ...layers,
      ...manifests.filter((entry) => !isManifest(entry)),
    ],
    optional: new Set(layers.filter((layer) => !isDistributable(layer))),
    manifests: manifests.filter(isManifest),
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

type Members = Readonly<Record<string, unknown>>

function parseObject(
  bytes: Uint8Array,
  { manifestDepthMax: depthMax, manifestElementsMax: elementsMax }: ManifestBounds,
): Members {
  const scan = scanJson(bytes, { depthMax, elementsMax })
  if (scan.exceeded === 'depthMax')
    throw invalid(`it nests more than ${depthMax} objects and lists (manifestDepthMax)`)
  if (scan.exceeded === 'elementsMax')
    throw invalid(`it has more than ${elementsMax} values (manifestElementsMax)`)
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch {
    throw invalid('it is not JSON')
  }
  if (hasDuplicateMember(scan, value)) throw invalid('an object in it has two members of one name')
  const manifest = members(value) ?? fail('it is not a JSON object')
  requireExactNames(manifest, manifestNames, 'it')
  return manifest
}

/** Names by what they are for readers that do not mind case, as those written in Go. */
const foldCase = (name: string) => name.toUpperCase().toLowerCase()
const namesOf = (...names: readonly string[]) => new Map(names.map((name) => [foldCase(name), name] as const))
const manifestNames = namesOf(
  'schemaVersion',
  'mediaType',
  'artifactType',
  'config',
  'layers',
  'manifests',
  'subject',
  'annotations',
  'fsLayers',
  'blobs',
)
const descriptorNames = namesOf(
  'mediaType',
  'digest',
  'size',
  'urls',
  'annotations',
  'data',
  'artifactType',
  'platform',
)

/** Throws MANIFEST_INVALID for a member that some readers take for one of these, and others for nothing. */
function requireExactNames(object: Members, names: ReadonlyMap<string, string>, field: string): void {
  for (const name of Object.keys(object)) {
    const expected = names.get(foldCase(name))
    if (expected !== undefined && expected !== name)
      throw invalid(`${field} has ${name}, which must be ${expected}`)
  }
}

function members(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

function boundedReaders(bounds: ManifestBounds) {
  function descriptors(value: unknown, field: string): Descriptor[] {
    if (!Array.isArray(value)) throw invalid(`${field} must be a list`)
    const max = bounds.manifestDescriptorsMax
    if (value.length > max)
      throw invalid(
        `${field} has ${value.length} entries, at most ${max} are allowed (manifestDescriptorsMax)`,
      )
    return value.map((entry, at) => descriptor(entry, `${field}[${at}]`))
  }

  function descriptor(value: unknown, field: string): Descriptor {
    const object = members(value) ?? fail(`${field} must be a descriptor`)
    requireExactNames(object, descriptorNames, field)
    const { mediaType, digest, size } = object
    if (mediaType === undefined || mediaType === '') throw invalid(`${field} has no mediaType`)
    if (typeof digest !== 'string') throw invalid(`${field} has no digest`)
    const wrong = checkDigest(digest)
    if (wrong !== undefined) throw invalid(`the digest of ${field} ${wrong.description}`)
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
      throw invalid(`the size of ${field} must be a number of bytes`)
    return { mediaType: typeText(mediaType, `${field}.mediaType`), digest, size }
  }

  /** A media type, whatever it is. */
  function typeText(value: unknown, field: string): string {
    if (typeof value !== 'string' || !/^\P{Cc}*$/u.test(value))
      throw invalid(`${field} must be text without control characters`)
    const max = bounds.mediaTypeCharsMax
    if (value.length > max)
      throw invalid(`${field} has ${value.length} characters, at most ${max} are allowed (mediaTypeCharsMax)`)
    return value
  }

  /** JSON of an object. */
  function annotations(value: unknown): string {
    if (value === undefined || value === null) return ''
    const map = members(value) ?? fail('annotations must be an object')
    const entries = Object.entries(map)
    const { manifestAnnotationsMax: max, manifestAnnotationsBytesMax: bytesMax } = bounds
    if (entries.length > max)
      throw invalid(
        `it has ${entries.length} annotations, at most ${max} are allowed (manifestAnnotationsMax)`,
      )
    let bytes = 0
    for (const [name, text] of entries) {
      if (typeof text !== 'string') throw invalid('annotations must be strings')
      bytes += Buffer.byteLength(name) + Buffer.byteLength(text)
    }
    if (bytes > bytesMax)
      throw invalid(
        `its annotations have ${bytes} bytes, at most ${bytesMax} are allowed (manifestAnnotationsBytesMax)`,
      )
    return JSON.stringify(map)
  }

  return { annotations, descriptor, descriptors, typeText }
}

function fail(why: string): never {
  throw invalid(why)
}

function invalid(why: string) {
  return ociError('MANIFEST_INVALID', `the manifest is not valid: ${why}`)
}
