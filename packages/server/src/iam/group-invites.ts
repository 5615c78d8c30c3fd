import { capabilitiesIn } from '@berth/contract/capabilities.ts'
import {
  type GroupInvite,
  GroupInviteSchema,
  GroupInvitesService,
  type ListGroupInvitesRequest,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import { type FieldViolation, failedPrecondition, notFound } from '../api/errors.ts'
import { resolveMask, touches } from '../api/field-mask.ts'
import { checkEmail, requireValid } from '../api/fields.ts'
import { applyUpdate, durationMs, timestampOf } from '../api/messages.ts'
import { parseUid, rootOf, type Uid } from '../api/uid.ts'
import { DAY_MS, limits } from '../config/limits.ts'
import { deleteMail, readMailStatuses } from '../mail/outbox.ts'
import { authorizationOf, requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Reader } from '../storage/db.ts'
import { insertResource, lockForChange, nextUpdateMs, updateResource } from '../storage/resource-rows.ts'
import {
  definitionOf,
  type ResourceDeclaration,
  resourceMethods,
} from '../storage/resources/resource-methods.ts'
import { readRowsByUid } from '../storage/rows-by-uid.ts'
import type { GroupInviteRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { lockGrantableRole } from './grantable-role.ts'
import { lockGroup } from './groups/parent-group.ts'
import { inviteCodeHash, newInviteCode } from './invites/invite-code.ts'
import { inviteLink, queueInviteMail, toInviteMail } from './invites/invite-mail.ts'
import { recordInvitedOrganization } from './invites/invited-organizations.ts'
import { capabilitiesOfRole } from './roles.ts'

/**
 * Group invites: the code of an invite gives its role at its group to anyone who has it. Promising a role is granting it, so the same
 * rule against escalation applies as for bindings. Expired invites stay listed until they are deleted; whether an invite can still be
 * accepted is checked when it is accepted (invitations.ts).
 */

/** Type of invites in errors. */
export const GROUP_INVITE_TYPE = 'iam.chainguard.dev/GroupInvite'

const invites: ResourceDeclaration<'group_invites', typeof GroupInviteSchema, ListGroupInvitesRequest> = {
  table: 'group_invites',
  schema: GroupInviteSchema,
  isCached: true,
  toMessages: (rows, reader) => hydrateInvites(reader, rows),
  defaultOrder: 'created_at desc',
  beforeDelete: (tx, { uid }) => deleteMail(tx, uid),
  filter: ({ keyId }) => ({ equals: { key_id: keyId } }),
}

export interface InviteOptions {
  readonly authUrl: string
  /** Whether the operator has configured a mail server. */
  readonly sendsMail: boolean
}

export function groupInvitesService(store: Store, { authUrl, sendsMail }: InviteOptions) {
  const { db, clock, uids } = store

  return implement(GroupInvitesService, {
    ...resourceMethods(store, GroupInvitesService, invites),

    async createGroupInvite({ groupInvite = create(GroupInviteSchema) }, call) {
      const group = requireScope(call).scope as Uid
      const creator = authorizationOf(call).caller.identity
      return mutate(store, call, async (tx) => {
        await lockGroup(db, tx, group)
        requireValid(checkRoleUid(groupInvite), checkOptionalEmail(groupInvite), checkTtl(groupInvite))
        await lockGrantableRole(store, tx, call, group, groupInvite.roleUid)
        const { code, keyId } = newInviteCode(group)
        const now = clock()
        const row: GroupInviteRow = {
          root: rootOf(group),
          uid: uids.child(group),
          parent: group,
          role_uid: groupInvite.roleUid,
          email: groupInvite.email,
          expires_ms: now + lifetimeMs(groupInvite),
          single_use: Number(groupInvite.singleUse),
          key_id: keyId,
          code_hash: inviteCodeHash(code),
          created_by: creator,
          created_ms: now,
          updated_ms: now,
        }
        await recordInvitedOrganization(store, tx, group, row.email)
        await insertResource(db, tx, 'group_invites', row)
        if (sendsMail && row.email !== '')
          await queueInviteMail(store, tx, row, code, { kind: 'identity', id: creator })
        const invite = requireInvite(await hydrateInvites(tx, [row]), row.uid)
        return { uid: row.uid, response: { ...invite, code, link: inviteLink(authUrl, code) } }
      })
    },

    async updateGroupInvite({ groupInvite: patch = create(GroupInviteSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, definitionOf(invites), scope)
        const next = applyUpdate(GroupInviteSchema, current, patch, updateMask?.paths)
        const extendsTtl = changesTtl(patch, updateMask?.paths)
        if (!extendsTtl && equals(GroupInviteSchema, current, next))
          return { uid: scope, response: current, unchanged: true }
        requireValid(checkRoleUid(next), checkOptionalEmail(next), extendsTtl ? checkTtl(next) : undefined)
        const now = clock()
        if (row.expires_ms <= now)
          throw failedPrecondition('INVITE_EXPIRED', `invite ${scope} has expired`, scope)
        // Every change decides who can get the role.
        await lockGrantableRole(store, tx, call, row.parent as Uid, next.roleUid)
        const changed = {
          role_uid: next.roleUid,
          email: next.email,
          single_use: Number(next.singleUse),
          expires_ms: extendsTtl ? now + lifetimeMs(next) : row.expires_ms,
          updated_ms: nextUpdateMs(store, row),
        }
        // Garbage collection keeps the row while an invite has the address.
        if (next.email !== row.email)
          await recordInvitedOrganization(store, tx, row.parent as Uid, changed.email)
        await updateResource(tx, 'group_invites', scope, changed)
        // An earlier email was for the earlier address.
        if (next.email !== row.email) await deleteMail(tx, scope)
        return {
          uid: scope,
          response: requireInvite(await hydrateInvites(tx, [{ ...row, ...changed }]), scope),
        }
      })
    },
  })
}

/** Returns invites with their roles, if those still exist: a fixed number of statements, whatever their number. */
async function hydrateInvites(db: Reader, rows: readonly GroupInviteRow[]): Promise<GroupInvite[]> {
  const roleUids = rows.map((row) => row.role_uid)
  const roles = await readRowsByUid(db, 'roles', ['name', 'description', 'capabilities'], roleUids)
  const forAddress = rows.filter(({ email }) => email !== '').map(({ uid }) => uid)
  const mails = await readMailStatuses(db, forAddress)
  return rows.map((row) => {
    const role = roles.get(row.role_uid)
    const mail = mails.get(row.uid)
    const invite = { ...toGroupInvite(row), ...(mail && { mail: toInviteMail(mail) }) }
    if (role === undefined) return invite
    const { uid, name, description } = role
    const capabilities = capabilitiesIn(capabilitiesOfRole(role))
    const $typeName = 'chainguard.platform.iam.v2beta1.GroupInviteRole'
    return { ...invite, role: { $typeName, uid, name, description, capabilities } }
  })
}

/** Returns an invite without its code, of which only the hash is stored. */
function toGroupInvite(row: GroupInviteRow): GroupInvite {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.GroupInvite',
    uid: row.uid,
    roleUid: row.role_uid,
    email: row.email,
    expirationTime: timestampOf(row.expires_ms),
    singleUse: row.single_use === 1,
    code: '',
    link: '',
    keyId: row.key_id,
    createTime: timestampOf(row.created_ms),
  }
}

function requireInvite(invites: readonly GroupInvite[], uid: string): GroupInvite {
  const [invite] = invites
  if (invite === undefined) throw notFound(GROUP_INVITE_TYPE, uid)
  return invite
}

/** Whether an update sets the lifetime of the invite. A mask that includes `ttl`, `*` too, requires a value for it. */
function changesTtl(patch: GroupInvite, paths: readonly string[] | undefined): boolean {
  const resolved = resolveMask(GroupInviteSchema, paths, patch)
  return 'mask' in resolved && touches(resolved.mask, 'ttl')
}

function checkRoleUid({ roleUid }: GroupInvite): FieldViolation | undefined {
  if (roleUid === '') return { field: 'roleUid', description: 'is required' }
  return parseUid(roleUid) === undefined ? { field: 'roleUid', description: 'must be a uid' } : undefined
}

function checkOptionalEmail({ email }: GroupInvite): FieldViolation | undefined {
  return email === '' ? undefined : checkEmail(email)
}

function checkTtl({ ttl }: GroupInvite): FieldViolation | undefined {
  if (ttl === undefined) return { field: 'ttl', description: 'is required' }
  const ms = durationMs(ttl)
  if (ms !== undefined && ms > 0 && ms <= limits.inviteLifetimeMsMax) return undefined
  const days = limits.inviteLifetimeMsMax / DAY_MS
  return { field: 'ttl', description: `must be at least a millisecond and at most ${days} days` }
}

/** Returns the lifetime of an invite whose ttl is valid. */
function lifetimeMs({ ttl }: GroupInvite): number {
  return (ttl && durationMs(ttl)) ?? 0
}
