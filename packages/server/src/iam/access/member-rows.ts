import { MemberKind } from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { unavailable } from '../../api/errors.ts'
import type { Db } from '../../storage/db.ts'
import { type ReadableUsers, readWithUsers } from '../../storage/list/lost-servers.ts'
import { andIn, type NamedRoots, readIdentityRoots } from '../../storage/list/named-roots.ts'
import { containsSql } from '../../storage/list/text-conditions.ts'
import { runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { currentSessionSql } from '../../tokens/sessions/valid-sessions.ts'
import type { ReadablePath } from './readable-path.ts'

/** Reads members: identities with a role on a path, and mapped groups of identity providers, one row for each role. */

export interface MemberRow {
  /** uid of the identity, or of the mapping of an external group. */
  readonly member: string
  readonly kind: MemberKind
  readonly name: string
  readonly email: string
  readonly last_seen_ms: number | string
  readonly role_uid: string
}

export interface MemberFilter {
  /** In lower case. */
  readonly query?: string
  readonly kind?: MemberKind
  /** uids of roles; undefined for all. */
  readonly roles?: readonly string[] | undefined
  readonly identity?: string
  readonly directOnly?: boolean
}

/** The last row of the previous page. */
export type MemberCursor = readonly [name: string, member: string, role: string]

export interface MemberPage {
  readonly after: MemberCursor | undefined
  readonly limit: number
}

interface MemberSource {
  readonly db: Db
  readonly clock: () => number
}

/**
 * Users are roots, so that a database that is distributed by the root has them elsewhere than the bindings of an organization: subqueries read
 * the rows of the organization first.
 *
 * They have no parent. */
const kindOfIdentity = `case when i.parent = '' then ${MemberKind.USER} else ${MemberKind.WORKLOAD} end`
const identityColumns = 'i.uid as member, i.name as name, i.email as email, i.last_seen_ms as last_seen_ms'

/** Returns the rows of a page, and the users among all members who could not be read: their rows have no name. */
export async function readMemberRows(
  source: MemberSource,
  path: ReadablePath,
  filter: MemberFilter,
  { after, limit }: MemberPage,
): Promise<{ readonly rows: readonly MemberRow[]; readonly unread: readonly string[] }> {
  const { result, unread } = await runOnMembers<MemberRow>(source, path, filter, (sql, membersOf) => {
    const members = membersOf()
    const rest =
      after === undefined
        ? ''
        : `where (name, member, role_uid) > (${after.map((value) => sql.bind(value)).join(', ')})`
    return `select * from (${members}) as found ${rest} order by name, member, role_uid limit ${sql.bind(limit)}`
  })
  return { rows: result, unread }
}

export async function countMemberRows(
  source: MemberSource,
  path: ReadablePath,
  filter: MemberFilter,
): Promise<number> {
  const {
    result: [row],
  } = await runOnMembers<{ n: number | string }>(
    source,
    path,
    filter,
    (_, membersOf) => `select count(*) as n from (${membersOf()}) as found`,
  )
  return Number(row?.n ?? 0)
}

/** Runs a statement on the rows of all members. */
async function runOnMembers<Row>(
  { db, clock }: MemberSource,
  path: ReadablePath,
  filter: MemberFilter,
  textOf: (sql: SqlText, membersOf: () => string) => string,
) {
  const nowMs = clock()
  const roots = await readMemberRoots(db, path, filter, nowMs)
  return readWithUsers(db, roots, (users) => {
    if (filter.query) requireRead(users)
    const sql = sqlText(db.engine)
    const text = textOf(sql, () => membersSql(sql, path, filter, { nowMs, users }))
    return runLongText<Row>(db, text, sql)
  })
}

const UNREAD_RETRY_MS = 1000

/** Throws code 14 for a search among users whose names are unknown. */
function requireRead({ unread: [user, ...others] }: ReadableUsers): void {
  if (user === undefined) return
  const more = others.length === 0 ? '' : ` and of ${others.length} others`
  throw unavailable(
    `the database server of user ${user}${more} does not respond, so their names are unknown; list the members without a query`,
    UNREAD_RETRY_MS,
  )
}

interface MembersAt {
  readonly nowMs: number
  readonly users: ReadableUsers
}

/** Returns the roots of the identities of members. */
async function readMemberRoots(
  db: Db,
  path: ReadablePath,
  filter: MemberFilter,
  nowMs: number,
): Promise<NamedRoots> {
  const { bindings, mappings } = readableScopes(path, filter)
  if (bindings.length + mappings.length === 0) return undefined
  return readIdentityRoots(db, (sql) =>
    [
      ...(bindings.length === 0 ? [] : [boundRows(sql, path.root, bindings)]),
      ...(mappings.length === 0 ? [] : [mappedRows(sql, path.root, mappings, nowMs)]),
    ].join(' union '),
  )
}

/** A statement whose placeholders are bound in the order of its text. Each member and role is in it once. */
function membersSql(sql: SqlText, path: ReadablePath, filter: MemberFilter, at: MembersAt): string {
  const { bindings, mappings } = readableScopes(path, filter)
  const parts = [
    ...(bindings.length === 0
      ? []
      : identitiesSql(sql, () => boundRows(sql, path.root, bindings), filter, at.users)),
    ...(mappings.length === 0
      ? []
      : [
          ...identitiesSql(sql, () => mappedRows(sql, path.root, mappings, at.nowMs), filter, at.users),
          externalSql(sql, path.root, mappings, filter),
        ]),
  ]
  return parts.length === 0 ? noMembers : parts.join(' union ')
}

const noMembers = `select '' as member, '' as name, '' as email, 0 as last_seen_ms, 0 as kind, '' as role_uid where 1 = 0`

function readableScopes({ uid, bindings, mappings }: ReadablePath, { directOnly = false }: MemberFilter) {
  const counted = (scopes: readonly string[]) =>
    directOnly ? scopes.filter((scope) => scope === uid) : scopes
  return { bindings: counted(bindings.readable), mappings: counted(mappings.readable) }
}

/** Joins the identities of rows. Those of users who cannot be read have no name. */
function identitiesSql(
  sql: SqlText,
  rowsOf: () => string,
  filter: MemberFilter,
  { roots, unread }: ReadableUsers,
): string[] {
  const parts = [
    `select ${identityColumns}, ${kindOfIdentity} as kind, b.role_uid as role_uid
    from (${rowsOf()}) as b join identities i on i.root = substr(b.identity_uid, 1, 40) and i.uid = b.identity_uid
    where 1 = 1 ${conditionsSql(sql, filter, { member: 'i.uid', kind: kindOfIdentity, role: 'b.role_uid', texts: ['i.name', 'i.email'] })}${andIn(sql, 'i.root', roots)}`,
  ]
  if (unread.length > 0) {
    const kind = String(MemberKind.USER)
    parts.push(`select b.identity_uid as member, '' as name, '' as email, 0 as last_seen_ms, ${kind} as kind, b.role_uid as role_uid
    from (${rowsOf()}) as b
    where b.identity_uid in (${sql.bindAll(unread)}) ${conditionsSql(sql, filter, { member: 'b.identity_uid', kind, role: 'b.role_uid', texts: [] })}`)
  }
  return parts
}

function boundRows(sql: SqlText, root: string, scopes: readonly string[]): string {
  return `select identity_uid, role_uid from role_bindings where root = ${sql.bind(root)} and parent in (${sql.bindAll(scopes)})`
}

function mappedRows(sql: SqlText, root: string, scopes: readonly string[], nowMs: number): string {
  return `select s.identity_uid, m.role_uid from external_group_role_mappings m
      join sessions s on s.provider_uid = m.parent
      join session_groups g on g.session_id = s.id and g.external_group_id = m.external_group_id
    where m.root = ${sql.bind(root)} and m.scope in (${sql.bindAll(scopes)}) and ${currentSessionSql(sql, nowMs)}`
}

function externalSql(sql: SqlText, root: string, scopes: readonly string[], filter: MemberFilter): string {
  const kind = String(MemberKind.EXTERNAL_GROUP)
  return `select m.uid as member, m.external_group_id as name, '' as email, 0 as last_seen_ms, ${kind} as kind, m.role_uid as role_uid
    from external_group_role_mappings m
    where m.root = ${sql.bind(root)} and m.scope in (${sql.bindAll(scopes)})
      ${conditionsSql(sql, filter, { member: 'm.uid', kind, role: 'm.role_uid', texts: ['m.external_group_id'] })}`
}

interface FilterColumns {
  readonly member: string
  readonly kind: string
  readonly role: string
  readonly texts: readonly string[]
}

function conditionsSql(
  sql: SqlText,
  { query = '', kind = MemberKind.UNSPECIFIED, roles, identity = '' }: MemberFilter,
  columns: FilterColumns,
): string {
  const conditions: string[] = []
  if (query !== '') conditions.push(containsSql(sql, columns.texts, query))
  if (kind !== MemberKind.UNSPECIFIED) conditions.push(`${columns.kind} = ${sql.bind(kind)}`)
  if (roles !== undefined)
    conditions.push(roles.length === 0 ? '1 = 0' : `${columns.role} in (${sql.bindAll(roles)})`)
  if (identity !== '') conditions.push(`${columns.member} = ${sql.bind(identity)}`)
  return conditions.map((condition) => `and ${condition}`).join(' ')
}

export interface SourceRow {
  readonly member: string
  readonly role_uid: string
  readonly scope: string
  /** uid of the role binding; '' for a mapping. */
  readonly binding: string
  readonly created_ms: number | string
  readonly accepted_through: string
  /** Of a mapping. */
  readonly provider: string
  readonly external_group: string
}

/** Returns the sources of the roles of some members, the organization's first. `members`: at least one. */
export async function readSourceRows(
  { db, clock }: MemberSource,
  { root, bindings, mappings }: ReadablePath,
  members: readonly string[],
): Promise<SourceRow[]> {
  const sql = sqlText(db.engine)
  const parts = []
  if (bindings.readable.length > 0)
    parts.push(`select b.identity_uid as member, b.role_uid as role_uid, b.parent as scope, b.uid as binding,
        b.created_ms as created_ms, b.accepted_through as accepted_through, '' as provider, '' as external_group
      from role_bindings b where b.root = ${sql.bind(root)} and b.parent in (${sql.bindAll(bindings.readable)})
        and b.identity_uid in (${sql.bindAll(members)})`)
  if (mappings.readable.length > 0) {
    const columns =
      "m.role_uid, m.scope, '' as binding, 0 as created_ms, '' as accepted_through, m.parent, m.external_group_id"
    parts.push(`select s.identity_uid, ${columns} from sessions s
        join session_groups g on g.session_id = s.id
        join external_group_role_mappings m on m.root = substr(s.provider_uid, 1, 40)
          and m.parent = s.provider_uid and m.external_group_id = g.external_group_id
      where s.identity_uid in (${sql.bindAll(members)}) and m.root = ${sql.bind(root)}
        and m.scope in (${sql.bindAll(mappings.readable)}) and ${currentSessionSql(sql, clock())}`)
    parts.push(`select m.uid, ${columns} from external_group_role_mappings m
      where m.root = ${sql.bind(root)} and m.uid in (${sql.bindAll(members)})
        and m.scope in (${sql.bindAll(mappings.readable)})`)
  }
  if (parts.length === 0) return []
  return runLongText<SourceRow>(db, `${parts.join(' union ')} order by scope, binding, external_group`, sql)
}

export interface HiddenRow {
  readonly scope: string
  readonly role: string | null
  readonly users: number | string
  readonly workloads: number | string
  readonly external_groups: number | string
}

/** Counts the members in the groups of a path that the caller cannot read. `roles`: only these. */
export async function readHiddenRows(
  db: Db,
  { root, bindings, mappings }: ReadablePath,
  roles: readonly string[] | undefined,
): Promise<HiddenRow[]> {
  const sql = sqlText(db.engine)
  const role = (of: string) => `left join roles r on r.root = substr(${of}, 1, 40) and r.uid = ${of}`
  const ofRoles = (column: string) =>
    roles === undefined ? '' : roles.length === 0 ? 'and 1 = 0' : `and ${column} in (${sql.bindAll(roles)})`
  const parts = []
  if (bindings.hidden.length > 0)
    parts.push(`select b.parent as scope, b.role_uid as role_uid, r.name as role,
        sum(case when length(b.identity_uid) = 40 then 1 else 0 end) as users,
        sum(case when length(b.identity_uid) = 40 then 0 else 1 end) as workloads, 0 as external_groups
      from role_bindings b ${role('b.role_uid')}
      where b.root = ${sql.bind(root)} and b.parent in (${sql.bindAll(bindings.hidden)}) ${ofRoles('b.role_uid')}
      group by b.parent, b.role_uid, r.name`)
  if (mappings.hidden.length > 0)
    parts.push(`select m.scope as scope, m.role_uid as role_uid, r.name as role, 0 as users, 0 as workloads, count(*) as external_groups
      from external_group_role_mappings m ${role('m.role_uid')}
      where m.root = ${sql.bind(root)} and m.scope in (${sql.bindAll(mappings.hidden)}) ${ofRoles('m.role_uid')}
      group by m.scope, m.role_uid, r.name`)
  if (parts.length === 0) return []
  const text = `select scope, role, sum(users) as users, sum(workloads) as workloads, sum(external_groups) as external_groups
    from (${parts.join(' union all ')}) as counted group by scope, role_uid, role order by scope, role, role_uid`
  return runLongText<HiddenRow>(db, text, sql)
}
