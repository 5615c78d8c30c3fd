import { type Hash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, Code } from '../../../api/errors.ts'
import { isStorageFull } from '../../../api/storage-faults.ts'
import { rootOf, type Uid } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { requireUnchangedRights } from '../../../storage/changes/mutation.ts'
import { type Db, inTransaction, type Tx } from '../../../storage/db.ts'
import type { UploadRow } from '../../../storage/schema/tables.ts'
import { runInTransaction, sqlText } from '../../../storage/sql-text.ts'
import { MissingBytes, type Upload } from '../../blobs/blob-store.ts'
import { commitUpload, linkBlob } from '../../blobs/stored-blobs.ts'
import {
  DEFAULT_ALGORITHM,
  type Digest,
  newHash,
  parseDigest,
  requireDigest,
} from '../../manifests/digests.ts'
import { declaredLength, readUploadQuota, type UploadQuota } from '../../quota/upload-quota.ts'
import { type OciContext, type OciServices, requireRepo } from '../context.ts'
import { ociError } from '../errors.ts'
import { getOrCreateRepo, lockRepoForShare } from '../push-repo.ts'

/**
 * Pushes blobs: in one request, or as an upload that its identity can continue after a closed connection or an expired token. Only one
 * request at a time writes an upload.
 */

/** Unfinished uploads need no durability: after a power loss the client starts another one. */
const UNFINISHED = { mayBeLost: true }

export function startUpload(registry: OciServices, context: OciContext): Promise<HttpReply> {
  const digest = context.query.get('digest')
  return digest === null
    ? createUpload(registry, context)
    : pushMonolithic(registry, context, parseDigest(digest))
}

async function createUpload(registry: OciServices, context: OciContext): Promise<HttpReply> {
  const { db, clock } = registry.store
  const repo = await getOrCreateRepo(registry, context)
  const id = newId()
  const now = clock()
  const row: UploadRow = {
    root: rootOf(repo),
    repo,
    id,
    identity: context.access.caller.identity,
    size: 0,
    state: '',
    writer: '',
    lease_ms: 0,
    created_ms: now,
    expires_ms: now + limits.uploadIdleMsMax,
  }
  await inTransaction(
    db,
    async (tx) => {
      await lockRepoForShare(db, tx, repo, context.repoRef)
      await tx.insertInto('uploads').values(row).execute()
    },
    UNFINISHED,
  )
  registry.hashes.put(id, 0, newHash(DEFAULT_ALGORITHM))
  return { ...progressReply(202, context, row), body: undefined }
}

/** Pushes a complete blob with the request that starts it. */
async function pushMonolithic(
  registry: OciServices,
  context: OciContext,
  digest: Digest,
): Promise<HttpReply> {
  const { store, blobs } = registry
  const quota = await readUploadQuota(registry, context, digest.text)
  quota.requireBytes(declaredLength(context))
  const repo = await getOrCreateRepo(registry, context)
  let upload: Upload = { id: newId(), size: 0, state: '' }
  const hash = newHash(digest.algorithm)
  try {
    upload = await blobs.append(upload, hashBytes(quota.limitBytes(context.request.stream(), 0), hash), {
      isLast: true,
    })
    requireLength(context, upload.size)
    requireDigest(digest, `${digest.algorithm}:${hash.digest('hex')}`)
    await commitUpload(registry, upload, digest, async (tx, blob) => {
      await lockRepoForShare(store.db, tx, repo, context.repoRef)
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireUnchangedRights(store, tx, { ...context.access, judgedMs: context.authorizedMs })
    })
  } catch (error) {
    await blobs.discard(upload)
    throw error
  }
  return blobCreatedReply(context, digest)
}

/** PATCH: appends a chunk. */
export async function continueUpload(
  registry: OciServices,
  context: OciContext,
  id: string,
): Promise<HttpReply> {
  const current = await waitForWriter(registry, context, id)
  const refused = checkChunkStart(context, current)
  if (refused !== undefined) return refused
  const quota = await readUploadQuota(registry, context)
  const claim = await claimUpload(registry, current)
  try {
    const { upload, confirmed } = await writeUpload(registry, context, claim, { quota })
    return progressReply(202, context, { ...upload, size: confirmed })
  } finally {
    claim.stopRenewal()
  }
}

/** PUT: appends the rest of the blob, if any, and checks its digest. */
export async function finishUpload(
  registry: OciServices,
  context: OciContext,
  id: string,
): Promise<HttpReply> {
  const digest = parseDigest(context.query.get('digest'))
  const current = await waitForWriter(registry, context, id)
  const refused = checkChunkStart(context, current)
  if (refused !== undefined) return refused
  const quota = await readUploadQuota(registry, context, digest.text)
  const claim = await claimUpload(registry, current)
  try {
    return await commitClaim(registry, context, claim, { digest, quota })
  } finally {
    claim.stopRenewal()
  }
}

async function commitClaim(
  registry: OciServices,
  context: OciContext,
  claim: UploadClaim,
  { digest, quota }: { readonly digest: Digest; readonly quota: UploadQuota },
): Promise<HttpReply> {
  const { store, blobs } = registry
  const { upload: written } = await writeUpload(registry, context, claim, { quota, keepClaim: true })
  const { row } = claim
  const { id } = row
  const repo = row.repo as Uid
  const hash = registry.hashes.take(id, written.size)
  const deleteRow = (tx: Tx) => deleteUpload(tx, written)
  const discardUpload = async () => {
    if (await inTransaction(store.db, deleteRow)) await blobs.discard(written)
  }
  try {
    const actual = await digestOfUpload(registry, written, digest, hash)
    // These bytes will never match the digest.
    if (actual !== digest.text) await discardUpload()
    requireDigest(digest, actual)
    quota.requireBytes(written.size)
    await commitUpload(registry, written, digest, async (tx, blob) => {
      await lockRepoForShare(store.db, tx, repo, context.repoRef)
      if (!(await deleteRow(tx))) throw uploadBusyError()
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireUnchangedRights(store, tx, { ...context.access, judgedMs: context.authorizedMs })
    })
  } catch (error) {
    if (error instanceof ApiError && error.code === Code.RESOURCE_EXHAUSTED && !isStorageFull(error)) {
      // The quota is exceeded, or concurrent uploads have used it up.
      await discardUpload()
      throw error
    }
    // Another request may finish the upload if it still exists.
    const expiresMs = store.clock() + limits.uploadIdleMsMax
    const released = { expiresMs, writer: '', confirmed: written.size }
    if ((await releaseUpload(store.db, written, released)) && hash !== undefined)
      registry.hashes.put(id, written.size, hash)
    throw toUploadError(error)
  }
  return blobCreatedReply(context, digest)
}

/** GET: returns how many bytes are stored. */
export async function uploadStatus(
  registry: OciServices,
  context: OciContext,
  id: string,
): Promise<HttpReply> {
  const row = await readUpload(registry, context, id)
  return progressReply(204, context, row.writer === '' ? row : await registry.blobs.readProgress(row))
}

/** DELETE: cancels the upload. */
export async function cancelUpload(
  registry: OciServices,
  context: OciContext,
  id: string,
): Promise<HttpReply> {
  const row = await readUpload(registry, context, id)
  if (!(await inTransaction(registry.store.db, (tx) => deleteUpload(tx, row)))) throw uploadBusyError()
  registry.hashes.take(id, row.size)
  await registry.blobs.discard(row)
  return { status: 204, headers: {}, body: undefined }
}

function newId(): string {
  return randomBytes(16).toString('hex')
}

/** Returns an upload of the caller's identity; other identities get BLOB_UPLOAD_UNKNOWN. */
async function readUpload(
  { store }: OciServices,
  { repoRef, access }: OciContext,
  id: string,
): Promise<UploadRow> {
  const { db, clock } = store
  const repo = requireRepo(repoRef)
  const row = await db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || row.identity !== access.caller.identity || Number(row.expires_ms) <= clock())
    throw uploadUnknownError()
  return { ...row, size: Number(row.size), lease_ms: Number(row.lease_ms) }
}

function uploadUnknownError() {
  return ociError('BLOB_UPLOAD_UNKNOWN', 'upload not found: start a new one')
}

/** Maps an upload that the store discarded as abandoned: retrying does not help. */
function toUploadError(error: unknown): unknown {
  return error instanceof MissingBytes ? uploadUnknownError() : error
}

/** An upload without a writer. */
interface IdleUpload {
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
async function waitForWriter(registry: OciServices, context: OciContext, id: string): Promise<IdleUpload> {
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

/**
 * Returns 416 for a chunk that does not start where the upload ends. A chunk that starts between the confirmed bytes and the end repeats
 * bytes of an interrupted request.
 */
function checkChunkStart(context: OciContext, { stored, confirmed }: IdleUpload): HttpReply | undefined {
  const chunk = parseChunkRange(context)
  if (chunk === undefined || (chunk.start >= confirmed && chunk.start <= stored.size)) return undefined
  return progressReply(416, context, stored)
}

/** Returns the range of a chunk, if declared. Throws BLOB_UPLOAD_INVALID for a malformed range. */
function parseChunkRange({
  request,
}: OciContext): { readonly start: number; readonly length: number } | undefined {
  const range = request.headers['content-range']
  if (range === undefined) return undefined
  const [, from, to] = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/\S*)?$/.exec(range) ?? []
  if (from === undefined || Number(to) < Number(from))
    throw ociError('BLOB_UPLOAD_INVALID', 'Content-Range must be <first byte>-<last byte>')
  return { start: Number(from), length: Number(to) - Number(from) + 1 }
}

/** Returns the location of an upload and its progress. */
function progressReply(
  status: number,
  { repoRef }: OciContext,
  { id, size }: Pick<UploadRow, 'id' | 'size'>,
): HttpReply {
  return {
    status,
    headers: {
      location: `/v2/${repoRef.name.text}/blobs/uploads/${id}`,
      range: `0-${Math.max(0, size - 1)}`,
      'docker-upload-uuid': id,
    },
    body: undefined,
  }
}

function blobCreatedReply({ repoRef }: OciContext, { text }: Digest): HttpReply {
  const location = `/v2/${repoRef.name.text}/blobs/${text}`
  return { status: 201, headers: { location, 'docker-content-digest': text }, body: undefined }
}

/** An upload that this request has claimed for writing. */
interface UploadClaim extends IdleUpload {
  readonly writer: string
  /** Whether another request wrote it before and may not know that it lost its claim. */
  readonly isTakenOver: boolean
  /** Passes on the client's bytes while the claim is valid. The lease expires if the client sends nothing. */
  guardBytes(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Stops renewing the lease. */
  stopRenewal(): void
}

/** @throws BLOB_UPLOAD_INVALID (409) if another request claimed it first */
async function claimUpload(registry: OciServices, { row, confirmed }: IdleUpload): Promise<UploadClaim> {
  const { store, blobs } = registry
  const writer = newId()
  await acquireClaim(registry, row, writer)
  let [isWaiting, isLost, leasedMs, hasReceivedBytes] = [false, false, performance.now(), false]
  const renew = async () => {
    const nowMs = performance.now()
    const changed = { lease_ms: store.clock() + limits.uploadLeaseMs }
    if (await updateUpload(store.db, { ...row, writer }, changed)) leasedMs = nowMs
    else isLost = true
  }
  const timer = setInterval(() => {
    const isAlive = !isWaiting || hasReceivedBytes
    hasReceivedBytes = false
    // If this fails, the lease expires; it is checked before the next bytes are accepted.
    if (isAlive && !isLost) renew().catch(() => undefined)
  }, limits.uploadLeaseMs / 3)
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
            if (performance.now() - leasedMs > limits.uploadLeaseMs) await renew()
            if (isLost) throw uploadBusyError()
            yield next.value
          }
        } finally {
          isWaiting = false
          await iterator.return?.()
        }
      },
      stopRenewal: () => clearInterval(timer),
    }
  } catch (error) {
    clearInterval(timer)
    throw error
  }
}

/**
 * Appends the body of a request to a claimed upload. Bytes that arrived before a connection broke are kept.
 * `holdOn`: keep the claim, to finish the upload. `confirmed`: where the client's bytes end.
 */
async function writeUpload(
  registry: OciServices,
  context: OciContext,
  claim: UploadClaim,
  { quota, keepClaim = false }: { readonly quota: UploadQuota; readonly keepClaim?: boolean },
): Promise<{ readonly upload: UploadRow; readonly confirmed: number }> {
  const { store, blobs, hashes } = registry
  const { row, stored, writer, isTakenOver } = claim
  const start = parseChunkRange(context)?.start ?? stored.size
  const received = { bytes: 0 }
  const fresh = skipBytes(countBytes(context.request.stream(), received), stored.size - start)
  const hash = hashes.take(row.id, stored.size)
  const body = captureFailure(quota.limitBytes(claim.guardBytes(fresh), stored.size))
  let failure: unknown
  let end: Upload = stored
  try {
    quota.requireBytes(start + declaredLength(context))
    const bytes = hash === undefined ? body.bytes : hashBytes(body.bytes, hash)
    end = await blobs.append(stored, bytes, { isTakenOver })
    failure = body.failure()
    if (failure === undefined) requireLength(context, received.bytes)
  } catch (error) {
    failure = error
    end = stored
  }
  const upload = { ...row, size: end.size, state: end.state, writer }
  const confirmed = start + received.bytes
  const isClaimKept = keepClaim && failure === undefined
  // The request that finishes an upload rarely has a body.
  if (isClaimKept && end.size === row.size) return storeHash()
  const isSaved = await releaseUpload(store.db, upload, {
    expiresMs: store.clock() + limits.uploadIdleMsMax,
    writer: isClaimKept ? writer : '',
    confirmed: failure === undefined ? confirmed : claim.confirmed,
  })
  if (isSaved && failure instanceof MissingBytes)
    await inTransaction(store.db, (tx) => deleteUpload(tx, { ...upload, writer: '' }))
  if (failure !== undefined) throw toUploadError(failure)
  if (!isSaved) throw uploadBusyError()
  return storeHash()

  function storeHash() {
    if (hash !== undefined) hashes.put(row.id, end.size, hash)
    return { upload, confirmed }
  }
}

async function* countBytes(
  bytes: AsyncIterable<Uint8Array>,
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    count.bytes += chunk.length
    yield chunk
  }
}

/** Skips bytes that are already stored; the digest of the whole shows whether they were the same. */
async function* skipBytes(bytes: AsyncIterable<Uint8Array>, skip: number): AsyncGenerator<Uint8Array> {
  let left = skip
  for await (const chunk of bytes) {
    const rest = chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
    if (rest.length > 0) yield rest
  }
}

/** Throws BLOB_UPLOAD_INVALID if a request other than the writer in the row, or that one still, writes the upload. */
async function acquireClaim({ store }: OciServices, row: UploadRow, writer: string): Promise<void> {
  const { db, clock } = store
  const now = clock()
  const sql = sqlText(db.engine)
  const text = `update uploads set writer = ${sql.bind(writer)}, lease_ms = ${sql.bind(now + limits.uploadLeaseMs)}
    where root = ${sql.bind(row.root)} and repo = ${sql.bind(row.repo)} and id = ${sql.bind(row.id)}
      and size = ${sql.bind(row.size)}
      and (writer = '' or (writer = ${sql.bind(row.writer)} and lease_ms <= ${sql.bind(now)})) returning id`
  const claimed = await inTransaction(db, (tx) => runInTransaction(tx, text, sql), UNFINISHED)
  if (claimed.length === 0) throw uploadBusyError()
}

function uploadBusyError(): ApiError {
  return ociError('BLOB_UPLOAD_INVALID', 'another request is writing this upload: get its status and retry', {
    status: 409,
  })
}

/** Stores the progress of a request and releases its claim, if it still has it. */
function releaseUpload(
  db: Db,
  upload: UploadRow,
  next: { readonly expiresMs: number; readonly writer: string; readonly confirmed: number },
): Promise<boolean> {
  const { size, state } = upload
  const row = { size, state, writer: next.writer, expires_ms: next.expiresMs }
  return updateUpload(db, upload, next.writer === '' ? { ...row, lease_ms: next.confirmed } : row)
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
async function deleteUpload(tx: Tx, { root, repo, id, writer }: UploadRow): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('uploads')
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('id', '=', id)
    .where('writer', '=', writer)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

/** Ends the stream when it fails, and remembers the error: the bytes that arrived before are kept. */
function captureFailure(bytes: AsyncIterable<Uint8Array>): {
  readonly bytes: AsyncIterable<Uint8Array>
  failure(): unknown
} {
  let failure: unknown
  async function* read() {
    try {
      yield* bytes
    } catch (error) {
      failure = error
    }
  }
  return { bytes: read(), failure: () => failure }
}

async function* hashBytes(bytes: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
}

/** Throws SIZE_INVALID if the request had more or fewer bytes than declared. */
function requireLength(context: OciContext, bytes: number): void {
  for (const declared of [context.request.headers['content-length'], parseChunkRange(context)?.length])
    if (declared !== undefined && Number(declared) !== bytes)
      throw ociError('SIZE_INVALID', `received ${bytes} bytes instead of ${declared}`)
}

/** Returns the digest from the hash state of the upload, or else from its bytes. */
async function digestOfUpload(
  { blobs }: OciServices,
  upload: Upload,
  { algorithm }: Digest,
  known: Hash | undefined,
): Promise<string> {
  if (algorithm === DEFAULT_ALGORITHM && known !== undefined)
    return `${algorithm}:${known.copy().digest('hex')}`
  const hash = newHash(algorithm)
  for await (const chunk of blobs.readUpload(upload)) hash.update(chunk)
  return `${algorithm}:${hash.digest('hex')}`
}
