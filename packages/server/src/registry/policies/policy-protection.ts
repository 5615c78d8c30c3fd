import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { type RepoPolicy, RepoPolicySchema } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { permissionDenied } from '../../api/errors.ts'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Grants } from '../../pipeline/authorization.ts'
import type { Tx } from '../../storage/db.ts'

/** Protection of the policies of repos against callers who may not change them. */

const requiredCapabilities = capabilitySetOf([Capability.CAP_REPO_POLICIES_UPDATE])

const POLICIES_PER_BATCH = 200

/**
 * Throws code 7 if a repo has a policy that the caller may not change. `uid`: the repo, or a group above repos; `action`: the change that
 * frees the path of the repo, after which another repo without the policy could take the path.
 */
export async function requireMayFreePath(tx: Tx, grants: Grants, uid: string, action: string): Promise<void> {
  if (includesAll(grants.at(uid), requiredCapabilities)) return
  const { to } = subtreeRange(uid)
  for (let after = ''; ; ) {
    const rows = await tx
      .selectFrom('repo_policies')
      .select(['uid', 'policy'])
      .where('root', '=', rootOf(uid))
      .where('uid', '>=', uid)
      .where('uid', '>', after)
      .where('uid', '<', to)
      .orderBy('uid')
      .limit(POLICIES_PER_BATCH)
      .execute()
    const restricting = rows.find(
      (row) =>
        hasEffect(fromBinary(RepoPolicySchema, row.policy)) &&
        !includesAll(grants.at(row.uid), requiredCapabilities),
    )
    if (restricting !== undefined)
      throw permissionDenied(
        `${action} a repo with a policy (immutable tags or retention) requires repo_policies.update. Ask an owner of the organization for a role that includes it.`,
        uid,
      )
    const last = rows.at(-1)
    if (last === undefined || rows.length < POLICIES_PER_BATCH) return
    after = last.uid
  }
}

/** Whether a policy protects or deletes anything, now or once retention is enabled. */
function hasEffect({ immutableTags, retention }: RepoPolicy): boolean {
  const patterns = immutableTags?.patterns.length ?? 0
  const { enabled = false, rules = [], untaggedAfter } = retention ?? {}
  return patterns > 0 || enabled || rules.length > 0 || untaggedAfter !== undefined
}
