import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { ListGroupsRequestSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument, notFound, permissionDenied } from '../../api/errors.ts'
import { checkName } from '../../api/fields.ts'
import { depthOf, parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireCapabilities, roleHint } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { type ListSpec, listPage } from '../../storage/list/list.ts'
import type { Store } from '../../storage/store.ts'
import { GROUP_TYPE } from './parent-group.ts'

const createCapability = capabilitySetOf([Capability.CAP_IAM_GROUPS_CREATE])

/** What the text that names a parent can mean. */
export type ParentReference = Uid | 'several'

/**
 * Finds the group in which CreateGroup creates another one: by its uid, by the last segments of its uid, or by its name. Except by uid,
 * only groups in which the caller may create groups are found, so that callers learn nothing about other groups.
 *
 * Throws code 3 for a text that can be neither and for a group that is too deep. Throws code 7 where the caller may not create groups,
 * whether or not the group exists.
 */
export async function resolveParent(store: Store, call: Call, text: string): Promise<ParentReference> {
  const uid = parseUid(text)
  if (uid !== undefined) {
    requireDepth(uid)
    requireCapabilities(authorizationOf(call).grants, uid, createCapability, CREATE_ACTION)
    return uid
  }
  const isUidSuffix = /^[0-9a-f]{16}(?:\/[0-9a-f]{16})*$/.test(text)
  if (!isUidSuffix && checkName(text) !== undefined)
    throw invalidArgument('parent', 'must be the uid of a group, the end of one, or the name of a group')
  const found = new Set<Uid>()
  if (isUidSuffix)
    for (const match of await searchGroups(store, call, {
      conditions: [{ column: 'uid', isUidSuffix: `/${text}` }],
    }))
      found.add(match)
  // A name has no slash, but may look like a segment.
  if (!text.includes('/'))
    for (const match of await searchGroups(store, call, { equals: { name: text } })) found.add(match)
  if (found.size > 1) return 'several'
  const [only] = found
  if (only === undefined) throw parentNotFound(call, text)
  requireDepth(only)
  return only
}

const CREATE_ACTION = 'create a group'

/** Returns at most two groups, among those in which the caller may create groups: the scopes of a list are those of its method. */
async function searchGroups(
  store: Store,
  call: Call,
  spec: Pick<ListSpec<'groups'>, 'equals' | 'conditions'>,
): Promise<Uid[]> {
  const { rows } = await listPage(store, call, create(ListGroupsRequestSchema, { pageSize: 2 }), {
    table: 'groups',
    sortFields: { uid: 'uid' },
    defaultOrder: 'uid',
    ...spec,
  })
  return rows.map((row) => row.uid as Uid)
}

/** Uses the text of requireCapabilities; only callers who may create groups everywhere learn that the group does not exist. */
function parentNotFound(call: Call, text: string) {
  if (call.authorization?.visible?.scopes.includes('')) return notFound(GROUP_TYPE, text)
  return permissionDenied(`to ${CREATE_ACTION} at ${text} you need groups.create. ${roleHint(text)}`)
}

function requireDepth(uid: Uid): void {
  const { groupDepthMax } = limits
  if (depthOf(uid) < groupDepthMax) return
  throw invalidArgument(
    'parent',
    `groups can be nested ${groupDepthMax} levels deep, and this parent is at level ${depthOf(uid)}`,
  )
}
