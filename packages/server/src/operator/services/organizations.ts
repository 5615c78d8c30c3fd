import {
  ListOrganizationsResponseSchema,
  type OperatorOrganization,
  OperatorOrganizationSchema,
  OperatorOrganizationsService,
  type ResourceLimit,
} from '@berth/contract/gen/berth/operator/v1/organizations_pb.js'
import { create } from '@bufbuild/protobuf'
import { type FieldViolation, invalidArgument, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { type ResourceKind, type ResourceLimits, resourceKinds } from '../../api/resource-limits.ts'
import { depthOf, parseUid } from '../../api/uid.ts'
import type { Call, ServiceImplementation } from '../../pipeline/call.ts'
import { readOwnLimits } from '../../storage/counts/resource-limits.ts'
import { callActor } from '../actor.ts'
import { listOrganizations, type OrganizationOverview } from '../organization-list.ts'
import { OrganizationNotFound, organizationSettings, type StatusName } from '../organization-settings.ts'
import { type OperatorContext, operatorService, recently } from './context.ts'
import { readPage } from './pages.ts'

/** Organizations as a whole, for operators. */

const TYPE = 'iam.chainguard.dev/Group'
const MAX_LIMIT = 2n ** 31n - 1n

export function operatorOrganizationsService(context: OperatorContext): ServiceImplementation {
  const { store } = context
  const readDefaults = async () => (await readOwnLimits(store.db.kysely, [])).get('') ?? {}

  const change = async (
    call: Call,
    text: string,
    changes: {
      readonly status?: StatusName
      readonly limits: ReadonlyMap<ResourceKind, number | undefined>
    },
  ): Promise<OperatorOrganization> => {
    const uid = parseUid(text)
    if (uid === undefined || depthOf(uid) > 0)
      throw invalidArgument('uid', 'must be the uid of an organization: 40 hex digits')
    try {
      await organizationSettings({ store }, uid, changes, callActor(store, call))
    } catch (error) {
      throw error instanceof OrganizationNotFound ? notFound(TYPE, uid) : error
    }
    const [row] = await listOrganizations(store, { uid }, { max: 1 })
    if (row === undefined) throw notFound(TYPE, uid)
    return toMessage(row, await readDefaults())
  }
  const setStatus = (status: StatusName) =>
    recently(context, ({ uid }: { readonly uid: string }, call) =>
      change(call, uid, { status, limits: new Map() }),
    )

  return operatorService(context, OperatorOrganizationsService, {
    async listOrganizations(request, call) {
      const filter = { query: request.query.trim(), suspended: request.suspended }
      const { rows, nextPageToken } = await readPage(
        store,
        call,
        request,
        [filter],
        (page) => listOrganizations(store, filter, page),
        ({ name }) => [name],
      )
      const defaults = await readDefaults()
      return create(ListOrganizationsResponseSchema, {
        organizations: rows.map((row) => toMessage(row, defaults)),
        nextPageToken,
        defaultLimits: Object.entries(defaults).map(([kind, max]) => ({ kind, max: BigInt(max) })),
      })
    },
    suspendOrganization: setStatus('suspended'),
    activateOrganization: setStatus('ready'),
    setOrganizationLimits: recently(context, async ({ uid, limits }, call) => {
      requireValid(...checkLimits(limits))
      const changed = limits.map(
        ({ kind, max }) => [kind as ResourceKind, max === undefined ? undefined : Number(max)] as const,
      )
      return change(call, uid, { limits: new Map(changed) })
    }),
  })
}

function checkLimits(limits: readonly ResourceLimit[]): (FieldViolation | undefined)[] {
  if (limits.length === 0) return [{ field: 'limits', description: 'must name at least one limit' }]
  const known: ReadonlySet<string> = new Set(resourceKinds)
  return limits.flatMap(({ kind, max }, at) => [
    known.has(kind)
      ? undefined
      : { field: `limits[${at}].kind`, description: `must be one of ${resourceKinds.join(', ')}` },
    limits.findIndex((other) => other.kind === kind) < at
      ? { field: `limits[${at}].kind`, description: 'must not be repeated' }
      : undefined,
    max !== undefined && (max < 0n || max > MAX_LIMIT)
      ? { field: `limits[${at}].max`, description: `must be from 0 to ${MAX_LIMIT}` }
      : undefined,
  ])
}

function toMessage(row: OrganizationOverview, defaults: ResourceLimits): OperatorOrganization {
  const { uid, name, isSuspended, createdMs, owners, usage, ownLimits } = row
  return create(OperatorOrganizationSchema, {
    uid,
    name,
    suspended: isSuspended,
    owners: owners.map(({ uid, name, email }) => ({ uid, name, email })),
    usage: resourceKinds.toSorted().flatMap((kind) => {
      const max = ownLimits[kind] ?? defaults[kind]
      const used = usage[kind] ?? 0
      if (used === 0 && max === undefined) return []
      return [
        {
          kind,
          used: BigInt(used),
          ...(max === undefined ? {} : { max: BigInt(max) }),
          own: ownLimits[kind] !== undefined,
        },
      ]
    }),
    createTime: timestampOf(createdMs),
  })
}
