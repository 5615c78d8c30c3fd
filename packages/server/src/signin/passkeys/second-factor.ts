import type { Context } from 'hono'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { pendingStore } from '../../storage/pending-store.ts'
import { type Account, accountById } from '../accounts/accounts.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import type { Browser } from '../sessions/browser.ts'

/** Between the password of an account that asks for a passkey as well, and the passkey. */

/** Remembers for this browser that the password was right, and asks for the passkey. */
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

/** Whose password this browser just gave. Throws code 5 when it was not, or too long ago, or is another one by now. */
export async function requireFirstFactor({ store }: SignInContext, { secret }: Browser): Promise<Account> {
  const step = await secondFactors(store).read(secret)
  const account = step && (await accountById(store.db.kysely, step.account))
  if (account === undefined || account.disabled !== 0 || account.password_hash !== step?.password)
    throw new ApiError(Code.NOT_FOUND, 'Not found: this sign-in took too long; begin again')
  return account
}

/** Ends the step: its passkey has been shown. */
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
