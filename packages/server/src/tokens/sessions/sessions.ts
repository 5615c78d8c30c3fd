import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { SessionVoucher } from '../../pipeline/vouching.ts'
import type { Tx } from '../../storage/db.ts'
import { generateSecret, hashSecret } from '../../storage/pending-store.ts'
import type { SessionRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { readVoucher, validSessionSql, voucherColumns } from './valid-sessions.ts'

/**
 * Sessions of users: of browsers, with their secret in a cookie, and of clients, with their secret in a refresh token. A session is a row;
 * deleting it ends its refresh token and its access tokens immediately, on every node (R12).
 */

export type SessionKind = 'browser' | 'client'

/** An authenticated user, and the method of authentication. */
export interface SignedIn {
  /** uid of the identity. */
  readonly identity: string
  readonly method: 'password' | 'passkey' | 'provider'
  readonly voucher: SessionVoucher
  /** The user's groups at the provider; they count for as long as the session (R22). */
  readonly groups: readonly string[]
}

/** Address and user agent of a session, for its owner to recognize it. */
export interface SessionClientInfo {
  readonly address: string
  readonly userAgent: string
}

export interface NewSession extends SignedIn, SessionClientInfo {
  readonly kind: SessionKind
  /** Name of the client, possibly unverified; '' for a browser. */
  readonly client: string
  /** Audiences that tokens of a client's session may have. */
  readonly audiences: readonly string[]
  readonly lifetimeMs: number
}

export interface Session extends Omit<NewSession, 'lifetimeMs' | 'groups'> {
  readonly id: string
  readonly createdMs: number
  readonly lastUsedMs: number
  readonly expiresMs: number
}

const ID_BYTES = 16

/** Starts a session in the caller's transaction; returns its id and its secret, of which only a hash is stored. */
export async function startSession(
  { clock }: Pick<Store, 'clock'>,
  tx: Tx,
  session: NewSession,
): Promise<{ readonly id: string; readonly secret: string; readonly expiresMs: number }> {
  const id = randomBytes(ID_BYTES).toString('hex')
  const secret = generateSecret()
  const now = clock()
  const expiresMs = now + session.lifetimeMs
  await tx
    .insertInto('sessions')
    .values({
      id,
      kind: session.kind,
      identity_uid: session.identity,
      ...voucherColumns(session.voucher),
      method: session.method,
      client: session.client,
      audiences: JSON.stringify(session.audiences),
      secret_hash: hashSecret(secret),
      address: session.address,
      user_agent: session.userAgent,
      created_ms: now,
      last_used_ms: now,
      expires_ms: expiresMs,
    })
    .execute()
  const groups = [...new Set(session.groups)].map((group) => ({ session_id: id, external_group_id: group }))
  if (groups.length > 0) await tx.insertInto('session_groups').values(groups).execute()
  return { id, secret, expiresMs }
}

/** The session with this secret; undefined if it has ended or expired (R16). */
export async function sessionBySecret(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  kind: SessionKind,
  secret: string,
): Promise<Session | undefined> {
  const row = await db.kysely
    .selectFrom('sessions')
    .selectAll()
    .where('secret_hash', '=', hashSecret(secret))
    .where(sql<boolean>`${sql.raw(validSessionSql('sessions'))}`)
    .executeTakeFirst()
  return row === undefined || row.kind !== kind || row.expires_ms <= clock() ? undefined : sessionOf(row)
}

/** The groups of a session. */
export async function groupsOfSession({ db }: Pick<Store, 'db'>, id: string): Promise<string[]> {
  const rows = await db.kysely
    .selectFrom('session_groups')
    .select('external_group_id')
    .where('session_id', '=', id)
    .orderBy('external_group_id')
    .execute()
  return rows.map((row) => row.external_group_id)
}

/** All sessions of an identity, the most recently used first. */
export async function sessionsOf(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  identity: string,
): Promise<Session[]> {
  const rows = await db.kysely
    .selectFrom('sessions')
    .selectAll()
    .where('identity_uid', '=', identity)
    .where('expires_ms', '>', clock())
    .orderBy('last_used_ms', 'desc')
    .orderBy('id')
    .execute()
  return rows.flatMap((row) => sessionOf(row) ?? [])
}

export type SessionColumn = 'id' | 'identity_uid' | 'provider_uid'

/** Ends the sessions whose column has this value; returns their number. */
export async function endSessions(tx: Tx, column: SessionColumn, value: string): Promise<number> {
  const ended = await tx.deleteFrom('sessions').where(column, '=', value).returning('id').execute()
  const ids = ended.map((row) => row.id)
  if (ids.length > 0) await tx.deleteFrom('session_groups').where('session_id', 'in', ids).execute()
  return ended.length
}

/** Ends one session of an identity; false if the identity has no such session. */
export async function endOwnSession(tx: Tx, identity: string, id: string): Promise<boolean> {
  const own = await tx
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', id)
    .where('identity_uid', '=', identity)
    .executeTakeFirst()
  return own !== undefined && (await endSessions(tx, 'id', id)) > 0
}

/** Ends all other sessions of a session's identity. */
export async function endOtherSessions(
  tx: Tx,
  { identity, id }: Pick<Session, 'identity' | 'id'>,
): Promise<void> {
  const others = await tx
    .selectFrom('sessions')
    .select('id')
    .where('identity_uid', '=', identity)
    .where('id', '<>', id)
    .execute()
  for (const other of others) await endSessions(tx, 'id', other.id)
}

function sessionOf(row: SessionRow): Session | undefined {
  const voucher = readVoucher(row)
  if (voucher === undefined) return undefined
  return {
    id: row.id,
    kind: row.kind as SessionKind,
    identity: row.identity_uid,
    voucher,
    method: row.method as SignedIn['method'],
    client: row.client,
    audiences: JSON.parse(row.audiences) as string[],
    address: row.address,
    userAgent: row.user_agent,
    createdMs: row.created_ms,
    lastUsedMs: row.last_used_ms,
    expiresMs: row.expires_ms,
  }
}
