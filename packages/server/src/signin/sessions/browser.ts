import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { bestEffortWrite } from '../../api/storage-faults.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { generateSecret, hashSecret } from '../../storage/pending-store.ts'
import { endSessions, type Session, type SignedIn, sessionBySecret, startSession } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { flowEvent } from './sign-in-events.ts'

/**
 * The browser of a request. It has one cookie with one secret: before anybody signed in that binds the steps of a sign-in to the
 * browser which began it, afterwards it is the session's. Signing in always gives a new one, so that a secret which somebody
 * planted is worth nothing afterwards.
 */
export interface Browser {
  readonly secret: string
  readonly session: Session | undefined
  /** What a form of a page shown to this browser carries, so that no other site can send it. */
  readonly formToken: string
}

/** How long a browser stays signed in. */
const BROWSER_SESSION_MS = 14 * 24 * 60 * 60 * 1000
const SECRET = /^[A-Za-z0-9_-]{43}$/
export const FORM_TOKEN_FIELD = 'form_token'

export async function loadBrowser(c: Context, context: SignInContext): Promise<Browser> {
  const name = cookieName(context)
  const shown = getCookie(c, name) ?? ''
  if (SECRET.test(shown)) {
    const session = await sessionBySecret(context.store, 'browser', shown)
    if (session !== undefined) await recordSessionUse(context.store, session)
    return { secret: shown, session, formToken: formTokenOf(context, shown) }
  }
  const secret = generateSecret()
  writeCookie(c, context, secret)
  return { secret, session: undefined, formToken: formTokenOf(context, secret) }
}

/** Whether a form came from a page that this browser was shown. */
export function isValidFormToken(browser: Browser, sent: unknown): boolean {
  return typeof sent === 'string' && isEqualConstantTime(sent, browser.formToken)
}

/**
 * What a link of a page shown to this browser carries, so that no other site can send the browser there. `link` identifies the page
 * and everything that the link does.
 */
export function linkToken(
  { store }: Pick<SignInContext, 'store'>,
  { secret }: Pick<Browser, 'secret'>,
  link: readonly string[],
): string {
  const text = `link of ${JSON.stringify([secret, ...link])}`
  return createHmac('sha256', store.secretsKey).update(text).digest('base64url')
}

/** What a step of a sign-in remembers of the browser that takes it, so that no other takes the next one (R40). */
export function hashBrowserSecret({ secret }: Pick<Browser, 'secret'>): string {
  return Buffer.from(hashSecret(secret)).toString('base64url')
}

export function isSameBrowser(browser: Pick<Browser, 'secret'>, mark: string): boolean {
  return isEqualConstantTime(mark, hashBrowserSecret(browser))
}

/** Compares secrets in constant time. */
export function isEqualConstantTime(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Begins a browser session for whoever proved who they are; the one before, if any, ends. `who` writes what goes with it, in the
 * same transaction.
 */
export async function signIn(
  c: Context,
  context: SignInContext,
  browser: Browser,
  user: SignedIn | ((tx: Tx) => Promise<SignedIn>),
): Promise<void> {
  const { store } = context
  const { secret } = await inTransaction(store.db, async (tx) => {
    const person = typeof user === 'function' ? await user(tx) : user
    if (browser.session !== undefined) await endSessions(tx, 'id', browser.session.id)
    return startSession(store, tx, {
      ...person,
      ...context.requestMetadataOf(c),
      kind: 'browser',
      client: '',
      audiences: [],
      lifetimeMs: BROWSER_SESSION_MS,
    })
  })
  writeCookie(c, context, secret)
}

export async function signOut(
  c: Context<SignInEnv>,
  context: SignInContext,
  { session }: Pick<Browser, 'session'>,
): Promise<void> {
  if (session !== undefined) {
    await inTransaction(context.store.db, async (tx) => {
      await endSessions(tx, 'id', session.id)
      await recordEvent(tx, flowEvent(c, context, session.identity, 'SignOut'))
    })
  }
  writeCookie(c, context, generateSecret())
}

/** What the owner sees of when a session was last used need not be exact. */
const USE_RECORD_INTERVAL_MS = 60 * 1000

async function recordSessionUse(
  { db, clock }: SignInContext['store'],
  { id, lastUsedMs }: Session,
): Promise<void> {
  const now = clock()
  if (now - lastUsedMs < USE_RECORD_INTERVAL_MS) return
  const written = inTransaction(db, (tx) =>
    tx.updateTable('sessions').set({ last_used_ms: now }).where('id', '=', id).execute(),
  )
  await bestEffortWrite(written, [])
}

function formTokenOf({ store }: SignInContext, secret: string): string {
  return createHmac('sha256', store.secretsKey).update(`form of ${secret}`).digest('base64url')
}

function writeCookie(c: Context, context: SignInContext, secret: string): void {
  setCookie(c, cookieName(context), secret, {
    httpOnly: true,
    secure: isSecure(context),
    // Lax: the way back from an identity provider is a navigation from another site.
    sameSite: 'Lax',
    path: '/',
    maxAge: BROWSER_SESSION_MS / 1000,
  })
}

/** The prefix makes browsers refuse a cookie that a neighbouring host set (RFC 6265bis section 4.1.3.2). */
function cookieName(context: SignInContext): string {
  return isSecure(context) ? '__Host-berth' : 'berth'
}

function isSecure({ authUrl }: SignInContext): boolean {
  return authUrl.startsWith('https:')
}
