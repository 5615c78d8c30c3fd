import { randomBytes } from 'node:crypto'
import { accessOf } from '../core/allowed.ts'
import type { Call } from '../core/call.ts'
import { type ApiError, Code } from '../core/errors.ts'
import { rootOf } from '../core/uid.ts'
import { inTransaction, type Tx } from './db.ts'
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
 * Runs a change and its audit record in one transaction: both are there, or neither. `taken` makes the error for a name or key
 * that is in use already.
 */
export async function mutate<T>(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  call: Call,
  work: (tx: Tx) => Promise<Changed<T>>,
  taken?: () => ApiError,
): Promise<T> {
  try {
    return await inTransaction(db, async (tx) => {
      const { uid, answer, unchanged } = await work(tx)
      if (!unchanged) {
        await recordEvent(tx, {
          timeMs: clock(),
          actor: accessOf(call).caller.identity,
          method: `${call.method.parent.typeName}/${call.method.name}`,
          uid,
          requestId: call.requestId,
        })
      }
      return answer
    })
  } catch (error) {
    if (taken !== undefined && db.rules.isUniqueViolation(error)) throw taken()
    throw error
  }
}

export interface AuditEvent {
  readonly timeMs: number
  /** uid of an identity, or `system`. */
  readonly actor: string
  readonly method: string
  readonly uid: string
  readonly requestId: string
}

export async function recordEvent(
  tx: Tx,
  { timeMs, actor, method, uid, requestId }: AuditEvent,
): Promise<void> {
  await insertEvent(tx, {
    root: rootOf(uid),
    // Base 36 of the time keeps its length until the year 5188, so ids sort by time.
    id: timeMs.toString(36).padStart(9, '0') + randomBytes(8).toString('hex'),
    time_ms: timeMs,
    actor,
    method,
    uid,
    outcome: Code.OK,
    request_id: requestId,
  })
}

const insertEvent = prepared((db, row: AuditEventRow) => db.insertInto('audit_events').values(row))
