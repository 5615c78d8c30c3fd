import { rootOf } from '../../api/uid.ts'
import type { Reader } from '../../storage/db.ts'

/** Returns the name of the user who created an invite, with the verified address if there is one; '' if it is not recorded. */
export async function readInviter(db: Reader, uid: string): Promise<string> {
  if (uid === '') return ''
  const identity = await db
    .selectFrom('identities')
    .leftJoin('accounts', 'accounts.identity_uid', 'identities.uid')
    .select(['identities.name', 'identities.email', 'accounts.name as account'])
    .where('identities.root', '=', rootOf(uid))
    .where('identities.uid', '=', uid)
    .executeTakeFirst()
  if (identity === undefined) return ''
  const name = identity.account ?? identity.name
  return identity.email === '' ? name : `${name} (${identity.email})`
}
