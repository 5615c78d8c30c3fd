import { rootOf } from '../../api/uid.ts'
import { type Db, inTransaction, type Tx } from '../../storage/db.ts'
import type { RepoPolicyRow } from '../../storage/schema/tables.ts'
import { lockPolicy } from '../policies/policy-rows.ts'

/**
 * Leases of retention policies. A run leases a policy and renews the lease with each transaction. If its node dies, the lease expires
 * and another node can lease the policy.
 */

export interface LeasedPolicy extends RepoPolicyRow {
  readonly runner: string
}

/** Returns the uids of repos with retention due and no lease. */
export async function readDuePolicies({ kysely }: Db, now: number, max: number): Promise<string[]> {
  const rows = await kysely
    .selectFrom('repo_policies')
    .select('uid')
    .where('due_ms', '>', 0)
    .where('due_ms', '<=', now)
    .where('lease_ms', '<=', now)
    .orderBy('due_ms')
    .limit(max)
    .execute()
  return rows.map(({ uid }) => uid)
}

/** Leases a policy for a new run; undefined if another run was faster. */
export async function leasePolicy(
  db: Db,
  uid: string,
  { now, leaseMs, run }: { readonly now: number; readonly leaseMs: number; readonly run: Uint8Array },
): Promise<LeasedPolicy | undefined> {
  const runner = crypto.randomUUID()
  return inTransaction(db, (tx) =>
    tx
      .updateTable('repo_policies')
      .set({ runner, lease_ms: now + leaseMs, run })
      .where('root', '=', rootOf(uid))
      .where('uid', '=', uid)
      .where('due_ms', '>', 0)
      .where('due_ms', '<=', now)
      .where('lease_ms', '<=', now)
      .returningAll()
      .executeTakeFirst(),
  )
}

/** Whether the run still has its lease, in a transaction that has locked the repo; also renews the lease. */
export async function renewPolicyLease(
  tx: Tx,
  { root, uid, runner }: LeasedPolicy,
  leaseUntilMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('repo_policies')
    .set({ lease_ms: leaseUntilMs })
    .where('root', '=', root)
    .where('uid', '=', uid)
    .where('runner', '=', runner)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Ends the run. If another run was requested meanwhile, the policy is due. */
export async function releasePolicy(
  db: Db,
  { root, uid, runner, due_ms }: LeasedPolicy,
  { dueMs, run }: { readonly dueMs: number; readonly run: Uint8Array },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const row = await lockPolicy(db, tx, uid)
    if (row?.runner !== runner) return
    const isRequested = Number(row.due_ms) !== Number(due_ms)
    await tx
      .updateTable('repo_policies')
      .set({ run, runner: '', lease_ms: 0, ...(!isRequested && { due_ms: dueMs }) })
      .where('root', '=', root)
      .where('uid', '=', uid)
      .execute()
  })
}
