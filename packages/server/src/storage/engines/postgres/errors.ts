import { ApiError, aborted, Code, OUTCOME_UNKNOWN, unavailable } from '../../../api/errors.ts'
import { limits } from '../../../config/limits.ts'

/**
 * Failures of PostgreSQL, of pg and of the network as errors of the API. SQLSTATEs are those of the PostgreSQL manual, appendix A; PgBouncer
 * has its own 08P01 for everything.
 */

/** What was asked of the database when it failed. A `commit` that gets no response may have been made. */
export type Phase = 'connect' | 'statement' | 'commit'

/** The database has not responded to a statement in time, on a connection that is destroyed. */
export class ResponseTimeout extends Error {
  override readonly name = 'NoAnswer'
  readonly code = 'ETIMEDOUT'
}

/** A server that the address does not allow, such as a standby. */
export class ReadOnlyServer extends Error {
  override readonly name = 'ReadOnlyServer'
}

/**
 * The API's error for a failure that is not a bug of this program, or undefined. Codes 14 and 10, each with a RetryInfo; the failure is
 * its cause.
 */
export function databaseFailure(error: unknown, phase: Phase): ApiError | undefined {
  if (error instanceof ApiError) return error
  const state = String(sqlState(error))
  const message = error instanceof Error ? error.message : ''
  if (phase === 'commit' && mayBeCommitted(error))
    return new ApiError(
      Code.UNAVAILABLE,
      'Unavailable: the connection to the database broke while it saved the change; read the resource to see whether the change was made, or repeat the request with the same Idempotency-Key',
      { reason: OUTCOME_UNKNOWN, details: [{ kind: 'RetryInfo', retryDelayMs: RETRY_MS }], cause: error },
    )
  if (error instanceof ReadOnlyServer) return unavailable(READ_ONLY, LONG_RETRY_MS, error)
  for (const { states, messages, becomes } of failures)
    if (states?.test(state) || messages?.test(message)) return becomes(error)
  // Credentials, certificates, names: a connection that does not come about is never a bug of this program.
  return phase === 'connect'
    ? unavailable('this node cannot connect to the database', LONG_RETRY_MS, error)
    : undefined
}

/** The words of Citus, which have no code, for a server that it lost in a transaction. */
const ESSENTIAL_CONNECTION = /^failure on connection marked as essential/i

const RETRY_MS = 1000
/** An operator has to act first, or a failover has to end. */
const LONG_RETRY_MS = 5000

/** In this order: the first row that matches by SQLSTATE or system error, or by the words of pg, PgBouncer and Citus, which have no code
 * for it. */
const failures: readonly {
  readonly states?: RegExp
  readonly messages?: RegExp
  readonly becomes: (cause: unknown) => ApiError
}[] = [
  {
    messages: /^timeout exceeded when trying to connect/,
    becomes: (cause) =>
      unavailable(
        `all connections of this node to the database have been in use for ${limits.databaseAcquireMs / 1000} s`,
        RETRY_MS,
        cause,
      ),
  },
  {
    states: /^(40001|40P01)$/,
    becomes: (cause) => aborted('another change to the same resources won; try again', cause, RETRY_MS),
  },
  {
    states: /^55P03$/,
    // The transaction has changed nothing.
    becomes: (cause) =>
      new ApiError(
        Code.UNAVAILABLE,
        'Unavailable: another change holds the same rows for too long; try again after 1 s',
        { reason: 'LOCK_TIMEOUT', details: [{ kind: 'RetryInfo', retryDelayMs: RETRY_MS }], cause },
      ),
  },
  {
    states: /^57014$/,
    becomes: (cause) => unavailable('the database took too long; try again', RETRY_MS, cause),
  },
  {
    states: /^25006$/,
    becomes: (cause) => unavailable(READ_ONLY, LONG_RETRY_MS, cause),
  },
  {
    // 25P03, 25P04, 57P05: the server ended the session since it waited too long for this node.
    states: /^(25P03|25P04|57P05)$/,
    becomes: (cause) =>
      unavailable('the database ended the connection, which took too long', RETRY_MS, cause),
  },
  {
    // 53300: too many connections. 57P0x: shutting down, crashed, starting, database dropped.
    states: /^(53300|57P0[1-4])$/,
    messages: /^(no more connections allowed|the database system is (starting up|shutting down))/,
    becomes: (cause) => unavailable('the database accepts no connections at the moment', RETRY_MS, cause),
  },
  {
    states:
      /^(08...|E(CONN\w+|PIPE|TIMEDOUT|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|NETRESET|ADDRNOTAVAIL|NOTFOUND|AI_AGAIN|MFILE|NFILE))$/,
    messages:
      /^(Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout|timeout expired|The server does not support SSL connections$|There was an error establishing an SSL|Cannot use a pool after calling end|failure on connection marked as essential)/i,
    becomes: (cause) => unavailable('the database does not respond', RETRY_MS, cause),
  },
]

/** What a caller reads when writes are refused; /readyz says it, too. */
export const READ_ONLY = 'the database is read-only at the moment: it may be failing over to another server'

/**
 * Whether a connection must be destroyed after this failure: unless the server reported it and the session continues. A cancelled statement
 * (57014) is among them, since its cancellation may come late and hit the next one, and so is a read-only server (25006), so that the next
 * connection finds the primary.
 */
export function isConnectionUnusable(error: unknown): boolean {
  return !isServerError(error) || /^(57014|25006)$/.test(String(sqlState(error))) || endsSession(error)
}

/**
 * Whether the coordinator of a distributed database reports that it lost its connection to another server. PgBouncer has 08P01 for all of its
 * errors.
 */
export function isWorkerLost(error: unknown): boolean {
  return (
    isServerError(error) &&
    (/^08(?!P01)...$/.test(String(sqlState(error))) || ESSENTIAL_CONNECTION.test((error as Error).message))
  )
}

/** A commit that the server refused is rolled back; one that got no response may have reached the disk. */
function mayBeCommitted(error: unknown): boolean {
  return !isServerError(error) || endsSession(error)
}

/** PANIC, such as a full disk of the write-ahead log: recovery decides which commits were made. */
function hasCrashed(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'PANIC'
}

/** Errors of the server have a severity, in the server's language; those of the system and of pg do not. */
export function isServerError(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && /^[0-9A-Z]{5}$/.test(String(sqlState(error)))
}

function endsSession(error: unknown): boolean {
  return /^(08...|57P0\d|25P0[34]|53300|58...|XX...)$/.test(String(sqlState(error))) || hasCrashed(error)
}

/** The SQLSTATE of a server's error, or the code of a system's. */
export function sqlState(error: unknown): unknown {
  // A name with several addresses: one error for each.
  if (error instanceof AggregateError && !('code' in error)) return sqlState(error.errors[0])
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
