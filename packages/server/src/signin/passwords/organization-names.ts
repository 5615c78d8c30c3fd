import { rootOf } from '../../api/uid.ts'
import { bindingsOf } from '../../iam/identities/organizations.ts'
import { readInviteCode } from '../../iam/invites/invite-code.ts'
import type { Db } from '../../storage/db.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'

/** Names of organizations, which a user's password must not be based on. */

/** Largest number of organizations that are checked for a user. */
const ORGANIZATIONS_MAX = 20

/** Names of the organizations in which an identity holds a role. */
export async function organizationNamesOf(db: Db, identity: string): Promise<string[]> {
  const query = await bindingsOf(db, db.kysely, identity)
  const bound = await query.select('root').groupBy('root').orderBy('root').limit(ORGANIZATIONS_MAX).execute()
  const names = await readRowsByUid(
    db.kysely,
    'groups',
    ['name'],
    bound.map(({ root }) => root),
  )
  return [...names.values()].map(({ name }) => name)
}

/** Name of the organization of an invite code; empty for an invalid code. */
export async function organizationNamesOfInvite({ kysely }: Db, code: string): Promise<string[]> {
  const invite = readInviteCode(code)
  if (invite === undefined) return []
  const root = rootOf(invite.group)
  const rows = await kysely
    .selectFrom('groups')
    .select('name')
    .where('root', '=', root)
    .where('uid', '=', root)
    .execute()
  return rows.map(({ name }) => name)
}
