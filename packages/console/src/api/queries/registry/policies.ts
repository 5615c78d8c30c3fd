import type { ImmutableTagsInput, RepoPolicy, RetentionInput, RetentionVerdict } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { PAGE_SIZE, type Page, paged, type Versioned } from '../pages.ts'

/** Policies of repositories, what they would delete, and who can pull. */

const RUNNING_POLL_MS = 1500
const IDLE_POLL_MS = 30_000

export const isRunning = ({ lastRun, nextRunTime }: RepoPolicy): boolean => {
  const hasStarted = lastRun !== undefined && lastRun.endTime === undefined
  // A run that is due starts within seconds.
  return hasStarted || (nextRunTime !== undefined && Date.parse(nextRunTime) <= Date.now())
}

export const policyQuery = (repo: string) =>
  queryOptions({
    queryKey: ['policy', repo],
    queryFn: async ({ signal }): Promise<Versioned<RepoPolicy>> => {
      const { value, etag } = await api.repoPolicies.getRepoPolicy(repo, { signal }).withResponse()
      return { value, etag }
    },
    refetchInterval: ({ state: { data, status } }) => {
      if (status === 'error') return false
      return data !== undefined && isRunning(data.value) ? RUNNING_POLL_MS : IDLE_POLL_MS
    },
  })

/** What a preview asks: rules that are not stored yet. */
export interface PolicyRules {
  readonly immutableTags: ImmutableTagsInput
  readonly retention: RetentionInput
}

/** A page of verdicts, with the numbers over all pages. */
export interface VerdictPage extends Page<RetentionVerdict> {
  readonly deletedTags: number
  readonly deletedManifests: number
  readonly keptTags: number
  readonly keptByRule: readonly number[]
}

export const retentionPreviewQuery = (repo: string, rules: PolicyRules, deletedOnly: boolean) => ({
  ...paged<RetentionVerdict>(['retention-preview', repo, rules, deletedOnly], async (pageToken, signal) => {
    const request = { uid: repo, ...rules, deletedOnly, pageSize: PAGE_SIZE, pageToken }
    const { verdicts: items, ...rest } = await api.repoPolicies.previewRetention(request, { signal })
    return { items, ...rest } satisfies VerdictPage
  }),
  refetchInterval: false as const,
})

/** What a run would delete now. A dialog that asks before the run never shows an earlier response. */
export const retentionRunQuery = (repo: string, rules: PolicyRules) => {
  const preview = retentionPreviewQuery(repo, rules, true)
  return { ...preview, queryKey: [...preview.queryKey, 'run'], staleTime: 0, gcTime: 0 }
}

/** A page of verdicts about untagged manifests, with the numbers over all pages. */
export interface UntaggedPage extends Page<RetentionVerdict> {
  readonly deletedTags: number
  readonly deletedManifests: number
  readonly unreferencedBytes: string
}

export const untaggedQuery = (repo: string, olderThan: string) => ({
  ...paged<RetentionVerdict>(['untagged', repo, olderThan], async (pageToken, signal) => {
    const request = { uid: repo, olderThan, deletedOnly: true, pageSize: PAGE_SIZE, pageToken }
    const { verdicts: items, ...rest } = await api.manifests.previewUntaggedManifests(request, { signal })
    return { items, ...rest } satisfies UntaggedPage
  }),
  refetchInterval: false as const,
})

export const visibilityQuery = (uid: string) =>
  queryOptions({
    queryKey: ['visibility', uid],
    queryFn: ({ signal }) => api.visibility.getVisibility({ uid }, { signal }),
  })
