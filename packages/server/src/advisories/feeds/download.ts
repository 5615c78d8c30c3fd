import { createHash } from 'node:crypto'
import { type FileHandle, open, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { limits } from '../../config/limits.ts'
import {
  checkTarget,
  type Outbound,
  OutboundError,
  type StreamedResponse,
} from '../../runtime/outbound/outbound.ts'
import { makePrivateDirectory } from '../../storage/db.ts'
import { LockTaken, lockFile } from '../../storage/engines/sqlite/file-lock.ts'
import {
  type FileVersion,
  isContinuationOf,
  newPart,
  type Part,
  rangeCondition,
  rangeOf,
  readPart,
  removePart,
  removeStaleParts,
  writeMetadata,
} from './partial-file.ts'

/**
 * Downloads a file into a directory, up to a size limit: only if it changed since the last time, and resuming a broken transfer. It does
 * not check the content.
 */

export type DownloadLimits = Pick<
  { readonly [Name in keyof typeof limits]: number },
  'downloadBytesMax' | 'downloadMsMax' | 'downloadWindowMs' | 'downloadWindowBytesMin' | 'downloadResumesMax'
>

export interface DownloadOptions {
  readonly outbound: Pick<Outbound, 'getStream'>
  /** Kept between runs, to resume broken transfers. Created if it does not exist. */
  readonly directory: string
  readonly bounds: DownloadLimits
  /** The version of the last download that was processed. */
  readonly known?: FileVersion
  readonly signal?: AbortSignal | undefined
  /** Called with the bytes so far and in total; 0 if the server does not state a total. */
  readonly onProgress?: (bytes: number, total: number) => void
}

/** The downloaded file. */
export interface Download {
  readonly path: string
  readonly version: FileVersion
  /** Deletes the file when it is no longer needed. */
  remove(): Promise<void>
  /** Keeps the file for the next run. */
  abandon(): Promise<void>
}

/** A failed download. The message is shown to users and contains nothing of the URL or the response. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError'
  /** When the server allows a retry; 0 if it did not say. */
  readonly retryAfterMs: number

  constructor(message: string, options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterMs = options.retryAfterMs ?? 0
  }
}

/** Returns what is wrong with the URL of a feed, or undefined. Plain http reaches the operator's private networks only. */
export function urlProblem(text: string, { plainHttp }: { readonly plainHttp: boolean }): string | undefined {
  const url = checkTarget(text)
  if ('error' in url) return `must be an https URL: ${url.error}`
  return url.protocol === 'https:' || plainHttp ? undefined : 'must be an https URL'
}

/** Returns a URL without parts that may be secret. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

const RESUME_PAUSE_MS = 500
/** How long another download of the same file may take to stop, for example in a process that is shutting down. */
const LOCK_WAIT_MS = 6000

export async function download(url: string, options: DownloadOptions): Promise<Download | undefined> {
  const { directory, signal } = options
  makePrivateDirectory(directory)
  await removeStaleParts(directory)
  const path = join(directory, createHash('sha256').update(url).digest('hex').slice(0, 32))
  const lockPath = `${path}.lock`
  const lock = await lockFile(lockPath, LOCK_WAIT_MS).catch((cause: unknown) => {
    if (!(cause instanceof LockTaken)) throw cause
    throw new DownloadError('another process is downloading the same file', { cause })
  })
  // The lock file of a running download is not a stale part.
  await utimes(lockPath, new Date(), new Date())
  const abandon = async () => lock.release()
  try {
    const version = await fetchWithResume(url, path, options)
    if (version === undefined) {
      await removePart(path)
      lock.release()
      return undefined
    }
    return {
      path,
      version,
      async remove() {
        await removePart(path)
        lock.release()
      },
      abandon,
    }
  } catch (error) {
    lock.release()
    signal?.throwIfAborted()
    throw error
  }
}

/** Starts the download, and resumes it when the transfer breaks, as long as each attempt brings new bytes. */
async function fetchWithResume(
  url: string,
  path: string,
  options: DownloadOptions,
): Promise<FileVersion | undefined> {
  const { bounds, signal } = options
  const untilMs = performance.now() + bounds.downloadMsMax
  let mostBytes = 0
  for (let resumes = 0; ; resumes++) {
    const part = await readPart(path)
    try {
      return await transfer(url, part, options, untilMs - performance.now())
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof OutboundError)) throw error
      const { bytes } = await readPart(path)
      // Retry once even without progress: a kept-alive connection may have been closed.
      const isRetryable = resumes === 0 || bytes > mostBytes
      if (error.kind !== 'network' || !isRetryable || resumes === bounds.downloadResumesMax)
        throw new DownloadError(error.message, { cause: error })
      mostBytes = bytes
      await pause(RESUME_PAUSE_MS, undefined, { ...(signal && { signal }) })
    }
  }
}

async function transfer(
  url: string,
  part: Part,
  options: DownloadOptions,
  timeoutMs: number,
): Promise<FileVersion | undefined> {
  const { outbound, bounds, known, signal, onProgress } = options
  const condition = rangeCondition(part)
  const headers = {
    accept: '*/*',
    ...(known?.etag && { 'if-none-match': known.etag }),
    ...(!known?.etag && known?.lastModified && { 'if-modified-since': known.lastModified }),
    ...(condition !== '' && { range: `bytes=${part.bytes}-`, 'if-range': condition }),
  }
  const slow = new AbortController()
  const request = {
    headers,
    timeoutMs,
    // Transfers that are too slow are detected earlier than this timeout.
    idleTimeoutMs: 2 * bounds.downloadWindowMs,
    signal: signal === undefined ? slow.signal : AbortSignal.any([signal, slow.signal]),
  }
  const receive = async (response: StreamedResponse) => {
    const { status } = response
    if (status === 304) return undefined
    if (status === 416 && condition !== '') {
      // The file was complete before; it may not have been processed.
      if (rangeOf(response)?.total === part.bytes && part.total === part.bytes) return part.version
      await removePart(part.path)
      throw new DownloadError('the file on the server changed during the download')
    }
    if (status !== 200 && status !== 206)
      throw new DownloadError(`the server responded with status ${status}`, {
        retryAfterMs: retryAfterOf(response),
      })
    const isPartial = status === 206
    if (isPartial && (condition === '' || !isContinuationOf(part, response))) {
      await removePart(part.path)
      throw new DownloadError('the server sent a different range of the file than requested')
    }
    const target = isPartial
      ? { ...part, total: rangeOf(response)?.total ?? 0 }
      : newPart(part.path, response)
    if (target.total > bounds.downloadBytesMax) throw tooLarge(bounds)
    const watch = watchSpeed(bounds, () => slow.abort())
    try {
      await writeBody(target, response, { bounds, onProgress, onChunk: watch.received })
    } finally {
      watch.stop()
    }
    return target.version
  }
  try {
    return await outbound.getStream(url, request, receive)
  } catch (error) {
    if (slow.signal.aborted) throw new DownloadError('the transfer is too slow or has stalled')
    throw error
  }
}

/** Appends the body to the partial file. */
async function writeBody(
  part: Part,
  response: StreamedResponse,
  {
    bounds,
    onProgress,
    onChunk,
  }: Pick<DownloadOptions, 'bounds'> & {
    readonly onProgress: DownloadOptions['onProgress'] | undefined
    readonly onChunk: (bytes: number) => void
  },
): Promise<void> {
  const { path, bytes: from, total } = part
  const file = await open(path, from === 0 ? 'w' : 'r+', 0o600)
  try {
    await file.truncate(from)
    await writeMetadata(part)
    let bytes = from
    for await (const chunk of response.body) {
      onChunk(chunk.byteLength)
      if (bytes + chunk.byteLength > bounds.downloadBytesMax) throw tooLarge(bounds)
      await writeAll(file, chunk, bytes)
      bytes += chunk.byteLength
      onProgress?.(bytes, total)
    }
    if (total !== 0 && bytes < total) throw new OutboundError('network', 'the transfer was interrupted')
  } catch (error) {
    if (error instanceof DownloadError) await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, at: number): Promise<void> {
  let written = 0
  while (written < chunk.byteLength)
    written += (await file.write(chunk, written, chunk.byteLength - written, at + written)).bytesWritten
}

/** Measures the transfer rate and calls `tooSlow` when it stays below the minimum for a whole window. */
function watchSpeed({ downloadWindowMs, downloadWindowBytesMin }: DownloadLimits, tooSlow: () => void) {
  let bytes = 0
  const timer = setInterval(() => {
    if (bytes < downloadWindowBytesMin) tooSlow()
    bytes = 0
  }, downloadWindowMs)
  return {
    received(more: number) {
      bytes += more
    },
    stop: () => clearInterval(timer),
  }
}

function tooLarge({ downloadBytesMax }: DownloadLimits): DownloadError {
  return new DownloadError(`the file has more than ${downloadBytesMax} bytes`)
}

function retryAfterOf(response: StreamedResponse): number {
  const text = response.header('retry-after')
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000
  const ms = Date.parse(text) - Date.now()
  return ms > 0 ? ms : 0
}
