import { createHash } from 'node:crypto'
import { normalizeEmail } from '../../api/fields.ts'
import { ROOT_CHARS, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { readPages } from '../../storage/bulk-rows.ts'
import { type Db, inTransaction, type Reader, type Tx } from '../../storage/db.ts'
import { readReachable } from '../../storage/list/lost-servers.ts'
import { lockResource } from '../../storage/resource-rows.ts'
import type { GroupInviteRow, InvitedOrganizationRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { lockVisibleOrganization } from '../identities/organizations.ts'

/**
 * The organizations that have invites for an email address: there a distributed database finds them (ADR 112). The table never lacks such an
 * organization, for the same reason as `identity_organizations`; it has others until garbage collection.
 */

/** Returns the root of the rows of an address. The table does not have the address itself, which is personal data. */
export function emailRoot(email: string): string {
  return createHash('sha256').update(normalizeEmail(email)).digest('hex').slice(0, ROOT_CHARS)
}

/** Adds the organization of a group before it has an invite for an address; '': the invite is for anyone. */
export async function recordInvitedOrganization(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  tx: Tx,
  group: Uid,
  email: string,
): Promise<void> {
  if (email === '') return
  const organization = rootOf(group)
  const invited_ms = clock()
  await lockResource(db, tx, 'groups', organization, 'share')
  await tx
    .insertInto('invited_organizations')
    .values({ root: emailRoot(email), organization, invited_ms })
    .onConflict((conflict) => conflict.columns(['root', 'organization']).doUpdateSet({ invited_ms }))
    .execute()
}

export interface InvitedOrganizations {
  readonly organizations: readonly string[]
  /** Whether there are more, or may be: their server is lost. */
  readonly more: boolean
}

/** Returns at most `invitedOrganizationsMax` organizations of an address, for a distributed database. */
export async function readInvitedOrganizations(db: Db, email: string): Promise<InvitedOrganizations> {
  const max = limits.invitedOrganizationsMax
  const read = ([root = '']: readonly string[]) =>
    db.kysely
      .selectFrom('invited_organizations')
      .select('organization')
      .where('root', '=', root)
      .orderBy('invited_ms', 'desc')
      .limit(max + 1)
      .execute()
  const { rows, unread } = await readReachable(db, [emailRoot(email)], read)
  return {
    organizations: rows.slice(0, max).map(({ organization }) => organization),
    more: rows.length > max || unread.size > 0,
  }
}

type Key = Pick<InvitedOrganizationRow, 'root' | 'organization'>

/** Finds rows of organizations that have no invite for the address any more; each time those of one organization, or none. */
export async function* findUninvitingOrganizations(db: Db): AsyncGenerator<readonly Key[]> {
  let invited: { readonly organization: string; readonly roots: ReadonlySet<string> } | undefined
  for await (const rows of readPages<Key>((after, limit) => readRows(db, after, limit)))
    for (const [organization, keys] of Map.groupBy(rows, (row) => row.organization)) {
      if (invited?.organization !== organization)
        invited = { organization, roots: await readInvitedRoots(db.kysely, organization) }
      const { roots } = invited
      yield keys.filter(({ root }) => !roots.has(root))
    }
}

function readRows(db: Db, after: Key | undefined, limit: number): Promise<Key[]> {
  let query = db.kysely.selectFrom('invited_organizations').select(['root', 'organization'])
  if (after !== undefined)
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('organization', 'root'), '>', tuple(after.organization, after.root)),
    )
  return query.orderBy('organization').orderBy('root').limit(limit).execute()
}

/** Returns the roots of the addresses that an organization has invites for. */
async function readInvitedRoots(reader: Reader, organization: string): Promise<ReadonlySet<string>> {
  const roots = new Set<string>()
  const read = (after: Pick<GroupInviteRow, 'uid' | 'email'> | undefined, limit: number) =>
    reader
      .selectFrom('group_invites')
      .select(['uid', 'email'])
      .where('root', '=', organization)
      .where('uid', '>', after?.uid ?? '')
      .orderBy('uid')
      .limit(limit)
      .execute()
  for await (const invites of readPages(read)) {
    for (const { email } of invites) if (email !== '') roots.add(emailRoot(email))
    await yieldToEventLoop()
  }
  return roots
}

/** Deletes rows of one organization, if they still have no invite. */
export async function deleteUninvitingOrganization(
  { db }: Pick<Store, 'db'>,
  rows: readonly Key[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const { organization } = first
  await inTransaction(db, async (tx) => {
    if (!(await lockVisibleOrganization(db, tx, organization))) return
    const invited = await readInvitedRoots(tx, organization)
    const stale = rows.map(({ root }) => root).filter((root) => !invited.has(root))
    if (stale.length === 0) return
    await tx
      .deleteFrom('invited_organizations')
      .where('root', 'in', stale)
      .where('organization', '=', organization)
      .execute()
  })
}
