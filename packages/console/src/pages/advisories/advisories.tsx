import { currentState, lastFixedVersion } from '@berth/advisory-formats/history/advisory-states.ts'
import type { Advisory } from '@berth/client'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { Button } from 'react-aria-components'
import type { AddressState } from '../../address-query.ts'
import { useAddressState } from '../../address-state.ts'
import { advisoriesQuery, groupPathsQuery } from '../../api/queries/advisories.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { queryClient } from '../../api/query-client.ts'
import { Equivalent } from '../../components/copy.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import {
  chipsOf,
  commandOf,
  DEFAULT_ORDER,
  firstFilters,
  moreFilters,
  requestOf,
  selectFilters,
} from './filters.ts'
import { FolderFilter } from './folder-filter.tsx'
import { SeverityBadge } from './severity.tsx'
import { StateBadge } from './states.tsx'
import '../../styles/pages/advisories.css'

export const preload = (_uid: string, state: AddressState): readonly Promise<void>[] => [
  queryClient.prefetchInfiniteQuery(advisoriesQuery(requestOf(state))),
]

/** Searches the advisories of all folders that the user can see, or of one folder and all folders in it. */
export function AdvisoriesPage() {
  const [state, change] = useAddressState()
  const query = useMemo(() => advisoriesQuery(requestOf(state)), [state])
  const paths = useGroupPaths(query, state['group'])
  const chips = chipsOf(state, paths.get(state['group'] ?? '') ?? state['group'] ?? '')
  const isMoreSet = chips.some(([name]) => moreFilters.some((filter) => filter.name === name))
  const isMore = state['more'] === '1' || isMoreSet
  return (
    <>
      <div className="page-head">
        <Title text="Advisories" />
      </div>
      <FilterBar>
        {firstFilters.map((filter) => (
          <TextFilter key={filter.name} {...filter} />
        ))}
        {selectFilters.slice(0, isMore ? undefined : 1).map((filter) => (
          <SelectFilter key={filter.name} {...filter} />
        ))}
        <FolderFilter />
        {isMore && moreFilters.map((filter) => <TextFilter key={filter.name} {...filter} />)}
        {!isMoreSet && (
          <Button
            className="button quiet"
            aria-expanded={isMore}
            onPress={() => change({ more: isMore ? '' : '1' })}
          >
            {isMore ? 'Fewer filters' : 'More filters'}
          </Button>
        )}
      </FilterBar>
      <FilterChips set={chips} />
      <PageList
        label="Advisories"
        query={query}
        keyOf={({ uid }) => uid}
        order={{ value: state['order'] || DEFAULT_ORDER, onChange: (order) => change({ order }) }}
        columns={columnsOf(paths)}
        empty={
          chips.length === 0 ? (
            <p>
              There are no advisories that you can see. Open a folder, and import documents or add a feed
              under Advisories.
            </p>
          ) : (
            <p>No advisory matches all filters. Remove one of them.</p>
          )
        }
      />
      <Equivalent command={commandOf(state)} />
    </>
  )
}

/** The paths of the folders of the advisories that are shown, and of the folder that is chosen. */
function useGroupPaths(
  query: ReturnType<typeof advisoriesQuery>,
  group: string | undefined,
): ReadonlyMap<string, string> {
  const { data } = useInfiniteQuery(query)
  const shown = data?.pages.flatMap(({ items }) => items.map(({ uid }) => parentOf(uid))) ?? []
  const uids = [...new Set([...(group ? [group] : []), ...shown])].sort().slice(0, GROUPS_MAX)
  return useQuery({ ...groupPathsQuery(uids), placeholderData: (before) => before }).data ?? new Map()
}

const GROUPS_MAX = 200

const columnsOf = (paths: ReadonlyMap<string, string>): readonly PlainColumn<Advisory>[] => [
  {
    id: 'advisory',
    title: 'Advisory',
    sortKey: 'advisory_id',
    cell: ({ uid, advisoryId, aliases }) => (
      <>
        <Link to="/advisories/$" params={{ _splat: uid }} className="advisory-id">
          {advisoryId}
        </Link>
        <Aliases aliases={aliases} />
      </>
    ),
  },
  {
    id: 'package',
    title: 'Package',
    sortKey: 'artifact_name',
    cell: ({ artifactName, componentName }) => (
      <>
        <bdi className="package-name">{artifactName}</bdi>
        {componentName !== '' && componentName !== artifactName && (
          <bdi className="second">{componentName}</bdi>
        )}
      </>
    ),
  },
  {
    id: 'severity',
    title: 'Severity',
    cell: ({ severities }) => <SeverityBadge severities={severities} />,
  },
  { id: 'state', title: 'State', cell: (advisory) => <StateBadge state={currentState(advisory)} /> },
  { id: 'fixed', title: 'Fixed in', cell: (advisory) => <bdi>{lastFixedVersion(advisory)}</bdi> },
  {
    id: 'folder',
    title: 'Folder',
    cell: ({ uid }) => (
      <Link
        to="/folders/$"
        params={{ _splat: parentOf(uid) }}
        search={{ tab: 'advisories' }}
        className="folder-name"
        title={paths.get(parentOf(uid))}
      >
        {paths.get(parentOf(uid))?.split('/').at(-1) ?? 'Folder'}
      </Link>
    ),
  },
  {
    id: 'updated',
    title: 'Updated',
    sortKey: 'updated_at',
    cell: ({ updateTime }) => <Time value={updateTime} isRelative />,
  },
]

const ALIASES_SHOWN = 2

/** CVE ids first. */
function Aliases({ aliases }: { readonly aliases: readonly string[] }) {
  const sorted = [...aliases].sort((a, b) => Number(b.startsWith('CVE-')) - Number(a.startsWith('CVE-')))
  const hidden = sorted.slice(ALIASES_SHOWN)
  return (
    <span className="second">
      <bdi>{sorted.slice(0, ALIASES_SHOWN).join(', ')}</bdi>
      {hidden.length > 0 && <span title={hidden.join(', ')}>{` and ${hidden.length} more`}</span>}
    </span>
  )
}
