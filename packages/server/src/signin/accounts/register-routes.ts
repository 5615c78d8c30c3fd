import { html } from 'hono/html'
import { ApiError, Code } from '../../api/errors.ts'
import { normalizeEmail } from '../../api/fields.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import type { SignInContext } from '../context.ts'
import { pathAfterSignIn } from '../oauth/authorization-requests.ts'
import { readAuthorizationRequest } from '../oauth/browser-binding.ts'
import { readForm } from '../pages/form.ts'
import { alert, type FormProblem, formToken, type Html, page } from '../pages/layout.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { organizationNamesOfInvite } from '../passwords/organization-names.ts'
import { hashPassword } from '../passwords/password.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import { type Browser, signIn } from '../sessions/browser.ts'
import { registrationOffer } from '../sessions/render-sign-in-page.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { requestField } from '../sessions/sign-in-page.ts'
import { checkNewAccountForm, newAccountFields, readNewAccountForm } from './account-fields.ts'
import { createAccount } from './accounts.ts'

const REGISTER_PATH = '/sign-in/register'

/** Path of the page on which a user creates an account; `request` is the secret of the request that waits. */
export function registerPath(request: string): string {
  return `${REGISTER_PATH}?request=${encodeURIComponent(request)}`
}

/** Routes with which invited users create an account. */
export function registerRoutes(context: SignInContext): PageRoutes {
  const { store, authUrl } = context
  const app = new PageRoutes(context)

  app.get(REGISTER_PATH, anyBrowser('ShowRegister'), async (c, { browser }) => {
    const secret = c.req.query('request') ?? ''
    const offer = await registrationOffer(context, await readAuthorizationRequest(c, context, secret))
    if (offer === undefined) throw notInvited()
    const fixedEmail = offer.email !== ''
    return c.html(registerPage({ browser, secret, name: '', email: offer.email, fixedEmail }))
  })

  app.post(REGISTER_PATH, anyBrowser('Register'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const secret = form.text('request')
    const flow = await readAuthorizationRequest(c, context, secret)
    const offer = await registrationOffer(context, flow)
    if (offer === undefined) throw notInvited()
    const fixedEmail = offer.email !== ''
    const entered = readNewAccountForm(form)
    const person = fixedEmail ? { ...entered, email: normalizeEmail(offer.email) } : entered
    const refused = (problem: FormProblem) =>
      c.html(registerPage({ ...person, browser, secret, problem, fixedEmail }), 400)
    const problem = await checkNewAccountForm(person, await organizationNamesOfInvite(store.db, flow.invite))
    if (problem !== undefined) return refused(problem)

    const passwordHash = await hashPassword(person.password)
    // The response shows whether an address has an account, so attempts are limited.
    const created = await limitGuesses(store, byAddress(context.requestMetadataOf(c).address), async () => {
      try {
        await signIn(c, context, browser, async (tx) => {
          const account = await createAccount(store, tx, authUrl, {
            ...person,
            passwordHash,
            emailVerified: offer.provesEmail,
          })
          await recordEvent(tx, flowEvent(c, context, account.identity_uid, 'Register'))
          return {
            identity: account.identity_uid,
            method: 'password',
            voucher: { kind: 'account' },
            groups: [],
          }
        })
        return true
      } catch (error) {
        if (store.db.rules.isUniqueViolation(error)) return undefined
        throw error
      }
    })
    if (created === undefined)
      return refused({
        field: 'email',
        text: 'An account with this email address already exists. Sign in instead.',
      })
    return c.redirect(pathAfterSignIn(secret), 303)
  })

  return app
}

interface RegisterPage {
  readonly browser: Browser
  readonly secret: string
  readonly name: string
  readonly email: string
  readonly fixedEmail: boolean
  readonly problem?: FormProblem
}

function registerPage({ browser, secret, name, email, fixedEmail, problem }: RegisterPage): Html {
  return page(
    { title: 'Create an account' },
    html`<h1>Create an account</h1>
${alert(problem)}<form method="post" action="${REGISTER_PATH}">
${formToken(browser)}${requestField(secret)}${newAccountFields({ name, email, fixedEmail, problem })}<button>Create account</button>
</form>
<p class="below">Already have an account? <a href="/sign-in?request=${encodeURIComponent(secret)}">Sign in</a></p>`,
  )
}

function notInvited(): ApiError {
  return new ApiError(
    Code.PERMISSION_DENIED,
    'Permission denied: creating an account requires an invite for anyone, or the link that was sent to the email address of the invite',
  )
}
