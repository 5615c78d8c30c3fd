import type {
  AffectedImage,
  Finding,
  FindingSeverity,
  FindingState,
  ListImageFindingsResponse,
} from '@berth/client'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Access } from '../../access.ts'
import { api } from '../../client.ts'
import { PAGE_SIZE, type Page, paged } from '../pages.ts'

/** Vulnerabilities of images. */

/** Returns the capability that a user lacks to read the vulnerabilities in a folder or repository, as a text; undefined for none. */
export const missingToReadFindings = (access: Access, uid: string): string | undefined =>
  access.missing(uid, 'repo.list') ?? access.missing(uid, 'vuln_reports.list')

const WAITING_MS = 1000
const IDLE_MS = 30_000

/** As the API filters findings; an empty list or text for any. */
export interface FindingFilter {
  readonly states: readonly FindingState[]
  readonly severities: readonly FindingSeverity[]
  readonly vulnerability: string
  readonly knownExploited: boolean
  readonly minEpss?: number
  readonly cwes: readonly string[]
  readonly orderBy: string
}

/** Whether packages are still to be read or matched. */
const isWaiting = ({
  contentsState,
  matched,
}: Pick<ListImageFindingsResponse, 'contentsState' | 'matched'>): boolean =>
  contentsState === 'pending' || (contentsState === 'read' && !matched)

/** Counts over all findings of an image, and what they do not cover. */
export const findingSummaryQuery = (repo: string, digest: string) =>
  queryOptions({
    queryKey: ['finding-summary', repo, digest],
    queryFn: async ({ signal }): Promise<ListImageFindingsResponse> =>
      api.findings.list({ uid: repo, digest, pageSize: 1 }, { signal }),
    refetchInterval: ({ state: { data, status } }) =>
      status === 'error' ? false : data !== undefined && isWaiting(data) ? WAITING_MS : IDLE_MS,
  })

/** `version`: changes when packages are read, matched or advisories change. */
export const findingsQuery = (repo: string, digest: string, filter: FindingFilter, version: string) => ({
  ...paged<Finding>(['findings', repo, digest, filter, version], async (pageToken, signal) => {
    const request = { uid: repo, digest, ...filter, pageSize: PAGE_SIZE, pageToken }
    const { findings: items, nextPageToken, totalCount } = await api.findings.list(request, { signal })
    return { items, nextPageToken, totalCount }
  }),
  placeholderData: keepPreviousData,
  refetchInterval: false as const,
})

/** Images with a vulnerability, in a folder and everything in it. */
export const affectedImagesQuery = (scope: string, vulnerability: string, states: readonly FindingState[]) =>
  paged<AffectedImage>(['affected-images', scope, vulnerability, states], async (pageToken, signal) => {
    const request = { uid: scope, vulnerability, states, pageSize: PAGE_SIZE, pageToken }
    const { affectedImages: items, nextPageToken } = await api.affectedImages.list(request, { signal })
    return { items, nextPageToken } satisfies Page<AffectedImage>
  })

export const findingDifferenceQuery = (repo: string, from: string, to: string) =>
  queryOptions({
    queryKey: ['finding-difference', repo, from, to],
    queryFn: ({ signal }) =>
      api.findings.compareImageFindings({ uid: repo, baseDigest: from, digest: to }, { signal }),
    refetchInterval: IDLE_MS,
  })

/** Reports of other scanners that are attached to an image; of an index, to its image for linux/amd64. */
export const scannerReportsQuery = (repo: string, digest: string) =>
  queryOptions({
    queryKey: ['scanner-reports', repo, digest],
    queryFn: async ({ signal }) => {
      const request = { uid: repo, reference: digest }
      return (await api.scannerReports.list(request, { signal })).scannerReports
    },
    refetchInterval: IDLE_MS,
  })

/** The latest report of a scanner beside the findings of the server. */
export const scannerComparisonQuery = (repo: string, digest: string, scanner: string, version: string) =>
  queryOptions({
    queryKey: ['scanner-comparison', repo, digest, scanner, version],
    queryFn: ({ signal }) =>
      api.scannerReports.compareScannerReport({ uid: repo, reference: digest, scanner }, { signal }),
  })
