import { type Hash, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MissingBytes, type Upload } from '../blobs/store.ts'
import { ApiError, Code } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
import { isStorageFull } from '../core/storage-faults.ts'
import { rootOf, type Uid } from '../core/uid.ts'
import type { HttpReply } from '../http.ts'
import { type Db, inTransaction, type Tx } from '../storage/db.ts'
import { requireRightsStill } from '../storage/mutation.ts'
import { runInTransaction, sqlText } from '../storage/sql-text.ts'
import type { UploadRow } from '../storage/tables.ts'
import { CANONICAL, type Digest, newHash, readDigest, requireSame } from './digests.ts'
import { ociError } from './errors.ts'
import { keepRepo, repoToPush } from './repos.ts'
import { declaredLength, type Room, roomFor } from './room.ts'
import { keepUpload, linkBlob } from './stored-blobs.ts'
import { type Registry, repoOf, type Visit } from './visit.ts'

/**
 * Pushing a blob: in one request, or as an upload that its identity goes on with as often as it likes, after a connection or a token
 * has ended too. One request at a time writes an upload.
 */

/** What is known of an upload that is not finished: after a power loss its client begins another one. */
const UNFINISHED = { mayBeLost: true }

export function beginUpload(registry: Registry, visit: Visit): Promise<HttpReply> {
  const digest = visit.query.get('digest')
  return digest === null ? openUpload(registry, visit) : pushAtOnce(registry, visit, readDigest(digest))
}

async function openUpload(registry: Registry, visit: Visit): Promise<HttpReply> {
  const { db, clock } = registry.store
  const repo = await repoToPush(registry, visit)
  const id = newId()
  const now = clock()
  const row: UploadRow = {
    root: rootOf(repo),
    repo,
    id,
    identity: visit.visitor.caller.identity,
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
      await keepRepo(db, tx, repo, visit.place)
      await tx.insertInto('uploads').values(row).execute()
    },
    UNFINISHED,
  )
  registry.hashes.put(id, 0, newHash(CANONICAL))
  return { ...progress(202, visit, row), body: undefined }
}

/** The whole blob with the request that begins it. */
async function pushAtOnce(registry: Registry, visit: Visit, digest: Digest): Promise<HttpReply> {
  const { store, blobs } = registry
  const room = await roomFor(registry, visit, digest.text)
  room.require(declaredLength(visit))
  const repo = await repoToPush(registry, visit)
  let upload: Upload = { id: newId(), size: 0, state: '' }
  const hash = newHash(digest.algorithm)
  try {
    upload = await blobs.append(upload, hashed(room.within(visit.request.stream(), 0), hash), {
      isLast: true,
    })
    requireLength(visit, upload.size)
    requireSame(digest, `${digest.algorithm}:${hash.digest('hex')}`)
    await keepUpload(registry, upload, digest, async (tx, blob) => {
      await keepRepo(store.db, tx, repo, visit.place)
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireRightsStill(store, tx, { ...visit.visitor, judgedMs: visit.judgedMs })
    })
  } catch (error) {
    await blobs.discard(upload)
    throw error
  }
  return made(visit, digest)
}

/** PATCH: more of the blob. */
export async function continueUpload(registry: Registry, visit: Visit, id: string): Promise<HttpReply> {
  const current = await awaitTurn(registry, visit, id)
  const refused = outOfTurn(visit, current)
  if (refused !== undefined) return refused
  const room = await roomFor(registry, visit)
  const claim = await claimUpload(registry, current)
  try {
    const { upload, confirmed } = await write(registry, visit, claim, { room })
    return progress(202, visit, { ...upload, size: confirmed })
  } finally {
    claim.end()
  }
}

/** PUT: the rest of the blob, if there is any, and what it was meant to be. */
export async function finishUpload(registry: Registry, visit: Visit, id: string): Promise<HttpReply> {
  const digest = readDigest(visit.query.get('digest'))
  const current = await awaitTurn(registry, visit, id)
  const refused = outOfTurn(visit, current)
  if (refused !== undefined) return refused
  const room = await roomFor(registry, visit, digest.text)
  const claim = await claimUpload(registry, current)
  try {
    return await finish(registry, visit, claim, { digest, room })
  } finally {
    claim.end()
  }
}

async function finish(
  registry: Registry,
  visit: Visit,
  claim: Claim,
  { digest, room }: { readonly digest: Digest; readonly room: Room },
): Promise<HttpReply> {
  const { store, blobs } = registry
  const { upload: written } = await write(registry, visit, claim, { room, holdOn: true })
  const { row } = claim
  const { id } = row
  const repo = row.repo as Uid
  const hash = registry.hashes.take(id, written.size)
  const forget = (tx: Tx) => deleteUpload(tx, written)
  const giveUp = async () => {
    if (await inTransaction(store.db, forget)) await blobs.discard(written)
  }
  try {
    const actual = await digestOfUpload(registry, written, digest, hash)
    // These bytes will never be what they were meant to be.
    if (actual !== digest.text) await giveUp()
    requireSame(digest, actual)
    room.require(written.size)
    await keepUpload(registry, written, digest, async (tx, blob) => {
      await keepRepo(store.db, tx, repo, visit.place)
      if (!(await forget(tx))) throw busy()
      await linkBlob(store.db, tx, repo, blob, store.clock())
      await requireRightsStill(store, tx, { ...visit.visitor, judgedMs: visit.judgedMs })
    })
  } catch (error) {
    if (error instanceof ApiError && error.code === Code.RESOURCE_EXHAUSTED && !isStorageFull(error)) {
      // Too many, or others have filled the room meanwhile.
      await giveUp()
      throw error
    }
    // Another request may finish it, where there is still something to finish.
    const expiresMs = store.clock() + limits.uploadIdleMsMax
    const released = { expiresMs, writer: '', confirmed: written.size }
    if ((await save(store.db, written, released)) && hash !== undefined)
      registry.hashes.put(id, written.size, hash)
    throw unlessLost(error)
  }
  return made(visit, digest)
}

/** GET: how much of it is there. */
export async function uploadStatus(registry: Registry, visit: Visit, id: string): Promise<HttpReply> {
  const row = await readUpload(registry, visit, id)
  return progress(204, visit, row.writer === '' ? row : await registry.blobs.progress(row))
}

/** DELETE. */
export async function cancelUpload(registry: Registry, visit: Visit, id: string): Promise<HttpReply> {
  const row = await readUpload(registry, visit, id)
  if (!(await inTransaction(registry.store.db, (tx) => deleteUpload(tx, row)))) throw busy()
  registry.hashes.take(id, row.size)
  await registry.blobs.discard(row)
  return { status: 204, headers: {}, body: undefined }
}

function newId(): string {
  return randomBytes(16).toString('hex')
}

/** An upload as its own identity sees it; for everybody else there is none. */
async function readUpload({ store }: Registry, { place, visitor }: Visit, id: string): Promise<UploadRow> {
  const { db, clock } = store
  const repo = repoOf(place)
  const row = await db.kysely
    .selectFrom('uploads')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || row.identity !== visitor.caller.identity || Number(row.expires_ms) <= clock())
    throw unknownUpload()
  return { ...row, size: Number(row.size), lease_ms: Number(row.lease_ms) }
}

function unknownUpload() {
  return ociError('BLOB_UPLOAD_UNKNOWN', 'there is no such upload; begin another one')
}

/** A store may have given up what nobody went on with for long; no further attempt brings that back. */
function unlessLost(error: unknown): unknown {
  return error instanceof MissingBytes ? unknownUpload() : error
}

/** An upload that no other request writes. */
interface Current {
  readonly row: UploadRow
  /** With what is stored of it, which may be more than the row knows after a writer died. */
  readonly stored: Upload
  /** Bytes that a response has confirmed. The client of a request that was cut off knows of any number up to `stored.size`. */
  readonly confirmed: number
}

/**
 * Waits for the request that writes an upload: its connection may be gone, and what it has received is about to be stored.
 * @throws BLOB_UPLOAD_INVALID (409) if that still goes on after `uploadTurnMsMax`
 */
async function awaitTurn(registry: Registry, visit: Visit, id: string): Promise<Current> {
  const { clock } = registry.store
  const endMs = clock() + limits.uploadTurnMsMax
  for (let waitMs = 10; ; waitMs = Math.min(2 * waitMs, TURN_POLL_MS_MAX)) {
    const row = await readUpload(registry, visit, id)
    if (row.writer === '') return { row, stored: row, confirmed: Math.min(row.lease_ms, row.size) }
    if (row.lease_ms <= clock())
      return { row, stored: { ...row, ...(await registry.blobs.progress(row)) }, confirmed: row.size }
    if (clock() >= endMs) throw busy()
    await pause(Math.max(1, Math.min(waitMs, endMs - clock(), row.lease_ms - clock())))
  }
}

const TURN_POLL_MS_MAX = 250

/**
 * 416 for a chunk that does not begin where the upload ends. One that begins between what was confirmed and the end repeats bytes that a
 * request brought which was cut off.
 */
function outOfTurn(visit: Visit, { stored, confirmed }: Current): HttpReply | undefined {
  const chunk = chunkOf(visit)
  if (chunk === undefined || (chunk.start >= confirmed && chunk.start <= stored.size)) return undefined
  return progress(416, visit, stored)
}

/** Where a chunk lies in its upload, if it says so. Throws BLOB_UPLOAD_INVALID for what is no range. */
function chunkOf({ request }: Visit): { readonly start: number; readonly length: number } | undefined {
  const range = request.headers['content-range']
  if (range === undefined) return undefined
  const [, from, to] = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/\S*)?$/.exec(range) ?? []
  if (from === undefined || Number(to) < Number(from))
    throw ociError('BLOB_UPLOAD_INVALID', 'Content-Range must be <first byte>-<last byte>')
  return { start: Number(from), length: Number(to) - Number(from) + 1 }
}

/** Where an upload is, and how far. */
function progress(status: number, { place }: Visit, { id, size }: Pick<UploadRow, 'id' | 'size'>): HttpReply {
  return {
    status,
    headers: {
      location: `/v2/${place.name.text}/blobs/uploads/${id}`,
      range: `0-${Math.max(0, size - 1)}`,
      'docker-upload-uuid': id,
    },
    body: undefined,
  }
}

function made({ place }: Visit, { text }: Digest): HttpReply {
  const location = `/v2/${place.name.text}/blobs/${text}`
  return { status: 201, headers: { location, 'docker-content-digest': text }, body: undefined }
}

/** An upload that a request writes. */
interface Claim extends Current {
  readonly writer: string
  /** Whether another request wrote it before and may not know that it lost it. */
  readonly isTakenOver: boolean
  /** Bytes of the client, as long as the upload is this request's. A client that sends nothing lets its lease expire. */
  bytes(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Stops renewing the lease. */
  end(): void
}

/** @throws BLOB_UPLOAD_INVALID (409) if another request was faster */
async function claimUpload(registry: Registry, { row, confirmed }: Current): Promise<Claim> {
  const { store, blobs } = registry
  const writer = newId()
  await claim(registry, row, writer)
  let [isWaiting, isLost, leasedMs, bytesCame] = [false, false, performance.now(), false]
  const renew = async () => {
    const nowMs = performance.now()
    const changed = { lease_ms: store.clock() + limits.uploadLeaseMs }
    if (await update(store.db, { ...row, writer }, changed)) leasedMs = nowMs
    else isLost = true
  }
  const timer = setInterval(() => {
    const isAlive = !isWaiting || bytesCame
    bytesCame = false
    // Where this fails the lease expires, and is asked for before the next bytes are taken.
    if (isAlive && !isLost) renew().catch(() => undefined)
  }, limits.uploadLeaseMs / 3)
  const isTakenOver = row.writer !== ''
  try {
    return {
      row,
      // Anew: its writer may have lived until now.
      stored: isTakenOver ? await blobs.progress(row) : row,
      confirmed,
      writer,
      isTakenOver,
      async *bytes(source) {
        const iterator = source[Symbol.asyncIterator]()
        try {
          for (;;) {
            isWaiting = true
            const next = await iterator.next()
            isWaiting = false
            if (next.done === true) return
            bytesCame = true
            if (performance.now() - leasedMs > limits.uploadLeaseMs) await renew()
            if (isLost) throw busy()
            yield next.value
          }
        } finally {
          isWaiting = false
          await iterator.return?.()
        }
      },
      end: () => clearInterval(timer),
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
async function write(
  registry: Registry,
  visit: Visit,
  claim: Claim,
  { room, holdOn = false }: { readonly room: Room; readonly holdOn?: boolean },
): Promise<{ readonly upload: UploadRow; readonly confirmed: number }> {
  const { store, blobs, hashes } = registry
  const { row, stored, writer, isTakenOver } = claim
  const start = chunkOf(visit)?.start ?? stored.size
  const received = { bytes: 0 }
  const fresh = skipping(counted(visit.request.stream(), received), stored.size - start)
  const hash = hashes.take(row.id, stored.size)
  const body = untilItBreaks(room.within(claim.bytes(fresh), stored.size))
  let broken: unknown
  let end: Upload = stored
  try {
    room.require(start + declaredLength(visit))
    const bytes = hash === undefined ? body.bytes : hashed(body.bytes, hash)
    end = await blobs.append(stored, bytes, { isTakenOver })
    broken = body.broken()
    if (broken === undefined) requireLength(visit, received.bytes)
  } catch (error) {
    broken = error
    end = stored
  }
  const upload = { ...row, size: end.size, state: end.state, writer }
  const confirmed = start + received.bytes
  const keepsClaim = holdOn && broken === undefined
  // The request that finishes an upload seldom brings more of it.
  if (keepsClaim && end.size === row.size) return remembered()
  const isOurs = await save(store.db, upload, {
    expiresMs: store.clock() + limits.uploadIdleMsMax,
    writer: keepsClaim ? writer : '',
    confirmed: broken === undefined ? confirmed : claim.confirmed,
  })
  if (isOurs && broken instanceof MissingBytes)
    await inTransaction(store.db, (tx) => deleteUpload(tx, { ...upload, writer: '' }))
  if (broken !== undefined) throw unlessLost(broken)
  if (!isOurs) throw busy()
  return remembered()

  function remembered() {
    if (hash !== undefined) hashes.put(row.id, end.size, hash)
    return { upload, confirmed }
  }
}

async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  count: { bytes: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    count.bytes += chunk.length
    yield chunk
  }
}

/** The bytes behind the first `skip`: those are stored, and the digest of the whole shows whether they are the same. */
async function* skipping(bytes: AsyncIterable<Uint8Array>, skip: number): AsyncGenerator<Uint8Array> {
  let left = skip
  for await (const chunk of bytes) {
    const rest = chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
    if (rest.length > 0) yield rest
  }
}

/** Throws BLOB_UPLOAD_INVALID while another request than the one that the row tells of, or that one, writes the upload. */
async function claim({ store }: Registry, row: UploadRow, writer: string): Promise<void> {
  const { db, clock } = store
  const now = clock()
  const sql = sqlText(db.engine)
  const text = `update uploads set writer = ${sql.bind(writer)}, lease_ms = ${sql.bind(now + limits.uploadLeaseMs)}
    where root = ${sql.bind(row.root)} and repo = ${sql.bind(row.repo)} and id = ${sql.bind(row.id)}
      and size = ${sql.bind(row.size)}
      and (writer = '' or (writer = ${sql.bind(row.writer)} and lease_ms <= ${sql.bind(now)})) returning id`
  const claimed = await inTransaction(db, (tx) => runInTransaction(tx, text, sql), UNFINISHED)
  if (claimed.length === 0) throw busy()
}

function busy(): ApiError {
  return ociError(
    'BLOB_UPLOAD_INVALID',
    'another request writes this upload; ask for its status and try again',
    {
      status: 409,
    },
  )
}

/** What a request has written, if the upload is still its own. */
function save(
  db: Db,
  upload: UploadRow,
  next: { readonly expiresMs: number; readonly writer: string; readonly confirmed: number },
): Promise<boolean> {
  const { size, state } = upload
  const row = { size, state, writer: next.writer, expires_ms: next.expiresMs }
  return update(db, upload, next.writer === '' ? { ...row, lease_ms: next.confirmed } : row)
}

/** False when the upload is gone, or another request's. */
async function update(
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
function untilItBreaks(bytes: AsyncIterable<Uint8Array>): {
  readonly bytes: AsyncIterable<Uint8Array>
  broken(): unknown
} {
  let broken: unknown
  async function* read() {
    try {
      yield* bytes
    } catch (error) {
      broken = error
    }
  }
  return { bytes: read(), broken: () => broken }
}

async function* hashed(bytes: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
}

/** Throws SIZE_INVALID where a request brought another number of bytes than it said. */
function requireLength(visit: Visit, bytes: number): void {
  for (const declared of [visit.request.headers['content-length'], chunkOf(visit)?.length])
    if (declared !== undefined && Number(declared) !== bytes)
      throw ociError('SIZE_INVALID', `${bytes} bytes came, of ${declared}`)
}

/** From the hash that went along with the upload, or from its bytes. */
async function digestOfUpload(
  { blobs }: Registry,
  upload: Upload,
  { algorithm }: Digest,
  known: Hash | undefined,
): Promise<string> {
  if (algorithm === CANONICAL && known !== undefined) return `${algorithm}:${known.copy().digest('hex')}`
  const hash = newHash(algorithm)
  for await (const chunk of blobs.uploaded(upload)) hash.update(chunk)
  return `${algorithm}:${hash.digest('hex')}`
}
