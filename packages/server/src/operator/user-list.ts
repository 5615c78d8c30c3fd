import type { CursorValue } from '../api/page-tokens.ts'
import { parseUid } from '../api/uid.ts'
import { ANONYMOUS_IDENTITY } from '../iam/identities/anonymous-uid.ts'
import type { Reader } from '../storage/db.ts'
import { containsSql, equalsSql } from '../storage/list/text-conditions.ts'
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
  /** The whole name or email address, ignoring case. */
  readonly named?: string
  readonly kind?: 'local' | 'provider' | 'none' | undefined
  readonly suspended?: boolean
  /** uid of one identity. */
  readonly uid?: string
}

/** Lists users by email address. Reads all identities of users, in a reader thread. */
export async function listUsers(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  { query = '', named, kind, suspended = false, uid }: UserFilter,
  { max, after }: { readonly max: number; readonly after?: readonly CursorValue[] | undefined },
): Promise<readonly UserRow[]> {
  const sql = sqlText(db.engine)
  const email = "coalesce(a.email, nullif(i.email, ''), i.email_unverified, '')"
  const name = 'coalesce(a.name, i.name)'
  const columns = `i.uid, ${email} as sort, ${name} as name, ${email} as email, i.issuer, a.id as account,
      case when a.password_hash <> '' then 1 else 0 end as has_password,
      coalesce(a.passkey_required, 0) as passkey_required, coalesce(a.disabled, 0) as disabled,
      case when exists (select 1 from platform_bindings b where b.identity_uid = i.uid) then 1 else 0 end as is_operator,
      i.last_seen_ms, i.created_ms`
  const conditions = [`i.parent = ''`, `i.relationship = 0`, `i.uid <> ${sql.bind(ANONYMOUS_IDENTITY)}`]
  if (uid !== undefined) conditions.push(`i.root = ${sql.bind(uid)}`, `i.uid = ${sql.bind(uid)}`)
  if (query !== '') {
    const matches = containsSql(sql, [email, name], query)
    const own = parseUid(query) === undefined ? [] : [`i.uid = ${sql.bind(query)}`]
    conditions.push(`(${[matches, ...own].join(' or ')})`)
  }
  if (named !== undefined) conditions.push(equalsSql(sql, [email, name], named))
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
  const rows = await runLongText<Omit<UserRow, keyof OfAccount | keyof OfSessions>>(db, text, sql)
  const sessions = await readSessionsOf(
    db.kysely,
    rows.map((row) => row.uid),
    clock(),
  )
  const passkeys = await countPasskeysOf(
    db.kysely,
    rows.flatMap(({ account }) => account ?? []),
  )
  return rows.map((row) => ({
    ...row,
    passkeys: passkeys.get(row.account ?? '') ?? 0,
    sessions: sessions.get(row.uid)?.sessions ?? 0,
    signed_in_ms: sessions.get(row.uid)?.signed_in_ms ?? null,
  }))
}

type OfAccount = Pick<UserRow, 'passkeys'>
type OfSessions = Pick<UserRow, 'sessions' | 'signed_in_ms'>

/** Counts the active sessions of identities, by uid. */
async function readSessionsOf(
  db: Reader,
  identities: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, OfSessions>> {
  if (identities.length === 0) return new Map()
  const rows = await db
    .selectFrom('sessions')
    .select(({ fn }) => [
      'identity_uid',
      fn.countAll<number>().as('sessions'),
      fn.max('created_ms').as('signed_in_ms'),
    ])
    .where('identity_uid', 'in', identities)
    .where('expires_ms', '>', nowMs)
    .groupBy('identity_uid')
    .execute()
  return new Map(rows.map(({ identity_uid, ...row }) => [identity_uid, row]))
}

async function countPasskeysOf(
  db: Reader,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (accounts.length === 0) return new Map()
  const rows = await db
    .selectFrom('passkeys')
    .select(({ fn }) => ['account_id', fn.countAll<number>().as('n')])
    .where('account_id', 'in', accounts)
    .groupBy('account_id')
    .execute()
  return new Map(rows.map(({ account_id, n }) => [account_id, n]))
}
