import type { Context } from 'hono'
import { ApiError, Code } from '../../api/errors.ts'
import { normalizeEmail } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../../storage/db.ts'
import { endOtherSessions, endOwnSession, sessionsOf } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { readUserProfile } from '../oauth/id-tokens.ts'
import { readForm } from '../pages/form.ts'
import type { FormProblem } from '../pages/layout.ts'
import { PageRoutes } from '../pages/page-routes.ts'
import {
  addPasskey,
  createRegistrationOptions,
  passkeysOf,
  passkeysUnsupportedReason,
  verifyNewPasskey,
} from '../passkeys/passkeys.ts'
import { organizationNamesOf } from '../passwords/organization-names.ts'
import { hashPassword, verifyPassword } from '../passwords/password.ts'
import { byAccount, limitGuesses } from '../rate-limits/guesses.ts'
import { signOut } from '../sessions/browser.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'
import { accountOwner, cannotActAsPerson, type SignedInUser, signedInUser } from './account-access.ts'
import { checkNewPassword } from './account-fields.ts'
import { accountPage, deleteAccountPage, type NoticeKey, notices } from './account-page.ts'
import { accountById, checkAccountName, deleteAccount, renameAccount, updateAccount } from './accounts.ts'

/** Routes of the account page: a signed-in user's account, passkeys and sessions. */

export function accountRoutes(context: SignInContext): PageRoutes {
  const { store } = context
  const app = new PageRoutes(context)

  const changeWithAudit = (
    c: Context<SignInEnv>,
    { session }: SignedInUser,
    method: string,
    work: (tx: Tx) => Promise<void>,
  ) =>
    inTransaction(store.db, async (tx) => {
      await work(tx)
      await recordEvent(tx, flowEvent(c, context, session.identity, method))
    })
  const done = (c: Context<SignInEnv>, what: NoticeKey) => c.redirect(`/account?done=${what}`, 303)
  const renderAccount = async (
    c: Context<SignInEnv>,
    { browser, session, account, actsAsPerson }: SignedInUser,
    problem?: FormProblem,
    status: 200 | 400 | 401 = 200,
  ) => {
    const person = await readUserProfile(store, session.identity)
    if (person === undefined) throw identityDeleted()
    const done = c.req.query('done') ?? ''
    const body = accountPage({
      browser,
      session,
      account,
      person,
      problem,
      noticeText:
        problem === undefined && Object.hasOwn(notices, done) ? notices[done as NoticeKey] : undefined,
      passkeys: account === undefined ? [] : await passkeysOf(store.db.kysely, account.id),
      passkeysUnsupportedReason: passkeysUnsupportedReason(context.authUrl),
      actsAsPerson,
      sessions: actsAsPerson ? await sessionsOf(store, session.identity) : [session],
      nowMs: store.clock(),
    })
    return c.html(body, status)
  }

  app.get('/account', signedInUser('ShowAccount'), async (c, user) => renderAccount(c, user))

  app.post('/account/name', accountOwner('UpdateAccount'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    const name = form.trimmed('name')
    const violation = checkAccountName(name)
    if (violation !== undefined) {
      const problem = { field: 'name', text: `Your name ${violation.description}.`, value: name }
      return renderAccount(c, owner, problem, 400)
    }
    await changeWithAudit(c, owner, 'UpdateAccount', (tx) => renameAccount(store, tx, owner.account, name))
    return done(c, 'name')
  })

  app.post('/account/password', accountOwner('ChangePassword'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    const { account, session } = owner
    const { address } = context.requestMetadataOf(c)
    const given = form.text('current')
    const right = await limitGuesses(store, byAccount(account.id, address, true), async () =>
      account.password_hash !== '' && (await verifyPassword(account.password_hash, given)).right
        ? true
        : undefined,
    )
    if (right === undefined)
      return renderAccount(c, owner, { field: 'current', text: 'Incorrect current password.' }, 401)
    const password = form.text('password')
    const organizations = await organizationNamesOf(store.db, account.identity_uid)
    const problem = await checkNewPassword(password, { ...account, organizations })
    if (problem !== undefined) return renderAccount(c, owner, problem, 400)
    const password_hash = await hashPassword(password)
    await changeWithAudit(c, owner, 'ChangePassword', async (tx) => {
      await updateAccount(store, tx, account.id, { password_hash })
      await endOtherSessions(tx, session)
    })
    return done(c, 'password')
  })

  app.post('/account/second-factor', accountOwner('UpdateSecondFactor'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    if (!isRecent(context, owner)) return redirectToSignInAgain(c)
    const required = form.text('required') === 'yes'
    if (required && (await passkeysOf(store.db.kysely, owner.account.id)).length === 0)
      return renderAccount(c, owner, { text: 'Add a passkey first.' }, 400)
    await changeWithAudit(c, owner, 'UpdateAccount', (tx) =>
      updateAccount(store, tx, owner.account.id, { passkey_required: required ? 1 : 0 }),
    )
    return done(c, 'second-factor')
  })

  app.post('/account/passkeys/options', accountOwner('CreateNewPasskeyOptions'), async (c, owner) => {
    await readForm(c, owner.browser)
    if (!isRecent(context, owner))
      return c.json({ problem: 'Sign out and sign in again first. Your last sign-in was too long ago.' }, 401)
    return c.json(await createRegistrationOptions(context, owner.browser, owner.account))
  })

  app.post('/account/passkeys', accountOwner('AddPasskey'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    const { account, browser } = owner
    if (!isRecent(context, owner)) return redirectToSignInAgain(c)
    const name = form.trimmed('name')
    const violation = checkAccountName(name)
    if (violation !== undefined) {
      const problem = {
        field: 'passkey-name',
        text: `The passkey name ${violation.description}.`,
        value: name,
      }
      return renderAccount(c, owner, problem, 400)
    }
    const passkey = await verifyNewPasskey(context, browser, account, form.text('answer'))
    if (passkey === undefined)
      return renderAccount(c, owner, { text: 'The passkey was not added. Try again.' }, 400)
    let added = false
    try {
      await changeWithAudit(c, owner, 'AddPasskey', async (tx) => {
        added = await addPasskey(store, tx, account.id, { ...passkey, name })
        if (!added) throw tooManyPasskeys()
      })
    } catch (error) {
      if (store.db.rules.isUniqueViolation(error))
        return renderAccount(c, owner, { text: 'This passkey is already added.' }, 400)
      throw error
    }
    return done(c, 'passkey-added')
  })

  app.post('/account/passkeys/rename', accountOwner('RenamePasskey'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    const name = form.trimmed('name')
    const violation = checkAccountName(name)
    if (violation !== undefined) {
      const text = `The passkey name ${violation.description}.`
      return renderAccount(c, owner, { field: `name-${form.text('id')}`, text, value: name }, 400)
    }
    await changeWithAudit(c, owner, 'RenamePasskey', async (tx) => {
      const renamed = await tx
        .updateTable('passkeys')
        .set({ name })
        .where('id', '=', form.text('id'))
        .where('account_id', '=', owner.account.id)
        .returning('id')
        .execute()
      if (renamed.length === 0) throw ownResourceNotFound('passkey')
    })
    return done(c, 'passkey-renamed')
  })

  app.post('/account/passkeys/remove', accountOwner('RemovePasskey'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    const { account } = owner
    if (!isRecent(context, owner)) return redirectToSignInAgain(c)
    const passkeys = await passkeysOf(store.db.kysely, account.id)
    if (account.password_hash === '' && passkeys.length === 1)
      return renderAccount(
        c,
        owner,
        { text: 'This passkey cannot be removed: it is the only way to sign in to your account.' },
        400,
      )
    await changeWithAudit(c, owner, 'RemovePasskey', async (tx) => {
      const removed = await tx
        .deleteFrom('passkeys')
        .where('id', '=', form.text('id'))
        .where('account_id', '=', account.id)
        .returning('id')
        .execute()
      if (removed.length === 0) throw ownResourceNotFound('passkey')
      if ((await passkeysOf(tx, account.id)).length === 0)
        await updateAccount(store, tx, account.id, { passkey_required: 0 })
    })
    return done(c, 'passkey-removed')
  })

  app.post('/account/sessions/end', signedInUser('EndSession'), async (c, user) => {
    const form = await readForm(c, user.browser)
    const { session, browser } = user
    const id = form.text('id')
    if (id === session.id) {
      await signOut(c, context, browser)
      return c.redirect('/sign-in?done=signed-out', 303)
    }
    if (!user.actsAsPerson) throw cannotActAsPerson()
    await changeWithAudit(c, user, 'EndSession', async (tx) => {
      if (!(await endOwnSession(tx, session.identity, id))) throw ownResourceNotFound('session')
    })
    return done(c, 'session-ended')
  })

  app.post('/account/sessions/end-others', signedInUser('EndOtherSessions'), async (c, user) => {
    await readForm(c, user.browser)
    if (!user.actsAsPerson) throw cannotActAsPerson()
    await changeWithAudit(c, user, 'EndSession', (tx) => endOtherSessions(tx, user.session))
    return done(c, 'sessions-ended')
  })

  app.get('/account/delete', signedInUser('ShowDeleteAccount'), async (c, user) => {
    if (user.account === undefined || !user.actsAsPerson) return c.redirect('/account', 303)
    return c.html(deleteAccountPage(user.browser, user.account))
  })

  app.post('/account/delete', accountOwner('DeleteAccount'), async (c, owner) => {
    const form = await readForm(c, owner.browser)
    if (!isRecent(context, owner)) return redirectToSignInAgain(c)
    if (normalizeEmail(form.trimmed('email')) !== owner.account.email)
      return c.html(
        deleteAccountPage(owner.browser, owner.account, {
          field: 'email',
          text: 'This is not the email address of this account.',
          value: form.trimmed('email'),
        }),
        400,
      )
    await changeWithAudit(c, owner, 'DeleteAccount', async (tx) => {
      const account = await accountById(tx, owner.account.id)
      if (account !== undefined) await deleteAccount(store, tx, account)
    })
    await signOut(c, context, { session: undefined })
    return c.redirect('/sign-in?done=deleted', 303)
  })

  return app
}

/** Whether the sign-in is recent enough to add a credential: an unattended browser must not give lasting access. */
function isRecent({ store }: SignInContext, { session }: SignedInUser): boolean {
  return session.createdMs > store.clock() - limits.recentSignInMs
}

function redirectToSignInAgain(c: Context<SignInEnv>): Response {
  return c.redirect('/sign-in?again', 303)
}

function ownResourceNotFound(what: 'passkey' | 'session'): ApiError {
  return new ApiError(Code.NOT_FOUND, `Not found: you have no such ${what}. It may already be removed`)
}

function tooManyPasskeys(): ApiError {
  return new ApiError(
    Code.FAILED_PRECONDITION,
    `Precondition failed: an account can have at most ${limits.passkeysMax} passkeys. Remove one first`,
  )
}

function identityDeleted(): ApiError {
  return new ApiError(Code.UNAUTHENTICATED, 'Unauthenticated: this identity no longer exists')
}
