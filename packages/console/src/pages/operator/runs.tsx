import type { RecordedJobRun } from '@berth/client'
import { useAddressState } from '../../address-state.ts'
import { jobRunsQuery, type NamedRun } from '../../api/queries/runs.ts'
import { Equivalent } from '../../components/copy.tsx'
import { FilterBar, SelectFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { PickerFilter } from '../../components/picker-filter.tsx'
import { OrganizationPicker } from '../../components/pickers.tsx'
import { formatBytes, formatNumber } from '../../components/quantity.tsx'
import { NoRuns, RunFilters, runColumns, runOptions, useRunFilter } from '../../components/runs.tsx'

/** Runs of feeds, retention, garbage collection and scrub of the installation. */

const kinds: Readonly<Record<string, string>> = {
  'advisory-feed': 'Feed',
  retention: 'Retention',
  collection: 'Garbage collection',
  scrub: 'Scrub',
}

export function Runs() {
  const [{ kind = '', organization = '' }] = useAddressState()
  const filter = useRunFilter()
  return (
    <>
      <FilterBar>
        <SelectFilter
          label="Kind"
          name="kind"
          choices={Object.entries(kinds).map(([id, name]) => ({ id, name }))}
        />
        <PickerFilter name="organization">
          {(value, onChange) => <OrganizationPicker label="Organization" value={value} onChange={onChange} />}
        </PickerFilter>
        <RunFilters others={['cancelled']} />
      </FilterBar>
      <PageList
        label="Runs"
        query={jobRunsQuery(kind, organization, filter)}
        keyOf={({ id }) => id}
        columns={[
          { id: 'kind', title: 'Run', cell: (run) => <Subject run={run} /> },
          ...runColumns<NamedRun<RecordedJobRun>>(resultText),
        ]}
        empty={
          <NoRuns
            filter={filter}
            text={
              kind === '' && organization === '' ? 'Nothing is recorded yet.' : 'No run matches the filters.'
            }
          />
        }
      />
      <p className="muted">Scheduled runs of feeds and of retention that change nothing are not recorded.</p>
      <Equivalent
        command={
          [
            'berth admin runs',
            ...(kind === '' ? [] : [`--kind ${kind}`]),
            ...(organization === '' ? [] : [`--organization ${organization}`]),
          ].join(' ') + runOptions(filter)
        }
      />
    </>
  )
}

function Subject({ run }: { readonly run: RecordedJobRun }) {
  const { kind, dryRun, resourceUid, resourceName, organizationName } = run
  return (
    <>
      {kinds[kind] ?? kind}
      {dryRun && ' (dry run)'}
      {resourceUid !== '' && (
        <span className="second" title={resourceUid}>
          <bdi>{organizationName}</bdi> / <bdi>{resourceName || resourceUid}</bdi>
        </span>
      )}
    </>
  )
}

function resultText({ counts, state }: RecordedJobRun): string {
  if (counts.length === 0) return state === 'succeeded' ? 'nothing' : ''
  return counts
    .map(
      ({ name, count, bytes }) =>
        `${formatNumber(count)} ${name}${bytes === '0' ? '' : ` (${formatBytes(bytes)})`}`,
    )
    .join(', ')
}
