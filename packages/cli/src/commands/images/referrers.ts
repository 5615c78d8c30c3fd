import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '../../invocation/list-command.ts'
import type { Descriptor } from '../../oci-client/descriptors.ts'
import type { ImageStore } from '../../oci-client/image-store.ts'
import { DEPTH_MAX, ReadBudget } from '../../oci-client/read-budget.ts'
import { listTaggedReferrers } from '../../oci-client/referrers.ts'
import type { View } from '../../output/output.ts'
import { formatSize } from '../../output/sizes.ts'
import {
  type ImageLocation,
  imageOptions,
  imageParameter,
  platformOption,
  referenceOrLatest,
  withImageResolver,
} from './image-location.ts'
import { fetchManifest } from './inspect.ts'

/** Referrers of an image: signatures, SBOMs, attestations, and their own referrers. */

interface Referrer {
  /** Path of digests from the image. */
  readonly uid: string
  readonly digest: string
  readonly artifactType: string
  readonly size: number
  readonly annotations: Readonly<Record<string, string>>
  /** The tag, for referrers stored under a tag, as signatures were before OCI 1.1. */
  readonly tag: string
}

const view: View<Referrer> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'TYPE', kind: 'name', value: ({ artifactType }) => artifactType },
    { title: 'SIZE', value: ({ size }) => formatSize(size), sortValue: ({ size }) => size },
    { title: 'TAG', value: ({ tag }) => tag },
    { title: 'ANNOTATIONS', wide: true, value: ({ annotations }) => JSON.stringify(annotations) },
  ],
  tree: {
    uid: ({ uid }) => uid,
    label: ({ digest, artifactType, tag }) =>
      [artifactType, tag, digest].filter((text) => text !== '').join(' '),
  },
  empty: 'no referrers',
}

interface Walk {
  readonly store: ImageStore
  /** Each referrer is shown once. */
  readonly seen: Set<string>
  readonly budget: ReadBudget
}

async function* walkReferrers(walk: Walk, uid: string, subject: string): AsyncGenerator<Referrer> {
  if (uid.split('/').length > DEPTH_MAX) return
  for (const one of await walk.store.listReferrers(subject)) yield* walkReferrer(walk, uid, one, '')
  for await (const { tag, manifest } of listTaggedReferrers(walk.store, subject)) {
    const { digest, artifactType, annotations, bytes, mediaType } = manifest
    yield* walkReferrer(walk, uid, { mediaType, digest, size: bytes.length, artifactType, annotations }, tag)
  }
}

async function* walkReferrer(
  walk: Walk,
  uid: string,
  { digest, size, artifactType = '', annotations = {} }: Descriptor,
  tag: string,
): AsyncGenerator<Referrer> {
  const own = `${uid}/${digest}`
  if (walk.seen.has(digest)) return
  walk.seen.add(digest)
  walk.budget.consume(1, JSON.stringify(annotations).length)
  yield { uid: own, digest, artifactType, size, annotations, tag }
  yield* walkReferrers(walk, own, digest)
}

const referrersList: ListDeclaration<Referrer> = {
  name: 'referrers',
  aliases: ['tree'],
  summary: 'List signatures, SBOMs and other referrers of an image',
  parameters: [imageParameter],
  options: [platformOption, { flags: '--artifact-type <type>', summary: 'artifact type' }, ...imageOptions],
  examples: ['berth images referrers my-org/app:1.0', 'berth images referrers my-org/app:1.0 -o tree'],
  view: () => view,
  items: () => [],
}

export const referrersCommand: CommandDeclaration = {
  ...listCommand(referrersList),
  run: (invocation) =>
    withImageResolver(invocation, ({ resolve }) => {
      const location = resolve(invocation.argument(0))
      return printList(invocation, { ...referrersList, items: () => listReferrers(invocation, location) })
    }),
}

async function listReferrers(invocation: Invocation, location: ImageLocation): Promise<Referrer[]> {
  const { digest } = await fetchManifest(invocation, location)
  const type = invocation.option('artifactType')
  const rows: Referrer[] = []
  const { store } = location
  const walk: Walk = { store, seen: new Set([digest]), budget: new ReadBudget(store.name) }
  for await (const one of walkReferrers(walk, digest, digest))
    if (type === '' || one.artifactType === type) rows.push(one)
  if (invocation.output.format !== 'tree' || rows.length === 0) return rows
  const tag = referenceOrLatest(location)
  return [{ uid: digest, digest, artifactType: '', size: 0, annotations: {}, tag }, ...rows]
}
