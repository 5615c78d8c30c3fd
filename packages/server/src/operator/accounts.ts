import {
  type Account,
  createAccount,
  deleteAccount,
  resetPassword,
  setAccountDisabled,
} from '../signin/accounts/accounts.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { OperatorActor } from './actor.ts'

/** What operators do with local accounts, by `berth admin accounts` and by the operator API. */

/** Changes an account and records the change in one transaction. */
function changeAccount(
  { db }: Pick<Store, 'db'>,
  actor: OperatorActor,
  work: (tx: Tx) => Promise<Account>,
): Promise<Account> {
  return inTransaction(db, async (tx) => {
    const account = await work(tx)
    await actor.record(tx, account.identity_uid)
    return account
  })
}

/** Finds the account to change in its transaction. Throws the caller's error if it does not exist or must not be changed. */
export type FindAccount = (tx: Tx) => Promise<Account>

/** An address or an identity has an account already. */
export class AccountExists extends Error {
  override readonly name = 'AccountExists'
}

/** Creates an account without a password. Throws AccountExists. */
export function addAccount(
  store: Store,
  actor: OperatorActor,
  { authUrl, identity, ...fields }: NewOperatorAccount,
): Promise<Account> {
  return changeAccount(store, actor, (tx) =>
    createAccount(store, tx, authUrl, { ...fields, passwordHash: '' }, identity).catch((error: unknown) => {
      if (!store.db.rules.isUniqueViolation(error)) throw error
      throw new AccountExists(`${fields.email} or the identity already has an account`)
    }),
  )
}

export interface NewOperatorAccount {
  readonly email: string
  readonly name: string
  readonly authUrl: string
  /** An existing identity without an account; undefined creates one. */
  readonly identity?: string | undefined
}

/** Removes the password of an account and ends its sessions; with `passkeys`, removes these too. */
export function resetAccount(
  store: Store,
  actor: OperatorActor,
  find: FindAccount,
  options: { readonly passkeys: boolean },
): Promise<Account> {
  return changeAccount(store, actor, async (tx) => resetPassword(store, tx, await find(tx), options))
}

/** Disables an account and ends its sessions, or enables it. */
export function disableAccount(
  store: Store,
  actor: OperatorActor,
  find: FindAccount,
  isDisabled: boolean,
): Promise<Account> {
  return changeAccount(store, actor, async (tx) => {
    const account = await find(tx)
    await setAccountDisabled(store, tx, account, isDisabled)
    return { ...account, disabled: isDisabled ? 1 : 0 }
  })
}

/** Deletes an account, its identity and all its access. */
export function removeAccount(store: Store, actor: OperatorActor, find: FindAccount): Promise<Account> {
  return changeAccount(store, actor, async (tx) => {
    const account = await find(tx)
    await deleteAccount(store, tx, account)
    return account
  })
}
