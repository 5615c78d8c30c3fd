import { useEffect, useRef, useState } from 'react'

/**
 * Sends a form as soon as what it needs has loaded: a user who presses Enter before does not have to press it again. `isWaiting`: the user has
 * sent the form, and it is loading. `entered`: if it changes, the user has to send the form again.
 */
export function useSendWhenLoaded(isLoading: boolean, send: () => void, entered = '') {
  const [sent, setSent] = useState<string>()
  // With what was entered and loaded until then.
  const latest = useRef(send)
  useEffect(() => {
    latest.current = send
  })
  const isWaiting = sent === entered
  useEffect(() => {
    if (sent === undefined || (isWaiting && isLoading)) return
    setSent(undefined)
    if (isWaiting) latest.current()
  }, [sent, isWaiting, isLoading])
  return { isWaiting, send: () => (isLoading ? setSent(entered) : send()) }
}
