import type { HttpRequest } from '../port/http.ts'

/**
 * Whether a request is the navigation of a browser, which shows a page, and not a call of an API client: a GET that names `text/html` in
 * `Accept`, does not prefer JSON, and has no credentials in a header. Browsers that send `Sec-Fetch-*` name a navigation there. HTTP clients
 * of some languages name `text/html` by default.
 */
export function isBrowserRequest({ method, headers }: Pick<HttpRequest, 'method' | 'headers'>): boolean {
  const { accept, authorization } = headers
  if (method !== 'GET' || accept === undefined || authorization !== undefined) return false
  if (!isNavigation(headers)) return false
  const html = weightOf(accept, 'text/html')
  return html > 0 && html >= weightOf(accept, 'application/json')
}

/** Where browsers show a page. */
const PAGE_DESTINATIONS: readonly unknown[] = ['document', 'iframe', 'frame']

/** Whether `Sec-Fetch-*` names the navigation to a page. Browsers send both headers; the `fetch` of Node.js always sends the mode alone. */
function isNavigation(headers: HttpRequest['headers']): boolean {
  const { 'sec-fetch-dest': destination, 'sec-fetch-mode': mode } = headers
  if (destination === undefined) return true
  return mode === 'navigate' && PAGE_DESTINATIONS.includes(destination)
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
