import { createHmac } from 'node:crypto'
import { noCapabilities } from '@berth/contract/capabilities.ts'
import { parse } from 'hono/utils/cookie'
import { bestEffortWrite } from '../../api/storage-faults.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import type { Caller, IncomingCall } from '../../pipeline/call.ts'
import { inTransaction } from '../../storage/db.ts'
import { generateSecret } from '../../storage/pending-store.ts'
import type { Store } from '../../storage/store.ts'
import { type Session, sessionBySecret } from '../../tokens/sessions/sessions.ts'
import type { Browser } from './browser.ts'

/** Authenticates the browser of a request by its cookie, for the request pipeline alone: handlers get what it returns. */

/** A browser as the caller of an operation. */
export interface BrowserCaller extends Caller {
  readonly browser: Browser
}

/** What the authentication needs. `authUrl`: `{auth_url}` from the configuration. */
export interface SessionCookieOptions {
  readonly store: Store
  readonly authUrl: string
}

/** Form of the secrets in cookies. */
export const SECRET_PATTERN = /^[A-Za-z0-9_-]{43}$/

/** Returns the user who is signed in in the browser of a request, or an anonymous caller. A browser without a cookie gets a new secret. */
export async function authenticateBrowser(
  options: SessionCookieOptions,
  incoming: IncomingCall,
): Promise<BrowserCaller> {
  const { store } = options
  const name = sessionCookieName(options)
  const shown = parse(incoming.header?.('cookie') ?? '', name)[name] ?? ''
  const isKnown = SECRET_PATTERN.test(shown)
  const session = isKnown ? await sessionBySecret(store, 'browser', shown) : undefined
  if (session !== undefined) await recordSessionUse(store, session)
  const secret = isKnown ? shown : generateSecret()
  const browser: Browser = { secret, isNew: !isKnown, session, formToken: formTokenOf(store, secret) }
  const isAnonymous = session === undefined ? { isAnonymous: true as const } : {}
  return {
    identity: session?.identity ?? ANONYMOUS_IDENTITY,
    scopes: undefined,
    capabilities: session === undefined ? noCapabilities : undefined,
    session: session?.id,
    browser,
    ...isAnonymous,
  }
}

/** Smallest interval between two updates of `last_used_ms`: its owner needs no exact time. */
const USE_RECORD_INTERVAL_MS = 60 * 1000

async function recordSessionUse({ db, clock }: Store, { id, lastUsedMs }: Session): Promise<void> {
  const now = clock()
  if (now - lastUsedMs < USE_RECORD_INTERVAL_MS) return
  const written = inTransaction(db, (tx) =>
    tx.updateTable('sessions').set({ last_used_ms: now }).where('id', '=', id).execute(),
  )
  await bestEffortWrite(written, [])
}

function formTokenOf({ secretsKey }: Pick<Store, 'secretsKey'>, secret: string): string {
  return createHmac('sha256', secretsKey).update(`form of ${secret}`).digest('base64url')
}

/** The `__Host-` prefix makes browsers reject a cookie that another host of the domain set (RFC 6265bis section 4.1.3.2). */
export function sessionCookieName(options: Pick<SessionCookieOptions, 'authUrl'>): string {
  return isSecure(options) ? '__Host-berth' : 'berth'
}

/** Whether users reach the sign-in over https, so that its cookies are secure. */
export function isSecure({ authUrl }: Pick<SessionCookieOptions, 'authUrl'>): boolean {
  return authUrl.startsWith('https:')
}
