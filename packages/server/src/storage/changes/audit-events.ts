import { randomInt } from 'node:crypto'
import { Code } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { insertRows } from '../bulk-rows.ts'
import type { Db, Engine, Tx } from '../db.ts'
import { prepared, preparedRead } from '../prepared.ts'
import type { AuditEventRow } from '../schema/tables.ts'
import { runInTransaction, sqlText } from '../sql-text.ts'

/** Writes rows of the audit log. */

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

export type NewAuditEventRow = Omit<AuditEventRow, 'uid'>

/** Returns the row of a successful change; denials and exchanges of foreign tokens add to it. */
export function eventRow({ timeMs, actor, method, uid, requestId, address }: AuditEvent): NewAuditEventRow {
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

/** Replaces the id of an event by another one, for an id that is taken. */
export function assignNewId(row: NewAuditEventRow): void {
  row.id = idAt(row.created_ms, randomInt(SERIAL_VALUES))
}

const TIME_DIGITS = 11
const SERIAL_DIGITS = 5
export const SERIAL_VALUES = 16 ** SERIAL_DIGITS
const TIME_MS_MAX = 16 ** TIME_DIGITS - 1

/** A random value: events of several processes in one millisecond rarely collide. */
const firstSerial = () => randomInt(SERIAL_VALUES / 2)

/**
 * Returns a function for the ids of events. They sort by time, until the year 2527. Within a millisecond, events of one process stay in their
 * order: a client can create and delete a resource in less.
 */
export function createEventIds(lastSerial = firstSerial()): (timeMs: number) => string {
  let lastMs = 0
  return (timeMs) => {
    // From the middle on, the next millisecond begins with low numbers again, so that no millisecond reaches the end of the numbers.
    const beginsAgain = timeMs > lastMs && lastSerial >= SERIAL_VALUES / 2
    lastSerial = beginsAgain || lastSerial + 1 === SERIAL_VALUES ? firstSerial() : lastSerial + 1
    lastMs = Math.max(lastMs, timeMs)
    return idAt(timeMs, lastSerial)
  }
}

const eventId = createEventIds()

function idAt(timeMs: number, serial: number): string {
  return timeDigits(timeMs) + serial.toString(16).padStart(SERIAL_DIGITS, '0')
}

/** Returns the lowest id of an event at or after a time. */
export function firstEventId(timeMs: number): string {
  return timeDigits(Math.min(Math.max(timeMs, 0), TIME_MS_MAX)).padEnd(TIME_DIGITS + SERIAL_DIGITS, '0')
}

function timeDigits(timeMs: number): string {
  return timeMs.toString(16).padStart(TIME_DIGITS, '0')
}

/** Records a change in its transaction. */
export async function recordEvent(tx: Tx, event: AuditEvent): Promise<void> {
  await insertEvent(tx, eventRow(event))
}

const insertUnlessTaken = prepared((db, row: NewAuditEventRow) =>
  db
    .insertInto('audit_events')
    .values(row as AuditEventRow)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
)

/** A conflict of ids must not fail: the caller would read it as a conflict of names. */
async function insertEvent(tx: Tx, row: NewAuditEventRow): Promise<void> {
  while ((await insertUnlessTaken(tx, row)).length === 0) assignNewId(row)
}

/** Rows in one statement. The text is always the same: preparing another one would cost more than it saves. */
const ROWS_PER_STATEMENT = 32

/** Inserts any number of events. Replaces an id that is taken, or fails with a unique violation. */
export async function insertEvents(tx: Tx, engine: Engine, rows: readonly NewAuditEventRow[]): Promise<void> {
  let at = 0
  for (; at + ROWS_PER_STATEMENT <= rows.length; at += ROWS_PER_STATEMENT) {
    const sql = sqlText(engine)
    const tuples = rows
      .slice(at, at + ROWS_PER_STATEMENT)
      .map((row) => `(${sql.bindAll(Object.values(row))})`)
    const columns = Object.keys(rows[at] as NewAuditEventRow).join(', ')
    await runInTransaction(tx, `insert into audit_events (${columns}) values ${tuples.join(', ')}`, sql)
  }
  for (const row of rows.slice(at)) await insertEvent(tx, row)
}

/** Inserts events that may be stored already, since the outcome of an earlier transaction is unknown. Those that are stay as they are. */
export async function insertUnstoredEvents(db: Db, tx: Tx, rows: readonly NewAuditEventRow[]): Promise<void> {
  await insertRows(db, tx, 'audit_events', rows as readonly AuditEventRow[], { ifAbsent: true })
}

const eventByUid = preparedRead((db, { root, id, parent }: Pick<AuditEventRow, 'root' | 'id' | 'parent'>) =>
  db
    .selectFrom('audit_events')
    .selectAll()
    .where('root', '=', root)
    .where('id', '=', id)
    .where('parent', '=', parent),
)

export async function readEvent(db: Db, uid: string): Promise<AuditEventRow | undefined> {
  const cut = uid.lastIndexOf('/')
  const [row] = await eventByUid(db, {
    root: rootOf(uid),
    id: uid.slice(cut + 1),
    parent: uid.slice(0, Math.max(cut, 0)),
  })
  return row
}
