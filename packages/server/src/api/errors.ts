/**
 * Errors of the API. A pure function that can fail returns `undefined` or a small union; its caller at the boundary throws an error
 * from one of the constructors below, and the codecs (api/error-body.ts) encode it as an AIP-193 body or as
 * `grpc-status-details-bin`. docs/errors.md explains them to callers.
 */

/** RPC codes (google.rpc.Code). The spec's `code` is this number, never the HTTP status. */
export const Code = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const
export type Code = (typeof Code)[keyof typeof Code]

/** Returns the name of a code, which is also the default `reason` of an error: `INVALID_ARGUMENT`. */
export const codeName = Object.fromEntries(
  Object.entries(Code).map(([name, code]) => [code, name]),
) as Record<Code, keyof typeof Code>

export interface FieldViolation {
  /** JSON path relative to the resource (`claimMatch.issuer`), or the query parameter (`page_size`). */
  readonly field: string
  readonly description: string
}

/** The typed payloads of google.rpc that follow the ErrorInfo; each kind appears at most once in an error (AIP-193). */
export type Detail =
  | { readonly kind: 'BadRequest'; readonly fieldViolations: readonly FieldViolation[] }
  | {
      readonly kind: 'PreconditionFailure'
      readonly violations: readonly {
        readonly type: string
        readonly subject?: string
        readonly description: string
      }[]
    }
  | {
      readonly kind: 'ResourceInfo'
      readonly resourceType: string
      readonly resourceName: string
      readonly description?: string
    }
  | { readonly kind: 'RetryInfo'; readonly retryDelayMs: number }
  | {
      readonly kind: 'QuotaFailure'
      readonly violations: readonly { readonly subject: string; readonly description: string }[]
    }

/** An error response. `message` and `details` reach the caller; `cause` goes to the log only, `about` to the audit log. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: Code
  /** `reason` of the ErrorInfo, UPPER_SNAKE_CASE. */
  readonly reason: string
  readonly details: readonly Detail[]
  /** Only if HTTP is more exact than the code's own status: 405, 413. */
  readonly httpStatus: number | undefined
  /**
   * What the audit log records the error about: the uid at which the caller lacks a capability ('' for the platform), or the resource that
   * a policy protects.
   */
  readonly auditUid: string | undefined

  constructor(
    code: Code,
    message: string,
    options: {
      reason?: string
      details?: readonly Detail[]
      cause?: unknown
      httpStatus?: number
      auditUid?: string
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.reason = options.reason ?? codeName[code]
    this.details = options.details ?? []
    this.httpStatus = options.httpStatus
    this.auditUid = options.auditUid
  }
}

/** Code 3 with one violation per bad field; the message describes the first (the spec's wording). */
export function invalidArguments(violations: readonly FieldViolation[]): ApiError {
  const first = violations[0]
  if (first === undefined) throw new Error('an invalid argument needs a violation')
  const where = first.field === '' ? '' : `${first.field}: `
  return new ApiError(Code.INVALID_ARGUMENT, `Invalid argument: ${where}${first.description}`, {
    details: [{ kind: 'BadRequest', fieldViolations: violations }],
  })
}

export function invalidArgument(field: string, description: string): ApiError {
  return invalidArguments([{ field, description }])
}

/** Code 3 for a part of a request as a whole, which is the field of its violation: `body`, `query`, `path`. `description` follows its name. */
export function invalidPart(
  part: 'body' | 'path' | 'query' | 'message' | 'headers',
  description: string,
): ApiError {
  const text = `the ${part} ${description}`
  return new ApiError(Code.INVALID_ARGUMENT, `Invalid argument: ${text}`, {
    details: [{ kind: 'BadRequest', fieldViolations: [{ field: part, description: text }] }],
  })
}

/** Returns the same error with other names for the fields of its violations. */
export function withFieldNames(error: ApiError, renameField: (field: string) => string): ApiError {
  const badRequest = error.details.find((detail) => detail.kind === 'BadRequest')
  if (badRequest === undefined || badRequest.fieldViolations.length === 0) return error
  const fieldViolations = badRequest.fieldViolations.map(({ field, description }) => ({
    field: renameField(field),
    description,
  }))
  if (fieldViolations.every(({ field }, index) => field === badRequest.fieldViolations[index]!.field))
    return error
  const { code, reason, cause, httpStatus } = error
  const isStandardMessage = error.message === invalidArguments(badRequest.fieldViolations).message
  return new ApiError(code, isStandardMessage ? invalidArguments(fieldViolations).message : error.message, {
    reason,
    details: error.details.map((detail) =>
      detail === badRequest ? { kind: 'BadRequest', fieldViolations } : detail,
    ),
    cause,
    ...(httpStatus === undefined ? {} : { httpStatus }),
  })
}

/** Code 9. `type` is for programs, such as `RESOURCE_NOT_EMPTY`; `subject` is the uid of the resource. */
export function failedPrecondition(type: string, description: string, subject?: string): ApiError {
  const violation = { type, description, ...(subject === undefined ? {} : { subject }) }
  return new ApiError(Code.FAILED_PRECONDITION, `Precondition failed: ${description}`, {
    details: [{ kind: 'PreconditionFailure', violations: [violation] }],
  })
}

/** Code 9: a policy protects the resource `uid`. The audit log records the attempt, as it records denials. */
export function forbiddenByPolicy(type: string, description: string, uid: string): ApiError {
  const { code, message, details } = failedPrecondition(type, description, uid)
  return new ApiError(code, message, { details, auditUid: uid })
}

/** Returns whether the audit log records an error: the caller lacks a capability, or a policy forbids the change. */
export function isAudited({ code, auditUid: about }: ApiError): boolean {
  return code === Code.PERMISSION_DENIED || about !== undefined
}

/** Code 5, for a caller who may know that the resource is missing. `resourceType` is the schema's, e.g. `iam.chainguard.dev/Group`. */
export function notFound(
  resourceType: string,
  resourceName: string,
  description = `${resourceType.slice(resourceType.indexOf('/') + 1)} ${resourceName} does not exist`,
): ApiError {
  return new ApiError(Code.NOT_FOUND, `Not found: ${description}`, {
    details: [{ kind: 'ResourceInfo', resourceType, resourceName }],
  })
}

/** Code 6: a name or key is already in use. */
export function alreadyExists(resourceType: string, resourceName: string, description: string): ApiError {
  return new ApiError(Code.ALREADY_EXISTS, `Already exists: ${description}`, {
    details: [{ kind: 'ResourceInfo', resourceType, resourceName, description }],
  })
}

/** Code 7. Names the missing capability, never whether the resource exists; `about`: the uid at which it is missing. */
export function permissionDenied(description: string, auditUid?: string): ApiError {
  const message = `Permission denied: ${description}`
  return new ApiError(Code.PERMISSION_DENIED, message, auditUid === undefined ? {} : { auditUid })
}

/** Code 16. Over REST the gateway adds the one `WWW-Authenticate: Bearer` challenge. */
export function unauthenticated(description: string, cause?: unknown): ApiError {
  return new ApiError(Code.UNAUTHENTICATED, `Unauthenticated: ${description}`, { cause })
}

/** Code 12: this server does not support the method or HTTP verb. */
export function unimplemented(description: string): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, `Unimplemented: ${description}`)
}

/** Code 8: an organization has reached a quota. `subject` is its uid. */
export function quotaExceeded(subject: string, description: string): ApiError {
  return new ApiError(Code.RESOURCE_EXHAUSTED, `Resource exhausted: ${description}`, {
    details: [{ kind: 'QuotaFailure', violations: [{ subject, description }] }],
  })
}

/** Code 8: a rate limit was exceeded; retry after `retryDelayMs`. */
export function rateLimited(description: string, retryDelayMs: number): ApiError {
  return new ApiError(Code.RESOURCE_EXHAUSTED, `Resource exhausted: ${description}`, {
    details: [{ kind: 'RetryInfo', retryDelayMs }],
  })
}

/** Code 10: a concurrent change won; the caller may retry, after `retryDelayMs` if it is given. */
export function aborted(description: string, cause?: unknown, retryDelayMs?: number): ApiError {
  const details: Detail[] = retryDelayMs === undefined ? [] : [{ kind: 'RetryInfo', retryDelayMs }]
  return new ApiError(Code.ABORTED, `Aborted: ${description}`, { details, cause })
}

/** Code 14: retry after `retryDelayMs`. */
export function unavailable(description: string, retryDelayMs: number, cause?: unknown): ApiError {
  return new ApiError(Code.UNAVAILABLE, `Unavailable: ${description}`, {
    details: [{ kind: 'RetryInfo', retryDelayMs }],
    cause,
  })
}

/** `reason` of a change that may have been made: the database did not confirm its commit. */
export const OUTCOME_UNKNOWN = 'OUTCOME_UNKNOWN'

export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof ApiError && error.reason === OUTCOME_UNKNOWN
}

/** Code 13: a bug. The caller receives the request id only; the cause is for the log. */
export function internal(requestId: string, cause: unknown): ApiError {
  return new ApiError(Code.INTERNAL, `Internal error: the server failed on request ${requestId}`, { cause })
}
