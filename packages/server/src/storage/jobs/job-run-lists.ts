import { timestampMs } from '@berth/contract/timestamp-text.ts'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { invalidArgument } from '../../api/errors.ts'
import { checkUid, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import type { Call } from '../../pipeline/call.ts'
import { type ColumnCondition, type ListRequest, listPage, type Page } from '../list/list.ts'
import type { JobRunRow } from '../schema/tables.ts'
import type { Store } from '../store.ts'
import type { JobKind } from './job-leases.ts'
import { type JobRunCounts, type JobRunState, jobRunStates, SCHEDULE } from './job-runs.ts'

/** Lists of runs in the API. */

export interface JobRunsRequest extends ListRequest {
  /** Values of the enum of states, which all messages of runs number alike. Empty for all. */
  readonly states: readonly number[]
  /** uid of an identity, or `system`; '' for all. */
  readonly actor: string
  readonly since?: Timestamp | undefined
  readonly until?: Timestamp | undefined
}

const sortFields = { start_time: 'started_ms', startTime: 'started_ms', uid: 'uid' }

/** Lists the runs of a kind that the caller may see, the latest first. `resource`: the filter by resource, and its field. */
export function listJobRuns(
  store: Pick<Store, 'db' | 'pageTokens'>,
  call: Call,
  { name: kind }: JobKind,
  request: JobRunsRequest,
  resource: { readonly field: string; readonly uid: string },
): Promise<Page<JobRunRow>> {
  const { actor, since, until } = request
  requireValid(checkUid(resource.field, resource.uid), checkUid('actor', actor, SCHEDULE))
  const states = request.states.map((state, at) => {
    const name = jobRunStates[state - 1]
    if (name === undefined) throw invalidArgument(`states[${at}]`, 'must be specified')
    return name
  })
  const conditions: ColumnCondition[] = []
  if (states.length > 0) conditions.push({ column: 'state', values: [...new Set(states)] })
  if (since !== undefined)
    conditions.push({ column: 'started_ms', comparison: '>=', value: timestampMs(since) })
  if (until !== undefined)
    conditions.push({ column: 'started_ms', comparison: '<', value: timestampMs(until) })
  return listPage(store, call, request, {
    table: 'job_runs',
    sortFields,
    defaultOrder: 'start_time desc',
    equals: { kind, parent: resource.uid, actor },
    conditions,
  })
}

/** Returns what a run counted, by name. */
export function readRunCounts({ counts }: Pick<JobRunRow, 'counts'>): JobRunCounts {
  return JSON.parse(counts) as JobRunCounts
}

/** Returns the fields that all messages of runs have. */
export function runFields(row: JobRunRow) {
  const endedMs = Number(row.ended_ms)
  return {
    uid: row.uid,
    state: jobRunStates.indexOf(row.state as JobRunState) + 1,
    actor: row.actor,
    startTime: timestampOf(Number(row.started_ms)),
    ...(endedMs > 0 && { endTime: timestampOf(endedMs) }),
    error: row.error,
  }
}
