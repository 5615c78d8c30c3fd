import {
  type Override,
  OverrideSchema,
  Overrides,
} from '@berth/contract/gen/chainguard/platform/policies/v1/overrides_pb.js'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { create } from '@bufbuild/protobuf'
import { alreadyExists, type FieldViolation, notFound } from '../../api/errors.ts'
import { checkDescription, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { checkDigest } from '../../registry/resources/tag-names.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { listPage } from '../../storage/list/list.ts'
import type { PolicyOverrideRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import {
  deleteRow,
  findPolicy,
  findRow,
  incrementRevision,
  lockGroupOrRepo,
  type ReferencedPolicy,
  requireBelowMax,
} from './scope.ts'

/** Overrides: what lets one digest pass a policy in a group and everything in it, or in a repo. */

const TYPE = 'policies.chainguard.dev/Override'

export function overridesService(store: Store) {
  const { db, clock, uids } = store

  return implement(Overrides, {
    async createOverride({ override = create(OverrideSchema) }, call) {
      const parent = requireScope(call).scope as Uid
      const { caller } = authorizationOf(call)
      return mutate(store, call, async (tx) => {
        await lockGroupOrRepo(db, tx, parent)
        await incrementRevision(db, tx, parent)
        const { digest, reason } = override
        const policy = await findPolicy(tx, parent, 'policyId', override.policyId)
        requireValid('field' in policy ? policy : undefined, checkOverrideDigest(digest), checkReason(reason))
        const { uid: policyUid } = policy as ReferencedPolicy
        const existing = await tx
          .selectFrom('policy_overrides')
          .select('uid')
          .where('root', '=', rootOf(parent))
          .where('digest', '=', digest)
          .where('policy', '=', policyUid)
          .where('parent', '=', parent)
          .executeTakeFirst()
        if (existing !== undefined)
          throw alreadyExists(TYPE, existing.uid, `override ${existing.uid} is for this digest and policy`)
        await requireBelowMax(tx, 'policy_overrides', parent, {
          max: limits.policyOverridesMax,
          label: 'overrides',
        })
        const row: PolicyOverrideRow = {
          root: rootOf(parent),
          uid: uids.child(parent),
          parent,
          policy: policyUid,
          digest,
          reason,
          created_by: caller.identity,
          created_ms: clock(),
        }
        await tx.insertInto('policy_overrides').values(row).execute()
        return { uid: row.uid, response: toOverride(row) }
      })
    },

    async listOverrides(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'policy_overrides',
        sortFields: { id: 'uid', created_at: 'created_ms', createdAt: 'created_ms' },
        defaultOrder: 'id',
      })
      return {
        $typeName: 'chainguard.platform.policies.v1.OverrideList' as const,
        items: rows.map(toOverride),
        ...page,
      }
    },

    async deleteOverride(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await incrementRevision(db, tx, scope)
        if ((await findRow(tx, 'policy_overrides', scope)) === undefined) throw notFound(TYPE, scope)
        await deleteRow(tx, 'policy_overrides', scope)
        return { uid: scope, response: create(EmptySchema) }
      })
    },
  })
}

function checkOverrideDigest(digest: string): FieldViolation | undefined {
  const problem = checkDigest(digest)
  return problem && { field: 'digest', description: problem.description }
}

function checkReason(reason: string): FieldViolation | undefined {
  if (reason.trim() === '') return { field: 'reason', description: 'is required' }
  return checkDescription(reason, 'reason')
}

function toOverride(row: PolicyOverrideRow): Override {
  return create(OverrideSchema, {
    id: row.uid,
    policyId: row.policy,
    digest: row.digest,
    reason: row.reason,
    createdBy: row.created_by,
    createdAt: timestampOf(Number(row.created_ms)),
  })
}
