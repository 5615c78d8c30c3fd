import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { errorBody, httpStatusOf, statusBytes } from './error-body.ts'
import {
  ApiError,
  alreadyExists,
  Code,
  type Detail,
  failedPrecondition,
  internal,
  invalidArguments,
  notFound,
  permissionDenied,
  unavailable,
} from './errors.ts'

const domain = 'api.example.com'
const type = (name: string) => `type.googleapis.com/google.rpc.${name}`

test('every code has its HTTP status, and an unknown number is a server error', () => {
  const expected = [200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401]
  assert.deepEqual(
    Object.values(Code).map((code) => [code, httpStatusOf(code)]),
    expected.map((status, code) => [code, status]),
  )
  assert.equal(httpStatusOf(99 as Code), 500)
})

const quota: Detail = {
  kind: 'QuotaFailure',
  violations: [{ subject: 'client:1', description: 'slow down' }],
}

const rows: readonly { name: string; error: ApiError; details: readonly Record<string, unknown>[] }[] = [
  {
    name: 'several bad fields',
    error: invalidArguments([
      { field: 'name', description: 'is required' },
      { field: '', description: 'is odd' },
    ]),
    details: [
      {
        '@type': type('BadRequest'),
        fieldViolations: [{ field: 'name', description: 'is required' }, { description: 'is odd' }],
      },
    ],
  },
  {
    name: 'a precondition with a subject',
    error: failedPrecondition('RESOURCE_NOT_EMPTY', 'the group has repos', 'abc'),
    details: [
      {
        '@type': type('PreconditionFailure'),
        violations: [{ type: 'RESOURCE_NOT_EMPTY', subject: 'abc', description: 'the group has repos' }],
      },
    ],
  },
  {
    name: 'a precondition without a subject',
    error: failedPrecondition('RESOURCE_NOT_EMPTY', 'the group has repos'),
    details: [
      {
        '@type': type('PreconditionFailure'),
        violations: [{ type: 'RESOURCE_NOT_EMPTY', description: 'the group has repos' }],
      },
    ],
  },
  {
    name: 'a missing resource',
    error: notFound('iam.chainguard.dev/Group', 'abc'),
    details: [
      { '@type': type('ResourceInfo'), resourceType: 'iam.chainguard.dev/Group', resourceName: 'abc' },
    ],
  },
  {
    name: 'a taken name',
    error: alreadyExists('iam.chainguard.dev/Group', 'abc', 'the name is taken'),
    details: [
      {
        '@type': type('ResourceInfo'),
        resourceType: 'iam.chainguard.dev/Group',
        resourceName: 'abc',
        description: 'the name is taken',
      },
    ],
  },
  {
    name: 'a temporary failure',
    error: unavailable('the database is busy', 1500),
    details: [{ '@type': type('RetryInfo'), retryDelay: '1.5s' }],
  },
  {
    name: 'a quota with a delay',
    error: new ApiError(Code.RESOURCE_EXHAUSTED, 'Too many requests', {
      reason: 'RATE_LIMITED',
      details: [quota, { kind: 'RetryInfo', retryDelayMs: 2000 }],
    }),
    details: [
      { '@type': type('QuotaFailure'), violations: [{ subject: 'client:1', description: 'slow down' }] },
      { '@type': type('RetryInfo'), retryDelay: '2s' },
    ],
  },
  { name: 'a denial', error: permissionDenied('groups.list is needed', 'where'), details: [] },
  { name: 'a bug', error: internal('r1', new Error('secret')), details: [] },
]

for (const { name, error, details } of rows) {
  test(`the body of ${name}`, () => {
    assert.deepEqual(JSON.parse(errorBody(error, domain)), {
      code: error.code,
      message: error.message,
      details: [{ '@type': type('ErrorInfo'), reason: error.reason, domain }, ...details],
    })
  })

  test(`the binary status of ${name} repeats the body`, () => {
    const status = fromBinary(StatusSchema, statusBytes(error, domain))
    assert.equal(status.code, error.code)
    assert.equal(status.message, error.message)
    assert.deepEqual(
      status.details.map((any) => any.typeUrl),
      [type('ErrorInfo'), ...details.map((detail) => detail['@type'])],
    )
    const info = anyUnpack(status.details[0]!, ErrorInfoSchema)
    assert.deepEqual([info?.reason, info?.domain], [error.reason, domain])
  })
}

test('the binary details carry their members', () => {
  const details: Detail[] = [
    { kind: 'BadRequest', fieldViolations: [{ field: 'name', description: 'bad' }] },
    { kind: 'PreconditionFailure', violations: [{ type: 'T', subject: 's', description: 'd' }] },
    { kind: 'ResourceInfo', resourceType: 'x/Y', resourceName: 'n', description: 'd' },
    { kind: 'RetryInfo', retryDelayMs: 1500 },
    quota,
  ]
  const error = new ApiError(Code.INVALID_ARGUMENT, 'all of them', { details })
  const [, bad, precondition, resource, retry, quotas] = fromBinary(
    StatusSchema,
    statusBytes(error, domain),
  ).details
  const violation = anyUnpack(bad!, BadRequestSchema)?.fieldViolations[0]
  assert.deepEqual([violation?.field, violation?.description], ['name', 'bad'])
  const failed = anyUnpack(precondition!, PreconditionFailureSchema)?.violations[0]
  assert.deepEqual([failed?.type, failed?.subject, failed?.description], ['T', 's', 'd'])
  const found = anyUnpack(resource!, ResourceInfoSchema)
  assert.deepEqual(
    [found?.resourceType, found?.resourceName, found?.owner, found?.description],
    ['x/Y', 'n', '', 'd'],
  )
  const delay = anyUnpack(retry!, RetryInfoSchema)?.retryDelay
  assert.deepEqual([delay?.seconds, delay?.nanos], [1n, 500_000_000])
  const exceeded = anyUnpack(quotas!, QuotaFailureSchema)?.violations[0]
  assert.deepEqual([exceeded?.subject, exceeded?.description], ['client:1', 'slow down'])
})

test('delays are whole milliseconds, rounded up', () => {
  const delay = (ms: number) => JSON.parse(errorBody(unavailable('busy', ms), domain)).details[1].retryDelay
  assert.deepEqual([0, 0.2, 1, 999.5, 60_000, -5].map(delay), ['0s', '0.001s', '0.001s', '1s', '60s', '0s'])
})

test('without a domain the member is left out', () => {
  assert.deepEqual(JSON.parse(errorBody(permissionDenied('no'), '')).details[0], {
    '@type': type('ErrorInfo'),
    reason: 'PERMISSION_DENIED',
  })
})
