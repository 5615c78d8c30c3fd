import { type DefaultError, type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { hasStatus } from '../api/query-client.ts'
import { NotFound } from '../pages/not-found.tsx'
import { Problem } from './problem.tsx'

interface ResourcePageProps<T, K extends QueryKey> {
  /** For example "repository". */
  readonly kind: string
  readonly query: UseQueryOptions<T, DefaultError, T, K>
  readonly children: (resource: T) => ReactNode
}

/** For an invalid uid, one that does not exist, and one that the user cannot see, the page is the same. */
const NOT_FOUND = [400, 403, 404]

/** The page of one resource: what it shows until the resource is there, and if it cannot be shown. */
export function ResourcePage<T, K extends QueryKey>({ kind, query, children }: ResourcePageProps<T, K>) {
  const { data, error, refetch } = useQuery(query)
  if (data !== undefined) return children(data)
  if (error === null)
    return (
      <p className="muted" role="status">
        Loading the {kind}…
      </p>
    )
  if (NOT_FOUND.some((status) => hasStatus(error, status)) || error instanceof TypeError) return <NotFound />
  const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)} not available`
  return <Problem title={title} failure={error} onRetry={() => void refetch()} />
}
