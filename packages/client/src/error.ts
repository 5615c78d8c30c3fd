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

/** What somebody between us and the API means by a status without its body. */
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
  /** As the request spelled it: `claimMatch.issuer`, `page_size`. */
  readonly field: string
  readonly description: string
}

export interface PreconditionViolation {
  /** What a program looks at: `RESOURCE_NOT_EMPTY`, `ETAG_MISMATCH`. */
  readonly type: string
  /** uid of what it is about; empty where there is none. */
  readonly subject: string
  readonly description: string
}

export interface QuotaViolation {
  readonly subject: string
  readonly description: string
}

export interface ResourceInfo {
  /** `iam.chainguard.dev/Group`. */
  readonly resourceType: string
  readonly resourceName: string
  readonly description: string
}

interface Detail {
  readonly '@type'?: string
  readonly [member: string]: unknown
}

/** A call that failed: refused by the API, answered by something else, or never answered. */
export class BerthError extends Error {
  override readonly name = 'BerthError'
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** RPC code, which the API's errors are told apart by. */
  readonly code: number
  readonly codeName: CodeName
  /** `reason` of the ErrorInfo: finer than the code. Empty where the API did not answer. */
  readonly reason: string
  readonly domain: string
  readonly fieldViolations: readonly FieldViolation[]
  readonly preconditionViolations: readonly PreconditionViolation[]
  readonly quotaViolations: readonly QuotaViolation[]
  readonly resource: ResourceInfo | undefined
  /** How long the server asks to wait before the next try, in milliseconds. */
  readonly retryDelayMs: number | undefined
  /** Names the request in the server's log. */
  readonly requestId: string | undefined
  /** All details as they came. */
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

/** The error in an answer that is none of success. `body` is its text, JSON or not. */
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
  return new BerthError(`The answer is not the API's: HTTP status ${status}`, {
    ...beside,
    code: codesOfStatus[status] ?? UNKNOWN,
  })
}

/** A request that got no answer. */
export function unreachable(url: string, cause: unknown): BerthError {
  return new BerthError(`No answer from ${new URL(url).origin}`, { code: UNAVAILABLE, cause })
}

/** The JSON value that the text is; undefined when it is none. */
export function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const ms = Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** Of a duration in proto JSON: `1.5s`. */
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
