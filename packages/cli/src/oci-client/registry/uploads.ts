import { Readable } from 'node:stream'
import type { BlobReader } from '../blob-reader.ts'
import { RetryBackoff, TransientError, withRetries } from '../retries.ts'
import { TransferError } from '../transfer-error.ts'
import type { RegistryResponse } from './connection.ts'
import type { RegistryRepository } from './repository.ts'

/** Uploads a blob to a registry. Resumes after an interrupted connection, and cancels an upload that cannot be finished. */

/** Blobs up to this size are sent with the request that finishes the upload. */
const SMALL_BYTES = 1024 * 1024

export async function uploadBlob(repo: RegistryRepository, reader: BlobReader): Promise<void> {
  const { blob } = reader
  // Verify it completely before sending it.
  const small = blob.size <= SMALL_BYTES ? await readAll(reader) : undefined
  const patience = new RetryBackoff()
  let session: URL | undefined
  let sent = 0
  try {
    for (;;) {
      try {
        session ??= await startUpload(repo)
        if (small === undefined && sent < blob.size) {
          session = await streamBlob(repo, session, reader, sent)
          sent = blob.size
        }
        await finishUpload(repo, session, blob.digest, small)
        return
      } catch (error) {
        const gone = error instanceof TransferError && error.problem === 'missing'
        const last = gone ? new TransientError(error) : transientIfBusy(error)
        await patience.waitForRetry(last, repo.connection.signal)
        const before = sent
        const state: { readonly session: URL; readonly sent: number } | undefined =
          gone || session === undefined ? undefined : await fetchUploadStatus(repo, session)
        session = state?.session
        // An upload whose final response was lost no longer exists.
        sent = state?.sent ?? 0
        if (state === undefined && (await repo.hasBlob(blob).catch(() => false))) return
        if (sent > before) patience.reset()
      }
    }
  } catch (error) {
    if (session !== undefined) await repo.cancelUpload(session)
    throw error
  }
}

/** A registry rejects requests while it still processes the bytes of the interrupted connection. */
function transientIfBusy(error: unknown): unknown {
  const isBusy =
    error instanceof TransferError && error.problem === 'refused' && /status (409|416)\b/.test(error.message)
  return isBusy ? new TransientError(error) : error
}

async function startUpload(repo: RegistryRepository): Promise<URL> {
  const reply = await repo.requestUpload(repo.path('blobs/uploads/'), {
    method: 'POST',
    headers: { 'content-length': '0' },
    expectedStatuses: [202],
  })
  await reply.body.dump()
  return uploadLocation(reply) ?? fail(repo, 'started an upload without a location')
}

async function streamBlob(
  repo: RegistryRepository,
  session: URL,
  reader: BlobReader,
  from: number,
): Promise<URL> {
  const { size } = reader.blob
  const reply = await repo.requestUpload(session, {
    method: 'PATCH',
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(size - from),
      ...(from > 0 && { 'content-range': `${from}-${size - 1}` }),
    },
    body: Readable.from(reader.readFrom(from), { objectMode: false, highWaterMark: 256 * 1024 }),
    expectedStatuses: [202, 204],
  })
  await reply.body.dump()
  return uploadLocation(reply) ?? session
}

async function finishUpload(
  repo: RegistryRepository,
  session: URL,
  digest: string,
  body: Buffer | undefined,
) {
  const target = new URL(session)
  target.searchParams.set('digest', digest)
  const reply = await repo.requestUpload(target, {
    method: 'PUT',
    headers: {
      'content-type': 'application/octet-stream',
      ...(body === undefined && { 'content-length': '0' }),
    },
    ...(body !== undefined && { body }),
    expectedStatuses: [201, 204],
  })
  await reply.body.dump()
}

/** Returns the progress of an upload; undefined if it no longer exists or the response does not say. */
async function fetchUploadStatus(repo: RegistryRepository, session: URL) {
  try {
    const reply = await withRetries(repo.connection.signal, () =>
      repo.requestUpload(session, { method: 'GET', expectedStatuses: [204, 202, 200] }),
    )
    await reply.body.dump()
    const [, last] = /^(?:bytes=)?0-(\d+)$/.exec(reply.header('range') ?? '') ?? []
    // Registries return `0-0` for none and for one byte.
    const sent = last === undefined || last === '0' ? 0 : Number(last) + 1
    return { session: uploadLocation(reply) ?? session, sent }
  } catch {
    return undefined
  }
}

/** Returns the location of an upload from a response; undefined if it has none. */
export function uploadLocation(reply: RegistryResponse): URL | undefined {
  const location = reply.header('location')
  return location === undefined || !URL.canParse(location, reply.url.href)
    ? undefined
    : new URL(location, reply.url)
}

function fail(repo: RegistryRepository, why: string): never {
  throw new TransferError('refused', repo.connection.host, `${repo.connection.host} ${why}`)
}

async function readAll(reader: BlobReader): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const bytes of reader.readFrom(0)) parts.push(bytes)
  return Buffer.concat(parts)
}
