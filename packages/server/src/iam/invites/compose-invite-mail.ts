import type { ComposedMail, MailComposers } from '../../mail/delivery.ts'
import { formatMailTime, renderMail } from '../../mail/layout.ts'
import type { Store } from '../../storage/store.ts'
import { findInviteOffer } from '../invitations.ts'
import { inviteLink } from './invite-mail.ts'

/** Organizations choose their names, so a long one must not become the message. */
const NAME_CHARS_SHOWN = 80

function shorten(name: string): string {
  const letters = [...name]
  return letters.length <= NAME_CHARS_SHOWN ? name : `${letters.slice(0, NAME_CHARS_SHOWN).join('')}…`
}

/** Composes the email of an invite that is still open and for the same address. */
export function composeInviteMail(
  store: Pick<Store, 'db' | 'clock' | 'secretsKey'>,
  authUrl: string,
): MailComposers['invite'] {
  return async (uid, { to, text }): Promise<ComposedMail | undefined> => {
    const offer = await findInviteOffer(store, text)
    if (offer === undefined || !offer.provesEmail) return undefined
    const group = shorten(offer.group.name)
    const by = offer.inviter === '' ? 'You were invited' : `${shorten(offer.inviter)} invited you`
    return {
      message: renderMail({
        to,
        subject: `Invite to ${group} on ${new URL(authUrl).host}`,
        paragraphs: [`${by} to ${group} with the role ${shorten(offer.role.name)}.`],
        link: { label: 'View the invite', url: inviteLink(authUrl, text) },
        notes: [
          `The invite is for ${to} only and expires at ${formatMailTime(offer.expiresMs)}. Do not forward this email: the link proves that the address is yours.`,
          'If you did not expect the invite, ignore this email.',
        ],
      }),
      audit: { method: 'berth.mail/SendInvite', uid },
    }
  }
}
