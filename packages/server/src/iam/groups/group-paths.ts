import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { GroupPathsService } from '@berth/contract/gen/berth/iam/v1/group_paths_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { requireValid } from '../../api/fields.ts'
import { isWithin, parseUid, pathOf, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Authorization, authorizationOf } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { readGroupNames } from './group-names.ts'

/**
 * Paths of groups by names (ADR 34). Who can read a group also learns the names of the groups above it, as registry names and errors show
 * them, and nothing else of these.
 */

const listCapability = capabilitySetOf([Capability.CAP_IAM_GROUPS_LIST])

export function groupPathsService({ db }: Pick<Store, 'db'>) {
  return implement(GroupPathsService, {
    async findGroupPaths({ uids, paths }, call) {
      const count = uids.length + paths.length
      requireValid(
        count > limits.groupPathsMax
          ? {
              field: 'paths',
              description: `must be at most ${limits.groupPathsMax}, with uids (groupPathsMax)`,
            }
          : undefined,
        ...uids.map((uid, at) =>
          parseUid(uid) === undefined ? { field: `uids[${at}]`, description: 'must be a uid' } : undefined,
        ),
      )
      const authorization = authorizationOf(call)
      const found = new Set(uids as Uid[])
      const scopes = authorization.visible?.scopes ?? []
      const scopeNames = paths.length === 0 ? new Map() : await readGroupNames(db, scopes)
      for (const path of paths)
        for (const uid of await findByPath(db, { scopes, scopeNames }, path.split('/'))) found.add(uid)
      const visible = [...found].filter((uid) => isVisible(authorization, uid)).sort()
      const names = await readGroupNames(db, visible.flatMap(pathOf))
      return {
        $typeName: 'berth.iam.v1.FindGroupPathsResponse' as const,
        groups: visible
          .filter((uid) => names.has(uid))
          .map((uid) => ({
            $typeName: 'berth.iam.v1.GroupPath' as const,
            uid,
            path: pathOf(uid)
              .map((group) => names.get(group) ?? group)
              .join('/'),
          })),
      }
    },
  })
}

function isVisible({ grants }: Authorization, uid: string): boolean {
  return includesAll(grants.at(uid), listCapability)
}

/** The topmost groups that the caller can read; '' is the platform. */
interface VisibleGroups {
  readonly scopes: readonly string[]
  readonly scopeNames: ReadonlyMap<string, string>
}

/** Follows a path from its organization, and from the topmost groups of the caller. Reads nothing of organizations without any. */
async function findByPath(db: Db, visible: VisibleGroups, path: readonly string[]): Promise<Uid[]> {
  const { scopes } = visible
  const [first = '', ...rest] = path
  if (scopes.length === 0 || rest.length >= limits.groupDepthMax) return []
  const isReachable = (uid: string) =>
    scopes.some((scope) => scope === '' || isWithin(uid, scope) || isWithin(scope, uid))
  const found: Uid[] = []
  for (const start of await findStarts(db, visible, first)) {
    let current: Uid | undefined = isReachable(start) ? start : undefined
    for (const name of rest) {
      if (current === undefined) break
      const below = await findChild(db, current, name)
      current = below !== undefined && isReachable(below) ? below : undefined
    }
    if (current !== undefined) found.push(current)
  }
  return found
}

/** The organization with a name, and the topmost groups of the caller with it. */
async function findStarts(db: Db, { scopes, scopeNames }: VisibleGroups, name: string): Promise<Set<Uid>> {
  const organization = await db.kysely
    .selectFrom('organization_names')
    .select('uid')
    .where('name', '=', name)
    .executeTakeFirst()
  const topmost = scopes.filter((scope) => scopeNames.get(scope) === name)
  return new Set([...(organization === undefined ? [] : [organization.uid]), ...topmost] as Uid[])
}

async function findChild(db: Db, parent: Uid, name: string): Promise<Uid | undefined> {
  const row = await db.kysely
    .selectFrom('groups')
    .select('uid')
    .where('root', '=', rootOf(parent))
    .where('parent', '=', parent)
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.uid as Uid | undefined
}
