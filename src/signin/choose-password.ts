import { Hono } from 'hono'
import { html } from 'hono/html'
import { ApiError, Code } from '../core/errors.ts'
import { recordEvent } from '../storage/audit-events.ts'
import { endSessions } from '../sts/sessions.ts'
import { type Account, changeAccount } from './accounts.ts'
import { type Browser, browserOf, signIn } from './browser.ts'
import type { SignInContext, SignInEnv, SignInRoutes } from './context.ts'
import { readForm } from './form.ts'
import { byAddress, guess } from './guesses.ts'
import { alert, formToken, type Html, page } from './layout.ts'
import { accountOfPasswordCode, CHOOSE_PASSWORD_PATH } from './one-time-links.ts'
import { organizationNamesOf } from './organization-names.ts'
import { hashPassword, passwordProblem } from './password.ts'
import { newPasswordField, usernameField } from './person-fields.ts'
import { flowEvent } from './sign-in-events.ts'

/** Choosing a password by a link that the operator gave: for a new account, or in place of one that was forgotten. */
export function choosePasswordRoutes(context: SignInContext): SignInRoutes {
  const { store } = context
  const app: SignInRoutes = new Hono<SignInEnv>()

  const ownerOf = async (code: string, address: string): Promise<Account> => {
    const account = await guess(store, byAddress(address), () =>
      accountOfPasswordCode(store, code, { take: false }),
    )
    if (account === undefined) throw notGood()
    return account
  }

  app.get(CHOOSE_PASSWORD_PATH, async (c) => {
    const browser = await browserOf(c, context)
    const code = c.req.query('code') ?? ''
    return c.html(choosePage(browser, code, await ownerOf(code, context.placeOf(c).address)))
  })

  app.post(CHOOSE_PASSWORD_PATH, async (c) => {
    const browser = await browserOf(c, context)
    const form = await readForm(c, browser)
    const code = form.text('code')
    const account = await ownerOf(code, context.placeOf(c).address)
    const password = form.text('password')
    const organizations = await organizationNamesOf(store.db, account.identity_uid)
    const problem = await passwordProblem(password, { ...account, organizations })
    if (problem !== undefined) return c.html(choosePage(browser, code, account, problem), 400)

    const password_hash = await hashPassword(password)
    if ((await accountOfPasswordCode(store, code, { take: true })) === undefined) throw notGood()
    const identity = account.identity_uid
    await signIn(c, context, browser, async (tx) => {
      await changeAccount(store, tx, account.id, { password_hash })
      // Whoever knew the password before knows it no more, and is nowhere signed in with it.
      await endSessions(tx, 'identity_uid', identity)
      await recordEvent(tx, flowEvent(c, context, identity, 'ChoosePassword'))
      return { identity, method: 'password', voucher: { kind: 'account' }, groups: [] }
    })
    return c.redirect('/account?done=password', 303)
  })

  return app
}

function choosePage(browser: Browser, code: string, { email }: Account, problem?: string): Html {
  return page(
    { title: 'Choose a password' },
    html`<h1>Choose a password</h1>
<p>For the account ${email}. You are then signed out everywhere else.</p>
${alert(problem)}<form method="post" action="${CHOOSE_PASSWORD_PATH}">
${formToken(browser)}<input type="hidden" name="code" value="${code}">
${usernameField(email)}
${newPasswordField({ autofocus: true })}<button>Save the password</button>
</form>`,
  )
}

function notGood(): ApiError {
  return new ApiError(
    Code.NOT_FOUND,
    'Not found: this link is used or too old; ask whoever gave it to you for another one',
  )
}
