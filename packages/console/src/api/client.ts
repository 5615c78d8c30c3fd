import { createBerthClient } from '@berth/client'
import { session } from './session.ts'

/**
 * The published client, authenticated by the session cookie of the sign-in: the page never has a token. The server accepts the cookie only
 * from its own origin and with the header.
 */
export const api = createBerthClient({
  baseUrl: location.origin,
  fetch: async (url, init) => {
    const headers = { ...(init.headers as Record<string, string>), 'x-berth-csrf': session.csrfToken }
    const response = await fetch(url, { ...init, headers, credentials: 'same-origin' })
    // The session ended: the sign-in page leads back here.
    if (response.status === 401) location.reload()
    return response
  },
})
