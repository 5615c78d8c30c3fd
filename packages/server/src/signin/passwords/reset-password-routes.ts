import type { Context } from 'hono'
import { rateLimited } from '../../api/errors.ts'
import { checkEmail, normalizeEmail } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import { countMail, queueMail } from '../../mail/outbox.ts'
import { clientAddressKey } from '../../pipeline/limits/client-address.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { formatWait, incrementWindows } from '../../storage/counts/windows.ts'
import { inTransaction } from '../../storage/db.ts'
import { endSessions } from '../../tokens/sessions/sessions.ts'
import { checkNewPassword } from '../accounts/account-fields.ts'
import { type Account, confirmAccountEmail, updateAccount } from '../accounts/accounts.ts'
import {
  accountByPasswordCode,
  FORGOT_PASSWORD_PATH,
  RESET_PASSWORD_PATH,
} from '../accounts/one-time-links.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { readForm } from '../pages/form.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { passkeysOf } from '../passkeys/passkeys.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import { type Browser, signIn } from '../sessions/browser.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { choosePasswordPage } from './choose-password-routes.ts'
import { organizationNamesOf } from './organization-names.ts'
import { hashPassword } from './password.ts'
import { queuePasswordChanged } from './password-mail.ts'
import { askOperatorPage, emailSentPage, forgotPasswordPage, resetCodePage } from './reset-password-pages.ts'

const windowMs = limits.passwordResetWindowMs

/**
 * Routes with which a user resets a forgotten password by email. The response to a request is the same for every address, and so is the work:
 * the account is looked up when the email is composed.
 */
export function resetPasswordRoutes(context: SignInContext): PageRoutes {
  const { store } = context
  const app = new PageRoutes(context)

  const accountOfCode = (c: Context<SignInEnv>, code: string): Promise<Account | undefined> =>
    limitGuesses(store, byAddress(context.requestMetadataOf(c).address), () =>
      accountByPasswordCode(store, code, { kind: 'reset-password', take: false }),
    )

  app.get(FORGOT_PASSWORD_PATH, anyBrowser('ShowForgotPassword'), async (c, { browser }) =>
    c.html(context.sendsMail ? forgotPasswordPage(browser, '') : askOperatorPage()),
  )

  app.post(FORGOT_PASSWORD_PATH, anyBrowser('RequestPasswordReset'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    if (!context.sendsMail) return c.html(askOperatorPage(), 404)
    const email = normalizeEmail(form.trimmed('email'))
    const violation = checkEmail(email)
    if (violation !== undefined)
      return c.html(forgotPasswordPage(browser, email, `The email address ${violation.description}.`), 400)
    await queueReset(context, email, {
      requestId: c.env.requestId,
      address: context.requestMetadataOf(c).address,
    })
    return c.html(emailSentPage(email))
  })

  app.get(RESET_PASSWORD_PATH, anyBrowser('ShowResetPassword'), async (c, { browser }) =>
    c.html(resetCodePage(browser)),
  )

  app.post(RESET_PASSWORD_PATH, anyBrowser('ResetPassword'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const text = form.trimmed('code')
    const code = text.slice(text.lastIndexOf('#') + 1)
    const account = await accountOfCode(c, code)
    if (account === undefined) return c.html(resetCodePage(browser, INVALID_CODE), 404)
    const shown = { browser, action: RESET_PASSWORD_PATH, code, account }
    const password = form.text('password')
    if (password === '') return c.html(choosePasswordPage(shown))
    const organizations = await organizationNamesOf(store.db, account.identity_uid)
    const problem = await checkNewPassword(password, { ...account, organizations })
    if (problem !== undefined) return c.html(choosePasswordPage({ ...shown, problem }), 400)

    const password_hash = await hashPassword(password)
    if ((await accountByPasswordCode(store, code, { kind: 'reset-password', take: true })) === undefined)
      return c.html(resetCodePage(browser, INVALID_CODE), 404)
    return resetPassword(c, context, browser, { ...account, password_hash })
  })

  return app
}

const INVALID_CODE = 'This link has expired or was already used. Request another email.'

/** Queues the email for an address, whether or not it has an account. Throws code 8 if this client has requested too many. */
async function queueReset(
  { store }: SignInContext,
  email: string,
  from: { readonly requestId: string; readonly address: string },
): Promise<void> {
  await inTransaction(store.db, async (tx) => {
    const now = store.clock()
    const byClient = {
      rate: { max: limits.passwordResetsPerAddressMax, windowMs },
      key: `password reset from ${clientAddressKey(from.address)}`,
    }
    const waitMs = await incrementWindows(tx, now, [byClient])
    if (waitMs > 0)
      throw rateLimited(
        `too many password resets were requested from this address. Try again ${formatWait(waitMs)}`,
        waitMs,
      )
    const toEmail = {
      rate: { max: limits.passwordResetsPerEmailMax, windowMs },
      key: `password reset to ${email}`,
    }
    if (!(await countMail(tx, now, [toEmail]))) return
    await queueMail(store, tx, {
      kind: 'password-reset',
      uid: store.uids.root(),
      data: { email, ...from },
      lifetimeMs: limits.passwordResetMs,
    })
  })
}

/** Stores the new password, ends all sessions, and signs the user in, unless the account also requires a passkey. */
async function resetPassword(
  c: Context<SignInEnv>,
  context: SignInContext,
  browser: Browser,
  account: Account,
): Promise<Response> {
  const { store } = context
  const identity = account.identity_uid
  const needsPasskey = await inTransaction(store.db, async (tx) => {
    await updateAccount(store, tx, account.id, { password_hash: account.password_hash })
    await confirmAccountEmail(store, tx, account)
    await endSessions(tx, 'identity_uid', identity)
    await queuePasswordChanged(context, tx, account)
    await recordEvent(tx, flowEvent(c, context, identity, 'ResetPassword'))
    return account.passkey_required !== 0 && (await passkeysOf(tx, account.id)).length > 0
  })
  if (needsPasskey) return c.redirect('/sign-in?done=password', 303)
  await signIn(c, context, browser, {
    identity,
    method: 'password',
    voucher: { kind: 'account' },
    groups: [],
  })
  return c.redirect('/account?done=password', 303)
}
