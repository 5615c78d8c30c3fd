import { unauthenticated } from '../../api/errors.ts'
import type { Authenticate } from '../../pipeline/authenticate.ts'
import type { Caller, IncomingCall } from '../../pipeline/call.ts'
import { isValidFormToken } from './browser.ts'
import { authenticateBrowser, type SessionCookieOptions } from './session-cookie.ts'

/**
 * Lets the console call the REST API by the session cookie of its user, so that no page has a token (ADR 42). A request without an
 * `Authorization` header can show the session instead, if a page of this server sent it and it has the form token of the session.
 */

/** Header with the form token. Its presence selects the session as the credential. */
const FORM_TOKEN_HEADER = 'x-berth-csrf'

/** Authenticates requests by their token, and those of the console by the session of the browser. */
export function acceptSessions(
  options: SessionCookieOptions,
  authenticateBearer: Authenticate,
): (incoming: IncomingCall) => Caller | Promise<Caller> {
  return (incoming) => {
    const { authorizationHeader } = incoming
    // gRPC has no other headers.
    const showsSession =
      authorizationHeader === undefined && incoming.header?.(FORM_TOKEN_HEADER) !== undefined
    return showsSession ? authenticateSession(options, incoming) : authenticateBearer(authorizationHeader)
  }
}

/** Returns the caller that a token of this session would have. Throws code 16. */
async function authenticateSession(options: SessionCookieOptions, incoming: IncomingCall): Promise<Caller> {
  if (!isFromOwnPage(options, incoming))
    throw unauthenticated('the session of a browser is accepted from pages of this server only')
  const { browser } = await authenticateBrowser(options, incoming)
  if (browser.session === undefined) throw unauthenticated('you are no longer signed in; sign in again')
  if (!isValidFormToken(browser, incoming.header?.(FORM_TOKEN_HEADER)))
    throw unauthenticated('this page belongs to an earlier sign-in; reload it')
  const { identity, id } = browser.session
  return { identity, scopes: undefined, capabilities: undefined, session: id }
}

/**
 * Whether a page of this server sent the request. Browsers state it in `Sec-Fetch-Site`, which no page can set; not to plain http
 * addresses, except for loopback. There they state the origin of the page, and the page itself for reads.
 */
function isFromOwnPage({ authUrl }: SessionCookieOptions, incoming: IncomingCall): boolean {
  const site = incoming.header?.('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  const page = incoming.header?.('origin') ?? incoming.header?.('referer') ?? ''
  return URL.parse(page)?.origin === new URL(authUrl).origin
}
