import type { Uid } from '../../api/uid.ts'
import { findUser, registerUser, type UserClaims } from '../../iam/identities/users.ts'
import { insertBinding } from '../../iam/role-bindings.ts'
import { recordedProviderOf } from '../../pipeline/vouching.ts'
import type { Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { type Provider, providerOf, voucherOf } from './providers.ts'

/** A user and the provider that authenticated them. */
export interface ProviderIdentity {
  readonly provider: Provider
  readonly person: UserClaims
}

/** `provider-changed`: the provider was deleted or changed since. `unknown-user`: not registered, and must not be. */
export type ProviderUserResult =
  | { readonly uid: Uid; readonly isNew: boolean }
  | 'provider-changed'
  | 'unknown-user'

/**
 * Finds the identity of a provider's user, or registers it if `register` allows it, in the transaction. A new user of an organization's
 * provider gets its default role, if that still exists.
 */
export async function findOrRegisterUser(
  store: Store,
  tx: Tx,
  { provider, person }: ProviderIdentity,
  { register }: { readonly register: boolean },
): Promise<ProviderUserResult> {
  if (!(await lockProvider(store, tx, provider))) return 'provider-changed'
  if (!register && (await findUser(store, tx, person)) === undefined) return 'unknown-user'
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

/** Locks a provider until the session is stored: deleting the provider ends every session that it started (R12). */
async function lockProvider(store: Store, tx: Tx, provider: Provider): Promise<boolean> {
  if (provider.kind === 'operator') return true
  const row = await lockResource(store.db, tx, 'identity_providers', provider.id, 'share')
  const current = row && providerOf(store, row)
  return current?.issuer === provider.issuer && current.clientId === provider.clientId
}
