import { type CapabilitySet, capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { type Resource, ResourceKind } from '@berth/contract/gen/berth/search/v1/search_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { timestampOf } from '../api/messages.ts'
import { parentOf, pathOf } from '../api/uid.ts'
import { groupPath, readGroupNames } from '../iam/groups/group-names.ts'
import type { Grants } from '../pipeline/authorization.ts'
import type { Db } from '../storage/db.ts'
import { readRepoNames } from './find-images.ts'
import type { Match } from './matches.ts'

/** Adds the paths of names to matches, in a constant number of statements. */

const groupsList: CapabilitySet = capabilitySetOf([Capability.CAP_IAM_GROUPS_LIST])
const repoList: CapabilitySet = capabilitySetOf([Capability.CAP_REPO_LIST])
const inRepo: ReadonlySet<ResourceKind> = new Set([ResourceKind.TAG, ResourceKind.MANIFEST])

export async function toResources(db: Db, grants: Grants, matches: readonly Match[]): Promise<Resource[]> {
  const repos = await readRepoNames(
    db,
    matches
      .filter(({ kind, parent }) => inRepo.has(kind) && includesAll(grants.at(parent), repoList))
      .map(({ parent }) => parent),
  )
  // Who can read a group may know the names of the groups above it (ADR 34).
  const groups = matches
    .map((match) => groupOf(match))
    .filter((group) => group !== '' && includesAll(grants.at(group), groupsList))
  const readable = new Set(groups)
  const names = await readGroupNames(db, [...readable].flatMap(pathOf))
  const pathOfGroup = (group: string) => (readable.has(group) ? groupPath(group, names) : '')
  return matches.map((match) => {
    const path = pathTo(match, pathOfGroup(groupOf(match)), repos)
    return {
      $typeName: 'berth.search.v1.Resource',
      kind: match.kind,
      uid: match.uid,
      name: match.name,
      path,
      detail: match.detail,
      parent: match.parent,
      digest: match.digest,
      ...(match.updatedMs > 0 && { updateTime: timestampOf(match.updatedMs) }),
    }
  })
}

/** The group whose path the path of a resource starts with. */
function groupOf({ kind, uid, parent }: Match): string {
  if (kind === ResourceKind.ORGANIZATION || kind === ResourceKind.FOLDER) return uid
  return inRepo.has(kind) ? parentOf(parent) : parent
}

const inGroup: ReadonlySet<ResourceKind> = new Set([
  ResourceKind.USER,
  ResourceKind.ROLE_BINDING,
  ResourceKind.GROUP_INVITE,
])

function pathTo({ kind, name, parent }: Match, group: string, repos: ReadonlyMap<string, string>): string {
  if (kind === ResourceKind.ORGANIZATION || kind === ResourceKind.FOLDER) return group === '' ? name : group
  if (inGroup.has(kind)) return group
  const prefix = group === '' ? '' : `${group}/`
  if (!inRepo.has(kind)) return prefix + name
  const repo = repos.get(parent)
  // A caller who cannot read the repo gets the name alone.
  return repo === undefined ? name : `${prefix}${repo}${kind === ResourceKind.TAG ? ':' : '@'}${name}`
}
