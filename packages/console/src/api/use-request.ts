import { hashKey, useMutation, useMutationState, useQueryClient } from '@tanstack/react-query'
import { reportLateFailure } from '../components/late-failures.ts'
import { useIsShown } from '../use-is-shown.ts'

interface RequestOptions<Input, Output> {
  /** Names what the requests do. */
  readonly action: string
  /** Names the action in the notice of a failure after the user has left. */
  readonly title: string
  readonly send: (input: Input) => Promise<Output>
  /** Shows the result, also after the user has left. The request is running until it resolves. */
  readonly onSent?: (output: Output, input: Input) => Promise<unknown>
}

/**
 * Sends requests that a page starts without a dialog, and never one that is running already: the same action with the same input. "Back",
 * "forward" and tabs create the components of a page again, so the state of a request is not in a component.
 */
export function useRequest<Input, Output>({ action, title, send, onSent }: RequestOptions<Input, Output>) {
  const client = useQueryClient()
  const isShown = useIsShown()
  const filters = { mutationKey: [action], exact: true }
  const requests = useMutationState({
    filters,
    select: ({ state: { status, variables, data } }) => ({ status, hash: hashOf(variables), data }),
  })
  const { mutate, error } = useMutation({
    mutationKey: filters.mutationKey,
    mutationFn: send,
    gcTime: Number.POSITIVE_INFINITY,
    onSuccess: (output, input) => onSent?.(output, input),
    onError: (failure) => isShown.current || reportLateFailure(title, failure),
  })
  const latest = (input: Input, status: 'pending' | 'success') =>
    requests.findLast((request) => request.status === status && request.hash === hashOf(input))
  return {
    error,
    send(input: Input) {
      // Not of `requests`: a second press can come before the page is rendered again.
      const isSame = ({ state }: { readonly state: { readonly variables: unknown } }) =>
        hashOf(state.variables) === hashOf(input)
      if (client.isMutating({ ...filters, predicate: isSame }) === 0) mutate(input)
    },
    isRunning: (input: Input): boolean => latest(input, 'pending') !== undefined,
    /** Returns the result of the latest request with this input, if one has succeeded since the console was loaded. */
    resultOf: (input: Input) => latest(input, 'success')?.data as Output | undefined,
  }
}

const hashOf = (input: unknown): string => hashKey([input])
