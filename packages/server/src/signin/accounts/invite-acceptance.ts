import type { Context } from 'hono'
import { ApiError, Code } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import {
  acceptInvite,
  findInviteOffer,
  type InviteeMatch,
  type InviteOffer,
  matchInvitee,
} from '../../iam/invitations.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import type { AuthorizationRequest } from '../oauth/authorization-requests.ts'
import type { AuthorizationErrorResponse } from '../oauth/consent/authorization-response.ts'
import { flowEvent } from '../sessions/sign-in-events.ts'

/** Accepts the invite of a flow for the signed-in user. */

/** The same error whatever is wrong with a code (R25). */
export const INVALID_INVITE: AuthorizationErrorResponse = {
  error: 'access_denied',
  description: 'the invite is invalid, has expired, was already used, or is for another user',
  status: 403,
}

/** Returns the offer that the user accepted; undefined if the flow has no invite. A user who already holds the role has accepted it. */
export async function acceptRequestedInvite(
  c: Context<SignInEnv>,
  context: SignInContext,
  { invite: code }: AuthorizationRequest,
  { identity, voucher }: Session,
): Promise<InviteOffer | AuthorizationErrorResponse | undefined> {
  if (code === '') return undefined
  const { store } = context
  const offer = await findInviteOffer(store, code)
  if (offer === undefined) return INVALID_INVITE
  const event = flowEvent(c, context, identity, 'AcceptInvite')
  try {
    await inTransaction(store.db, async (tx) => {
      const { uid } = await acceptInvite(store, tx, code, { ...event, voucher })
      await recordEvent(tx, { ...event, uid })
    })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === Code.ALREADY_EXISTS) return offer
    if (error.code !== Code.NOT_FOUND && error.code !== Code.FAILED_PRECONDITION) throw error
    context.audit.recordDenial(event, { code: error.code, reason: 'the invite cannot be accepted' })
    return INVALID_INVITE
  }
  return offer
}

/** Whether the signed-in user can accept an invite, as far as its email address decides. */
export async function matchSession(
  { store }: Pick<SignInContext, 'store'>,
  offer: InviteOffer,
  { identity, voucher }: Session,
): Promise<InviteeMatch> {
  const row = await store.db.kysely
    .selectFrom('identities')
    .select(['email', 'email_unverified'])
    .where('root', '=', identity)
    .where('uid', '=', identity)
    .executeTakeFirst()
  return matchInvitee(
    { ...offer, root: rootOf(offer.group.uid) },
    voucher,
    row ?? { email: '', email_unverified: '' },
  )
}

/** Why a user cannot accept an invite for an email address. */
export type InviteMismatch = Exclude<InviteeMatch, 'yes' | 'verifies'>

export function isMismatch(match: InviteeMatch): match is InviteMismatch {
  return match === 'no' || match === 'unverified'
}
