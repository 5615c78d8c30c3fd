import { type CapabilitySet, capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { ResourceKind } from '@berth/contract/gen/berth/search/v1/search_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { toAdvisory } from '../advisories/storage/stored-advisory.ts'
import { parentOf, ROOT_CHARS, subtreeRange } from '../api/uid.ts'
import { managedRoleByUid } from '../iam/managed-roles.ts'
import type { Authorization } from '../pipeline/authorization.ts'
import type { Db } from '../storage/db.ts'
import { namedRootsOf } from '../storage/list/named-roots.ts'
import { readReachableRows, readRowsByUid } from '../storage/rows-by-uid.ts'
import type { ResourceTable } from '../storage/schema/tables.ts'
import { runLongText, sqlText } from '../storage/sql-text.ts'
import { rowsIn } from './areas.ts'
import type { Match } from './matches.ts'

/** Finds resources by uid: one statement for each kind that the caller may list where the uids are. */

interface Details {
  readonly name: string
  readonly detail: string
  readonly digest?: string
}

interface LookupKind {
  readonly table: ResourceTable
  readonly kind: (uid: string) => ResourceKind
  readonly capability: Capability
  read(
    db: Db,
    uids: readonly string[],
  ): Promise<ReadonlyMap<string, Details & { readonly updatedMs: number }>>
}

function named(
  table: 'groups' | 'repos' | 'identities' | 'roles' | 'identity_providers',
  capability: Capability,
  kind: (uid: string) => ResourceKind,
): LookupKind {
  return {
    table,
    kind,
    capability,
    async read(db, uids) {
      const rows = await readRowsByUid(db.kysely, table, ['name', 'description', 'updated_ms'], uids)
      return mapRows(rows, ({ name, description, updated_ms }) => ({
        name,
        detail: description,
        updatedMs: updated_ms,
      }))
    },
  }
}

function mapRows<R, T>(rows: ReadonlyMap<string, R>, toDetails: (row: R) => T): ReadonlyMap<string, T> {
  return new Map([...rows].map(([uid, row]) => [uid, toDetails(row)]))
}

const lookupKinds: readonly LookupKind[] = [
  named('groups', Capability.CAP_IAM_GROUPS_LIST, (uid) =>
    uid.length === ROOT_CHARS ? ResourceKind.ORGANIZATION : ResourceKind.FOLDER,
  ),
  named('repos', Capability.CAP_REPO_LIST, () => ResourceKind.REPOSITORY),
  named('identities', Capability.CAP_IAM_IDENTITY_LIST, (uid) =>
    uid.length === ROOT_CHARS ? ResourceKind.USER : ResourceKind.IDENTITY,
  ),
  named('roles', Capability.CAP_IAM_ROLES_LIST, () => ResourceKind.ROLE),
  named(
    'identity_providers',
    Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST,
    () => ResourceKind.IDENTITY_PROVIDER,
  ),
  {
    table: 'tags',
    kind: () => ResourceKind.TAG,
    capability: Capability.CAP_TAG_LIST,
    async read(db, uids) {
      const rows = await readRowsByUid(db.kysely, 'tags', ['name', 'digest', 'updated_ms'], uids)
      return mapRows(rows, ({ name, digest, updated_ms }) => ({
        name,
        detail: '',
        digest,
        updatedMs: updated_ms,
      }))
    },
  },
  {
    table: 'advisory_feeds',
    kind: () => ResourceKind.ADVISORY_FEED,
    capability: Capability.CAP_ADVISORIES_LIST,
    async read(db, uids) {
      const rows = await readRowsByUid(db.kysely, 'advisory_feeds', ['url', 'updated_ms'], uids)
      return mapRows(rows, ({ url, updated_ms }) => ({ name: url, detail: '', updatedMs: updated_ms }))
    },
  },
  {
    table: 'advisories',
    kind: () => ResourceKind.ADVISORY,
    capability: Capability.CAP_ADVISORIES_LIST,
    async read(db, uids) {
      const rows = await readRowsByUid(
        db.kysely,
        'advisories',
        ['advisory_id', 'artifact_name', 'component_name', 'content', 'created_ms', 'updated_ms'],
        uids,
      )
      return mapRows(rows, (row) => {
        const { aliases } = toAdvisory(row)
        return {
          name: aliases[0] ?? row.advisory_id,
          detail: `${row.component_name} in ${row.artifact_name}`,
          updatedMs: row.updated_ms,
        }
      })
    },
  },
  {
    table: 'role_bindings',
    kind: () => ResourceKind.ROLE_BINDING,
    capability: Capability.CAP_IAM_ROLE_BINDINGS_LIST,
    async read(db, uids) {
      const rows = await readRowsByUid(
        db.kysely,
        'role_bindings',
        ['identity_uid', 'role_uid', 'updated_ms'],
        uids,
      )
      const all = [...rows.values()]
      const roles = await readRoleNames(
        db,
        all.map(({ role_uid }) => role_uid),
      )
      const identities = await readIdentityNames(
        db,
        all.map(({ identity_uid }) => identity_uid),
      )
      return mapRows(rows, ({ identity_uid, role_uid, updated_ms }) => ({
        name: roles.get(role_uid) ?? role_uid,
        detail: identities.get(identity_uid) ?? identity_uid,
        updatedMs: updated_ms,
      }))
    },
  },
  {
    table: 'group_invites',
    kind: () => ResourceKind.GROUP_INVITE,
    capability: Capability.CAP_IAM_GROUP_INVITES_LIST,
    async read(db, uids) {
      const rows = await readRowsByUid(db.kysely, 'group_invites', ['role_uid', 'email', 'updated_ms'], uids)
      const roles = await readRoleNames(
        db,
        [...rows.values()].map(({ role_uid }) => role_uid),
      )
      return mapRows(rows, ({ role_uid, email, updated_ms }) => ({
        name: roles.get(role_uid) ?? role_uid,
        detail: email,
        updatedMs: updated_ms,
      }))
    },
  },
]

async function readRoleNames(db: Db, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const custom = uids.filter((uid) => !managedRoleByUid.has(uid))
  const rows = await readRowsByUid(db.kysely, 'roles', ['name'], custom)
  return new Map(uids.map((uid) => [uid, managedRoleByUid.get(uid)?.name ?? rows.get(uid)?.name ?? uid]))
}

async function readIdentityNames(db: Db, uids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await readReachableRows(db, 'identities', ['name', 'email'], uids)
  return mapRows(rows, ({ name, email }) => email || name)
}

/** Returns the resources that exist and that the caller can list, ordered by uid. */
export async function lookUp(
  db: Db,
  { caller, grants }: Authorization,
  uids: ReadonlySet<string>,
): Promise<Match[]> {
  const matches: Match[] = []
  for (const { kind, capability, read } of lookupKinds) {
    const needed: CapabilitySet = capabilitySetOf([capability])
    const readable = [...uids].filter((uid) => includesAll(grants.at(uid), needed))
    if (readable.length === 0) continue
    for (const [uid, { name, detail, digest = '', updatedMs }] of await read(db, readable))
      matches.push({ kind: kind(uid), uid, name, detail, digest, parent: parentOf(uid), updatedMs, rank: 0 })
  }
  const known = new Set(matches.map(({ uid }) => uid))
  for (const uid of uids) {
    const role = managedRoleByUid.get(uid)
    if (role === undefined) continue
    const { name, description: detail } = role
    known.add(uid)
    matches.push({
      kind: ResourceKind.ROLE,
      uid,
      name,
      detail,
      digest: '',
      parent: '',
      updatedMs: 0,
      rank: 0,
    })
  }
  const users = [...uids].filter((uid) => uid.length === ROOT_CHARS && !known.has(uid))
  matches.push(...(await findUsers(db, grants, users, caller.identity)))
  return matches.sort((a, b) => (a.uid < b.uid ? -1 : 1))
}

/** Returns the first group in which each user has a role, of those where the caller can list role bindings: one row for each user. */
async function findFirstGroups(
  db: Db,
  grants: Authorization['grants'],
  uids: readonly string[],
): Promise<readonly (readonly [uid: string, group: string])[]> {
  const scopes = grants.scopesHolding(capabilitySetOf([Capability.CAP_IAM_ROLE_BINDINGS_LIST]))
  if (scopes.length === 0) return []
  const area = { ranges: scopes.map(subtreeRange), roots: await namedRootsOf(db, scopes) }
  const sql = sqlText(db.engine)
  const { from, where } = scopes.includes('')
    ? { from: 'role_bindings as t', where: '1 = 1' }
    : rowsIn(sql, area, { table: 'role_bindings', uid: 'parent' })
  const text = `select t.identity_uid as uid, min(t.parent) as parent from ${from}
    where ${where} and t.identity_uid in (${sql.bindAll(uids)}) group by t.identity_uid`
  const rows = await runLongText<{ uid: string; parent: string }>(db, text, sql)
  return rows.map(({ uid, parent }) => [uid, parent])
}

/** Users have no organization: callers know those whose role bindings they can list, and themselves. */
async function findUsers(
  db: Db,
  grants: Authorization['grants'],
  uids: readonly string[],
  self: string,
): Promise<Match[]> {
  if (uids.length === 0) return []
  const groups = new Map(await findFirstGroups(db, grants, uids))
  if (uids.includes(self) && !groups.has(self)) groups.set(self, '')
  const columns = ['name', 'email', 'updated_ms'] as const
  const { rows, isUnread } = await readReachableRows(db, 'identities', columns, [...groups.keys()])
  // Of a user with a role, the uid is known in any case.
  const unread = [...groups.keys()].filter(isUnread)
  const unnamed = unread.map((uid) => [uid, { name: uid, email: '', updated_ms: 0 }] as const)
  return [...rows, ...unnamed].map(([uid, { name, email, updated_ms }]) => ({
    kind: ResourceKind.USER,
    uid,
    name: email || name,
    detail: email === '' ? '' : name,
    digest: '',
    parent: groups.get(uid) ?? '',
    updatedMs: updated_ms,
    rank: 0,
  }))
}
