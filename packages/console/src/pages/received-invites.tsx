import type { ReceivedInvite } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { api } from '../api/client.ts'
import { parentOf } from '../api/queries/groups.ts'
import { receivedInvitesQuery } from '../api/queries/home.ts'
import { messageOf, queryClient } from '../api/query-client.ts'
import { useRequest } from '../api/use-request.ts'
import { Time } from '../components/time.tsx'
import { useLeave } from '../use-page.ts'

/** The open invites for the address of the user. Nothing is shown where there are none. */
export function ReceivedInvites() {
  const { data } = useQuery(receivedInvitesQuery)
  if (data === undefined || (data.invites.length === 0 && !data.more)) return null
  return (
    <section>
      <h2>Invites for you</h2>
      <ul className="steps">
        {data.invites.map((invite) => (
          <Received key={invite.uid} invite={invite} />
        ))}
      </ul>
      {data.more && <p className="muted">There may be more invites. Accept those with their links.</p>}
    </section>
  )
}

function Received({ invite }: { readonly invite: ReceivedInvite }) {
  const { uid, groupPath, roleName, inviter, expirationTime } = invite
  const leave = useLeave()
  const { send, isRunning, error } = useRequest({
    action: 'accept-invite',
    title: `Accept the invite to ${groupPath}`,
    send: (input: { readonly uid: string }) => api.invitations.acceptReceivedInvite(input),
    onSent: async () => {
      // What the user may see has changed.
      await queryClient.invalidateQueries()
      // A dialog may have been opened meanwhile, with a form.
      await leave({ to: '/folders/$', params: { _splat: parentOf(uid) }, search: {}, ignoreBlocker: false })
    },
  })
  return (
    <li>
      <div>
        <strong>
          <bdi>{groupPath}</bdi>
        </strong>
        <span className="second">
          Role {roleName}
          {inviter !== '' && (
            <>
              , from <bdi>{inviter}</bdi>
            </>
          )}
          , expires <Time value={expirationTime} isRelative />
        </span>
        {error !== null && (
          <p className="alert" role="alert">
            {messageOf(error)}
          </p>
        )}
      </div>
      <Button
        className="button"
        aria-label={`Accept the invite to ${groupPath}`}
        isPending={isRunning({ uid })}
        onPress={() => send({ uid })}
      >
        Accept
      </Button>
    </li>
  )
}
