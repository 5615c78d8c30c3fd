import type { TagDetails } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { everyTag, type TagFilter, tagNamesQuery, tagsQuery } from '../../api/queries/registry/tags.ts'
import { Actions } from '../../components/actions.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Digest, shortDigest } from '../../components/digest.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { Bytes, plural } from '../../components/quantity.tsx'
import { NotPermitted } from '../../components/reasons.tsx'
import { Time } from '../../components/time.tsx'
import { without } from '../../selections.ts'
import { TagFindings } from '../contents/findings-cells.tsx'
import { DeleteTagsDialog } from './delete-tags.tsx'
import type { RepoTabProps } from './repo.tsx'
import { TagBadges, targetText } from './tag-facts.tsx'

const CopyDialog = lazyPart(async () => (await import('../copies/copy-dialog.tsx')).CopyDialog)

/** Which tags are shown besides those that users name: those that tools name have dates, revisions or digests in their names. */
const shownChoices = [
  { id: 'versions', name: 'Without dates and revisions' },
  { id: 'all', name: 'All tags' },
] as const

function useTagFilter(): TagFilter {
  const [{ name = '', digest = '', shown, order = everyTag.orderBy }] = useAddressState()
  return {
    namePrefix: name,
    digest,
    includeDates: shown !== 'versions',
    includeEpochs: shown !== 'versions',
    includeReferrers: shown === 'all',
    orderBy: order,
  }
}

export function Tags({ repo, path }: RepoTabProps) {
  const { uid } = repo.value
  const access = useAccess()
  const [{ name, digest, shown }, change] = useAddressState()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isDeleting, setDeleting] = useState(false)
  const [isCopying, setCopying] = useState(false)
  const filter = useTagFilter()
  const isFiltered = name !== undefined || digest !== undefined || shown !== undefined
  return (
    <>
      {/* Always there: a row that moves away under the pointer could not be clicked. */}
      <Actions
        of="tab"
        actions={[
          {
            label: selected.size === 0 ? 'Copy all tags to…' : `Copy ${plural(selected.size, 'tag')} to…`,
            isQuiet: true,
            missing: access.missing(uid, 'manifest.list') ?? access.missing(uid, 'repo.blobs.get'),
            onPress: () => setCopying(true),
          },
          {
            label: selected.size === 0 ? 'Delete tags' : `Delete ${plural(selected.size, 'tag')}`,
            isQuiet: true,
            missing:
              access.missing(uid, 'tag.delete') ??
              (selected.size === 0 ? 'Select tags to delete' : undefined),
            onPress: () => setDeleting(true),
          },
        ]}
      />
      <FilterBar>
        <TextFilter label="Name starts with" name="name" placeholder="v1." />
        <TextFilter label="Digest" name="digest" placeholder="sha256:…" />
        <SelectFilter label="Show" name="shown" anyLabel="All but signatures" choices={shownChoices} />
      </FilterBar>
      <FilterChips
        set={[
          ...(name === undefined ? [] : [['name', `Name: ${name}`] as const]),
          ...(digest === undefined ? [] : [['digest', `Digest: ${shortDigest(digest)}`] as const]),
        ]}
      />
      <PageList
        label="Tags"
        query={tagsQuery(uid, filter)}
        missing={access.missing(uid, 'tag.list')}
        keyOf={({ tag }) => tag?.uid ?? ''}
        columns={columnsOf(uid, access.missing(uid, 'manifest.list'))}
        order={{ value: filter.orderBy, onChange: (order) => change({ order }) }}
        selection={{ keys: selected, onChange: setSelected }}
        empty={
          isFiltered ? (
            <p>
              No tag matches these filters.{' '}
              <Button className="link" onPress={() => change({ name: '', digest: '', shown: '' })}>
                Show all tags
              </Button>
            </p>
          ) : (
            <p>There are no tags yet. Push an image with the commands above.</p>
          )
        }
      />
      <Equivalent command={commandOf(path, filter)} />
      {isCopying && (
        <CopyTagsDialog
          repo={uid}
          path={path}
          which={selected.size === 0 ? filter : [...selected]}
          isWhole={selected.size === 0 && !isFiltered}
          onClose={() => setCopying(false)}
        />
      )}
      {isDeleting && (
        <DeleteTagsDialog
          repo={uid}
          path={path}
          uids={[...selected]}
          onClose={() => setDeleting(false)}
          onDeleted={() => setSelected((now) => without(now, selected))}
        />
      )}
    </>
  )
}

interface CopyTagsDialogProps {
  readonly repo: string
  readonly path: string
  readonly which: readonly string[] | TagFilter
  readonly isWhole: boolean
  readonly onClose: () => void
}

function CopyTagsDialog({ repo, which, ...props }: CopyTagsDialogProps) {
  const { data, error } = useQuery(tagNamesQuery(repo, which))
  const items = data?.map((name) => ({ reference: name, tag: name }))
  return <CopyDialog {...props} repo={repo} items={items} failure={error} />
}

function commandOf(path: string, filter: TagFilter): string {
  const { namePrefix, digest, includeDates, includeReferrers } = filter
  return [
    `berth images tags list ${quoted(path)}`,
    ...(includeReferrers ? ['--all'] : includeDates ? ['--show-dates --show-epochs'] : []),
    ...(namePrefix === '' ? [] : [`--name-prefix ${quoted(namePrefix)}`]),
    ...(digest === '' ? [] : [`--filter ${quoted(`digest=${digest}`)}`]),
  ].join(' ')
}

function columnsOf(repo: string, missing: string | undefined): readonly PlainColumn<TagDetails>[] {
  return [
    {
      id: 'name',
      title: 'Tag',
      sortKey: 'name',
      cell: (details) => (
        <span className="named">
          <Link to="/tags/$" params={{ _splat: details.tag?.uid ?? '' }} className="tag-name">
            <bdi>{details.tag?.name}</bdi>
          </Link>
          <TagBadges details={details} />
        </span>
      ),
    },
    {
      id: 'target',
      title: 'Content',
      cell: (details) => (
        <>
          {missing !== undefined && details.target === 'TAG_TARGET_UNSPECIFIED' ? (
            <NotPermitted what="Content" missing={missing} />
          ) : (
            targetText(details)
          )}
          {details.platforms.length > 0 && <span className="second">{details.platforms.join(', ')}</span>}
        </>
      ),
    },
    {
      id: 'size',
      title: 'Size',
      cell: ({ sizeBytes, target }) => <Size target={target} bytes={sizeBytes} />,
    },
    {
      id: 'digest',
      title: 'Digest',
      cell: ({ tag }) => <Digest repo={repo} digest={tag?.digest ?? ''} object={`the tag ${tag?.name}`} />,
    },
    {
      id: 'vulnerabilities',
      title: 'Vulnerabilities',
      cell: ({ tag }) => <TagFindings repo={repo} tag={tag?.name ?? ''} digest={tag?.digest ?? ''} />,
    },
    {
      id: 'updated',
      title: 'Last push',
      sortKey: 'updated_at',
      cell: ({ tag }) => <Time value={tag?.updateTime} isRelative />,
    },
  ]
}

function Size({ target, bytes }: { readonly target: TagDetails['target']; readonly bytes: string }) {
  return <Bytes value={target === 'TAG_TARGET_UNSPECIFIED' || bytes === '0' ? undefined : bytes} />
}
