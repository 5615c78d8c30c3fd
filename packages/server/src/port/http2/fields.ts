/** What header fields of HTTP/2 may be (RFC 9113, section 8.2). */

const namePattern = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/

/** Fields of the connection, which HTTP/2 does not have (section 8.2.2). */
const connectionFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

/** Whether this is the name of a field, other than a pseudo-header field. */
export function isFieldName(name: string): boolean {
  return namePattern.test(name) && !connectionFields.has(name)
}

/** Whether a field may have this value: a proxy that speaks HTTP/1.1 would read line breaks as new fields. */
export function isFieldValue(value: string): boolean {
  return valuePattern.test(value)
}
