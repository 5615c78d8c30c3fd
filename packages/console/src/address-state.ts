import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** What a page shows, in the query of its address: tab, filters, order. All values are texts. */
export type AddressState = Readonly<Partial<Record<string, string>>>

export const readAddressState = (query: string): AddressState =>
  Object.fromEntries(new URLSearchParams(query))

export function writeAddressState(state: Readonly<Record<string, unknown>>): string {
  const set = Object.entries(state).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString()
  return query === '' ? '' : `?${query}`
}

/**
 * Returns the state in the address, and a function that changes parts of it: an empty text removes a part. A change replaces the entry in
 * the history, so that "back" leaves the page.
 */
export function useAddressState(): readonly [AddressState, (change: AddressState) => void] {
  const state = useSearch({ strict: false }) as AddressState
  const navigate = useNavigate()
  const change = useCallback(
    (part: AddressState) =>
      void navigate({
        to: '.',
        search: (before) => clean({ ...before, ...part }),
        replace: true,
      }),
    [navigate],
  )
  return [state, change]
}

function clean(state: AddressState): AddressState {
  const set = Object.entries(state).filter(([, value]) => value !== undefined && value !== '')
  return Object.fromEntries(set)
}
