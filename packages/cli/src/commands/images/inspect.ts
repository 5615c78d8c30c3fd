import { isIndex, isManifest } from '@berth/contract/image-media-types.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { BlobReader } from '../../oci-client/blob-reader.ts'
import { asObject, type Descriptor, type Manifest } from '../../oci-client/descriptors.ts'
import type { ImageStore } from '../../oci-client/image-store.ts'
import { formatPlatform, selectPlatform } from '../../oci-client/platforms.ts'
import { ReadBudget } from '../../oci-client/read-budget.ts'
import type { View } from '../../output/output.ts'
import { formatSize } from '../../output/sizes.ts'
import { sanitizeLines } from '../../output/text-width.ts'
import {
  type ImageLocation,
  type ImageResolver,
  imageOptions,
  imageParameter,
  platformOption,
  readPlatform,
  referenceOrLatest,
  withImageResolver,
} from './image-location.ts'

/** Inspects images in registries and directories without downloading their layers. */

/** The image of one platform. */
interface PlatformImage {
  readonly platform: string
  readonly digest: string
  /** Compressed bytes of the layers and the configuration. */
  readonly size: number
  readonly created: string
  readonly layers: readonly { readonly mediaType: string; readonly digest: string; readonly size: number }[]
  readonly config: Readonly<Record<string, unknown>>
}

interface Description {
  readonly name: string
  readonly digest: string
  readonly mediaType: string
  readonly artifactType: string
  readonly annotations: Readonly<Record<string, string>>
  /** Bytes of all blobs; shared blobs count once. */
  readonly size: number
  readonly images: readonly PlatformImage[]
}

const platformImageView: View<PlatformImage> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'PLATFORM', kind: 'name', value: ({ platform }) => platform },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'SIZE', value: ({ size }) => formatSize(size) },
    { title: 'LAYERS', value: ({ layers }) => String(layers.length) },
    { title: 'CREATED', kind: 'time', value: ({ created }) => created },
  ],
}

const descriptionView: View<Description> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'NAME', value: ({ name }) => name },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'TYPE', value: ({ mediaType }) => mediaType },
    { title: 'ARTIFACT', value: ({ artifactType }) => artifactType },
    { title: 'SIZE', value: ({ size }) => formatSize(size) },
    { title: 'ANNOTATIONS', value: ({ annotations }) => formatAnnotations(annotations) },
  ],
}

function formatAnnotations(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([name, text]) => `${name}=${text}`)
    .join(', ')
}

/** The main fields of an image configuration. */
const configView: View<PlatformImage> = {
  columns: (['User', 'Entrypoint', 'Cmd', 'WorkingDir', 'Env', 'ExposedPorts', 'Labels'] as const).map(
    (name) => ({
      title: name.toUpperCase(),
      value: ({ config }) => formatValue(asObject(config['config'])?.[name]),
    }),
  ),
}

function formatValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Larger configurations are ignored. */
const CONFIG_BYTES_MAX = 4 * 1024 * 1024

async function readImageConfig({ config }: Manifest, store: ImageStore, signal: AbortSignal) {
  if (config === undefined || !config.mediaType.includes('json') || config.size > CONFIG_BYTES_MAX) return {}
  const parts: Buffer[] = []
  for await (const bytes of new BlobReader(store, config, { signal }).readFrom(0)) parts.push(bytes)
  try {
    return asObject(JSON.parse(Buffer.concat(parts).toString('utf8'))) ?? {}
  } catch {
    return {}
  }
}

async function readPlatformImage(
  manifest: Manifest,
  known: Descriptor | undefined,
  store: ImageStore,
  signal: AbortSignal,
): Promise<PlatformImage> {
  const config = await readImageConfig(manifest, store, signal)
  const { os, architecture, variant, created } = config
  const inside =
    typeof os === 'string' && typeof architecture === 'string'
      ? formatPlatform({ os, architecture, ...(typeof variant === 'string' && { variant }) })
      : ''
  return {
    platform: known?.platform === undefined ? inside : formatPlatform(known.platform),
    digest: manifest.digest,
    size: distinctSize([...(manifest.config === undefined ? [] : [manifest.config]), ...manifest.layers]),
    created: typeof created === 'string' ? created : '',
    layers: manifest.layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    config,
  }
}

/** Sums the sizes of distinct blobs. */
function distinctSize(blobs: readonly Descriptor[]): number {
  return [...new Map(blobs.map(({ digest, size }) => [digest, size])).values()].reduce(
    (sum, size) => sum + size,
    0,
  )
}

/** Walks the manifests of all images of an index, with their descriptors. */
async function* walkImages(
  manifest: Manifest,
  store: ImageStore,
  budget: ReadBudget,
  known?: Descriptor,
  seen = new Set<string>(),
  depth = 0,
): AsyncGenerator<{ readonly manifest: Manifest; readonly known: Descriptor | undefined }> {
  budget.checkDepth(depth)
  seen.add(manifest.digest)
  budget.consume(manifest.manifests.length, manifest.bytes.length)
  if (!isIndex(manifest)) yield { manifest, known }
  for (const child of manifest.manifests)
    if (isManifest(child) && !seen.has(child.digest))
      yield* walkImages(await store.getManifest(child.digest), store, budget, child, seen, depth + 1)
}

export async function fetchManifest(invocation: Invocation, location: ImageLocation): Promise<Manifest> {
  const manifest = await location.store.getManifest(referenceOrLatest(location))
  const platform = readPlatform(invocation)
  if (platform === undefined || !isIndex(manifest)) return manifest
  const found = selectPlatform(manifest.manifests, platform)
  if (found === undefined)
    throw new UsageError(
      `${location.name} has no image for ${formatPlatform(platform)}; list its platforms with berth images describe`,
    )
  return location.store.getManifest(found.digest)
}

async function describeImage(
  invocation: Invocation,
  { resolve, signal }: ImageResolver,
): Promise<Description> {
  const location = resolve(invocation.argument(0))
  const root = await fetchManifest(invocation, location)
  const { digest, mediaType, artifactType, annotations } = root
  const images: PlatformImage[] = []
  const blobs: Descriptor[] = []
  const budget = new ReadBudget(location.store.name)
  for await (const { manifest, known } of walkImages(root, location.store, budget)) {
    budget.consume(0, Math.min(manifest.config?.size ?? 0, CONFIG_BYTES_MAX))
    images.push(await readPlatformImage(manifest, known, location.store, signal))
    blobs.push(...(manifest.config === undefined ? [] : [manifest.config]), ...manifest.layers)
  }
  const reference = referenceOrLatest(location)
  const name = `${location.name}${reference === '' ? '' : reference === digest ? `@${digest}` : `:${reference}`}`
  return { name, digest, mediaType, artifactType, annotations, size: distinctSize(blobs), images }
}

export const inspectCommands: readonly CommandDeclaration[] = [
  {
    name: 'describe',
    aliases: ['inspect'],
    summary: 'Show the platforms, sizes, layers and configuration of an image',
    parameters: [imageParameter],
    options: [platformOption, ...imageOptions],
    examples: [
      'berth images describe my-org/app:1.0',
      'berth images describe docker.io/nginx --platform linux/arm64 --json',
    ],
    run: (invocation) =>
      withImageResolver(invocation, async (resolver) => {
        const all = await describeImage(invocation, resolver)
        const { output } = invocation
        await output.item(all, descriptionView)
        if (!invocation.output.isForPeople) return
        output.line('')
        await output.list(all.images, platformImageView)
        const [only, ...more] = all.images
        if (only === undefined || more.length > 0) return
        await output.item(only, configView)
        output.line('')
        await output.list(only.layers, {
          columns: [
            { title: 'LAYER', value: ({ digest }) => digest },
            { title: 'SIZE', value: ({ size }) => formatSize(size) },
            { title: 'TYPE', value: ({ mediaType }) => mediaType },
          ],
        })
      }),
  },
  {
    name: 'manifest',
    summary: 'Print the manifest of an image',
    parameters: [imageParameter],
    options: [platformOption, ...imageOptions],
    examples: [
      'berth images manifest my-org/app:1.0',
      'berth images manifest my-org/app:1.0 --platform linux/amd64 --json',
    ],
    run: (invocation) =>
      withImageResolver(invocation, async ({ resolve }) => {
        const { bytes } = await fetchManifest(invocation, resolve(invocation.argument(0)))
        if (invocation.output.isForPeople)
          process.stdout.write(process.stdout.isTTY ? sanitizeLines(bytes.toString('utf8')) : bytes)
        else await invocation.output.item(JSON.parse(bytes.toString('utf8')), { columns: [] })
      }),
  },
  {
    name: 'digest',
    summary: 'Print the digest of an image',
    parameters: [imageParameter],
    options: [platformOption, ...imageOptions],
    examples: ['berth images digest my-org/app:1.0', 'berth images digest my-org/app --platform linux/arm64'],
    run: (invocation) =>
      withImageResolver(invocation, async ({ resolve }) => {
        const { digest, mediaType } = await fetchManifest(invocation, resolve(invocation.argument(0)))
        if (invocation.output.isForPeople) invocation.output.line(digest)
        else
          await invocation.output.item(
            { digest, mediaType },
            { id: ({ digest }) => digest, columns: [{ title: 'DIGEST', value: ({ digest }) => digest }] },
          )
      }),
  },
  {
    name: 'size',
    summary: 'Show the compressed size of an image, by platform and in total',
    parameters: [imageParameter],
    options: [platformOption, ...imageOptions],
    examples: ['berth images size my-org/app:1.0'],
    run: (invocation) =>
      withImageResolver(invocation, async (resolver) => {
        const { images, size } = await describeImage(invocation, resolver)
        const rows = images.map(({ platform, digest, size, layers }) => ({
          platform,
          digest,
          size,
          layers: layers.length,
        }))
        const distinct = new Set(images.flatMap(({ layers }) => layers.map(({ digest }) => digest))).size
        // Shared layers count once.
        const total = { platform: 'all', digest: '', size, layers: distinct }
        await invocation.output.list(images.length > 1 ? [...rows, total] : rows, {
          id: ({ size }) => String(size),
          columns: [
            { title: 'PLATFORM', kind: 'name', value: ({ platform }) => platform },
            { title: 'SIZE', value: ({ size }) => formatSize(size) },
            { title: 'BYTES', value: ({ size }) => String(size) },
            { title: 'LAYERS', value: ({ layers }) => String(layers) },
            { title: 'DIGEST', wide: true, value: ({ digest }) => digest },
          ],
        })
      }),
  },
]
