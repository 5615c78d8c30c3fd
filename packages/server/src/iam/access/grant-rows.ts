import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { depthOf, rootOf, type Uid } from '../../api/uid.ts'
import type { Caller } from '../../pipeline/call.ts'
import type { Tx } from '../../storage/db.ts'
import { readReachable } from '../../storage/list/lost-servers.ts'
import { runInTransaction, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { currentSessionSql, type VoucherColumns } from '../../tokens/sessions/valid-sessions.ts'

/** Reads the roles of an identity: in one statement, or from the servers of its organizations alone (ADR 86). */

export type GrantRow = RoleRow | CallerRow | UnreadRow

interface RoleRow {
  /** uid of the group; '' for the platform. */
  readonly scope: string
  readonly role_uid: string
  readonly capabilities: string | null
  readonly accepted_through: string
}

/** Shows that the roles in an organization could not be read. */
export interface UnreadRow {
  /** uid of the organization. */
  readonly scope: string
  readonly unread: unknown
}

/** The row that shows that the identity exists, and its session. */
interface CallerRow extends SessionColumns {
  readonly scope: null
  readonly registered_through: string
}

/** Of the session of a caller; null without one. */
interface SessionColumns extends Nullable<VoucherColumns> {
  readonly expires_ms: number | string | null
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null }

export type GrantsStore = Pick<Store, 'db' | 'clock'>

type Identity = Pick<Caller, 'identity' | 'session'>

/** Mappings of an identity provider at some scopes, of which there is at least one. */
export interface AssumedMappings {
  readonly provider: Uid
  readonly scopes: readonly string[]
}

interface ReadOptions {
  readonly tx?: Tx
  readonly assumed?: AssumedMappings | undefined
}

/**
 * Returns one row for each role held, and one without a scope that shows that the identity exists; for the token of a session, also that the
 * session exists and has not expired (R12, R16). The roles of a session's groups (R22) belong to the user who signed in, not to an identity
 * that the user has assumed. `assumed`: without a session, also the groups of all current sessions through this identity provider,
 * by their mappings at some scopes.
 */
export function readGrantRows(
  store: GrantsStore,
  caller: Identity,
  options: ReadOptions = {},
): Promise<GrantRow[]> | GrantRow[] {
  const isDistributed = store.db.rules.isDistributed(store.db)
  if (isDistributed === false) return readTogether(store, caller, options)
  return readByServer(isDistributed, store, caller, options)
}

/** Reads all rows in one statement. */
function readTogether(
  store: GrantsStore,
  { identity, session }: Identity,
  { tx, assumed }: ReadOptions,
): Promise<GrantRow[]> | GrantRow[] {
  const sql = sqlText(store.db.engine)
  const nowMs = store.clock()
  const exists =
    session === undefined
      ? `select ${noRole}, i.registered_through, ${noSession} from identities i where`
      : `select ${noRole}, i.registered_through, ${sessionColumns}
      from identities i join sessions s on s.id = ${sql.bind(session)}
        and ${currentSessionSql(sql, nowMs)} where`
  const held = `i.root = ${sql.bind(rootOf(identity))} and i.uid = ${sql.bind(identity)}
    union all select b.parent, b.role_uid, r.capabilities, b.accepted_through, ${noCaller}
      from role_bindings b ${joinRole('b.role_uid')}
      where b.identity_uid = ${sql.bind(identity)} and ${organizationIsActive('b.root')}
    union all ${platformRolesSql(sql, identity)}`
  const mapped =
    session === undefined && assumed === undefined
      ? ''
      : `union all ${mappedRolesSql(sql, { identity, session, assumed, nowMs })}`
  return run(store, tx, `${exists} ${held} ${mapped}`, sql)
}

/**
 * Reads the session from the coordinator, the identity from its server, and its roles from the servers of its organizations. A server that
 * is lost then affects only the identities and organizations on it.
 */
async function readByServer(
  isDistributed: Promise<boolean> | true,
  store: GrantsStore,
  caller: Identity,
  options: ReadOptions,
): Promise<GrantRow[]> {
  if (!(await isDistributed)) return readTogether(store, caller, options)
  const { identity, session } = caller
  const { tx, assumed } = options
  const nowMs = store.clock()
  const read = async <R>(textOf: (sql: SqlText) => string): Promise<R[]> => {
    const sql = sqlText(store.db.engine)
    return run<R>(store, tx, textOf(sql), sql)
  }
  const [valid] =
    session === undefined
      ? [withoutSession]
      : await read<SessionColumns & GroupCount>((sql) => sessionSql(sql, session, nowMs))
  if (valid === undefined) return []
  const { groups, ...columns } = valid
  const own = await read<OwnRow>((sql) => ownRowsSql(sql, identity))
  const rows: GrantRow[] = []
  const organizations: string[] = []
  for (const { organization, ...row } of own) {
    if (organization !== null) organizations.push(organization)
    else rows.push(row.scope === null ? { ...row, ...columns } : row)
  }
  const readBound = (of: readonly string[]) => read<RoleRow>((sql) => boundRolesSql(sql, identity, of))
  rows.push(...(await readRoles(store, tx, organizations, readBound)))
  const provider = assumed?.provider ?? columns.provider_uid
  if (provider !== null && (assumed !== undefined || Number(groups) > 0)) {
    const root = rootOf(provider)
    const readMapped = () =>
      read<RoleRow>((sql) => mappedRolesSql(sql, { identity, session, assumed, nowMs, root }))
    rows.push(...(await readRoles(store, tx, [root], readMapped)))
  }
  return rows
}

/** Reads the roles in organizations; those on lost servers as unread. */
async function readRoles(
  { db }: GrantsStore,
  tx: Tx | undefined,
  organizations: readonly string[],
  read: (organizations: readonly string[]) => Promise<RoleRow[]>,
): Promise<GrantRow[]> {
  const { rows, unread } = await readReachable(db, organizations, read, { tx, hasReadBefore: true })
  return [...rows, ...[...unread].map(([scope, error]) => ({ scope, unread: error }))]
}

interface GroupCount {
  /** Number of external groups of the session. */
  readonly groups: number | string
}

const withoutSession: SessionColumns & GroupCount = {
  expires_ms: null,
  vouched_by: null,
  provider_uid: null,
  vouched_email: null,
  groups: 0,
}

/** A grant row of the server of the identity, or another organization in which it may have roles. */
type OwnRow = GrantRow & { readonly organization: string | null }

const noRole = 'null as scope, null as role_uid, null as capabilities, null as accepted_through'
const noSession = 'null as expires_ms, null as vouched_by, null as provider_uid, null as vouched_email'
const sessionColumns = 's.expires_ms, s.vouched_by, s.provider_uid, s.vouched_email'
const noCaller = 'null, null, null, null, null'

const joinRole = (uid: string) => `left join roles r on r.root = substr(${uid}, 1, 40) and r.uid = ${uid}`

/** A suspended organization is closed to its members: bindings in it grant nothing. */
const isActive = (status: string) => `coalesce(${status}, 0) <> ${OrgStatus.SUSPENDED}`

const organizationIsActive = (root: string) =>
  isActive(`(select o.status from groups o where o.root = ${root} and o.uid = ${root})`)

function platformRolesSql(sql: SqlText, identity: string): string {
  return `select '', role_uid, null, '', ${noCaller} from platform_bindings where identity_uid = ${sql.bind(identity)}`
}

/** `root`: the organization of the identity provider, for a statement that must name it. */
function mappedRolesSql(
  sql: SqlText,
  {
    identity,
    session,
    assumed,
    nowMs,
    root,
  }: Identity & {
    readonly assumed: AssumedMappings | undefined
    readonly nowMs: number
    readonly root?: string
  },
): string {
  const ofSession =
    session === undefined
      ? `s.provider_uid = ${sql.bind(assumed?.provider ?? '')} and ${currentSessionSql(sql, nowMs)}
          and m.scope in (${sql.bindAll(assumed?.scopes ?? [])})`
      : `s.id = ${sql.bind(session)}`
  return `select m.scope, m.role_uid, r.capabilities, '' as accepted_through, ${noCaller}
      from sessions s
        join session_groups g on g.session_id = s.id
        join external_group_role_mappings m on m.root = substr(s.provider_uid, 1, 40)
          and m.parent = s.provider_uid and m.external_group_id = g.external_group_id
        ${joinRole('m.role_uid')}
        left join groups o on o.root = m.root and o.uid = m.root
      where ${ofSession} and s.identity_uid = ${sql.bind(identity)} and ${isActive('o.status')}
        ${root === undefined ? '' : `and m.root = ${sql.bind(root)}`}`
}

function sessionSql(sql: SqlText, session: string, nowMs: number): string {
  return `select ${sessionColumns}, (select count(*) from session_groups g where g.session_id = s.id) as groups
    from sessions s where s.id = ${sql.bind(session)} and ${currentSessionSql(sql, nowMs)}`
}

function ownRowsSql(sql: SqlText, identity: string): string {
  const root = rootOf(identity)
  const parts = [
    `select ${noRole}, i.registered_through, ${noSession}, null as organization from identities i
      where i.root = ${sql.bind(root)} and i.uid = ${sql.bind(identity)}`,
    `select null, null, null, null, ${noCaller}, o.organization from identity_organizations o
      where o.root = ${sql.bind(root)} and o.identity_uid = ${sql.bind(identity)}`,
    `select p.*, null from (${platformRolesSql(sql, identity)}) as p`,
  ]
  // A user is in no organization of its own.
  if (depthOf(identity) > 0)
    parts.push(`select b.*, null from (${boundRolesSql(sql, identity, [root])}) as b`)
  return parts.join(' union all ')
}

/** Each table of the statement is limited to the organizations, so that their servers alone are asked. */
function boundRolesSql(sql: SqlText, identity: string, organizations: readonly string[]): string {
  return `select b.parent as scope, b.role_uid, r.capabilities, b.accepted_through, ${noCaller}
    from role_bindings b ${joinRole('b.role_uid')}
    where b.root in (${sql.bindAll(organizations)}) and b.identity_uid = ${sql.bind(identity)}
      and ${isActive(`(select o.status from groups o where o.root = b.root and o.uid = b.root and o.root in (${sql.bindAll(organizations)}))`)}`
}

function run<R>(
  { db }: Pick<GrantsStore, 'db'>,
  tx: Tx | undefined,
  text: string,
  sql: SqlText,
): Promise<R[]> | R[] {
  return tx === undefined ? runText<R>(db, text, sql) : runInTransaction<R>(tx, text, sql)
}
