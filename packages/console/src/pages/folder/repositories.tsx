import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { type ListedRepo, repoSummariesQuery } from '../../api/queries/registry/manifests.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted, sortOf } from '../../components/copy.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { Bytes, formatNumber } from '../../components/quantity.tsx'
import { NotPermitted } from '../../components/reasons.tsx'
import { Time } from '../../components/time.tsx'
import { RepoFindings } from '../contents/findings-cells.tsx'
import { CreateRepoDialog } from '../repo/repo-dialogs.tsx'
import type { FolderTabProps } from './folder.tsx'

/** The repositories of a folder, with what is in them. */
export function Repositories({ uid, name }: FolderTabProps) {
  const [isCreating, setCreating] = useState(false)
  const [{ name: start = '', where, order = 'name' }, change] = useAddressState()
  const isBelow = where === BELOW
  const path = usePath(uid, name)
  const access = useAccess()
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create a repository"
          missing={access.missing(uid, 'repo.create')}
          onPress={() => setCreating(true)}
        />
      </div>
      <FilterBar>
        <TextFilter label="Name" name="name" placeholder="Start of the name" />
        <SelectFilter
          label="In"
          name="where"
          anyLabel="This folder"
          choices={[{ id: BELOW, name: 'This folder and all below' }]}
        />
      </FilterBar>
      <FilterChips
        set={[
          ...(start === '' ? [] : [['name', `Name starts with ${start}`] as const]),
          ...(isBelow ? [['where', 'All folders below'] as const] : []),
        ]}
      />
      <PageList
        label="Repositories"
        query={repoSummariesQuery(uid, { namePrefix: start, isBelow, orderBy: order })}
        missing={access.missing(uid, 'repo.list')}
        keyOf={({ repo }) => repo.uid}
        order={{ value: order, onChange: (value) => change({ order: value === 'name' ? '' : value }) }}
        columns={columnsOf(uid)}
        empty={
          start === '' ? (
            <p>There are no repositories yet. Create one, and push an image to it.</p>
          ) : (
            <p>
              The name of no repository {isBelow ? 'in these folders' : 'in this folder'} starts with this.
            </p>
          )
        }
      />
      <Equivalent
        command={[
          `berth images repos summary --parent ${quoted(path)}`,
          ...(isBelow ? [] : ['--no-recursive']),
          ...(start === '' ? [] : [`--name-prefix ${quoted(start)}`]),
          ...(order === 'name' ? [] : [`--sort ${quoted(sortOf(order, sortNames))}`]),
        ].join(' ')}
      />
      {isCreating && <CreateRepoDialog parent={uid} onClose={() => setCreating(false)} />}
    </>
  )
}

/** The value of the filter for the folders below. */
const BELOW = 'below'

/** The names that the command has for sort keys of the API. */
const sortNames: Readonly<Record<string, string>> = {
  stored_bytes: 'size',
  last_push_time: 'pushed',
  created_at: 'created',
}

interface TotalProps {
  /** uid. */
  readonly repo: string
  /** The title of the column. */
  readonly what: string
  readonly capability: 'tag.list' | 'manifest.list'
}

/** In the place of a total that the server leaves out. */
function NoTotal({ repo, what, capability }: TotalProps) {
  const missing = useAccess().missing(repo, capability)
  return missing === undefined ? null : <NotPermitted what={what} missing={missing} />
}

const columnsOf = (folder: string): readonly PlainColumn<ListedRepo>[] => [
  {
    id: 'name',
    title: 'Name',
    sortKey: 'name',
    cell: ({ repo: { uid, description }, path }) => (
      <>
        <Link to="/repos/$" params={{ _splat: uid }}>
          {path}
        </Link>
        {description !== '' && <span className="second">{description}</span>}
      </>
    ),
  },
  {
    id: 'size',
    title: 'Size',
    sortKey: 'stored_bytes',
    cell: ({ repo: { uid, storedBytes } }) =>
      storedBytes === undefined ? (
        <NoTotal repo={uid} what="Size" capability="manifest.list" />
      ) : (
        <Bytes value={storedBytes} />
      ),
  },
  {
    id: 'tags',
    title: 'Tags',
    cell: ({ repo: { uid, tagCount } }) =>
      tagCount === undefined ? (
        <NoTotal repo={uid} what="Tags" capability="tag.list" />
      ) : (
        formatNumber(tagCount)
      ),
  },
  {
    id: 'vulnerabilities',
    title: 'Vulnerabilities',
    cell: ({ repo: { uid } }) => <RepoFindings folder={folder} repo={uid} />,
  },
  {
    id: 'pushed',
    title: 'Last push',
    sortKey: 'last_push_time',
    cell: ({ repo: { uid, lastPushTime, manifestCount } }) =>
      manifestCount === undefined ? (
        <NoTotal repo={uid} what="Last push" capability="manifest.list" />
      ) : (
        <Time value={lastPushTime} isRelative />
      ),
  },
  {
    id: 'visibility',
    title: 'Visibility',
    cell: ({ repo, publicFrom }) =>
      repo.public ? (
        <Badge
          tone="warn"
          title={`Anyone can pull: a role in ${publicFrom || 'a folder above'} is granted to anonymous users`}
        >
          public
        </Badge>
      ) : (
        'private'
      ),
  },
  {
    id: 'policy',
    title: 'Policy',
    cell: ({ repo: { immutableTags, retentionEnabled } }) => (
      <>
        {immutableTags && <Badge>immutable tags</Badge>}
        {retentionEnabled && <Badge>retention</Badge>}
        {!immutableTags && !retentionEnabled && <span className="muted">none</span>}
      </>
    ),
  },
  {
    id: 'created',
    title: 'Created',
    sortKey: 'created_at',
    cell: ({ repo: { createTime } }) => <Time value={createTime} isRelative />,
  },
]
