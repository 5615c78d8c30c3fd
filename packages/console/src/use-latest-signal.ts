import { useCallback, useEffect, useRef } from 'react'

/**
 * Returns a function that returns the signal of a new request, and aborts that of the earlier one: what it returns is no longer of use. The
 * last one is aborted with the component.
 */
export function useLatestSignal(): () => AbortSignal {
  const latest = useRef<AbortController | undefined>(undefined)
  useEffect(() => () => latest.current?.abort(), [])
  return useCallback(() => {
    latest.current?.abort()
    latest.current = new AbortController()
    return latest.current.signal
  }, [])
}
