import { capabilitiesIn } from '@berth/contract/capabilities.ts'
import {
  type GroupInvite,
  GroupInviteSchema,
  GroupInvitesService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { create, equals } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import { type FieldViolation, failedPrecondition, notFound } from '../api/errors.ts'
import { resolveMask, touches } from '../api/field-mask.ts'
import { checkEmail, requireValid } from '../api/fields.ts'
import { applyUpdate, durationMs, timestampOf } from '../api/messages.ts'
import { timeSortFields } from '../api/order-by.ts'
import { parseUid, rootOf, type Uid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { mutate } from '../storage/changes/mutation.ts'
import type { Reader } from '../storage/db.ts'
import { listPage } from '../storage/list/list.ts'
import {
  deleteResource,
  insertResource,
  lockForChange,
  nextUpdateMs,
  type ResourceDefinition,
  readResource,
  updateResource,
} from '../storage/resource-rows.ts'
import { readRowsByUid } from '../storage/rows-by-uid.ts'
import type { GroupInviteRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { lockGrantableRole } from './grantable-role.ts'
import { lockGroup } from './groups/parent-group.ts'
import { inviteCodeHash, newInviteCode } from './invite-code.ts'
import { capabilitiesOfRole } from './roles.ts'

/**
 * Group invites: whoever has the code of one can have its role at its group. Promising a role is granting it, so the same rule
 * against escalation holds as for bindings. Invites that have run out stay listed until somebody deletes them; whether one may
 * still be accepted is asked when it is accepted (invitations.ts).
 */

/** What invites are called in errors. */
export const GROUP_INVITE_TYPE = 'iam.chainguard.dev/GroupInvite'

const KIND: ResourceDefinition<'group_invites', typeof GroupInviteSchema> = {
  table: 'group_invites',
  schema: GroupInviteSchema,
  type: GROUP_INVITE_TYPE,
  toMessage: async (row, tx) => requireInvite(await hydrateInvites(tx, [row]), row.uid),
}

const { created_at, create_time, createTime } = timeSortFields

export function groupInvitesService(store: Store) {
  const { db, clock, uids } = store

  return implement(GroupInvitesService, {
    async listGroupInvites(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'group_invites',
        sortFields: { uid: 'uid', created_at, create_time, createTime },
        defaultOrder: 'created_at desc',
        equals: { key_id: request.keyId },
      })
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.ListGroupInvitesResponse' as const,
        groupInvites: await hydrateInvites(db.kysely, rows),
        ...page,
      }
    },

    async getGroupInvite(_request, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'group_invites', scope)
      return requireInvite(await hydrateInvites(db.kysely, row === undefined ? [] : [row]), scope)
    },

    async createGroupInvite({ groupInvite = create(GroupInviteSchema) }, call) {
      const group = requireScope(call).scope as Uid
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
          created_ms: now,
          updated_ms: now,
        }
        await insertResource(db, tx, 'group_invites', row)
        return {
          uid: row.uid,
          response: { ...requireInvite(await hydrateInvites(tx, [row]), row.uid), code },
        }
      })
    },

    async updateGroupInvite({ groupInvite: patch = create(GroupInviteSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, KIND, scope)
        const next = applyUpdate(GroupInviteSchema, current, patch, updateMask?.paths)
        const extendsTtl = changesTtl(patch, updateMask?.paths)
        if (!extendsTtl && equals(GroupInviteSchema, current, next))
          return { uid: scope, response: current, unchanged: true }
        requireValid(checkRoleUid(next), checkOptionalEmail(next), extendsTtl ? checkTtl(next) : undefined)
        const now = clock()
        if (row.expires_ms <= now)
          throw failedPrecondition('INVITE_EXPIRED', `invite ${scope} has run out`, scope)
        // Whatever changes, it decides anew who may get the role.
        await lockGrantableRole(store, tx, call, row.parent as Uid, next.roleUid)
        const changed = {
          role_uid: next.roleUid,
          email: next.email,
          single_use: Number(next.singleUse),
          expires_ms: extendsTtl ? now + lifetimeMs(next) : row.expires_ms,
          updated_ms: nextUpdateMs(store, row),
        }
        await updateResource(tx, 'group_invites', scope, changed)
        return {
          uid: scope,
          response: requireInvite(await hydrateInvites(tx, [{ ...row, ...changed }]), scope),
        }
      })
    },

    async deleteGroupInvite(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await lockForChange(db, tx, call, KIND, scope)
        await deleteResource(db, tx, 'group_invites', scope)
        return { uid: scope, response: create(EmptySchema) }
      })
    },
  })
}

/** The invites with their roles, as far as those still exist: one statement, however many they are. */
async function hydrateInvites(db: Reader, rows: readonly GroupInviteRow[]): Promise<GroupInvite[]> {
  const roleUids = rows.map((row) => row.role_uid)
  const roles = await readRowsByUid(db, 'roles', ['name', 'description', 'capabilities'], roleUids)
  return rows.map((row) => {
    const role = roles.get(row.role_uid)
    const invite = toGroupInvite(row)
    if (role === undefined) return invite
    const { uid, name, description } = role
    const capabilities = capabilitiesIn(capabilitiesOfRole(role))
    const $typeName = 'chainguard.platform.iam.v2beta1.GroupInviteRole'
    return { ...invite, role: { $typeName, uid, name, description, capabilities } }
  })
}

/** Without its code, which nobody knows any more. */
function toGroupInvite(row: GroupInviteRow): GroupInvite {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.GroupInvite',
    uid: row.uid,
    roleUid: row.role_uid,
    email: row.email,
    expirationTime: timestampOf(row.expires_ms),
    singleUse: row.single_use === 1,
    code: '',
    keyId: row.key_id,
    createTime: timestampOf(row.created_ms),
  }
}

function requireInvite(invites: readonly GroupInvite[], uid: string): GroupInvite {
  const [invite] = invites
  if (invite === undefined) throw notFound(GROUP_INVITE_TYPE, uid)
  return invite
}

/** Whether an update says how long the invite stays open. A mask that does, `*` too, has to come with a `ttl`. */
function changesTtl(patch: GroupInvite, paths: readonly string[] | undefined): boolean {
  const resolved = resolveMask(GroupInviteSchema, paths, patch)
  return 'mask' in resolved && touches(resolved.mask, 'ttl')
}

function checkRoleUid({ roleUid }: GroupInvite): FieldViolation | undefined {
  if (roleUid === '') return { field: 'roleUid', description: 'must be given' }
  return parseUid(roleUid) === undefined ? { field: 'roleUid', description: 'must be a uid' } : undefined
}

function checkOptionalEmail({ email }: GroupInvite): FieldViolation | undefined {
  return email === '' ? undefined : checkEmail(email)
}

const DAY_MS = 24 * 60 * 60 * 1000

function checkTtl({ ttl }: GroupInvite): FieldViolation | undefined {
  if (ttl === undefined) return { field: 'ttl', description: 'must be given' }
  const ms = durationMs(ttl)
  if (ms !== undefined && ms > 0 && ms <= limits.inviteLifetimeMsMax) return undefined
  const days = limits.inviteLifetimeMsMax / DAY_MS
  return { field: 'ttl', description: `must be at least a millisecond and at most ${days} days` }
}

/** Of an invite whose ttl was checked. */
function lifetimeMs({ ttl }: GroupInvite): number {
  return (ttl && durationMs(ttl)) ?? 0
}
