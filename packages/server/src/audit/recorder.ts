import { Code, isOutcomeUnknown } from '../api/errors.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import {
  type AuditEvent,
  assignNewId,
  eventRow,
  insertEvents,
  insertUnstoredEvents,
  type NewAuditEventRow,
} from '../storage/changes/audit-events.ts'
import { createServerBound } from '../storage/changes/server-bound.ts'
import { createServerQueues, type Unwritten } from '../storage/changes/server-queues.ts'
import { type Db, inTransaction } from '../storage/db.ts'
import { existingOrganizations } from '../storage/organizations.ts'

/**
 * Records denials and exchanges, which have no transaction of a change. They must neither delay the caller nor let callers fill the disk:
 * events wait in memory for a second, equal denials become one, and their number is bounded. A crash loses the waiting events. Those of a
 * server of a distributed database that does not respond wait, and are lost if the node stops. Changes are recorded in their own transactions.
 */
export interface AuditRecorder {
  recordDenial(event: AuditEvent, denial: Denial): void
  recordExchange(event: AuditEvent, token: ForeignToken): void
  /** Writes the waiting events, and stops. */
  stop(): Promise<void>
}

export interface Denial {
  /** RPC code. */
  readonly code: number
  readonly reason: string
  readonly token?: ForeignToken | undefined
}

/** Claims of a workload's verified token. */
export interface ForeignToken {
  readonly issuer: string
  readonly subject: string
}

export interface RecorderOptions {
  readonly db: Db
  readonly onError: (error: unknown) => void
  /** Receive the number of events that were written, or dropped. */
  readonly onWritten: (events: number) => void
  readonly onDropped: (events: number) => void
}

const FLUSH_INTERVAL_MS = 1000
/** Events of one transaction: its statements delay other requests by about a millisecond. */
const BATCH_ROWS = 96
const ATTEMPTS_MAX = 5

export function createAuditRecorder({ db, onError, onWritten, onDropped }: RecorderOptions): AuditRecorder {
  /** Denials that wait, by what makes them equal. */
  const denials = new Map<string, NewAuditEventRow>()
  const openDenials = new Map<NewAuditEventRow, OpenDenial>()
  const denialBound = createServerBound(limits.auditDenialsMax)
  const perRoot = new Map<string, number>()
  const perActor = new Map<string, number>()

  /** Equal denials that follow are other events. */
  const closeDenial = (row: NewAuditEventRow) => {
    const open = openDenials.get(row)
    if (open === undefined) return
    openDenials.delete(row)
    denials.delete(open.key)
    denialBound.release(open.server)
    countDown(perRoot, row.root)
    countDown(perActor, row.actor)
  }

  /** Events of transactions whose outcome is unknown. They keep their ids, so that a retry finds those that are stored. */
  const maybeStored = new WeakSet<NewAuditEventRow>()

  const insert = async (batch: readonly NewAuditEventRow[], attempts = ATTEMPTS_MAX): Promise<void> => {
    const repeated = batch.filter((row) => maybeStored.has(row))
    const others = batch.filter((row) => !maybeStored.has(row))
    try {
      await inTransaction(db, async (tx) => {
        await insertUnstoredEvents(db, tx, repeated)
        await insertEvents(tx, db.engine, others)
      })
    } catch (error) {
      if (isOutcomeUnknown(error)) for (const row of batch) maybeStored.add(row)
      // Ids of two processes can collide.
      if (attempts === 1 || !db.rules.isUniqueViolation(error)) throw error
      for (const row of others) assignNewId(row)
      await insert(batch, attempts - 1)
    }
  }
  /** Writes rows of one server. Drops those that can never be written. */
  const write = async (batch: readonly NewAuditEventRow[]): Promise<Unwritten<NewAuditEventRow>> => {
    let here = batch
    let elsewhere: readonly NewAuditEventRow[] = []
    try {
      const attributed = await attributeToExisting(db, batch, maybeStored)
      const isHere = (row: NewAuditEventRow, at: number) =>
        row === batch[at] || db.serverOf(row.root) === db.serverOf(batch[at]?.root ?? '')
      here = attributed.filter(isHere)
      elsewhere = attributed.filter((row, at) => !isHere(row, at))
      if (here.length > 0) await insert(here)
      onWritten(here.length)
      return { rows: elsewhere, hasFailed: false }
    } catch (error) {
      if (!db.rules.isUnstorable(error)) {
        onError(error)
        return { rows: [...here, ...elsewhere], hasFailed: true }
      }
      if (here.length > 1) {
        // One row causes it: halving the batch isolates it, so that the others are written.
        const middle = Math.ceil(here.length / 2)
        const first = await write(here.slice(0, middle))
        const rest = here.slice(middle)
        const second = first.hasFailed ? { rows: rest, hasFailed: true } : await write(rest)
        return { rows: [...first.rows, ...second.rows, ...elsewhere], hasFailed: second.hasFailed }
      }
      onError(error)
      onDropped(1)
      return { rows: elsewhere, hasFailed: false }
    }
  }
  const queues = createServerQueues<NewAuditEventRow>({
    db,
    max: limits.auditExchangesMax,
    intervalMs: FLUSH_INTERVAL_MS,
    batch: BATCH_ROWS,
    rootOf: ({ root }) => root,
    write(batch) {
      for (const row of batch) closeDenial(row)
      return write(batch)
    },
    onDropped,
  })

  return {
    recordExchange(event, token) {
      if (!queues.add(rowOf(event, { code: Code.OK, reason: '', token }))) onDropped(1)
    },
    recordDenial(event, denial) {
      const row = rowOf(event, denial)
      const { actor, method, parent, address, code, reason, issuer, subject } = row
      const key = JSON.stringify([actor, method, parent, address, code, reason, issuer, subject])
      const known = denials.get(key)
      if (known !== undefined) {
        known.n++
        return
      }
      const about = perRoot.get(row.root) ?? 0
      const by = perActor.get(actor) ?? 0
      if (about >= limits.auditDenialsPerOrganizationMax || by >= limits.auditDenialsPerActorMax) {
        onDropped(1)
        return
      }
      const server = db.serverOf(row.root)
      if (!denialBound.take(server)) {
        onDropped(1)
        return
      }
      denials.set(key, row)
      openDenials.set(row, { key, server })
      perRoot.set(row.root, about + 1)
      perActor.set(actor, by + 1)
      if (queues.add(row)) return
      closeDenial(row)
      onDropped(1)
    },
    stop: () => queues.stop(),
  }
}

/** A denial that equal ones are counted with. */
interface OpenDenial {
  readonly key: string
  readonly server: number | undefined
}

function countDown(counts: Map<string, number>, key: string): void {
  const left = (counts.get(key) ?? 0) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}

/**
 * Attributes denials about uids of unknown organizations to the actor: no one could read them otherwise. Those that may be stored stay as
 * they are.
 */
async function attributeToExisting(
  db: Db,
  batch: readonly NewAuditEventRow[],
  maybeStored: WeakSet<NewAuditEventRow>,
): Promise<readonly NewAuditEventRow[]> {
  const isOpen = (row: NewAuditEventRow) => isForeignOrganization(row) && !maybeStored.has(row)
  const open = batch.filter(isOpen)
  if (open.length === 0) return batch
  const existing = await existingOrganizations(db, [...new Set(open.map(({ root }) => root))])
  return batch.map((row) => (isOpen(row) && !existing.has(row.root) ? attributeToActor(row) : row))
}

function isForeignOrganization({ code, root, actor }: NewAuditEventRow): boolean {
  return code !== Code.OK && root !== rootOf(actor)
}

function attributeToActor(row: NewAuditEventRow): NewAuditEventRow {
  return { ...row, root: rootOf(row.actor), parent: row.actor }
}

function rowOf(event: AuditEvent, { code, reason, token }: Denial): NewAuditEventRow {
  const row = eventRow(event)
  return {
    ...row,
    code,
    reason: printable(reason),
    request_id: printable(row.request_id),
    address: printable(row.address),
    issuer: printable(token?.issuer ?? ''),
    subject: printable(token?.subject ?? ''),
  }
}

/** Removes control characters: untrusted text must not control a terminal, and PostgreSQL stores no NUL. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '')
}
