import { type FieldViolation, notFound, quotaExceeded } from '../../api/errors.ts'
import { isWithin, parentOf, rootOf } from '../../api/uid.ts'
import { GROUP_TYPE } from '../../iam/groups/parent-group.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { Tables } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'
import { systemPolicyByName, systemPolicyByUid } from '../rules/system-policies.ts'

/** Locks and checks that policies, bindings and overrides share. */

type PolicyTable = 'policies' | 'policy_bindings' | 'policy_overrides'

/**
 * Increments the revision of the policies of an organization, so that no node uses what was cached. It also locks: changes in one organization
 * wait for each other, so that what they count and refer to stays.
 */
export async function incrementRevision(db: Db, tx: Tx, uid: string): Promise<void> {
  const sql = sqlText(db.engine)
  await runInTransaction(
    tx,
    `insert into policy_revisions (root, revision) values (${sql.bind(rootOf(uid))}, 1)
      on conflict (root) do update set revision = policy_revisions.revision + 1`,
    sql,
  )
}

/** Locks the group or repo of a binding or override. Throws code 5 if it does not exist. */
export async function lockGroupOrRepo(db: Db, tx: Tx, uid: string): Promise<void> {
  const row =
    (await lockResource(db, tx, 'groups', uid, 'share')) ??
    (await lockResource(db, tx, 'repos', uid, 'share'))
  if (row === undefined) throw notFound(GROUP_TYPE, uid, `group or repo ${uid} does not exist`)
}

/** Throws code 8 if an organization has the most rows of a kind. Call it after `incrementRevision`. */
export async function requireBelowMax(
  tx: Tx,
  table: PolicyTable,
  uid: string,
  { max, label }: { readonly max: number; readonly label: string },
): Promise<void> {
  const root = rootOf(uid)
  const { n } = await tx
    .selectFrom(table)
    .select((row) => row.fn.countAll().as('n'))
    .where('root', '=', root)
    .executeTakeFirstOrThrow()
  if (Number(n) >= max)
    throw quotaExceeded(root, `an organization can have at most ${max} ${label}; delete some first`)
}

/** A policy that a binding or override refers to. */
export interface ReferencedPolicy {
  readonly uid: string
  /** '' for a system policy. */
  readonly expression: string
}

const unknownPolicy =
  'must be the id or name of a system policy, or the id of a custom policy of this group or of a group above it'

/**
 * Finds the policy that a binding or override below `parent` may refer to, or returns a violation, which is the same for policies of others and
 * for those that do not exist.
 */
export async function findPolicy(
  tx: Tx,
  parent: string,
  field: string,
  text: string,
): Promise<ReferencedPolicy | FieldViolation> {
  const system = systemPolicyByUid.get(text) ?? systemPolicyByName.get(text)
  if (system !== undefined) return { uid: system.uid, expression: '' }
  const owner = parentOf(text)
  if (text === '' || owner === '' || !isWithin(parent, owner))
    return { field, description: text === '' ? 'is required' : unknownPolicy }
  const row = await tx
    .selectFrom('policies')
    .select(['uid', 'expression'])
    .where('root', '=', rootOf(text))
    .where('uid', '=', text)
    .executeTakeFirst()
  return row ?? { field, description: unknownPolicy }
}

/** Reads a row of an organization for a change. The revision is locked. */
export async function findRow<T extends PolicyTable>(
  tx: Tx,
  table: T,
  uid: string,
): Promise<Tables[T] | undefined> {
  const row: unknown = await tx
    .selectFrom(table as 'policies')
    .selectAll()
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
  return row as Tables[T] | undefined
}

export async function deleteRow(tx: Tx, table: PolicyTable, uid: string): Promise<void> {
  await tx.deleteFrom(table).where('root', '=', rootOf(uid)).where('uid', '=', uid).execute()
}
