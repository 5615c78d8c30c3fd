import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ApiError } from '../../../api/errors.ts'
import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import { type Db, inTransaction, type Tx } from '../../../storage/db.ts'
import { prepared, preparedRead } from '../../../storage/prepared.ts'
import type { UploadRow } from '../../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../../storage/sql-text.ts'
import { MissingBytes, type Upload } from '../../blobs/blob-store.ts'
import { type OciContext, type OciServices, requireRepo } from '../context.ts'
import { ociError } from '../errors.ts'

/** Rows of uploads, and the claims by which one request at a time writes an upload. */

/** Unfinished uploads need no durability: after a power loss the client starts another one. */
export const UNFINISHED = { mayBeLost: true }

type UploadKey = Pick<UploadRow, 'root' | 'repo' | 'id'>

const uploadOf = preparedRead((db, { root, repo, id }: UploadKey) =>
  db.selectFrom('uploads').selectAll().where('root', '=', root).where('repo', '=', repo).where('id', '=', id),
)

export const insertUpload = prepared((db, row: UploadRow) => db.insertInto('uploads').values(row))

const deleteWriter = prepared((db, { root, repo, id, writer }: UploadKey & Pick<UploadRow, 'writer'>) =>
  db
    .deleteFrom('uploads')
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('id', '=', id)
    .where('writer', '=', writer)
    .returning('id'),
)

export function newId(): string {
  return randomBytes(16).toString('hex')
}

/** Returns an upload of the caller's identity; other identities get BLOB_UPLOAD_UNKNOWN. */
export async function readUpload(
  { store }: OciServices,
  { authorization: { caller, repository } }: OciContext,
  id: string,
): Promise<UploadRow> {
  const { db, clock } = store
  const repo = requireRepo(repository)
  const [row] = await uploadOf(db, { root: rootOf(repo), repo, id })
  if (row === undefined || row.identity !== caller.identity || Number(row.expires_ms) <= clock())
    throw uploadUnknownError()
  return { ...row, size: Number(row.size), lease_ms: Number(row.lease_ms) }
}

function uploadUnknownError() {
  return ociError('BLOB_UPLOAD_UNKNOWN', 'upload not found: start a new one')
}

/** Maps an upload that the store discarded as abandoned: retrying does not help. */
export function toUploadError(error: unknown): unknown {
  return error instanceof MissingBytes ? uploadUnknownError() : error
}

/** An upload without a writer. */
export interface IdleUpload {
  readonly row: UploadRow
  /** The stored bytes: more than in the row if a writer died. */
  readonly stored: Upload
  /** Bytes that a response has confirmed. After an interrupted request, the client may assume any number up to `stored.size`. */
  readonly confirmed: number
}

/**
 * Waits for the request that writes an upload: its connection may be closed while its bytes are still being stored.
 * @throws BLOB_UPLOAD_INVALID (409) if it still writes after `uploadLockWaitMsMax`
 */
export async function waitForWriter(
  registry: OciServices,
  context: OciContext,
  id: string,
): Promise<IdleUpload> {
  const { clock } = registry.store
  const endMs = clock() + limits.uploadLockWaitMsMax
  for (let waitMs = 10; ; waitMs = Math.min(2 * waitMs, WRITER_POLL_MS_MAX)) {
    const row = await readUpload(registry, context, id)
    if (row.writer === '') return { row, stored: row, confirmed: Math.min(row.lease_ms, row.size) }
    if (row.lease_ms <= clock())
      return { row, stored: { ...row, ...(await registry.blobs.readProgress(row)) }, confirmed: row.size }
    if (clock() >= endMs) throw uploadBusyError()
    await pause(Math.max(1, Math.min(waitMs, endMs - clock(), row.lease_ms - clock())))
  }
}

const WRITER_POLL_MS_MAX = 250

/** An upload that this request has claimed for writing. */
export interface UploadClaim extends IdleUpload {
  readonly writer: string
  /** Whether another request wrote it before and may not know that it lost its claim. */
  readonly isTakenOver: boolean
  /** Passes on the client's bytes while the claim is valid. The lease expires if the client sends nothing. */
  guardBytes(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /**
   * Called after the last byte: leases the upload for the time in which the blob is verified and stored, so that also a node whose
   * clock is ahead waits. Throws as below.
   */
  holdForCommit(): Promise<void>
  /** Renews a lease that may have expired. Throws BLOB_UPLOAD_INVALID (409) if another request claimed the upload. */
  requireHeld(): Promise<void>
  /** Stops renewing the lease. */
  stopRenewal(): void
}

/**
 * `isLast`: the request finishes the upload. Most of these bring few bytes: the lease for the commit from the start saves them a write.
 * @throws BLOB_UPLOAD_INVALID (409) if another request claimed it first
 */
export async function claimUpload(
  registry: OciServices,
  { row, confirmed }: IdleUpload,
  { isLast = false } = {},
): Promise<UploadClaim> {
  const { store, blobs } = registry
  const writer = newId()
  let leaseMs = isLast ? limits.uploadCommitLeaseMs : limits.uploadLeaseMs
  // Before the claim: this process may be suspended while it is stored.
  let leasedMs = store.clock()
  await acquireClaim(registry, row, { writer, leaseMs, nowMs: leasedMs })
  let [isWaiting, isLost, hasReceivedBytes] = [false, false, false]
  let isReceiving = true
  const renew = async () => {
    const nowMs = store.clock()
    const changed = { lease_ms: nowMs + leaseMs }
    if (await updateUpload(store.db, { ...row, writer }, changed)) leasedMs = nowMs
    else isLost = true
  }
  const timer = setInterval(() => {
    const isTooLong = isReceiving && leaseMs > limits.uploadLeaseMs
    if (isTooLong) leaseMs = limits.uploadLeaseMs
    const isAlive = !isWaiting || hasReceivedBytes
    hasReceivedBytes = false
    // If this fails, the lease expires; it is checked before the next bytes are accepted.
    if ((isAlive || isTooLong) && !isLost) renew().catch(() => undefined)
  }, limits.uploadLeaseMs / 3)
  const requireHeld = async () => {
    // By the clock that other requests compare the lease with: it also counts the time in which this machine slept.
    if (store.clock() - leasedMs >= limits.uploadLeaseMs) await renew()
    if (isLost) throw uploadBusyError()
  }
  const isTakenOver = row.writer !== ''
  try {
    return {
      row,
      // Read it again: the previous writer may have written until now.
      stored: isTakenOver ? await blobs.readProgress(row) : row,
      confirmed,
      writer,
      isTakenOver,
      async *guardBytes(source) {
        const iterator = source[Symbol.asyncIterator]()
        try {
          for (;;) {
            isWaiting = true
            const next = await iterator.next()
            isWaiting = false
            if (next.done === true) return
            hasReceivedBytes = true
            await requireHeld()
            yield next.value
          }
        } finally {
          isWaiting = false
          await iterator.return?.()
        }
      },
      async holdForCommit() {
        isReceiving = false
        if (leaseMs < limits.uploadCommitLeaseMs) {
          leaseMs = limits.uploadCommitLeaseMs
          await renew()
        }
        await requireHeld()
      },
      requireHeld,
      stopRenewal: () => clearInterval(timer),
    }
  } catch (error) {
    clearInterval(timer)
    throw error
  }
}

/** Throws BLOB_UPLOAD_INVALID if a request other than the writer in the row, or that one still, writes the upload. */
async function acquireClaim(
  { store }: OciServices,
  row: UploadRow,
  { writer, leaseMs, nowMs }: { readonly writer: string; readonly leaseMs: number; readonly nowMs: number },
): Promise<void> {
  const { db } = store
  const sql = sqlText(db.engine)
  const text = `update uploads set writer = ${sql.bind(writer)}, lease_ms = ${sql.bind(nowMs + leaseMs)}
    where root = ${sql.bind(row.root)} and repo = ${sql.bind(row.repo)} and id = ${sql.bind(row.id)}
      and size = ${sql.bind(row.size)}
      and (writer = '' or (writer = ${sql.bind(row.writer)} and lease_ms <= ${sql.bind(nowMs)})) returning id`
  const claimed = await inTransaction(db, (tx) => runInTransaction(tx, text, sql), UNFINISHED)
  if (claimed.length === 0) throw uploadBusyError()
}

export function uploadBusyError(): ApiError {
  return ociError('BLOB_UPLOAD_INVALID', 'another request is writing this upload: get its status and retry', {
    status: 409,
  })
}

/** Stores the progress of a request and releases its claim, if it still has it. */
export function releaseUpload(
  db: Db,
  upload: UploadRow,
  { expiresMs, confirmed }: { readonly expiresMs: number; readonly confirmed: number },
): Promise<boolean> {
  const { size, state } = upload
  return updateUpload(db, upload, { size, state, writer: '', expires_ms: expiresMs, lease_ms: confirmed })
}

/** Ends the lease of a request that failed to take an upload over, if it still has it. The next request has to take it over. */
export function expireClaim(db: Db, upload: UploadRow, expiresMs: number): Promise<boolean> {
  return updateUpload(db, upload, { expires_ms: expiresMs, lease_ms: 0 })
}

/** Returns false if the upload is deleted or claimed by another request. */
async function updateUpload(
  db: Db,
  { root, repo, id, writer }: UploadRow,
  changed: Partial<UploadRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await inTransaction(
    db,
    (tx) =>
      tx
        .updateTable('uploads')
        .set(changed)
        .where('root', '=', root)
        .where('repo', '=', repo)
        .where('id', '=', id)
        .where('writer', '=', writer)
        .executeTakeFirst(),
    UNFINISHED,
  )
  return numUpdatedRows > 0n
}

/** Returns false if it is deleted or claimed by another request. */
export async function deleteUpload(tx: Tx, { root, repo, id, writer }: UploadRow): Promise<boolean> {
  return (await deleteWriter(tx, { root, repo, id, writer })).length > 0
}
