import { html } from 'hono/html'
import { ApiError, Code } from '../../api/errors.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { endSessions } from '../../tokens/sessions/sessions.ts'
import { checkNewPassword, newPasswordField, usernameField } from '../accounts/account-fields.ts'
import { type Account, updateAccount } from '../accounts/accounts.ts'
import { accountByPasswordCode, CHOOSE_PASSWORD_PATH } from '../accounts/one-time-links.ts'
import type { SignInContext } from '../context.ts'
import { readForm } from '../pages/form.ts'
import { alert, type FormProblem, formToken, type Html, page } from '../pages/layout.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import { type Browser, signIn } from '../sessions/browser.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { organizationNamesOf } from './organization-names.ts'
import { hashPassword } from './password.ts'
import { queuePasswordChanged } from './password-mail.ts'

/** Routes with which a user chooses a password by a link of the operator: for a new account, or to replace a forgotten one. */
export function choosePasswordRoutes(context: SignInContext): PageRoutes {
  const { store } = context
  const app = new PageRoutes(context)

  const requireAccountOfCode = async (code: string, address: string): Promise<Account> => {
    const account = await limitGuesses(store, byAddress(address), () =>
      accountByPasswordCode(store, code, { kind: 'choose-password', take: false }),
    )
    if (account === undefined) throw passwordLinkInvalid()
    return account
  }

  app.get(CHOOSE_PASSWORD_PATH, anyBrowser('ShowChoosePassword'), async (c, { browser }) => {
    const code = c.req.query('code') ?? ''
    return c.html(
      choosePasswordPage({
        browser,
        action: CHOOSE_PASSWORD_PATH,
        code,
        account: await requireAccountOfCode(code, context.requestMetadataOf(c).address),
      }),
    )
  })

  app.post(CHOOSE_PASSWORD_PATH, anyBrowser('ChoosePassword'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const code = form.text('code')
    const account = await requireAccountOfCode(code, context.requestMetadataOf(c).address)
    const password = form.text('password')
    const organizations = await organizationNamesOf(store.db, account.identity_uid)
    const problem = await checkNewPassword(password, { ...account, organizations })
    if (problem !== undefined)
      return c.html(
        choosePasswordPage({ browser, action: CHOOSE_PASSWORD_PATH, code, account, problem }),
        400,
      )

    const password_hash = await hashPassword(password)
    if ((await accountByPasswordCode(store, code, { kind: 'choose-password', take: true })) === undefined)
      throw passwordLinkInvalid()
    const identity = account.identity_uid
    await signIn(c, context, browser, async (tx) => {
      await updateAccount(store, tx, account.id, { password_hash })
      // Others may have known the previous password, so its sessions end too.
      await endSessions(tx, 'identity_uid', identity)
      if (account.password_hash !== '') await queuePasswordChanged(context, tx, account)
      await recordEvent(tx, flowEvent(c, context, identity, 'ChoosePassword'))
      return { identity, method: 'password', voucher: { kind: 'account' }, groups: [] }
    })
    return c.redirect('/account?done=password', 303)
  })

  return app
}

export interface ChoosePasswordPage {
  readonly browser: Browser
  /** Path that the form is sent to. */
  readonly action: string
  readonly code: string
  readonly account: Pick<Account, 'email'>
  readonly problem?: FormProblem
}

export function choosePasswordPage({ browser, action, code, account, problem }: ChoosePasswordPage): Html {
  const { email } = account
  return page(
    { title: 'Choose a password' },
    html`<h1>Choose a password</h1>
<p>For the account ${email}. This signs you out everywhere else.</p>
${alert(problem)}<form method="post" action="${action}">
${formToken(browser)}<input type="hidden" name="code" value="${code}">
${usernameField(email)}
${newPasswordField({ autofocus: true, problem })}<button>Save password</button>
</form>`,
  )
}

function passwordLinkInvalid(): ApiError {
  return new ApiError(
    Code.NOT_FOUND,
    'Not found: this link has expired or was already used. Ask the operator for a new one',
  )
}
