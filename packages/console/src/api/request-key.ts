import { newIdempotencyKey } from '@berth/client'
import { hashKey } from '@tanstack/react-query'
import { session } from './session.ts'

/**
 * The idempotency key of a create whose outcome the user has not seen. The tab keeps it: a form that is sent again after a reload, or after the
 * connection was lost, creates nothing twice.
 */

const KEY = `berth.unfinished.${session.identity}`

interface Unfinished {
  readonly request: string
  readonly key: string
}

/** Returns the same key for the same input, until it is forgotten or another input has one. */
export function requestKey(input: unknown): string {
  const request = hashKey([input])
  const stored = readUnfinished()
  if (stored?.request === request) return stored.key
  const key = newIdempotencyKey()
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ request, key } satisfies Unfinished))
  } catch {
    // The storage is full or disabled: the key is for one attempt.
  }
  return key
}

/** Call it once the outcome is known: the same input then creates another resource. */
export function forgetRequestKey(input: unknown): void {
  if (readUnfinished()?.request === hashKey([input])) sessionStorage.removeItem(KEY)
}

function readUnfinished(): Unfinished | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}
