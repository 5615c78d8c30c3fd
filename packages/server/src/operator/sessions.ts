import type { Uid } from '../api/uid.ts'
import { SetupError } from '../config/setup-errors.ts'
import type { Installation } from '../installation/installation.ts'
import type { SessionVoucher } from '../pipeline/vouching.ts'
import { inTransaction } from '../storage/db.ts'
import { readReachableRows } from '../storage/rows-by-uid.ts'
import { endSessions } from '../tokens/sessions/sessions.ts'
import { readVoucher, type VoucherColumns } from '../tokens/sessions/valid-sessions.ts'
import { commandActor, type OperatorActor } from './actor.ts'

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
  readonly userAgent: string
  readonly address: string
  readonly createdMs: number
  readonly lastUsedMs: number
  readonly expiresMs: number
}

/** The session after which a page starts. */
export interface SessionCursor {
  readonly lastUsedMs: number
  readonly id: string
}

/** Lists sessions of an identity, or of all users, the most recently used first. */
export async function listSessions(
  { store: { db, clock } }: Pick<Installation, 'store'>,
  {
    identity,
    max,
    after,
  }: {
    readonly identity?: Uid | undefined
    readonly max: number
    readonly after?: SessionCursor | undefined
  },
): Promise<SessionSummary[]> {
  let query = db.kysely
    .selectFrom('sessions')
    .selectAll('sessions')
    .where('sessions.expires_ms', '>', clock())
  if (identity !== undefined) query = query.where('sessions.identity_uid', '=', identity)
  if (after !== undefined)
    query = query.where((row) =>
      row.or([
        row('sessions.last_used_ms', '<', after.lastUsedMs),
        row.and([row('sessions.last_used_ms', '=', after.lastUsedMs), row('sessions.id', '>', after.id)]),
      ]),
    )
  const rows = await query
    .orderBy('sessions.last_used_ms', 'desc')
    .orderBy('sessions.id')
    .limit(max)
    .execute()
  const { rows: identities } = await readReachableRows(
    db,
    'identities',
    ['email', 'name'],
    rows.map((row) => row.identity_uid),
  )
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    identity: row.identity_uid,
    person: identities.get(row.identity_uid)?.email || identities.get(row.identity_uid)?.name || '',
    method: row.method,
    ...vouchedBy(row),
    client: row.client,
    userAgent: row.user_agent,
    address: row.address,
    createdMs: Number(row.created_ms),
    lastUsedMs: Number(row.last_used_ms),
    expiresMs: Number(row.expires_ms),
  }))
}

function vouchedBy(row: VoucherColumns): Pick<SessionSummary, 'vouchedBy' | 'identityProvider'> {
  const voucher = readVoucher(row)
  return {
    vouchedBy: voucher?.kind ?? '',
    identityProvider: voucher?.kind === 'organization' ? voucher.provider : '',
  }
}

/** Ends one session, or all of an identity; returns how many. Throws SessionNotFound if the session does not exist. */
export async function revokeSessions(
  { store }: Pick<Installation, 'store'>,
  which: { readonly id: string } | { readonly identity: Uid },
  actor: OperatorActor = commandActor(store, 'berth admin sessions revoke'),
): Promise<number> {
  return inTransaction(store.db, async (tx) => {
    const identity = 'identity' in which ? which.identity : await ownerOf(which.id)
    const ended =
      'id' in which
        ? await endSessions(tx, 'id', which.id)
        : await endSessions(tx, 'identity_uid', which.identity)
    if (ended > 0) await actor.record(tx, identity)
    return ended

    async function ownerOf(id: string): Promise<string> {
      const row = await tx
        .selectFrom('sessions')
        .select('identity_uid')
        .where('id', '=', id)
        .executeTakeFirst()
      if (row === undefined) throw new SessionNotFound(id)
      return row.identity_uid
    }
  })
}

export class SessionNotFound extends SetupError {
  constructor(id: string) {
    super(`there is no session ${id}`)
  }
}
