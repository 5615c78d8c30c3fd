import type { IncomingHttpHeaders } from 'node:http2'
import { isFieldName, isFieldValue } from './fields.ts'

/** The rules of RFC 9113, section 8, for the header fields of a request. */

export type RequestHeaders = Readonly<IncomingHttpHeaders>

const COLON = 0x3a
/** Section 8.2.1 forbids it. It is dropped, as HTTP/1.1 does: clients add it to tokens by accident. */
const outerWhitespace = /^[\t ]+|[\t ]+$/g
const methodPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const schemePattern = /^[A-Za-z][A-Za-z0-9+.-]*$/
const pathPattern = /^\/[\x21-\x7e\x80-\xff]*$/
/** Of `:authority` and `host`: RFC 3986, section 3.2, without user information. */
const authorityPattern = /^[\w\-.~!$&'()*+,;=:[\]%]+$/
const lengthPattern = /^[0-9]{1,15}$/

/** Fields that a request has once, as for node:http2: the first one counts. */
const singleFields = new Set([
  'access-control-request-method',
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'date',
  'dnt',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'max-forwards',
  'proxy-authorization',
  'range',
  'referer',
  'upgrade-insecure-requests',
  'user-agent',
])

/**
 * Returns the header fields of a request by name, from names and values in turn; undefined if the request is malformed. Fields that come
 * more than once are joined, as node:http2 joins them. `host` is the authority if the request has none. The result is shared by requests, and
 * must not be changed.
 */
export function requestHeaders(fields: readonly string[]): RequestHeaders | undefined {
  const headers: IncomingHttpHeaders = Object.create(null)
  let at = 0
  for (; at < fields.length; at += 2) {
    const name = fields[at] as string
    if (name.charCodeAt(0) !== COLON) break
    if (!isPseudoField(name, fields[at + 1] as string) || headers[name] !== undefined) return undefined
    headers[name] = fields[at + 1]
  }
  for (; at < fields.length; at += 2) {
    const name = fields[at] as string
    const value = (fields[at + 1] as string).replace(outerWhitespace, '')
    if (!isFieldName(name) || !isFieldValue(value) || !isRequestField(name, value)) return undefined
    const earlier = headers[name]
    if (earlier === undefined) headers[name] = name === 'set-cookie' ? [value] : value
    else if (Array.isArray(earlier)) earlier.push(value)
    else if (name === 'content-length' || name === 'host') return undefined
    else if (!singleFields.has(name)) headers[name] = `${earlier}${name === 'cookie' ? '; ' : ', '}${value}`
  }
  if (!isRequest(headers)) return undefined
  headers.host ??= headers[':authority']
  return headers
}

/** Whether the fields of a trailer section are well-formed. */
export function areTrailers(fields: readonly string[]): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    if (!isFieldName(fields[at] as string) || !isFieldValue(fields[at + 1] as string)) return false
  }
  return true
}

function isPseudoField(name: string, value: string): boolean {
  if (name === ':method') return methodPattern.test(value)
  if (name === ':path') return value === '*' || pathPattern.test(value)
  if (name === ':scheme') return schemePattern.test(value)
  return name === ':authority' && authorityPattern.test(value)
}

function isRequestField(name: string, value: string): boolean {
  if (name === 'te') return value.toLowerCase() === 'trailers'
  if (name === 'content-length') return lengthPattern.test(value)
  if (name === 'host') return authorityPattern.test(value)
  return true
}

/** Section 8.3.1, and section 8.5 for CONNECT. */
function isRequest(headers: IncomingHttpHeaders): boolean {
  const method = headers[':method']
  const path = headers[':path']
  const authority = headers[':authority']
  if (method === undefined) return false
  if (method === 'CONNECT')
    return path === undefined && headers[':scheme'] === undefined && authority !== undefined
  if (path === undefined || headers[':scheme'] === undefined) return false
  if (path === '*' && method !== 'OPTIONS') return false
  return authority !== undefined || headers.host !== undefined
}
