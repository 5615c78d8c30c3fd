import { httpStatusOfError } from '../../api/error-body.ts'
import { ApiError, Code, permissionDenied } from '../../api/errors.ts'
import { isStorageError, isStorageFull } from '../../api/storage-faults.ts'

/**
 * Errors of the OCI distribution specification: the `reason` of an ApiError is an OCI error code. All other errors are mapped to
 * OCI codes in the response body.
 */

/** The error codes of the specification, with their statuses. */
const statuses = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 400,
  BLOB_UPLOAD_UNKNOWN: 404,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 404,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_INVALID: 400,
  NAME_UNKNOWN: 404,
  SIZE_INVALID: 400,
  UNAUTHORIZED: 401,
  DENIED: 403,
  UNSUPPORTED: 405,
  TOOMANYREQUESTS: 429,
  PAGINATION_NUMBER_INVALID: 400,
} as const
export type OciCode = keyof typeof statuses

/** RPC code of each status, for metrics and the audit log. */
const rpcCodes: Readonly<Record<number, Code>> = {
  400: Code.INVALID_ARGUMENT,
  401: Code.UNAUTHENTICATED,
  403: Code.PERMISSION_DENIED,
  404: Code.NOT_FOUND,
  405: Code.UNIMPLEMENTED,
  409: Code.FAILED_PRECONDITION,
  413: Code.INVALID_ARGUMENT,
  414: Code.INVALID_ARGUMENT,
  416: Code.OUT_OF_RANGE,
  429: Code.RESOURCE_EXHAUSTED,
}

/** RFC 4918, section 11.5. Clients would take 429 for a rate limit and retry too soon. */
const INSUFFICIENT_STORAGE = 507

/** `status`: if it differs from the default of the code. */
export function ociError(
  reason: OciCode,
  message: string,
  options: { readonly status?: number; readonly auditUid?: string; readonly ociDetail?: object } = {},
): ApiError {
  const { status: httpStatus = statuses[reason], ociDetail, ...rest } = options
  const error = new ApiError(rpcCodes[httpStatus] ?? Code.UNKNOWN, message, { reason, httpStatus, ...rest })
  if (ociDetail !== undefined) ociDetails.set(error, ociDetail)
  return error
}

/** Returns an error of the registry as one of the API, which has reasons of its own; other errors as they are. */
export function withApiReason(error: unknown): unknown {
  if (!(error instanceof ApiError) || !Object.hasOwn(statuses, error.reason)) return error
  const { code, message, details, cause, auditUid } = error
  if (code === Code.PERMISSION_DENIED) return permissionDenied(message, auditUid)
  return new ApiError(code, message, { details, cause, ...(auditUid !== undefined && { auditUid }) })
}

/** What errors have in `detail`, for programs. */
const ociDetails = new WeakMap<ApiError, object>()

/** OCI codes of errors from other parts of the server. */
const codesOfApiErrors: Partial<Record<Code, OciCode>> = {
  [Code.INVALID_ARGUMENT]: 'NAME_INVALID',
  [Code.NOT_FOUND]: 'NAME_UNKNOWN',
  [Code.PERMISSION_DENIED]: 'DENIED',
  [Code.UNAUTHENTICATED]: 'UNAUTHORIZED',
  [Code.UNIMPLEMENTED]: 'UNSUPPORTED',
  // Forbidden by a policy. Clients print the message and do not retry.
  [Code.FAILED_PRECONDITION]: 'DENIED',
}

/** `{ "errors": [{ "code", "message", "detail" }] }`; not every error has a detail. */
export function ociErrorBody(error: ApiError): string {
  const { reason, message, httpStatus } = error
  const own = Object.hasOwn(statuses, reason) ? reason : undefined
  const code =
    own ??
    (isStorageError(error)
      ? 'UNKNOWN'
      : httpStatus === 413
        ? 'SIZE_INVALID'
        : (codesOfApiErrors[error.code] ?? quotaOrRateCode(error)))
  const detail = ociDetails.get(error) ?? violationsOf(error)
  return JSON.stringify({ errors: [{ code, message, ...(detail && { detail }) }] })
}

/** The quota or policy that an error of the API names. */
function violationsOf({ details }: ApiError): object | undefined {
  for (const detail of details)
    if (detail.kind === 'QuotaFailure' || detail.kind === 'PreconditionFailure')
      return { violations: detail.violations }
  return undefined
}

/** Clients must not retry after an exceeded quota, unlike after a rate limit. */
function quotaOrRateCode(error: ApiError): OciCode | 'UNKNOWN' {
  if (error.code !== Code.RESOURCE_EXHAUSTED) return 'UNKNOWN'
  return error.details.some(({ kind }) => kind === 'RetryInfo') ? 'TOOMANYREQUESTS' : 'DENIED'
}

export function ociStatus(error: ApiError): number {
  if (isStorageFull(error)) return INSUFFICIENT_STORAGE
  const isForbidden = error.code === Code.FAILED_PRECONDITION && error.httpStatus === undefined
  return isForbidden || quotaOrRateCode(error) === 'DENIED' ? statuses.DENIED : httpStatusOfError(error)
}
