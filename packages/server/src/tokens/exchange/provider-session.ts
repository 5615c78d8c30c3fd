import { limits } from '../../config/limits.ts'
import type { IncomingCall } from '../../pipeline/call.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { startSession } from '../sessions/sessions.ts'
import type { Assumed } from './assume.ts'
import { type OrganizationProvider, verifiedEmail } from './person.ts'

/**
 * Starts the session of a user who exchanges an ID token of an organization's provider. The access token ends with the session, so deleting
 * the provider ends both (R12), and the groups in the ID token count for as long (R22).
 */
export async function startProviderSession(
  store: Store,
  { identity, claims }: Assumed,
  provider: OrganizationProvider,
  { address }: Pick<IncomingCall, 'address'>,
): Promise<string> {
  const { id } = await inTransaction(store.db, (tx) =>
    startSession(store, tx, {
      identity,
      method: 'provider',
      voucher: { kind: 'organization', provider: provider.uid, email: verifiedEmail(claims.payload) },
      groups: provider.groupsOf(claims.payload) ?? [],
      kind: 'client',
      client: 'token exchange',
      audiences: [],
      address,
      userAgent: '',
      lifetimeMs: limits.accessTokenLifetimeMs,
    }),
  )
  return id
}
