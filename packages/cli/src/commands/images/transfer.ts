import { statSync } from 'node:fs'
import { toArray } from '../../invocation/async-iterables.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { type CopyCounts, ImageCopy, readImage } from '../../oci-client/copy.ts'
import { isDigest } from '../../oci-client/descriptors.ts'
import type { View } from '../../output/output.ts'
import { formatSize } from '../../output/sizes.ts'
import {
  type ImageLocation,
  type ImageResolver,
  imageOptions,
  platformOption,
  readPlatform,
  referenceOrLatest,
  withImageResolver,
} from './image-location.ts'
import { createServerCopy } from './server-copy.ts'
import { createTagAttributes } from './tags/tag-attributes.ts'
import { createTransferProgress } from './transfer-progress.ts'

/** Copies images between registries, and between a registry and a directory. */

const JOBS_DEFAULT = 4
const JOBS_MAX = 32

interface CopyResult extends CopyCounts {
  readonly source: string
  readonly destination: string
  readonly digest: string
  /** Tags at the destination. */
  readonly tags: readonly string[]
  readonly seconds: number
}

const resultView: View<CopyResult> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'SOURCE', value: ({ source }) => source },
    { title: 'DESTINATION', value: ({ destination }) => destination },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'TAGS', value: ({ tags }) => tags.join(', ') },
    {
      title: 'BLOBS',
      value: ({ blobs, blobsMounted, blobsThere }) =>
        `${blobs} copied, ${blobsMounted} mounted, ${blobsThere} already present`,
    },
    {
      title: 'MANIFESTS',
      value: ({ manifests, manifestsThere }) => `${manifests} copied, ${manifestsThere} already present`,
    },
    { title: 'REFERRERS', value: ({ referrers }) => (referrers === 0 ? '' : String(referrers)) },
    {
      title: 'COPIED',
      value: ({ bytes, seconds }) => `${formatSize(bytes)} in ${seconds.toFixed(1)} s`,
    },
  ],
}

const copyOptions: readonly OptionDeclaration[] = [
  platformOption,
  { flags: '--referrers', summary: 'also copy signatures, SBOMs and other referrers' },
  { flags: '--keep-tags', summary: 'fail if a tag of the destination points to another image' },
  {
    flags: '--jobs <count>',
    summary: `number of layers to copy in parallel (1-${JOBS_MAX})`,
    default: String(JOBS_DEFAULT),
  },
  ...imageOptions,
]

const allTagsOption: OptionDeclaration = {
  flags: '--all-tags',
  summary: 'copy all tags of a repo or directory',
}

interface Copying {
  /** Copies one image and returns its digest. `tag`: its tag at the destination; undefined for none. */
  (reference: string, tag: string | undefined): Promise<string>
  readonly counts: CopyCounts
}

function createCopy(
  invocation: Invocation,
  { signal }: ImageResolver,
  from: ImageLocation,
  to: ImageLocation,
): Copying {
  const jobs = Number(invocation.option('jobs'))
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > JOBS_MAX)
    throw new UsageError(`--jobs must be a number from 1 to ${JOBS_MAX}`)
  const platform = readPlatform(invocation)
  const [referrers, keepTags] = [invocation.flag('referrers'), invocation.flag('keepTags')]
  const byClient = new ImageCopy({
    from: from.store,
    to: to.store,
    signal,
    jobs,
    ...(platform !== undefined && { platform }),
    referrers,
    keepTags,
    progress: createTransferProgress(invocation.output),
  })
  const byServer = createServerCopy(invocation, [from, to], { referrers, keepTags, signal })
  const attributes = createTagAttributes(invocation, [from, to])
  const { counts } = byClient
  const copy = async (reference: string, tag: string | undefined) => {
    // The server copies what a digest or tag is; the client knows how to find a platform.
    const wanted =
      platform === undefined || from.platformRepo === undefined || to.platformRepo === undefined
        ? reference
        : (await readImage(from.store, reference, platform)).digest
    const copied = await byServer.copy(wanted, tag, counts)
    if (copied !== undefined) return copied
    // The tag of one platform is another image.
    if (platform !== undefined) return byClient.copy(reference, tag)
    return attributes.copyWith(reference, tag, () => byClient.copy(reference, tag))
  }
  return Object.assign(copy, { counts })
}

async function copyImages(invocation: Invocation, source: string, destination: string): Promise<void> {
  await withImageResolver(invocation, async (resolver) => {
    const [from, to] = [resolver.resolve(source), resolver.resolve(destination)]
    const startedMs = performance.now()
    const copy = createCopy(invocation, resolver, from, to)
    const tags: string[] = []
    const { output } = invocation
    let digest = ''
    if (invocation.flag('allTags')) {
      if (from.reference !== '' || to.reference !== '')
        throw new UsageError('--all-tags requires a source and a destination without a tag')
      try {
        const all = await toArray(from.store.listTags())
        for (const tag of all) {
          output.progress(`${tags.length} of ${all.length} tags`)
          digest = await copy(tag, tag)
          tags.push(tag)
        }
      } catch (error) {
        output.progress('')
        if (tags.length > 0) output.notice(`copied before the failure: tags ${tags.join(', ')}`)
        throw error
      }
      if (tags.length === 0) throw new UsageError(`${from.name} has no tags`)
    } else {
      const reference = referenceOrLatest(from)
      // A source given by digest gets no default tag.
      const tag = to.reference || (isDigest(reference) ? '' : reference || (to.isLayout ? '' : 'latest'))
      if (isDigest(tag))
        throw new UsageError('the destination must not have a digest: it gets the digest of the source')
      digest = await copy(reference, tag === '' ? undefined : tag)
      if (tag !== '') tags.push(tag)
    }
    output.progress('')
    const seconds = (performance.now() - startedMs) / 1000
    const result = { source: from.name, destination: to.name, digest, tags, seconds, ...copy.counts }
    await output.item(result, resultView)
  })
}

const directoryParameter = {
  name: 'DIR',
  summary: 'directory of an OCI layout, optionally with a tag: DIR:1.0',
  required: true,
} as const
const imageParameter = {
  name: 'IMAGE',
  summary: 'image, such as my-org/app:1.0 or registry.example.com/app:1.0',
  required: true,
} as const

export const transferCommands: readonly CommandDeclaration[] = [
  {
    name: 'copy',
    aliases: ['cp'],
    summary: 'Copy an image between registries or directories',
    parameters: [
      { name: 'FROM', summary: 'source image, such as ghcr.io/acme/app:1.0 or oci:DIR:1.0', required: true },
      {
        name: 'TO',
        summary: 'destination, such as my-org/app:1.0; default tag: tag of the source',
        required: true,
      },
    ],
    options: [allTagsOption, ...copyOptions],
    examples: [
      'berth images copy docker.io/library/nginx:1.29 my-org/nginx:1.29',
      'berth images copy my-org/app:1.0 my-org/mirror/app --platform linux/arm64',
      'berth images copy my-org/app registry.example.com/team/app --all-tags --referrers',
      'berth images copy oci:./build:1.0 my-org/app:1.0',
    ],
    run: (invocation) => copyImages(invocation, invocation.argument(0), invocation.argument(1)),
  },
  {
    name: 'push',
    summary: 'Copy an image from a directory (OCI layout) to a registry',
    parameters: [directoryParameter, imageParameter],
    options: [allTagsOption, ...copyOptions],
    examples: ['berth images push ./build my-org/app:1.0', 'berth images push ./build my-org/app --all-tags'],
    async run(invocation) {
      const word = toLayoutName(invocation.argument(0))
      await copyImages(invocation, word, invocation.argument(1))
    },
  },
  {
    name: 'pull',
    summary: 'Copy an image from a registry to a directory (OCI layout)',
    parameters: [imageParameter, directoryParameter],
    options: [allTagsOption, ...copyOptions],
    examples: [
      'berth images pull my-org/app:1.0 ./app',
      'berth images pull my-org/app:1.0 ./app --platform linux/amd64 --referrers',
    ],
    run: (invocation) => copyImages(invocation, invocation.argument(0), toLayoutName(invocation.argument(1))),
  },
]

/** Accepts a directory with or without the prefix `oci:`. */
function toLayoutName(word: string): string {
  const bare = word.startsWith('oci:') ? word.slice('oci:'.length) : word
  const isFile = statSync(bare, { throwIfNoEntry: false })?.isFile() ?? false
  if (isFile) throw new UsageError(`${bare} is a file, not the directory of an OCI layout`)
  return `oci:${bare}`
}
