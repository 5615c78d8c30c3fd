import { Code } from '../api/errors.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { runShared } from '../pipeline/request/request-context.ts'
import {
  type AuditEvent,
  eventRow,
  insertEvents,
  type NewAuditEventRow,
  withNewId,
} from '../storage/changes/audit-events.ts'
import { type Db, inTransaction } from '../storage/db.ts'
import { existingOrganizations } from '../storage/organizations.ts'

/**
 * Records denials and exchanges, which have no transaction of a change. They must neither delay the caller nor let callers fill the disk:
 * events wait in memory for a second, equal denials become one, and their number is bounded. A crash loses the waiting events. Changes
 * are recorded in their own transactions.
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
/** This many exchanges are written before the interval ends. */
const EARLY_FLUSH_ROWS = limits.auditExchangesMax / 2
/** Events of one transaction: its statements delay other requests by about a millisecond. */
const BATCH_ROWS = 96
const ATTEMPTS_MAX = 5

export function createAuditRecorder({ db, onError, onWritten, onDropped }: RecorderOptions): AuditRecorder {
  let exchanges: NewAuditEventRow[] = []
  let denials = new Map<string, NewAuditEventRow>()
  let perRoot = new Map<string, number>()
  let perActor = new Map<string, number>()

  const takeQueued = (): NewAuditEventRow[] => {
    const rows = [...exchanges, ...denials.values()]
    exchanges = []
    denials = new Map()
    perRoot = new Map()
    perActor = new Map()
    return rows
  }
  /** Requeues events that could not be written, up to the capacity. */
  const requeue = (rows: readonly NewAuditEventRow[]) => {
    const capacity = Math.max(0, limits.auditExchangesMax - exchanges.length)
    exchanges = [...rows.slice(0, capacity), ...exchanges]
    if (rows.length > capacity) onDropped(rows.length - capacity)
  }

  const insert = async (batch: readonly NewAuditEventRow[], attempts = ATTEMPTS_MAX): Promise<void> => {
    try {
      await inTransaction(db, (tx) => insertEvents(tx, db.engine, batch))
    } catch (error) {
      // The random ids of two events of one identity can collide.
      if (attempts === 1 || !db.rules.isUniqueViolation(error)) throw error
      await insert(batch.map(withNewId), attempts - 1)
    }
  }
  /** Writes a batch; `refused` means that at least one of its rows can never be written. */
  const tryBatch = async (batch: readonly NewAuditEventRow[]): Promise<'written' | 'refused' | 'failed'> => {
    try {
      await insert(await attributeToExisting(db, batch))
      onWritten(batch.length)
      return 'written'
    } catch (error) {
      const refused = db.rules.isUnstorable(error)
      if (!refused || batch.length === 1) onError(error)
      return refused ? 'refused' : 'failed'
    }
  }
  const write = async () => {
    const batches = inBatches(takeQueued(), BATCH_ROWS)
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      const outcome = await tryBatch(batch)
      if (outcome === 'failed') return requeue([batch, ...batches].flat())
      // One row causes it: halving the batch isolates it, so that the others are written.
      if (outcome === 'refused' && batch.length === 1) onDropped(1)
      else if (outcome === 'refused') batches.unshift(...inBatches(batch, Math.ceil(batch.length / 2)))
      // Let other requests run.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  let running: Promise<void> | undefined
  const flush = async () => {
    // Another flush that waited may have started to write.
    while (running !== undefined) await running
    if (exchanges.length === 0 && denials.size === 0) return
    running = runShared(write).finally(() => {
      running = undefined
    })
    await running
  }
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS)
  timer.unref()

  return {
    recordExchange(event, token) {
      if (exchanges.length >= limits.auditExchangesMax) onDropped(1)
      else if (exchanges.push(rowOf(event, { code: Code.OK, reason: '', token })) === EARLY_FLUSH_ROWS)
        void flush()
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
      if (
        denials.size >= limits.auditDenialsMax ||
        about >= limits.auditDenialsPerOrganizationMax ||
        by >= limits.auditDenialsPerActorMax
      ) {
        onDropped(1)
        return
      }
      perRoot.set(row.root, about + 1)
      perActor.set(actor, by + 1)
      denials.set(key, row)
    },
    async stop() {
      clearInterval(timer)
      await flush()
      // Events that arrived during the first flush.
      await flush()
    },
  }
}

/** Attributes denials about uids of unknown organizations to the actor: no one could read them otherwise. */
async function attributeToExisting(
  db: Db,
  batch: readonly NewAuditEventRow[],
): Promise<readonly NewAuditEventRow[]> {
  const foreign = batch.filter(isForeignOrganization)
  if (foreign.length === 0) return batch
  const existing = await existingOrganizations(db, [...new Set(foreign.map(({ root }) => root))])
  return batch.map((row) =>
    isForeignOrganization(row) && !existing.has(row.root) ? attributeToActor(row) : row,
  )
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

function inBatches<T>(rows: readonly T[], size: number): (readonly T[])[] {
  const batches = []
  for (let at = 0; at < rows.length; at += size) batches.push(rows.slice(at, at + size))
  return batches
}
