import { useQuery } from '@tanstack/react-query'
import type { AddressState } from '../../address-query.ts'
import { whoAmI } from '../../api/queries/groups.ts'
import { Title } from '../../components/title.tsx'
import { Events, preloadEvents } from './events.tsx'

const CAPABILITY = 'subscriptions.create'

export const preload = (_uid: string, state: AddressState): readonly Promise<void>[] =>
  preloadEvents('', state)

/** Who did what: all events that the user may read. */
export function AuditPage() {
  const { data } = useQuery(whoAmI)
  const canRead = data?.capabilities.some(({ role, capabilities }) =>
    (role?.capabilities ?? capabilities).includes(CAPABILITY),
  )
  const missing = canRead === false ? `Requires the capability ${CAPABILITY} in a folder` : undefined
  return (
    <>
      <Title text="Audit log" />
      <p className="muted">
        Changes, denied calls and issued tokens in the folders whose events you may read.
      </p>
      <Events within="" path="" missing={missing} />
    </>
  )
}
