import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { setCookie } from 'hono/cookie'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { generateSecret, hashSecret } from '../../storage/pending-store.ts'
import { endSessions, type Session, type SignedIn, startSession } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { isSecure, sessionCookieName } from './session-cookie.ts'
import { flowEvent } from './sign-in-events.ts'

/**
 * The browser of a request, identified by the secret in its cookie. Before a sign-in the secret binds the steps of the sign-in to the
 * browser; afterwards it is the secret of the session. Each sign-in sets a new secret, which prevents session fixation.
 */
export interface Browser {
  readonly secret: string
  /** Whether the request had no secret: its response sets the cookie. */
  readonly isNew: boolean
  readonly session: Session | undefined
  /** Token of the forms of this browser's pages, so that no other site can submit them. */
  readonly formToken: string
}

/** Lifetime of a browser's session. */
const BROWSER_SESSION_MS = 14 * 24 * 60 * 60 * 1000
export const FORM_TOKEN_FIELD = 'form_token'

/** Whether a form was sent from a page of this browser. */
export function isValidFormToken(browser: Browser, sent: unknown): boolean {
  return typeof sent === 'string' && isEqualConstantTime(sent, browser.formToken)
}

/**
 * Returns the token of a link in a page of this browser, so that no other site can send the browser there. `link` identifies the page
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

/** The hash of a browser's secret, which a step of a sign-in stores so that no other browser takes the next step (R40). */
export function hashBrowserSecret(secret: string): string {
  return Buffer.from(hashSecret(secret)).toString('base64url')
}

/** Whether `hash` is the stored hash of a browser's secret. */
export function isSameBrowser(secret: string, hash: string): boolean {
  return isEqualConstantTime(hash, hashBrowserSecret(secret))
}

/** Compares secrets in constant time. */
export function isEqualConstantTime(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Starts a browser session for an authenticated user and ends the previous session of the browser. `user` as a function runs in the same
 * transaction.
 */
export async function signIn(
  c: Context,
  context: SignInContext,
  browser: Browser,
  user: SignedIn | ((tx: Tx) => Promise<SignedIn>),
): Promise<void> {
  const { store } = context
  const { secret } = await inTransaction(store.db, async (tx) => {
    const signedIn = typeof user === 'function' ? await user(tx) : user
    if (browser.session !== undefined) await endSessions(tx, 'id', browser.session.id)
    return startSession(store, tx, {
      ...signedIn,
      ...context.requestMetadataOf(c),
      kind: 'browser',
      client: '',
      audiences: [],
      lifetimeMs: BROWSER_SESSION_MS,
    })
  })
  setSessionCookie(c, context, secret)
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
  setSessionCookie(c, context, generateSecret())
}

/** Sets the cookie of a browser that has none, or has a new secret. */
export function setSessionCookie(c: Context, context: SignInContext, secret: string): void {
  setCookie(c, sessionCookieName(context), secret, {
    httpOnly: true,
    secure: isSecure(context),
    // Lax, because the redirect back from an identity provider is a navigation from another site.
    sameSite: 'Lax',
    path: '/',
    maxAge: BROWSER_SESSION_MS / 1000,
  })
}
