import {
  type Binding,
  BindingSchema,
  Bindings,
} from '@berth/contract/gen/chainguard/platform/policies/v1/bindings_pb.js'
import { PolicyMode } from '@berth/contract/gen/chainguard/platform/policies/v1/modes_pb.js'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { create } from '@bufbuild/protobuf'
import type { Value } from '@bufbuild/protobuf/wkt'
import { type FieldViolation, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { listPage } from '../../storage/list/list.ts'
import type { PolicyBindingRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { compileExpression, isRule } from '../expressions/compiled.ts'
import {
  allowUnknown,
  checkParameters,
  fromValue,
  type Parameters,
  toValue,
  withDefaults,
} from '../rules/parameters.ts'
import { systemPolicyByUid } from '../rules/system-policies.ts'
import { checkResourceTypes, IMAGE } from './policies.ts'
import {
  deleteRow,
  findPolicy,
  findRow,
  incrementRevision,
  lockGroupOrRepo,
  type ReferencedPolicy,
  requireBelowMax,
} from './scope.ts'

/** Bindings: what applies a policy to a group and everything in it, or to a repo. */

const TYPE = 'policies.chainguard.dev/Binding'

export function bindingsService(store: Store) {
  const { db, clock, uids } = store

  return implement(Bindings, {
    async createBinding({ binding = create(BindingSchema) }, call) {
      const parent = requireScope(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await lockGroupOrRepo(db, tx, parent)
        await incrementRevision(db, tx, parent)
        const policy = await findPolicy(tx, parent, 'policy', binding.policy)
        requireValid(...(await checkBinding(binding, policy)))
        await requireBelowMax(tx, 'policy_bindings', parent, {
          max: limits.policyBindingsMax,
          label: 'bindings',
        })
        const now = clock()
        const row: PolicyBindingRow = {
          root: rootOf(parent),
          uid: uids.child(parent),
          parent,
          policy: (policy as ReferencedPolicy).uid,
          mode: binding.mode,
          parameters: JSON.stringify(valuesOf(binding.parameters)),
          created_ms: now,
          updated_ms: now,
        }
        await tx.insertInto('policy_bindings').values(row).execute()
        return { uid: row.uid, response: toBinding(row) }
      })
    },

    async updateBinding(requested, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await incrementRevision(db, tx, scope)
        const row = await findRow(tx, 'policy_bindings', scope)
        if (row === undefined) throw notFound(TYPE, scope)
        const policy =
          requested.policy === ''
            ? await findPolicy(tx, row.parent, 'policy', row.policy)
            : await findPolicy(tx, row.parent, 'policy', requested.policy)
        requireValid(
          'uid' in policy && policy.uid !== row.policy
            ? { field: 'policy', description: 'cannot be changed: create another binding' }
            : undefined,
          ...(await checkBinding(requested, policy)),
        )
        const { mode } = requested
        const parameters = JSON.stringify(valuesOf(requested.parameters))
        if (mode === Number(row.mode) && parameters === row.parameters)
          return { uid: scope, response: toBinding(row), unchanged: true }
        const updated_ms = Math.max(clock(), Number(row.updated_ms) + 1)
        const changed = { mode, parameters, updated_ms }
        await tx
          .updateTable('policy_bindings')
          .set(changed)
          .where('root', '=', row.root)
          .where('uid', '=', scope)
          .execute()
        return { uid: scope, response: toBinding({ ...row, ...changed }) }
      })
    },

    async listBindings(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'policy_bindings',
        sortFields: {
          id: 'uid',
          created_at: 'created_ms',
          createdAt: 'created_ms',
          updated_at: 'updated_ms',
          updatedAt: 'updated_ms',
        },
        defaultOrder: 'id',
      })
      return {
        $typeName: 'chainguard.platform.policies.v1.BindingList' as const,
        items: rows.map(toBinding),
        ...page,
      }
    },

    async deleteBinding(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await incrementRevision(db, tx, scope)
        if ((await findRow(tx, 'policy_bindings', scope)) === undefined) throw notFound(TYPE, scope)
        await deleteRow(tx, 'policy_bindings', scope)
        return { uid: scope, response: create(EmptySchema) }
      })
    },
  })
}

async function checkBinding(
  { mode, resourceTypes, parameters }: Binding,
  policy: ReferencedPolicy | FieldViolation,
): Promise<(FieldViolation | undefined)[]> {
  const isMode = mode === PolicyMode.ENFORCED || mode === PolicyMode.DRY_RUN
  return [
    'field' in policy ? policy : undefined,
    isMode
      ? undefined
      : { field: 'mode', description: 'must be POLICY_MODE_ENFORCED or POLICY_MODE_DRY_RUN' },
    ...checkResourceTypes('resourceTypes', resourceTypes),
    ...('field' in policy ? [] : await checkValues(policy, parameters)),
  ]
}

async function checkValues(
  { uid, expression }: ReferencedPolicy,
  values: Readonly<Record<string, Value>>,
): Promise<readonly (FieldViolation | undefined)[]> {
  const system = systemPolicyByUid.get(uid)
  const rule = system ?? (await compileExpression(expression))
  if (!isRule(rule)) return [{ field: 'policy', description: 'has an expression that is no longer valid' }]
  const declarations = [...rule.parameters, allowUnknown]
  const violations = checkParameters(declarations, values)
  if (violations.length > 0) return violations
  return system?.check?.(withDefaults(declarations, valuesOf(values))) ?? []
}

/** Returns values that were checked. Names are sorted, so that equal parameters are equal text. */
function valuesOf(values: Readonly<Record<string, Value>>): Parameters {
  return Object.fromEntries(
    Object.entries(values)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, value]) => {
        const read = fromValue(value)
        return read === undefined ? [] : [[name, read] as const]
      }),
  )
}

function toBinding(row: PolicyBindingRow): Binding {
  const parameters = Object.entries(JSON.parse(row.parameters) as Parameters)
  return create(BindingSchema, {
    id: row.uid,
    policy: row.policy,
    mode: Number(row.mode),
    resourceTypes: [IMAGE],
    parameters: Object.fromEntries(parameters.map(([name, value]) => [name, toValue(value)])),
    createdAt: timestampOf(Number(row.created_ms)),
    updatedAt: timestampOf(Number(row.updated_ms)),
  })
}
