import {
  type RepoPolicy,
  RepoPolicySchema,
  RetentionRunSchema,
} from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import type { Db, Reader, Tx } from '../../storage/db.ts'
import { prepared } from '../../storage/prepared.ts'
import type { RepoPolicyRow, RepoRow } from '../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../storage/sql-text.ts'

/** Policies as rows. A repo without a policy has no row. */

const policies = prepared((db, { root, uid }: Pick<RepoPolicyRow, 'root' | 'uid'>) =>
  db.selectFrom('repo_policies').select('policy').where('root', '=', root).where('uid', '=', uid),
)

/** Returns the policy of a repo, for changes of its tags; undefined if none is set. */
export async function findPolicy(tx: Tx, repo: string): Promise<RepoPolicy | undefined> {
  const [row] = await policies(tx, { root: rootOf(repo), uid: repo })
  return row && fromBinary(RepoPolicySchema, row.policy)
}

export function readPolicy(reader: Reader, repo: string): Promise<RepoPolicyRow | undefined> {
  return reader
    .selectFrom('repo_policies')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('uid', '=', repo)
    .executeTakeFirst()
}

/** Returns the row, locked (FOR UPDATE). */
export async function lockPolicy(db: Db, tx: Tx, repo: string): Promise<RepoPolicyRow | undefined> {
  const sql = sqlText(db.engine)
  const text = `select * from repo_policies where root = ${sql.bind(rootOf(repo))} and uid = ${sql.bind(repo)}${db.rules.lockForUpdate}`
  const [row] = await runInTransaction<RepoPolicyRow>(tx, text, sql)
  return row
}

/** Returns the policy as in responses. */
export function toPolicy(
  { uid: repo, created_ms }: Pick<RepoRow, 'uid' | 'created_ms'>,
  row: RepoPolicyRow | undefined,
): RepoPolicy {
  if (row === undefined)
    return create(RepoPolicySchema, { uid: repo, updateTime: timestampOf(Number(created_ms)) })
  const policy = fromBinary(RepoPolicySchema, row.policy)
  policy.uid = repo
  policy.updateTime = timestampOf(Number(row.updated_ms))
  if (Number(row.due_ms) > 0) policy.nextRunTime = timestampOf(Number(row.due_ms))
  if (row.run.byteLength > 0) policy.lastRun = fromBinary(RetentionRunSchema, row.run)
  return policy
}

/** Returns the stored part of a policy. */
export function policyBytes({ immutableTags, retention }: RepoPolicy): Uint8Array {
  return toBinary(
    RepoPolicySchema,
    create(RepoPolicySchema, { ...(immutableTags && { immutableTags }), ...(retention && { retention }) }),
  )
}
