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
 * Pushing a blob: in one request, or as an upload that its identity goes on with as often as it likes, after a connection or a token
 * has ended too. One request at a time writes an upload.
 */

/** What is known of an upload that is not finished: after a power loss its client begins another one. */
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
    identity: context.authorization.caller.identity,
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
      await lockRepoForShare(db, tx, repo, context.authorization.repository)
      await tx.insertInto('uploads').values(row).execute()
    },
    UNFINISHED,
  )
  registry.hashes.put(id, 0, newHash(DEFAULT_ALGORITHM))
  return { ...progressReply(202, context, row), body: undefined }
}

/** The whole blob with the request that begins it. */
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
      await lockRepoForShare(store.db, tx, repo, context.authorization.repository)
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireUnchangedRights(store, tx, { ...context.authorization, judgedMs: context.authorizedMs })
    })
  } catch (error) {
    await blobs.discard(upload)
    throw error
  }
  return blobCreatedReply(context, digest)
}

/** PATCH: more of the blob. */
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

/** PUT: the rest of the blob, if there is any, and what it was meant to be. */
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
    // These bytes will never be what they were meant to be.
    if (actual !== digest.text) await discardUpload()
    requireDigest(digest, actual)
    quota.requireBytes(written.size)
    await commitUpload(registry, written, digest, async (tx, blob) => {
      await lockRepoForShare(store.db, tx, repo, context.authorization.repository)
      if (!(await deleteRow(tx))) throw uploadBusyError()
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireUnchangedRights(store, tx, { ...context.authorization, judgedMs: context.authorizedMs })
    })
  } catch (error) {
    if (error instanceof ApiError && error.code === Code.RESOURCE_EXHAUSTED && !isStorageFull(error)) {
      // Too many, or others have filled the room meanwhile.
      await discardUpload()
      throw error
    }
    // Another request may finish it, where there is still something to finish.
    const expiresMs = store.clock() + limits.uploadIdleMsMax
    const released = { expiresMs, writer: '', confirmed: written.size }
    if ((await releaseUpload(store.db, written, released)) && hash !== undefined)
      registry.hashes.put(id, written.size, hash)
    throw toUploadError(error)
  }
  return blobCreatedReply(context, digest)
}

/** GET: how much of it is there. */
export async function uploadStatus(
  registry: OciServices,
  context: OciContext,
  id: string,
): Promise<HttpReply> {
  const row = await readUpload(registry, context, id)
  return progressReply(204, context, row.writer === '' ? row : await registry.blobs.readProgress(row))
}

/** DELETE. */
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

/** An upload as its own identity sees it; for everybody else there is none. */
async function readUpload(
  { store }: OciServices,
  { authorization: { caller, repository } }: OciContext,
  id: string,
): Promise<UploadRow> {
  const { db, clock } = store
  const repo = requireRepo(repository)
  const row = await db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || row.identity !== caller.identity || Number(row.expires_ms) <= clock())
    throw uploadUnknownError()
  return { ...row, size: Number(row.size), lease_ms: Number(row.lease_ms) }
}

function uploadUnknownError() {
  return ociError('BLOB_UPLOAD_UNKNOWN', 'there is no such upload; begin another one')
}

/** A store may have given up what nobody went on with for long; no further attempt brings that back. */
function toUploadError(error: unknown): unknown {
  return error instanceof MissingBytes ? uploadUnknownError() : error
}

/** An upload that no other request writes. */
interface IdleUpload {
  readonly row: UploadRow
  /** With what is stored of it, which may be more than the row knows after a writer died. */
  readonly stored: Upload
  /** Bytes that a response has confirmed. The client of a request that was cut off knows of any number up to `stored.size`. */
  readonly confirmed: number
}

/**
 * Waits for the request that writes an upload: its connection may be gone, and what it has received is about to be stored.
 * @throws BLOB_UPLOAD_INVALID (409) if that still goes on after `uploadLockWaitMsMax`
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
 * 416 for a chunk that does not begin where the upload ends. One that begins between what was confirmed and the end repeats bytes that a
 * request brought which was cut off.
 */
function checkChunkStart(context: OciContext, { stored, confirmed }: IdleUpload): HttpReply | undefined {
  const chunk = parseChunkRange(context)
  if (chunk === undefined || (chunk.start >= confirmed && chunk.start <= stored.size)) return undefined
  return progressReply(416, context, stored)
}

/** Where a chunk lies in its upload, if it says so. Throws BLOB_UPLOAD_INVALID for what is no range. */
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

/** Where an upload is, and how far. */
function progressReply(
  status: number,
  { authorization: { repository } }: OciContext,
  { id, size }: Pick<UploadRow, 'id' | 'size'>,
): HttpReply {
  return {
    status,
    headers: {
      location: `/v2/${repository.name.text}/blobs/uploads/${id}`,
      range: `0-${Math.max(0, size - 1)}`,
      'docker-upload-uuid': id,
    },
    body: undefined,
  }
}

function blobCreatedReply({ authorization: { repository } }: OciContext, { text }: Digest): HttpReply {
  const location = `/v2/${repository.name.text}/blobs/${text}`
  return { status: 201, headers: { location, 'docker-content-digest': text }, body: undefined }
}

/** An upload that a request writes. */
interface UploadClaim extends IdleUpload {
  readonly writer: string
  /** Whether another request wrote it before and may not know that it lost it. */
  readonly isTakenOver: boolean
  /** Bytes of the client, as long as the upload is this request's. A client that sends nothing lets its lease expire. */
  guardBytes(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Stops renewing the lease. */
  stopRenewal(): void
}

/** @throws BLOB_UPLOAD_INVALID (409) if another request was faster */
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
    // Where this fails the lease expires, and is asked for before the next bytes are taken.
    if (isAlive && !isLost) renew().catch(() => undefined)
  }, limits.uploadLeaseMs / 3)
  const isTakenOver = row.writer !== ''
  try {
    return {
      row,
      // Anew: its writer may have lived until now.
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
 * Adds the body of a request to an upload, which is this request's alone meanwhile. What came before a connection broke is kept.
 * `holdOn`: it stays this request's, which is going to finish it. `confirmed`: where the client's bytes end.
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
  // The request that finishes an upload seldom brings more of it.
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

/** The bytes behind the first `skip`: those are stored, and the digest of the whole shows whether they are the same. */
async function* skipBytes(bytes: AsyncIterable<Uint8Array>, skip: number): AsyncGenerator<Uint8Array> {
  let left = skip
  for await (const chunk of bytes) {
    const rest = chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
    if (rest.length > 0) yield rest
  }
}

/** Throws BLOB_UPLOAD_INVALID while another request than the one that the row tells of, or that one, writes the upload. */
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
  return ociError(
    'BLOB_UPLOAD_INVALID',
    'another request writes this upload; ask for its status and try again',
    {
      status: 409,
    },
  )
}

/** What a request has written, if the upload is still its own. */
function releaseUpload(
  db: Db,
  upload: UploadRow,
  next: { readonly expiresMs: number; readonly writer: string; readonly confirmed: number },
): Promise<boolean> {
  const { size, state } = upload
  const row = { size, state, writer: next.writer, expires_ms: next.expiresMs }
  return updateUpload(db, upload, next.writer === '' ? { ...row, lease_ms: next.confirmed } : row)
}

/** False when the upload is gone, or another request's. */
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

/** False when it is gone, or another request's. */
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

/** Bytes that end where they fail, and why they did: what came before is worth keeping. */
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

/** Throws SIZE_INVALID where a request brought another number of bytes than it said. */
function requireLength(context: OciContext, bytes: number): void {
  for (const declared of [context.request.headers['content-length'], parseChunkRange(context)?.length])
    if (declared !== undefined && Number(declared) !== bytes)
      throw ociError('SIZE_INVALID', `${bytes} bytes came, of ${declared}`)
}

/** From the hash that went along with the upload, or from its bytes. */
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
