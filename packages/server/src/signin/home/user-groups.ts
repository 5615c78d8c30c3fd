import { type CapabilitySet, capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import type { SignInContext } from '../context.ts'

/** The organizations and folders in which a signed-in user has a role, for pages that show what the user can do there. */

/** What a page offers, and the capabilities that it requires. */
const actions = {
  push: capabilitySetOf([
    Capability.CAP_REPO_CREATE,
    Capability.CAP_MANIFEST_CREATE,
    Capability.CAP_TAG_CREATE,
  ]),
  createFolder: capabilitySetOf([Capability.CAP_IAM_GROUPS_CREATE]),
  invite: capabilitySetOf([Capability.CAP_IAM_GROUP_INVITES_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE]),
  connectWorkload: capabilitySetOf([
    Capability.CAP_IAM_IDENTITY_CREATE,
    Capability.CAP_IAM_ROLE_BINDINGS_CREATE,
  ]),
} as const
export type Action = keyof typeof actions

export interface UserGroup {
  readonly uid: string
  /** Names from the organization to the group. */
  readonly path: string
  /** The path in names of images; undefined if the name of a folder cannot be part of one. */
  readonly imagePath: string | undefined
  readonly actions: ReadonlySet<Action>
}

/** Returns at most `userGroupsMax` groups, those with the most actions and the shortest paths first. */
export async function readUserGroups(
  { store, readGrants }: Pick<SignInContext, 'store' | 'readGrants'>,
  { id: session, identity }: Session,
): Promise<UserGroup[]> {
  const grants = await readGrants({ identity, session, scopes: undefined, capabilities: undefined })
  if (grants === undefined) return []
  const found = [...grants.capabilitiesByScope.keys()]
    .filter((uid) => uid !== '' && includesAll(grants.at(uid), canSee))
    .map((uid) => ({ uid, actions: actionsIn(grants.at(uid)) }))
    .sort((one, other) => other.actions.size - one.actions.size || one.uid.length - other.uid.length)
    .slice(0, limits.userGroupsMax)
  const names = await readNames(
    store,
    found.map(({ uid }) => uid),
  )
  return found.flatMap(({ uid, actions }) => {
    const path = lineageOf(uid).map((each) => names.get(each))
    return path.includes(undefined) ? [] : [{ uid, actions, ...describePath(uid, path as string[]) }]
  })
}

const canSee = capabilitySetOf([Capability.CAP_IAM_GROUPS_LIST])

function actionsIn(held: CapabilitySet): ReadonlySet<Action> {
  const names = Object.keys(actions) as Action[]
  return new Set(names.filter((name) => includesAll(held, actions[name])))
}

/** The group and its ancestors, the organization first. */
function lineageOf(uid: string): string[] {
  const segments = uid.split('/')
  return segments.map((_, at) => segments.slice(0, at + 1).join('/'))
}

/** A part of the name of an image (docs/registry.md). */
const imageNamePart = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/

/** In names of images, the uid of an organization replaces a name that cannot be part of one. */
function describePath(uid: string, [organization = '', ...folders]: readonly string[]) {
  const first = imageNamePart.test(organization) ? organization : rootOf(uid)
  const isAddressable = folders.every((name) => imageNamePart.test(name))
  return {
    path: [organization, ...folders].join('/'),
    imagePath: isAddressable ? [first, ...folders].join('/') : undefined,
  }
}

async function readNames(
  { db }: Pick<SignInContext['store'], 'db'>,
  uids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (uids.length === 0) return new Map()
  const rows = await db.kysely
    .selectFrom('groups')
    .select(['uid', 'name'])
    .where('root', 'in', [...new Set(uids.map(rootOf))])
    .where('uid', 'in', [...new Set(uids.flatMap(lineageOf))])
    .execute()
  return new Map(rows.map(({ uid, name }) => [uid, name]))
}
