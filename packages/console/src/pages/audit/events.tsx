import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useMemo, useState } from 'react'
import { Button } from 'react-aria-components'
import type { AddressState } from '../../address-query.ts'
import { useAddressState } from '../../address-state.ts'
import { eventsQuery, type NamedEvent, resourceByPathQuery } from '../../api/queries/audit.ts'
import { messageText, queryClient } from '../../api/query-client.ts'
import { Equivalent } from '../../components/copy.tsx'
import { SelectField, SwitchField } from '../../components/field.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter, TimeFilter } from '../../components/filter-bar.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { isUid } from '../../uid.ts'
import '../../styles/pages/audit.css'
import { ActorFilter } from './actor-filter.tsx'
import { CUSTOM, DEFAULT_RANGE, eventFilter, eventsCommand, startOf, timeRanges } from './audit-filters.ts'
import { methodName } from './audit-words.ts'
import { EventDialog } from './event-dialog.tsx'
import { EventText, ResultBadge, shortUid } from './event-text.tsx'
import { ExportDialog } from './export-dialog.tsx'

/** Events of the audit log, with filters. The page of all events and the tab of a folder are the same list. */

interface EventsProps {
  /** uid of the folder; '' for everything that the user may read. */
  readonly within: string
  /** Path of the folder, for the command. */
  readonly path: string
  /** Why the user cannot read the events. */
  readonly missing: string | undefined
}

const FOLLOW_MS = 3000

const keyOf = (within: string, resource: string, filters: AddressState, isFollowing: boolean) =>
  JSON.stringify([within, resource, filters, isFollowing])

/** Loads the first events. Those of a resource wait for its uid. */
export function preloadEvents(within: string, state: AddressState): readonly Promise<void>[] {
  const { event: _, tab: __, ...filters } = state
  if (filters['resource'] !== undefined) return []
  const key = keyOf(within, '', filters, false)
  const filter = eventFilter(filters, { within, resource: '', nowMs: startOf(key) })
  return [queryClient.prefetchInfiniteQuery(eventsQuery([key], filter, false))]
}

export function Events({ within, path, missing }: EventsProps) {
  const [state, change] = useAddressState()
  const { event, tab: _, ...filters } = state
  const [isFollowing, setFollowing] = useState(false)
  const [isExporting, setExporting] = useState(false)
  const wanted = state['resource'] ?? ''
  const lookup = useQuery(resourceByPathQuery(wanted))
  const { data: resource = '' } = lookup
  // Without its uid, the list, the export and the command would be of all events.
  const isKnown = wanted === '' || resource !== ''
  const key = keyOf(within, resource, filters, isFollowing)
  // Pages of one list have one start.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key has all of them
  const filter = useMemo(() => eventFilter(filters, { within, resource, nowMs: startOf(key) }), [key])
  return (
    <>
      <EventFilters />
      <FilterChips set={chipsOf(filters)} />
      <div className="event-actions">
        <SwitchField isSelected={isFollowing} onChange={setFollowing}>
          Follow live
        </SwitchField>
        <p className="muted" role="status">
          {isFollowing ? `Reads new events every ${FOLLOW_MS / 1000} seconds. ` : ''}
          Times are in {Intl.DateTimeFormat().resolvedOptions().timeZone}.
        </p>
        <Button
          className="button quiet"
          isDisabled={missing !== undefined || !isKnown}
          onPress={() => setExporting(true)}
        >
          <Download aria-hidden size={16} /> Export
        </Button>
      </div>
      {isKnown ? (
        <PageList
          key={key}
          label="Events"
          query={eventsQuery([key], filter, isFollowing ? FOLLOW_MS : false)}
          missing={missing}
          keyOf={({ event: { uid } }) => uid}
          columns={[
            { id: 'event', title: 'Event', cell: (named) => <EventCell named={named} /> },
            { id: 'result', title: 'Result', cell: (named) => <ResultBadge event={named.event} /> },
            { id: 'time', title: 'Time', cell: (named) => <Time value={named.event.createTime} /> },
            {
              id: 'details',
              title: 'Details',
              cell: ({ event: { uid, method, createTime } }) => (
                <RowAction
                  label="Details"
                  object={`of ${methodName({ method })} at ${createTime ?? ''}`}
                  onPress={() => change({ event: uid })}
                />
              ),
            },
          ]}
          empty={<p>No events match the filters. Choose a longer time, or remove a filter.</p>}
        />
      ) : lookup.data === undefined ? (
        <NotLoaded what="the resource" query={lookup} />
      ) : (
        <div className="empty">
          <p>No resource that you can see has this path. Use the uid for one that is deleted.</p>
        </div>
      )}
      {isKnown && <Equivalent command={eventsCommand(filters, resource || path)} />}
      {event !== undefined && <EventDialog uid={event} onClose={() => change({ event: '' })} />}
      {isExporting && <ExportDialog filter={filter} onClose={() => setExporting(false)} />}
    </>
  )
}

function EventCell({ named }: { readonly named: NamedEvent }) {
  const { reason, count, method } = named.event
  return (
    <>
      <EventText named={named} />
      {count > 1 && <span className="muted"> ({count} times)</span>}
      <span className="second event-reason">
        {reason === '' ? methodName({ method }) : messageText(reason)}
      </span>
    </>
  )
}

function EventFilters() {
  const [{ range = DEFAULT_RANGE }] = useAddressState()
  return (
    <FilterBar>
      <ActorFilter />
      <TextFilter label="Resource" name="resource" placeholder="acme/team or a uid" />
      <TextFilter label="Method" name="method" placeholder="CreateGroup" />
      <SelectFilter
        label="Result"
        name="result"
        choices={[
          { id: 'done', name: 'Done' },
          { id: 'denied', name: 'Denied' },
        ]}
      />
      <RangeFilter />
      {range === CUSTOM && (
        <>
          <TimeFilter label="From" name="since" />
          <TimeFilter label="Until" name="until" />
        </>
      )}
    </FilterBar>
  )
}

function RangeFilter() {
  const [{ range = DEFAULT_RANGE }, change] = useAddressState()
  return (
    <div className="filter">
      <SelectField
        label="Time"
        choices={[...timeRanges.map(({ id, name }) => ({ id, name })), { id: CUSTOM, name: 'Custom' }]}
        value={range}
        onChange={(id) =>
          change({
            range: id === DEFAULT_RANGE ? '' : id,
            ...(id === CUSTOM ? {} : { since: '', until: '' }),
          })
        }
      />
    </div>
  )
}

/** The filters that are set and that no field shows as a whole. */
function chipsOf({ method = '', resource = '', result = '', actor = '' }: Partial<Record<string, string>>) {
  const chips: (readonly [string, string])[] = []
  if (actor !== '') chips.push(['actor', 'by one identity'])
  if (resource !== '') chips.push(['resource', `in ${isUid(resource) ? shortUid(resource) : resource}`])
  if (method !== '') chips.push(['method', method])
  if (result !== '') chips.push(['result', result])
  return chips
}
