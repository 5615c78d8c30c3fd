import { BerthError } from '@berth/client'
import { QueryClient } from '@tanstack/react-query'

const FRESH_MS = 5000

export const queryClient = new QueryClient({
  defaultOptions: {
    // The client retries what is useful to retry, and reports a server that does not respond.
    queries: { retry: false, staleTime: FRESH_MS, refetchOnWindowFocus: 'always', networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})

const NO_RESPONSE =
  'The server does not respond. Check your connection; the page tries again when you return to it.'

/** Returns the message of a failure as users read it, without the name of its code. */
export function messageOf(failure: unknown): string {
  if (!(failure instanceof BerthError)) return failure instanceof Error ? failure.message : String(failure)
  if (failure.status === 0) return NO_RESPONSE
  const text = failure.message.replace(/^[A-Z][a-z ]+: +/, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}

/** Returns the violation of a form field, if the failure has one. */
export function violationOf(failure: unknown, field: string): string | undefined {
  if (!(failure instanceof BerthError)) return undefined
  return failure.fieldViolations.find((violation) => violation.field.split('.').at(-1) === field)?.description
}

export const hasStatus = (failure: unknown, status: number): boolean =>
  failure instanceof BerthError && failure.status === status
