import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import {
  ExpressionType,
  type ParameterSchema,
  Policies,
  type Policy,
  PolicySchema,
  PolicyType,
} from '@berth/contract/gen/chainguard/platform/policies/v1/policies_pb.js'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { create } from '@bufbuild/protobuf'
import {
  alreadyExists,
  type FieldViolation,
  failedPrecondition,
  invalidArgument,
  notFound,
  permissionDenied,
} from '../../api/errors.ts'
import { checkDescription, checkName, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { lockGroup } from '../../iam/groups/parent-group.ts'
import { authorizationOf, requireCapabilitiesAnywhere, requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import type { Tx } from '../../storage/db.ts'
import { listPage } from '../../storage/list/list.ts'
import type { PolicyRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { compileExpression, isRule, validateExpression } from '../expressions/compiled.ts'
import type { Diagnostic } from '../expressions/source.ts'
import {
  allowUnknown,
  checkParameters,
  type ParameterDeclaration,
  type Parameters,
  parameterNamePattern,
  parameterTypeOf,
  toParameterSchema,
  toValue,
} from '../rules/parameters.ts'
import type { PolicyRule } from '../rules/policy-rule.ts'
import { systemPolicies, systemPolicyByName, systemPolicyByUid } from '../rules/system-policies.ts'
import { deleteRow, findRow, incrementRevision, requireBelowMax } from './scope.ts'

/** Policies: the system policies, which are rows at the root, and custom policies of groups. */

export const POLICY_TYPE = 'policies.chainguard.dev/Policy'
/** The only type of resource that is evaluated. */
export const IMAGE = 'image'

const systemUids = systemPolicies.map(({ uid }) => uid)
const createCapability = capabilitySetOf([Capability.CAP_POLICIES_POLICY_CREATE])

export function policiesService(store: Store) {
  const { db, clock, uids } = store

  return implement(Policies, {
    async createPolicy({ policy: requested = create(PolicySchema) }, call) {
      const parent = requireScope(call).scope as Uid
      await compileExpression(requested.expression) // the transaction finds it in the cache
      return mutate(
        store,
        call,
        async (tx) => {
          await lockGroup(db, tx, parent)
          requireValid(...(await checkPolicy(requested)))
          await incrementRevision(db, tx, parent)
          await requireBelowMax(tx, 'policies', parent, { max: limits.policiesMax, label: 'policies' })
          const { name, description, expression } = requested
          const now = clock()
          const row: PolicyRow = {
            root: rootOf(parent),
            uid: uids.child(parent),
            parent,
            name,
            description,
            expression,
            created_ms: now,
            updated_ms: now,
          }
          await tx.insertInto('policies').values(row).execute()
          return { uid: row.uid, response: await toPolicy(row) }
        },
        () => nameTaken(parent, requested.name),
      )
    },

    async updatePolicy(requested, call) {
      const { scope } = requireScope(call)
      requireCustom(scope)
      await compileExpression(requested.expression)
      return mutate(
        store,
        call,
        async (tx) => {
          await incrementRevision(db, tx, scope)
          const row = await findRow(tx, 'policies', scope)
          if (row === undefined) throw notFound(POLICY_TYPE, scope)
          requireValid(...(await checkPolicy(requested)))
          const { name, description, expression } = requested
          if (name === row.name && description === row.description && expression === row.expression)
            return { uid: scope, response: await toPolicy(row), unchanged: true }
          await requireBindingsFit(tx, scope, (await compileExpression(expression)) as PolicyRule)
          const updated_ms = Math.max(clock(), Number(row.updated_ms) + 1)
          const changed = { name, description, expression, updated_ms }
          await tx
            .updateTable('policies')
            .set(changed)
            .where('root', '=', row.root)
            .where('uid', '=', scope)
            .execute()
          return { uid: scope, response: await toPolicy({ ...row, ...changed }) }
        },
        () => nameTaken(scope.slice(0, scope.lastIndexOf('/')), requested.name),
      )
    },

    async listPolicies(request, call) {
      const { rows, ...page } = await listPage(store, call, request, {
        table: 'policies',
        sortFields: {
          id: 'uid',
          name: 'name',
          created_at: 'created_ms',
          createdAt: 'created_ms',
          updated_at: 'updated_ms',
          updatedAt: 'updated_ms',
        },
        defaultOrder: 'id',
        equals: { name: request.name },
        publicRoots: systemUids,
      })
      return {
        $typeName: 'chainguard.platform.policies.v1.PolicyList' as const,
        items: await Promise.all(rows.map(toPolicy)),
        ...page,
      }
    },

    async deletePolicy(_request, call) {
      const { scope } = requireScope(call)
      requireCustom(scope)
      return mutate(store, call, async (tx) => {
        await incrementRevision(db, tx, scope)
        const row = await findRow(tx, 'policies', scope)
        if (row === undefined) throw notFound(POLICY_TYPE, scope)
        for (const table of ['policy_bindings', 'policy_overrides'] as const) {
          const user = await tx
            .selectFrom(table)
            .select('uid')
            .where('root', '=', row.root)
            .where('policy', '=', scope)
            .executeTakeFirst()
          if (user !== undefined)
            throw failedPrecondition('RESOURCE_IN_USE', `policy ${scope} is used by ${user.uid}`, scope)
        }
        await deleteRow(tx, 'policies', scope)
        return { uid: scope, response: create(EmptySchema) }
      })
    },

    async validatePolicy({ expression, type, parameterSchemas }, call) {
      requireCapabilitiesAnywhere(authorizationOf(call).grants, createCapability)
      const errors =
        type === ExpressionType.CEL
          ? await validateExpression(expression, readSchemas(parameterSchemas))
          : [{ line: 0, column: 0, message: languageProblem(type) }]
      return {
        $typeName: 'chainguard.platform.policies.v1.ValidatePolicyResponse' as const,
        valid: errors.length === 0,
        errors: errors.map((problem) => ({
          $typeName: 'chainguard.platform.policies.v1.PolicyDiagnostic' as const,
          ...problem,
        })),
      }
    },
  })
}

function languageProblem(type: ExpressionType): string {
  return type === ExpressionType.REGO
    ? 'this server does not evaluate Rego: write the policy in CEL (EXPRESSION_TYPE_CEL)'
    : 'the type must be EXPRESSION_TYPE_CEL'
}

function readSchemas(schemas: readonly ParameterSchema[]): ParameterDeclaration[] {
  if (schemas.length > limits.policyParametersMax)
    throw invalidArgument('parameterSchemas', `must have at most ${limits.policyParametersMax} entries`)
  return schemas.map(({ name, type, description }, at) => {
    const field = `parameterSchemas[${at}]`
    const known = parameterTypeOf(type)
    if (!parameterNamePattern.test(name))
      throw invalidArgument(`${field}.name`, `must match ${parameterNamePattern.source}`)
    if (known === undefined) throw invalidArgument(`${field}.type`, 'is required')
    return { name, type: known, description }
  })
}

function requireCustom(uid: string): void {
  if (systemPolicyByUid.has(uid)) throw permissionDenied('system policies cannot be changed or deleted')
}

function nameTaken(parent: string, name: string) {
  return alreadyExists(POLICY_TYPE, name, `group ${parent} already has a policy with the name ${name}`)
}

async function checkPolicy(policy: Policy): Promise<(FieldViolation | undefined)[]> {
  const { name, description, expression, supportedResourceType, supportedResourceTypes } = policy
  const isSystemName = systemPolicyByName.has(name)
  return [
    isSystemName ? { field: 'name', description: 'is the name of a system policy' } : checkName(name),
    checkDescription(description),
    ...checkResourceTypes('supportedResourceTypes', supportedResourceTypes),
    ...checkResourceTypes(
      'supportedResourceType',
      supportedResourceType === '' ? [] : [supportedResourceType],
    ),
    await checkExpressionField(expression),
  ]
}

export function checkResourceTypes(field: string, types: readonly string[]): (FieldViolation | undefined)[] {
  return [
    types.every((type) => type === IMAGE) && types.length <= 1
      ? undefined
      : { field, description: `must be ${IMAGE}` },
  ]
}

async function checkExpressionField(expression: string): Promise<FieldViolation | undefined> {
  const compiled = await compileExpression(expression)
  if (isRule(compiled)) return undefined
  return { field: 'expression', description: describe(compiled[0]) }
}

function describe(problem: Diagnostic | undefined): string {
  if (problem === undefined) return 'is not valid'
  const { line, column, message } = problem
  if (line === 0) return message
  return `line ${line}${column === 0 ? '' : `, column ${column}`}: ${message}`
}

/** Throws code 9 if the parameters of a binding are not valid for the new expression. */
async function requireBindingsFit(tx: Tx, policy: string, rule: PolicyRule): Promise<void> {
  const bindings = await tx
    .selectFrom('policy_bindings')
    .select(['uid', 'parameters'])
    .where('root', '=', rootOf(policy))
    .where('policy', '=', policy)
    .execute()
  for (const { uid, parameters } of bindings) {
    const values = Object.entries(JSON.parse(parameters) as Parameters).map(
      ([name, value]) => [name, toValue(value)] as const,
    )
    const [problem] = checkParameters([...rule.parameters, allowUnknown], Object.fromEntries(values))
    if (problem !== undefined)
      throw failedPrecondition(
        'RESOURCE_IN_USE',
        `the parameters of binding ${uid} are not valid for the new expression: ${problem.field} ${problem.description}`,
        policy,
      )
  }
}

async function toPolicy(row: PolicyRow): Promise<Policy> {
  const system = systemPolicyByUid.get(row.uid)
  const compiled = system ?? (await compileExpression(row.expression))
  const parameters = 'parameters' in compiled ? compiled.parameters : []
  return create(PolicySchema, {
    id: row.uid,
    name: row.name,
    description: row.description,
    policyType: system === undefined ? PolicyType.CUSTOM : PolicyType.SYSTEM,
    supportedResourceTypes: [IMAGE],
    supportedResourceType: IMAGE,
    expression: row.expression,
    createdAt: timestampOf(Number(row.created_ms)),
    updatedAt: timestampOf(Number(row.updated_ms)),
    parameterSchemas: [...parameters, allowUnknown].map(toParameterSchema),
  })
}
