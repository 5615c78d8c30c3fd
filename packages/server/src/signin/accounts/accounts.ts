import { randomBytes } from 'node:crypto'
import type { FieldViolation } from '../../api/errors.ts'
import { checkEmail, normalizeEmail } from '../../api/fields.ts'
import { limits } from '../../config/limits.ts'
import { OWNER_NAME } from '../../iam/first-organization.ts'
import { deleteMetadata } from '../../iam/identities/metadata.ts'
import { bindingsOf, deleteIdentityOrganizations } from '../../iam/identities/organizations.ts'
import { deleteSignInData, identityNameOf, registerUser } from '../../iam/identities/users.ts'
import { nameShare } from '../../pipeline/request/request-context.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import { deleteResource, lockResource, nextUpdateMs, updateResource } from '../../storage/resource-rows.ts'
import type { AccountRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { endSessions } from '../../tokens/sessions/sessions.ts'

/** Local accounts: users who sign in with a password or a passkey of this server. Each has an identity. */

export type Account = AccountRow

export interface NewAccount {
  readonly email: string
  readonly name: string
  /** As `hashPassword` returns it; '' for a user who has yet to choose a password. */
  readonly passwordHash: string
  /** Whether the creator of the account knows that the address is the owner's. Default true. */
  readonly emailVerified?: boolean
}

/** Returns the first violation of an account's fields. */
export function checkAccount({
  email,
  name,
}: Pick<NewAccount, 'email' | 'name'>): FieldViolation | undefined {
  return checkEmail(email) ?? checkAccountName(name)
}

export function checkAccountName(name: string, field = 'name'): FieldViolation | undefined {
  const max = limits.accountNameCharsMax
  if (name === '' || [...name].length > max) return { field, description: `must have 1 to ${max} characters` }
  return /[\p{Cc}\p{Cf}\u2028\u2029]/u.test(name)
    ? { field, description: 'must be one line of text' }
    : undefined
}

export function accountByEmail(db: Reader, email: string): Promise<Account | undefined> {
  return accountBy(db, 'email', normalizeEmail(email))
}

export function accountById(db: Reader, id: string): Promise<Account | undefined> {
  return accountBy(db, 'id', id)
}

export function accountOfIdentity(db: Reader, identity: string): Promise<Account | undefined> {
  return accountBy(db, 'identity_uid', identity)
}

async function accountBy(
  db: Reader,
  column: 'email' | 'id' | 'identity_uid',
  value: string,
): Promise<Account | undefined> {
  const account = await db.selectFrom('accounts').selectAll().where(column, '=', value).executeTakeFirst()
  // What follows reads and writes rows of this user, who may still be signing in.
  nameShare(account?.identity_uid ?? '')
  return account
}

export async function hasAccounts(db: Reader): Promise<boolean> {
  return (await db.selectFrom('accounts').select('id').limit(1).executeTakeFirst()) !== undefined
}

const ID_BYTES = 16

/**
 * Creates an account, and its identity unless `existingIdentity` names one. Fails on an address or an identity that already has an
 * account.
 */
export async function createAccount(
  store: Store,
  tx: Tx,
  authUrl: string,
  { email, name, passwordHash, emailVerified = true }: NewAccount,
  existingIdentity?: string,
): Promise<Account> {
  const id = randomBytes(ID_BYTES).toString('hex')
  const now = store.clock()
  const address = normalizeEmail(email)
  const user = { issuer: authUrl, subject: id, name, email: address, emailVerified }
  const identity = existingIdentity ?? (await registerUser(store, tx, user, { kind: 'account' })).uid
  if (existingIdentity !== undefined)
    await updateIdentity(store, tx, identity, { name: identityNameOf(user), email: address })
  const account: Account = {
    id,
    identity_uid: identity,
    email: address,
    name,
    password_hash: passwordHash,
    passkey_required: 0,
    disabled: 0,
    created_ms: now,
    updated_ms: now,
  }
  await tx.insertInto('accounts').values(account).execute()
  return account
}

export async function updateAccount(
  { clock }: Pick<Store, 'clock'>,
  tx: Tx,
  id: string,
  changed: Partial<Pick<Account, 'password_hash' | 'passkey_required' | 'disabled'>>,
): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({ ...changed, updated_ms: clock() })
    .where('id', '=', id)
    .execute()
}

/** Renames an account and its identity. */
export async function renameAccount(store: Store, tx: Tx, account: Account, name: string): Promise<void> {
  const { id, identity_uid, email } = account
  await tx.updateTable('accounts').set({ name, updated_ms: store.clock() }).where('id', '=', id).execute()
  await updateIdentity(store, tx, identity_uid, { name: identityNameOf({ name, email, subject: id }) })
}

/** Disables or enables an account. Disabling ends all sessions of its owner immediately. */
export async function setAccountDisabled(
  store: Pick<Store, 'clock'>,
  tx: Tx,
  { id, identity_uid }: Account,
  disabled: boolean,
): Promise<void> {
  await updateAccount(store, tx, id, { disabled: disabled ? 1 : 0 })
  if (disabled) await endSessions(tx, 'identity_uid', identity_uid)
}

/** Removes the password of an account and ends its owner's sessions; with `passkeys`, removes these too. Returns the changed account. */
export async function resetPassword(
  store: Pick<Store, 'clock'>,
  tx: Tx,
  account: Account,
  { passkeys }: { readonly passkeys: boolean },
): Promise<Account> {
  const changed = { password_hash: '', ...(passkeys ? { passkey_required: 0 } : {}) }
  await updateAccount(store, tx, account.id, changed)
  if (passkeys) await tx.deleteFrom('passkeys').where('account_id', '=', account.id).execute()
  await endSessions(tx, 'identity_uid', account.identity_uid)
  return { ...account, ...changed }
}

/**
 * Deletes an account and its identity with all its access. The owner identity of the installation remains without an account, because
 * the commands of the operator act as it.
 */
export async function deleteAccount(store: Store, tx: Tx, { identity_uid }: Account): Promise<void> {
  const { db } = store
  const identity = await lockResource(db, tx, 'identities', identity_uid, 'update')
  await deleteSignInData(tx, identity_uid)
  if (identity === undefined) return
  if (identity.issuer === '') {
    await updateIdentity(store, tx, identity_uid, { name: OWNER_NAME, email: '' })
    return
  }
  const query = await bindingsOf(db, tx, identity_uid)
  const bindings = await query.select('uid').orderBy('uid').execute()
  for (const { uid } of bindings) await deleteResource(db, tx, 'role_bindings', uid)
  await tx.deleteFrom('platform_bindings').where('identity_uid', '=', identity_uid).execute()
  await deleteMetadata(tx, identity_uid)
  await deleteIdentityOrganizations(tx, identity_uid)
  await deleteResource(db, tx, 'identities', identity_uid)
}

async function updateIdentity(
  store: Store,
  tx: Tx,
  uid: string,
  { name, email }: { readonly name?: string; readonly email?: string },
): Promise<void> {
  const row = await lockResource(store.db, tx, 'identities', uid, 'update')
  if (row === undefined) throw new Error(`identity ${uid} is gone`)
  await updateResource(tx, 'identities', uid, {
    ...(name === undefined ? {} : { name }),
    ...(email === undefined ? {} : { email, email_unverified: '' }),
    updated_ms: nextUpdateMs(store, row),
  })
}
