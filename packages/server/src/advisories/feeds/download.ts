import { createHash } from 'node:crypto'
import { type FileHandle, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { lock } from 'proper-lockfile'
import type { limits } from '../../config/limits.ts'
import {
  checkTarget,
  type Outbound,
  OutboundError,
  type StreamedResponse,
} from '../../runtime/outbound/outbound.ts'
import { makePrivateDirectory } from '../../storage/db.ts'

/**
 * Fetches a file, of any size up to a limit, into a directory: only when it is another than the last time, and from where a broken
 * transfer ended. What it fetches is judged by whoever opens it.
 */

/** Which version of a file the server gave; '' where it does not say. */
export interface FileVersion {
  readonly etag: string
  readonly lastModified: string
}

export type DownloadLimits = Pick<
  { readonly [Name in keyof typeof limits]: number },
  'downloadBytesMax' | 'downloadMsMax' | 'downloadWindowMs' | 'downloadWindowBytesMin' | 'downloadResumesMax'
>

export interface DownloadOptions {
  readonly outbound: Pick<Outbound, 'getStream'>
  /** Kept between runs, so that a broken transfer goes on; made when it is not there. */
  readonly directory: string
  readonly bounds: DownloadLimits
  /** What came the last time, if that was taken. */
  readonly known?: FileVersion
  readonly signal?: AbortSignal | undefined
  /** Hears how much is there, and of how much: 0 where the server does not say. */
  readonly onProgress?: (bytes: number, total: number) => void
}

/** The file that came, or undefined when nothing is new. */
export interface Download {
  readonly path: string
  readonly version: FileVersion
  /** Once it is no longer needed. */
  remove(): Promise<void>
  /** Leaves it for the next run. */
  abandon(): Promise<void>
}

/** A file that did not come. The message is for people, and holds nothing of the address or of the answer. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError'
  /** How long the server wants to be left alone; 0: it did not say. */
  readonly retryAfterMs: number

  constructor(message: string, options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterMs = options.retryAfterMs ?? 0
  }
}

/** What is wrong with an address of a feed, or undefined. Plain http reaches nothing but the operator's private networks. */
export function urlProblem(text: string, { plainHttp }: { readonly plainHttp: boolean }): string | undefined {
  const url = checkTarget(text)
  if ('error' in url) return `must be an https URL: ${url.error}`
  return url.protocol === 'https:' || plainHttp ? undefined : 'must be an https URL'
}

/** An address without what may be a secret. */
export function displayUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

const PART_MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000
const RESUME_PAUSE_MS = 500
/** A program that does not say for so long that it lives was killed: its file is free before the last try. */
const LOCK_STALE_MS = 5000
const LOCK_PAUSE_MS = 250
const LOCK_TRIES = 24

export async function download(url: string, options: DownloadOptions): Promise<Download | undefined> {
  const { directory, signal } = options
  makePrivateDirectory(directory)
  await removeStaleParts(directory)
  const path = join(directory, createHash('sha256').update(url).digest('hex').slice(0, 32))
  const release = await lock(path, {
    realpath: false,
    stale: LOCK_STALE_MS,
    retries: { retries: LOCK_TRIES, minTimeout: LOCK_PAUSE_MS, maxTimeout: LOCK_PAUSE_MS },
    onCompromised: () => undefined,
  }).catch((cause: unknown) => {
    throw new DownloadError('another program fetches the same file now', { cause })
  })
  try {
    const version = await fetchWithResume(url, path, options)
    if (version === undefined) {
      await removePart(path)
      await release()
      return undefined
    }
    return {
      path,
      version,
      async remove() {
        await removePart(path)
        await release()
      },
      abandon: release,
    }
  } catch (error) {
    await release()
    signal?.throwIfAborted()
    throw error
  }
}

/** Begins, and goes on as often as the transfer breaks and something new has come. */
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
      // The first time also when nothing came: a connection that was kept open may be closed by now.
      const isRetryable = resumes === 0 || bytes > mostBytes
      if (error.kind !== 'network' || !isRetryable || resumes === bounds.downloadResumesMax)
        throw new DownloadError(error.message, { cause: error })
      mostBytes = bytes
      await pause(RESUME_PAUSE_MS, undefined, { ...(signal && { signal }) })
    }
  }
}

/** What is there of a file, and which version of it that is. */
interface Part {
  readonly path: string
  readonly bytes: number
  /** 0: not known. */
  readonly total: number
  readonly version: FileVersion
  /** Whether the time of its last change tells versions apart. */
  readonly isDated: boolean
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
    // What comes at all and too slowly is noticed first.
    idleTimeoutMs: 2 * bounds.downloadWindowMs,
    signal: signal === undefined ? slow.signal : AbortSignal.any([signal, slow.signal]),
  }
  const receive = async (response: StreamedResponse) => {
    const { status } = response
    if (status === 304) return undefined
    if (status === 416 && condition !== '') {
      // All of it came before; whether it was gone through is another matter.
      if (rangeOf(response)?.total === part.bytes && part.total === part.bytes) return part.version
      await removePart(part.path)
      throw new DownloadError('the server has another file now than the one that was begun')
    }
    if (status !== 200 && status !== 206)
      throw new DownloadError(`the server answered with status ${status}`, {
        retryAfterMs: retryAfterOf(response),
      })
    const isPartial = status === 206
    if (isPartial && (condition === '' || !isContinuationOf(part, response))) {
      await removePart(part.path)
      throw new DownloadError('the server sent another part of the file than it was asked for')
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
    if (slow.signal.aborted) throw new DownloadError('the server sends too slowly, or nothing any more')
    throw error
  }
}

function newPart(path: string, response: StreamedResponse): Part {
  return {
    path,
    bytes: 0,
    total: Number(response.header('content-length') || 0),
    version: { etag: response.header('etag'), lastModified: response.header('last-modified') },
    isDated: isDated(response),
  }
}

/** Of the same version, and from where the part ends. */
function isContinuationOf({ bytes, version }: Part, response: StreamedResponse): boolean {
  const { etag, lastModified } = version
  // What was asked for by one of the two need not repeat the other.
  const isSame =
    etag === '' ? response.header('last-modified') === lastModified : response.header('etag') === etag
  return isSame && rangeOf(response)?.from === bytes
}

/** Writes the body behind what is there. */
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
    await writeFile(metadataPath(path), JSON.stringify({ ...part.version, total, isDated: part.isDated }))
    let bytes = from
    for await (const chunk of response.body) {
      onChunk(chunk.byteLength)
      if (bytes + chunk.byteLength > bounds.downloadBytesMax) throw tooLarge(bounds)
      await writeAll(file, chunk, bytes)
      bytes += chunk.byteLength
      onProgress?.(bytes, total)
    }
    if (total !== 0 && bytes < total) throw new OutboundError('network', 'the transfer broke off')
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

/** Hears of every piece that comes, and calls `tooSlow` when a while brings too little. */
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

const METADATA_SUFFIX = '.about'

const metadataPath = (path: string) => path + METADATA_SUFFIX

async function readPart(path: string): Promise<Part> {
  try {
    const { size } = await stat(path)
    const metadata = JSON.parse(await readFile(metadataPath(path), 'utf8')) as FileVersion & {
      readonly total: number
      readonly isDated: boolean
    }
    const { etag, lastModified, total, isDated } = metadata
    return { path, bytes: size, total, version: { etag, lastModified }, isDated }
  } catch {
    return { path, bytes: 0, total: 0, version: { etag: '', lastModified: '' }, isDated: false }
  }
}

async function removePart(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(metadataPath(path), { force: true })
}

/** What says that the rest is of the same version (RFC 9110, section 13.1.5), or '': a weak tag does not. */
function rangeCondition({ bytes, version, isDated }: Part): string {
  if (bytes === 0) return ''
  if (version.etag !== '') return version.etag.startsWith('W/') ? '' : version.etag
  return isDated ? version.lastModified : ''
}

const MINUTE_MS = 60_000

/** Whether the time of the last change tells versions apart: it has whole seconds, and the file may have changed twice in one. */
function isDated(response: StreamedResponse): boolean {
  const age = Date.parse(response.header('date')) - Date.parse(response.header('last-modified'))
  return age >= MINUTE_MS
}

/** `bytes 100-199/200`, and of an answer that has none of it `bytes * /200`. */
function rangeOf(response: StreamedResponse): { readonly from: number; readonly total: number } | undefined {
  const [, from, total] =
    /^bytes (?:([0-9]+)-[0-9]+|\*)\/([0-9]+)$/.exec(response.header('content-range')) ?? []
  return total === undefined ? undefined : { from: Number(from ?? -1), total: Number(total) }
}

function retryAfterOf(response: StreamedResponse): number {
  const text = response.header('retry-after')
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000
  const ms = Date.parse(text) - Date.now()
  return ms > 0 ? ms : 0
}

/** What nobody went on with. */
async function removeStaleParts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() && Date.now() - found.mtimeMs > PART_MAX_AGE_MS) await rm(path, { force: true })
  }
}
