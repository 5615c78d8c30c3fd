import { type Hash, randomBytes } from 'node:crypto'
import { MissingBytes, type Upload } from '../blobs/store.ts'
import { ApiError, aborted, Code } from '../core/errors.ts'
import { limits } from '../core/limits.ts'
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
  const row = await readUpload(registry, visit, id)
  const refused = outOfTurn(visit, row)
  if (refused !== undefined) return refused
  const room = await roomFor(registry, visit)
  return progress(202, visit, await write(registry, visit, row, { room }))
}

/** PUT: the rest of the blob, if there is any, and what it was meant to be. */
export async function finishUpload(registry: Registry, visit: Visit, id: string): Promise<HttpReply> {
  const { store, blobs } = registry
  const row = await readUpload(registry, visit, id)
  const digest = readDigest(visit.query.get('digest'))
  const refused = outOfTurn(visit, row)
  if (refused !== undefined) return refused
  const room = await roomFor(registry, visit, digest.text)
  const written = await write(registry, visit, row, { room, holdOn: true })
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
    if (error instanceof ApiError && error.code === Code.RESOURCE_EXHAUSTED) {
      // Too many, or others have filled the room meanwhile.
      await giveUp()
      throw error
    }
    // Another request may finish it, where there is still something to finish.
    const expiresMs = store.clock() + limits.uploadIdleMsMax
    if ((await save(store.db, written, { expiresMs, writer: '' })) && hash !== undefined)
      registry.hashes.put(id, written.size, hash)
    throw unlessLost(error)
  }
  return made(visit, digest)
}

/** GET: how much of it is there. */
export async function uploadStatus(registry: Registry, visit: Visit, id: string): Promise<HttpReply> {
  return progress(204, visit, await readUpload(registry, visit, id))
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
  return { ...row, size: Number(row.size) }
}

function unknownUpload() {
  return ociError('BLOB_UPLOAD_UNKNOWN', 'there is no such upload; begin another one')
}

/** A store may have given up what nobody went on with for long; no further attempt brings that back. */
function unlessLost(error: unknown): unknown {
  return error instanceof MissingBytes ? unknownUpload() : error
}

/** 416 for a chunk that does not begin where the upload ends. */
function outOfTurn(visit: Visit, row: UploadRow): HttpReply | undefined {
  const chunk = chunkOf(visit)
  return chunk === undefined || chunk.start === row.size ? undefined : progress(416, visit, row)
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

/**
 * Adds the body of a request to an upload, which is this request's alone meanwhile. What came before a connection broke is kept.
 * `holdOn`: it stays this request's, which is going to finish it.
 */
async function write(
  registry: Registry,
  visit: Visit,
  row: UploadRow,
  { room, holdOn = false }: { readonly room: Room; readonly holdOn?: boolean },
): Promise<UploadRow> {
  const { store, blobs, hashes } = registry
  room.require(row.size + declaredLength(visit))
  const writer = newId()
  await claim(registry, row, writer)
  const hash = hashes.take(row.id, row.size)
  const body = untilItBreaks(room.within(leased(registry, row, writer, visit.request.stream()), row.size))
  let broken: unknown
  let end: Upload = row
  try {
    end = await blobs.append(row, hash === undefined ? body.bytes : hashed(body.bytes, hash), {
      isTakenOver: row.writer !== '',
    })
    broken = body.broken()
    if (broken === undefined) requireLength(visit, end.size - row.size)
  } catch (error) {
    broken = error
    end = row
  }
  const written = { ...row, size: end.size, state: end.state, writer }
  const keepsClaim = holdOn && broken === undefined
  // The request that finishes an upload seldom brings more of it.
  if (keepsClaim && end.size === row.size) return remembered()
  const isOurs = await save(store.db, written, {
    expiresMs: store.clock() + limits.uploadIdleMsMax,
    writer: keepsClaim ? writer : '',
  })
  if (isOurs && broken instanceof MissingBytes)
    await inTransaction(store.db, (tx) => deleteUpload(tx, { ...written, writer: '' }))
  if (broken !== undefined) throw unlessLost(broken)
  if (!isOurs) throw busy()
  return remembered()

  function remembered() {
    if (hash !== undefined) hashes.put(row.id, end.size, hash)
    return written
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
  next: { readonly expiresMs: number; readonly writer: string },
): Promise<boolean> {
  const { size, state } = upload
  return update(db, upload, { size, state, writer: next.writer, expires_ms: next.expiresMs })
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

/** Says now and then that the request lives, and ends where it could not. */
async function* leased(
  { store }: Registry,
  row: UploadRow,
  writer: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let leasedMs = performance.now()
  for await (const chunk of bytes) {
    const now = performance.now()
    if (now - leasedMs > limits.uploadLeaseMs)
      throw aborted('the upload was left alone for too long; try again')
    if (now - leasedMs > limits.uploadLeaseMs / 3) {
      const changed = { lease_ms: store.clock() + limits.uploadLeaseMs }
      if (!(await update(store.db, { ...row, writer }, changed))) throw busy()
      leasedMs = now
    }
    yield chunk
  }
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
