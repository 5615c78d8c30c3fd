/** RPC codes by number (google.rpc.Code). */
const codeNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const
export type CodeName = (typeof codeNames)[number]

/** RPC codes for a status without a body of the API, for example from a proxy. */
const codesOfStatus: Readonly<Record<number, number>> = {
  401: 16,
  403: 7,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
}
const UNKNOWN = 2
const UNAVAILABLE = 14

export interface FieldViolation {
  /** Field name as in the request: `claimMatch.issuer`, `page_size`. */
  readonly field: string
  readonly description: string
}

export interface PreconditionViolation {
  /** Type for programs: `RESOURCE_NOT_EMPTY`, `ETAG_MISMATCH`. */
  readonly type: string
  /** UID of the resource; empty if there is none. */
  readonly subject: string
  readonly description: string
}

export interface QuotaViolation {
  readonly subject: string
  readonly description: string
}

export interface ResourceInfo {
  /** Resource type, for example `iam.chainguard.dev/Group`. */
  readonly resourceType: string
  readonly resourceName: string
  readonly description: string
}

interface Detail {
  readonly '@type'?: string
  readonly [member: string]: unknown
}

/** A failed call: an error of the API, a response of another server, or no response. */
export class BerthError extends Error {
  override readonly name = 'BerthError'
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  /** RPC code, which distinguishes errors of the API. */
  readonly code: number
  readonly codeName: CodeName
  /** `reason` of the ErrorInfo, more specific than the code. Empty if the response is not from the API. */
  readonly reason: string
  readonly domain: string
  readonly fieldViolations: readonly FieldViolation[]
  readonly preconditionViolations: readonly PreconditionViolation[]
  readonly quotaViolations: readonly QuotaViolation[]
  readonly resource: ResourceInfo | undefined
  /** Time to wait before the next attempt, from the server, in milliseconds. */
  readonly retryDelayMs: number | undefined
  /** ID of the request in the server's log. */
  readonly requestId: string | undefined
  /** All details, unchanged. */
  readonly details: readonly unknown[]

  constructor(
    message: string,
    {
      status = 0,
      code = UNKNOWN,
      details = [],
      retryDelayMs,
      requestId,
      cause,
    }: {
      status?: number
      code?: number
      details?: readonly unknown[]
      retryDelayMs?: number | undefined
      requestId?: string | undefined
      cause?: unknown
    } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    const detail = (name: string): Detail =>
      details.filter(isObject).find((one) => one['@type'] === `type.googleapis.com/google.rpc.${name}`) ?? {}
    const info = detail('ErrorInfo')
    const resource = detail('ResourceInfo')
    this.status = status
    this.code = code
    this.codeName = codeNames[code] ?? 'UNKNOWN'
    this.reason = text(info['reason'])
    this.domain = text(info['domain'])
    this.fieldViolations = list(detail('BadRequest')['fieldViolations']).map((violation) => ({
      field: text(violation['field']),
      description: text(violation['description']),
    }))
    this.preconditionViolations = list(detail('PreconditionFailure')['violations']).map((violation) => ({
      type: text(violation['type']),
      subject: text(violation['subject']),
      description: text(violation['description']),
    }))
    this.quotaViolations = list(detail('QuotaFailure')['violations']).map((violation) => ({
      subject: text(violation['subject']),
      description: text(violation['description']),
    }))
    this.resource =
      resource['@type'] === undefined
        ? undefined
        : {
            resourceType: text(resource['resourceType']),
            resourceName: text(resource['resourceName']),
            description: text(resource['description']),
          }
    this.retryDelayMs = millisecondsOf(text(detail('RetryInfo')['retryDelay'])) ?? retryDelayMs
    this.requestId = requestId
    this.details = details
  }
}

/** Returns the error for an unsuccessful response. `body` is its text, JSON or not. */
export function errorOf(response: Response, body: string): BerthError {
  const { status, headers } = response
  const beside = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryDelayMs: retryAfterMs(headers.get('retry-after')),
  }
  const parsed = parse(body)
  if (isObject(parsed) && typeof parsed['code'] === 'number' && typeof parsed['message'] === 'string') {
    const { code, message, details } = parsed as { code: number; message: string; details?: unknown }
    return new BerthError(message, { ...beside, code, details: list(details) })
  }
  return new BerthError(`The response is not from the API: HTTP status ${status}`, {
    ...beside,
    code: codesOfStatus[status] ?? UNKNOWN,
  })
}

/** Returns the error for a request without a response. */
export function unreachable(url: string, cause: unknown): BerthError {
  return new BerthError(`No response from ${new URL(url).origin}`, { code: UNAVAILABLE, cause })
}

/** Parses JSON text; returns undefined if it is invalid. */
export function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** Parses Retry-After (RFC 9110, section 10.2.3): seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const ms = Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** Parses a duration in proto JSON: `1.5s`. */
function millisecondsOf(duration: string): number | undefined {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(duration)?.[1]
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000)
}

function isObject(value: unknown): value is Detail {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function list(value: unknown): readonly Detail[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
