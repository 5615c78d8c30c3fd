import type { CursorValue } from '../api/page-tokens.ts'
import { parseUid } from '../api/uid.ts'
import { ANONYMOUS_IDENTITY } from '../iam/identities/anonymous-uid.ts'
import { runLongText, sqlText } from '../storage/sql-text.ts'
import type { Store } from '../storage/store.ts'

/** Users of the installation for operators: identities of local accounts and of identity providers. */

export interface UserRow {
  /** uid of the identity. */
  readonly uid: string
  /** Key of the order. */
  readonly sort: string
  readonly name: string
  readonly email: string
  readonly issuer: string
  readonly account: string | null
  readonly has_password: number
  readonly passkeys: number
  readonly passkey_required: number
  readonly disabled: number
  readonly is_operator: number
  readonly sessions: number
  readonly signed_in_ms: number | null
  readonly last_seen_ms: number
  readonly created_ms: number
}

export interface UserFilter {
  /** Part of the name or of the email address; '' for all. */
  readonly query?: string
  readonly kind?: 'local' | 'provider' | 'none' | undefined
  readonly suspended?: boolean
  /** uid of one identity. */
  readonly uid?: string
}

/** Lists users by email address. Reads all identities of users, in a reader thread. */
export async function listUsers(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  { query = '', kind, suspended = false, uid }: UserFilter,
  { max, after }: { readonly max: number; readonly after?: readonly CursorValue[] | undefined },
): Promise<readonly UserRow[]> {
  const sql = sqlText(db.engine)
  const email = "coalesce(a.email, nullif(i.email, ''), i.email_unverified, '')"
  const name = 'coalesce(a.name, i.name)'
  const ofActiveSessions = () =>
    `from sessions s where s.identity_uid = i.uid and s.expires_ms > ${sql.bind(clock())}`
  const columns = `i.uid, ${email} as sort, ${name} as name, ${email} as email, i.issuer, a.id as account,
      case when a.password_hash <> '' then 1 else 0 end as has_password,
      (select count(*) from passkeys p where p.account_id = a.id) as passkeys,
      coalesce(a.passkey_required, 0) as passkey_required, coalesce(a.disabled, 0) as disabled,
      case when exists (select 1 from platform_bindings b where b.identity_uid = i.uid) then 1 else 0 end as is_operator,
      (select count(*) ${ofActiveSessions()}) as sessions,
      (select max(s.created_ms) ${ofActiveSessions()}) as signed_in_ms,
      i.last_seen_ms, i.created_ms`
  const conditions = [`i.parent = ''`, `i.relationship = 0`, `i.uid <> ${sql.bind(ANONYMOUS_IDENTITY)}`]
  if (uid !== undefined) conditions.push(`i.root = ${sql.bind(uid)}`, `i.uid = ${sql.bind(uid)}`)
  if (query !== '') {
    const like = `%${query.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
    const matches = [email, name].map((text) => `lower(${text}) like ${sql.bind(like)} escape '\\'`)
    const own = parseUid(query) === undefined ? [] : [`i.uid = ${sql.bind(query)}`]
    conditions.push(`(${[...matches, ...own].join(' or ')})`)
  }
  if (kind === 'local') conditions.push('a.id is not null')
  if (kind === 'provider') conditions.push(`a.id is null and i.issuer <> ''`)
  if (kind === 'none') conditions.push(`a.id is null and i.issuer = ''`)
  if (suspended) conditions.push('a.disabled <> 0')
  if (after !== undefined) {
    const [key = '', last = ''] = after
    conditions.push(
      `(${email} > ${sql.bind(key)} or (${email} = ${sql.bind(key)} and i.uid > ${sql.bind(last)}))`,
    )
  }
  const text = `select ${columns} from identities i left join accounts a on a.identity_uid = i.uid
    where ${conditions.join(' and ')} order by ${email}, i.uid limit ${sql.bind(max)}`
  return runLongText<UserRow>(db, text, sql)
}
