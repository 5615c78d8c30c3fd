import { type CapabilitySet, capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  GetRepoUsageHistoryResponseSchema,
  GetTopReposResponseSchema,
  GetUsageHistoryResponseSchema,
  UsageSchema,
  UsageService,
} from '@berth/contract/gen/berth/registry/v1/usage_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument, notFound } from '../../api/errors.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { type ResourceKind, resourceKinds } from '../../api/resource-limits.ts'
import { parentOf, pathOf, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { readGroupNames } from '../../iam/groups/group-names.ts'
import { GROUP_TYPE } from '../../iam/groups/parent-group.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { readLimits } from '../../storage/counts/resource-limits.ts'
import type { Db } from '../../storage/db.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { UsageDayRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { MIB } from '../quota/usage.ts'
import { requireRepo } from '../resources/parent-repo.ts'
import { currentUsageReader } from './current-usage.ts'
import { dateOf, type Period, readPeriod } from './days.ts'
import { organizationDays, type RepoTransfers, repoDays, topRepos } from './usage-history.ts'

/** What organizations, folders and repos use, now and over time. */

/** What a caller needs to read the number of resources of a kind: what its list requires. */
const listCapabilities: Readonly<Record<Exclude<ResourceKind, 'storage_mib'>, Capability>> = {
  groups: Capability.CAP_IAM_GROUPS_LIST,
  identities: Capability.CAP_IAM_IDENTITY_LIST,
  roles: Capability.CAP_IAM_ROLES_LIST,
  role_bindings: Capability.CAP_IAM_ROLE_BINDINGS_LIST,
  idps: Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST,
  account_associations: Capability.CAP_IAM_ACCOUNT_ASSOCIATIONS_LIST,
  group_invites: Capability.CAP_IAM_GROUP_INVITES_LIST,
  repos: Capability.CAP_REPO_LIST,
  tags: Capability.CAP_TAG_LIST,
  external_group_role_mappings: Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST,
  advisories: Capability.CAP_ADVISORIES_LIST,
  advisory_feeds: Capability.CAP_ADVISORIES_LIST,
  signature_verifiers: Capability.CAP_SIGNATURE_VERIFIERS_LIST,
  manifests: Capability.CAP_MANIFEST_LIST,
}

const limitsCapability = capabilitySetOf([Capability.CAP_IAM_GROUPS_LIST])
const bytesCapability = capabilitySetOf([Capability.CAP_MANIFEST_LIST])

export function usageService({ db, clock, pageTokens }: Pick<Store, 'db' | 'clock' | 'pageTokens'>) {
  const readCurrentUsage = currentUsageReader(db)

  /** Reads one page of days. `read` returns up to `max` days of a period. */
  const listDays = async <R extends { readonly day: number }>(
    call: Call,
    scope: string,
    request: PagedPeriod,
    read: (period: Period & { readonly max: number }) => Promise<R[]> | R[],
  ) => {
    const period = readPeriod(request, clock())
    if (request.pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
    const binding = JSON.stringify([...callerBinding(call), scope, request.startDate, request.endDate])
    const [after] = (readCursor(pageTokens, request.pageToken, binding)?.after ?? []) as number[]
    const size = effectivePageSize(request.pageSize)
    const first = after === undefined ? period.first : after + 1
    const rows = await read({ first, last: period.last, max: size + 1 })
    const days = rows.slice(0, size)
    const last = days.at(-1)
    const isComplete = rows.length <= size || last === undefined
    const nextPageToken = isComplete
      ? ''
      : pageTokens.issue({ after: [last.day], skip: 0, skipped: 0 }, binding)
    return { days, nextPageToken }
  }

  return implement(UsageService, {
    async getUsage(_, call) {
      const { scope } = requireScope(call)
      await requireGroup(db, scope)
      const { grants } = authorizationOf(call)
      const held = grants.at(scope)
      const seesBytes = includesAll(held, bytesCapability)
      const seen = resourceKinds.filter(
        (kind) => kind !== 'storage_mib' && holds(held, listCapabilities[kind]),
      )
      const { counts, bytes } = await readCurrentUsage(scope, { kinds: new Set(seen), bytes: seesBytes })
      const root = rootOf(scope)
      const seesLimits = includesAll(grants.at(root), limitsCapability)
      const effective = seesLimits ? (await readLimits(db, [root])).get(root) : undefined
      const resources = resourceKinds.flatMap((kind) => {
        if (kind === 'storage_mib') return []
        const capability = listCapabilities[kind]
        const limit = effective?.[kind]
        return [
          {
            kind,
            ...(holds(held, capability) ? { used: BigInt(counts.get(kind) ?? 0) } : { missing: capability }),
            ...(limit !== undefined && { limit: BigInt(limit) }),
          },
        ]
      })
      const limitMib = effective?.storage_mib
      return create(UsageSchema, {
        uid: scope,
        resources,
        ...(seesBytes && bytes !== undefined && { storedBytes: BigInt(bytes) }),
        ...(limitMib !== undefined && { storedBytesLimit: BigInt(limitMib) * BigInt(MIB) }),
      })
    },

    async getUsageHistory(request, call) {
      const { scope } = requireScope(call)
      if (scope !== rootOf(scope)) throw invalidArgument('uid', 'must be the uid of an organization')
      await requireGroup(db, scope)
      const { days, nextPageToken } = await listDays(call, scope, request, (period) =>
        organizationDays(db, { ...period, uid: scope }),
      )
      return create(GetUsageHistoryResponseSchema, { days: days.map(toUsageDay), nextPageToken })
    },

    async getRepoUsageHistory(request, call) {
      const { scope } = requireScope(call)
      await requireRepo(db, scope)
      const { days, nextPageToken } = await listDays(call, scope, request, (period) =>
        repoDays(db, { ...period, root: rootOf(scope), uid: scope }),
      )
      return create(GetRepoUsageHistoryResponseSchema, {
        days: days.map(({ day, ...transfers }) => ({ date: dateOf(day), ...toTransfers(transfers) })),
        nextPageToken,
      })
    },

    async getTopRepos(request, call) {
      const { scope } = requireScope(call)
      await requireGroup(db, scope)
      const period = readPeriod(request, clock())
      const { pageSize, orderBy } = request
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      const by = orderBy === '' ? 'pulls' : orderBy
      if (by !== 'pulls' && by !== 'pushes') throw invalidArgument('order_by', 'must be pulls or pushes')
      const max = pageSize === 0 ? limits.topReposDefault : Math.min(pageSize, limits.topReposMax)
      const found = await topRepos(db, scope, period, { by, max })
      const pathTo = await readPaths(db, scope, found)
      return create(GetTopReposResponseSchema, {
        repos: found.map((repo) => ({ uid: repo.uid, path: pathTo(repo), ...toTransfers(repo) })),
      })
    },
  })
}

interface PagedPeriod {
  readonly startDate: string
  readonly endDate: string
  readonly pageSize: number
  readonly pageToken: string
}

const holds = (held: CapabilitySet, capability: Capability) =>
  includesAll(held, capabilitySetOf([capability]))

async function requireGroup(db: Db, uid: string): Promise<void> {
  if ((await readResource(db, 'groups', uid)) === undefined) throw notFound(GROUP_TYPE, uid)
}

const toTransfers = ({ pulls, pushes }: Pick<RepoTransfers, 'pulls' | 'pushes'>) => ({
  pulls: BigInt(pulls),
  pushes: BigInt(pushes),
})

function toUsageDay({ day, stored_bytes, manifests, tags, repos, pulls, pushes }: UsageDayRow) {
  const levels =
    stored_bytes < 0
      ? {}
      : {
          storedBytes: BigInt(stored_bytes),
          manifests: BigInt(manifests),
          tags: BigInt(tags),
          repos: BigInt(repos),
        }
  return { date: dateOf(day), ...levels, ...toTransfers({ pulls, pushes }) }
}

/** Returns the path of a repo below a group, by names. */
async function readPaths(
  db: Db,
  group: string,
  repos: readonly RepoTransfers[],
): Promise<(repo: RepoTransfers) => string> {
  const above = (uid: string) => pathOf(parentOf(uid)).filter((folder) => folder.length > group.length)
  const names = await readGroupNames(
    db,
    repos.flatMap(({ uid }) => above(uid)),
  )
  return ({ uid, name }) => [...above(uid).map((folder) => names.get(folder) ?? folder), name].join('/')
}
