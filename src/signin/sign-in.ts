import { Hono } from 'hono'
import { foldedEmail } from '../core/fields.ts'
import { countedAddress } from '../limits/client-address.ts'
import { inTransaction } from '../storage/db.ts'
import { sessionsOf } from '../sts/sessions.ts'
import { type Account, accountByEmail, changeAccount } from './accounts.ts'
import { browserOf, signOut } from './browser.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from './context.ts'
import { readForm } from './form.ts'
import { byAccount, guess } from './guesses.ts'
import { enterAccount, recordRefusal } from './local-session.ts'
import { passkeysOf } from './passkeys.ts'
import { hashPassword, verifyPassword } from './password.ts'
import { providerPath } from './provider-routes.ts'
import { beginSecondFactor } from './second-factor.ts'
import { DISABLED, showSignIn, waitingRequest } from './show-sign-in.ts'

/** What the page says to whoever was sent to it, by the word for it in the address. */
const newsOf = {
  again: 'Sign in again to go on: it was a while ago.',
  'signed-out': 'You are signed out.',
  deleted: 'Your account is deleted.',
} as const

/** Signing in with a password, and out. */
export function signInRoutes(context: SignInContext): SignInRoutes {
  const { store } = context
  const app: SignInRoutes = new Hono<SignInEnv>()

  app.get('/sign-in', async (c) => {
    const browser = await browserOf(c, context)
    const secret = c.req.query('request') ?? ''
    const request = await waitingRequest(c, context, secret)
    const provider = request?.identityProvider || request?.connection
    if (provider) return c.redirect(providerPath(provider, secret), 303)
    const again = c.req.query('again') !== undefined
    if (request === undefined && browser.session !== undefined && !again) return c.redirect('/account', 303)
    const done = again ? 'again' : (c.req.query('done') ?? '')
    const news = Object.hasOwn(newsOf, done) ? newsOf[done as keyof typeof newsOf] : undefined
    return showSignIn(c, context, browser, secret, request, { news })
  })

  app.post('/sign-in/password', async (c) => {
    const browser = await browserOf(c, context)
    const form = await readForm(c, browser)
    const secret = form.text('request')
    const request = await waitingRequest(c, context, secret)
    const email = foldedEmail(form.trimmed('email'))
    const password = form.text('password')
    const known = await accountByEmail(store.db.kysely, email)
    const { address } = context.placeOf(c)
    const refused = (problem: string, status: 401 | 403 = 401) =>
      showSignIn(c, context, browser, secret, request, { email, problem }, status)

    const account = await guess(
      store,
      byAccount(known?.id ?? email, address, await cameFrom(context, known, address)),
      () => passwordOwner(context, known, password),
    )
    if (account === undefined) {
      if (known !== undefined)
        recordRefusal(c, context, { account: known, method: 'password', reason: 'wrong password' })
      return refused('E-mail or password is wrong.')
    }
    if (account.disabled !== 0) {
      recordRefusal(c, context, { account, method: 'password', reason: 'the account is disabled' })
      return refused(DISABLED, 403)
    }
    if (account.passkey_required !== 0 && (await passkeysOf(store.db.kysely, account.id)).length > 0)
      return beginSecondFactor(c, context, browser, account, secret)
    return enterAccount(c, context, browser, { account, method: 'password', request: secret })
  })

  app.post('/sign-out', async (c) => {
    const browser = await browserOf(c, context)
    await readForm(c, browser)
    await signOut(c, context, browser)
    return c.redirect('/sign-in?done=signed-out', 303)
  })

  return app
}

/** The account, if this is its password. Where there is no account it takes as long. */
async function passwordOwner(
  { store }: SignInContext,
  account: Account | undefined,
  password: string,
): Promise<Account | undefined> {
  const { right, stale } = await verifyPassword(account?.password_hash ?? '', password)
  if (account === undefined || !right) return undefined
  if (stale) {
    const password_hash = await hashPassword(password)
    await inTransaction(store.db, (tx) => changeAccount(store, tx, account.id, { password_hash }))
  }
  return account
}

/** Whether the owner of the account is signed in from this address already, in whatever browser or client. */
async function cameFrom(
  { store }: SignInContext,
  account: Account | undefined,
  address: string,
): Promise<boolean> {
  if (account === undefined) return false
  const here = countedAddress(address)
  const sessions = await sessionsOf(store, account.identity_uid)
  return sessions.some((session) => countedAddress(session.address) === here)
}
