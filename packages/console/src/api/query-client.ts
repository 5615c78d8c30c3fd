import { BerthError } from '@berth/client'
import { notifyManager, type Query, QueryClient } from '@tanstack/react-query'

const FRESH_MS = 5000
/** How often a visible page asks for changes. */
const CURRENT_MS = 30_000

/** Responses within this time are shown together. */
const FRAME_MS = 16

const notifications: (() => void)[] = []

// Each rendering of a table or a tree costs more than a frame on a slow processor, and a page starts with five to ten responses.
notifyManager.setScheduler((notify) => {
  if (notifications.push(notify) > 1) return
  setTimeout(() => {
    for (const one of notifications.splice(0)) {
      try {
        one()
      } catch (error) {
        // One that fails does not take the others with it.
        reportError(error)
      }
    }
  }, FRAME_MS)
})

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The client retries what is useful to retry, and reports a server that does not respond.
      retry: false,
      networkMode: 'always',
      staleTime: FRESH_MS,
      refetchOnWindowFocus: 'always',
      refetchInterval: intervalOf,
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

/** A long list that the user has loaded page by page stays as it is until the user returns to the page; a failure stays until they retry. */
function intervalOf({ state: { data, status } }: Query): number | false {
  const isLong = (data as { readonly pages?: readonly unknown[] } | undefined)?.pages?.[1] !== undefined
  return isLong || status === 'error' ? false : CURRENT_MS
}

const NO_RESPONSE =
  'The server does not respond. Check your connection; the page tries again when you return to it.'

/** Returns the message of a failure as users read it, without the name of its code. */
export function messageOf(failure: unknown): string {
  if (!(failure instanceof BerthError)) return failure instanceof Error ? failure.message : String(failure)
  if (failure.status === 0) return NO_RESPONSE
  return messageText(failure.message)
}

/** A message of the API as users read it. */
export function messageText(message: string): string {
  const text = message.replace(/^[A-Z][a-z ]+: +/, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}

export const hasStatus = (failure: unknown, status: number): boolean =>
  failure instanceof BerthError && failure.status === status

type Violation = BerthError['fieldViolations'][number]

/** Violations that a field has asked for, and shows. */
const shown = new WeakSet<Violation>()

/** Returns the violations of a form field or of its entries, if the failure has any. The field shows them: the alert of the form lists only the others. */
export function violationOf(failure: unknown, name: string): string | undefined {
  if (!(failure instanceof BerthError)) return undefined
  const found = failure.fieldViolations.filter(({ field }) => fieldName(field) === name)
  for (const violation of found) shown.add(violation)
  return found.length === 0 ? undefined : found.map(textOf).join('; ')
}

/** Returns the violations that no field of the form has asked for, each with the name of its field. */
export function otherViolations(failure: unknown): readonly string[] {
  if (!(failure instanceof BerthError)) return []
  return failure.fieldViolations
    .filter((violation) => !shown.has(violation))
    .map((violation) => {
      const words = fieldName(violation.field).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
      return messageText(`${words === '' ? '' : `${words}: `}${textOf(violation)}`)
    })
}

/** The name of the field that a path ends in, as forms write it: `oidc.client_id` and `limits[0].clientId` are `clientId`. */
function fieldName(path: string): string {
  const last =
    path
      .replaceAll(/\[[^\]]*\]/g, '')
      .split('.')
      .at(-1) ?? ''
  return last.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Entries of a list are counted from one. */
function textOf({ field, description }: Violation): string {
  const [, key] = /\[([^\]]*)\]$/.exec(field) ?? []
  if (key === undefined) return description
  return `${/^\d+$/.test(key) ? `Entry ${Number(key) + 1}` : key} ${description}`.trim()
}
