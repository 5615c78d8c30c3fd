import { normalizeEmail } from '../../api/fields.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { inTransaction } from '../../storage/db.ts'
import { sessionsOf } from '../../tokens/sessions/sessions.ts'
import { type Account, accountByEmail, updateAccount } from '../accounts/accounts.ts'
import type { SignInContext } from '../context.ts'
import { pathAfterSignIn } from '../oauth/authorization-requests.ts'
import { readForm } from '../pages/form.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { passkeysOf } from '../passkeys/passkeys.ts'
import { startSecondFactor } from '../passkeys/second-factor.ts'
import { hashPassword, verifyPassword } from '../passwords/password.ts'
import { providerPath } from '../providers/provider-paths.ts'
import { byAccount, limitGuesses } from '../rate-limits/guesses.ts'
import { recordFailedSignIn, signInToAccount } from './account-sign-in.ts'
import { signOut } from './browser.ts'
import { ACCOUNT_DISABLED, readWaitingRequest, renderSignInPage } from './render-sign-in-page.ts'
import type { SignInPage } from './sign-in-page.ts'

/** Messages of the sign-in page, by the value of `done` in its address. */
const notices = {
  again: 'Sign in again to continue. Your last sign-in was too long ago.',
  'signed-out': 'You are signed out.',
  deleted: 'Your account was deleted.',
  password: 'Your password was changed. Sign in with it.',
} as const

/** Routes that sign in with a password, and sign out. */
export function signInRoutes(context: SignInContext): PageRoutes {
  const { store } = context
  const app = new PageRoutes(context)

  app.get('/sign-in', anyBrowser('ShowSignIn'), async (c, { browser }) => {
    const secret = c.req.query('request') ?? ''
    const request = await readWaitingRequest(c, context, secret)
    const provider = request?.identityProvider || request?.connection
    if (provider) return c.redirect(providerPath(provider, secret), 303)
    const again = c.req.query('again') !== undefined
    if (request === undefined && browser.session !== undefined && !again)
      return c.redirect(pathAfterSignIn(secret), 303)
    const done = again ? 'again' : (c.req.query('done') ?? '')
    const noticeText = Object.hasOwn(notices, done) ? notices[done as keyof typeof notices] : undefined
    return renderSignInPage(c, context, browser, secret, request, { noticeText })
  })

  app.post('/sign-in/password', anyBrowser('Password'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const secret = form.text('request')
    const request = await readWaitingRequest(c, context, secret)
    const email = normalizeEmail(form.trimmed('email'))
    const password = form.text('password')
    const known = await accountByEmail(store.db.kysely, email)
    const { address } = context.requestMetadataOf(c)
    const rejected = (problem: SignInPage['problem'], status: 401 | 403 = 401) =>
      renderSignInPage(c, context, browser, secret, request, { email, problem }, status)

    const account = await limitGuesses(
      store,
      byAccount(known?.id ?? email, address, await isKnownAddress(context, known, address)),
      () => verifyAccountPassword(context, known, password),
    )
    if (account === undefined) {
      if (known !== undefined)
        recordFailedSignIn(c, context, { account: known, method: 'password', reason: 'wrong password' })
      return rejected({ field: 'password', text: 'Incorrect email or password.' })
    }
    if (account.disabled !== 0) {
      recordFailedSignIn(c, context, { account, method: 'password', reason: 'the account is disabled' })
      return rejected(ACCOUNT_DISABLED, 403)
    }
    if (account.passkey_required !== 0 && (await passkeysOf(store.db.kysely, account.id)).length > 0)
      return startSecondFactor(c, context, browser, account, secret)
    return signInToAccount(c, context, browser, { account, method: 'password', request: secret })
  })

  app.post('/sign-out', anyBrowser('SignOut'), async (c, { browser }) => {
    await readForm(c, browser)
    await signOut(c, context, browser)
    return c.redirect('/sign-in?done=signed-out', 303)
  })

  return app
}

/** Returns the account if this is its password. Takes as long if there is no account. */
async function verifyAccountPassword(
  { store }: SignInContext,
  account: Account | undefined,
  password: string,
): Promise<Account | undefined> {
  const { right, stale } = await verifyPassword(account?.password_hash ?? '', password)
  if (account === undefined || !right) return undefined
  if (stale) {
    const password_hash = await hashPassword(password)
    await inTransaction(store.db, (tx) => updateAccount(store, tx, account.id, { password_hash }))
  }
  return account
}

/** Whether the owner of the account is signed in from this address, in any browser or client. */
async function isKnownAddress(
  { store }: SignInContext,
  account: Account | undefined,
  address: string,
): Promise<boolean> {
  if (account === undefined) return false
  const key = clientAddressKey(address)
  const sessions = await sessionsOf(store, account.identity_uid)
  return sessions.some((session) => clientAddressKey(session.address) === key)
}
