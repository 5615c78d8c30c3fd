import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MINUTE_MS } from '../../config/limits.ts'
import type { StreamedResponse } from '../../runtime/outbound/outbound.ts'

/** Partial downloads on disk, and the HTTP range requests that continue them. */

/** The version of a file that the server stated; '' if it did not. */
export interface FileVersion {
  readonly etag: string
  readonly lastModified: string
}

/** A partial download and its version. */
export interface Part {
  readonly path: string
  readonly bytes: number
  /** 0 if unknown. */
  readonly total: number
  readonly version: FileVersion
  /** Whether the modification time identifies the version. */
  readonly isDated: boolean
}

export function newPart(path: string, response: StreamedResponse): Part {
  return {
    path,
    bytes: 0,
    total: Number(response.header('content-length') || 0),
    version: { etag: response.header('etag'), lastModified: response.header('last-modified') },
    isDated: isDated(response),
  }
}

/** Whether the response continues the partial file: the same version, from its end. */
export function isContinuationOf({ bytes, version }: Part, response: StreamedResponse): boolean {
  const { etag, lastModified } = version
  // A conditional request matched one validator; the response need not repeat the other.
  const isSame =
    etag === '' ? response.header('last-modified') === lastModified : response.header('etag') === etag
  return isSame && rangeOf(response)?.from === bytes
}

const METADATA_SUFFIX = '.about'

const metadataPath = (path: string) => path + METADATA_SUFFIX

export async function readPart(path: string): Promise<Part> {
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

export async function removePart(path: string): Promise<void> {
  await rm(path, { force: true })
  await rm(metadataPath(path), { force: true })
}

export function writeMetadata({ path, version, total, isDated }: Part): Promise<void> {
  return writeFile(metadataPath(path), JSON.stringify({ ...version, total, isDated }))
}

/** Returns the If-Range value (RFC 9110, section 13.1.5), or '' if there is none: a weak tag cannot be used. */
export function rangeCondition({ bytes, version, isDated }: Part): string {
  if (bytes === 0) return ''
  if (version.etag !== '') return version.etag.startsWith('W/') ? '' : version.etag
  return isDated ? version.lastModified : ''
}

/** Whether the modification time identifies the version: it has whole seconds, and the file may have changed twice in one. */
function isDated(response: StreamedResponse): boolean {
  const age = Date.parse(response.header('date')) - Date.parse(response.header('last-modified'))
  return age >= MINUTE_MS
}

/** Parses `bytes 100-199/200`, or `bytes * /200` of a response without a range. */
export function rangeOf(
  response: StreamedResponse,
): { readonly from: number; readonly total: number } | undefined {
  const [, from, total] =
    /^bytes (?:([0-9]+)-[0-9]+|\*)\/([0-9]+)$/.exec(response.header('content-range')) ?? []
  return total === undefined ? undefined : { from: Number(from ?? -1), total: Number(total) }
}

const PART_MAX_AGE_MS = 7 * 24 * 60 * 60 * 1000

/** Deletes partial files that were not resumed. */
export async function removeStaleParts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() && Date.now() - found.mtimeMs > PART_MAX_AGE_MS) await rm(path, { force: true })
  }
}
