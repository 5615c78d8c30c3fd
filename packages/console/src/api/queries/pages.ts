import { infiniteQueryOptions } from '@tanstack/react-query'

/** Lists are read a page at a time, with the token of the previous page. */

export const PAGE_SIZE = 50
export const PAGE_SIZE_MAX = 200

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextPageToken: string
  /** 64-bit integer as text; absent if the server did not count. */
  readonly totalCount?: string | undefined
}

/** A resource with its version, which updates send back. */
export interface Versioned<T> {
  readonly value: T
  readonly etag: string | undefined
}

/** The query of a list. `key` starts with the name of the list, and names everything that `read` depends on. */
export function paged<T>(
  key: readonly unknown[],
  read: (pageToken: string, signal: AbortSignal) => Promise<Page<T>>,
) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }: Page<T>) => nextPageToken || undefined,
  })
}
