import type { Hash } from 'node:crypto'
import { ApiError, Code } from '../../../api/errors.ts'
import { isStorageFull } from '../../../api/storage-faults.ts'
import { rootOf, type Uid } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { releaseBytes } from '../../../runtime/release-bytes.ts'
import { requireUnchangedRights } from '../../../storage/changes/mutation.ts'
import { inTransaction, type Tx } from '../../../storage/db.ts'
import type { UploadRow } from '../../../storage/schema/tables.ts'
import { MissingBytes, type Upload } from '../../blobs/blob-store.ts'
import { type BlobTarget, commitUpload, linkBlob } from '../../blobs/stored-blobs.ts'
import {
  DEFAULT_ALGORITHM,
  type Digest,
  newHash,
  parseDigest,
  requireDigest,
} from '../../manifests/digests.ts'
import { declaredLength, readUploadQuota, type UploadQuota } from '../../quota/upload-quota.ts'
import type { OciContext, OciServices } from '../context.ts'
import { getOrCreateRepo, lockPushedRepo } from '../push-repo.ts'
import {
  captureFailure,
  countBytes,
  hashBytes,
  parseChunkRange,
  requireLength,
  skipBytes,
} from './upload-bytes.ts'
import {
  claimUpload,
  deleteUpload,
  expireClaim,
  type IdleUpload,
  insertUpload,
  newId,
  readUpload,
  releaseUpload,
  toUploadError,
  UNFINISHED,
  type UploadClaim,
  uploadBusyError,
  waitForWriter,
} from './upload-claims.ts'

/**
 * Pushes blobs: in one request, or as an upload that its identity can continue after a closed connection or an expired token. Only one
 * request at a time writes an upload.
 */

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
      await lockPushedRepo(db, tx, repo, context.authorization.repository)
      await insertUpload(tx, row)
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
  const { blobs } = registry
  const quota = await readUploadQuota(registry, context, digest.text)
  quota.requireBytes(declaredLength(context))
  const repo = await getOrCreateRepo(registry, context)
  let upload: Upload = { id: newId(), size: 0, state: '' }
  const hash = newHash(digest.algorithm)
  try {
    upload = await blobs.append(upload, hashBytes(quota.limitBytes(context.request.stream(), 0), hash), {
      isLast: true,
      release: releaseBytes,
    })
    requireLength(context, upload.size)
    requireDigest(digest, `${digest.algorithm}:${hash.digest('hex')}`)
    await commitUpload(registry, upload, digest, targetOf(registry, context, repo))
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
  const claim = await claimUpload(registry, current, { isLast: true })
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
    if (await inTransaction(store.db, deleteRow, UNFINISHED)) await blobs.discard(written)
  }
  try {
    await claim.holdForCommit()
    const actual = await digestOfUpload(registry, written, digest, hash)
    // These bytes will never match the digest.
    if (actual !== digest.text) await discardUpload()
    requireDigest(digest, actual)
    quota.requireBytes(written.size)
    const deleteHeldRow = async (tx: Tx) => {
      if (!(await deleteRow(tx))) throw uploadBusyError()
    }
    await commitUpload(
      registry,
      written,
      digest,
      targetOf(registry, context, repo, { endUpload: deleteHeldRow, requireHeld: claim.requireHeld }),
    )
  } catch (error) {
    if (error instanceof ApiError && error.code === Code.RESOURCE_EXHAUSTED && !isStorageFull(error)) {
      // The quota is exceeded, or concurrent uploads have used it up.
      await discardUpload()
      throw error
    }
    // Another request may finish the upload if it still exists.
    const expiresMs = store.clock() + limits.uploadIdleMsMax
    const released = { expiresMs, confirmed: written.size }
    if ((await releaseUpload(store.db, written, released)) && hash !== undefined)
      registry.hashes.put(id, written.size, hash)
    throw toUploadError(error)
  }
  return blobCreatedReply(context, digest)
}

/**
 * Links a blob in its repo, if that and the rights of the caller are still as they were. `endUpload` deletes the row of the upload;
 * `requireHeld` rejects if another request writes it.
 */
function targetOf(
  { store }: OciServices,
  { authorization, authorizedMs }: OciContext,
  repo: Uid,
  {
    endUpload,
    requireHeld,
  }: { readonly endUpload?: (tx: Tx) => Promise<void>; readonly requireHeld?: () => Promise<void> } = {},
): BlobTarget {
  return {
    repo,
    isResumable: endUpload !== undefined,
    ...(requireHeld && { requireHeld }),
    async link(tx, blob) {
      await lockPushedRepo(store.db, tx, repo, authorization.repository)
      await endUpload?.(tx)
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireUnchangedRights(store, tx, { ...authorization, authorizedMs })
    },
    async end() {
      if (endUpload !== undefined) await inTransaction(store.db, endUpload, UNFINISHED)
    },
  }
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

/**
 * Returns 416 for a chunk that does not start where the upload ends. A chunk that starts between the confirmed bytes and the end repeats
 * bytes of an interrupted request.
 */
function checkChunkStart(context: OciContext, { stored, confirmed }: IdleUpload): HttpReply | undefined {
  const chunk = parseChunkRange(context)
  if (chunk === undefined || (chunk.start >= confirmed && chunk.start <= stored.size)) return undefined
  return progressReply(416, context, stored)
}

/** Returns the location of an upload and its progress. */
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

/**
 * Appends the body of a request to a claimed upload. Bytes that arrived before a connection broke are kept.
 * `keepClaim`: to finish the upload. `confirmed`: where the client's bytes end.
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
  /** Whether the previous writer no longer affects the stored bytes. */
  let isSeparated = !isTakenOver
  try {
    quota.requireBytes(start + declaredLength(context))
    const bytes = hash === undefined ? body.bytes : hashBytes(body.bytes, hash)
    end = await blobs.append(stored, bytes, {
      isTakenOver,
      requireHeld: claim.requireHeld,
      release: releaseBytes,
    })
    isSeparated = true
    failure = body.failure()
    if (failure === undefined) requireLength(context, received.bytes)
  } catch (error) {
    failure = error
    end = stored
  }
  const upload = { ...row, size: end.size, state: end.state, writer }
  const confirmed = start + received.bytes
  // The request that finishes the upload deletes the row, or stores its progress if it cannot.
  if (keepClaim && failure === undefined) return storeHash()
  if (failure instanceof MissingBytes) {
    await inTransaction(store.db, (tx) => deleteUpload(tx, upload), UNFINISHED)
    throw toUploadError(failure)
  }
  const expiresMs = store.clock() + limits.uploadIdleMsMax
  const isSaved = isSeparated
    ? await releaseUpload(store.db, upload, {
        expiresMs,
        confirmed: failure === undefined ? confirmed : claim.confirmed,
      })
    : await expireClaim(store.db, upload, expiresMs)
  if (failure !== undefined) throw toUploadError(failure)
  if (!isSaved) throw uploadBusyError()
  return storeHash()

  function storeHash() {
    if (hash !== undefined) hashes.put(row.id, end.size, hash)
    return { upload, confirmed }
  }
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
