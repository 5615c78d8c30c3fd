import { isIndex, isManifest } from '../../core/image-types.ts'
import { BlobReader } from '../../oci-client/blob-reader.ts'
import { type Descriptor, type Manifest, membersOf } from '../../oci-client/descriptors.ts'
import type { ImageStore } from '../../oci-client/image-store.ts'
import { forPlatform, platformText } from '../../oci-client/platforms.ts'
import { ReadBudget } from '../../oci-client/read-budget.ts'
import type { CommandDeclaration } from '../client/command.ts'
import { type Invocation, UsageError } from '../client/invocation.ts'
import type { View } from '../client/output.ts'
import { sizeText } from '../client/sizes.ts'
import { printableLines } from '../client/text-width.ts'
import {
  askedPlatform,
  imageParameter,
  type Place,
  type Places,
  placeOptions,
  platformOption,
  referenceOf,
  withPlaces,
} from './places.ts'

/** Looks at images without fetching their layers: at the platform's registry, at others, and in directories. */

/** One image of those that stand behind a name. */
interface Variant {
  readonly platform: string
  readonly digest: string
  /** Of its layers and its configuration, as they are kept. */
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
  /** Of all that it needs; what several images share counts once. */
  readonly size: number
  readonly images: readonly Variant[]
}

const variantView: View<Variant> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'PLATFORM', kind: 'name', value: ({ platform }) => platform },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'SIZE', value: ({ size }) => sizeText(size) },
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
    { title: 'SIZE', value: ({ size }) => sizeText(size) },
    { title: 'ANNOTATIONS', value: ({ annotations }) => pairs(annotations) },
  ],
}

function pairs(texts: Readonly<Record<string, string>>): string {
  return Object.entries(texts)
    .map(([name, text]) => `${name}=${text}`)
    .join(', ')
}

/** The lines of a configuration that people ask for. */
const configView: View<Variant> = {
  columns: (['User', 'Entrypoint', 'Cmd', 'WorkingDir', 'Env', 'ExposedPorts', 'Labels'] as const).map(
    (name) => ({
      title: name.toUpperCase(),
      value: ({ config }) => shown(membersOf(config['config'])?.[name]),
    }),
  ),
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Configurations larger than this are nobody's. */
const CONFIG_BYTES_MAX = 4 * 1024 * 1024

async function configOf({ config }: Manifest, store: ImageStore, signal: AbortSignal) {
  if (config === undefined || !config.mediaType.includes('json') || config.size > CONFIG_BYTES_MAX) return {}
  const parts: Buffer[] = []
  for await (const bytes of new BlobReader(store, config, { signal }).from(0)) parts.push(bytes)
  try {
    return membersOf(JSON.parse(Buffer.concat(parts).toString('utf8'))) ?? {}
  } catch {
    return {}
  }
}

async function variantOf(
  manifest: Manifest,
  known: Descriptor | undefined,
  store: ImageStore,
  signal: AbortSignal,
): Promise<Variant> {
  const config = await configOf(manifest, store, signal)
  const { os, architecture, variant, created } = config
  const inside =
    typeof os === 'string' && typeof architecture === 'string'
      ? platformText({ os, architecture, ...(typeof variant === 'string' && { variant }) })
      : ''
  return {
    platform: known?.platform === undefined ? inside : platformText(known.platform),
    digest: manifest.digest,
    size: sumOf([...(manifest.config === undefined ? [] : [manifest.config]), ...manifest.layers]),
    created: typeof created === 'string' ? created : '',
    layers: manifest.layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    config,
  }
}

/** What is there several times counts once. */
function sumOf(blobs: readonly Descriptor[]): number {
  return [...new Map(blobs.map(({ digest, size }) => [digest, size])).values()].reduce(
    (sum, size) => sum + size,
    0,
  )
}

/** The manifests of all images of a manifest, with what its indexes say of them. */
async function* imagesIn(
  manifest: Manifest,
  store: ImageStore,
  budget: ReadBudget,
  known?: Descriptor,
  seen = new Set<string>(),
  depth = 0,
): AsyncGenerator<{ readonly manifest: Manifest; readonly known: Descriptor | undefined }> {
  budget.reach(depth)
  seen.add(manifest.digest)
  budget.take(manifest.manifests.length, manifest.bytes.length)
  if (!isIndex(manifest)) yield { manifest, known }
  for (const child of manifest.manifests)
    if (isManifest(child) && !seen.has(child.digest))
      yield* imagesIn(await store.manifest(child.digest), store, budget, child, seen, depth + 1)
}

export async function named(invocation: Invocation, place: Place): Promise<Manifest> {
  const manifest = await place.store.manifest(referenceOf(place))
  const platform = askedPlatform(invocation)
  if (platform === undefined || !isIndex(manifest)) return manifest
  const found = forPlatform(manifest.manifests, platform)
  if (found === undefined)
    throw new UsageError(`${place.name} has nothing for ${platformText(platform)}: see berth images describe`)
  return place.store.manifest(found.digest)
}

async function description(invocation: Invocation, { at, signal }: Places): Promise<Description> {
  const place = at(invocation.word(0))
  const root = await named(invocation, place)
  const { digest, mediaType, artifactType, annotations } = root
  const images: Variant[] = []
  const blobs: Descriptor[] = []
  const budget = new ReadBudget(place.store.name)
  for await (const { manifest, known } of imagesIn(root, place.store, budget)) {
    budget.take(0, Math.min(manifest.config?.size ?? 0, CONFIG_BYTES_MAX))
    images.push(await variantOf(manifest, known, place.store, signal))
    blobs.push(...(manifest.config === undefined ? [] : [manifest.config]), ...manifest.layers)
  }
  const reference = referenceOf(place)
  const name = `${place.name}${reference === '' ? '' : reference === digest ? `@${digest}` : `:${reference}`}`
  return { name, digest, mediaType, artifactType, annotations, size: sumOf(blobs), images }
}

const isForPeople = ({ output }: Invocation) => ['table', 'wide', 'tree'].includes(output.format)

export const inspectCommands: readonly CommandDeclaration[] = [
  {
    name: 'describe',
    aliases: ['inspect'],
    summary: 'show an image: its platforms, sizes, layers and configuration',
    parameters: [imageParameter],
    options: [platformOption, ...placeOptions],
    examples: [
      'berth images describe my-org/app:1.0',
      'berth images describe docker.io/nginx --platform linux/arm64 --json',
    ],
    run: (invocation) =>
      withPlaces(invocation, async (places) => {
        const all = await description(invocation, places)
        const { output } = invocation
        output.item(all, descriptionView)
        if (!isForPeople(invocation)) return
        output.text('')
        await output.list(all.images, variantView)
        const [only, ...more] = all.images
        if (only === undefined || more.length > 0) return
        output.item(only, configView)
        output.text('')
        await output.list(only.layers, {
          columns: [
            { title: 'LAYER', value: ({ digest }) => digest },
            { title: 'SIZE', value: ({ size }) => sizeText(size) },
            { title: 'TYPE', value: ({ mediaType }) => mediaType },
          ],
        })
      }),
  },
  {
    name: 'manifest',
    summary: 'print the manifest of an image, byte for byte',
    parameters: [imageParameter],
    options: [platformOption, ...placeOptions],
    examples: [
      'berth images manifest my-org/app:1.0',
      'berth images manifest my-org/app:1.0 --platform linux/amd64 --json',
    ],
    run: (invocation) =>
      withPlaces(invocation, async ({ at }) => {
        const { bytes } = await named(invocation, at(invocation.word(0)))
        if (isForPeople(invocation))
          process.stdout.write(process.stdout.isTTY ? printableLines(bytes.toString('utf8')) : bytes)
        else invocation.output.item(JSON.parse(bytes.toString('utf8')), { columns: [] })
      }),
  },
  {
    name: 'digest',
    summary: 'print the digest that an image has now',
    parameters: [imageParameter],
    options: [platformOption, ...placeOptions],
    examples: ['berth images digest my-org/app:1.0', 'berth images digest my-org/app --platform linux/arm64'],
    run: (invocation) =>
      withPlaces(invocation, async ({ at }) => {
        const { digest, mediaType } = await named(invocation, at(invocation.word(0)))
        if (isForPeople(invocation)) invocation.output.text(digest)
        else
          invocation.output.item(
            { digest, mediaType },
            { id: ({ digest }) => digest, columns: [{ title: 'DIGEST', value: ({ digest }) => digest }] },
          )
      }),
  },
  {
    name: 'size',
    summary: 'how large an image is, as it is kept and pulled: for each platform, and all together',
    parameters: [imageParameter],
    options: [platformOption, ...placeOptions],
    examples: ['berth images size my-org/app:1.0'],
    run: (invocation) =>
      withPlaces(invocation, async (places) => {
        const { images, size } = await description(invocation, places)
        const rows = images.map(({ platform, digest, size, layers }) => ({
          platform,
          digest,
          size,
          layers: layers.length,
        }))
        const distinct = new Set(images.flatMap(({ layers }) => layers.map(({ digest }) => digest))).size
        // What several platforms share counts once.
        const total = { platform: 'all', digest: '', size, layers: distinct }
        await invocation.output.list(images.length > 1 ? [...rows, total] : rows, {
          id: ({ size }) => String(size),
          columns: [
            { title: 'PLATFORM', kind: 'name', value: ({ platform }) => platform },
            { title: 'SIZE', value: ({ size }) => sizeText(size) },
            { title: 'BYTES', value: ({ size }) => String(size) },
            { title: 'LAYERS', value: ({ layers }) => String(layers) },
            { title: 'DIGEST', wide: true, value: ({ digest }) => digest },
          ],
        })
      }),
  },
]
