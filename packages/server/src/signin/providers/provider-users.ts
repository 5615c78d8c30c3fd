import type { Uid } from '../../api/uid.ts'
import { findUser, registerUser, type UserClaims } from '../../iam/identities/users.ts'
import { insertBinding } from '../../iam/role-bindings.ts'
import { recordedProviderOf } from '../../pipeline/vouching.ts'
import type { Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { type Provider, providerOf, voucherOf } from './providers.ts'

/** Somebody, and the provider that vouches for them. */
export interface ProviderIdentity {
  readonly provider: Provider
  readonly person: UserClaims
}

/** `gone`: the provider has been deleted or changed meanwhile. `stranger`: they were never here, and may not come in. */
export type ProviderUserResult = { readonly uid: Uid; readonly isNew: boolean } | 'gone' | 'stranger'

/**
 * Lets somebody in whom a provider vouches for, in the transaction. Whoever comes to an organization for the first time gets its
 * default role, if that is still there.
 */
export async function findOrRegisterUser(
  store: Store,
  tx: Tx,
  { provider, person }: ProviderIdentity,
  { strangers }: { readonly strangers: boolean },
): Promise<ProviderUserResult> {
  if (!(await lockProvider(store, tx, provider))) return 'gone'
  if (!strangers && (await findUser(store, tx, person)) === undefined) return 'stranger'
  const voucher = voucherOf(provider, person)
  const { uid, isNew } = await registerUser(store, tx, person, voucher)
  if (isNew && provider.kind === 'organization') {
    const { organization, defaultRole } = provider
    const role =
      defaultRole === '' ? undefined : await lockResource(store.db, tx, 'roles', defaultRole, 'share')
    const bound = { identityUid: uid, roleUid: defaultRole }
    if (role !== undefined)
      await insertBinding(store, tx, organization, bound, { acceptedThrough: recordedProviderOf(voucher) })
  }
  return { uid, isNew }
}

/** Held until the session is there: deleting the provider ends every session that began with it (R12). */
async function lockProvider(store: Store, tx: Tx, provider: Provider): Promise<boolean> {
  if (provider.kind === 'operator') return true
  const row = await lockResource(store.db, tx, 'identity_providers', provider.id, 'share')
  const now = row && providerOf(store, row)
  return now?.issuer === provider.issuer && now.clientId === provider.clientId
}
