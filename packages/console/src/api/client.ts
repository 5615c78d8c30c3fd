import { createBerthClient } from '@berth/client'
import { conditional } from './conditional.ts'
import { UNAUTHENTICATED } from './http-status.ts'
import { queryClient } from './query-client.ts'
import { renewSession, session } from './session.ts'

/** Set when the server no longer accepts the session: the frame asks the user to sign in again. */
export const SESSION_ENDED = ['session-ended'] as const

const RETRIES = 1

const conditionalFetch = conditional((url, init) => fetch(url, init))

const send = (url: string, init: RequestInit) =>
  conditionalFetch(url, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), 'x-berth-csrf': session.csrfToken },
    credentials: 'same-origin',
    referrerPolicy: 'same-origin',
  })

/** The published client, with the session of the browser as its credential: no page has a token (ADR 42). */
export const api = createBerthClient({
  baseUrl: location.origin,
  retries: RETRIES,
  fetch: async (url, init) => {
    const { csrfToken } = session
    const refused = await send(url, init)
    if (refused.status !== UNAUTHENTICATED) return refused
    const isRenewed = session.csrfToken !== csrfToken || (await renewSession())
    const response = isRenewed ? await send(url, init) : refused
    queryClient.setQueryData(SESSION_ENDED, response.status === UNAUTHENTICATED)
    return response
  },
})
