import { errorBody, httpStatusOf } from '../api/error-body.ts'
import { ApiError, Code, codeName, type Detail } from '../api/errors.ts'
import type { Schema } from './schemas.ts'

/** The errors of the API in OpenAPI: one response per HTTP status, all with the same body (docs/errors.md). */

export interface Header {
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}

export interface ResponseObject {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header | { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
}

/** RPC codes that have an HTTP status besides their usual one; docs/errors.md says when. */
const codesOfExtraStatuses: Readonly<Record<number, Code>> = {
  405: Code.UNIMPLEMENTED,
  408: Code.DEADLINE_EXCEEDED,
  412: Code.FAILED_PRECONDITION,
  413: Code.INVALID_ARGUMENT,
  422: Code.FAILED_PRECONDITION,
}

/** RPC codes that no response of this server has. */
const unusedCodes: ReadonlySet<Code> = new Set([Code.OK, Code.UNKNOWN, Code.OUT_OF_RANGE, Code.DATA_LOSS])
const usedCodes = Object.values(Code).filter((code) => !unusedCodes.has(code))

interface ErrorKind {
  readonly name: string
  readonly description: string
  readonly headers?: readonly (keyof typeof headerObjects)[]
  readonly example: readonly [Code, message: string, ...details: Detail[]]
}

const precondition = (type: string, description: string): Detail => ({
  kind: 'PreconditionFailure',
  violations: [{ type, description }],
})

/** By HTTP status, in ascending order. */
const errorKinds = {
  400: {
    name: 'Refused',
    description: 'The request is invalid (code 3), or the current state does not allow it (code 9).',
    example: [
      Code.INVALID_ARGUMENT,
      'Invalid argument: name: is required',
      { kind: 'BadRequest', fieldViolations: [{ field: 'name', description: 'is required' }] },
    ],
  },
  401: {
    name: 'Unauthenticated',
    description: 'The bearer token is missing, invalid or expired.',
    headers: ['WWW-Authenticate'],
    example: [Code.UNAUTHENTICATED, 'Unauthenticated: this call needs a token'],
  },
  403: {
    name: 'PermissionDenied',
    description: 'The caller lacks a permission, whether or not the resource exists.',
    example: [Code.PERMISSION_DENIED, 'Permission denied: this needs groups.list at the uid'],
  },
  404: {
    name: 'NotFound',
    description: 'The resource does not exist, and the caller may know that.',
    example: [
      Code.NOT_FOUND,
      'Not found: Group 7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745 does not exist',
      {
        kind: 'ResourceInfo',
        resourceType: 'iam.chainguard.dev/Group',
        resourceName: '7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745',
      },
    ],
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path has other HTTP methods.',
    headers: ['Allow'],
    example: [Code.UNIMPLEMENTED, 'Unimplemented: this path supports GET, HEAD'],
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request did not arrive in time.',
    example: [Code.DEADLINE_EXCEEDED, 'Deadline exceeded: the request did not arrive in time'],
  },
  409: {
    name: 'Conflict',
    description: 'The name is taken (code 6), or concurrent changes won repeatedly (code 10).',
    example: [
      Code.ALREADY_EXISTS,
      'Already exists: a group is named build-team already',
      { kind: 'ResourceInfo', resourceType: 'iam.chainguard.dev/Group', resourceName: 'build-team' },
    ],
  },
  412: {
    name: 'PreconditionFailed',
    description: 'The resource has another version than `If-Match` names: read it again, then decide.',
    example: [
      Code.FAILED_PRECONDITION,
      'Precondition failed: it has changed since',
      precondition('ETAG_MISMATCH', 'it has changed since'),
    ],
  },
  413: {
    name: 'BodyTooLarge',
    description: 'The body is larger than the method allows: 1 MiB for most.',
    example: [
      Code.INVALID_ARGUMENT,
      'Invalid argument: the body is larger than 1048576 bytes',
      { kind: 'BadRequest', fieldViolations: [{ field: '', description: 'the body is too large' }] },
    ],
  },
  422: {
    name: 'KeyReused',
    description: 'The `Idempotency-Key` was used for another request.',
    example: [
      Code.FAILED_PRECONDITION,
      'Precondition failed: the idempotency key was used for another request',
      precondition('IDEMPOTENCY_KEY_REUSED', 'the idempotency key was used for another request'),
    ],
  },
  429: {
    name: 'ResourceExhausted',
    description:
      'A rate limit or another quota is reached, or a disk of the server is full (reason `STORAGE_FULL`). `Retry-After` is set when waiting helps.',
    headers: ['Retry-After', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    example: [
      Code.RESOURCE_EXHAUSTED,
      'Resource exhausted: too many calls',
      { kind: 'RetryInfo', retryDelayMs: 1000 },
    ],
  },
  500: {
    name: 'Internal',
    description: 'An internal error. The log of the server has the cause under the request id.',
    example: [Code.INTERNAL, 'Internal error: the server failed on request 3k9fzq-1a'],
  },
  501: {
    name: 'Unimplemented',
    description: 'This server does not offer the method.',
    example: [Code.UNIMPLEMENTED, 'Unimplemented: this server does not offer it'],
  },
  503: {
    name: 'Unavailable',
    description: 'The server is starting or stopping, or a dependency does not respond.',
    headers: ['Retry-After'],
    example: [
      Code.UNAVAILABLE,
      'Unavailable: the database does not respond',
      { kind: 'RetryInfo', retryDelayMs: 1000 },
    ],
  },
  504: {
    name: 'DeadlineExceeded',
    description: 'The call took too long.',
    example: [Code.DEADLINE_EXCEEDED, 'Deadline exceeded: the call took too long'],
  },
} as const satisfies Readonly<Record<number, ErrorKind>>

export type ErrorStatus = keyof typeof errorKinds

/** A reference to the response of a status. */
export function errorResponseRef(status: ErrorStatus): { readonly $ref: string } {
  return { $ref: `#/components/responses/${errorKinds[status].name}` }
}

const textHeader = (description: string): Header => ({ description, schema: { type: 'string' } })
const countHeader = (description: string): Header => ({
  description,
  schema: { type: 'integer', minimum: 0 },
})

/** Headers of responses. A required header is in every response that lists it. */
export const headerObjects = {
  'x-request-id': {
    description: 'Identifies the request in the log of the server.',
    required: true,
    schema: { type: 'string' },
  },
  ETag: {
    description: 'Version of the resource, for `If-Match` and `If-None-Match`.',
    required: true,
    schema: { type: 'string', pattern: '^(W/)?"[^"]+"$' },
  },
  'WWW-Authenticate': {
    description: 'Asks for a bearer token (RFC 6750).',
    required: true,
    schema: { type: 'string', pattern: '^Bearer realm="' },
  },
  Allow: { ...textHeader('HTTP methods of the path.'), required: true },
  'Retry-After': countHeader('Seconds to wait before the next attempt.'),
  'RateLimit-Limit': countHeader(
    'Calls allowed in one window. This header and the next two are sent only where rate limits are enabled.',
  ),
  'RateLimit-Remaining': countHeader('Remaining calls in this window.'),
  'RateLimit-Reset': countHeader('Seconds until the next window.'),
} as const satisfies Readonly<Record<string, Header>>

/** The headers that show how much of a rate limit is left. */
export const rateLimitHeaders = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const

/** References to these headers, and to the one that every response has. */
export function headerRefs(
  ...names: readonly (keyof typeof headerObjects)[]
): NonNullable<ResponseObject['headers']> {
  return Object.fromEntries(
    [...names, 'x-request-id'].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

/** The responses that `errorResponseRef` refers to. `domain` is in the ErrorInfo of every error. */
export function errorResponses(domain: string): Readonly<Record<string, ResponseObject>> {
  return Object.fromEntries(
    Object.entries(errorKinds).map(
      ([status, { name, description, example, ...kind }]: [string, ErrorKind]) => {
        const codes = codesOf(Number(status))
        const [code, message, ...details] = example
        const response: ResponseObject = {
          description,
          headers: headerRefs(...(kind.headers ?? [])),
          content: {
            'application/json': {
              schema: {
                allOf: [{ $ref: '#/components/schemas/Error' }],
                properties: { code: { enum: codes } },
              },
              example: JSON.parse(errorBody(new ApiError(code, message, { details }), domain)),
            },
          },
        }
        return [name, response]
      },
    ),
  )
}

function codesOf(status: number): readonly Code[] {
  const exact = codesOfExtraStatuses[status]
  return exact === undefined ? usedCodes.filter((code) => httpStatusOf(code) === status) : [exact]
}

const TYPE_PREFIX = 'type.googleapis.com/google.rpc.'

function detailSchema(
  name: string,
  description: string,
  properties: Schema['properties'] & {},
  required: string[],
): Schema {
  return {
    type: 'object',
    description,
    properties: { '@type': { const: `${TYPE_PREFIX}${name}` }, ...properties },
    required: ['@type', ...required],
    additionalProperties: false,
  }
}

const textSchema = (description: string): Schema => ({ type: 'string', description })

function listSchema(properties: Schema['properties'] & {}, required: string[]): Schema {
  return {
    type: 'array',
    description: 'Each of them.',
    minItems: 1,
    items: { type: 'object', properties, required, additionalProperties: false },
  }
}

/** The body of every error and its parts. Empty members of a detail are left out. */
export const errorSchemas: Readonly<Record<string, Schema>> = {
  Error: {
    type: 'object',
    description: 'A failed call (google.rpc.Status, AIP-193).',
    properties: {
      code: {
        type: 'integer',
        description: `RPC code, not the HTTP status: ${usedCodes
          .map((code) => `${code} ${codeName[code]}`)
          .join(', ')}.`,
      },
      message: textSchema('What went wrong, for people.'),
      details: {
        type: 'array',
        description: 'What went wrong, for programs: first an ErrorInfo, then further details.',
        minItems: 1,
        prefixItems: [{ $ref: '#/components/schemas/Error.Info' }],
        items: {
          oneOf: ['BadRequest', 'PreconditionFailure', 'QuotaFailure', 'ResourceInfo', 'RetryInfo'].map(
            (name) => ({
              $ref: `#/components/schemas/Error.${name}`,
            }),
          ),
        },
      },
    },
    required: ['code', 'message', 'details'],
    additionalProperties: false,
  },
  'Error.Info': detailSchema(
    'ErrorInfo',
    'The kind of the error.',
    {
      reason: { type: 'string', pattern: '^[A-Z][A-Z0-9_]+$', description: 'Stable value for programs.' },
      domain: textSchema('The installation that defines the reason.'),
    },
    ['reason', 'domain'],
  ),
  'Error.BadRequest': detailSchema(
    'BadRequest',
    'What is wrong with the request.',
    {
      fieldViolations: listSchema(
        {
          field: textSchema(
            'Path of the field or name of the parameter, as the caller spelled it. Absent for the request as a whole.',
          ),
          description: textSchema('What is wrong with it.'),
        },
        ['description'],
      ),
    },
    ['fieldViolations'],
  ),
  'Error.PreconditionFailure': detailSchema(
    'PreconditionFailure',
    'The precondition that failed.',
    {
      violations: listSchema(
        {
          type: { type: 'string', pattern: '^[A-Z][A-Z0-9_]+$', description: 'Stable value for programs.' },
          subject: textSchema('UID of the resource.'),
          description: textSchema('What has to change.'),
        },
        ['type', 'description'],
      ),
    },
    ['violations'],
  ),
  'Error.QuotaFailure': detailSchema(
    'QuotaFailure',
    'The limit that is reached.',
    {
      violations: listSchema(
        {
          subject: textSchema('The caller or resource that has reached it.'),
          description: textSchema('The limit.'),
        },
        ['subject', 'description'],
      ),
    },
    ['violations'],
  ),
  'Error.ResourceInfo': detailSchema(
    'ResourceInfo',
    'The resource of the error.',
    {
      resourceType: textSchema('Such as `iam.chainguard.dev/Group`.'),
      resourceName: textSchema('Its UID or its name.'),
      description: textSchema('What is wrong with it.'),
    },
    ['resourceType'],
  ),
  'Error.RetryInfo': detailSchema(
    'RetryInfo',
    'When to retry.',
    { retryDelay: { type: 'string', pattern: '^\\d+(\\.\\d+)?s$', description: 'How long to wait.' } },
    ['retryDelay'],
  ),
}
