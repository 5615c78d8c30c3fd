import { statSync } from 'node:fs'
import { parseDatabaseAddress } from '../storage/engines/postgres/address.ts'
import { isWorkerLost } from '../storage/engines/postgres/errors.ts'

/** Failures to use PostgreSQL in words for the operator, which name the setting. */

export interface DatabaseProblem {
  readonly message: string
  /** The server does not answer, so a later start may succeed without a change. */
  readonly unreachable: boolean
}

const SETTING = 'BERTH_DATABASE_URL'

/** Returns undefined if the failure is not one of the connection, such as a bug. Searches the causes. `url`: of the database; its password is not repeated. */
export function describeDatabaseError(error: unknown, url: string): DatabaseProblem | undefined {
  for (let at = error; at instanceof Error; at = causeOf(at)) {
    const problem = describeByCode(at, url)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Attempts at several addresses of one host fail together. */
function causeOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : error.cause
}

/** By SQLSTATE (PostgreSQL manual, appendix A), by system error, and by what pg says of TLS. */
function describeByCode(error: Error, url: string): DatabaseProblem | undefined {
  const { message, code, hostname, syscall, path } = error as NodeJS.ErrnoException & {
    readonly hostname?: string
  }
  const { servers, user, database, files } = parseUrlParts(url)
  const unreachable = (text: string) => ({ message: `${text} (${SETTING})`, unreachable: true })
  const wrong = (text: string) => ({ message: `${SETTING}: ${text}`, unreachable: false })
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return unreachable(`the host ${hostname ?? servers} of the database cannot be resolved`)
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return unreachable(`the database at ${servers} cannot be reached: ${code}`)
    case '28P01':
      return wrong(`PostgreSQL does not accept the password of ${user || 'the user'}`)
    case '28000':
      return wrong(`PostgreSQL does not accept the user or this machine: ${message}`)
    case '3D000':
      return wrong(`the database ${database || user} does not exist; create it`)
    case '42501':
      return wrong(
        `the user may not change the schema: ${message}. Make ${user || 'the user'} the owner of the database`,
      )
    case '53300':
      return unreachable('PostgreSQL has no free connection: raise its max_connections or start fewer nodes')
    case '25006':
      return wrong('the database is read-only; is the host a standby?')
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY': {
      // After the reason, Node names an option of its own.
      const [reason] = message.split(';')
      return wrong(
        files.has('sslrootcert')
          ? `the CA in sslrootcert has not signed the certificate of PostgreSQL: ${reason}`
          : `the certificate of PostgreSQL is not signed by a trusted CA: ${reason}. Add sslrootcert=<file> with the certificate of the CA to the address`,
      )
    }
    case 'CERT_NOT_YET_VALID':
    case 'CERT_REVOKED':
    case 'CERT_HAS_EXPIRED':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return wrong(`the certificate of PostgreSQL cannot be verified: ${message}`)
  }
  if (isWorkerLost(error))
    return unreachable(
      `the database at ${servers} cannot connect to ${lostServer(message)} of the distributed database: check that this server runs and accepts connections`,
    )
  if (code === 'ENOENT' && syscall === 'connect')
    return unreachable(`the database has no socket in ${servers}`)
  // The error for a directory has no path.
  const isUnreadable = (file: string) => (code === 'EISDIR' ? isDirectory(file) : file === path)
  const [parameter] = [...files].find(([, file]) => isUnreadable(file)) ?? []
  if (parameter !== undefined) return wrong(`${parameter} of the address cannot be read: ${message}`)
  if (/does not support SSL/.test(message))
    return wrong('PostgreSQL does not support TLS; remove sslmode from the address or turn TLS on there')
  if (/client password must be/.test(message))
    return wrong(`PostgreSQL requires the password of ${user || 'the user'}; the address has none`)
  return undefined
}

/** The server that a message of Citus names. The rest of it is the message of the driver, of several lines. */
function lostServer(message: string): string {
  const [, address] = /^connection to the remote node (?:[^@\s]*@)?(\S+) failed/.exec(message) ?? []
  return address === undefined ? 'another server' : `the server ${address}`
}

/** What a database URL names; it may have several hosts or a socket, which `URL` cannot parse. */
function parseUrlParts(url: string): {
  readonly servers: string
  readonly user: string
  readonly database: string
  /** By the parameter that names them. */
  readonly files: ReadonlyMap<string, string>
} {
  const parsed = parseDatabaseAddress(url)
  const servers = 'address' in parsed ? parsed.address.servers.map(({ name }) => name).join(', ') : ''
  const parameters = new URLSearchParams(url.split('?')[1])
  const files = new Map([...parameters].filter(([name]) => /^ssl(?:rootcert|cert|key)$/.test(name)))
  const [, user = '', database = ''] =
    /^postgres(?:ql)?:\/\/(?:([^/?#:@]*)[^/?#]*@)?[^/?#]*\/?([^?#]*)/.exec(url) ?? []
  return { servers, user: decodeOrKeep(user), database: decodeOrKeep(database), files }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
