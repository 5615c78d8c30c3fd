import type { ImageContents, ImagePackage, SbomFormat } from '@berth/client'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from '../../client.ts'
import { PAGE_SIZE, paged } from '../pages.ts'

/** What images contain: packages and SBOMs. */

const PENDING_MS = 1000
const IDLE_MS = 30_000

/** An image of a repository. */
export interface ImageReference {
  /** uid of the repository. */
  readonly uid: string
  /** Digest of the manifest. */
  readonly reference: string
  /** Image of an index, such as `linux/arm64`; '' for an image. */
  readonly platform: string
}

export const isPending = ({ state }: Pick<ImageContents, 'state'>): boolean =>
  state === 'CONTENTS_STATE_PENDING'

/** Asks every second until the image is read. */
export const contentsQuery = (image: ImageReference) =>
  queryOptions({
    queryKey: ['image-contents', image],
    queryFn: ({ signal }) => api.imageContents.getImageContents(image, { signal }),
    refetchInterval: ({ state: { data, status } }) =>
      status === 'error' ? false : data !== undefined && isPending(data) ? PENDING_MS : IDLE_MS,
  })

/** As the API filters packages; '' for any. */
export interface PackageFilter {
  readonly type: string
  readonly namePrefix: string
  readonly license: string
  readonly orderBy: string
}

/** `version`: changes when the image is read again. */
export const packagesQuery = (image: ImageReference, filter: PackageFilter, version: string) => ({
  ...paged<ImagePackage>(['image-packages', image, filter, version], async (pageToken, signal) => {
    const request = { ...image, ...filter, pageSize: PAGE_SIZE, pageToken }
    const { packages: items, ...rest } = await api.imageContents.list(request, { signal })
    return { items, ...rest }
  }),
  placeholderData: keepPreviousData,
  refetchInterval: false as const,
})

/** Reads an SBOM, which may have 32 MiB: it is not kept. */
export const readSbom = (image: ImageReference, format: SbomFormat) =>
  api.imageContents.getImageSbom({ ...image, format })

export const packageDifferenceQuery = (repo: string, from: string, to: string) =>
  queryOptions({
    queryKey: ['package-difference', repo, from, to],
    queryFn: ({ signal }) => {
      const request = { uid: repo, reference: from, otherReference: to }
      return api.imageContents.compareImagePackages(request, { signal })
    },
    refetchInterval: IDLE_MS,
  })
