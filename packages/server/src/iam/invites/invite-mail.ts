import {
  type InviteMail,
  InviteMail_State,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { normalizeEmail } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { countMail, type MailStatus, queueMail, recordUnsentMail } from '../../mail/outbox.ts'
import type { Tx } from '../../storage/db.ts'
import type { GroupInviteRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { readReceivedInvite, withProof } from './invite-code.ts'

/** Email that invites a user: its link contains the code of the invite, and the proof that its reader has the address. */

export const INVITE_PATH = '/invite'

/** Returns the link of an invite. Browsers do not send the part after `#`, so the code is in no log. */
export function inviteLink(authUrl: string, code: string): string {
  return `${authUrl}${INVITE_PATH}#${code}`
}

type MailedInvite = Pick<GroupInviteRow, 'uid' | 'root' | 'email' | 'expires_ms'>

/** Who lets Berth send an email, as a key to count by: the uid of an identity, or the address of a client. */
export interface MailSender {
  readonly kind: 'identity' | 'address'
  readonly id: string
}

/**
 * Queues the email of an invite. Beyond the limits it is not sent, and its state says why: the invite itself is valid, and its creator can
 * send the link.
 */
export async function queueInviteMail(
  store: Pick<Store, 'clock' | 'secretsKey'>,
  tx: Tx,
  { uid, root, email, expires_ms }: MailedInvite,
  text: string,
  sender: MailSender,
): Promise<MailStatus> {
  const now = store.clock()
  const windowMs = limits.inviteMailWindowMs
  const isPermitted = await countMail(tx, now, [
    {
      rate: { max: limits.inviteMailsPerCallerMax, windowMs },
      key: `invite mail of ${sender.kind} ${sender.id}`,
    },
    { rate: { max: limits.inviteMailsPerOrganizationMax, windowMs }, key: `invite mail of ${root}` },
    {
      rate: { max: limits.inviteMailsPerRecipientMax, windowMs },
      key: `invite mail to ${normalizeEmail(email)}`,
    },
  ])
  if (!isPermitted) return recordUnsentMail(store, tx, { kind: 'invite', uid, problem: TOO_MANY })
  const { code } = readReceivedInvite(text)
  return queueMail(store, tx, {
    kind: 'invite',
    uid,
    data: { to: email, text: withProof(store.secretsKey, code, { uid, email }) },
    lifetimeMs: Math.min(limits.inviteMailMs, expires_ms - now),
  })
}

const TOO_MANY =
  'too many invites were sent in the last 24 hours by this caller, in this organization or to this address; send the link yourself'

const states: Readonly<Record<string, InviteMail_State>> = {
  queued: InviteMail_State.QUEUED,
  sent: InviteMail_State.SENT,
  failed: InviteMail_State.FAILED,
}

export function toInviteMail({ state, attempts, problem, updated_ms }: MailStatus): InviteMail {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.InviteMail',
    state: states[state] ?? InviteMail_State.UNSPECIFIED,
    attempts,
    problem,
    updateTime: timestampOf(updated_ms),
  }
}
