import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { GroupPathsService } from '@berth/contract/gen/berth/iam/v1/group_paths_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { requireValid } from '../../api/fields.ts'
import { parentOf, parseUid, pathOf, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { type Authorization, authorizationOf } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Db } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import { groupPath, readGroupNames } from './group-names.ts'

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
      const scopes = authorization.visible?.scopes ?? []
      const found = new Set([...(uids as Uid[]), ...(await findByPath(db, scopes, new Set(paths)))])
      const visible = [...found].filter((uid) => isVisible(authorization, uid)).sort()
      const names = await readGroupNames(db, visible.flatMap(pathOf))
      return {
        $typeName: 'berth.iam.v1.FindGroupPathsResponse' as const,
        groups: visible
          .filter((uid) => names.has(uid))
          .map((uid) => ({
            $typeName: 'berth.iam.v1.GroupPath' as const,
            uid,
            path: groupPath(uid, names),
          })),
      }
    },
  })
}

function isVisible({ grants }: Authorization, uid: string): boolean {
  return includesAll(grants.at(uid), listCapability)
}

/** The names of paths below one group, each with the names that follow it. */
interface PathTree {
  readonly below: Map<string, PathTree>
  isEnd: boolean
}

/** A group that paths have led to. */
interface Reached {
  readonly uid: Uid
  readonly tree: PathTree
  /** Whether the caller can read the group, and so all groups below it. */
  readonly isVisible: boolean
}

interface Lookup {
  readonly parent: Reached
  readonly name: string
  readonly tree: PathTree
}

/**
 * Follows paths from their organizations, and from the topmost groups of the caller (`scopes`; '' is the platform), all paths one level at a
 * time. Reads nothing of groups that are neither above nor below a topmost group. Throws code 3 for too many segments.
 */
async function findByPath(
  db: Db,
  scopes: readonly string[],
  paths: ReadonlySet<string>,
): Promise<ReadonlySet<Uid>> {
  const found = new Set<Uid>()
  const split = [...paths]
    .map((path) => path.split('/'))
    .filter(({ length }) => length <= limits.groupDepthMax)
  if (scopes.length === 0 || split.length === 0) return found
  const topmost = await topmostByName(db, scopes)
  requireFewSegments(split, topmost)
  const tree = treeOf(split)
  const inScopes = new Set(scopes)
  const above = ancestorsOf(scopes)
  let level: Reached[] = []
  const reach = (uid: Uid, tree: PathTree, isParentVisible: boolean) => {
    const isVisible = isParentVisible || inScopes.has(uid)
    if (isVisible || above.has(uid)) level.push({ uid, tree, isVisible })
  }
  for (const [name, starts] of await findStarts(db, [...tree.below.keys()], topmost))
    for (const uid of starts) reach(uid, tree.below.get(name) as PathTree, inScopes.has(''))
  while (level.length > 0) {
    for (const { uid, tree } of level) if (tree.isEnd) found.add(uid)
    const lookups = level.flatMap((parent) =>
      [...parent.tree.below].map(([name, tree]): Lookup => ({ parent, name, tree })),
    )
    level = []
    for (let at = 0; at < lookups.length; at += LOOKUPS_PER_STATEMENT)
      for (const [uid, { parent, tree }] of await findChildren(
        db,
        lookups.slice(at, at + LOOKUPS_PER_STATEMENT),
      ))
        reach(uid, tree, parent.isVisible)
  }
  return found
}

const LOOKUPS_PER_STATEMENT = 50

/** Each path is followed from an organization and from each topmost group with its first name. */
function requireFewSegments(
  paths: readonly (readonly string[])[],
  topmost: ReadonlyMap<string, readonly Uid[]>,
): void {
  const max = limits.groupPathSegmentsMax
  let segments = 0
  for (const [first = '', ...rest] of paths)
    segments += (1 + rest.length) * Math.max(1, topmost.get(first)?.length ?? 0)
  requireValid(
    segments > max
      ? {
          field: 'paths',
          description: `must have at most ${max} segments in all, counted for each group where a path can begin (groupPathSegmentsMax)`,
        }
      : undefined,
  )
}

function treeOf(paths: readonly (readonly string[])[]): PathTree {
  const root: PathTree = { below: new Map(), isEnd: false }
  for (const path of paths) {
    let tree = root
    for (const name of path) {
      const next = tree.below.get(name) ?? { below: new Map(), isEnd: false }
      tree.below.set(name, next)
      tree = next
    }
    tree.isEnd = true
  }
  return root
}

function ancestorsOf(uids: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const uid of uids)
    for (let up = parentOf(uid); up !== '' && !found.has(up); up = parentOf(up)) found.add(up)
  return found
}

async function topmostByName(
  db: Db,
  scopes: readonly string[],
): Promise<ReadonlyMap<string, readonly Uid[]>> {
  const byName = new Map<string, Uid[]>()
  for (const [uid, name] of await readGroupNames(db, scopes)) {
    const known = byName.get(name)
    if (known === undefined) byName.set(name, [uid as Uid])
    else known.push(uid as Uid)
  }
  return byName
}

/** The organization with each name, and the topmost groups of the caller with it. */
async function findStarts(
  db: Db,
  names: readonly string[],
  topmost: ReadonlyMap<string, readonly Uid[]>,
): Promise<ReadonlyMap<string, ReadonlySet<Uid>>> {
  const starts = new Map(names.map((name) => [name, new Set(topmost.get(name))]))
  await yieldToEventLoop()
  const organizations = await db.kysely
    .selectFrom('organization_names')
    .select(['name', 'uid'])
    .where('name', 'in', [...names])
    .execute()
  for (const { name, uid } of organizations) starts.get(name)?.add(uid as Uid)
  return starts
}

/** Returns the groups that exist, with what was looked for. */
async function findChildren(db: Db, lookups: readonly Lookup[]): Promise<(readonly [Uid, Lookup])[]> {
  await yieldToEventLoop()
  const rows = await db.kysely
    .selectFrom('groups')
    .select(['uid', 'parent', 'name'])
    .where((where) =>
      where.or(
        lookups.map(({ parent: { uid }, name }) => where.and({ root: rootOf(uid), parent: uid, name })),
      ),
    )
    .execute()
  const keyOf = (parent: string, name: string) => `${parent} ${name}`
  const byKey = new Map(lookups.map((lookup) => [keyOf(lookup.parent.uid, lookup.name), lookup]))
  return rows.flatMap(({ uid, parent, name }) => {
    const lookup = byKey.get(keyOf(parent, name))
    return lookup === undefined ? [] : [[uid as Uid, lookup] as const]
  })
}
