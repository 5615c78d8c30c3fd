import { type ApiError, invalidArgument, permissionDenied } from '../../api/errors.ts'
import { readRegisteredThrough } from '../../iam/identities/users.ts'
import { hasUserAuthority } from '../../pipeline/vouching.ts'
import type { SignInContext } from '../context.ts'
import { accessRule, requireSession, type SessionProof } from '../pages/page-operation.ts'
import type { BrowserCaller } from '../sessions/session-cookie.ts'
import { type Account, accountOfIdentity } from './accounts.ts'

/** Access rules of the account pages. */

export interface SignedInUser extends SessionProof {
  /** Undefined for a user of an identity provider. */
  readonly account: Account | undefined
  /** Whether this session has authority over the whole user (pipeline/vouching.ts). */
  readonly actsAsPerson: boolean
}

export interface AccountOwner extends SignedInUser {
  readonly account: Account
}

/** A signed-in user, with a local account or of a provider. */
export const signedInUser = accessRule(readSignedInUser)

/** A signed-in user with a local account. Throws code 3 for users of a provider, and code 7 without user authority. */
export const accountOwner = accessRule(async (caller, context): Promise<AccountOwner> => {
  const user = await readSignedInUser(caller, context)
  const { account } = user
  if (account === undefined)
    throw invalidArgument('', 'your identity provider manages your account. Change it there')
  if (!user.actsAsPerson) throw cannotActAsPerson()
  return { ...user, account }
})

async function readSignedInUser(caller: BrowserCaller, { store }: SignInContext): Promise<SignedInUser> {
  const signedIn = requireSession(caller)
  const { identity, voucher } = signedIn.session
  const { kysely } = store.db
  return {
    ...signedIn,
    account: await accountOfIdentity(kysely, identity),
    actsAsPerson: hasUserAuthority(voucher, await readRegisteredThrough(kysely, identity)),
  }
}

export function cannotActAsPerson(): ApiError {
  return permissionDenied(
    'you signed in with an identity provider that did not register you, so you can end only this session. To end others, sign in with the method that you registered with',
  )
}
