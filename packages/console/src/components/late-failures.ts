import { useSyncExternalStore } from 'react'

/** Failures of actions whose dialog or page was closed before the server responded. */

export interface LateFailure {
  readonly id: number
  /** Title of the dialog. */
  readonly title: string
  readonly failure: unknown
}

let failures: readonly LateFailure[] = []
let ids = 0
const listeners = new Set<() => void>()

function setFailures(next: readonly LateFailure[]): void {
  failures = next
  for (const listener of listeners) listener()
}

/** Shows a failure on the page until the user dismisses it, except for that of an action that the user stopped. */
export function reportLateFailure(title: string, failure: unknown): void {
  if (failure instanceof DOMException && failure.name === 'AbortError') return
  setFailures([...failures, { id: ++ids, title, failure }])
}

export const dismissLateFailure = (id: number): void =>
  setFailures(failures.filter((failure) => failure.id !== id))

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const read = () => failures

export const useLateFailures = (): readonly LateFailure[] => useSyncExternalStore(subscribe, read)
