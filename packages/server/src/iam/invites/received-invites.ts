import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { normalizeEmail } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { pathOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { type VerifiedEmail, verifiedEmailOf } from '../../pipeline/vouching.ts'
import { readReachable } from '../../storage/list/lost-servers.ts'
import { readResource } from '../../storage/resource-rows.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'
import type { GroupInviteRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { groupPath, readGroupNames } from '../groups/group-names.ts'
import { isBindable } from '../role-bindings.ts'
import { type InvitedOrganizations, readInvitedOrganizations } from './invited-organizations.ts'
import { readInviters } from './inviter.ts'

export const noInvites = { invites: [], more: false }

/** Returns the open invites for the verified email address of the caller that the caller can accept, the first to expire first. */
export async function findReceivedInvites(store: Store, call: Call) {
  const { db } = store
  const { caller, grants } = authorizationOf(call)
  const identity = await readResource(db, 'identities', caller.identity)
  if (identity === undefined) return noInvites
  const email = verifiedEmailOf(grants.voucher, identity.email)
  if (email.address === '') return noInvites
  const { rows, more } = await readOpenInvites(store, caller.identity as Uid, email)
  const open = rows.filter(({ parent }) => isBindable(caller.identity, parent))
  const [roles, names, inviters] = await Promise.all([
    readRowsByUid(
      db.kysely,
      'roles',
      ['name'],
      open.map(({ role_uid }) => role_uid),
    ),
    readGroupNames(
      db,
      open.flatMap(({ parent }) => pathOf(parent as Uid)),
    ),
    readInviters(
      db,
      open.map(({ created_by }) => created_by),
    ),
  ])
  const invites = open.flatMap(({ uid, parent, role_uid, expires_ms, created_by }) => {
    const role = roles.get(role_uid)
    if (role === undefined) return []
    return [
      {
        $typeName: 'berth.iam.v1.ReceivedInvite' as const,
        uid,
        groupPath: groupPath(parent, names),
        roleName: role.name,
        inviter: inviters.get(created_by) ?? '',
        expirationTime: timestampOf(Number(expires_ms)),
      },
    ]
  })
  return { invites, more }
}

/**
 * Returns at most `receivedInvitesMax` open invites, and whether there are more, or may be. If there are, each organization has its share of
 * them, so that one with many invites does not hide those of others. A distributed database reads them from the
 * organizations that invited the address (ADR 112); on one server, nodes of 0.6 do not record these.
 */
async function readOpenInvites(
  { db, clock }: Store,
  identity: Uid,
  { address, organization }: VerifiedEmail,
): Promise<{ readonly rows: readonly GroupInviteRow[]; readonly more: boolean }> {
  const max = limits.receivedInvitesMax
  const read = (organizations?: readonly string[]) =>
    openInvites(db.kysely, { identity, address, organizations, nowMs: clock(), max: max + 1 }).execute()
  const named = await namedOrganizations(db, { address, organization })
  const { rows, unread } =
    named === undefined
      ? { rows: await read(), unread: new Map() }
      : await readReachable(db, named.organizations, read)
  return {
    // Servers that were asked separately have returned their first ones.
    rows: rows.toSorted(comparePlace).slice(0, max).toSorted(compareExpiry),
    more: named?.more === true || rows.length > max || unread.size > 0,
  }
}

/** Undefined: all organizations of a database on one server. */
async function namedOrganizations(
  db: Store['db'],
  { address, organization }: Pick<VerifiedEmail, 'address' | 'organization'>,
): Promise<InvitedOrganizations | undefined> {
  if (organization !== undefined) return { organizations: [organization], more: false }
  return (await db.rules.isDistributed(db)) ? readInvitedOrganizations(db, address) : undefined
}

interface OpenInvite extends GroupInviteRow {
  /** From 1, in the order of expiry among those of its organization. */
  readonly place: number | string
}

function comparePlace(one: OpenInvite, other: OpenInvite): number {
  return Number(one.place) - Number(other.place) || compareExpiry(one, other)
}

function compareExpiry(one: GroupInviteRow, other: GroupInviteRow): number {
  return Number(one.expires_ms) - Number(other.expires_ms) || (one.uid < other.uid ? -1 : 1)
}

interface OpenInvites {
  readonly identity: Uid
  readonly address: string
  /** Undefined: all. */
  readonly organizations: readonly string[] | undefined
  readonly nowMs: number
  readonly max: number
}

/** Returns a query of open invites: the first one of each organization, then the second ones. */
function openInvites(
  kysely: Store['db']['kysely'],
  { identity, address, organizations, nowMs, max }: OpenInvites,
) {
  // A distributed database asks the servers of the organizations only if each table names them.
  const isNamed = organizations !== undefined
  const named = organizations ?? []
  const open = kysely
    .selectFrom('group_invites as invites')
    .innerJoin('groups as organizations', (join) =>
      join.onRef('organizations.root', '=', 'invites.root').onRef('organizations.uid', '=', 'invites.root'),
    )
    .selectAll('invites')
    .select(({ fn }) =>
      fn
        .agg<number>('row_number')
        .over((over) => over.partitionBy('invites.root').orderBy('invites.expires_ms').orderBy('invites.uid'))
        .as('place'),
    )
    .where('invites.email', '<>', '')
    .where((where) => where(where.fn<string>('lower', ['invites.email']), '=', normalizeEmail(address)))
    .where('invites.expires_ms', '>', nowMs)
    .$if(isNamed, (query) =>
      query.where('invites.root', 'in', named).where('organizations.root', 'in', named),
    )
    .where('organizations.status', '<>', OrgStatus.SUSPENDED)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('role_bindings')
            .select('role_bindings.uid')
            .whereRef('role_bindings.root', '=', 'invites.root')
            .whereRef('role_bindings.parent', '=', 'invites.parent')
            .whereRef('role_bindings.role_uid', '=', 'invites.role_uid')
            .where('role_bindings.identity_uid', '=', identity)
            .$if(isNamed, (query) => query.where('role_bindings.root', 'in', named)),
        ),
      ),
    )
  return kysely
    .selectFrom(open.as('open'))
    .selectAll()
    .orderBy('place')
    .orderBy('expires_ms')
    .orderBy('uid')
    .limit(max)
}
