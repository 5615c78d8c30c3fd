import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'
import { databaseFailure, isConnectionUnusable, isWorkerLost, type Phase, ResponseTimeout } from './errors.ts'

/** As pg makes it of an ErrorResponse. */
function ofServer(code: string, message = 'a message', severity = 'FEHLER'): Error {
  return Object.assign(new Error(message), { code, severity })
}

function ofSystem(code: string): Error {
  return Object.assign(new Error(`connect ${code} 127.0.0.1:5432`), { code, errno: -1, syscall: 'connect' })
}

/** Error, its phase, code and reason for the caller, and whether the connection is destroyed. */
const table: readonly [string, Error, Phase, string, boolean][] = [
  ['statement_timeout', ofServer('57014'), 'statement', '14 UNAVAILABLE', true],
  ['statement_timeout at commit', ofServer('57014'), 'commit', '14 UNAVAILABLE', true],
  ['lock_timeout', ofServer('55P03'), 'statement', '14 LOCK_TIMEOUT', false],
  ['read-only server', ofServer('25006'), 'statement', '14 UNAVAILABLE', true],
  ['idle_in_transaction_session_timeout', ofServer('25P03'), 'statement', '14 UNAVAILABLE', true],
  ['transaction_timeout', ofServer('25P04'), 'statement', '14 UNAVAILABLE', true],
  ['idle_session_timeout', ofServer('57P05'), 'statement', '14 UNAVAILABLE', true],
  ['administrator ended it', ofServer('57P01'), 'statement', '14 UNAVAILABLE', true],
  ['administrator ended it at commit', ofServer('57P01'), 'commit', '14 OUTCOME_UNKNOWN', true],
  ['another session crashed', ofServer('57P02'), 'statement', '14 UNAVAILABLE', true],
  ['starting up', ofServer('57P03'), 'connect', '14 UNAVAILABLE', true],
  ['database dropped', ofServer('57P04'), 'statement', '14 UNAVAILABLE', true],
  ['too many connections', ofServer('53300'), 'connect', '14 UNAVAILABLE', true],
  [
    'PgBouncer',
    ofServer('08P01', 'server closed the connection unexpectedly'),
    'statement',
    '14 UNAVAILABLE',
    true,
  ],
  [
    'crash at commit',
    ofServer('53100', 'could not write to file', 'PANIC'),
    'commit',
    '14 OUTCOME_UNKNOWN',
    true,
  ],
  ['PgBouncer at commit', ofServer('08P01'), 'commit', '14 OUTCOME_UNKNOWN', true],
  ['connection failure', ofServer('08006'), 'statement', '14 UNAVAILABLE', true],
  [
    'Citus lost a worker',
    ofServer('XX000', 'failure on connection marked as essential: db2:5432'),
    'statement',
    '14 UNAVAILABLE',
    true,
  ],
  ['serialization', ofServer('40001'), 'statement', '10 ABORTED', false],
  ['serialization at commit', ofServer('40001'), 'commit', '10 ABORTED', false],
  ['deadlock', ofServer('40P01'), 'statement', '10 ABORTED', false],
  ['refused', ofSystem('ECONNREFUSED'), 'connect', '14 UNAVAILABLE', true],
  ['reset', ofSystem('ECONNRESET'), 'statement', '14 UNAVAILABLE', true],
  ['reset at commit', ofSystem('ECONNRESET'), 'commit', '14 OUTCOME_UNKNOWN', true],
  ['aborted', ofSystem('ECONNABORTED'), 'statement', '14 UNAVAILABLE', true],
  ['broken pipe', ofSystem('EPIPE'), 'statement', '14 UNAVAILABLE', true],
  ['TCP gave up', ofSystem('ETIMEDOUT'), 'statement', '14 UNAVAILABLE', true],
  ['no route to the host', ofSystem('EHOSTUNREACH'), 'connect', '14 UNAVAILABLE', true],
  ['no route to the network', ofSystem('ENETUNREACH'), 'connect', '14 UNAVAILABLE', true],
  ['no free port', ofSystem('EADDRNOTAVAIL'), 'connect', '14 UNAVAILABLE', true],
  ['no free descriptor', ofSystem('EMFILE'), 'connect', '14 UNAVAILABLE', true],
  ['unknown name', ofSystem('ENOTFOUND'), 'connect', '14 UNAVAILABLE', true],
  ['name server is down', ofSystem('EAI_AGAIN'), 'connect', '14 UNAVAILABLE', true],
  [
    'several addresses',
    new AggregateError([ofSystem('ECONNREFUSED'), ofSystem('EHOSTUNREACH')]),
    'connect',
    '14 UNAVAILABLE',
    true,
  ],
  ['no answer', new ResponseTimeout('none'), 'statement', '14 UNAVAILABLE', true],
  ['no answer at commit', new ResponseTimeout('none'), 'commit', '14 OUTCOME_UNKNOWN', true],
  [
    'pg: pool is in use',
    new Error('timeout exceeded when trying to connect'),
    'connect',
    '14 UNAVAILABLE',
    true,
  ],
  [
    'pg: time-out',
    new Error('Connection terminated due to connection timeout'),
    'connect',
    '14 UNAVAILABLE',
    true,
  ],
  ['pg: time-out of the client', new Error('timeout expired'), 'connect', '14 UNAVAILABLE', true],
  ['pg: ended', new Error('Connection terminated unexpectedly'), 'statement', '14 UNAVAILABLE', true],
  [
    'pg: ended at commit',
    new Error('Connection terminated unexpectedly'),
    'commit',
    '14 OUTCOME_UNKNOWN',
    true,
  ],
  [
    'pg: broken',
    new Error('Client has encountered a connection error and is not queryable'),
    'statement',
    '14 UNAVAILABLE',
    true,
  ],
  ['pg: statement time-out', new Error('Query read timeout'), 'statement', '14 UNAVAILABLE', true],
  [
    'pool closed',
    new Error('Cannot use a pool after calling end on the pool'),
    'connect',
    '14 UNAVAILABLE',
    true,
  ],
  ['unique violation', ofServer('23505'), 'statement', 'bug', false],
  ['deferred violation at commit', ofServer('23503'), 'commit', 'bug', false],
  ['syntax error', ofServer('42601'), 'statement', 'bug', false],
  ['our own mistake', new TypeError('x is not a function'), 'statement', 'bug', true],
  ['wrong password', ofServer('28P01'), 'connect', '14 UNAVAILABLE', false],
  [
    'certificate has expired',
    Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' }),
    'connect',
    '14 UNAVAILABLE',
    true,
  ],
]

for (const [name, error, phase, expected, destroyed] of table)
  test(`${name} is ${expected}`, () => {
    const failure = databaseFailure(error, phase)
    assert.equal(failure === undefined ? 'bug' : `${failure.code} ${failure.reason}`, expected)
    assert.equal(isConnectionUnusable(error), destroyed, 'the connection is destroyed')
    if (failure === undefined) return
    assert.equal(failure.cause, error)
    assert.ok(
      failure.details.some((detail) => detail.kind === 'RetryInfo' && detail.retryDelayMs > 0),
      'it says when to try again',
    )
  })

test('a coordinator that lost a worker is told from PgBouncer and from a lost coordinator', () => {
  assert.equal(isWorkerLost(ofServer('08006', 'connection to the remote node failed')), true)
  assert.equal(isWorkerLost(ofServer('08P01', 'query_wait_timeout')), false)
  assert.equal(isWorkerLost(ofServer('57P01')), false)
  assert.equal(isWorkerLost(ofSystem('ECONNREFUSED')), false)
})

test('a full pool reports how long the request waited', () => {
  const failure = databaseFailure(new Error('timeout exceeded when trying to connect'), 'connect')
  assert.match(failure?.message ?? '', new RegExp(`in use for ${limits.databaseAcquireMs / 1000} s`))
})

test('a statement that is too slow ends before its request does', () => {
  const { databaseWaitMsMax, databaseAcquireMs, databaseStatementMs, databaseGraceMs } = limits
  const waitedMs = databaseWaitMsMax + databaseAcquireMs + databaseStatementMs + databaseGraceMs
  assert.ok(waitedMs < limits.handlerTimeoutMs)
})

test('an error that is one of the API already stays as it is', () => {
  const failure = databaseFailure(new ResponseTimeout('none'), 'statement')
  assert.equal(databaseFailure(failure, 'commit'), failure)
  assert.equal(failure?.code, Code.UNAVAILABLE)
})
