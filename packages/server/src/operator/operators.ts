import { SetupError } from '../config/setup-errors.ts'
import { managedRoleByName, operatorRole } from '../iam/managed-roles.ts'
import { accountByEmail } from '../signin/accounts/accounts.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import { readReachableRows } from '../storage/rows-by-uid.ts'
import type { Store } from '../storage/store.ts'
import { commandActor } from './actor.ts'

/** Who can use the operator API: identities with a role on the platform. `berth admin` alone grants and revokes it. */

export interface OperatorSummary {
  /** uid of the identity. */
  readonly identity: string
  readonly name: string
  readonly email: string
  /** `owner` administers the platform and includes `operator`. */
  readonly role: string
}

export async function listOperators({ db }: Pick<Store, 'db'>): Promise<OperatorSummary[]> {
  const rows = await db.kysely
    .selectFrom('platform_bindings as b')
    .leftJoin('accounts as a', 'a.identity_uid', 'b.identity_uid')
    .select(['b.identity_uid', 'b.role_uid', 'a.email as account'])
    .orderBy('b.identity_uid')
    .orderBy('b.role_uid')
    .execute()
  const { rows: identities } = await readReachableRows(
    db,
    'identities',
    ['name', 'email'],
    rows.map((row) => row.identity_uid),
  )
  const owner = managedRoleByName.get('owner')
  return rows.map((row) => ({
    identity: row.identity_uid,
    name: identities.get(row.identity_uid)?.name ?? '',
    email: row.account ?? identities.get(row.identity_uid)?.email ?? '',
    role: row.role_uid === owner?.uid ? owner.name : operatorRole.name,
  }))
}

/** Gives the user of a local account the role `operator`. Returns whether it was missing. */
export function addOperator(store: Pick<Store, 'db' | 'clock'>, email: string): Promise<boolean> {
  return changeOperator(store, email, 'add', async (tx, identity) => {
    const added = await tx
      .insertInto('platform_bindings')
      .values({ identity_uid: identity, role_uid: operatorRole.uid })
      .onConflict((conflict) => conflict.doNothing())
      .returning('identity_uid')
      .execute()
    return added.length > 0
  })
}

/** Removes the role `operator` from the user of a local account. Returns whether it was there. */
export function removeOperator(store: Pick<Store, 'db' | 'clock'>, email: string): Promise<boolean> {
  return changeOperator(store, email, 'remove', async (tx, identity) => {
    const removed = await tx
      .deleteFrom('platform_bindings')
      .where('identity_uid', '=', identity)
      .where('role_uid', '=', operatorRole.uid)
      .returning('identity_uid')
      .execute()
    return removed.length > 0
  })
}

function changeOperator(
  store: Pick<Store, 'db' | 'clock'>,
  email: string,
  verb: 'add' | 'remove',
  change: (tx: Tx, identity: string) => Promise<boolean>,
): Promise<boolean> {
  return inTransaction(store.db, async (tx) => {
    const account = await accountByEmail(tx, email)
    if (account === undefined) throw new SetupError(`account ${email} not found`)
    const isChanged = await change(tx, account.identity_uid)
    if (isChanged) await commandActor(store, `berth admin operators ${verb}`).record(tx, account.identity_uid)
    return isChanged
  })
}
