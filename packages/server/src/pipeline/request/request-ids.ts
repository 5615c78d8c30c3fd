import { randomBytes } from 'node:crypto'
import { limits } from '../../config/limits.ts'

/** Returns the id of a request: the `x-request-id` of its client if it is valid, else a new one. */
export type RequestIdOf = (clientId: string | readonly string[] | undefined) => string

/** Base 36, of 6 random bytes. */
const PREFIX_CHARS = 10
/** Ids that this server, or another node, creates. */
const generatedIdPattern = new RegExp(`^[0-9a-z]{${PREFIX_CHARS}}-[0-9a-z]+$`)
/** Nothing that ends a line, separates header values or fields of a log, or occurs in an email address. */
const clientIdPattern = new RegExp(`^[A-Za-z0-9._:/+=-]{1,${limits.requestIdCharsMax}}$`)

/**
 * Creates request ids: a random prefix for this process and a counter, both in base 36. Cheap, and unique over all nodes for any
 * practical purpose. A client's id in the form of a created id is replaced, so that no client can name a request like one of
 * another client that has a created id.
 */
export function createRequestIds(): RequestIdOf {
  const prefix = BigInt(`0x${randomBytes(6).toString('hex')}`)
    .toString(36)
    .padStart(PREFIX_CHARS, '0')
  let count = 0
  return (clientId) => {
    if (typeof clientId === 'string' && clientIdPattern.test(clientId) && !generatedIdPattern.test(clientId))
      return clientId
    count += 1
    return `${prefix}-${count.toString(36)}`
  }
}
