import { Code } from '../api/errors.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { type AuditEvent, eventRow, insertEvents } from '../storage/changes/audit-events.ts'
import { inTransaction, type Tx } from '../storage/db.ts'
import type { JobLease, JobOutcome } from '../storage/jobs/job-leases.ts'
import { type JobScheduler, startJobScheduler } from '../storage/jobs/job-scheduler.ts'
import type { MailRow } from '../storage/schema/tables.ts'
import type { Store } from '../storage/store.ts'
import { type MailData, type MailKind, mailJob, openMail } from './outbox.ts'
import { MailError, type Message, type Smtp } from './smtp.ts'

/**
 * Sends queued email, each on the node that leases it first. A temporary failure is retried with growing waits until the email expires. If a
 * node stops between the response of the mail server and its own commit, the email is sent twice.
 */

/** Composes the message of each kind; undefined if there is no reason to send it any more. */
export type MailComposers = {
  readonly [K in MailKind]: (uid: string, data: MailData[K]) => Promise<ComposedMail | undefined>
}

export interface ComposedMail {
  readonly message: Message
  /** Event of the audit log when it is sent or given up: the method, the identity or the resource, and the request. Undefined: no event. */
  readonly audit?: Pick<AuditEvent, 'method' | 'uid'> & Partial<Pick<AuditEvent, 'requestId' | 'address'>>
}

export type MailResult = 'sent' | 'retried' | 'failed' | 'dropped'

export interface MailDeliveryOptions {
  readonly store: Store
  readonly smtp: Smtp
  readonly composers: MailComposers
  readonly pollMs?: number | undefined
  readonly tracer?: Tracer | undefined
  /** Receives the result of each attempt; `problem` without secrets. */
  readonly onResult: (result: {
    readonly kind: string
    readonly uid: string
    readonly result: MailResult
    readonly problem: string
  }) => void
  readonly onError: (error: unknown, uid?: string) => void
}

export function startMailDelivery({
  store,
  smtp,
  composers,
  pollMs = limits.mailPollMs,
  tracer,
  onResult,
  onError,
}: MailDeliveryOptions): JobScheduler {
  const { db, clock } = store

  const end = (row: MailRow, composed: ComposedMail | undefined, result: MailResult, problem = '') => {
    // An email that is not about a resource is no longer needed.
    const isRecorded = row.kind === 'invite' && result !== 'dropped'
    return {
      async write(tx: Tx) {
        if (isRecorded) await updateMail(tx, row, { state: result, problem, data: new Uint8Array() })
        else await tx.deleteFrom('mails').where('root', '=', row.root).where('uid', '=', row.uid).execute()
        if (composed?.audit === undefined) return
        const event: AuditEvent = {
          requestId: '',
          address: '',
          ...composed.audit,
          timeMs: clock(),
          actor: 'system',
        }
        const failure = problem === '' ? {} : { code: Code.UNAVAILABLE, reason: problem }
        await insertEvents(tx, db.engine, [{ ...eventRow(event), ...failure }])
      },
      afterRelease: () => onResult({ kind: row.kind, uid: row.uid, result, problem }),
    }
  }

  const attempt = async (lease: JobLease): Promise<JobOutcome> => {
    const row = await readMail(store, lease)
    if (row === undefined) return {}
    const mail = openMail(store, row, Object.keys(composers))
    if (mail === undefined) return end(row, undefined, 'failed', 'it cannot be read')
    if (row.expires_ms <= clock()) return end(row, undefined, 'failed', row.problem || 'it expired')
    const compose = composers[mail.kind] as (
      uid: string,
      data: MailData[MailKind],
    ) => Promise<ComposedMail | undefined>
    const composed = await compose(mail.uid, mail.data)
    if (composed === undefined) return end(row, undefined, 'dropped')
    const attempts = row.attempts + 1
    await inTransaction(db, async (tx) => {
      await lease.renew(tx)
      await updateMail(tx, row, { attempts })
    })
    try {
      await smtp.send(composed.message, lease.signal)
      return end(row, composed, 'sent')
    } catch (error) {
      // The next node continues.
      if (lease.signal.aborted) throw error
      if (!(error instanceof MailError)) onError(error, row.uid)
      const problem =
        error instanceof MailError ? error.message : 'internal error; the server log has the details'
      const dueMs = clock() + retryWaitMs(attempts)
      const isLast = (error instanceof MailError && error.isPermanent) || dueMs >= row.expires_ms
      if (isLast) return end(row, composed, 'failed', problem)
      return {
        dueMs,
        failure: problem,
        write: (tx) => updateMail(tx, row, { problem }),
        afterRelease: () => onResult({ kind: row.kind, uid: row.uid, result: 'retried', problem }),
      }
    }
  }

  const updateMail = async (
    tx: Tx,
    { root, uid }: MailRow,
    changed: Partial<Pick<MailRow, 'state' | 'problem' | 'data' | 'attempts'>>,
  ): Promise<void> => {
    await tx
      .updateTable('mails')
      .set({ ...changed, updated_ms: clock() })
      .where('root', '=', root)
      .where('uid', '=', uid)
      .execute()
  }

  return startJobScheduler(
    { db, clock, tracer, onError },
    {
      kind: mailJob,
      span: 'job mail',
      pollMs,
      leaseMs: limits.mailLeaseMs,
      concurrency: limits.mailConcurrencyMax,
      concurrencyPerOrganization: limits.mailConcurrencyPerOrganizationMax,
      run: attempt,
      onFailure(error, { key }, { isInterrupted }) {
        if (isInterrupted) return {}
        onError(error, key)
        return { dueMs: clock() + limits.mailRetryMs }
      },
    },
  )
}

/** Wait before the next attempt. */
function retryWaitMs(attempts: number): number {
  return Math.min(limits.mailRetryMs * 2 ** (attempts - 1), limits.mailRetryMsMax)
}

async function readMail({ db }: Store, { key }: JobLease): Promise<MailRow | undefined> {
  return db.kysely
    .selectFrom('mails')
    .selectAll()
    .where('root', '=', rootOf(key))
    .where('uid', '=', key)
    .executeTakeFirst()
}
