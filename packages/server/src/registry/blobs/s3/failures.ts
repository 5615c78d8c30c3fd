import { unavailable } from '../../../api/errors.ts'
import { storageFull } from '../../../api/storage-faults.ts'
import { MissingBytes } from '../blob-store.ts'

/**
 * Failures of S3 in words that may be logged. What the library throws is not passed on: for some refusals servers send back parts of the
 * signed request.
 */

/** S3 refuses: trying again does not help before somebody has changed something. */
export class UnusableStore extends Error {
  override readonly name = 'UnusableStore'
}

/** What S3 says and the store expects in the course of its work. */
export type ExpectedAbsence = 'NoSuchKey' | 'NoSuchUpload'

/** The object is not there, or ends before the range that was asked for begins. */
const missing: readonly string[] = ['NoSuchKey', 'NoSuchUpload', 'InvalidRange']

export interface S3Failure {
  /** `NoSuchBucket`, `SlowDown`, `ECONNREFUSED`, … */
  readonly code: string
  readonly message: string
  /** undefined when there was no answer. */
  readonly status: number | undefined
  /** By which the operator of the server finds it. */
  readonly requestId: string | undefined
  readonly temporary: boolean
}

/** What to do, by what S3 says. */
const advice: Readonly<Record<string, string>> = {
  NoSuchBucket: 'make the bucket, or name another one with BERTH_BLOBS_S3_BUCKET',
  AccessDenied:
    'allow these credentials s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListMultipartUploadParts on its objects, and s3:ListBucket, s3:ListBucketMultipartUploads on the bucket',
  InvalidAccessKeyId: 'the server does not know AWS_ACCESS_KEY_ID',
  SignatureDoesNotMatch: 'AWS_SECRET_ACCESS_KEY is not the secret of this access key',
  ExpiredToken: 'the credentials have expired; give the server new ones',
  CredentialsProviderError:
    'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role that it may assume',
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
  // Bytes were damaged on their way.
  'XAmzContentSHA256Mismatch',
  'BadDigest',
])

/** Connections that break, names that are not found just now. */
const connectionCode =
  /^(E(CONN(REFUSED|RESET|ABORTED)|PIPE|HOSTUNREACH|NETUNREACH|TIMEDOUT|AI_AGAIN|NOTFOUND)|ERR_STREAM_PREMATURE_CLOSE|NetworkingError)$/

export function toFailure(error: unknown): S3Failure {
  const { name = 'Error', message = '', code, $metadata } = error as Partial<ServiceError>
  const status = $metadata?.httpStatusCode
  const errorCode = typeof code === 'string' && connectionCode.test(code) ? code : name
  const hasResponse = status !== undefined
  return {
    // A server that answers a HEAD has no body to say it in.
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

/** As S3 servers name a full disk and a quota of a bucket: MinIO, Ceph, others. */
const storageFullCodes =
  /^(XMinioStorageFull|XMinioAdminBucketQuotaExceeded|InsufficientStorage|QuotaExceeded)$/
const INSUFFICIENT_STORAGE = 507

/** What the store says of a failure: code 8 where it is full, code 14 where trying again may help. */
export function toStoreError({ code, message, status, temporary }: S3Failure, what: string): Error {
  const cause = new Error(`${code}: ${message}`)
  if (storageFullCodes.test(code) || status === INSUFFICIENT_STORAGE)
    return storageFull('the blob store', cause)
  if (temporary) return unavailable('the store of blobs does not answer as it should', RETRY_MS, cause)
  if (missing.includes(code)) return new MissingBytes(`S3 has not got ${what}: ${code}`, 0)
  const hint = advice[code]
  return new UnusableStore(`S3 refuses ${what}: ${code}: ${message}${hint === undefined ? '' : `; ${hint}`}`)
}

const RETRY_MS = 2000
