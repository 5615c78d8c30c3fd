import type { Context } from 'hono'
import { Code } from '../../api/errors.ts'
import { assignShare } from '../../pipeline/request/request-context.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import type { Account } from '../accounts/accounts.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { pathAfterSignIn } from '../oauth/authorization-requests.ts'
import { type Browser, signIn } from './browser.ts'
import { flowEvent } from './sign-in-events.ts'

/** Completes or rejects a sign-in with a local account. */

const events = { password: 'Password', passkey: 'Passkey' } as const

/** Signs the owner of an account in, and redirects to the request that waits or to the account page. */
export async function signInToAccount(
  c: Context<SignInEnv>,
  context: SignInContext,
  browser: Browser,
  { account, method, request }: { account: Account; method: keyof typeof events; request: string },
): Promise<Response> {
  const identity = account.identity_uid
  assignShare(identity)
  await signIn(c, context, browser, async (tx) => {
    await recordEvent(tx, flowEvent(c, context, identity, events[method]))
    return { identity, method, voucher: { kind: 'account' }, groups: [] }
  })
  return c.redirect(pathAfterSignIn(request), 303)
}

/** Records a failed sign-in to an account in the audit log. */
export function recordFailedSignIn(
  c: Context<SignInEnv>,
  context: SignInContext,
  { account, method, reason }: { account: Account; method: keyof typeof events; reason: string },
): void {
  context.audit.recordDenial(flowEvent(c, context, account.identity_uid, events[method]), {
    code: Code.UNAUTHENTICATED,
    reason,
  })
}
