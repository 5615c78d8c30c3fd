import { parseUid } from '../api/uid.ts'
import { SetupError, UsageError } from '../config/setup-errors.ts'
import type { Installation } from '../installation/installation.ts'
import type { SessionVoucher } from '../pipeline/vouching.ts'
import { recordEvent } from '../storage/changes/audit-events.ts'
import { inTransaction } from '../storage/db.ts'
import { endSessions } from '../tokens/sessions/sessions.ts'
import { readVoucher, type VoucherColumns } from '../tokens/sessions/valid-sessions.ts'

/** Active sessions, for the operator to list and end, with access to the database and no token. */

export interface SessionSummary {
  readonly id: string
  readonly kind: string
  readonly identity: string
  /** Proven email address of the person, else the name of the identity. */
  readonly person: string
  readonly method: string
  /** Who vouched for the person (ADR 13); '' if that is not recorded, and the session counts for no organization. */
  readonly vouchedBy: SessionVoucher['kind'] | ''
  /** uid of the organization's identity provider that vouched; '' for any other voucher. */
  readonly identityProvider: string
  /** What the client calls itself; '' for browsers. */
  readonly client: string
  readonly address: string
  readonly createTime: string
  readonly lastUsedTime: string
  readonly expireTime: string
}

/** How many sessions are listed, the most recently used. */
const LISTED_SESSIONS_MAX = 1000

/** Lists the sessions of an identity, or of all users, the most recently used first. */
export async function listSessions(
  { store: { db, clock } }: Pick<Installation, 'store'>,
  identity: string | undefined,
): Promise<SessionSummary[]> {
  let query = db.kysely
    .selectFrom('sessions')
    .leftJoin('identities', (join) =>
      join
        .onRef('identities.root', '=', 'sessions.identity_uid')
        .onRef('identities.uid', '=', 'sessions.identity_uid'),
    )
    .selectAll('sessions')
    .select(['identities.email', 'identities.name'])
    .where('sessions.expires_ms', '>', clock())
  if (identity !== undefined) query = query.where('sessions.identity_uid', '=', requireUid(identity))
  const rows = await query
    .orderBy('sessions.last_used_ms', 'desc')
    .orderBy('sessions.id')
    .limit(LISTED_SESSIONS_MAX)
    .execute()
  const time = (ms: number) => new Date(Number(ms)).toISOString()
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    identity: row.identity_uid,
    person: row.email || row.name || '',
    method: row.method,
    ...vouchedBy(row),
    client: row.client,
    address: row.address,
    createTime: time(row.created_ms),
    lastUsedTime: time(row.last_used_ms),
    expireTime: time(row.expires_ms),
  }))
}

function vouchedBy(row: VoucherColumns): Pick<SessionSummary, 'vouchedBy' | 'identityProvider'> {
  const voucher = readVoucher(row)
  return {
    vouchedBy: voucher?.kind ?? '',
    identityProvider: voucher?.kind === 'organization' ? voucher.provider : '',
  }
}

/** Ends one session, or all of an identity; returns how many. Throws a SetupError if the session does not exist. */
export async function revokeSessions(
  { store: { db, clock } }: Pick<Installation, 'store'>,
  which: { readonly id: string } | { readonly identity: string },
): Promise<number> {
  return inTransaction(db, async (tx) => {
    const identity = 'identity' in which ? requireUid(which.identity) : await ownerOf(which.id)
    const ended =
      'id' in which
        ? await endSessions(tx, 'id', which.id)
        : await endSessions(tx, 'identity_uid', which.identity)
    if (ended > 0)
      await recordEvent(tx, {
        timeMs: clock(),
        actor: 'system',
        method: 'berth admin sessions revoke',
        uid: identity,
        requestId: '',
        address: '',
      })
    return ended

    async function ownerOf(id: string): Promise<string> {
      const row = await tx
        .selectFrom('sessions')
        .select('identity_uid')
        .where('id', '=', id)
        .executeTakeFirst()
      if (row === undefined) throw new SetupError(`there is no session ${id}`)
      return row.identity_uid
    }
  })
}

function requireUid(identity: string): string {
  const uid = parseUid(identity)
  if (uid === undefined)
    throw new UsageError('--identity must be a uid: 40 hex digits, then segments of /16 hex digits')
  return uid
}
