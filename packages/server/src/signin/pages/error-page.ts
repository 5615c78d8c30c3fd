import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { httpStatusOfError } from '../../api/error-body.ts'
import { ApiError, Code } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import type { HttpReply, HttpRequest } from '../../port/http.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { isConsolePath, signInPath } from '../oauth/authorization-requests.ts'
import { type Html, page } from './layout.ts'
import { SignInRequired } from './page-operation.ts'
import { setRetryAfter } from './retry-after.ts'
import { pageHeaders } from './security-headers.ts'

/** Error pages: a heading, what happened, and a way home. */

/** The heading of every address that has no page; `Not found` is that of a link or sign-in that has expired. */
const PAGE_NOT_FOUND = 'Page not found'

const headings: Readonly<Partial<Record<Code, string>>> = {
  [Code.INVALID_ARGUMENT]: 'Invalid request',
  [Code.NOT_FOUND]: 'Not found',
  [Code.PERMISSION_DENIED]: 'Permission denied',
  [Code.FAILED_PRECONDITION]: 'Not possible',
  [Code.RESOURCE_EXHAUSTED]: 'Too many attempts',
  [Code.UNAUTHENTICATED]: 'Not signed in',
  [Code.UNIMPLEMENTED]: 'Method not allowed',
}

/** Renders an ApiError with its message. Any other error is logged, and its message is not shown. */
export function errorPage(
  c: Context<SignInEnv>,
  { log }: SignInContext,
  failure: unknown,
  ownHeading?: string,
): Response | Promise<Response> {
  if (failure instanceof SignInRequired && c.req.method === 'GET') return c.redirect(signInPathFrom(c), 303)
  const { requestId } = c.env
  const error = toApiError(failure, requestId, log)
  const status = httpStatusOfError(error) as ContentfulStatusCode
  const heading = ownHeading ?? headings[error.code] ?? 'Something went wrong'
  setRetryAfter(c, error)
  return c.html(messagePage(heading, toSentence(error)), status)
}

/** The sign-in page, which leads back to a page of the console. */
function signInPathFrom(c: Context<SignInEnv>): string {
  const { pathname, search } = new URL(c.req.url)
  const path = pathname + search
  return isConsolePath(path) ? signInPath(path) : '/sign-in'
}

/** Renders 404 for an unknown path, and 405 for a method that the path does not have. */
export function notFoundPage(
  c: Context<SignInEnv>,
  context: SignInContext,
  app: Hono<SignInEnv>,
): Response | Promise<Response> {
  const allowed = ['GET', 'POST'].filter((method) =>
    app.router.match(method, c.req.path)[0].some(([[, route]]) => route.method === method),
  )
  if (allowed.length === 0) {
    const error = new ApiError(Code.NOT_FOUND, 'Not found: this page does not exist')
    return errorPage(c, context, error, PAGE_NOT_FOUND)
  }
  c.header('allow', allowed.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '))
  const message = 'Unimplemented: this page does not support the method of the request'
  return errorPage(c, context, new ApiError(Code.UNIMPLEMENTED, message, { httpStatus: 405 }))
}

/** Renders a page with a message and a link to the start page. */
export function messagePage(heading: string, text: string, more: Html = html``): Html {
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<p>${text}</p>
${more}<p><a href="/">Go to the start page</a></p>`,
  )
}

/** Headings of API errors in a browser, by status. */
const statusHeadings: Readonly<Record<number, string>> = {
  401: 'Authentication required',
  403: 'Permission denied',
  404: PAGE_NOT_FOUND,
  405: 'Method not allowed',
  429: 'Too many requests',
  503: 'Not available',
}

/** Returns the page for a browser that got the JSON of an error, with the headers of the error. */
export async function errorPageOfReply(
  reply: HttpReply,
  request: Pick<HttpRequest, 'isHead'>,
): Promise<HttpReply> {
  const { status, headers, body } = reply
  const heading = statusHeadings[status] ?? (status < 500 ? 'Invalid request' : 'Something went wrong')
  const content = await messagePage(
    heading,
    messageOfBody(body),
    html`<p class="muted">Programs use this server through its API, with a token. See the <a href="/docs">API reference</a>.</p>`,
  )
  return {
    ...reply,
    headers: {
      ...headers,
      ...pageHeaders,
      'content-type': 'text/html; charset=UTF-8',
      vary: [headers['vary'], 'accept'].filter(Boolean).join(', '),
    },
    body: request.isHead ? undefined : content.toString(),
  }
}

/** Reads the message from the JSON of an error: of the API, of OAuth, or of a registry. */
function messageOfBody(body: HttpReply['body']): string {
  const text =
    typeof body === 'string' ? body : body instanceof Uint8Array ? Buffer.from(body).toString() : '{}'
  const error = JSON.parse(text) as {
    readonly message?: string
    readonly error_description?: string
    readonly errors?: readonly { readonly message?: string }[]
  }
  const message = error.message ?? error.error_description ?? error.errors?.[0]?.message
  return message === undefined || message === '' ? 'The request failed.' : toSentence({ message })
}

/** The message of an error without the name of its code, which is in the heading of the page. */
function toSentence({ message }: Pick<ApiError, 'message'>): string {
  const text = message.replace(/^[A-Z][a-z ]+: +/, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
