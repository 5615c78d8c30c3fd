import type { Manifest, ManifestKind } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { manifestsQuery } from '../../api/queries/registry/manifests.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Digest } from '../../components/digest.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { Bytes } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'
import { manifestName } from '../manifests/manifest-types.ts'
import { TagList } from '../manifests/tag-list.tsx'
import type { RepoTabProps } from './repo.tsx'
import '../../styles/pages/images.css'

const kinds = [
  { id: 'image', name: 'Images' },
  { id: 'index', name: 'Indexes' },
  { id: 'artifact', name: 'Artifacts' },
]

const tagChoices = [
  { id: 'yes', name: 'With a tag' },
  { id: 'no', name: 'Without a tag' },
]

/** The manifests of a repository: images, indexes and artifacts. */
export function Images({ repo, path }: RepoTabProps) {
  const { uid } = repo.value
  const access = useAccess()
  const [{ kind = '', tagged = '', platform = '', order = 'push_time desc' }, change] = useAddressState()
  const nameOf = (choices: typeof kinds, id: string) => choices.find((one) => one.id === id)?.name ?? ''
  const set: readonly (readonly [string, string])[] = [
    ['kind', nameOf(kinds, kind)],
    ['tagged', nameOf(tagChoices, tagged)],
    ['platform', platform],
  ]
  const active = set.filter(([, text]) => text !== '')
  return (
    <>
      <FilterBar>
        <SelectFilter label="Kind" name="kind" choices={kinds} />
        <SelectFilter label="Tags" name="tagged" choices={tagChoices} />
        <TextFilter label="Platform" name="platform" placeholder="linux/amd64" />
      </FilterBar>
      <FilterChips set={active} />
      <PageList
        label="Images"
        query={manifestsQuery(uid, {
          kind:
            nameOf(kinds, kind) === '' ? undefined : (`MANIFEST_KIND_${kind.toUpperCase()}` as ManifestKind),
          tagged: tagged === 'yes' ? true : tagged === 'no' ? false : undefined,
          platform,
          orderBy: order,
        })}
        missing={access.missing(uid, 'repo.list') ?? access.missing(uid, 'manifest.list')}
        keyOf={({ digest }) => digest}
        order={{
          value: order,
          onChange: (value) => change({ order: value === 'push_time desc' ? '' : value }),
        }}
        columns={columnsOf(uid)}
        empty={
          active.length === 0 ? (
            <p>There are no images yet. Push one with the commands above.</p>
          ) : (
            <p>No image matches the filters so far.</p>
          )
        }
      />
      <p className="note">
        <Link to="/compare/$" params={{ _splat: uid }}>
          Compare two images
        </Link>
      </p>
      <Equivalent command={commandOf(path, { kind, tagged, platform })} />
    </>
  )
}

function commandOf(
  path: string,
  { kind, tagged, platform }: { readonly kind: string; readonly tagged: string; readonly platform: string },
): string {
  const options = [
    kind === '' ? '' : ` --kind ${quoted(kind)}`,
    tagged === 'yes' ? ' --tagged' : tagged === 'no' ? ' --untagged' : '',
    platform === '' ? '' : ` --platform ${quoted(platform)}`,
  ]
  return `berth images manifests list ${quoted(path)}${options.join('')}`
}

const columnsOf = (repo: string): readonly PlainColumn<Manifest>[] => [
  {
    id: 'digest',
    title: 'Digest',
    sortKey: 'digest',
    cell: ({ digest, tags }) => <Digest repo={repo} digest={digest} object={tags[0] ?? 'the image'} />,
  },
  { id: 'kind', title: 'Kind', cell: manifestName },
  {
    id: 'tags',
    title: 'Tags',
    cell: ({ tags, tagCount }) => <TagList tags={tags} tagCount={tagCount} max={TAGS_SHOWN} />,
  },
  { id: 'platforms', title: 'Platforms', cell: ({ platforms }) => platforms.join(', ') },
  {
    id: 'size',
    title: 'Size',
    cell: ({ imageSize }) =>
      imageSize === undefined ? <span className="muted">by platform</span> : <Bytes value={imageSize} />,
  },
  {
    id: 'pushed',
    title: 'Pushed',
    sortKey: 'push_time',
    cell: ({ pushTime }) => <Time value={pushTime} isRelative />,
  },
]

const TAGS_SHOWN = 5
