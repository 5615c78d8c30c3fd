import { rootOf } from '../../api/uid.ts'
import { readInviteCode } from '../../iam/invites/invite-code.ts'
import type { Db } from '../../storage/db.ts'

/** Names of organizations, which a user's password must not be based on. */

/** Largest number of organizations that are checked for a user. */
const ORGANIZATIONS_MAX = 20

/** Names of the organizations in which an identity holds a role. */
export async function organizationNamesOf({ kysely }: Db, identity: string): Promise<string[]> {
  const rows = await kysely
    .selectFrom('groups')
    .select('name')
    .where('uid', 'in', (roots) =>
      roots
        .selectFrom('role_bindings')
        .select('root')
        .where('identity_uid', '=', identity)
        .groupBy('root')
        .orderBy('root')
        .limit(ORGANIZATIONS_MAX),
    )
    .execute()
  return rows.map(({ name }) => name)
}

/** Name of the organization of an invite code; empty for an invalid code. */
export async function organizationNamesOfInvite({ kysely }: Db, code: string): Promise<string[]> {
  const invite = readInviteCode(code)
  if (invite === undefined) return []
  const rows = await kysely
    .selectFrom('groups')
    .select('name')
    .where('uid', '=', rootOf(invite.group))
    .execute()
  return rows.map(({ name }) => name)
}
