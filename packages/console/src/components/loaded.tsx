import type { UseQueryResult } from '@tanstack/react-query'
import { Problem } from './problem.tsx'

export interface NotLoadedProps {
  /** For example "the policy". */
  readonly what: string
  readonly query: Pick<UseQueryResult, 'error' | 'refetch'>
}

/** In the place of what is not there yet, or could not be read. */
export function NotLoaded({ what, query: { error, refetch } }: NotLoadedProps) {
  if (error === null)
    return (
      <p className="muted" role="status">
        Loading {what}…
      </p>
    )
  const name = what.replace(/^the /, '')
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)} not available`
  return <Problem title={title} failure={error} onRetry={() => void refetch()} />
}
