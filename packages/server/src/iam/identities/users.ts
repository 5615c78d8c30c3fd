import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import {
  hasUserAuthority,
  isTrustedEverywhere,
  recordedProviderOf,
  type Voucher,
} from '../../pipeline/vouching.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import { insertResource, lockResource, nextUpdateMs, updateResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { endOtherSessions, endSessions } from '../../tokens/sessions/sessions.ts'
import { lookupUser } from './user-lookup.ts'

/** Users as identities: roots of their own, identified by their voucher and by the subject that it gives them. */

export interface UserClaims {
  /** What the user is called, in any script; the name of a new identity is derived from it, or from the email address without it. */
  readonly name?: string
  /** The voucher: an OpenID provider, or the token service for its own accounts. */
  readonly issuer: string
  readonly subject: string
  /** '' when unknown. */
  readonly email: string
  readonly emailVerified: boolean
}

/** Finds the identity of a user who has signed in before, in the transaction; undefined for a new user. */
export async function findUser(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
  { issuer, subject }: Pick<UserClaims, 'issuer' | 'subject'>,
): Promise<Uid | undefined> {
  const uid = await lookupUser(tx, issuer, subject)
  return (await lockResource(db, tx, 'identities', uid, 'share')) === undefined ? undefined : uid
}

/**
 * Creates the identity of a person at their first sign-in, or updates the email address of a known one. An address is verified only by a
 * voucher that counts everywhere, and changes only for a voucher that acts on the person as a whole. After a sign-in with a voucher that
 * counts everywhere, no organization's provider does that. The caller writes the audit record. Throws code 3 for an invalid issuer or
 * subject.
 */
export async function registerUser(
  store: Store,
  tx: Tx,
  user: UserClaims,
  voucher: Voucher,
): Promise<{ readonly uid: Uid; readonly isNew: boolean }> {
  const { db, clock } = store
  const uid = await lookupUser(tx, user.issuer, user.subject)
  const { email } = user
  const isVerified = user.emailVerified && isTrustedEverywhere(voucher)
  const addresses = { email: isVerified ? email : '', email_unverified: isVerified ? '' : email }
  const existing = await lockResource(db, tx, 'identities', uid, 'update')
  if (existing !== undefined) {
    const isSame =
      !hasUserAuthority(voucher, existing.registered_through) ||
      (existing.email === addresses.email && existing.email_unverified === addresses.email_unverified) ||
      // Another provider has vouched for it before.
      (email !== '' && existing.email === email)
    if (!isSame)
      await updateResource(tx, 'identities', uid, { ...addresses, updated_ms: nextUpdateMs(store, existing) })
    // A separate statement: the cache of grants recognizes by its text that it changes what callers may do.
    if (isTrustedEverywhere(voucher) && existing.registered_through !== '')
      await tx
        .updateTable('identities')
        .set({ registered_through: '' })
        .where('root', '=', uid)
        .where('uid', '=', uid)
        .execute()
    return { uid, isNew: false }
  }
  const now = clock()
  await insertResource(db, tx, 'identities', {
    root: uid,
    uid,
    parent: '',
    name: identityNameOf(user),
    description: '',
    ...addresses,
    company: '',
    relationship: RelationshipType.UNSPECIFIED,
    relationship_data: new Uint8Array(0),
    issuer: user.issuer,
    subject: user.subject,
    registered_through: recordedProviderOf(voucher),
    keys_expire_ms: 0,
    last_seen_ms: now,
    created_ms: now,
    updated_ms: now,
  })
  return { uid, isNew: true }
}

/** Returns the uid of the organization's identity provider through which a user was registered; '' if none is recorded. */
export async function readRegisteredThrough(db: Reader, identity: string): Promise<string> {
  const row = await db
    .selectFrom('identities')
    .select('registered_through')
    .where('root', '=', identity)
    .where('uid', '=', identity)
    .executeTakeFirst()
  return row?.registered_through ?? ''
}

/** Deletes everything with which a user signs in and is signed in: sessions, passkeys and the account. */
export async function deleteSignInData(tx: Tx, identity: string): Promise<void> {
  await endSessions(tx, 'identity_uid', identity)
  const account = await tx
    .deleteFrom('accounts')
    .where('identity_uid', '=', identity)
    .returning('id')
    .executeTakeFirst()
  if (account !== undefined) await tx.deleteFrom('passkeys').where('account_id', '=', account.id).execute()
}

/**
 * Records that the address of an account is its owner's, who has received email there. If that was not known, the passkeys and the other
 * sessions are removed: another user may have created the account with this address. `keptSession`: the session of the owner, if any.
 */
export async function confirmEmail(
  store: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  identityUid: string,
  email: string,
  keptSession?: string,
): Promise<void> {
  const identity = await lockResource(store.db, tx, 'identities', identityUid, 'update')
  if (identity === undefined || identity.email === email) return
  const updated_ms = nextUpdateMs(store, identity)
  await updateResource(tx, 'identities', identityUid, { email, email_unverified: '', updated_ms })
  const account = await tx
    .updateTable('accounts')
    .set({ passkey_required: 0, updated_ms: store.clock() })
    .where('identity_uid', '=', identityUid)
    .returning('id')
    .executeTakeFirst()
  if (account !== undefined) await tx.deleteFrom('passkeys').where('account_id', '=', account.id).execute()
  if (keptSession === undefined) await endSessions(tx, 'identity_uid', identityUid)
  else await endOtherSessions(tx, { identity: identityUid, id: keptSession })
}

/**
 * Returns the name of a user's identity: `ada lovelace` for Ada Lovelace. The name of a resource has only ASCII letters, so for other scripts
 * it is derived from the email address, or from the subject without one: `ada.lovelace` for Ada.Lovelace@example.com.
 */
export function identityNameOf({
  name = '',
  email,
  subject,
}: Pick<UserClaims, 'name' | 'email' | 'subject'>): string {
  const latin = name
    .normalize('NFKD')
    .replaceAll(/[\p{M}'’]/gu, '')
    .toLowerCase()
    .trim()
  if (/^[a-z0-9 ._-]+$/.test(latin)) return latin.replaceAll(/ +/g, ' ').slice(0, limits.nameCharsMax)
  const [local = ''] = (email === '' ? subject : email).split('@')
  const derived = local.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, '-')
  return derived === '' ? 'user' : derived.slice(0, limits.nameCharsMax)
}
