/**
 * The signed request that callers from AWS present instead of a token: an HTTP/1.1 request for GetCallerIdentity, serialized in base64, which
 * only the holder of the AWS credentials can sign. Only the required form is accepted, and a new request is built from it instead of
 * forwarding its bytes.
 */
export interface AwsRequest {
  readonly method: string
  readonly target: string
  /** By lowercase name. */
  readonly headers: ReadonlyMap<string, string>
}

const HEADERS_MAX = 40

/** Standard or URL-safe base64, with or without padding (RFC 4648 sections 4 and 5). */
const base64Text = /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)={0,2}$/
const requestLine = /^([A-Z]{1,16}) (\/[!-~]*) HTTP\/1\.1$/
const headerLine = /^([A-Za-z0-9][A-Za-z0-9-]*):([ -~\t]*)$/

/** Parses the request inside a token. `encoding`: it is not a serialized request. */
export function readAwsRequest(token: string): AwsRequest | { readonly problem: 'encoding' | 'request' } {
  const text = base64Text.test(token) ? Buffer.from(token, 'base64').toString('latin1') : ''
  if (!/^[A-Z]{1,16} \//.test(text)) return { problem: 'encoding' }
  // A request ends with an empty line, and has no body. All lines have the same ending.
  const end = text.includes('\r') ? '\r\n' : '\n'
  if (!text.endsWith(end + end)) return { problem: 'request' }
  const [first = '', ...lines] = text.slice(0, -2 * end.length).split(end)
  const [, method, target] = requestLine.exec(first) ?? []
  if (method === undefined || target === undefined || lines.length > HEADERS_MAX)
    return { problem: 'request' }
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? []
    const key = name?.toLowerCase()
    // Parsers would choose different values of a repeated header.
    if (key === undefined || value === undefined || headers.has(key)) return { problem: 'request' }
    headers.set(key, collapseSpaces(value))
  }
  return { method, target, headers }
}

/** Normalizes a value as AWS Signature Version 4 does: trimmed, with single spaces. */
function collapseSpaces(value: string): string {
  return value.trim().replaceAll(/[ \t]+/g, ' ')
}

/** The names of the headers that the signature covers; undefined unless there is exactly one list. */
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

/** Parses `20260131T235959Z` to ms; undefined for any other text. */
export function amzDateMs(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? []
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const ms = Date.parse(iso)
  // Date.parse accepts some dates that do not exist.
  return Number.isNaN(ms) || new Date(ms).toISOString() !== iso ? undefined : ms
}
