import { type Any, AnySchema } from '@berth/contract/gen/google/protobuf/any_pb.js'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { type ApiError, Code, type Detail } from './errors.ts'

/** The public mapping of google.rpc.Code to HTTP, as in google/rpc/code.proto. FAILED_PRECONDITION is 400, not 412. */
const httpStatuses: Readonly<Record<Code, number>> = {
  [Code.OK]: 200,
  [Code.CANCELLED]: 499,
  [Code.UNKNOWN]: 500,
  [Code.INVALID_ARGUMENT]: 400,
  [Code.DEADLINE_EXCEEDED]: 504,
  [Code.NOT_FOUND]: 404,
  [Code.ALREADY_EXISTS]: 409,
  [Code.PERMISSION_DENIED]: 403,
  [Code.RESOURCE_EXHAUSTED]: 429,
  [Code.FAILED_PRECONDITION]: 400,
  [Code.ABORTED]: 409,
  [Code.OUT_OF_RANGE]: 400,
  [Code.UNIMPLEMENTED]: 501,
  [Code.INTERNAL]: 500,
  [Code.UNAVAILABLE]: 503,
  [Code.DATA_LOSS]: 500,
  [Code.UNAUTHENTICATED]: 401,
}

/** Returns the HTTP status of an RPC code; 500 for an unknown number. */
export function httpStatusOf(code: Code): number {
  return httpStatuses[code] ?? 500
}

/** Returns the first RPC code with an HTTP status: OK for a success or redirect, UNKNOWN for a status of no code. */
export function codeOfHttpStatus(status: number): Code {
  if (status < 400) return Code.OK
  const code = Object.keys(httpStatuses).find((code) => httpStatuses[Number(code) as Code] === status)
  return code === undefined ? Code.UNKNOWN : (Number(code) as Code)
}

/** Returns the HTTP status of an error: its own if it has one, otherwise that of its code. */
export function httpStatusOfError(error: ApiError): number {
  return error.httpStatus ?? httpStatusOf(error.code)
}

/** Returns the header `retry-after` (RFC 9110, section 10.2.3) if the error has a retry delay. */
export function retryAfter({ details }: Pick<ApiError, 'details'>): { 'retry-after'?: string } {
  const retry = details.find((detail) => detail.kind === 'RetryInfo')
  return retry === undefined
    ? {}
    : { 'retry-after': String(Math.max(0, Math.ceil(retry.retryDelayMs / 1000))) }
}

/**
 * Returns the body of a failed REST call: the status object itself (the spec, "Errors"; AIP-193), ErrorInfo first and then the
 * error's own details. Empty members of a detail are omitted.
 */
export function errorBody(error: ApiError, domain: string): string {
  const info = { '@type': typeUrl('ErrorInfo'), ...withoutEmpty({ reason: error.reason, domain }) }
  return JSON.stringify({
    code: error.code,
    message: error.message,
    details: [
      info,
      ...error.details.map((detail) => ({ '@type': typeUrl(detail.kind), ...detailMembers(detail) })),
    ],
  })
}

/** Returns the same error as a serialised google.rpc.Status, for `grpc-status-details-bin`: same details in the same order. */
export function statusBytes(error: ApiError, domain: string): Uint8Array {
  const info = pack(ErrorInfoSchema, { reason: error.reason, domain })
  const status = create(StatusSchema, {
    code: error.code,
    message: error.message,
    details: [info, ...error.details.map(packDetail)],
  })
  return toBinary(StatusSchema, status)
}

function typeUrl(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`
}

function withoutEmpty(
  members: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== ''),
  )
}

function detailMembers(detail: Detail): Record<string, unknown> {
  switch (detail.kind) {
    case 'BadRequest':
      return {
        fieldViolations: detail.fieldViolations.map(({ field, description }) =>
          withoutEmpty({ field, description }),
        ),
      }
    case 'PreconditionFailure':
      return {
        violations: detail.violations.map(({ type, subject, description }) =>
          withoutEmpty({ type, subject, description }),
        ),
      }
    case 'ResourceInfo': {
      const { resourceType, resourceName, description } = detail
      return withoutEmpty({ resourceType, resourceName, description })
    }
    case 'RetryInfo':
      return { retryDelay: `${ceilMs(detail.retryDelayMs) / 1000}s` }
    case 'QuotaFailure':
      return {
        violations: detail.violations.map(({ subject, description }) =>
          withoutEmpty({ subject, description }),
        ),
      }
  }
}

function pack<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any {
  const value = toBinary(schema, create(schema, init))
  return create(AnySchema, { typeUrl: `type.googleapis.com/${schema.typeName}`, value })
}

function packDetail(detail: Detail): Any {
  switch (detail.kind) {
    case 'BadRequest': {
      const fieldViolations = detail.fieldViolations.map(({ field, description }) => ({ field, description }))
      return pack(BadRequestSchema, { fieldViolations })
    }
    case 'PreconditionFailure': {
      const violations = detail.violations.map(({ type, subject = '', description }) => ({
        type,
        subject,
        description,
      }))
      return pack(PreconditionFailureSchema, { violations })
    }
    case 'ResourceInfo': {
      const { resourceType, resourceName, description = '' } = detail
      return pack(ResourceInfoSchema, { resourceType, resourceName, description })
    }
    case 'RetryInfo': {
      const ms = ceilMs(detail.retryDelayMs)
      const retryDelay = { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 }
      return pack(RetryInfoSchema, { retryDelay })
    }
    case 'QuotaFailure': {
      const violations = detail.violations.map(({ subject, description }) => ({ subject, description }))
      return pack(QuotaFailureSchema, { violations })
    }
  }
}

/** Rounds a delay up to whole milliseconds, so that no client retries too early; never negative. */
function ceilMs(ms: number): number {
  return Math.max(0, Math.ceil(ms))
}
