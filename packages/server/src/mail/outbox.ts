import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { seal, unseal } from '../runtime/encryption.ts'
import { decrementWindows, incrementWindows, type WindowCounter } from '../storage/counts/windows.ts'
import type { Reader, Tx } from '../storage/db.ts'
import type { JobKind } from '../storage/jobs/job-leases.ts'
import type { MailRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'

/**
 * Email that waits to be sent. It is written in the transaction of the change that it is about, and sent in the background (delivery.ts).
 * The data are encrypted, because they contain codes, and deleted as soon as the email is sent or given up.
 */

/** What each kind of email is composed of when it is sent. */
export interface MailData {
  /** The uid of the email is that of the invite. `text`: the code with the proof that it was sent to the address. */
  readonly invite: { readonly to: string; readonly text: string }
  /** `email` as the user typed it, whether or not an account has it. */
  readonly 'password-reset': { readonly email: string; readonly requestId: string; readonly address: string }
  readonly 'password-changed': { readonly email: string; readonly name: string }
}
export type MailKind = keyof MailData

/** An email that is to be composed and sent. */
export type QueuedMail = {
  [K in MailKind]: { readonly kind: K; readonly uid: string; readonly data: MailData[K] }
}[MailKind]

export type NewMail = QueuedMail & {
  /** How long attempts continue. */
  readonly lifetimeMs: number
}

/** The key of a job is the uid of its email; only emails that are queued are due. */
export const mailJob: JobKind = {
  name: 'mail',
  schedule: { table: 'mails', column: 'uid', enabled: "state = 'queued'" },
}

type Outbox = Pick<Store, 'clock' | 'secretsKey'>

/** Stores an email to be sent now, in place of an earlier one with the same uid. Returns its row. */
export async function queueMail(
  { clock, secretsKey }: Outbox,
  tx: Tx,
  { kind, uid, data, lifetimeMs }: NewMail,
): Promise<MailRow> {
  const now = clock()
  if (await isQueueFull(tx))
    return storeUnsentMail(tx, { ...newRow(now, kind, uid), state: 'failed', problem: QUEUE_FULL })
  return storeMail(tx, {
    ...newRow(now, kind, uid),
    data: seal(secretsKey, JSON.stringify(data), sealContext(uid)),
    expires_ms: now + lifetimeMs,
  })
}

/** Stores that an email is not sent, and why, unless an earlier one with the same uid waits or was sent. Returns its row. */
export async function recordUnsentMail(
  { clock }: Outbox,
  tx: Tx,
  { kind, uid, problem }: { readonly kind: MailKind; readonly uid: string; readonly problem: string },
): Promise<MailRow> {
  return storeUnsentMail(tx, { ...newRow(clock(), kind, uid), state: 'failed', problem })
}

const QUEUE_FULL = `too many emails are waiting (${limits.mailQueueMax}); the operator has to check the mail server`

async function isQueueFull(tx: Tx): Promise<boolean> {
  const [row] = await tx
    .selectFrom('mails')
    .select('uid')
    .where('state', '=', 'queued')
    .orderBy('due_ms')
    .offset(limits.mailQueueMax - 1)
    .limit(1)
    .execute()
  return row !== undefined
}

function newRow(now: number, kind: MailKind, uid: string): MailRow {
  return {
    root: rootOf(uid),
    uid,
    kind,
    state: 'queued',
    data: new Uint8Array(),
    attempts: 0,
    problem: '',
    created_ms: now,
    updated_ms: now,
    expires_ms: now,
    due_ms: now,
    runner: '',
    lease_ms: 0,
  }
}

async function storeMail(tx: Tx, row: MailRow): Promise<MailRow> {
  await tx
    .insertInto('mails')
    .values(row)
    .onConflict((conflict) => conflict.columns(['root', 'uid']).doUpdateSet(withoutKey(row)))
    .execute()
  return row
}

/** A distributed database rejects statements that set the column by which it distributes, also to the same value. */
function withoutKey({ root: _root, uid: _uid, ...rest }: MailRow): Omit<MailRow, 'root' | 'uid'> {
  return rest
}

async function storeUnsentMail(tx: Tx, row: MailRow): Promise<MailRow> {
  await tx
    .insertInto('mails')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['root', 'uid']).doUpdateSet(withoutKey(row)).where('mails.state', '=', 'failed'),
    )
    .execute()
  return row
}

function sealContext(uid: string): string {
  return `mail ${uid}`
}

/** Returns what an email is composed of; undefined if it cannot be decrypted, or this version does not know its kind. */
export function openMail(
  { secretsKey }: Pick<Store, 'secretsKey'>,
  row: MailRow,
  kinds: readonly string[],
): QueuedMail | undefined {
  const text = unseal(secretsKey, row.data, sealContext(row.uid))
  if (text === undefined || !kinds.includes(row.kind)) return undefined
  return { kind: row.kind, uid: row.uid, data: JSON.parse(text) } as QueuedMail
}

export type MailStatus = Pick<MailRow, 'uid' | 'state' | 'attempts' | 'problem' | 'updated_ms'>

/** Reads the states of emails by their uids, in one statement. */
export async function readMailStatuses(
  db: Reader,
  uids: readonly string[],
): Promise<ReadonlyMap<string, MailStatus>> {
  if (uids.length === 0) return new Map()
  const rows = await db
    .selectFrom('mails')
    .select(['uid', 'state', 'attempts', 'problem', 'updated_ms'])
    .where('root', 'in', [...new Set(uids.map(rootOf))])
    .where('uid', 'in', uids)
    .execute()
  return new Map(rows.map((row) => [row.uid, row]))
}

export interface MailSummary {
  readonly uid: string
  readonly kind: string
  readonly state: string
  readonly attempts: number
  readonly problem: string
  /** RFC 3339. */
  readonly updateTime: string
}

const LISTED_MAX = 1000

/** Lists the newest emails, in one state if it is given. */
export async function listMails(db: Reader, state: string | undefined): Promise<MailSummary[]> {
  const all = db.selectFrom('mails').select(['uid', 'kind', 'state', 'attempts', 'problem', 'updated_ms'])
  const rows = await (state === undefined ? all : all.where('state', '=', state))
    .orderBy('updated_ms', 'desc')
    .limit(LISTED_MAX)
    .execute()
  return rows.map(({ updated_ms, ...row }) => ({ ...row, updateTime: new Date(updated_ms).toISOString() }))
}

export async function deleteMail(tx: Tx, uid: string): Promise<void> {
  await tx.deleteFrom('mails').where('root', '=', rootOf(uid)).where('uid', '=', uid).execute()
}

/** Counts an email in windows of time. Returns whether all limits permit it; otherwise it is not counted. */
export async function countMail(tx: Tx, now: number, counted: readonly WindowCounter[]): Promise<boolean> {
  if ((await incrementWindows(tx, now, counted)) === 0) return true
  await decrementWindows(tx, counted)
  return false
}
