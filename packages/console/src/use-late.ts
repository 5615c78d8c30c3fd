import { useEffect, useState } from 'react'

/**
 * Returns a value once it has not changed for a moment, for example a search once the user stops typing. `key` says whether the value is
 * another one; by default it is the value itself.
 */
export function useLate<T>(value: T, pauseMs: number, key: unknown = value): T {
  const [late, setLate] = useState({ value, key })
  useEffect(() => {
    if (Object.is(key, late.key)) return
    const timer = setTimeout(() => setLate({ value, key }), pauseMs)
    return () => clearTimeout(timer)
  }, [value, key, late.key, pauseMs])
  return late.value
}
