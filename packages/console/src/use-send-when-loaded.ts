import { useEffect, useRef, useState } from 'react'

/**
 * Sends a form as soon as what it needs has loaded: a user who presses Enter before does not have to press it again. `isWaiting`: the user has
 * sent the form, and it is loading.
 */
export function useSendWhenLoaded(isLoading: boolean, send: () => void) {
  const [isWaiting, setWaiting] = useState(false)
  // With what was entered and loaded until then.
  const latest = useRef(send)
  useEffect(() => {
    latest.current = send
  })
  useEffect(() => {
    if (!isWaiting || isLoading) return
    setWaiting(false)
    latest.current()
  }, [isWaiting, isLoading])
  return { isWaiting, send: () => (isLoading ? setWaiting(true) : send()) }
}
