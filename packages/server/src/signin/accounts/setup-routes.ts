import { html } from 'hono/html'
import { ApiError, Code } from '../../api/errors.ts'
import { checkName } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import { lockFirstOrganization, nameFirstOrganization } from '../../iam/first-organization.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import type { SignInContext } from '../context.ts'
import { setupRequiredPage } from '../home/home-page.ts'
import { readForm } from '../pages/form.ts'
import { alert, type FormProblem, field, formToken, type Html, page } from '../pages/layout.ts'
import { anyBrowser } from '../pages/page-operation.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import { hashPassword } from '../passwords/password.ts'
import { byAddress, limitGuesses } from '../rate-limits/guesses.ts'
import { type Browser, signIn } from '../sessions/browser.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import {
  checkNewAccountForm,
  type NewAccountForm,
  newAccountFields,
  readNewAccountForm,
} from './account-fields.ts'
import { createAccount, hasAccounts } from './accounts.ts'
import { SETUP_PATH, setupCodes } from './one-time-links.ts'

/**
 * The owner account (R41): the holder of the link that the server printed becomes the owner of the installation. No password exists before
 * that.
 */
export function setupRoutes(context: SignInContext): PageRoutes {
  const { store, authUrl } = context
  const app = new PageRoutes(context)

  /** Throws code 5 for an invalid code, with the same message for every reason. */
  const checkSetupCode = async (code: string, address: string): Promise<void> => {
    const valid = await limitGuesses(store, byAddress(address), async () =>
      (await hasAccounts(store.db.kysely)) ? undefined : setupCodes(store).read(code),
    )
    if (valid === undefined) throw setupLinkInvalid()
  }
  const readFirstOrganization = () => inTransaction(store.db, (tx) => lockFirstOrganization(store, tx))

  app.get(SETUP_PATH, anyBrowser('ShowSetup'), async (c, { browser }) => {
    const code = c.req.query('code') ?? ''
    if (code === '' && !(await hasAccounts(store.db.kysely))) return c.html(setupRequiredPage())
    await checkSetupCode(code, context.requestMetadataOf(c).address)
    const { organization, named } = await readFirstOrganization()
    return c.html(
      setupPage({ browser, code, name: '', email: '', organization: organization.name, fixed: named }),
    )
  })

  app.post(SETUP_PATH, anyBrowser('Setup'), async (c, { browser }) => {
    const form = await readForm(c, browser)
    const code = form.text('code')
    await checkSetupCode(code, context.requestMetadataOf(c).address)
    const { organization: before, named } = await readFirstOrganization()
    const fixed = named || before.name === ''
    const person = readNewAccountForm(form)
    const organization = fixed ? before.name : form.trimmed('organization')
    const refused = (problem: FormProblem) =>
      c.html(setupPage({ ...person, browser, code, organization, fixed, problem }), 400)
    const nameViolation = fixed ? undefined : checkName(organization, 'organization')
    const problem =
      (await checkNewAccountForm(person, [organization])) ??
      (nameViolation && {
        field: 'organization',
        text: 'The organization name is invalid. Use lowercase letters, digits, spaces, periods, underscores and hyphens.',
      })
    if (problem !== undefined) return refused(problem)

    const passwordHash = await hashPassword(person.password)
    try {
      await signIn(c, context, browser, async (tx) => {
        const { identity, name } = await takeOwnerIdentity(tx, code)
        if (!fixed && organization !== name) await nameFirstOrganization(store, tx, organization)
        await createAccount(store, tx, authUrl, { ...person, passwordHash }, identity)
        await recordEvent(tx, flowEvent(c, context, identity, 'Setup'))
        return { identity, method: 'password', voucher: { kind: 'account' }, groups: [] }
      })
    } catch (error) {
      if (store.db.rules.isUniqueViolation(error))
        return refused({ field: 'organization', text: 'An organization with this name already exists.' })
      throw error
    }
    return c.redirect('/?done=setup', 303)
  })

  /** Uses the code up, in this transaction; returns the identity that the account is for. */
  const takeOwnerIdentity = async (tx: Tx, code: string): Promise<{ identity: string; name: string }> => {
    const { organization, identity } = await lockFirstOrganization(store, tx)
    if ((await setupCodes(store).consume(code, tx)) === undefined || (await hasAccounts(tx)))
      throw setupLinkInvalid()
    if (identity.name === '') {
      throw new ApiError(
        Code.FAILED_PRECONDITION,
        'Precondition failed: the owner identity of this installation was deleted. Run berth admin accounts create to create other accounts',
      )
    }
    return { identity: identity.uid, name: organization.name }
  }

  return app
}

interface SetupPage extends Omit<NewAccountForm, 'password'> {
  readonly browser: Browser
  readonly code: string
  readonly organization: string
  /** The organization has a name that can no longer be chosen here. */
  readonly fixed: boolean
  readonly problem?: FormProblem
}

function setupPage({ browser, code, name, email, organization, fixed, problem }: SetupPage): Html {
  return page(
    { title: 'Create the owner account' },
    html`<h1>Create the owner account</h1>
<p>It owns ${organization === '' || !fixed ? 'the first organization' : `the organization ${organization}`} and administers this server.</p>
${alert(problem)}<form method="post" action="${SETUP_PATH}">
${formToken(browser)}<input type="hidden" name="code" value="${code}">
${newAccountFields({ name, email, problem })}${
  fixed
    ? ''
    : field({
        name: 'organization',
        label: 'Organization name',
        autocomplete: 'organization',
        value: organization,
        hint: 'Use lowercase letters, digits, spaces, periods, underscores and hyphens.',
        maxlength: limits.nameCharsMax,
        problem,
      })
}<button>Create account</button>
</form>`,
  )
}

function setupLinkInvalid(): ApiError {
  return new ApiError(
    Code.NOT_FOUND,
    'Not found: this link has expired, was used or replaced, or an account already exists. Until there is an account, each start of the server and berth admin setup-link print a new link',
  )
}
