import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { notFound } from '../../api/errors.ts'
import { pathOf, rootOf, type Uid } from '../../api/uid.ts'
import { authorizationOf, type Grants, requireScope } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import { readGroupNames } from '../groups/group-names.ts'
import { GROUP_TYPE } from '../groups/parent-group.ts'

/**
 * The groups whose roles apply to a group or a repo, and what the caller may know of them (ADR 50): role bindings where it can read role
 * bindings, mappings of external groups where it can also read identity providers, names of ancestors if it can read the requested group.
 */
export interface ReadablePath {
  readonly uid: Uid
  readonly root: Uid
  /** From the organization to the uid itself. */
  readonly groups: readonly Uid[]
  readonly bindings: Visibility
  readonly mappings: Visibility
  /** Names of the groups; empty for a caller who cannot read the requested group. */
  readonly names: ReadonlyMap<string, string>
  readonly isSuspended: boolean
}

interface Visibility {
  readonly readable: readonly Uid[]
  readonly hidden: readonly Uid[]
}

const groupsList = capabilitySetOf([Capability.CAP_IAM_GROUPS_LIST])
const roleBindingsList = capabilitySetOf([Capability.CAP_IAM_ROLE_BINDINGS_LIST])
const mappingsList = capabilitySetOf([
  Capability.CAP_IAM_ROLE_BINDINGS_LIST,
  Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST,
])

/** Reads the path of the scope of a call. Throws code 5 unless it is a group or a repo. */
export async function readPath(db: Db, call: Call): Promise<ReadablePath> {
  const uid = requireScope(call).scope as Uid
  const { grants } = authorizationOf(call)
  const groups = pathOf(uid)
  const [organization, group, repo] = await Promise.all([
    readResource(db, 'groups', rootOf(uid)),
    readResource(db, 'groups', uid),
    readResource(db, 'repos', uid),
  ])
  if (group === undefined && repo === undefined) throw notFound(GROUP_TYPE, uid)
  const visibility = (capabilities: typeof groupsList): Visibility => {
    const isReadable = (scope: Uid) => includesAll(grants.at(scope), capabilities)
    return {
      readable: groups.filter(isReadable),
      hidden: groups.filter((scope) => !isReadable(scope)),
    }
  }
  return {
    uid,
    root: rootOf(uid),
    groups,
    bindings: visibility(roleBindingsList),
    mappings: visibility(mappingsList),
    names: includesAll(grants.at(uid), groupsList) ? await readGroupNames(db, groups) : new Map(),
    isSuspended: organization?.status === OrgStatus.SUSPENDED,
  }
}

/** The same path, with all its groups readable. */
export function readWhole(path: ReadablePath): ReadablePath {
  const all = { readable: path.groups, hidden: [] }
  return { ...path, bindings: all, mappings: all }
}

/** Returns the topmost groups of an organization where the caller holds capabilities. */
export function scopesIn(grants: Grants, root: Uid, capabilities: readonly Capability[]): readonly string[] {
  const scopes = grants.scopesHolding(capabilitySetOf(capabilities))
  return scopes.includes('') ? [root] : scopes.filter((scope) => rootOf(scope) === root)
}

export function groupMessage({ names }: ReadablePath, uid: string) {
  return {
    $typeName: 'chainguard.platform.iam.v2beta1.RoleBindingGroup' as const,
    uid,
    name: names.get(uid) ?? '',
    description: '',
  }
}
