import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import type { AddressState } from './address-query.ts'
import { useIsOnPage } from './use-page.ts'

/**
 * Returns the state in the address, and a function that changes parts of it: an empty text removes a part. A change replaces the entry in
 * the history, so that "back" leaves the page.
 */
export function useAddressState(): readonly [AddressState, (change: AddressState) => void] {
  const state = useSearch({ strict: false }) as AddressState
  const navigate = useNavigate()
  const isOnPage = useIsOnPage()
  const change = useCallback(
    (part: AddressState) => {
      // A change that comes late must not be one of the next page.
      if (!isOnPage()) return
      void navigate({
        to: '.',
        search: (before) => clean({ ...before, ...part }),
        replace: true,
      })
    },
    [navigate, isOnPage],
  )
  return [state, change]
}

function clean(state: AddressState): AddressState {
  const set = Object.entries(state).filter(([, value]) => value !== undefined && value !== '')
  return Object.fromEntries(set)
}
