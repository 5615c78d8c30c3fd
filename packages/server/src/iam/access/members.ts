import { createHash } from 'node:crypto'
import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  type AccessSource,
  AccessSource_Kind,
  type HiddenAccess,
  type Member,
  MemberKind,
} from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import type {
  RoleBindingProvider,
  RoleBindingRole,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { invalidArgument } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { type Cursor, effectivePageSize } from '../../api/page-tokens.ts'
import { depthOf } from '../../api/uid.ts'
import { DAY_MS } from '../../config/limits.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'
import type { Store } from '../../storage/store.ts'
import type { LastSeen } from '../identities/last-seen.ts'
import {
  countMemberRows,
  type MemberCursor,
  type MemberFilter,
  type MemberRow,
  readHiddenRows,
  readMemberRows,
  readSourceRows,
  type SourceRow,
} from './member-rows.ts'
import { groupMessage, type ReadablePath } from './readable-path.ts'

/** Members as messages: pages of them, and the sources of their roles. */

interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

interface MemberList {
  readonly path: ReadablePath
  readonly filter: MemberFilter
}

/** Returns one page of members, with counts of hidden ones on the first. Throws code 3 for a negative `page_size` or a foreign token. */
export async function listMembers(
  store: Store,
  lastSeen: LastSeen,
  call: Call,
  { pageSize, pageToken }: PageRequest,
  { path, filter }: MemberList,
) {
  const { pageTokens } = store
  if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
  const size = effectivePageSize(pageSize)
  const binding = JSON.stringify([...callerBinding(call), path.uid, filter])
  const readAfter = async (cursor: Cursor | undefined) => {
    const [name, member, role, unknown = ''] = cursor?.after ?? []
    const after = cursor && ([name, member, role] as MemberCursor)
    const page = await readMemberRows(store, path, filter, { after, limit: size + 1 })
    return { ...page, cursor, isContinued: cursor === undefined || unknown === digestOf(page.unread) }
  }
  const requested = await readAfter(readCursor(pageTokens, pageToken, binding))
  // Users without names are first. If there are others now than on the page before, the list starts again, so that none is left out.
  const { rows: found, unread, cursor } = requested.isContinued ? requested : await readAfter(undefined)
  const rows = found.slice(0, size)
  const last = found.length > size ? rows.at(-1) : undefined
  const isWhole = cursor === undefined && last === undefined
  const totalCount =
    cursor?.totalCount ?? (isWhole ? rows.length : await countMemberRows(store, path, filter))
  return {
    members: await toMembers(store, lastSeen, call, path, { rows, unread: new Set(unread) }),
    nextPageToken:
      last === undefined
        ? ''
        : pageTokens.issue(
            {
              after: [
                last.name,
                last.member,
                last.role_uid,
                ...(unread.length > 0 ? [digestOf(unread)] : []),
              ],
              skip: 0,
              skipped: 0,
              totalCount,
            },
            binding,
          ),
    totalCount: BigInt(totalCount),
    hidden: cursor === undefined ? await hiddenAccess(store, path, filter.roles) : [],
    suspended: path.isSuspended,
  }
}

function digestOf(unread: readonly string[]): string {
  return unread.length === 0 ? '' : createHash('sha256').update(unread.toSorted().join()).digest('base64url')
}

async function toMembers(
  store: Store,
  lastSeen: LastSeen,
  call: Call,
  path: ReadablePath,
  { rows, unread }: { readonly rows: readonly MemberRow[]; readonly unread: ReadonlySet<string> },
): Promise<Member[]> {
  if (rows.length === 0) return []
  const sources = await readSources(store, path, [...new Set(rows.map(({ member }) => member))])
  const roles = await readRoles(
    store,
    rows.map(({ role_uid }) => role_uid),
  )
  return rows.map((row) => ({
    ...identityMember(lastSeen, call, path, row),
    role: roleMessage(roles, row.role_uid),
    sources: sources.filter((one) => one.member === row.member && one.role === row.role_uid).map(toSource),
    ...(unread.has(row.member) && { detailsUnavailable: true }),
  }))
}

/** A member without a role. `lastSeen`: undefined for an identity that the caller must not know. */
export function identityMember(
  lastSeen: LastSeen | undefined,
  call: Call,
  { root }: Pick<ReadablePath, 'root'>,
  { member, kind, name, email, last_seen_ms }: Omit<MemberRow, 'role_uid'>,
): Member {
  const isExternal = Number(kind) === MemberKind.EXTERNAL_GROUP
  const latestMs = lastSeen?.latest({ uid: member, last_seen_ms: Number(last_seen_ms) }) ?? 0
  const seenMs = isExternal || latestMs === 0 ? undefined : visibleLastSeen(call, root, member, latestMs)
  return {
    $typeName: 'berth.iam.v1.Member',
    uid: isExternal ? '' : member,
    kind: Number(kind),
    name,
    email,
    ...(seenMs !== undefined && { lastSeenTime: timestampOf(seenMs) }),
    sources: [],
  }
}

const identityList = capabilitySetOf([Capability.CAP_IAM_IDENTITY_LIST])

/** A user may have been active in another organization: only the day is shown (ADR 50). */
function visibleLastSeen(call: Call, root: string, uid: string, seenMs: number): number | undefined {
  const { grants } = authorizationOf(call)
  if (includesAll(grants.at(uid), identityList)) return seenMs
  if (depthOf(uid) > 0 || !includesAll(grants.at(root), identityList)) return undefined
  return seenMs - (seenMs % DAY_MS)
}

/** A source of the role of a member, with what its message contains. */
export interface Source {
  readonly member: string
  readonly role: string
  readonly scope: string
  readonly acceptedThrough: string
  readonly message: ReturnType<typeof sourceFields>
}

export async function readSources(
  store: Store,
  path: ReadablePath,
  members: readonly string[],
): Promise<Source[]> {
  if (members.length === 0) return []
  const rows = await readSourceRows(store, path, members)
  const providers = await readRowsByUid(
    store.db.kysely,
    'identity_providers',
    ['name', 'issuer'],
    rows
      .flatMap(({ accepted_through, provider }) => [accepted_through, provider])
      .filter((uid) => uid !== ''),
  )
  return rows.map((row) => ({
    member: row.member,
    role: row.role_uid,
    scope: row.scope,
    acceptedThrough: row.accepted_through,
    message: sourceFields(row, path, providers),
  }))
}

type Providers = ReadonlyMap<string, { readonly name: string; readonly issuer: string }>

function sourceFields(row: SourceRow, path: ReadablePath, providers: Providers) {
  const isMapping = row.binding === ''
  const isDirect = row.scope === path.uid
  return {
    kind: isMapping
      ? AccessSource_Kind.GROUP_MAPPING
      : isDirect
        ? AccessSource_Kind.DIRECT
        : AccessSource_Kind.INHERITED,
    group: groupMessage(path, row.scope),
    roleBinding: row.binding,
    externalGroup: row.external_group,
    ...(isMapping
      ? { identityProvider: providerMessage(providers, row.provider) }
      : { createTime: timestampOf(Number(row.created_ms)) }),
    ...(row.accepted_through !== '' && { acceptedThrough: providerMessage(providers, row.accepted_through) }),
  }
}

export function toSource({ message }: Pick<Source, 'message'>): AccessSource {
  return { $typeName: 'berth.iam.v1.AccessSource' as const, ...message }
}

export function providerMessage(providers: Providers, uid: string): RoleBindingProvider {
  const { name = '', issuer = '' } = providers.get(uid) ?? {}
  return { $typeName: 'chainguard.platform.iam.v2beta1.RoleBindingProvider', uid, name, issuer }
}

export type Roles = Awaited<ReturnType<typeof readRoles>>

export function readRoles({ db }: Pick<Store, 'db'>, uids: readonly string[]) {
  return readRowsByUid(db.kysely, 'roles', ['name', 'description', 'capabilities'], uids)
}

export function roleMessage(roles: Roles, uid: string): RoleBindingRole {
  const { name = '', description = '' } = roles.get(uid) ?? {}
  return { $typeName: 'chainguard.platform.iam.v2beta1.RoleBindingRole', uid, name, description }
}

async function hiddenAccess(
  { db }: Store,
  path: ReadablePath,
  roles: readonly string[] | undefined,
): Promise<HiddenAccess[]> {
  const rows = await readHiddenRows(db, path, roles)
  return rows.map(({ scope, role, users, workloads, external_groups }) => ({
    $typeName: 'berth.iam.v1.HiddenAccess',
    group: groupMessage(path, scope),
    role: role ?? '',
    users: Number(users),
    workloads: Number(workloads),
    externalGroups: Number(external_groups),
  }))
}
