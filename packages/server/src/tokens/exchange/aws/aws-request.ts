/**
 * The signed request that callers of AWS show instead of a token: an HTTP/1.1 request for GetCallerIdentity, serialized and in
 * base64, which only the holder of the AWS credentials can have signed. Only what such a request must have is accepted, and it is
 * not these bytes that are sent on but a request that is made anew.
 */
export interface AwsRequest {
  readonly method: string
  readonly target: string
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
}

const HEADERS_MAX = 40

/** One alphabet or the other, with its padding or without (RFC 4648 sections 4 and 5). */
const base64Text = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/
const requestLine = /^([A-Z]{1,16}) (\/[!-~]*) HTTP\/1\.1$/
const headerLine = /^([A-Za-z0-9][A-Za-z0-9-]*):([ -~\t]*)$/

/** The request inside a token; `encoding`: it is none at all. */
export function readAwsRequest(token: string): AwsRequest | { readonly problem: 'encoding' | 'request' } {
  const text = base64Text.test(token) ? Buffer.from(token, 'base64').toString('latin1') : ''
  if (!/^[A-Z]{1,16} \//.test(text)) return { problem: 'encoding' }
  // A request ends with an empty line, and has no body. Lines end in one way or the other, not in both.
  const end = text.includes('\r') ? '\r\n' : '\n'
  if (!text.endsWith(end + end)) return { problem: 'request' }
  const [first = '', ...lines] = text.slice(0, -2 * end.length).split(end)
  const [, method, target] = requestLine.exec(first) ?? []
  if (method === undefined || target === undefined || lines.length > HEADERS_MAX)
    return { problem: 'request' }
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? []
    const known = name?.toLowerCase()
    // Which of two would count is a matter of taste, so there are none.
    if (known === undefined || value === undefined || headers.has(known)) return { problem: 'request' }
    headers.set(known, collapsed(value))
  }
  return { method, target, headers }
}

/** As signatures see a value (AWS Signature Version 4): without blanks around it, and runs of them as one. */
function collapsed(value: string): string {
  return value.trim().replaceAll(/[ \t]+/g, ' ')
}

/** The names that the signature covers; undefined unless there is exactly one list of them. */
export function signedHeaders(authorization: string): readonly string[] | undefined {
  const [, components] = /^AWS4-HMAC-SHA256 (.+)$/.exec(authorization) ?? []
  const lists = (components ?? '')
    .split(',')
    .map((component) => component.trim())
    .filter((component) => component.startsWith('SignedHeaders='))
  const names = lists[0]?.slice('SignedHeaders='.length)
  return lists.length === 1 && names !== undefined && /^[a-z0-9-]+(;[a-z0-9-]+)*$/.test(names)
    ? names.split(';')
    : undefined
}

/** `20260131T235959Z` in ms; undefined for any other text. */
export function amzDateMs(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? []
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const ms = Date.parse(iso)
  // A day that does not exist is read as one that does.
  return Number.isNaN(ms) || new Date(ms).toISOString() !== iso ? undefined : ms
}
