import type { DeleteManifestResponse, Manifest, ManifestKind, ManifestLayer } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { yesOption } from '../../invocation/options.ts'
import type { View } from '../../output/output.ts'
import { formatSize } from '../../output/sizes.ts'
import { loadRepoPath } from './repos/policy.ts'
import { repoParameters, resolveRepo } from './repos/repos.ts'

/** Manifests of a repo, as the API describes them: without the registry protocol. */

const kinds = ['image', 'index', 'artifact'] as const
const kindName = (kind: ManifestKind) =>
  kind.replace('MANIFEST_KIND_', '').replace('UNSPECIFIED', '').toLowerCase()
const size = (bytes: string | undefined) => (bytes === undefined ? '' : formatSize(Number(bytes)))

const manifestView: View<Manifest> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'DIGEST', kind: 'uid', value: ({ digest }) => digest },
    { title: 'KIND', value: ({ kind }) => kindName(kind) },
    {
      title: 'TAGS',
      value: ({ tags, tagCount }) =>
        [...tags, ...(tagCount > tags.length ? [`${tagCount - tags.length} more`] : [])].join(', '),
    },
    { title: 'PLATFORMS', value: ({ platforms }) => platforms.join(', ') },
    {
      title: 'SIZE',
      value: ({ imageSize }) => size(imageSize),
      sortValue: ({ imageSize }) => Number(imageSize ?? 0),
    },
    { title: 'PUSHED', kind: 'time', value: ({ pushTime = '' }) => pushTime },
    { title: 'ARTIFACT', value: ({ artifactType }) => artifactType, wide: true },
    { title: 'TYPE', value: ({ mediaType }) => mediaType, wide: true },
    { title: 'SUBJECT', kind: 'uid', value: ({ subject }) => subject, wide: true },
  ],
  empty: 'the repo has no such manifests',
}

const layerView: View<ManifestLayer> = {
  columns: [
    { title: 'LAYER', kind: 'uid', value: ({ digest }) => digest },
    { title: 'SIZE', value: (layer) => size(layer.size) },
    { title: 'CREATED BY', kind: 'long', value: ({ createdBy, title }) => createdBy || title },
  ],
}

async function* listManifests(invocation: Invocation): AsyncGenerator<Manifest> {
  const client = await invocation.client()
  const kind = invocation.option('kind')
  const tagged = invocation.flag('tagged') ? true : invocation.flag('untagged') ? false : undefined
  yield* client.manifests.all({
    uid: await resolveRepo(invocation),
    platform: invocation.option('platform'),
    mediaType: invocation.option('mediaType'),
    artifactType: invocation.option('artifactType'),
    ...(kind !== '' && { kind: `MANIFEST_KIND_${kind.toUpperCase()}` as ManifestKind }),
    ...(tagged !== undefined && { tagged }),
  })
}

const digestParameter = { name: 'DIGEST', summary: 'digest of the manifest, sha256:…', required: true }
const manifestParameters = [...repoParameters.map((one) => ({ ...one, required: true })), digestParameter]

async function describeManifest(invocation: Invocation): Promise<void> {
  const { output } = invocation
  const uid = await resolveRepo(invocation)
  const manifest = await (await invocation.client()).manifests.get({ uid, digest: invocation.argument(1) })
  await output.item(manifest, manifestView)
  if (!output.isForPeople || manifest.content === undefined) return
  const { entries, layers } = manifest.content
  if (entries.length > 0) {
    output.line('')
    await output.list(entries, {
      columns: [
        { title: 'PLATFORM', kind: 'name', value: ({ platform }) => platform },
        { title: 'DIGEST', kind: 'uid', value: ({ digest }) => digest },
        { title: 'SIZE', value: ({ imageSize }) => size(imageSize) },
      ],
    })
  }
  if (layers.length === 0) return
  output.line('')
  await output.list(layers, layerView)
}

const formatDeleted = ({ tags, manifests }: DeleteManifestResponse) =>
  `${tags.length} tags and ${manifests.length} other manifests`

async function deleteManifest(invocation: Invocation): Promise<void> {
  const { output } = invocation
  const client = await invocation.client()
  const request = { uid: await resolveRepo(invocation), digest: invocation.argument(1) }
  const preview = await client.manifests.delete({ ...request, validateOnly: true })
  const path = await loadRepoPath(invocation, request.uid)
  const freed = `${size(preview.unreferencedBytes)} of blobs would be unreferenced in the repo`
  if (invocation.flag('dryRun')) {
    const rows = [
      ...preview.tags.map((tag) => ({ tag, digest: '', reason: '' })),
      ...preview.manifests.map(({ digest, reason }) => ({ tag: '', digest, reason })),
    ]
    await output.list(rows, {
      id: ({ tag, digest }) => tag || digest,
      columns: [
        { title: 'TAG', kind: 'name', value: ({ tag }) => tag },
        { title: 'DIGEST', kind: 'uid', value: ({ digest }) => digest },
        { title: 'REASON', value: ({ reason }) => reason },
      ],
      empty: 'nothing else would be deleted',
    })
    output.notice(`${formatDeleted(preview)} would be deleted with the manifest, ${freed}`)
    return
  }
  await invocation.prompt.confirm(
    `Delete ${request.digest} from ${path}, with ${formatDeleted(preview)}? ${freed}.`,
  )
  const deleted = await client.manifests.delete(request)
  output.notice(`deleted ${request.digest} from ${path}, with ${formatDeleted(deleted)}`)
}

export const manifestCommands: readonly CommandDeclaration[] = [
  listCommand({
    summary: 'List the manifests of a repo: images, indexes and artifacts, the latest push first',
    parameters: repoParameters,
    options: [
      { flags: '--kind <kind>', summary: 'kind of manifest', choices: kinds },
      { flags: '--platform <platform>', summary: 'platform, such as linux/amd64' },
      { flags: '--tagged', summary: 'only manifests with a tag', conflicts: ['untagged'] },
      { flags: '--untagged', summary: 'only manifests without a tag' },
      { flags: '--media-type <type>', summary: 'media type of the manifest' },
      { flags: '--artifact-type <type>', summary: 'type of the artifact' },
    ],
    examples: [
      'berth images manifests list my-org/app',
      'berth images manifests list my-org/app --kind image --platform linux/arm64 --untagged',
    ],
    view: () => manifestView,
    items: listManifests,
  }),
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'Show a manifest with its platforms, layers and configuration',
    parameters: manifestParameters,
    examples: [
      'berth images manifests describe my-org/app sha256:…',
      'berth images manifests describe my-org/app sha256:… --json',
    ],
    run: describeManifest,
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'Delete a manifest with its tags, referrers, and images that nothing else needs',
    parameters: manifestParameters,
    options: [{ flags: '--dry-run', summary: 'show what would be deleted with it' }, yesOption],
    examples: [
      'berth images manifests delete my-org/app sha256:… --dry-run',
      'berth images manifests delete my-org/app sha256:… --yes',
    ],
    run: deleteManifest,
  },
]
