import { rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { readReachable } from '../../storage/list/lost-servers.ts'

/** Returns the name of the user who created an invite, with the verified address if there is one; '' if it is not recorded. */
export async function readInviter(db: Db, uid: string): Promise<string> {
  return (await readInviters(db, [uid])).get(uid) ?? ''
}

/** Returns the names of such users by their uids, without those that do not exist or are on a lost server of a distributed database. */
export async function readInviters(db: Db, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const byRoot = Map.groupBy(
    [...new Set(uids)].filter((uid) => uid !== ''),
    rootOf,
  )
  const { rows } = await readReachable(db, [...byRoot.keys()], (roots) =>
    db.kysely
      .selectFrom('identities')
      .leftJoin('accounts', 'accounts.identity_uid', 'identities.uid')
      .select(['identities.uid', 'identities.name', 'identities.email', 'accounts.name as account'])
      .where('identities.root', 'in', roots)
      .where(
        'identities.uid',
        'in',
        roots.flatMap((root) => byRoot.get(root as ReturnType<typeof rootOf>) ?? []),
      )
      .execute(),
  )
  return new Map(
    rows.map(({ uid, name, email, account }) => {
      const shown = account ?? name
      return [uid, email === '' ? shown : `${shown} (${email})`]
    }),
  )
}
