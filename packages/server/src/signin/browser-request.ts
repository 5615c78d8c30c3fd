import type { HttpRequest } from '../port/http.ts'

/**
 * Whether a request is the navigation of a browser, which shows a page, and not a call of an API client: it names `text/html` in `Accept`, does
 * not prefer JSON, and has no credentials in a header.
 */
export function isBrowserRequest({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const { accept, authorization } = headers
  if (accept === undefined || authorization !== undefined || !accept.includes('text/html')) return false
  const html = weightOf(accept, 'text/html')
  return html > 0 && html >= weightOf(accept, 'application/json')
}

/** The weight of a media type in `Accept` (RFC 9110, section 12.5.1); 0 if it is not named. */
function weightOf(accept: string, type: string): number {
  for (const range of accept.toLowerCase().split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0
  }
  return 0
}
