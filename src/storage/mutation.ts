import { randomBytes } from 'node:crypto'
import type { Message } from '@bufbuild/protobuf'
import { accessOf } from '../core/allowed.ts'
import type { Call } from '../core/call.ts'
import { type ApiError, Code } from '../core/errors.ts'
import { rootOf } from '../core/uid.ts'
import { inTransaction, type Tx } from './db.ts'
import { attemptOf } from './idempotency.ts'
import { prepared } from './prepared.ts'
import type { Store } from './store.ts'
import type { AuditEventRow } from './tables.ts'

/** What a change of a resource comes to: the answer, and the uid that the audit record names. */
export interface Changed<T> {
  readonly uid: string
  readonly answer: T
  /** Nothing was written, so there is nothing to record. */
  readonly unchanged?: boolean
}

/**
 * Runs a change and its audit record in one transaction: both are there, or neither. A create that is sent again with its key is
 * answered as the first time. `taken` makes the error for a name or key that is in use already.
 */
export async function mutate<T extends Message>(
  store: Pick<Store, 'db' | 'clock' | 'secretsKey'>,
  call: Call,
  work: (tx: Tx) => Promise<Changed<T>>,
  taken?: () => ApiError,
): Promise<T> {
  const { db, clock } = store
  const attempt = attemptOf(store, call)
  try {
    return await inTransaction(db, async (tx) => {
      const earlier = await attempt?.begin(tx)
      if (earlier !== undefined) return earlier as T
      const { uid, answer, unchanged } = await work(tx)
      if (!unchanged) {
        await recordEvent(tx, {
          timeMs: clock(),
          actor: accessOf(call).caller.identity,
          method: methodName(call),
          uid,
          requestId: call.requestId,
          address: call.address,
        })
      }
      await attempt?.finish(tx, answer)
      return answer
    })
  } catch (error) {
    if (taken !== undefined && db.rules.isUniqueViolation(error)) throw taken()
    throw error
  }
}

/** As audit events name it: `chainguard.platform.iam.v2beta1.GroupsService/CreateGroup`. */
export function methodName({ method }: Pick<Call, 'method'>): string {
  return `${method.parent.typeName}/${method.name}`
}

export interface AuditEvent {
  readonly timeMs: number
  /** uid of an identity, or `system`. */
  readonly actor: string
  readonly method: string
  /** What the event is about. */
  readonly uid: string
  readonly requestId: string
  readonly address: string
}

/** Records something that was done, in the transaction that does it. */
export async function recordEvent(tx: Tx, event: AuditEvent): Promise<void> {
  await insertEvent(tx, eventRow(event))
}

type NewAuditEventRow = Omit<AuditEventRow, 'uid'>

/** The row of something that was done; what was refused, or done with a foreign token, adds to it. */
function eventRow({ timeMs, actor, method, uid, requestId, address }: AuditEvent): NewAuditEventRow {
  return {
    root: rootOf(uid),
    id: eventId(timeMs),
    parent: uid,
    created_ms: timeMs,
    actor,
    method,
    code: Code.OK,
    reason: '',
    request_id: requestId,
    address,
    issuer: '',
    subject: '',
    n: 1,
  }
}

const TIME_DIGITS = 11
const CHANCE_DIGITS = 5

/** Sorts by time, until the year 2527. Two events of one millisecond are told apart by what they are about, and by chance. */
function eventId(timeMs: number): string {
  const chance = randomBytes(3).toString('hex').slice(0, CHANCE_DIGITS)
  return timeMs.toString(16).padStart(TIME_DIGITS, '0') + chance
}

const insertEvent = prepared((db, row: NewAuditEventRow) =>
  db.insertInto('audit_events').values(row as AuditEventRow),
)
