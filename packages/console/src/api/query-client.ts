import { BerthError } from '@berth/client'
import { QueryClient } from '@tanstack/react-query'

const FRESH_MS = 5000

export const queryClient = new QueryClient({
  defaultOptions: {
    // The client itself retries what is useful to retry.
    queries: { retry: false, staleTime: FRESH_MS, refetchOnWindowFocus: 'always' },
    mutations: { retry: false },
  },
})

/** Returns the message of a failure as users read it. */
export function messageOf(failure: unknown): string {
  if (!(failure instanceof BerthError)) return failure instanceof Error ? failure.message : String(failure)
  if (failure.status === 0) return 'The server did not respond. Check your connection and try again.'
  return failure.message
}

/** Returns the violation of a form field, if the failure has one. */
export function violationOf(failure: unknown, field: string): string | undefined {
  if (!(failure instanceof BerthError)) return undefined
  return failure.fieldViolations.find((violation) => violation.field.split('.').at(-1) === field)?.description
}
