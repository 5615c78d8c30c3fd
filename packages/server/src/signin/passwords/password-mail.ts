import { limits } from '../../config/limits.ts'
import type { MailComposers } from '../../mail/delivery.ts'
import { renderMail } from '../../mail/layout.ts'
import { queueMail } from '../../mail/outbox.ts'
import type { Tx } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { type Account, accountByEmail } from '../accounts/accounts.ts'
import { createPasswordResetLink } from '../accounts/one-time-links.ts'
import type { SignInContext } from '../context.ts'
import { passkeysOf } from '../passkeys/passkeys.ts'

/** Email about the password of an account. */

const MINUTE_MS = 60_000

type MailStore = Pick<Store, 'db' | 'clock' | 'secretsKey'>

/**
 * Composes the email for a user who forgot the password. It looks for the account only here, in the background, so that the response to the
 * request reveals nothing, not even by its time.
 */
export function composePasswordReset(store: MailStore, authUrl: string): MailComposers['password-reset'] {
  return async (_, { email, requestId, address }) => {
    const account = await accountByEmail(store.db.kysely, email)
    if (account === undefined || account.disabled !== 0) return undefined
    const { host } = new URL(authUrl)
    const hasPasskeyOnly =
      account.password_hash === '' && (await passkeysOf(store.db.kysely, account.id)).length > 0
    const common = { to: account.email, subject: `Reset your password on ${host}` }
    const ignore =
      'If you did not request this, ignore this email. Your password stays as it is, and no one can see it.'
    return {
      audit: { method: 'berth.mail/SendPasswordReset', uid: account.identity_uid, requestId, address },
      message: hasPasskeyOnly
        ? renderMail({
            ...common,
            paragraphs: [
              `Someone requested a new password for the account ${account.email} on ${host}.`,
              'Your account has no password: you sign in with a passkey. If you lost it, ask the operator of this server.',
            ],
            notes: [ignore],
          })
        : renderMail({
            ...common,
            paragraphs: [
              `Someone requested a new password for the account ${account.email} on ${host}. The link works once, within ${limits.passwordResetMs / MINUTE_MS} minutes. It ends all sessions of the account.`,
            ],
            link: {
              label: 'Choose a new password',
              url: await createPasswordResetLink(store, authUrl, account),
            },
            notes: [ignore],
          }),
    }
  }
}

/** Queues an email that tells the owner of an account that the password was changed, if the address is known to be theirs. */
export async function queuePasswordChanged(
  { store, sendsMail }: Pick<SignInContext, 'store' | 'sendsMail'>,
  tx: Tx,
  { identity_uid, email, name }: Account,
): Promise<void> {
  if (!sendsMail) return
  const identity = await tx
    .selectFrom('identities')
    .select('email')
    .where('root', '=', identity_uid)
    .where('uid', '=', identity_uid)
    .executeTakeFirst()
  if (identity?.email !== email) return
  await queueMail(store, tx, {
    kind: 'password-changed',
    uid: store.uids.root(),
    data: { email, name },
    lifetimeMs: limits.inviteMailMs,
  })
}

export function composePasswordChanged(authUrl: string): MailComposers['password-changed'] {
  const { host } = new URL(authUrl)
  return async (_, { email, name }) => ({
    message: renderMail({
      to: email,
      subject: `Your password on ${host} was changed`,
      paragraphs: [
        `Hello ${name},`,
        `the password of your account ${email} on ${host} was changed, and all other sessions ended.`,
      ],
      notes: ['If this was not you, ask the operator of this server to reset your account.'],
    }),
  })
}
