import { limits } from '../config/limits.ts'
import { ApiError, Code, type Detail, internal } from './errors.ts'

/**
 * Failures of disks, whichever engine, file system or bucket reports them: what callers receive, and which failures are not bugs.
 * Errors name the storage, not its path, which is for the log.
 */

export type StorageFault = 'full' | 'read-only' | 'failing' | 'out of memory'

/** `reason` of the ErrorInfo of each fault. */
const storageReasons = {
  full: 'STORAGE_FULL',
  'read-only': 'STORAGE_READ_ONLY',
  failing: 'STORAGE_FAILING',
  'out of memory': 'DATABASE_OUT_OF_MEMORY',
} as const satisfies Readonly<Record<StorageFault, string>>

const faults = Object.keys(storageReasons) as StorageFault[]

const DATABASE = 'the database'
const DISK = 'the data directory'

/** Codes of Node (errno(3)), of SQLite (sqlite.org/rescode.html) and of PostgreSQL (manual, appendix A); the first match counts. */
const codes: readonly (readonly [RegExp, StorageFault, place: string])[] = [
  [/^(ENOSPC|EDQUOT|EFBIG)$/, 'full', DISK],
  [/^EROFS$/, 'read-only', DISK],
  [/^EIO$/, 'failing', DISK],
  // SHMSIZE: the index of the write-ahead log could not grow.
  [/^SQLITE_(FULL|IOERR_SHMSIZE)$/, 'full', DATABASE],
  [/^53100$/, 'full', DATABASE],
  [/^(53200|SQLITE_NOMEM|SQLITE_IOERR_NOMEM)$/, 'out of memory', DATABASE],
  [/^SQLITE_READONLY/, 'read-only', DATABASE],
  [/^(58030|SQLITE_(IOERR|CANTOPEN).*)$/, 'failing', DATABASE],
]

/** PostgreSQL has no codes for these; it reports the text of strerror(3) with another code. */
const postgresTexts: readonly (readonly [RegExp, StorageFault])[] = [
  [/No space left on device|Disk quota exceeded|File too large/, 'full'],
  [/Read-only file system/, 'read-only'],
]
const postgresCodes = /^(XX000|42501|58030)$/

interface LocatedFault {
  readonly fault: StorageFault
  readonly place: string
}

/** The longest chain of causes that is searched. */
const CAUSES_MAX = 4

/** Returns the fault of a disk that caused a failure; undefined for anything else. */
export function storageFaultOf(failure: unknown): LocatedFault | undefined {
  let error = failure
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error; depth++) {
    const found = faultOf(error)
    if (found !== undefined) return found
    error = error.cause
  }
  if (!(failure instanceof ApiError)) return undefined
  const named = faults.find((fault) => storageReasons[fault] === failure.reason)
  return named && { fault: named, place: 'the blob store' }
}

function faultOf(error: Error): LocatedFault | undefined {
  const code = 'code' in error ? String(error.code) : ''
  if (postgresCodes.test(code)) {
    const reported = postgresTexts.find(([text]) => text.test(error.message))
    if (reported !== undefined) return { fault: reported[1], place: DATABASE }
  }
  const known = codes.find(([pattern]) => pattern.test(code))
  return known && { fault: known[1], place: known[2] }
}

/** Code 8: no space is left at `place`. Existing data can still be read. */
export function storageFull(place: string, cause?: unknown): ApiError {
  return faultError('full', place, cause)
}

/** Returns whether an error reports a full disk, not the quota of an organization. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof ApiError
    ? error.reason === storageReasons.full
    : storageFaultOf(error)?.fault === 'full'
}

/** Returns whether an error is a fault of a disk. */
export function isStorageError({ reason }: ApiError): boolean {
  return Object.values(storageReasons).some((known) => known === reason)
}

const faultMessages: Readonly<Record<StorageFault, (place: string) => string>> = {
  full: (place) =>
    `Resource exhausted: ${place} has no free space; reads still work. Try again when the operator has freed space`,
  'read-only': (place) =>
    `Unavailable: ${place} is on a read-only file system; reads still work. Try again when the operator has made it writable`,
  failing: (place) =>
    `Unavailable: the disk of ${place} reports errors. Try again later, or ask the operator`,
  'out of memory': (place) => `Unavailable: ${place} is out of memory. Try again later, or ask the operator`,
}

function faultError(fault: StorageFault, place: string, cause: unknown): ApiError {
  const retry: Detail = { kind: 'RetryInfo', retryDelayMs: limits.storageRetryMs }
  return new ApiError(
    fault === 'full' ? Code.RESOURCE_EXHAUSTED : Code.UNAVAILABLE,
    faultMessages[fault](place),
    {
      reason: storageReasons[fault],
      details: [retry],
      cause,
    },
  )
}

/** Returns the result of a write on which a read must not depend, or `otherwise` while the storage rejects writes. */
export async function bestEffortWrite<T>(write: Promise<T>, fallback: T): Promise<T> {
  try {
    return await write
  } catch (error) {
    const refused = error instanceof ApiError && error.code === Code.UNAVAILABLE
    if (refused || storageFaultOf(error) !== undefined) return fallback
    throw error
  }
}

/** Returns the error for the caller: an ApiError unchanged, the fault of a disk with its reason, anything else as code 13. */
export function asApiError(failure: unknown, requestId: string): ApiError {
  if (failure instanceof ApiError) return failure
  const found = storageFaultOf(failure)
  return found === undefined ? internal(requestId, failure) : faultError(found.fault, found.place, failure)
}

/** Logs causes that callers must not see. */
interface FailureLog {
  error(fields: object, message: string): void
}

/**
 * Returns the error for the caller: an ApiError unchanged, the fault of a disk with its reason, anything else as code 13 with the
 * request id. Logs the cause of a code 13 and of a disk's fault.
 */
export function toApiError(failure: unknown, requestId: string, log: FailureLog): ApiError {
  const error = asApiError(failure, requestId)
  if ((error.code === Code.INTERNAL || isStorageError(error)) && error.cause !== undefined)
    log.error({ requestId, err: isStorageError(error) ? error : error.cause }, 'request failed')
  return error
}
