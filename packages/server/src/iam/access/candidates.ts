import { type Member, MemberKind } from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { normalizeEmail } from '../../api/fields.ts'
import { subtreeRange, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { readWithUsers } from '../../storage/list/lost-servers.ts'
import { andIn, readIdentityRoots } from '../../storage/list/named-roots.ts'
import { containsSql } from '../../storage/list/text-conditions.ts'
import { runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import type { LastSeen } from '../identities/last-seen.ts'
import type { MemberRow } from './member-rows.ts'
import { identityMember } from './members.ts'
import { scopesIn } from './readable-path.ts'

/**
 * Finds identities by a part of their name or email address, in the parts of an organization that the caller can read: workloads as the
 * list of identities shows them, and users as role bindings show them. Users belong to no organization and are not listed otherwise.
 */
export async function findCandidates(
  { db }: Pick<Store, 'db'>,
  lastSeen: LastSeen,
  call: Call,
  { root, query }: { readonly root: Uid; readonly query: string },
): Promise<{ readonly identities: Member[]; readonly more: boolean }> {
  const { grants } = authorizationOf(call)
  const text = normalizeEmail(query.trim())
  const select = (kind: MemberKind) =>
    `select i.uid as member, ${kind} as kind, i.name as name, i.email as email, i.last_seen_ms as last_seen_ms from`
  const ofUsers = scopesIn(grants, root, [Capability.CAP_IAM_ROLE_BINDINGS_LIST])
  const ofWorkloads = scopesIn(grants, root, [Capability.CAP_IAM_IDENTITY_LIST])
  const bound = (sql: SqlText) =>
    `select b.identity_uid from role_bindings b where b.root = ${sql.bind(root)} and ${rangesSql(sql, 'b.uid', ofUsers)}`
  const max = limits.candidatesMax
  const userRoots = ofUsers.length > 0 ? await readIdentityRoots(db, bound) : undefined
  const { result: rows, unread } = await readWithUsers(db, userRoots, ({ roots }) => {
    const sql = sqlText(db.engine)
    const matching = (columns: readonly string[]) =>
      text === '' ? '' : `and ${containsSql(sql, columns, text)}`
    const parts: string[] = []
    if (ofUsers.length > 0)
      parts.push(`${select(MemberKind.USER)} (${bound(sql)}) as bound
        join identities i on i.root = bound.identity_uid and i.uid = bound.identity_uid
      where 1 = 1 ${matching(['i.name', 'i.email'])}${andIn(sql, 'i.root', roots)}`)
    if (ofWorkloads.length > 0)
      parts.push(`${select(MemberKind.WORKLOAD)} identities i
      where i.root = ${sql.bind(root)} and ${rangesSql(sql, 'i.uid', ofWorkloads)} ${matching(['i.name'])}`)
    return runLongText<Omit<MemberRow, 'role_uid'>>(
      db,
      `${parts.join(' union ')} order by name, member limit ${sql.bind(max + 1)}`,
      sql,
    )
  })
  return {
    identities: rows.slice(0, max).map((row) => identityMember(lastSeen, call, { root }, row)),
    // Whether a user whose name is unknown matches is unknown, too.
    more: rows.length > max || unread.length > 0,
  }
}

function rangesSql(sql: SqlText, column: string, scopes: readonly string[]): string {
  const ranges = scopes.map((scope) => {
    const { from, to } = subtreeRange(scope)
    return `${column} >= ${sql.bind(from)} and ${column} < ${sql.bind(to)}`
  })
  return `(${ranges.join(' or ')})`
}
