import { api } from '../client.ts'
import { PAGE_SIZE, paged } from './pages.ts'
import { readNames } from './resources.ts'

/** Runs of feeds, of retention, and of the installation. */

export interface RunFilter {
  /** `running`, `succeeded`, `failed` or `interrupted`; '' for all. */
  readonly state: string
  /** First day, as an ISO date; '' for all. */
  readonly since: string
}

const POLL_MS = 5000

const timeOf = ({ since }: RunFilter) => (since === '' ? {} : { since: `${since}T00:00:00Z` })
const states = ({ state }: RunFilter) =>
  state === '' ? [] : [`STATE_${state.toUpperCase()}` as 'STATE_FAILED']

/** A run with the name of who requested it: '' for the schedule, and for an identity that the user cannot see. */
export type NamedRun<R> = R & { readonly actorName: string }

async function withActorNames<R extends { readonly actor: string }>(
  runs: readonly R[],
): Promise<NamedRun<R>[]> {
  const names = await readNames(runs.map(({ actor }) => actor))
  return runs.map((run) => ({ ...run, actorName: names.get(run.actor)?.name ?? '' }))
}

export const feedRunsQuery = (feedUid: string, filter: RunFilter) => ({
  ...paged(['advisory-feed-runs', feedUid, filter], async (pageToken, signal) => {
    const { advisoryFeedRuns: items, ...rest } = await api.advisoryFeeds.listAdvisoryFeedRuns(
      { feedUid, states: states(filter), ...timeOf(filter), pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items: await withActorNames(items), ...rest }
  }),
  refetchInterval: POLL_MS,
})

export const retentionRunsQuery = (repoUid: string, filter: RunFilter) => ({
  ...paged(['retention-runs', repoUid, filter], async (pageToken, signal) => {
    const { retentionRuns: items, ...rest } = await api.repoPolicies.listRetentionRuns(
      { repoUid, states: states(filter), ...timeOf(filter), pageSize: PAGE_SIZE, pageToken },
      { signal },
    )
    return { items: await withActorNames(items), ...rest }
  }),
  refetchInterval: POLL_MS,
})

/** `organization`: uid; '' for all. */
export const jobRunsQuery = (kind: string, organization: string, filter: RunFilter) => ({
  ...paged(['operator', 'job-runs', kind, organization, filter], async (pageToken, signal) => {
    const { jobRuns: items, ...rest } = await api.operatorJobs.listJobRuns(
      {
        kind,
        resourceUid: organization,
        state: filter.state,
        ...timeOf(filter),
        pageSize: PAGE_SIZE,
        pageToken,
      },
      { signal },
    )
    return { items: await withActorNames(items), ...rest }
  }),
  refetchInterval: POLL_MS,
})
