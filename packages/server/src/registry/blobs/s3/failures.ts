import { ApiError, unavailable } from '../../../api/errors.ts'
import { storageFull } from '../../../api/storage-faults.ts'
import { MissingBytes } from '../blob-store.ts'

/**
 * Failures of S3 as messages that can be logged. Errors of the library are not passed on: some servers include parts of the
 * signed request in their responses.
 */

/** S3 rejects the request; retrying does not help until the configuration is changed. */
export class UnusableStore extends Error {
  override readonly name: string = 'UnusableStore'
}

/** S3 does not respond, or has a temporary failure; retrying may help. */
export class UnreachableStore extends UnusableStore {
  override readonly name = 'UnreachableStore'
}

const temporaryFailures = new WeakSet<ApiError>()

/** Returns whether a bucket that does not respond caused an error. */
export function isTemporaryStoreFailure(error: unknown): error is ApiError {
  return error instanceof ApiError && temporaryFailures.has(error)
}

/** Errors of S3 that the store expects in normal operation. */
export type ExpectedAbsence = 'NoSuchKey' | 'NoSuchUpload'

/** The object does not exist, or ends before the requested range. */
const missing: readonly string[] = ['NoSuchKey', 'NoSuchUpload', 'InvalidRange']

export interface S3Failure {
  /** `NoSuchBucket`, `SlowDown`, `ECONNREFUSED`, … */
  readonly code: string
  readonly message: string
  /** undefined without a response. */
  readonly status: number | undefined
  /** Request id for the operator of the S3 server. */
  readonly requestId: string | undefined
  readonly temporary: boolean
}

/** What to do about an error of S3. */
const advice: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or set BERTH_BLOBS_S3_BUCKET to another one',
  AccessDenied:
    'grant these credentials s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts on its objects, and s3:ListBucket, s3:ListBucketMultipartUploads on the bucket',
  InvalidAccessKeyId: 'the server does not know AWS_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'AWS_SECRET_ACCESS_KEY is not the secret of this access key',
  ExpiredToken: 'the credentials have expired; renew them',
  CredentialsProviderError:
    'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or assign a role to this machine',
  PermanentRedirect: 'the bucket is in another region: set BERTH_BLOBS_S3_REGION',
  AuthorizationHeaderMalformed: 'the bucket is in another region: set BERTH_BLOBS_S3_REGION',
  RequestTimeTooSkewed: 'set the clock of this machine',
}

const temporaryCodes = new Set([
  'SlowDown',
  'ServiceUnavailable',
  'InternalError',
  'RequestTimeout',
  'RequestTimeoutException',
  'TimeoutError',
  'ThrottlingException',
  'TooManyRequests',
  'OperationAborted',
  // The bytes were damaged in transit.
  'XAmzContentSHA256Mismatch',
  'BadDigest',
])

/** Interrupted connections and temporary DNS failures. */
const connectionCode =
  /^(E(CONN(REFUSED|RESET|ABORTED)|PIPE|HOSTUNREACH|NETUNREACH|TIMEDOUT|AI_AGAIN|NOTFOUND)|ERR_STREAM_PREMATURE_CLOSE|NetworkingError)$/

export function toFailure(error: unknown): S3Failure {
  const { name = 'Error', message = '', code, $metadata } = error as Partial<ServiceError>
  const status = $metadata?.httpStatusCode
  const errorCode = typeof code === 'string' && connectionCode.test(code) ? code : name
  const hasResponse = status !== undefined
  return {
    // The response to HEAD has no body with a code.
    code:
      status === 404 && bodylessErrorNames.has(errorCode)
        ? 'NoSuchKey'
        : status === 416
          ? 'InvalidRange'
          : errorCode,
    message: message === '' || message === 'UnknownError' ? `status ${status}` : message,
    status,
    requestId: $metadata?.requestId,
    temporary:
      temporaryCodes.has(errorCode) ||
      (hasResponse
        ? status >= 500 || status === 429
        : connectionCode.test(errorCode) || errorCode === 'AggregateError'),
  }
}

const bodylessErrorNames = new Set(['NotFound', 'UnknownError'])

interface ServiceError {
  readonly name: string
  readonly message: string
  readonly code: unknown
  readonly $metadata: { readonly httpStatusCode?: number; readonly requestId?: string }
}

/** Codes of S3 servers (MinIO, Ceph, others) for a full disk and an exceeded bucket quota. */
const storageFullCodes =
  /^(XMinioStorageFull|XMinioAdminBucketQuotaExceeded|InsufficientStorage|QuotaExceeded)$/
const INSUFFICIENT_STORAGE = 507

/** Maps a failure to an error: code 8 if the store is full, code 14 if a retry may help. */
export function toStoreError({ code, message, status, temporary }: S3Failure, what: string): Error {
  const cause = new Error(`${code}: ${message}`)
  if (storageFullCodes.test(code) || status === INSUFFICIENT_STORAGE)
    return storageFull('the blob store', cause)
  if (temporary) {
    const error = unavailable('the blob store is not responding correctly', RETRY_MS, cause)
    temporaryFailures.add(error)
    return error
  }
  if (missing.includes(code)) return new MissingBytes(`S3 does not have ${what}: ${code}`, 0)
  const hint = advice[code]
  return new UnusableStore(`S3 rejected ${what}: ${code}: ${message}${hint === undefined ? '' : `; ${hint}`}`)
}

const RETRY_MS = 2000
