import { InvitationsService } from '@berth/contract/gen/berth/iam/v1/invitations_pb.js'
import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import {
  ApiError,
  Code,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
} from '../api/errors.ts'
import { isSameEmail } from '../api/fields.ts'
import { fullMethodName } from '../api/method-name.ts'
import { parseUid, rootOf, type Uid } from '../api/uid.ts'
import { authorizationOf, isNarrowed } from '../pipeline/authorization.ts'
import { type Call, implement } from '../pipeline/call.ts'
import { nameShare } from '../pipeline/request/request-context.ts'
import {
  isBindingEffective,
  recordedProviderOf,
  type Voucher,
  verifiedEmailOf,
} from '../pipeline/vouching.ts'
import { type AuditEvent, recordEvent } from '../storage/changes/audit-events.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Reader, Tx } from '../storage/db.ts'
import {
  deleteResource,
  lockResource,
  nextUpdateMs,
  readResource,
  updateResource,
} from '../storage/resource-rows.ts'
import { readRowsByUid } from '../storage/rows-by-uid.ts'
import type { GroupInviteRow, RoleBindingRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { GROUP_INVITE_TYPE } from './group-invites.ts'
import { confirmEmail } from './identities/users.ts'
import { isInviteCode, isProof, readInviteCode, readReceivedInvite } from './invites/invite-code.ts'
import { readInviter } from './invites/inviter.ts'
import { findReceivedInvites, noInvites } from './invites/received-invites.ts'
import {
  bindingExistsError,
  hydrateBindings,
  insertBinding,
  isBindable,
  requireBinding,
} from './role-bindings.ts'

/** Invitations: what the person who receives an invite does with it. */

export function invitationsService(store: Store) {
  return implement(InvitationsService, {
    async acceptGroupInvite({ code }, call) {
      const acceptor = acceptorOf(call)
      if (code === '') throw invalidArgument('code', 'is required')
      return mutate(store, call, async (tx) => {
        const binding = await acceptInvite(store, tx, code, acceptor)
        const roleBinding = requireBinding(await hydrateBindings(store.db, [binding], tx), binding.uid)
        const response = { $typeName: 'berth.iam.v1.AcceptGroupInviteResponse' as const, roleBinding }
        return { uid: binding.uid, response }
      })
    },

    async findReceivedInvites(_request, call) {
      return {
        $typeName: 'berth.iam.v1.FindReceivedInvitesResponse' as const,
        ...(isNarrowed(authorizationOf(call).caller) ? noInvites : await findReceivedInvites(store, call)),
      }
    },

    async acceptReceivedInvite({ uid: text }, call) {
      const acceptor = acceptorOf(call)
      const uid = text === '' ? undefined : parseUid(text)
      if (uid === undefined) throw invalidArgument('uid', text === '' ? 'is required' : 'must be a uid')
      return mutate(store, call, async (tx) => {
        const found = (await readRowsByUid(tx, 'group_invites', ['parent'], [uid])).get(uid)
        const invite = found && (await lockFound(store, tx, found))
        if (invite === undefined || invite.email === '') throw receivedInviteNotFound(uid)
        const locked = { invite, provesEmail: false, notFound: () => receivedInviteNotFound(uid) }
        const binding = await acceptLocked(store, tx, locked, acceptor)
        const roleBinding = requireBinding(await hydrateBindings(store.db, [binding], tx), binding.uid)
        const response = { $typeName: 'berth.iam.v1.AcceptReceivedInviteResponse' as const, roleBinding }
        return { uid: binding.uid, response }
      })
    },
  })
}

/** Throws code 7 for a narrowed token: the binding belongs to the identity itself, so it would reach further than the token. */
function acceptorOf(call: Call): Acceptor {
  const { caller, grants } = authorizationOf(call)
  if (isNarrowed(caller))
    throw permissionDenied('a token that is narrowed to scopes or capabilities cannot accept invites')
  return {
    actor: caller.identity,
    voucher: grants.voucher,
    session: caller.session,
    method: fullMethodName(call.requestedMethod),
    requestId: call.requestId,
    address: call.address,
  }
}

/** The identity that accepts (`actor` is its uid), and the request. */
export interface Acceptor extends Pick<AuditEvent, 'actor' | 'method' | 'requestId' | 'address'> {
  readonly voucher: Voucher
  /** Id of the session in which the identity accepts; undefined without one. */
  readonly session: string | undefined
}

/**
 * Gives an identity the role that an invite grants, and records which organization's provider vouched for it; an existing binding that
 * does not count for that provider is recorded again. Deletes a single-use invite, with an audit record. The caller writes the audit record
 * of the binding. Nothing is written before all checks pass, so a caller may catch an error and continue in the same transaction.
 *
 * Throws code 5, always the same, for a code that is wrong, expired, used up or for another person; code 6 when the identity has the role
 * there already; code 9, type `ROLE_MISSING`, when the role has been deleted.
 */
export async function acceptInvite(
  store: Store,
  tx: Tx,
  text: string,
  acceptor: Acceptor,
): Promise<RoleBindingRow> {
  const invite = await lockInvite(store, tx, text)
  if (invite === undefined) throw inviteNotFound()
  const locked = { invite, provesEmail: provesEmail(store, invite, text), notFound: inviteNotFound }
  return acceptLocked(store, tx, locked, acceptor)
}

interface LockedInvite {
  readonly invite: GroupInviteRow
  readonly provesEmail: boolean
  /** The error for everything that must not be distinguished. */
  readonly notFound: () => ApiError
}

async function acceptLocked(
  store: Store,
  tx: Tx,
  { invite, provesEmail, notFound }: LockedInvite,
  acceptor: Acceptor,
): Promise<RoleBindingRow> {
  const { db, clock } = store
  if (invite.expires_ms <= clock()) throw notFound()

  const { uid, parent, role_uid: roleUid } = invite
  const group = parent as Uid
  const { voucher, session, ...event } = acceptor
  const { actor: identityUid } = event
  // Other transactions that bind this identity wait, so one check for the role is enough.
  const identity = await lockResource(db, tx, 'identities', identityUid, 'update')
  if (identity === undefined || !isBindable(identityUid, group)) throw notFound()
  const match = matchInvitee({ email: invite.email, provesEmail, root: rootOf(group) }, voucher, identity)
  if (match !== 'yes' && match !== 'verifies') throw notFound()

  const role = await lockResource(db, tx, 'roles', roleUid, 'share')
  if (role === undefined)
    throw failedPrecondition('ROLE_MISSING', 'the role of this invite has been deleted', uid)
  const bound = await lockBinding(store, tx, group, identityUid, roleUid)
  const counts =
    bound !== undefined &&
    isBindingEffective(voucher, { scope: group, acceptedThrough: bound.accepted_through })
  if (counts) throw bindingExistsError(group, { identityUid, roleUid })

  if (match === 'verifies') await confirmEmail(store, tx, identityUid, identity.email_unverified, session)
  if (invite.single_use === 1) {
    await deleteResource(db, tx, 'group_invites', uid)
    await recordEvent(tx, { ...event, timeMs: clock(), uid })
  }
  const acceptedThrough = recordedProviderOf(voucher)
  if (bound === undefined)
    return insertBinding(store, tx, group, { identityUid, roleUid }, { acceptedThrough })
  const changed = { accepted_through: acceptedThrough, updated_ms: nextUpdateMs(store, bound) }
  await updateResource(tx, 'role_bindings', bound.uid, changed)
  return { ...bound, ...changed }
}

/** What an invite code offers, shown to its holder before they accept. */
export interface InviteOffer {
  readonly uid: Uid
  readonly group: { readonly uid: string; readonly name: string }
  readonly role: { readonly uid: string; readonly name: string }
  /** The only address that the invite is for; '' if it is for anyone. */
  readonly email: string
  /** Whether the holder of the code has received it from Berth at this address. */
  readonly provesEmail: boolean
  readonly expiresMs: number
  /** Name of the user who created the invite, with the verified address if there is one; '' if it is not recorded. */
  readonly inviter: string
}

/**
 * Whether a user can accept an invite for an email address. `verifies`: yes, and the code proves that the address of the local account is the
 * user's. `unverified`: the local account has this address, but nothing proves that it is the user's.
 */
export type InviteeMatch = 'yes' | 'verifies' | 'unverified' | 'no'

export function matchInvitee(
  { email, provesEmail, root }: Pick<InviteOffer, 'email' | 'provesEmail'> & { readonly root: string },
  voucher: Voucher,
  identity: { readonly email: string; readonly email_unverified: string },
): InviteeMatch {
  if (email === '') return 'yes'
  const verified = verifiedEmailOf(voucher, identity.email)
  if (verified.isTrustedIn(root) && isSameEmail(email, verified.address)) return 'yes'
  // An organization's provider never verifies an address for others (ADR 13).
  if (voucher.kind !== 'account' || !isSameEmail(email, identity.email_unverified)) return 'no'
  return provesEmail ? 'verifies' : 'unverified'
}

/** Undefined for a code that is wrong, expired or used up, and when the group or the role was deleted. */
export async function findInviteOffer(
  store: Pick<Store, 'db' | 'clock' | 'secretsKey'>,
  text: string,
): Promise<InviteOffer | undefined> {
  const { db, clock } = store
  const invite = await findInvite(db.kysely, text)
  if (invite === undefined || invite.expires_ms <= clock()) return undefined
  nameShare(invite.parent)
  const group = await readResource(db, 'groups', invite.parent)
  const role = await readResource(db, 'roles', invite.role_uid)
  if (group === undefined || role === undefined || (await isClosed(db.kysely, group.uid))) return undefined
  return {
    uid: invite.uid as Uid,
    group: { uid: group.uid, name: group.name },
    role: { uid: role.uid, name: role.name },
    email: invite.email,
    provesEmail: provesEmail(store, invite, text),
    expiresMs: invite.expires_ms,
    inviter: await readInviter(db, invite.created_by),
  }
}

function provesEmail(
  { secretsKey }: Pick<Store, 'secretsKey'>,
  invite: Pick<GroupInviteRow, 'uid' | 'email'>,
  text: string,
): boolean {
  return invite.email !== '' && isProof(secretsKey, readReceivedInvite(text).proof, invite)
}

/** Finds the invite of a code, expired or not. */
async function findInvite(db: Reader, text: string): Promise<GroupInviteRow | undefined> {
  const named = readInviteCode(text)
  if (named === undefined) return undefined
  const found = await db
    .selectFrom('group_invites')
    .selectAll()
    .where('root', '=', rootOf(named.group))
    .where('key_id', '=', named.keyId)
    .executeTakeFirst()
  return isInviteCode(readReceivedInvite(text).code, found?.code_hash) ? found : undefined
}

/**
 * Locks the invite of a code for this transaction, and its group, so that it is not deleted meanwhile. Only a caller with the right code
 * can lock anything.
 */
async function lockInvite(store: Store, tx: Tx, text: string): Promise<GroupInviteRow | undefined> {
  const found = await findInvite(tx, text)
  return found && lockFound(store, tx, found)
}

async function lockFound(
  { db }: Store,
  tx: Tx,
  { uid, parent }: Pick<GroupInviteRow, 'uid' | 'parent'>,
): Promise<GroupInviteRow | undefined> {
  const group = await lockResource(db, tx, 'groups', parent, 'share')
  if (group === undefined || (await isClosed(tx, parent))) return undefined
  return lockResource(db, tx, 'group_invites', uid, 'update')
}

/** A suspended organization is closed to its members, and to new ones. Its folders do not have the status. */
async function isClosed(reader: Reader, group: string): Promise<boolean> {
  const root = rootOf(group)
  const organization = (await readRowsByUid(reader, 'groups', ['status'], [root])).get(root)
  return organization?.status === OrgStatus.SUSPENDED
}

/** Locks the existing binding for this transaction. */
async function lockBinding(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
  group: string,
  identity: string,
  role: string,
): Promise<RoleBindingRow | undefined> {
  const row = await tx
    .selectFrom('role_bindings')
    .select('uid')
    .where('root', '=', rootOf(group))
    .where('parent', '=', group)
    .where('identity_uid', '=', identity)
    .where('role_uid', '=', role)
    .executeTakeFirst()
  return row && lockResource(db, tx, 'role_bindings', row.uid, 'update')
}

/** The same error for every problem with a code, so that guessing reveals nothing; it does not repeat the code. */
function inviteNotFound(): ApiError {
  const description = 'no invite can be accepted with this code'
  return new ApiError(Code.NOT_FOUND, `Not found: ${description}`, {
    details: [{ kind: 'ResourceInfo', resourceType: GROUP_INVITE_TYPE, resourceName: '', description }],
  })
}

/** The same error for an invite that does not exist, has expired or is for another person. */
const receivedInviteNotFound = (uid: string): ApiError => notFound(GROUP_INVITE_TYPE, uid)
