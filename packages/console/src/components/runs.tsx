import { useAddressState } from '../address-state.ts'
import type { RunFilter } from '../api/queries/runs.ts'
import { session } from '../api/session.ts'
import { Badge, type Tone } from './badge.tsx'
import { DayFilter, FilterBar, SelectFilter } from './filter-bar.tsx'
import type { PlainColumn } from './plain-table.tsx'
import { Time } from './time.tsx'

/** Runs of background work, as lists show them. */

interface Run {
  /** `failed` or `STATE_FAILED`. */
  readonly state: string
  readonly actor: string
  readonly actorName: string
  readonly startTime?: string
  readonly endTime?: string
  readonly error: string
}

const tones: Readonly<Record<string, Tone>> = { succeeded: 'good', failed: 'bad', interrupted: 'warn' }

const stateOf = ({ state }: Run) => state.replace('STATE_', '').toLowerCase()

function actorText({ actor, actorName }: Run): string {
  if (actor === 'system') return 'schedule'
  return actor === session.identity ? 'you' : actorName || `${actor.slice(0, 8)}…`
}

const SECOND_MS = 1000
const MINUTE_S = 60
const HOUR_S = 3600

/** For example `350 ms`, `12 s`, `3 min 5 s` or `2 h 10 min`. */
function durationText({ startTime, endTime }: Run): string {
  if (startTime === undefined || endTime === undefined) return ''
  const ms = Date.parse(endTime) - Date.parse(startTime)
  if (ms < SECOND_MS) return `${ms} ms`
  const seconds = Math.round(ms / SECOND_MS)
  if (seconds < MINUTE_S) return `${seconds} s`
  if (seconds < HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min ${seconds % MINUTE_S} s`
  return `${Math.floor(seconds / HOUR_S)} h ${Math.floor((seconds % HOUR_S) / MINUTE_S)} min`
}

/** The columns of all runs. `result`: what a run did. */
export function runColumns<R extends Run>(result: (run: R) => string): readonly PlainColumn<R>[] {
  return [
    { id: 'started', title: 'Started', cell: ({ startTime }) => <Time value={startTime} /> },
    {
      id: 'state',
      title: 'State',
      cell: (run) => <Badge tone={tones[stateOf(run)] ?? 'plain'}>{stateOf(run)}</Badge>,
    },
    { id: 'duration', title: 'Duration', cell: durationText },
    {
      id: 'actor',
      title: 'Started by',
      cell: (run) => <bdi title={run.actor}>{actorText(run)}</bdi>,
    },
    {
      id: 'result',
      title: 'Result',
      cell: (run) => (
        <>
          {result(run)}
          {run.error !== '' && (
            <span className="second">
              <bdi>{run.error}</bdi>
            </span>
          )}
        </>
      ),
    },
  ]
}

const runStates = ['running', 'succeeded', 'failed', 'interrupted']

/** `others`: states beyond those of every run. */
export function RunFilters({ others = [] }: { readonly others?: readonly string[] }) {
  return (
    <>
      <SelectFilter
        label="State"
        name="runState"
        choices={[...runStates, ...others].map((id) => ({ id, name: id }))}
      />
      <DayFilter label="Since" name="runSince" />
    </>
  )
}

export function RunFilterBar() {
  return (
    <FilterBar>
      <RunFilters />
    </FilterBar>
  )
}

/** The filter in the address. */
export function useRunFilter(): RunFilter {
  const [{ runState: state = '', runSince: since = '' }] = useAddressState()
  return { state, since }
}

export function NoRuns({ filter, text }: { readonly filter: RunFilter; readonly text: string }) {
  return <p>{filter.state === '' && filter.since === '' ? text : 'No run matches the filters.'}</p>
}

/** Options of `berth` for a filter. */
export function runOptions({ state, since }: RunFilter): string {
  return `${state === '' ? '' : ` --state ${state}`}${since === '' ? '' : ` --since ${since}`}`
}
