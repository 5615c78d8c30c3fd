import type { Context } from 'hono'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { pendingStore } from '../../storage/pending-store.ts'
import { type Account, accountById } from '../accounts/accounts.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import type { Browser } from '../sessions/browser.ts'

/** The step between the password and the passkey of an account that requires both. */

/** Stores for this browser that the password was correct, and redirects to the passkey page. */
export async function startSecondFactor(
  c: Context<SignInEnv>,
  { store }: SignInContext,
  { secret }: Browser,
  account: Account,
  request: string,
): Promise<Response> {
  await secondFactors(store).set(secret, { account: account.id, password: account.password_hash })
  return c.redirect(
    `/sign-in/second-factor${request === '' ? '' : `?request=${encodeURIComponent(request)}`}`,
    303,
  )
}

/** Returns the account whose password this browser gave. Throws code 5 if there is none, it expired, or the password changed since. */
export async function requireFirstFactor({ store }: SignInContext, { secret }: Browser): Promise<Account> {
  const step = await secondFactors(store).read(secret)
  const account = step && (await accountById(store.db.kysely, step.account))
  if (account === undefined || account.disabled !== 0 || account.password_hash !== step?.password)
    throw new ApiError(Code.NOT_FOUND, 'Not found: this sign-in expired. Start again')
  return account
}

/** Ends the step after the passkey was verified. */
export async function completeSecondFactor({ store }: SignInContext, { secret }: Browser): Promise<void> {
  await secondFactors(store).consume(secret)
}

function secondFactors(store: SignInContext['store']) {
  return pendingStore<{ readonly account: string; readonly password: string }>(
    store,
    'second-factor',
    limits.passkeyStepMs,
  )
}
